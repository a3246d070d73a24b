#!/usr/bin/env python3
"""Finds the weights that best re-rank the top of a text ranking, cross-validated by topic.

    riposte controversial|comparative -i COLLECTION -o OUT --explain OUT/why.jsonl
    pip install numpy scikit-learn
    models/train/rerank_cv.py OUT/why.jsonl RELEVANCE QUALITY [VALUES]

It reads the explanations of the default approach: the scores of each document before they are weighted, and the features of its quality.
Since riposte's quality model is learned from all judged topics, a model is learned for each topic from the others (ridge regression on the
same standardised features), so that no topic is scored by weights that have seen it. VALUES (`train evaluate-relevance --data DATA --left-out
VALUES`) replaces the encoder's relevance by the relevance learned from the judgements of the other topics.

For each topic, the weights are chosen that are best on all other topics, by the sum of nDCG@5 by relevance and nDCG@5 by quality. Each line of
the output has a weight of relevance, the mean of both measures over the topics, and the commonest choice. (benches/choose_default.py does the
same with riposte's own model of quality.)
"""
import collections
import itertools
import json
import math
import re
import sys

import numpy as np
from sklearn.linear_model import Ridge

WHY, RELEVANCE, QUALITY = sys.argv[1:4]
VALUES = sys.argv[4] if len(sys.argv) > 4 else None
OPINIONS = ['retrieval', 'sentence', 'quality', 'comparison', 'relevance']
# the weight of retrieval is 1
SENTENCE, QUALITY_WEIGHTS, RELEVANCE_WEIGHTS = (.5, 1, 2), (.5, 1, 2, 4), (0, .25, .5, 1, 1.5, 2)


def read(path):
    qrels = collections.defaultdict(dict)
    for line in open(path):
        topic, _, doc, grade = line.split()
        qrels[topic][doc] = float(grade)
    return qrels


def ndcg(ranking, grades, k=5):
    gain = lambda doc: max(0, grades.get(doc, 0))
    dcg = lambda gains: sum(g / math.log2(rank + 2) for rank, g in enumerate(gains[:k]))
    best = dcg(sorted((max(0, g) for g in grades.values()), reverse=True))
    return dcg([gain(doc) for doc in ranking[:k]]) / best if best else 0.0


relevance, quality = read(RELEVANCE), read(QUALITY)
topics = sorted(relevance)
candidates = collections.defaultdict(list)
for line in open(WHY):
    why = json.loads(line)
    parts = {part['name']: part for part in why['score']['parts']}
    value = lambda name: float(re.search(r'× (?:value )?(-?[\d.]+)', parts[name]['how'])[1]) if '×' in parts.get(name, {}).get('how', '') else 0.0
    features = [re.search(r'× (-?[\d.]+) dev', part['how']) for part in parts['quality']['parts'][0]['parts'] if 'how' in part]
    candidates[why['topic']].append({
        'doc': why['document'], 'opinions': [value(name) for name in OPINIONS],
        'features': [float(f[1]) for f in features if f], 'repeats': parts['base of re-ranked documents']['value'] < 2,
    })

highest = max(max(grades.values()) for grades in quality.values())
unseen = {}
for topic in topics:
    rows = [(c['features'], max(0, quality[t][c['doc']]) / highest) for t in topics if t != topic for c in candidates[t] if c['doc'] in quality[t]]
    model = Ridge(alpha=20).fit(*map(list, zip(*rows)))
    for c in candidates[topic]:
        unseen[topic, c['doc']] = float(np.clip(model.predict([c['features']])[0], 0, 1))


if VALUES:
    relevant = {}
    for line in open(VALUES):
        _, topic, doc, value = line.split('\t')
        relevant[topic, doc] = float(value)
    for topic in topics:
        values = [relevant[topic, c['doc']] for c in candidates[topic]]
        low, high = min(values), max(values)
        for c, value in zip(candidates[topic], values):
            c['opinions'][OPINIONS.index('relevance')] = (value - low) / (high - low) if high > low else 1.0


def measured(topic, weights):
    def of(c):
        opinions = list(c['opinions'])
        opinions[OPINIONS.index('quality')] = unseen[topic, c['doc']]
        return (c['repeats'], -sum(w * o for w, o in zip(weights, opinions)), c['doc'])
    ranking = [c['doc'] for c in sorted(candidates[topic], key=of)]
    return ndcg(ranking, relevance[topic]), ndcg(ranking, quality[topic])


comparison = .25 if any(c['opinions'][OPINIONS.index('comparison')] for t in topics for c in candidates[t]) else 0
print('| weight of relevance | relevance | quality | commonest choice |\n|---|---|---|---|')
for weight in RELEVANCE_WEIGHTS:
    grid = [(1, s, q, comparison, weight) for s, q in itertools.product(SENTENCE, QUALITY_WEIGHTS)]
    table = {weights: np.array([measured(topic, weights) for topic in topics]) for weights in grid}
    choices = [max(grid, key=lambda w: np.delete(table[w], at, axis=0).mean(0).sum()) for at in range(len(topics))]
    means = np.mean([table[weights][at] for at, weights in enumerate(choices)], axis=0)
    most, times = collections.Counter(choices).most_common(1)[0]
    print(f'| {weight} | {means[0]:.3f} | {means[1]:.3f} | sentence {most[1]}, quality {most[2]}: {times} of {len(topics)} |')
