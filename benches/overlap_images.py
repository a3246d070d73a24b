#!/usr/bin/env python3
"""Compares riposte's runs by the approaches of published image systems with the runs that these systems submitted in 2022.

    overlap_images.py RIPOSTE COLLECTION RUNS QRELS [--evidence FILE]

RIPOSTE is the program. COLLECTION has images and topics.xml; it can be a part of the collection of 2022. RUNS is a directory with submitted
runs (run-NAME.txt), QRELS the judgements of 2022. For each approach and submitted run, the script prints how many images of the submitted
lists (topic and stance, ranks 1 to 10) are in riposte's list of the same topic and stance. Only images of COLLECTION count, because
riposte cannot find the others. A second column has the number that random lists would have in common. Then `riposte evaluate` prints the
P@10 of riposte's runs, by the judgements of images in COLLECTION.

The first run computes the evidence with the installed models; --evidence names a file that already has it.
"""

import argparse
import collections
import subprocess
import sys
import tempfile
from pathlib import Path

# An approach, the name of a submitted run, and how the system of that run differs from the approach (empty if it does not).
PAIRS = [
    ("minsc", "minsc-baseline", ""),
    ("aramis", "aramis-argumentativeness-formula-stance-formula", ""),
    ("aramis", "aramis-argumentativeness-neural-stance-formula", "neural argumentativeness"),
    ("boromir-afinn", "boromir-afinn-clustering", "clusters, no OCR"),
    ("boromir-afinn", "boromir-afinn-ocr-clustering", "clusters"),
    ("boromir-query", "boromir-afinn-ocr-clustering", "clusters, no query processing"),
    ("boromir-bert", "boromir-bert-ocr-clustering-query-processing", "clusters"),
]
LENGTH = 10


def lists(run, images):
    """For each topic and stance, the images of the first ranks that are among `images`."""
    found = collections.defaultdict(set)
    for line in run.read_text(encoding="utf-8").splitlines():
        topic, stance, image, rank = line.split()[:4]
        if int(rank) <= LENGTH and image in images:
            found[topic, stance].add(image)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("riposte", "collection", "runs", "qrels"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--evidence", type=Path)
    arguments = parser.parse_args()
    images = {path.name for path in arguments.collection.glob("images/*/*") if path.is_dir()}
    if not images:
        sys.exit(f"there are no images in {arguments.collection}")
    with tempfile.TemporaryDirectory() as place:
        compare(arguments, images, Path(place))


def compare(arguments, images, place):
    evidence = arguments.evidence or place / "evidence.sqlite"
    runs = {}
    # the default approach rebuilds no system, but is shown in the table of P@10
    for approach in dict.fromkeys(["riposte", *(approach for approach, _, _ in PAIRS)]):
        # the table of `evaluate` shows the name of this directory
        out = place / approach
        command = [arguments.riposte, "images", "-q", "-i", arguments.collection, "-o", out, "--approach", approach]
        done = subprocess.run([*command, "--evidence", evidence])
        # exit code 1 means faults in documents, which the run survives
        if done.returncode > 1:
            sys.exit(f"riposte failed with the approach {approach}")
        runs[approach] = out / "run.txt"

    print(f"{len(images)} images\n")
    print(f"{'approach':<15}{'in common':>10}{'by chance':>11}{'submitted':>11}  submitted run")
    for approach, name, difference in PAIRS:
        submitted = arguments.runs / f"run-{name}.txt"
        if not submitted.is_file():
            print(f"{approach:<15}{'':>32}  {name}: there is no such run")
            continue
        own = lists(runs[approach], images)
        topics = {topic for topic, _ in own}
        theirs = {key: found for key, found in lists(submitted, images).items() if key[0] in topics}
        common = sum(len(found & own[key]) for key, found in theirs.items())
        chance = sum(len(found) * len(own[key]) / len(images) for key, found in theirs.items())
        total = sum(map(len, theirs.values()))
        note = f" ({difference})" if difference else ""
        print(f"{approach:<15}{common:>10}{chance:>11.1f}{total:>11}  {name}{note}")
    print()

    judged = place / "qrels.txt"
    lines = arguments.qrels.read_text(encoding="utf-8").splitlines(keepends=True)
    judged.write_text("".join(line for line in lines if line.split()[2] in images), encoding="utf-8")
    sys.stdout.flush()
    evaluated = subprocess.run([arguments.riposte, "evaluate", judged, *runs.values()])
    sys.exit(evaluated.returncode)


if __name__ == "__main__":
    main()
