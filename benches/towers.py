#!/usr/bin/env python3
"""Images and texts a second through image-text models, by riposte's backends, torch and onnxruntime, in turn on the same pictures; and the memory.

    python benches/towers.py [--cores 1,2] [--rounds 5] [--models clip,siglip,chinese-clip] [--work DIR]

Needs target/release/riposte-bench, and torch, transformers, onnx, onnxruntime and Pillow. Makes checkpoints of the published sizes with random
weights, because times do not depend on their values. Prints a table in Markdown, with the median of the rounds and the ratio to riposte's default. torch holds both towers in memory, the others that of
pictures.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from bench import Contestant

ROOT = Path(__file__).resolve().parent.parent
SEED = 20220603
SIDE = 224
BATCH = 8
WARM, ROUND = 2.0, 0.3
TEXTS = ["should guns be banned", "a photo about nuclear power", "a protest sign for the death penalty", "animal testing"] * 4


def tokenizer(pad: str, start: str, end: str, vocabulary: int):
    """A tokenizer of words whose ids are spread over a vocabulary of the published size."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = sorted({word for text in TEXTS for word in text.split()})
    ids = {word: 1000 + 7 * at for at, word in enumerate(words)}
    ids |= {pad: 0, "[unk]": 1, start: vocabulary - 2, end: vocabulary - 1}
    made = Tokenizer(models.WordLevel(ids, unk_token="[unk]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(single=f"{start} $A {end}", special_tokens=[(start, ids[start]), (end, ids[end])])
    return made


def models():
    """For each name: what makes the model, its tokenizer's special tokens, and its preprocessing."""
    from transformers import ChineseCLIPConfig, ChineseCLIPModel, CLIPConfig, CLIPModel, SiglipConfig, SiglipModel

    clip_mean, clip_std = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
    crop = {"do_resize": True, "size": {"shortest_edge": SIDE}, "do_center_crop": True, "crop_size": {"height": SIDE, "width": SIDE},
            "resample": 3, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": clip_mean, "image_std": clip_std}
    squash = crop | {"size": {"height": SIDE, "width": SIDE}, "do_center_crop": False, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    return {
        "clip": ("CLIP ViT-B/32", lambda: CLIPModel(CLIPConfig(text_config={"eos_token_id": 49407, "bos_token_id": 49406})), 49408, 77, crop),
        "siglip": ("SigLIP ViT-B/16, 224 pixels", lambda: SiglipModel(SiglipConfig()), 32000, 64, squash),
        "chinese-clip": ("Chinese CLIP ViT-B/16", lambda: ChineseCLIPModel(ChineseCLIPConfig(
            vision_config={"patch_size": 16})), 30522, 52, squash | {"image_mean": clip_mean, "image_std": clip_std}),
    }


def towers(model, pixels):
    """The vectors of pictures, of unit length."""
    rows = model.get_image_features(pixel_values=pixels)
    rows = getattr(rows, "pooler_output", rows)
    return rows / rows.norm(dim=-1, keepdim=True)


def make(name: str, directory: Path) -> None:
    import torch

    warnings.filterwarnings("ignore")
    _, model, vocabulary, _, preprocessing = models()[name]
    torch.manual_seed(SEED)
    model = model().eval()
    if name == "siglip":
        # what training begins with; riposte refuses a bias of 0
        model.logit_bias.data.fill_(-10)
    model.save_pretrained(directory)
    tokenizer("<pad>", "<s>", "</s>", vocabulary).save(str(directory / "tokenizer.json"))
    (directory / "preprocessor_config.json").write_text(json.dumps(preprocessing))
    (directory / "tokenizer_config.json").write_text(json.dumps({"pad_token": "<pad>"}))

    class Tower(torch.nn.Module):
        def __init__(self):
            super().__init__()
            # the exporter finds the weights of a module's parts
            self.model = model

        def forward(self, pixels):
            return towers(self.model, pixels)

    with torch.inference_mode():
        torch.onnx.export(Tower(), (torch.zeros(2, 3, SIDE, SIDE),), str(directory / "image.onnx"), input_names=["pixels"],
                          output_names=["vectors"], dynamic_axes={"pixels": {0: "count"}}, opset_version=17, dynamo=False)


def pixels(files):
    import numpy
    from PIL import Image

    images = [numpy.asarray(Image.open(file).convert("RGB"), dtype=numpy.float32).transpose(2, 0, 1) / 127.5 - 1 for file in files]
    return [numpy.ascontiguousarray(images[at:at + BATCH]) for at in range(0, len(images), BATCH)]


def peer(kind: str, name: str, directory: Path, files: list, threads: int) -> None:
    """Has the interface of `riposte-bench stage`."""
    if kind == "torch":
        import torch

        torch.set_num_threads(threads)
        made = models()[name][1]()
        model = type(made).from_pretrained(directory).eval()
        del made

        def run(batch):
            with torch.inference_mode():
                return towers(model, torch.from_numpy(batch))
    else:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(directory / "image.onnx", options, providers=["CPUExecutionProvider"])
        run = lambda batch: session.run(None, {"pixels": batch})
    work = pixels(files)
    start = time.perf_counter()
    while time.perf_counter() - start < WARM:
        run(work[0])
    print(json.dumps({"ready": len(files)}), flush=True)
    for line in sys.stdin:
        if line.strip() == "memory":
            status = Path("/proc/self/status").read_text().splitlines()
            kib = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
            print(json.dumps({"mb": kib * 1024 // 10**6}), flush=True)
            continue
        start, times = time.perf_counter(), 0
        while not times or time.perf_counter() - start < ROUND:
            for batch in work:
                run(batch)
            times += 1
        print(json.dumps({"seconds": (time.perf_counter() - start) / times}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", default=",".join(["clip", "siglip", "chinese-clip"]))
    parser.add_argument("--work", type=Path)
    parser.add_argument("--peer", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        kind, name, directory, threads = args.peer
        files = json.loads((Path(directory).parent / "pictures.json").read_text())
        return peer(kind, name, Path(directory), files, int(threads))
    work = args.work or Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    from PIL import Image

    files = []
    for at, source in enumerate(sorted((ROOT / "sample/images").rglob("image.*"))[:16]):
        files.append(str(work / f"{at}.png"))
        Image.open(source).convert("RGB").resize((SIDE, SIDE)).save(files[-1])
    (work / "pictures.json").write_text(json.dumps(files))
    print("| model | cores | | images a second | ratio of times | peak memory |\n|---|---|---|---|---|---|")
    for name in args.models.split(","):
        directory = work / name
        if not (directory / "image.onnx").exists():
            shutil.rmtree(directory, ignore_errors=True)
            subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'benches')!r}); import towers; from pathlib import Path; "
                            f"towers.make({name!r}, Path({str(directory)!r}))"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for cores in map(int, args.cores.split(",")):
            ours = [ROOT / "target/release/riposte-bench", "stage", "clip-image", work / "pictures.json", "--clip", directory, "--batch", BATCH]
            others = [[sys.executable, __file__, "--peer", kind, name, directory, cores] for kind in ("torch", "onnxruntime")]
            all_of = {"riposte": ours, "riposte, candle": [*ours, "--candle"], "torch": others[0], "onnxruntime": others[1]}
            if name != "clip":
                # only candle computes it
                all_of.pop("riposte, candle")
            contestants = {label: Contestant(label, command, cores, work / "log") for label, command in all_of.items()}
            for _ in range(args.rounds):
                for contestant in contestants.values():
                    if "missing" not in contestant.ready:
                        contestant.rounds.append(contestant.ask("go")["seconds"])
            first = contestants["riposte"].rounds
            for label, contestant in contestants.items():
                if why := contestant.ready.get("missing"):
                    print(f"| {models()[name][0]} | {cores} | {label} | {why} | | |")
                    continue
                speed = len(files) / statistics.median(contestant.rounds)
                ratio = statistics.median(b / a for a, b in zip(first, contestant.rounds)) if first else float("nan")
                memory = contestant.ask("memory")["mb"]
                print(f"| {models()[name][0]} | {cores} | {label} | {speed:.1f} | {ratio:.2f} | {memory:,} MB |", flush=True)
                contestant.end()


if __name__ == "__main__":
    main()
