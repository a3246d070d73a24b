#!/usr/bin/env python3
"""What ir_measures computes, for tests/it/peer_measures.rs: argv[1] are judgements, argv[2] is a run, the others are measures.

Prints a JSON object {measure: {topic: value}}, for each measure from the provider that ir_measures chooses by default. A value that is not a number
is null. A name of trec_eval is also a measure; then the object has the name of ir_measures for it."""
import json
import pkgutil
import sys
from collections import defaultdict

import ir_measures

read = pkgutil.get_data


def with_all_digits(package, file):
    """The data file of a package. gdeval.pl prints five decimals: the test needs all of them."""
    content = read(package, file)
    return content.replace(b'%.5f', b'%.17g') if file.endswith('gdeval.pl') else content


def parsed(name):
    try:
        return ir_measures.parse_measure(name)
    except (NameError, ValueError):
        (measure,) = ir_measures.parse_trec_measure(name)
        return measure


def values_of(measure, qrels, run):
    """The values by topic. ir_measures' Accuracy divides by 0 for a topic without a pair to compare: it has no value here."""
    of_topic = {}
    try:
        metrics = list(measure.iter_calc(qrels, run))
    except ZeroDivisionError:
        topics = defaultdict(lambda: ([], []))
        for kind, lines in enumerate((qrels, run)):
            for line in lines:
                topics[line.query_id][kind].append(line)
        if len(topics) == 1:
            return {}
        for of_one in topics.values():
            of_topic.update(values_of(measure, *of_one))
        return of_topic
    for metric in metrics:
        value = float(metric.value)
        of_topic[metric.query_id] = value if value == value else None
    return of_topic


pkgutil.get_data = with_all_digits
qrels = list(ir_measures.read_trec_qrels(sys.argv[1]))
run = list(ir_measures.read_trec_run(sys.argv[2]))
json.dump({str(measure): values_of(measure, qrels, run) for measure in map(parsed, sys.argv[3:])}, sys.stdout)
