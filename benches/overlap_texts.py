#!/usr/bin/env python3
"""Compares riposte's runs by the approaches of published text systems with the runs that these systems submitted.

    overlap_texts.py RIPOSTE controversial|comparative COLLECTION TOPICS APPROACH=RUN…

RIPOSTE is the program. COLLECTION can be a part of the collection that the systems searched: other documents are left out of both runs.
For each pair, the script prints how many of a topic's first ten documents both runs have, as a mean over the topics for which the submitted
run has ten documents of COLLECTION; and how many two random lists of ten documents from both runs would have in common.
"""
import collections, pathlib, subprocess, sys, tempfile

LENGTH = 10


def ranked(run):
    """For each topic, the documents in the order of their ranks."""
    found = collections.defaultdict(list)
    for line in pathlib.Path(run).read_text(encoding="utf-8").splitlines():
        topic, _, document, rank, *_ = line.split()
        found[topic].append((int(rank), document))
    return {topic: [document for _, document in sorted(rows)] for topic, rows in found.items()}


def main(riposte, task, collection, topics, *pairs):
    print(f"{'approach':<24}{'submitted run':<34}{'topics':>7}{'both':>7}{'chance':>8}")
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        for pair in pairs:
            approach, _, submitted = pair.partition("=")
            command = [riposte, task, "-q", "-i", collection, "-o", place / approach, "--topics", topics, "--index", place / "kept", "--approach", approach]
            if task == "comparative":
                command.append("--no-stance")
            # exit code 1 means faults in documents
            if subprocess.run(command).returncode > 1:
                sys.exit(f"riposte failed with the approach {approach}")
            ours, theirs = ranked(place / approach / "run.txt"), ranked(submitted)
            # the documents that the approach finds for any topic are taken as those of the collection
            known = {document for documents in ours.values() for document in documents}
            common, chance = [], []
            for topic, documents in theirs.items():
                first = [document for document in documents if document in known][:LENGTH]
                if len(first) == LENGTH and topic in ours:
                    common.append(len(set(first) & set(ours[topic][:LENGTH])))
                    chance.append(LENGTH * LENGTH / len(set(ours[topic]) | set(first)))
            count = len(common)
            mean = lambda values: sum(values) / count if count else float("nan")
            print(f"{approach:<24}{pathlib.Path(submitted).name:<34}{count:>7}{mean(common):>7.2f}{mean(chance):>8.2f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
