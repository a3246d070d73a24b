"""Paired t-tests by scipy, for tests/it/comparisons.rs. argv[1] has a JSON array of pairs of lists of values, a pair a line of two runs.

Prints an array of [p, d] for each pair: p is NaN, printed as null, if all differences are 0."""
import json
import sys

import numpy
from scipy.stats import ttest_rel

results = []
with numpy.errstate(all='ignore'):
    for first, second in json.load(open(sys.argv[1], encoding='utf-8')):
        p = float(ttest_rel(second, first).pvalue)
        differences = numpy.subtract(second, first)
        d = float(differences.mean() / differences.std(ddof=1))
        results.append([p if p == p else None, d if abs(d) < 1e12 else None])
json.dump(results, sys.stdout)
