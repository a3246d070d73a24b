#!/usr/bin/env python3
"""Makes the reference values of the encoders: small random checkpoints, and the values that the original frameworks compute with them.

    pip install torch transformers sentence-transformers 'pillow<12'
    python tests/reference/encoders.py [--minilm DIR] [--mpnet DIR] [--pairs-only | --layouts-only | --rotary-only]

Made with transformers 5.23, sentence-transformers 6.2 and Pillow 11.3 (Pillow 13 resamples some shapes in another
order, with differences of up to two levels). The checkpoints are random, with a fixed seed (SEED). CLIPModel computes CLIP's vectors,
CLIPImageProcessorPil (Pillow) its pixels, the modules of sentence-transformers the sentence vectors, and its CrossEncoder the scores of
pairs. --minilm also writes the vectors of the real all-MiniLM-L6-v2 in DIR (minilm.json), and the logits of the stance encoder that is based on
it (pair.json). --mpnet writes those of the real all-mpnet-base-v2 (mpnet.json).
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from PIL import Image
from safetensors import safe_open
from safetensors.numpy import save_file
from safetensors.torch import load_file
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from tokenizers import Tokenizer, decoders, models, processors
from tokenizers.pre_tokenizers import ByteLevel
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    BertTokenizer,
    CLIPConfig,
    CLIPModel,
    CLIPTokenizer,
    MPNetConfig,
    MPNetModel,
    MPNetTokenizer,
    ModernBertConfig,
    ModernBertModel,
    NomicBertConfig,
    NomicBertModel,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaModel,
    XLMRobertaTokenizer,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

SEED = 20220603
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# (width, height): portrait, landscape, smaller than the crop, square, one pixel high, one pixel wide, a single pixel
SIZES = [(90, 160), (640, 361), (50, 40), (224, 224), (120, 1), (1, 90), (1, 1), (301, 1024)]

CLIP_TEXTS = [
    "",
    "a protest sign",
    "A photo about Should Teachers GET tenure?",
    "naïve café – 50% off 🙂",
    "pro\n\tand   con",
    "cats and dogs and " * 40,
    "before <|endoftext|> after",
]

SENTENCES = [
    "",
    "Guns don't kill people.",
    "a",
    "The death penalty should be abolished because it is irreversible and often unjust.",
    "Café, naïve — ÜBER!",
    "日本 nuclear ☢ power",
    "and the cat sat on the mat " * 60,
]

# The last four pairs are longer than the model allows. Cut are the text, the topic, both with a longer topic, and both with a longer text.
PAIRS = [
    ("Should guns be banned?", "Guns don't kill people."),
    ("Should guns be banned?", ""),
    ("", ""),
    ("", "The death penalty on people."),
    ("Death penalty", "Café, naïve — ÜBER! 日本 nuclear ☢ power"),
    ("Death penalty", "and the cat sat on the mat " * 60),
    ("the cat and the people " * 30, "on guns"),
    ("the cat and the people " * 8, "death penalty on " * 10),
    ("the cat and the people " * 30, "death penalty on " * 60),
]


def image(width, height):
    """A pattern of low and high frequencies. tests/it/clip.rs draws it with the same formula."""
    y, x, c = np.mgrid[0:height, 0:width, 0:3].astype(np.int64)
    values = (x * x // 9 + y * y // 5 + x * y * c // 7 + 37 * c + (x // 16 + y // 16) % 2 * 90) % 256
    return Image.fromarray(values.astype(np.uint8), "RGB")


def write(name, value):
    path = HERE / name
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace('},{"', '},\n{"') + "\n")
    print(path, path.stat().st_size)


def numbers(tensor):
    return [round(float(value), 7) for value in tensor]


def clean(directory, keep):
    for path in directory.iterdir():
        if path.name not in keep:
            path.unlink()


def pixels(processor, picture):
    """Sums of the byte values over rows and columns, which show if one pixel differs by one level, and the values of some pixels."""
    values = processor(picture, return_tensors="np")["pixel_values"][0]
    mean = np.array(processor.image_mean)[:, None, None]
    std = np.array(processor.image_std)[:, None, None]
    levels = (values.astype(np.float64) * std + mean) * 255
    assert np.abs(levels - levels.round()).max() < 1e-3
    levels = levels.round().astype(int)
    channels, height, width = values.shape
    samples = []
    for n in range(48):
        c, y, x = n % channels, n * 37 % height, n * 53 % width
        samples.append([c, y, x, round(float(values[c, y, x]), 6)])
    return {
        "height": height,
        "width": width,
        "row_sums": levels.sum(axis=2).tolist(),
        "column_sums": levels.sum(axis=1).tolist(),
        "samples": samples,
    }


def random_weights(model, dtype):
    """Sets random weights. With the initial weights of the frameworks, all texts would have nearly the same vector."""
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            scale = 0.3 if parameter.ndim < 2 or "embedding" in name else parameter[0].numel() ** -0.5
            is_norm = "norm" in name.lower() and name.endswith("weight")
            parameter.copy_((is_norm + noise * (0.1 if is_norm else scale)).to(dtype).to(torch.float32))
    return model.eval()


def clip_tokenizer():
    letters = sorted(ByteLevel.alphabet())
    words = ["a", "th", "the</w>", "an", "and</w>", "pr", "pro", "si", "sig", "sign</w>", "ca", "cat", "cats</w>"]
    merges = [("t", "h"), ("th", "e</w>"), ("a", "n"), ("an", "d</w>"), ("p", "r"), ("pr", "o"), ("s", "i"),
              ("si", "g"), ("sig", "n</w>"), ("c", "a"), ("ca", "t"), ("cat", "s</w>")]
    vocabulary = letters + [letter + "</w>" for letter in letters]
    vocabulary += [word for word in words if word not in vocabulary]
    vocabulary += ["<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab={token: n for n, token in enumerate(vocabulary)}, merges=merges), len(vocabulary)


def clip(name, dtype, text, vision, projection, processor, keep_processor):
    directory = HERE / name
    shutil.rmtree(directory, ignore_errors=True)
    tokenizer, vocabulary = clip_tokenizer()
    text = dict(text, vocab_size=vocabulary, bos_token_id=vocabulary - 2)
    text.setdefault("eos_token_id", vocabulary - 1)
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=projection)
    model = random_weights(CLIPModel(config), dtype)
    model.to(dtype).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    keep = ["config.json", "model.safetensors", "tokenizer.json"]
    if keep_processor:
        processor.save_pretrained(directory)
        keep.append("preprocessor_config.json")
    clean(directory, keep)

    model.to(torch.float32)
    images = []
    with torch.no_grad():
        for width, height in SIZES:
            picture = image(width, height)
            values = processor(picture, return_tensors="pt")["pixel_values"]
            vector = model.get_image_features(pixel_values=values).pooler_output[0]
            images.append({
                "image_width": width,
                "image_height": height,
                "pixels": pixels(processor, picture),
                "vector": numbers(vector / vector.norm()),
            })
        length = config.text_config.max_position_embeddings
        tokens = tokenizer(CLIP_TEXTS, padding="max_length", truncation=True, max_length=length, return_tensors="pt")
        vectors = model.get_text_features(**tokens).pooler_output
        texts = [
            {"text": line, "vector": numbers(vector / vector.norm())}
            for line, vector in zip(CLIP_TEXTS, vectors)
        ]
    write(f"{name}.json", {"images": images, "texts": texts})


def sentence_model(directory):
    transformer = Transformer(str(directory), max_seq_length=256)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="mean")
    return SentenceTransformer(modules=[transformer, pooling, Normalize()], device="cpu")


def sentences(model, texts):
    # one at a time, so that the reference has no padding
    return [{"text": text, "vector": numbers(model.encode([text])[0])} for text in texts]


def bert_vocabulary():
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + letter for letter in letters)]
    words += [*".,!?'-—%", "日", "本", "the", "and", "people", "##s", "gun", "death", "penalty", "cat", "on", "##ing"]
    return {word: n for n, word in enumerate(dict.fromkeys(words))}


def tiny_sentence():
    directory = HERE / "tiny-sentence"
    shutil.rmtree(directory, ignore_errors=True)
    vocabulary = bert_vocabulary()
    config = BertConfig(vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=48, max_position_embeddings=260, layer_norm_eps=1e-12)
    model = random_weights(BertModel(config, add_pooling_layer=False), torch.float32)
    model.save_pretrained(directory)
    BertTokenizer(vocab=vocabulary).save_pretrained(directory)
    write("tiny-sentence.json", sentences(sentence_model(directory), SENTENCES))
    clean(directory, ["config.json", "model.safetensors", "tokenizer.json"])


# Letters of five scripts, each with some more of which words consist.
SCRIPTS = {
    "latin": "abcdefghijklmnopqrstuvwxyzäéñøß",
    "cyrillic": "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
    "greek": "αβγδεζηθικλμνξοπρστυφχψωςάέήί",
    "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهويةى",
    "han": "日本語学校核電力人民死刑動物権利大気候変動銃規制税金",
}


def words_of_scripts(count):
    """Texts of words in one script or in several; some are long, and some contain special tokens as they are written."""
    chance = random.Random(SEED)
    marks = [".", ",", "?", " – ", "!", "%", "☢", "'"]
    texts = ["", "a", "   ", "<pad>", "before <pad> and after", "<mask> in a </s> text", "the people", "İstanbul ΌΔΟΣ ÄÉ"]
    names = list(SCRIPTS)
    for n in range(count - len(texts)):
        length = chance.choice([1, 3, 8, 8, 15, 40]) if n % 20 else 90
        text = []
        for _ in range(length):
            letters = SCRIPTS[names[n % 5] if n % 7 else chance.choice(names)]
            word = "".join(chance.choice(letters) for _ in range(chance.randint(1, 7)))
            text.append(word.capitalize() if chance.random() < 0.2 else word)
            if chance.random() < 0.15:
                text[-1] += chance.choice(marks)
        texts.append(" ".join(text))
    return texts


def of_layout(directory, pooling, prompts=None):
    transformer = Transformer(str(directory), max_seq_length=180)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode=pooling)
    return SentenceTransformer(modules=[transformer, pooling, Normalize()], prompts=prompts, device="cpu")


def save_layout(model, directory):
    """Saves all files but the weights, which are there and would get a random pooler."""
    with tempfile.TemporaryDirectory() as saved:
        model.save(saved)
        saved = pathlib.Path(saved)
        for path in saved.rglob("*.json"):
            (directory / path.relative_to(saved)).parent.mkdir(exist_ok=True)
            shutil.copy(path, directory / path.relative_to(saved))


def tokens_of(model, texts):
    return [{"text": text, "ids": model.tokenizer(text, truncation=True)["input_ids"]} for text in texts]


def tiny_mpnet():
    """A random MPNet in the whole layout of sentence-transformers, with prompts."""
    directory = HERE / "tiny-mpnet"
    shutil.rmtree(directory, ignore_errors=True)
    words = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", *bert_vocabulary()]
    words += [letter for letters in SCRIPTS.values() for letter in letters]
    words += ["##" + letter for letters in list(SCRIPTS.values())[:4] for letter in letters]
    words = [*dict.fromkeys(words), "<mask>"]
    config = MPNetConfig(vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                         intermediate_size=48, max_position_embeddings=202, layer_norm_eps=1e-5)
    model = random_weights(MPNetModel(config, add_pooling_layer=False), torch.float32)
    with torch.no_grad():
        # distance matters more than with the scale of other embeddings
        bias = model.encoder.relative_attention_bias.weight
        bias.copy_(torch.randn(bias.shape, generator=torch.Generator().manual_seed(SEED)))
    model.save_pretrained(directory)
    MPNetTokenizer(vocab={word: n for n, word in enumerate(words)}).save_pretrained(directory)
    model = of_layout(directory, "mean", {"query": "the death of ", "document": "people: "})
    save_layout(model, directory)
    texts = words_of_scripts(200)
    # one at a time, so that the reference has no padding
    kinds = {
        "documents": [numbers(model.encode_document([text])[0]) for text in texts[:50]],
        "queries": [numbers(model.encode_query([text])[0]) for text in texts[:10]],
    }
    for pooling in ["cls", "lasttoken"]:
        other = of_layout(directory, pooling)
        kinds[pooling] = [numbers(other.encode([text])[0]) for text in texts[:20]]
    write("tiny-mpnet.json", {"tokens": tokens_of(model, texts), **kinds})


def tiny_xlm_roberta():
    """A random XLM-RoBERTa, with the pooling that most encoders of this family have. Words are pieces of unigrams."""
    directory = HERE / "tiny-xlm-roberta"
    shutil.rmtree(directory, ignore_errors=True)
    letters = [letter for letters in SCRIPTS.values() for letter in letters]
    pieces = [*"0123456789.,?!–%'", *letters, "▁", "▁the", "▁people", "▁a", "αβ", "ка", "日本", "th", "er"]
    pieces = [(piece, -2.0 * (1 + n % 7) / len(piece)) for n, piece in enumerate(dict.fromkeys(pieces))]
    vocabulary = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *pieces, ("<mask>", 0.0)]
    config = XLMRobertaConfig(vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                              intermediate_size=48, max_position_embeddings=202, type_vocab_size=1, layer_norm_eps=1e-5)
    random_weights(XLMRobertaModel(config, add_pooling_layer=False), torch.float32).save_pretrained(directory)
    XLMRobertaTokenizer(vocab=vocabulary).save_pretrained(directory)
    model = of_layout(directory, "cls")
    save_layout(model, directory)
    texts = words_of_scripts(200)
    vectors = [numbers(model.encode_document([text])[0]) for text in texts[:50]]
    write("tiny-xlm-roberta.json", {"tokens": tokens_of(model, texts), "documents": vectors})


def rotated(name, model, tokenizer, pooling, prompts=None):
    """Writes a model whose attention turns queries and keys, and its values. It is computed as it is published, without flash attention."""
    directory = HERE / name
    shutil.rmtree(directory, ignore_errors=True)
    model = random_weights(model, torch.float32)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    sentences = of_layout(directory, pooling, prompts)
    save_layout(sentences, directory)
    texts = words_of_scripts(200)
    # one at a time, so that the reference has no padding
    write(f"{name}.json", {
        "tokens": tokens_of(sentences, texts),
        "documents": [numbers(sentences.encode_document([text])[0]) for text in texts[:50]],
        "queries": [numbers(sentences.encode_query([text])[0]) for text in texts[:10]],
    })


def tiny_modernbert():
    """A random ModernBERT of five layers, two of which attend to the whole text and the others to windows that are shorter than most texts."""
    specials = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    pieces = ["th", "the", "Ġp", "Ġpe", "an", "Ġa"]
    merges = [("t", "h"), ("th", "e"), ("Ġ", "p"), ("Ġp", "e"), ("a", "n"), ("Ġ", "a")]
    vocabulary = {piece: n for n, piece in enumerate([*sorted(ByteLevel.alphabet()), *pieces, *specials])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(name, vocabulary[name]) for name in ["[CLS]", "[SEP]"]])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
                                        pad_token="[PAD]", mask_token="[MASK]")
    config = ModernBertConfig(vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=5, num_attention_heads=4,
                              intermediate_size=24, max_position_embeddings=202, local_attention=16,
                              pad_token_id=vocabulary["[PAD]"], cls_token_id=vocabulary["[CLS]"],
                              bos_token_id=vocabulary["[CLS]"], sep_token_id=vocabulary["[SEP]"],
                              eos_token_id=vocabulary["[SEP]"], attn_implementation="eager")
    rotated("tiny-modernbert", ModernBertModel(config), tokenizer, "cls")


def tiny_nomic_bert():
    """A random NomicBERT, with different prompts for queries and documents, as the published model has them."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *bert_vocabulary()]
    words += [letter for letters in SCRIPTS.values() for letter in letters]
    words += ["##" + letter for letters in list(SCRIPTS.values())[:4] for letter in letters]
    words = list(dict.fromkeys(words))
    config = NomicBertConfig(vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                             intermediate_size=48, max_position_embeddings=202, attn_implementation="eager")
    tokenizer = BertTokenizer(vocab={word: n for n, word in enumerate(words)})
    rotated("tiny-nomic-bert", NomicBertModel(config), tokenizer, "mean",
            {"query": "search_query: ", "document": "search_document: "})


def tiny_cross():
    directory = HERE / "tiny-cross"
    shutil.rmtree(directory, ignore_errors=True)
    vocabulary = bert_vocabulary()
    config = BertConfig(vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=24, max_position_embeddings=48, num_labels=1)
    random_weights(BertForSequenceClassification(config), torch.float32).save_pretrained(directory)
    BertTokenizer(vocab=vocabulary, model_max_length=48).save_pretrained(directory)
    model = CrossEncoder(str(directory), device="cpu", activation_fn=torch.nn.Identity())
    # one at a time, so that the reference has no padding
    scores = [float(model.predict([pair])[0]) for pair in PAIRS]
    write("tiny-cross.json", [
        {"topic": topic, "text": text, "score": round(score, 7)}
        for (topic, text), score in zip(PAIRS, scores)
    ])
    clean(directory, ["config.json", "model.safetensors", "tokenizer.json"])


def trained(base, path):
    """The tensors of a trained stance encoder: `base` with the changes in the file `path`, which riposte's `stance_encoder::pack` writes."""
    tensors = dict(base)
    with safe_open(path, "np") as changes:
        for name in changes.keys():
            if name.endswith(".steps"):
                name = name.removesuffix(".steps")
                packed = changes.get_tensor(name + ".steps").astype(np.int16)
                steps = np.stack([packed & 15, packed >> 4], axis=-1).reshape(base[name].shape) - 8
                scales = changes.get_tensor(name + ".scales").astype(np.float32)
                scales = np.repeat(scales, base[name].shape[1] // scales.shape[1], axis=1)
                tensors[name] = base[name] + torch.from_numpy(steps * scales)
            elif not name.endswith(".scales"):
                tensors[name] = torch.from_numpy(changes.get_tensor(name).astype(np.float32))
    return tensors


def pairs(directory, path):
    """The logits of PAIRS by the BertModel of transformers, with the changes and the head in the file `path`."""
    base = load_file(directory / "model.safetensors")
    base = {name.removeprefix("bert."): tensor for name, tensor in base.items()}
    tensors = trained(base, path)
    head = {name: tensors.pop(name) for name in list(tensors) if name.startswith("head.")}
    model = BertModel(BertConfig.from_pretrained(directory), add_pooling_layer=False).eval()
    used = {name: tensor for name, tensor in tensors.items() if name in model.state_dict()}
    model.load_state_dict(used)
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(96)
    found = []
    for claim, text in PAIRS:
        tokens = tokenizer.encode(claim, text)
        with torch.no_grad():
            first = model(torch.tensor([tokens.ids]), token_type_ids=torch.tensor([tokens.type_ids]))[0][0, 0]
            hidden = torch.tanh(head["head.dense.weight"] @ first + head["head.dense.bias"])
            logits = head["head.out.weight"] @ hidden + head["head.out.bias"]
        found.append({"claim": claim, "text": text, "logits": numbers(logits)})
    return found


def tiny_pair():
    """Random changes of tiny-sentence, in the file format of the stance encoder."""
    directory = HERE / "tiny-sentence"
    base = load_file(directory / "model.safetensors")
    random = np.random.default_rng(SEED)
    changes = {}
    for name, tensor in base.items():
        if name.startswith("encoder.") and tensor.dim() == 2:
            out, width = tensor.shape
            steps = random.integers(1, 16, (out, width)).astype(np.uint8)
            changes[name + ".steps"] = steps[:, 0::2] | steps[:, 1::2] << 4
            changes[name + ".scales"] = random.uniform(0, 0.05, (out, 1)).astype(np.float16)
        elif name.startswith("encoder."):
            changes[name] = (tensor.numpy() + random.normal(0, 0.1, tensor.shape)).astype(np.float32)
    for name, shape in [("dense", (32, 32)), ("out", (5, 32))]:
        changes[f"head.{name}.weight"] = random.normal(0, 0.3, shape).astype(np.float16)
        changes[f"head.{name}.bias"] = random.normal(0, 0.3, shape[:1]).astype(np.float32)
    path = HERE / "tiny-pair.safetensors"
    save_file(changes, path, {"base": "tiny"})
    write("tiny-pair.json", pairs(directory, path))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minilm", type=pathlib.Path, help="directory of the real all-MiniLM-L6-v2")
    parser.add_argument("--mpnet", type=pathlib.Path, help="directory of the real all-mpnet-base-v2")
    parser.add_argument("--layouts-only", action="store_true", help="make only the values of MPNet and XLM-RoBERTa")
    parser.add_argument("--rotary-only", action="store_true", help="make only the values of ModernBERT and NomicBERT")
    parser.add_argument("--pairs-only", action="store_true", help="make only the values of the stance encoder")
    options = parser.parse_args()
    HERE.mkdir(parents=True, exist_ok=True)
    if options.mpnet:
        write("mpnet.json", sentences(SentenceTransformer(str(options.mpnet), device="cpu"), SENTENCES))
    if options.layouts_only:
        tiny_mpnet()
        tiny_xlm_roberta()
        return
    if options.rotary_only:
        tiny_modernbert()
        tiny_nomic_bert()
        return
    if options.pairs_only:
        tiny_pair()
        if options.minilm:
            write("pair.json", pairs(options.minilm, ROOT / "models/own/stance.safetensors"))
        return

    # All widths differ if the architecture allows it, so that a confusion of two axes is an error. The configuration has the legacy rule
    # for the end of a text (eos_token_id 2 means the largest id) and a fixed size that the crop cuts on one axis and pads on the other.
    clip(
        "tiny-clip",
        torch.float32,
        dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=24, eos_token_id=2),
        dict(hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3, image_size=32,
             patch_size=8),
        20,
        CLIPImageProcessorPil(size={"height": 29, "width": 37}, crop_size={"height": 32, "width": 32},
                              image_mean=[0.5, 0.4, 0.3], image_std=[0.2, 0.25, 0.3]),
        True,
    )
    # with gelu, another epsilon, half-precision weights and the published preprocessing (without preprocessor_config.json)
    clip(
        "tiny-clip-gelu",
        torch.float16,
        dict(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
             max_position_embeddings=77, hidden_act="gelu", layer_norm_eps=1e-3),
        dict(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=224,
             patch_size=16, hidden_act="gelu", layer_norm_eps=1e-3),
        12,
        CLIPImageProcessorPil(),
        False,
    )
    tiny_sentence()
    tiny_mpnet()
    tiny_xlm_roberta()
    tiny_modernbert()
    tiny_nomic_bert()
    tiny_cross()
    tiny_pair()
    if options.minilm:
        write("minilm.json", sentences(sentence_model(options.minilm), SENTENCES))
        write("pair.json", pairs(options.minilm, ROOT / "models/own/stance.safetensors"))


if __name__ == "__main__":
    main()
