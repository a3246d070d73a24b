#!/usr/bin/env python3
"""Exports the two towers of tests/reference/tiny-clip as ONNX files, as optimum and transformers.js name them.

    pip install torch transformers onnx
    python tests/reference/onnx_towers.py

Made with torch 2.15, transformers 5.24 and onnx 1.23. The towers have the weights of tiny-clip, so their vectors are those of tiny-clip.json, which
encoders.py makes. A batch can have any size, and texts any length. The ids are 64-bit integers; the text tower of a real export takes an
attention mask too, so this one does.
"""

import pathlib

import onnx
import torch
from transformers import CLIPModel

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE / "tiny-clip-onnx"
OPSET = 18


class Vision(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.tower, self.projection = model.vision_model, model.visual_projection

    def forward(self, pixel_values):
        return self.projection(self.tower(pixel_values=pixel_values).pooler_output)


class Text(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.tower, self.projection = model.text_model, model.text_projection

    def forward(self, input_ids, attention_mask):
        hidden = self.tower(input_ids=input_ids, attention_mask=attention_mask)
        return self.projection(hidden.pooler_output)


def export(module, inputs, names, output, dynamic, file):
    path = OUT / file
    torch.onnx.export(
        module,
        inputs,
        path,
        input_names=names,
        output_names=[output],
        dynamic_axes=dynamic | {output: {0: "batch_size"}},
        opset_version=OPSET,
        dynamo=False,
    )
    onnx.checker.check_model(onnx.load(path))
    print(path, path.stat().st_size)


def main():
    OUT.mkdir(exist_ok=True)
    model = CLIPModel.from_pretrained(HERE / "tiny-clip", attn_implementation="eager").float().eval()
    side = model.config.vision_config.image_size
    axes = {0: "batch_size", 1: "sequence_length"}
    pixels = torch.zeros(2, 3, side, side)
    export(Vision(model), (pixels,), ["pixel_values"], "image_embeds", {"pixel_values": {0: "batch_size"}}, "vision_model.onnx")
    ids = torch.tensor([[1, 2, 3, model.config.text_config.eos_token_id]] * 2)
    mask = torch.ones_like(ids)
    names = ["input_ids", "attention_mask"]
    export(Text(model), (ids, mask), names, "text_embeds", {name: axes for name in names}, "text_model.onnx")


if __name__ == "__main__":
    main()
