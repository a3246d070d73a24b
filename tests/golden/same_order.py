#!/usr/bin/env python3
"""Checks that the golden runs of the text tasks have the same documents in the same order as in a commit: only their scores may differ.

    same_order.py COMMIT

Prints the number of runs with other scores. Exits with 1 if a run has other documents, another order or other stances."""
import pathlib, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def order(text):
    """The topic, the document and the second column of each line."""
    return [line.split("\t")[:3] for line in text.splitlines()]


def main(commit):
    others, rescored = [], 0
    runs = sorted((ROOT / "tests/golden/texts").glob("*/*.tsv"))
    for path in runs:
        name = path.relative_to(ROOT).as_posix()
        old = subprocess.run(["git", "show", f"{commit}:{name}"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        new = path.read_text()
        rescored += old != new
        if order(old) != order(new):
            others.append(name)
    print(f"{len(runs)} runs, {rescored} with other scores, {len(others)} with other documents or another order")
    for name in others:
        print(name)
    return bool(others)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
