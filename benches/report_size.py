#!/usr/bin/env python3
"""Measures the size of a report in which no image is in two topics, and the time to write it.

    report_size.py RIPOSTE COLLECTION EVIDENCE RUN WORK

RUN is a directory with run.txt and explain.jsonl. The collection is copied once for each topic (by hard links, replicate.py), and
each topic gets the images of a different copy, so that fifty topics show a thousand different images.
"""
import hashlib, json, pathlib, subprocess, sys, time

import replicate


def main(riposte, collection, evidence, run, work):
    run, work = pathlib.Path(run), pathlib.Path(work)
    originals = sorted(path.name for path in (pathlib.Path(collection) / "images").glob("I??/I*"))
    at = {name: number for number, name in enumerate(originals)}
    lines = [line.split(" ") for line in (run / "run.txt").read_text().splitlines()]
    topics = {topic: number for number, topic in enumerate(dict.fromkeys(line[0] for line in lines))}

    def copy(name, topic):
        number = topics[topic] * len(originals) + at[name]
        if number < len(originals):
            return name
        return "I" + hashlib.sha256(f"{name} {number}".encode()).hexdigest()[:16]

    replicate.main(collection, evidence, len(topics) * len(originals), work)
    spread = work / "run"
    spread.mkdir()
    for line in lines:
        line[2] = copy(line[2], line[0])
    (spread / "run.txt").write_text("".join(" ".join(line) + "\n" for line in lines))
    with open(spread / "explain.jsonl", "w") as out:
        for line in open(run / "explain.jsonl"):
            explained = json.loads(line)
            if explained["topic"] in topics:
                explained["image"] = copy(explained["image"], explained["topic"])
                out.write(json.dumps(explained, ensure_ascii=False) + "\n")
    report = work / "report"
    start = time.monotonic()
    subprocess.run([riposte, "inspect", "-q", spread, "-i", work / "collection", "--evidence",
                    work / "evidence.sqlite", "-o", report], check=True)
    seconds = time.monotonic() - start
    size = lambda pattern: sum(path.stat().st_size for path in report.rglob(pattern))
    print(f"{len(topics)} topics, {len({line[2] for line in lines})} images: {seconds:.1f} s, {size('*.*') / 1e6:.1f} MB; "
          f"the table of topics with all its pictures {(size('index.html') + size('*-mini.webp')) / 1e3:.0f} kB")


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
