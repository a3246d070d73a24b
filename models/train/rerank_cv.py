#!/usr/bin/env python3
"""Finds the weights that best re-rank the top of a text ranking, cross-validated by topic.

    riposte controversial|comparative -i COLLECTION -o OUT --explain OUT/why.jsonl --approach FILE
    pip install numpy scikit-learn
    models/train/rerank_cv.py OUT/why.jsonl RELEVANCE QUALITY

FILE is the default approach (`riposte approaches show riposte`) with weights for relevance and, for passages, comparison: what has no weight is not computed.
It reads the explanations: the scores of each document before they are weighted, and the features of its
quality. Since riposte's quality model is learned from all judged topics, a model is learned for each topic from the others (ridge
regression on the same standardised features), so that no topic is scored by weights that have seen it. The output is the strict
nDCG@5 by relevance and by quality, with riposte's model and with the model that has not seen the topic, and the mean over topics with
the weights that are best on the other topics.
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
OPINIONS = ['retrieval', 'sentence', 'quality', 'comparison', 'relevance']
# the weight of retrieval is 1
GRID = [(1, *rest) for rest in itertools.product((0, .5, 1, 2), (0, .5, 1, 2, 4), (0, .25, .5), (0, .5, 1))]


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
    value = lambda name: float(re.search(r'× (-?[\d.]+)', parts[name]['how'])[1]) if '×' in parts.get(name, {}).get('how', '') else 0.0
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


def score(topic, weights, qrels, own=False):
    def of(c):
        opinions = list(c['opinions'])
        if not own:
            opinions[2] = unseen[topic, c['doc']]
        return (c['repeats'], -sum(w * o for w, o in zip(weights, opinions)), c['doc'])
    return ndcg([c['doc'] for c in sorted(candidates[topic], key=of)], qrels[topic])


mean = lambda weights, qrels, own, of=topics: sum(score(t, weights, qrels, own) for t in of) / len(of)
print('weights of', ', '.join(OPINIONS), '| model of riposte: relevance, quality | model that has not seen the topic')
for weights in [(1, 0, 0, 0, 0), (1, 1, 0, 0, 0), (1, 1, 1, 0, 0), (1, 1, 1, .25, 0), (1, 1, 1, .25, 1), (1, 1, 2, 0, 1), (1, 2, 2, 0, 0), (1, 2, 2, 0, 1), (1, 2, 4, 0, 0), (1, 2, 4, 0, 1)]:
    print(weights, '| %.3f %.3f' % tuple(mean(weights, q, True) for q in (relevance, quality)), '| %.3f %.3f' % tuple(mean(weights, q, False) for q in (relevance, quality)))
chosen = []
for topic in topics:
    others = [t for t in topics if t != topic]
    best = max(GRID, key=lambda w: mean(w, relevance, False, others) + mean(w, quality, False, others))
    chosen.append((score(topic, best, relevance), score(topic, best, quality)))
print('weights chosen on the other topics | %.3f %.3f' % tuple(np.mean(chosen, axis=0)))
