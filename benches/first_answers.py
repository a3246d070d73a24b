#!/usr/bin/env python3
"""Measures what a person waits for: each command in a process of its own, with a warm disk.

    benches/first_answers.py RIPOSTE DATA [--before FILE] [--generated DIR] [--rounds N]

    make -C benches bench-first DATA=DIR [GENERATED=DIR] [BEFORE=FILE]

DATA has the development data: args/argquality20, passages and rank/cranfield. GENERATED is a collection of generated arguments (collection-tools
generate-arguments --count 400000 DIR). Prints a table: processor seconds (user and system), seconds by the clock and peak memory, each the median of all
rounds. With an earlier program, both take each task in turn, and the table has the median of the ratios of their processor seconds.

Where the index is said to be there, one other question was asked before. Each of the questions then begins without stored outputs: the cache is the one
that this first question left behind.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

OTHER = "Should people eat more apples?"


def run(program, *words):
    """Processor seconds, seconds by the clock, and megabytes at the peak."""
    with tempfile.TemporaryFile() as said:
        begin = os.times().elapsed
        process = subprocess.Popen([str(program), *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(map(str, words))}: {said.read().decode(errors='replace').strip() or process.returncode}")
        return used.ru_utime + used.ru_stime, os.times().elapsed - begin, used.ru_maxrss / 1000


def questions(collection):
    titles = re.findall(r"<title>\s*(.*?)\s*</title>", (collection / "topics.xml").read_text(), re.S)
    return [" ".join(unescape(title).split()) for title in titles]


def mean(measured):
    return tuple(statistics.fmean(of) for of in zip(*measured))


def copied_outputs(cache, to):
    """A copy of a cache whose indexes, which nothing changes, are links."""
    if to.exists():
        shutil.rmtree(to)
    shutil.copytree(cache, to, copy_function=lambda a, b: os.link(a, b) if "sqlite" not in Path(a).name else shutil.copy2(a, b))


def asked(program, collection, work, several):
    """Asks several questions, each with the index and without stored outputs; the mean of the measurements."""
    asked_before = work / f"asked-{program.name}-{collection.name}"
    if not asked_before.exists():
        run(program, "ask", "-q", "-i", collection, "--cache", asked_before, OTHER)
    measured = []
    for question in several:
        cache = work / "cache"
        copied_outputs(asked_before, cache)
        measured.append(run(program, "ask", "-q", "-i", collection, "--cache", cache, question))
    return mean(measured)


def fresh(work):
    cache = work / "cache"
    if cache.exists():
        shutil.rmtree(cache)
    return cache


def tasks(data, generated, work):
    """Name, goal in processor seconds or by the clock, and what measures a program."""
    arguments, passages, documents = data / "args/argquality20", data / "passages", data / "rank/cranfield"
    pair = ["--topic", "Should zoos be closed?", "--text", "Animals suffer in cages."]
    listed = [
        ("`stance` of a text", ".15 CPU s", lambda program: run(program, "stance", *pair)),
        (f"`ask` of a new question over {arguments.name}, the index is there", "1.0 CPU s", lambda program: asked(program, arguments, work, questions(arguments))),
    ]
    if generated:
        several = questions(generated)[:10]
        listed.append(("`ask` of a new question over generated arguments, the index is there", "2.0 CPU s", lambda program: asked(program, generated, work, several)))
    out = work / "out"
    return [
        *listed,
        ("`rank` over Cranfield, with an index to be built", "25 CPU s", lambda program: run(program, "rank", "-q", "-i", documents, "-o", out, "--cache", fresh(work))),
        ("Task 2, 25 topics, with an index to be built", "10 s", lambda program: run(program, "comparative", "-q", "-i", passages, "-o", out, "--cache", fresh(work))),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--generated", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, help="a directory for indexes and outputs; by default a temporary one")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="first-", dir=args.work) as directory:
        work = Path(directory)
        # copies, because two programs can have the same name
        programs = []
        for name, program in (("before", args.before), ("now", args.program)):
            if program:
                programs.append(Path(shutil.copy2(program, work / name)))
        print("| | CPU s | by the clock | peak | goal |" + (" before, CPU s | ratio |" if args.before else ""))
        print("|---|---|---|---|---|" + ("---|---|" if args.before else ""))
        for name, goal, measure in tasks(args.data, args.generated, work):
            rounds = []
            for turn in range(args.rounds):
                # each program is the first one in half of the rounds
                order = programs if turn % 2 == 0 else programs[::-1]
                measured = {program: measure(program) for program in order}
                rounds.append([measured[program] for program in programs])
            cpu, clock, peak = (statistics.median(of) for of in zip(*(of_round[-1] for of_round in rounds)))
            row = f"| {name} | {cpu:.2f} | {clock:.2f} s | {peak:.0f} MB | {goal} |"
            if args.before:
                before = statistics.median(of_round[0][0] for of_round in rounds)
                ratio = statistics.median(of_round[0][0] / of_round[-1][0] for of_round in rounds)
                row += f" {before:.2f} | {ratio:.2f} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
