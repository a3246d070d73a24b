#!/usr/bin/env python3
"""Runs a stage of extraction with a Python package, loaded and warmed up, to be timed in turn with riposte.

    peers.py STAGE PEER ITEMS.json --models DIR [--batch 8] [--threads 1]

It has the interface of `riposte-bench stage`: it loads, works for two seconds to warm up, prints {"ready": items}, and
answers each line `go` with the seconds of a round, `show` with the output of the first round. Both programs get the same ITEMS.json.
For both, everything before the stage (reading and decoding files, loading models) is not timed.
"""

import argparse
import io
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

WARM, ROUND = 2.0, 0.3
SIDE = 224
MEAN, DEVIATION = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
NEAR = 60

# the pieces of work, and a function that turns the output of a piece into values that are compared
Contestant = tuple[list[Callable[[], object]], Callable[[object], list]]


def one(value: object) -> list:
    return [value]


def rgb(image):
    """8-bit RGB with transparent pixels over white, as riposte decodes images."""
    from PIL import Image

    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def decoded(path: str):
    from PIL import Image

    return rgb(Image.open(path))


def square(image):
    """The central square of an image whose shorter side is scaled to 224 pixels."""
    from PIL import Image

    width, height = image.size
    short = min(width, height)
    image = image.resize((max(SIDE, width * SIDE // short), max(SIDE, height * SIDE // short)), Image.Resampling.BICUBIC)
    left, top = (image.width - SIDE) // 2, (image.height - SIDE) // 2
    return image.crop((left, top, left + SIDE, top + SIDE))


def clip_input(image):
    """CLIP's input as an array (channel, row, column)."""
    import numpy

    values = numpy.asarray(square(image), dtype=numpy.float32) * numpy.float32(1 / 255)
    return ((values - numpy.float32(MEAN)) / numpy.float32(DEVIATION)).transpose(2, 0, 1)


def decode_pillow(args) -> Contestant:
    from PIL import Image
    import numpy

    files = [Path(item).read_bytes() for item in args.items]
    work = [lambda data=data: rgb(Image.open(io.BytesIO(data))) for data in files]
    return work, lambda image: one(float(numpy.asarray(image).mean()))


def resize_pillow(args) -> Contestant:
    return [lambda image=decoded(item): clip_input(image) for item in args.items], lambda array: one(float(array.mean()))


def near(before: list[str], after: list[str]) -> str:
    return " ".join([*" ".join(before).split()[-NEAR:], *" ".join(after).split()[:NEAR]])


def read_lxml(data: bytes, item: dict) -> dict:
    """The title, the words around the image, and all words: what riposte reads, except that riposte selects the main text."""
    from lxml import html

    tree = html.document_fromstring(data, parser=html.HTMLParser(encoding="utf-8"))
    name = item["url"].rsplit("/", 1)[-1]
    paths = [path.lower() for path in item["xpaths"] if re.fullmatch(r"(/[A-Za-z][A-Za-z0-9]*\[\d+\])+", path)]
    images = [element for path in paths for element in tree.xpath(path)]
    images = images or (tree.xpath("//img[contains(@src, $name)]", name=name) if name else [])
    before, after, seen = [], [], False
    for element in tree.body.iter() if tree.body is not None else ():
        seen = seen or any(element is image for image in images)
        if isinstance(element.tag, str) and element.tag not in ("script", "style", "noscript") and element.text:
            (after if seen else before).append(element.text)
        if element.tail:
            (after if seen else before).append(element.tail)
    title = tree.findtext(".//title") or ""
    return {"title": " ".join(title.split()), "near": near(before, after), "main": " ".join([*before, *after])}


def read_soup(data: bytes, item: dict) -> dict:
    """As `read_lxml`, by BeautifulSoup. It does not support XPath, so the image is found by its file name."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(data, "lxml")
    for element in soup(["script", "style", "noscript"]):
        element.decompose()
    name = item["url"].rsplit("/", 1)[-1]
    image = soup.find("img", src=lambda source: bool(source) and bool(name) and name in source)
    before = list(reversed([str(s) for s in image.find_all_previous(string=True, limit=4 * NEAR)])) if image else []
    after = [str(s) for s in (image or soup).find_all_next(string=True, limit=4 * NEAR)]
    title = soup.title.get_text() if soup.title else ""
    return {"title": " ".join(title.split()), "near": near(before, after), "main": soup.get_text(" ", strip=True)}


def page(args, read) -> Contestant:
    return [lambda data=Path(item["html"]).read_bytes(), item=item: read(data, item) for item in args.items], one


def vader(args) -> Contestant:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()
    return [lambda text=text: analyzer.polarity_scores(text)["compound"] for text in args.items], one


def rapidocr(threads: int):
    from rapidocr_onnxruntime import RapidOCR

    reader = RapidOCR(intra_op_num_threads=threads, inter_op_num_threads=1)
    return lambda image: "\n".join(line[1] for line in reader(image)[0] or [])


def tesseract(path: str, threads: int = 1) -> str:
    env = {**os.environ, "OMP_THREAD_LIMIT": str(threads)}
    run = subprocess.run(["tesseract", path, "-", "-l", "eng"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                         env=env)
    return run.stdout


def ocr_rapidocr(args) -> Contestant:
    read = rapidocr(args.threads)
    return [lambda image=decoded(item): read(image) for item in args.items], one


def ocr_tesseract(args) -> Contestant:
    subprocess.run(["tesseract", "--version"], stdout=subprocess.DEVNULL, check=True)
    return [lambda item=item: tesseract(item, args.threads) for item in args.items], one


def session(path: Path, threads: int):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def pixels(args) -> list:
    import numpy

    images = [clip_input(decoded(item)) for item in args.items]
    return [numpy.ascontiguousarray(images[at:at + args.batch]) for at in range(0, len(images), args.batch)]


def clip_dir(args) -> Path:
    return args.models / "clip-vit-base-patch32"


def clip_image_onnxruntime(args) -> Contestant:
    run = session(clip_dir(args) / "image.onnx", args.threads)
    return [lambda batch=batch: run.run(None, {"pixels": batch})[0] for batch in pixels(args)], lambda rows: rows.tolist()


def load_clip(directory: Path):
    from transformers import CLIPModel

    return CLIPModel.from_pretrained(directory).eval()


def units(rows):
    return rows / rows.norm(dim=-1, keepdim=True)


def clip_image_torch(args) -> Contestant:
    import torch

    model = load_clip(clip_dir(args))

    def embed(batch):
        with torch.inference_mode():
            return units(model.get_image_features(pixel_values=batch).pooler_output)

    return [lambda batch=torch.from_numpy(batch): embed(batch) for batch in pixels(args)], lambda rows: rows.tolist()


def clip_tokens(args):
    """A function that tokenizes the texts and pads each to the 77 tokens of CLIP, as its own tokenizer does."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(clip_dir(args) / "tokenizer.json"))
    end = json.loads((clip_dir(args) / "config.json").read_text())["text_config"]["eos_token_id"]
    tokenizer.enable_truncation(77)
    tokenizer.enable_padding(length=77, pad_id=end)
    return lambda: [encoded.ids for encoded in tokenizer.encode_batch(args.items)]


def clip_text_onnxruntime(args) -> Contestant:
    import numpy

    run, tokens = session(clip_dir(args) / "text.onnx", args.threads), clip_tokens(args)
    return [lambda: run.run(None, {"tokens": numpy.array(tokens())})[0]], lambda rows: rows.tolist()


def clip_text_torch(args) -> Contestant:
    import torch

    model, tokens = load_clip(clip_dir(args)), clip_tokens(args)

    def embed():
        with torch.inference_mode():
            return units(model.get_text_features(input_ids=torch.tensor(tokens())).pooler_output)

    return [embed], lambda rows: rows.tolist()


def sentence_encoder(models: Path):
    """all-MiniLM-L6-v2 with its published configuration, from the three files of it that riposte stores."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    transformer = Transformer(str(models / "all-minilm-l6-v2"), max_seq_length=256)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="mean")
    return SentenceTransformer(modules=[transformer, pooling, Normalize()], device="cpu")


def sentences(args) -> Contestant:
    model = sentence_encoder(args.models)
    return [lambda: model.encode(args.items, show_progress_bar=False)], lambda rows: rows.tolist()


CONTESTANTS: dict[tuple[str, str], Callable[..., Contestant]] = {
    ("decode", "pillow"): decode_pillow,
    ("resize", "pillow"): resize_pillow,
    ("page", "lxml"): lambda args: page(args, read_lxml),
    ("page", "beautifulsoup4"): lambda args: page(args, read_soup),
    ("vader", "vaderSentiment"): vader,
    ("ocr", "rapidocr-onnxruntime"): ocr_rapidocr,
    ("ocr", "tesseract"): ocr_tesseract,
    ("clip-image", "onnxruntime"): clip_image_onnxruntime,
    ("clip-image", "torch"): clip_image_torch,
    ("clip-text", "onnxruntime"): clip_text_onnxruntime,
    ("clip-text", "torch"): clip_text_torch,
    ("sentences", "sentence-transformers"): sentences,
}


def round_of(work: list[Callable[[], object]], show: Callable[[object], list], shown: list) -> dict:
    each, times, start, first = [0.0] * len(work), 0, time.perf_counter(), not shown
    while not times or time.perf_counter() - start < ROUND:
        for at, unit in enumerate(work):
            begun = time.perf_counter()
            output = unit()
            each[at] += time.perf_counter() - begun
            if first and not times:
                shown += show(output)
            del output
        times += 1
    each = [seconds / times for seconds in each]
    return {"seconds": sum(each), "each": each}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage")
    parser.add_argument("peer")
    parser.add_argument("items", type=Path)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    args.items = json.loads(args.items.read_text(encoding="utf-8"))
    # the output of libraries must not come between the answers
    answers, sys.stdout = sys.stdout, sys.stderr
    say = lambda answer: print(json.dumps(answer), file=answers, flush=True)
    try:
        if "torch" in args.peer or args.stage == "sentences":
            import torch

            torch.set_num_threads(args.threads)
        work, show = CONTESTANTS[args.stage, args.peer](args)
        start = time.perf_counter()
        while time.perf_counter() - start < WARM:
            for unit in work:
                unit()
                if time.perf_counter() - start > WARM:
                    break
    except (ImportError, OSError) as error:
        return say({"missing": re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")[:200]})
    say({"ready": len(args.items)})
    shown: list = []
    for line in sys.stdin:
        say(round_of(work, show, shown) if line.strip() == "go" else {"shown": shown})


if __name__ == "__main__":
    main()
