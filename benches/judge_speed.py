#!/usr/bin/env python3
"""Times `riposte evaluate` on 20 runs of 50,000 lines, in turn with ir_measures.

    pip install ir_measures==0.4.3
    benches/judge_speed.py target/release/riposte

Both read the same files and compute the same measures; ir_measures reads the runs one after another in one process.
"""
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ir_measures

RIPOSTE, RUNS, TOPICS, DEPTH, TIMES = sys.argv[1], 20, 50, 1000, 5
MEASURES = ['nDCG@5', 'P@5', 'AP', 'RR', 'R@1000']

random.seed(1)
with tempfile.TemporaryDirectory() as work:
    work = Path(work)
    docs = [f'clueweb12-{n:04d}wb-{n % 97:02d}-{n * 7 % 100000:05d}___{n % 9}' for n in range(20000)]
    with open(work / 'qrels', 'w') as out:
        for topic in range(1, TOPICS + 1):
            for doc in random.sample(docs, 60):
                out.write(f'{topic} 0 {doc} {random.choice([-2, 0, 1, 2])}\n')
    runs = []
    for number in range(RUNS):
        runs.append(work / f'run-{number}.txt')
        with open(runs[-1], 'w') as out:
            for topic in range(1, TOPICS + 1):
                score = 30.0
                for rank, doc in enumerate(random.sample(docs, DEPTH), 1):
                    score -= random.random() / 50
                    out.write(f'{topic} Q0 {doc} {rank} {score:.6f} run-{number}\n')

    def ours():
        return subprocess.run([RIPOSTE, 'evaluate', work / 'qrels', *runs, *MEASURES, '--format', 'tsv'], check=True, capture_output=True, text=True).stdout

    def theirs():
        qrels = list(ir_measures.read_trec_qrels(str(work / 'qrels')))
        evaluator = ir_measures.evaluator([ir_measures.parse_measure(m) for m in MEASURES], qrels)
        return [evaluator.calc_aggregate(ir_measures.read_trec_run(str(run))) for run in runs]

    seconds = {ours: [], theirs: []}
    for _ in range(TIMES):
        for run in (ours, theirs):
            start = time.perf_counter()
            result = run()
            seconds[run].append(time.perf_counter() - start)
            if run is ours:
                printed = {tuple(line.split('\t')[i] for i in (0, 2)): float(line.split('\t')[4]) for line in result.splitlines()[1:]}
            else:
                for path, values in zip(runs, result):
                    for measure, value in values.items():
                        assert abs(printed[path.name, str(measure)] - value) < 1e-9, (path.name, measure)
    for name, of in (('riposte', ours), ('ir_measures', theirs)):
        print(f'{name}: median {statistics.median(seconds[of]):.2f} s, {min(seconds[of]):.2f} to {max(seconds[of]):.2f}')
    print(f'ratio {statistics.median(seconds[theirs]) / statistics.median(seconds[ours]):.1f}')
