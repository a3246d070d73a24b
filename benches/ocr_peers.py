#!/usr/bin/env python3
"""Compares the text that riposte, RapidOCR (with the same PP-OCRv4 weights) and tesseract read in images.

    python -m venv venv && venv/bin/pip install rapidocr-onnxruntime==1.4.4 pillow    # and: apt install tesseract-ocr
    venv/bin/python benches/ocr_peers.py --pairs DIR                       # character error rate
    venv/bin/python benches/ocr_peers.py --words truth.json IMAGES        # word recall
    venv/bin/python benches/ocr_peers.py --agreed IMAGES                  # word recall without a typed list

--pairs DIR  images with their text beside them (NAME.txt or NAME.expected.txt). Character error rate: the edit distance
             divided by the length of the text, where runs of blanks and line breaks count as one space and case matters.
--words FILE {"image id": "the words that a person reads"}; IMAGES is a collection (images/*/ID/image.*) or a folder of
             ID.EXT files. Word recall: the share of the words (runs of letters and digits, case folded) that the reader
             finds, in any order, each as often as it occurs in the image. Extra words: the number of other words that the
             reader gives, which is meaningful only if the list is complete.
--agreed     the words of an image are those of two letters or more that both RapidOCR and tesseract read. Nearly all of them
             are in the image; words that one of the two misses or misreads do not count.

Each reader has one thread. The milliseconds are those of reading, without decoding, start and loading; only tesseract's include
them, because it is a separate program. riposte is `target/release/riposte read`, or --reader PROGRAM.
"""

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent


def edit_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def words(text: str) -> collections.Counter:
    return collections.Counter(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold()))


def upright_rgb(path: Path) -> Image.Image:
    """The image that every reader gets, with transparent pixels over white, as in a browser."""
    image = Image.open(path)
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def read_riposte(pictures: list[Path], reader: str | None) -> dict[Path, tuple[str, float]]:
    command = [reader] if reader else [str(ROOT / "target/release/riposte"), "read"]
    out = subprocess.run(command + [str(p) for p in pictures], stdout=subprocess.PIPE, text=True, check=True).stdout
    records = [json.loads(line) for line in out.splitlines()]
    return {Path(r["path"]): ("\n".join(line["text"] for line in r["lines"]), r["ms"]) for r in records}


def read_rapidocr(pictures: list[Path]) -> dict[Path, tuple[str, float]]:
    from rapidocr_onnxruntime import RapidOCR

    reader = RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1)
    answers = {}
    for path in pictures:
        image = Image.open(path)
        image.load()
        start = time.perf_counter()
        lines, _ = reader(image)
        answers[path] = ("\n".join(line[1] for line in lines or []), 1e3 * (time.perf_counter() - start))
    return answers


def read_tesseract(pictures: list[Path]) -> dict[Path, tuple[str, float]]:
    if not shutil.which("tesseract"):
        print("tesseract is not installed, so its columns are empty", file=sys.stderr)
        return {}
    answers = {}
    for path in pictures:
        start = time.perf_counter()
        run = subprocess.run(["tesseract", str(path), "-", "-l", "eng"], capture_output=True, text=True,
                             env={**os.environ, "OMP_THREAD_LIMIT": "1"})
        answers[path] = (run.stdout, 1e3 * (time.perf_counter() - start))
    return answers


def pairs(folder: Path) -> list[tuple[str, Path, str]]:
    found = []
    for image in sorted(p for p in folder.iterdir() if p.suffix != ".txt"):
        for text in (image.with_suffix(".txt"), image.with_suffix(".expected.txt")):
            if text.exists():
                found.append((image.stem, image, text.read_text(encoding="utf-8")))
    return found


def all_images(images: Path) -> list[tuple[str, Path, str]]:
    """The first image file of each document of a collection, or all image files of another folder."""
    if documents := sorted({p.parent for p in images.glob("images/*/*/image.*")}):
        files = [(d.name, min(p for p in d.glob("image.*") if p.suffix in (".webp", ".png", ".jpg"))) for d in documents]
    else:
        files = [(p.stem, p) for p in sorted(images.iterdir()) if p.suffix in (".webp", ".png", ".jpg", ".tif")]
    return [(name, path, "") for name, path in files]


def listed(truth: Path, images: Path) -> list[tuple[str, Path, str]]:
    found = []
    for name, text in json.loads(truth.read_text(encoding="utf-8")).items():
        candidates = [*images.glob(f"**/{name}/image.*"), *images.glob(f"{name}.*")]
        if not candidates:
            sys.exit(f"{images}: no image for {name}")
        found.append((name, next((c for c in candidates if c.suffix in (".webp", ".png", ".jpg")), candidates[0]), text))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--words", type=Path)
    parser.add_argument("--agreed", action="store_true")
    parser.add_argument("images", type=Path, nargs="?")
    parser.add_argument("--reader", help="a program with the output of `riposte read`")
    parser.add_argument("--show", action="store_true", help="print the words that each reader missed")
    args = parser.parse_args()
    if [bool(args.pairs), bool(args.words and args.images), bool(args.agreed and args.images)].count(True) != 1:
        parser.error("give --pairs DIR, --words FILE IMAGES, or --agreed IMAGES")
    items = pairs(args.pairs) if args.pairs else listed(args.words, args.images) if args.words else all_images(args.images)

    with tempfile.TemporaryDirectory() as scratch:
        pictures = []
        for name, path, _ in items:
            pictures.append(Path(scratch) / f"{name}.png")
            upright_rgb(path).save(pictures[-1])
        peers = {
            "riposte": read_riposte(pictures, args.reader),
            "rapidocr": read_rapidocr(pictures),
            "tesseract": read_tesseract(pictures),
        }

    if args.agreed:
        both = [words(peers["rapidocr"].get(p, ("",))[0]) & words(peers["tesseract"].get(p, ("",))[0]) for p in pictures]
        expectations = [" ".join(word for word in agreed.elements() if len(word) > 1) for agreed in both]
        items = [(name, path, agreed) for (name, path, _), agreed in zip(items, expectations)]
    measure = "error" if args.pairs else "recall"
    print(f"{'image':28}" + "".join(f"{peer + ' ' + measure:>18}{'ms':>7}" for peer in peers))
    sums = {peer: [0, 0, 0, 0.0] for peer in peers}
    for (name, _, expected), picture in zip(items, pictures):
        row = f"{name[:27]:28}"
        for peer, answers in peers.items():
            text, ms = answers.get(picture, ("", 0.0))
            if args.pairs:
                want, got = " ".join(expected.split()), " ".join(text.split())
                part, whole, extra = edit_distance(want, got), len(want), 0
            else:
                want, got = words(expected), words(text)
                part, whole, extra = (want & got).total(), want.total(), (got - want).total()
                if args.show and want - got:
                    print(f"  {name} {peer} missed: {' '.join((want - got).elements())}")
            total = sums[peer]
            total[0] += part
            total[1] += whole
            total[2] += extra
            total[3] += ms
            row += f"{part / whole:18.4f}" if whole else f"{f'({extra} words)':>18}"
            row += f"{ms:7.0f}"
        print(row)
    row = f"{'all':28}"
    for part, whole, _, ms in sums.values():
        row += f"{part / max(whole, 1):18.4f}{ms / max(len(items), 1):7.0f}"
    print(row)


if __name__ == "__main__":
    main()
