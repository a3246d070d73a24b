#!/usr/bin/env python3
"""Makes the reference values of image-text models: a small random checkpoint of each family, and what the original frameworks compute with it.

    pip install torch transformers sentence-transformers open_clip_torch sentencepiece protobuf 'pillow<12'
    python tests/reference/image_text.py

Made with transformers 5.24, open_clip 3.3 and Pillow 11.3. The checkpoints are random, with the seed of encoders.py, which also makes the texts. A
JSON file has the token ids of all texts of tiny-mpnet.json, the vectors of the first 50, and the vectors of 50 pictures.
"""

import json
import math
import pathlib
import shutil
import string
import tempfile

import encoders
import numpy as np
import open_clip
import sentencepiece
import torch
from encoders import HERE, SIZES, clean, image, numbers, pixels, random_weights, words_of_scripts, write
from safetensors.torch import save_file
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer
from transformers import (
    BertTokenizer,
    ChineseCLIPConfig,
    ChineseCLIPModel,
    SiglipConfig,
    SiglipModel,
    SiglipTokenizer,
)
from transformers.models.chinese_clip.image_processing_pil_chinese_clip import ChineseCLIPImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.siglip2.tokenization_siglip2 import Siglip2Tokenizer

# the pictures whose pixels are compared are the first ones
PICTURES = SIZES + [(7 + n * 37 % 180, 5 + n * 53 % 200) for n in range(50 - len(SIZES))]


class Pixels:
    """What encoders.pixels needs of a processor."""

    def __init__(self, mean, std, process):
        self.image_mean, self.image_std, self.process = mean, std, process

    def __call__(self, picture, return_tensors):
        return {"pixel_values": self.process(picture).numpy()[None]}


def values(name, processor, embed_picture, ids, embed_text, likeness, **more):
    """`embed_text` gets the number of a text."""
    pictures = []
    with torch.no_grad():
        for n, (width, height) in enumerate(PICTURES):
            picture = image(width, height)
            vector = embed_picture(torch.tensor(processor(picture, return_tensors="np")["pixel_values"]))[0]
            of_picture = {"width": width, "height": height, "vector": numbers(vector / vector.norm())}
            if n < len(SIZES):
                of_picture["pixels"] = pixels(processor, picture)
            pictures.append(of_picture)
        texts = []
        for n in range(50):
            vector = embed_text(n)[0]
            texts.append(numbers(vector / vector.norm()))
    write(f"{name}.json", {"ids": ids, "texts": texts, "images": pictures, "likeness": likeness, **more})


def siglip_model(directory, vocabulary, patch, side, dtype, pad):
    shutil.rmtree(directory, ignore_errors=True)
    text = dict(vocab_size=vocabulary, hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4)
    vision = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, image_size=side,
                  patch_size=patch)
    model = random_weights(SiglipModel(SiglipConfig(text_config=text, vision_config=vision)), dtype)
    with torch.no_grad():
        # close to those of the published models
        model.logit_scale.fill_(4.75)
        model.logit_bias.fill_(-12.5)
    model.to(dtype).save_pretrained(directory)
    return model.to(torch.float32)


def siglip_values(name, model, processor, ids, pad):
    def text(n):
        padded = (ids[n] + [pad] * 64)[:64]
        return model.get_text_features(input_ids=torch.tensor([padded])).pooler_output

    def picture(values):
        return model.get_image_features(pixel_values=values).pooler_output

    likeness = [math.exp(float(model.logit_scale[0])), float(model.logit_bias[0])]
    values(name, processor, picture, ids, text, likeness)


def tiny_siglip():
    """A SigLIP. Its processor makes texts lower case and removes punctuation before it splits them into pieces of unigrams."""
    directory = HERE / "tiny-siglip"
    texts = words_of_scripts(200)
    with tempfile.TemporaryDirectory() as made:
        lines = pathlib.Path(made) / "lines.txt"
        lines.write_text("\n".join(text.lower() for text in texts))
        sentencepiece.SentencePieceTrainer.train(
            input=str(lines), model_prefix=f"{made}/spiece", vocab_size=340, pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
            normalization_rule_name="identity", character_coverage=1.0, minloglevel=2)
        slow = SiglipTokenizer(f"{made}/spiece.model")
        pieces = sentencepiece.SentencePieceProcessor(model_file=f"{made}/spiece.model")
        vocabulary = [(pieces.id_to_piece(n), pieces.get_score(n)) for n in range(len(pieces))]
        ids = [slow(text, truncation=True, max_length=64)["input_ids"] for text in texts]
    # as the publisher's tokenizer.json was made from its spiece.model
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=2))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Lowercase(),
        normalizers.Replace(Regex("[" + "".join("\\" + c for c in string.punctuation) + "]"), ""),
        normalizers.Replace(Regex(r"\s+"), " "),
        normalizers.Strip(),
    ])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>",
                                                             special_tokens=[("</s>", 1)])
    tokenizer.add_special_tokens(["</s>", "<unk>"])
    found = [tokenizer.encode(text).ids for text in texts]
    for text, ours, theirs in zip(texts, found, ids):
        ours = ours if len(ours) <= 64 else ours[:63] + [1]
        if ours != theirs:
            print("DIFFERENT", repr(text)[:80], ours[:12], theirs[:12])
    processor = SiglipImageProcessorPil(size={"height": 32, "width": 32})
    model = siglip_model(directory, len(vocabulary), 8, 32, torch.float32, 1)
    # what the tokenizer does itself is left out, so that riposte must do it
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()])
    tokenizer.save(str(directory / "tokenizer.json"))
    settings = {"tokenizer_class": "SiglipTokenizer", "do_lower_case": True, "pad_token": "</s>", "model_max_length": 64}
    (directory / "tokenizer_config.json").write_text(json.dumps(settings, indent=1) + "\n")
    processor.save_pretrained(directory)
    siglip_values("tiny-siglip", model, processor, ids, 1)


def tiny_siglip2():
    """A SigLIP 2 of one resolution: another tokenizer, with bytes for unknown letters, which pads with another token; and half precision."""
    directory = HERE / "tiny-siglip2"
    texts = words_of_scripts(200)
    letters = [letter for letters in encoders.SCRIPTS.values() for letter in letters]
    words = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", *(f"<0x{n:02X}>" for n in range(256)), "▁", *".,?!–%'",
             *letters, "th", "the", "αβ", "ка", "日本"]
    vocabulary = {word: n for n, word in enumerate(dict.fromkeys(words))}
    merges = [("t", "h"), ("th", "e"), ("α", "β"), ("к", "а"), ("日", "本")]
    tokenizer = Siglip2Tokenizer(vocab=vocabulary, merges=merges, model_max_length=64)
    tokenizer._tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <eos>", pair="$A <eos> $B <eos>", special_tokens=[("<eos>", 1)])
    ids = [tokenizer(text, truncation=True, max_length=64)["input_ids"] for text in texts]
    model = siglip_model(directory, len(vocabulary), 16, 48, torch.float16, 0)
    # the published tokenizer.json is that of Gemma, which keeps capital letters
    tokenizer._tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer._tokenizer.save(str(directory / "tokenizer.json"))
    settings = {"tokenizer_class": "GemmaTokenizer", "pad_token": "<pad>", "model_max_length": 10**30}
    (directory / "tokenizer_config.json").write_text(json.dumps(settings, indent=1) + "\n")
    processor = SiglipImageProcessorPil(size={"height": 48, "width": 48}, resample=2)
    processor.save_pretrained(directory)
    siglip_values("tiny-siglip2", model, processor, ids, 0)


def tiny_chinese_clip():
    """A Chinese CLIP, with vocab.txt and without tokenizer.json, as it is published."""
    directory = HERE / "tiny-chinese-clip"
    shutil.rmtree(directory, ignore_errors=True)
    words = [*encoders.bert_vocabulary(), *(letter for letters in encoders.SCRIPTS.values() for letter in letters)]
    words += ["##" + letter for letters in list(encoders.SCRIPTS.values())[:4] for letter in letters]
    words = list(dict.fromkeys(words))
    text = dict(vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
                max_position_embeddings=52)
    vision = dict(hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3, image_size=32,
                  patch_size=8)
    config = ChineseCLIPConfig(text_config=text, vision_config=vision, projection_dim=20)
    model = random_weights(ChineseCLIPModel(config), torch.float32)
    with torch.no_grad():
        model.logit_scale.fill_(math.log(100))
    model.save_pretrained(directory)
    (directory / "vocab.txt").write_text("\n".join(words) + "\n")
    tokenizer = BertTokenizer(vocab={word: n for n, word in enumerate(words)}, model_max_length=52)
    processor = ChineseCLIPImageProcessorPil(size={"height": 32, "width": 32}, do_center_crop=False)
    processor.save_pretrained(directory)
    texts = words_of_scripts(200)
    ids = [tokenizer(text, truncation=True, max_length=52)["input_ids"] for text in texts]

    def text(n):
        # one at a time, so that the reference has no padding
        return model.get_text_features(input_ids=torch.tensor([ids[n]])).pooler_output

    def picture(values):
        return model.get_image_features(pixel_values=values).pooler_output

    values("tiny-chinese-clip", processor, picture, ids, text, [math.exp(float(model.logit_scale))])


def tiny_open_clip():
    """A CLIP in the layout of OpenCLIP. The JSON file also has the vectors with the flag quick_gelu."""
    directory = HERE / "tiny-open-clip"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    tokenizer, vocabulary = encoders.clip_tokenizer()
    tokenizer.save_pretrained(directory)
    vision = {"image_size": 32, "layers": 2, "width": 24, "head_width": 8, "patch_size": 8, "mlp_ratio": 1.5}
    text = {"context_length": 24, "vocab_size": vocabulary, "width": 32, "heads": 4, "layers": 2}
    settings = {"embed_dim": 20, "vision_cfg": vision, "text_cfg": text}
    model = random_weights(open_clip.CLIP(**settings), torch.float32)
    with torch.no_grad():
        for block in [*model.visual.transformer.resblocks, *model.transformer.resblocks]:
            width = block.attn.in_proj_weight.shape[1]
            block.attn.in_proj_weight.mul_(1.5)
            assert block.attn.in_proj_weight.shape == (3 * width, width)
        model.logit_scale.fill_(math.log(80))
    save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()},
              directory / "open_clip_model.safetensors", {"format": "pt"})
    prepare = {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.25, 0.3], "interpolation": "bilinear", "resize_mode": "shortest"}
    config = {"model_cfg": settings, "preprocess_cfg": prepare}
    (directory / "open_clip_config.json").write_text(json.dumps(config, indent=1) + "\n")
    clean(directory, ["open_clip_config.json", "open_clip_model.safetensors", "tokenizer.json"])

    transform = open_clip.image_transform(32, is_train=False, **prepare)
    processor = Pixels(prepare["mean"], prepare["std"], transform)
    ids = [tokenizer(text, truncation=True, max_length=24)["input_ids"] for text in words_of_scripts(200)]

    def padded(n):
        # as OpenCLIP does: with zeros
        return torch.tensor([(ids[n] + [0] * 24)[:24]])

    quick = open_clip.CLIP(**settings, quick_gelu=True).eval()
    quick.load_state_dict(model.state_dict())
    with torch.no_grad():
        width, height = PICTURES[0]
        picture = torch.tensor(processor(image(width, height), return_tensors="np")["pixel_values"])
        of_quick = {"image": numbers(quick.encode_image(picture, normalize=True)[0]),
                    "text": numbers(quick.encode_text(padded(9), normalize=True)[0])}
    values("tiny-open-clip", processor, model.encode_image, ids, lambda n: model.encode_text(padded(n)),
           [math.exp(float(model.logit_scale))], quick=of_quick)


if __name__ == "__main__":
    tiny_siglip()
    tiny_siglip2()
    tiny_chinese_clip()
    tiny_open_clip()
