#!/usr/bin/env python3
"""Compares the main texts that riposte and other programs find in pages with those that people expect.

    cargo build --release -p benches
    cargo build --release --manifest-path benches/page-peers/Cargo.toml
    python -m venv venv && venv/bin/pip install trafilatura readability-lxml lxml_html_clean
    venv/bin/python benches/pages.py PAGES.jsonl.gz

PAGES.jsonl.gz has a page in each line: {"id", "set", "html", "text", "title", "image_url", "xpath"}; `text` and `title` are what people expect, and
`set` says where the page is from. Recall and precision are the shares of words (runs of letters and digits, in lower case, each as often as it
occurs) that are found, and that are expected; F1 is their harmonic mean. All are means over the pages of a set. `title` is the share of titles that
are equal to those expected, after white space is normalised. Some expected titles end with the name of the site, which riposte leaves out.

A program that cannot be run is left out, with a note. --riposte and --peers name other builds, so that two commits can be compared.
"""

import argparse
import collections
import gzip
import json
import logging
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RIPOSTE = ROOT / "target/release/riposte-bench"
PEERS = ROOT / "benches/page-peers/target/release/page-peers"


def words(text: str) -> collections.Counter:
    return collections.Counter(re.findall(r"\w+", text.lower()))


def of_program(command: list[str]):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"left out: {error}", file=sys.stderr)
        return
    yield from (json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"'))


def of_python(pages: dict):
    logging.disable(logging.CRITICAL)
    try:
        import lxml.html
        import readability
        import trafilatura
    except ImportError as error:
        print(f"left out: {error}", file=sys.stderr)
        return

    def read_trafilatura(html: str):
        return "", trafilatura.extract(html, include_comments=False) or ""

    def read_readability(html: str):
        document = readability.Document(html)
        return document.short_title(), " ".join(lxml.html.fromstring(document.summary()).itertext())

    for name, read in [("trafilatura", read_trafilatura), ("readability-lxml", read_readability)]:
        for id, page in pages.items():
            start = time.perf_counter()
            title, text = read(page["html"])
            yield {"id": id, "system": name, "title": title, "text": text, "seconds": time.perf_counter() - start}


def scores(page: dict, found: dict) -> tuple[float, float, float, float]:
    expected, got = words(page["text"]), words(found["text"])
    common = (expected & got).total()
    recall, precision = common / max(expected.total(), 1), common / max(got.total(), 1)
    f1 = 2 * common / max(expected.total() + got.total(), 1)
    return recall, precision, f1, 1000 * found["seconds"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", type=Path)
    parser.add_argument("--riposte", type=Path, default=RIPOSTE)
    parser.add_argument("--peers", type=Path, default=PEERS)
    args = parser.parse_args()
    with gzip.open(args.pages, "rt") as lines:
        pages = {page["id"]: page for page in map(json.loads, lines)}
    found = [*of_program([str(args.riposte), "pages", str(args.pages)])]
    found += [*of_program([str(args.peers), str(args.pages)]), *of_python(pages)]
    systems = list(dict.fromkeys(of["system"] for of in found))
    for set in sorted({page["set"] for page in pages.values()}):
        print(f"\n| {set} | recall | precision | F1 | ms | title |\n|---|---|---|---|---|---|")
        for system in systems:
            own = [(pages[of["id"]], of) for of in found if of["system"] == system and pages[of["id"]]["set"] == set]
            if not own:
                continue
            recall, precision, f1, ms = (sum(column) / len(own) for column in zip(*(scores(*pair) for pair in own)))
            titled = [page["title"].split() == of["title"].split() for page, of in own if page.get("title") and of["title"]]
            title = f"{sum(titled)} of {len(titled)}" if titled else "–"
            print(f"| {system} | {recall:.3f} | {precision:.3f} | {f1:.3f} | {ms:.1f} | {title} |")


if __name__ == "__main__":
    main()
