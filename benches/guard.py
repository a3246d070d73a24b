#!/usr/bin/env python3
"""Compares the speed of two programs of riposte in small tasks, and ends with 1 if the newer one has become slower.

    benches/guard.py BEFORE NOW [--rounds N] [--only NAME,...] [--work DIR]

    make -C benches bench-guard BEFORE=FILE      # NOW is target/release/riposte

BEFORE is the program of the last release or of an earlier commit. Each round gives every task to both programs, in turn, and compares the processor time
(user and system) of the two processes. A task counts as slower if the median of the ratios NOW / BEFORE is above 1.05 by more than the noise: twice the
standard error of that median, taken from how far the ratios of the rounds are apart. Other work of the machine makes the noise larger, but no
task slower.

The tasks use the sample of the repository, and texts and runs that are drawn with a fixed seed. Those that need a model are left out, with a line, where it is
not installed. A task that the earlier program refuses, because it is new, is left out, too; one that only the newer program refuses is an error.
"""

import argparse
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "sample"
# a smaller difference is never reported
TOLERATED = 1.05


def drawn_files(work):
    """Writes what the tasks read: a collection of arguments, texts, a run and judgements."""
    chance = random.Random(7)
    source = json.loads((SAMPLE / "args-me.json").read_text())["arguments"]
    words = sorted({word for one in source for word in one["premises"][0]["text"].split()})
    conclusions = sorted({one["conclusion"] for one in source})

    def text(least, most):
        return " ".join(chance.choices(words, k=chance.randint(least, most)))

    arguments = [
        {"id": f"a{n}", "conclusion": chance.choice(conclusions), "premises": [{"text": text(30, 250), "stance": chance.choice(("PRO", "CON"))}], "context": {}}
        for n in range(4000)
    ]
    (work / "arguments").mkdir()
    (work / "arguments/args-me.json").write_text(json.dumps({"arguments": arguments}))
    topics = "".join(f"<topic><number>{n}</number><title>{text(3, 8)}?</title></topic>" for n in range(1, 51))
    (work / "topics.xml").write_text(f"<topics>{topics.replace('&', 'and')}</topics>")
    pairs = [{"topic": chance.choice(conclusions), "text": text(15, 60)} for _ in range(100)]
    (work / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    with open(work / "run.txt", "w") as run, open(work / "qrels.txt", "w") as qrels:
        for topic in range(1, 201):
            found = chance.sample(range(5000), 200)
            run.writelines(f"{topic} Q0 d{one} {rank} {300 - rank} drawn\n" for rank, one in enumerate(found, 1))
            qrels.writelines(f"{topic} 0 d{one} {chance.randrange(3)}\n" for one in found[::3])


def tasks(work):
    """The tasks: a name, what is removed before each start, and the arguments. OUT stands for a directory of the program."""
    pictures = sorted(path for path in SAMPLE.glob("images/*/*/image.*"))[:4]
    bm25 = ["controversial", "-q", "-i", work / "arguments", "--topics", work / "topics.xml", "--approach", "bm25", "--index", "OUT/index"]
    return [
        ("start", (), ["--version"]),
        ("evaluate", (), ["evaluate", work / "run.txt", "--qrels", work / "qrels.txt", "nDCG@10", "AP", "RR"]),
        ("stance of a text", (), ["stance", "--topic", "Should zoos be closed?", "--text", "Animals suffer in cages."]),
        ("stances of 100 texts", (), ["stance", "--jsonl", work / "pairs.jsonl"]),
        ("quality of 100 texts", (), ["quality", "--jsonl", work / "pairs.jsonl"]),
        ("text in 4 pictures", (), ["read", *pictures]),
        ("evidence of the sample without models", ("evidence",), ["extract", "-q", "-i", SAMPLE, "--evidence", "OUT/evidence", "--models", "OUT/no-models"]),
        ("index of 4,000 arguments", ("index",), ["index", "-q", "-i", work / "arguments", "--task", "controversial", "--index", "OUT/index"]),
        ("50 searches in them", (), [*bm25, "-o", "OUT/run"]),
        ("a new question", ("cache",), ["ask", "-q", "-i", SAMPLE, "--task", "controversial", "--cache", "OUT/cache", "Should zoos be closed?"]),
    ]


def remove(path):
    for one in path.parent.glob(f"*{path.name}*"):
        shutil.rmtree(one) if one.is_dir() else one.unlink()


def seconds(program, out, removed, arguments):
    """The processor time of a task; `None` and what the program says if it fails."""
    for name in removed:
        remove(out / name)
    command = [str(program), *(str(word).replace("OUT", str(out)) for word in arguments)]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode == 0:
            return used.ru_utime + used.ru_stime, ""
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
        return None, lines[0] if lines else f"exit code {process.returncode}"


def compared(ratios):
    """The median of ratios, and its noise: twice its standard error, from the median distance to it."""
    logs = [math.log(ratio) for ratio in ratios]
    middle = statistics.median(logs)
    # of a normal distribution, the standard deviation is 1.48 median distances, and the error of a median 1.25 of that of a mean
    spread = 1.48 * statistics.median(abs(one - middle) for one in logs)
    return math.exp(middle), math.exp(2 * 1.25 * spread / math.sqrt(len(logs))) - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("now", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", help="names of tasks, separated by commas")
    parser.add_argument("--work", type=Path, help="a directory for what is drawn and written; by default a temporary one")
    args = parser.parse_args()
    if args.rounds < 3:
        sys.exit("--rounds: fewer than 3 rounds say nothing about noise")
    chosen = set(args.only.split(",")) if args.only else None
    slower, failed, ran = [], [], 0
    with tempfile.TemporaryDirectory(prefix="guard-", dir=args.work) as directory:
        work = Path(directory)
        drawn_files(work)
        known = tasks(work)
        if chosen and (unknown := chosen - {name for name, _, _ in known}):
            sys.exit(f"--only: there is no task {', '.join(sorted(unknown))}: {', '.join(name for name, _, _ in known)}")
        programs = [(args.before.resolve(), work / "before"), (args.now.resolve(), work / "now")]
        for _, out in programs:
            out.mkdir()
        print(f"{'task':40} {'before':>9} {'now':>9} {'ratio':>7} {'noise':>6}")
        for name, removed, arguments in known:
            if chosen and name not in chosen:
                continue
            # once for the disk's cache and for what is stored, and to see whether both know the task
            first = [seconds(program, out, removed, arguments) for program, out in programs]
            if any(value is None for value, _ in first):
                whose = "before" if first[0][0] is None else "now"
                print(f"{name:40} left out, {whose}: {first[0][1] or first[1][1]}")
                if whose == "now":
                    failed.append(name)
                continue
            times = [[], []]
            for turn in range(args.rounds):
                for which in (0, 1) if turn % 2 == 0 else (1, 0):
                    value, said = seconds(*programs[which], removed, arguments)
                    if value is None:
                        sys.exit(f"{name}: {said}")
                    times[which].append(value)
            # a process that takes less than the clock resolves has taken that
            ratio, noise = compared([max(now, 0.001) / max(before, 0.001) for before, now in zip(*times)])
            is_slower = ratio > TOLERATED * (1 + noise)
            medians = [statistics.median(of) for of in times]
            print(f"{name:40} {medians[0]:7.2f} s {medians[1]:7.2f} s {ratio:7.3f} {noise:6.1%}{'  SLOWER' if is_slower else ''}", flush=True)
            ran += 1
            if is_slower:
                slower.append(name)
    if slower:
        print(f"slower by more than 5%, beyond the noise: {', '.join(slower)}")
    if failed:
        print(f"only the newer program fails: {', '.join(failed)}")
    if not ran:
        sys.exit("no task ran")
    sys.exit(1 if slower or failed else 0)


if __name__ == "__main__":
    main()
