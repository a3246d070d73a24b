#!/usr/bin/env python3
"""Makes measures.json, the reference values of the text measures: ir_measures, which calls pytrec_eval for most, on random runs and judgements.

    pip install ir_measures==0.4.3        (brings pytrec-eval-terrier 0.5.11)
    tests/reference/measures.py > tests/reference/measures.json

The cases are not stored: `tests/it/measures.rs` makes the same cases with the same generator (Knuth's MMIX congruential
generator, upper 31 bits). They include ties (some only in 32-bit floats), unjudged documents, judged topics that the run lacks,
topics without judgements, grades below zero, and ids whose order as texts differs from the order of their numbers.
"""
import json
import sys

import ir_measures

CASES = 1000
MEASURES = [
    'nDCG@5', 'nDCG', 'P@5', 'P(rel=2)@10', 'AP', 'AP(rel=2)@5', 'RR(rel=2)', 'R@5', 'R(rel=2)@10', 'Rprec',
    'Success@3', 'nDCG(judged_only=True)@5', 'AP(judged_only=True)', 'Judged@5', 'RR@5',
]
GRADES = [-2, 0, 0, 1, 1, 2, 3]


class Random:
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def case(random):
    qrels, run = {}, {}
    for topic in range(1, 2 + random.below(4)):
        judged = random.below(13) + (topic == 1)
        for number in range(judged):
            # the first grade of a topic is not negative: pytrec_eval crashes on topics whose grades are all negative
            doc, least = f'd{random.below(20)}', int(number == 0)
            grade = GRADES[least + random.below(len(GRADES) - least)]
            qrels.setdefault(str(topic), {}).setdefault(doc, grade)
        listed = topic == 1 or random.below(8) > 0
        results = random.below(16) + 1
        for _ in range(results):
            doc, score = f'd{random.below(24)}', 16 + random.below(6) * 0.25 + random.below(3) * 1e-8
            if listed:
                run.setdefault(str(topic), {}).setdefault(doc, score)
    return qrels, run


def main():
    random = Random(2022)
    measures = [ir_measures.parse_measure(m) for m in MEASURES]
    assert [str(m) for m in measures] == MEASURES
    rows = []
    for _ in range(CASES):
        qrels, run = case(random)
        values = ir_measures.calc_aggregate(measures, qrels, run)
        rows.append([round(values[m], 10) for m in measures])
    json.dump({'measures': MEASURES, 'values': rows}, sys.stdout, separators=(',', ':'))
    print()


main()
