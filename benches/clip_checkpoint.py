#!/usr/bin/env python3
"""Makes a CLIP ViT-B/32 with random weights for measuring times, which do not depend on the values of the weights.

    clip_checkpoint.py TEXTS.json DIR

DIR gets the Hugging Face layout (config.json, model.safetensors, tokenizer.json, preprocessor_config.json), which riposte and
transformers load, and both towers as ONNX files for onnxruntime (image.onnx, text.onnx), whose outputs are unit vectors. The
vocabulary is learned from TEXTS.json, a JSON array, so that texts have about as many tokens as with the published vocabulary.
"""

import json
import shutil
import sys
import warnings
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import CLIPConfig, CLIPModel, CLIPTokenizer

from peers import DEVIATION, MEAN, SIDE, units

SEED = 20220603
# The size in the published model. Entries without a token of the texts are never looked up.
VOCABULARY = 49408


def tokenizer(texts: list[str]) -> CLIPTokenizer:
    trained = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    trained.normalizer = normalizers.Lowercase()
    trained.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trained.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCABULARY - 2 - len(alphabet), initial_alphabet=alphabet, end_of_word_suffix="</w>", show_progress=False))
    model = json.loads(trained.to_str())["model"]
    tokens = [*model["vocab"], *(letter + "</w>" for letter in alphabet if letter + "</w>" not in model["vocab"])]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab={token: n for n, token in enumerate(tokens)}, merges=[tuple(m) for m in model["merges"]])


class Tower(torch.nn.Module):
    """One tower with its projection, for the export to ONNX."""

    def __init__(self, model: CLIPModel, of: str):
        super().__init__()
        self.model, self.of = model, of

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        if self.of == "pixels":
            return units(self.model.get_image_features(pixel_values=values).pooler_output)
        return units(self.model.get_text_features(input_ids=values).pooler_output)


def export(model: CLIPModel, of: str, example: torch.Tensor, path: Path) -> None:
    # torch's newer exporter needs another package
    torch.onnx.export(Tower(model, of), (example,), str(path), input_names=[of], output_names=["vectors"],
                      dynamic_axes={of: {0: "count"}}, opset_version=17, dynamo=False)


def main(texts: Path, directory: Path) -> None:
    warnings.filterwarnings("ignore")
    unfinished = directory.with_name(directory.name + ".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    words = tokenizer(json.loads(texts.read_text(encoding="utf-8")))
    start, end = words.convert_tokens_to_ids(["<|startoftext|>", "<|endoftext|>"])
    torch.manual_seed(SEED)
    config = CLIPConfig(text_config={"vocab_size": VOCABULARY, "bos_token_id": start, "eos_token_id": end, "pad_token_id": end})
    model = CLIPModel(config).eval()
    model.save_pretrained(unfinished)
    words.save_pretrained(unfinished)
    (unfinished / "preprocessor_config.json").write_text(json.dumps({
        "do_resize": True, "size": {"shortest_edge": SIDE}, "resample": 3, "do_center_crop": True,
        "crop_size": {"height": SIDE, "width": SIDE}, "do_rescale": True, "rescale_factor": 1 / 255,
        "do_normalize": True, "image_mean": MEAN, "image_std": DEVIATION}))
    with torch.inference_mode():
        export(model, "pixels", torch.zeros(2, 3, SIDE, SIDE), unfinished / "image.onnx")
        export(model, "tokens", torch.tensor([[start, end] + [end] * 75] * 2), unfinished / "text.onnx")
    unfinished.rename(directory)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
