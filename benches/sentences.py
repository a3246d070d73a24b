#!/usr/bin/env python3
"""Sentence vectors of a collection: documents a second by riposte, sentence-transformers and fastembed, in turn on the same texts.

    benches/sentences.py RIPOSTE_BENCH COLLECTION_TOOLS WORK [--count 100000] [--chunk 2000] [--rounds 8] [--words N] [--models DIR] [--json FILE]

COLLECTION_TOOLS generates COUNT arguments in WORK. Each round takes the next CHUNK of their premises, spread over the collection, and gives it to the
three programs one after another, so that other work of the machine hits all alike. Each program is a process of its own with two threads, has the model loaded,
and has encoded some other texts before. All encode with all-MiniLM-L6-v2, at most 256 tokens of a text, and form batches as they do by default: riposte by
length, sentence-transformers 32 texts by length, fastembed 256 texts in the given order. --words leaves only the beginning of each text.

fastembed and sentence-transformers compute in floats; riposte in int8 where the machine has such instructions. The least cosine of their vectors to those of riposte is printed.
fastembed runs the model in onnxruntime, from a file that torch exports here from the same weights.

Needs torch, sentence-transformers, fastembed and onnx. Prints a table in Markdown: medians over the rounds, and the ratios of the rounds with the least and the greatest.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

from bench import default_models
from peers import sentence_encoder

THREADS = 2
TOKENS = 256
MODEL = "sentence-transformers/all-MiniLM-L6-v2"
SHOWN = 20
PEERS = ("sentence-transformers", "fastembed")


def generated(tools, work, count):
    """The premises of generated arguments."""
    folder = work / f"arguments-{count}"
    if not (folder / "args-me.json").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([tools, "generate-arguments", "--count", str(count), folder], check=True, stdout=sys.stderr)
    arguments = json.loads((folder / "args-me.json").read_text(encoding="utf-8"))["arguments"]
    return [argument["premises"][0]["text"] for argument in arguments]


def export(models, folder):
    """The files of the model as fastembed expects them."""
    if (folder / "model.onnx").is_file():
        return
    import torch

    warnings.filterwarnings("ignore")
    unfinished = folder.with_name(folder.name + ".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(models / "all-minilm-l6-v2" / name, unfinished)
    (unfinished / "tokenizer_config.json").write_text(json.dumps({"model_max_length": TOKENS, "pad_token": "[PAD]"}))
    encoder = sentence_encoder(models)[0].auto_model.eval()

    class Tokens(torch.nn.Module):
        def __init__(self):
            super().__init__()
            # the exporter finds the weights of a module's parts
            self.encoder = encoder

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.encoder(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state

    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = torch.ones(2, 16, dtype=torch.int64)
    axes = {name: {0: "texts", 1: "tokens"} for name in (*names, "last_hidden_state")}
    with torch.inference_mode():
        torch.onnx.export(Tokens(), (example, example, example * 0), str(unfinished / "model.onnx"), input_names=names,
                          output_names=["last_hidden_state"], dynamic_axes=axes, opset_version=17, dynamo=False)
    unfinished.rename(folder)


def encoder_of(peer, models, folder):
    if peer == "fastembed":
        from fastembed import TextEmbedding

        model = TextEmbedding(MODEL, specific_model_path=str(folder), threads=THREADS)
        return lambda texts: list(model.embed(texts))
    import torch

    torch.set_num_threads(THREADS)
    model = sentence_encoder(models)
    return lambda texts: model.encode(texts, show_progress_bar=False)


def answer_lines(peer, models, folder):
    """The interface of `riposte-bench sentences`."""
    # the output of libraries must not come between the answers
    answers, sys.stdout = sys.stdout, sys.stderr
    say = lambda answer: print(json.dumps(answer), file=answers, flush=True)
    encode = encoder_of(peer, models, folder)
    say({"ready": True})
    for line in sys.stdin:
        texts = json.loads(line)
        start, before = time.perf_counter(), time.process_time()
        vectors = encode(texts)
        seconds, cpu = time.perf_counter() - start, time.process_time() - before
        say({"seconds": seconds, "cpu": cpu, "shown": [[float(number) for number in vector] for vector in vectors[:SHOWN]]})


class Program:
    def __init__(self, command):
        threads = ("RAYON_NUM_THREADS", "RTEN_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(threads, str(THREADS)), "TOKENIZERS_PARALLELISM": "true", "HF_HUB_OFFLINE": "1"}
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"a program ended with {self.process.wait()}")
        return json.loads(line)

    def encode(self, texts):
        self.process.stdin.write(json.dumps(texts) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def least_cosine(ours, theirs):
    product = lambda a, b: sum(x * y for x, y in zip(a, b))
    return min(product(a, b) / (product(a, a) * product(b, b)) ** 0.5 for a, b in zip(ours, theirs))


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("tools")
    parser.add_argument("work", type=Path)
    parser.add_argument("--models", type=Path, default=default_models())
    parser.add_argument("--words", type=int)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peers", default=",".join(PEERS), help="the other programs (default: all)")
    for name, default in (("--count", 100000), ("--chunk", 2000), ("--rounds", 8)):
        parser.add_argument(name, type=int, default=default)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    texts = generated(options.tools, options.work, options.count)
    if options.words:
        texts = [" ".join(text.split()[:options.words]) for text in texts]
    folder = options.work / "all-minilm-l6-v2-onnx"
    export(options.models, folder)
    programs = {"riposte": Program([options.bench, "sentences", "--encoder", options.models / "all-minilm-l6-v2", "--shown", SHOWN])}
    peers = options.peers.split(",")
    for peer in peers:
        programs[peer] = Program([sys.executable, __file__, "--answer", peer, options.models, folder])
    for program in programs.values():
        program.encode(texts[-64:])
    found = {name: [] for name in programs}
    cosines = dict.fromkeys(peers, 1.0)
    step = max(options.chunk, options.count // options.rounds)
    for at in range(0, min(step * options.rounds, options.count), step):
        chunk = texts[at:at + options.chunk]
        for name, program in programs.items():
            answer = program.encode(chunk)
            found[name].append({"texts": len(chunk), "seconds": answer["seconds"], "cpu": answer["cpu"]})
            shown = answer["shown"]
            if name == "riposte":
                ours = shown
            else:
                cosines[name] = min(cosines[name], least_cosine(ours, shown))
        print(f"  texts {at:,} to {at + len(chunk):,}: " + ", ".join(f"{name} {found[name][-1]['seconds']:.1f} s" for name in found), file=sys.stderr)
    for program in programs.values():
        program.end()
    rates = {name: statistics.median(one["texts"] / one["seconds"] for one in rounds) for name, rounds in found.items()}
    used = {name: statistics.median(1000 * one["cpu"] / one["texts"] for one in rounds) for name, rounds in found.items()}
    read = sum(one["texts"] for one in found["riposte"])
    print(f"{read:,} of {options.count:,} texts in {len(found['riposte'])} chunks in turn, {THREADS} threads\n")
    print("| | texts a second | CPU of a text | ratio by the clock | ratio of CPU | least cosine |\n|---|---|---|---|---|---|")
    for name, rounds in found.items():
        line = f"| {name} | {rates[name]:.0f} | {used[name]:.2f} ms |"
        if name != "riposte":
            ratios = [[theirs[what] / ours[what] for ours, theirs in zip(found["riposte"], rounds)] for what in ("seconds", "cpu")]
            line += "".join(f" {spread(of)} |" for of in ratios) + f" {cosines[name]:.4f} |"
        print(line)
    if options.json:
        options.json.write_text(json.dumps({"rounds": found, "cosines": cosines}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        answer_lines(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        main()
