#!/usr/bin/env python3
"""Computes the evidence of a collection with the usual Python packages, in one process, for comparison with `riposte extract`.

    python_road.py COLLECTION --models DIR [--ocr tesseract|rapidocr] [--threads N] [--limit N]

Each image is decoded (Pillow), its text is read (tesseract or RapidOCR), it is embedded with CLIP (torch, in batches of eight), and its pages are
parsed (lxml, or BeautifulSoup with --parser beautifulsoup). The text in the image, the title and the words around it go through VADER
(vaderSentiment) and MiniLM (sentence-transformers); the text of the page, cut to the words that riposte uses, goes through VADER. The script
prints a JSON object with the seconds and CPU seconds of starting (imports, models) and of the work, and the seconds of each stage.
"""

import argparse
import collections
import contextlib
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import peers

BATCH = 8
# riposte's MAX_MAIN_WORDS: it ignores further words of a page
WORDS = 10_000


def used() -> dict[str, float]:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {"wall_s": time.perf_counter(), "cpu_s": sum(u.ru_utime + u.ru_stime for u in usages)}


def pages(document: Path) -> list[dict]:
    """The pages of a document that riposte would read."""
    url = document / "image-url.txt"
    items = []
    for page in sorted(document.glob("pages/P*")):
        html, xpaths = page / "snapshot/dom.html", page / "snapshot/image-xpath.txt"
        if html.is_file():
            lines = xpaths.read_text(encoding="utf-8", errors="replace").split("\n") if xpaths.is_file() else []
            items.append({"html": str(html), "xpaths": [line.strip() for line in lines if line.strip()],
                          "url": url.read_text(errors="replace").strip() if url.is_file() else ""})
    return items


def image_file(document: Path) -> Path | None:
    return next((f for name in ("webp", "png", "jpg", "jpeg") if (f := document / f"image.{name}").is_file()), None)


def documents(collection: Path, limit: int | None) -> list[Path]:
    return sorted(collection.glob("images/I*/I*"), key=lambda path: path.name)[:limit]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--ocr", choices=("tesseract", "rapidocr"), default="tesseract")
    parser.add_argument("--parser", choices=("lxml", "beautifulsoup"), default="lxml")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    start = {"wall_s": time.perf_counter(), "cpu_s": 0.0}

    import numpy
    import torch
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    torch.set_num_threads(args.threads)
    clip = peers.load_clip(peers.clip_dir(args))
    encoder, analyzer = peers.sentence_encoder(args.models), SentimentIntensityAnalyzer()
    reader = peers.rapidocr(args.threads) if args.ocr == "rapidocr" else None
    read_page = peers.read_lxml if args.parser == "lxml" else peers.read_soup
    selected = documents(args.collection, args.limit)

    ready = used()
    waiting, vectors, sentences, words = [], 0, 0, 0
    stages: dict[str, float] = collections.defaultdict(float)

    @contextlib.contextmanager
    def timed(stage: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        stages[stage] += time.perf_counter() - begun

    def embed() -> int:
        with timed("clip"), torch.inference_mode():
            rows = peers.units(clip.get_image_features(pixel_values=torch.from_numpy(numpy.stack(waiting))).pooler_output)
        waiting.clear()
        return len(rows)

    for document in selected:
        texts, mains = [], []
        if path := image_file(document):
            with timed("decode"):
                image = peers.decoded(str(path))
            with timed("ocr"):
                read = peers.tesseract(str(path), args.threads) if reader is None else reader(image)
            texts.append(" ".join(read.split()))
            words += len(read.split())
            with timed("resize"):
                waiting.append(peers.clip_input(image))
            vectors += embed() if len(waiting) == BATCH else 0
        with timed("page"):
            for item in pages(document):
                found = read_page(Path(item["html"]).read_bytes(), item)
                texts += [found["title"], found["near"]]
                mains.append(" ".join(found["main"].split()[:WORDS]))
        texts = [text for text in texts if text]
        with timed("vader"):
            for text in [*texts, *mains]:
                analyzer.polarity_scores(text)
        with timed("sentences"):
            sentences += len(encoder.encode(texts, show_progress_bar=False)) if texts else 0
    vectors += embed() if waiting else 0
    end = used()
    print(json.dumps({
        "images": len(selected), "vectors": vectors, "sentences": sentences, "words": words,
        "start": {key: ready[key] - start[key] for key in start},
        "work": {key: end[key] - ready[key] for key in start},
        "stages": stages,
    }))


if __name__ == "__main__":
    main()
