#!/usr/bin/env python3
"""Compares the processor time of reading text in pictures, for each kind of picture: riposte, tesseract, and an earlier riposte.

    .venv/bin/python benches/ocr_kinds.py RIPOSTE --words DIR [--collection DIR] [--before FILE] [--rounds N]

    make -C benches bench-pictures WORDS=DIR [COLLECTION=DIR] [BEFORE=FILE] [ROUNDS=N]

--words DIR       has pictures and truth.json: {"picture.png": {"set": "receipts", "text": "the words in it"}}. Each set is a kind.
--collection DIR  a collection of images, one more kind without known words.
--before FILE     the program of another commit.

All pictures of a kind are read by one process of each program on one core, in turn: pictures without transparency, as PNG. What the program takes for a
picture without text is its start, which is subtracted. Times are processor seconds, decoding included; a ratio is the median over the rounds. Word recall
is that of ocr_peers.py. An earlier riposte should read the same lines, byte by byte.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from ocr_peers import all_images, upright_rgb, words
from PIL import Image

BLANK = (64, 64)


def one_core():
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])


def run(command):
    """Processor seconds, and what the program printed."""
    threads = dict.fromkeys(("OMP_THREAD_LIMIT", "RAYON_NUM_THREADS", "RTEN_NUM_THREADS"), "1")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **threads}, preexec_fn=one_core)
    out = process.stdout.read().decode(errors="replace")
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, out


def riposte(program):
    def read(pictures, _):
        seconds, out = run([str(program), "read", *map(str, pictures)])
        lines = [[line["text"] for line in json.loads(record)["lines"]] for record in out.splitlines()]
        return seconds, ["\n".join(of_picture) for of_picture in lines]

    return read


def tesseract(pictures, scratch):
    listed = scratch / "pictures.txt"
    listed.write_text("".join(f"{picture}\n" for picture in pictures))
    seconds, out = run(["tesseract", str(listed), "-", "-l", "eng"])
    # a form feed ends each page
    return seconds, out.split("\f")[: len(pictures)]


def kinds(words_dir, collection):
    """The pictures of each kind, each with its words; None if they are not known."""
    found = defaultdict(list)
    for name, of_picture in json.loads((words_dir / "truth.json").read_text(encoding="utf-8")).items():
        found[of_picture["set"]].append((words_dir / name, of_picture["text"]))
    if collection:
        found["a crawl"] = [(path, None) for _, path, _ in all_images(collection)]
    return found


def recall(texts, known):
    """The share of the known words that were read."""
    if None in known:
        return ""
    wanted = [words(text) for text in known]
    read = sum((want & words(text)).total() for want, text in zip(wanted, texts))
    return f"{read / max(1, sum(want.total() for want in wanted)):.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--words", type=Path, required=True)
    parser.add_argument("--collection", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    readers = {"now": riposte(args.program), "tesseract": tesseract}
    if args.before:
        readers["before"] = riposte(args.before)
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        blank = scratch / "blank.png"
        Image.new("RGB", BLANK, "white").save(blank)
        starts = {name: min(read([blank], scratch)[0] for _ in range(3)) for name, read in readers.items()}
        print("start: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in starts.items()))
        print("| kind | pictures | CPU ms a picture | recall | tesseract | ratio | recall |" + (" before | ratio | lines |" if args.before else ""))
        print("|---|---|---|---|---|---|---|" + ("---|---|---|" if args.before else ""))
        for kind, listed in kinds(args.words, args.collection).items():
            pictures = []
            for number, (path, _) in enumerate(listed):
                pictures.append(scratch / f"{number:04}.png")
                upright_rgb(path).save(pictures[-1])
            times, texts = defaultdict(list), {}
            for turn in range(args.rounds):
                order = list(readers) if turn % 2 == 0 else list(readers)[::-1]
                for name in order:
                    seconds, texts[name] = readers[name](pictures, scratch)
                    times[name].append(seconds - starts[name])
            each = {name: 1e3 * statistics.median(of) / len(pictures) for name, of in times.items()}
            ratio = {name: statistics.median(a / b for a, b in zip(of, times["now"])) for name, of in times.items()}
            known = [text for _, text in listed]
            row = f"| {kind} | {len(pictures)} | {each['now']:.0f} | {recall(texts['now'], known)} "
            row += f"| {each['tesseract']:.0f} | {ratio['tesseract']:.2f} | {recall(texts['tesseract'], known)} |"
            if args.before:
                same = "same" if texts["before"] == texts["now"] else "**differ**"
                row += f" {each['before']:.0f} | {ratio['before']:.2f} | {same} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
