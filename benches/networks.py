#!/usr/bin/env python3
"""Times the text detector of PP-OCRv4 by itself: riposte's convolutions, OpenVINO (Intel's runtime for its processors) and onnxruntime.

    .venv/bin/python benches/networks.py RIPOSTE-BENCH MODEL [--sizes 960x960,320x320] [--rounds N]

    make -C benches bench-networks

MODEL is det.onnx of ppocr-v4 (riposte models fetch ppocr-v4). Each runtime computes the same image on one core, in a process of its own for each round, in
turn. The table has the medians of the best times of the rounds, in milliseconds, and the ratio to riposte in int8. OpenVINO is asked for
floats, and for bfloat16, in whose place it takes floats on a processor without the instructions.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

TIMES = 8


def image(rows, columns):
    import numpy

    return ((numpy.arange(3 * rows * columns) * 7919 % 2003) / 1001 - 1).astype("float32").reshape(1, 3, rows, columns)


def milliseconds(compute):
    best = []
    for _ in range(TIMES):
        start = time.perf_counter()
        compute()
        best.append(1e3 * (time.perf_counter() - start))
    return min(best)


def openvino(model, rows, columns, numbers):
    import openvino as ov

    core = ov.Core()
    network = core.read_model(model)
    network.reshape([1, 3, rows, columns])
    options = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": numbers, "PERFORMANCE_HINT": "LATENCY"}
    request = core.compile_model(network, "CPU", options).create_infer_request()
    pixels = image(rows, columns)
    return milliseconds(lambda: request.infer([pixels]))


def onnxruntime(model, rows, columns):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    inputs = {session.get_inputs()[0].name: image(rows, columns)}
    return milliseconds(lambda: session.run(None, inputs))


PEERS = {
    "OpenVINO, floats": lambda *of: openvino(*of, "f32"),
    "OpenVINO, bfloat16": lambda *of: openvino(*of, "bf16"),
    "onnxruntime, floats": onnxruntime,
}


def one_core():
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])


def output_of(command):
    return subprocess.run(command, check=True, capture_output=True, text=True, preexec_fn=one_core).stdout


def riposte(program, model, size, more):
    times = json.loads(output_of([program, "network", model, "--size", size, "--rounds", str(TIMES), *more]))
    return min(times["milliseconds"])


def main():
    if sys.argv[1:2] == ["--peer"]:
        _, _, name, model, rows, columns = sys.argv
        print(PEERS[name](model, int(rows), int(columns)))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--sizes", default="960x960,320x320")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    program, model = str(args.program), str(args.model)
    print("| image | network | ms | ratio |\n|---|---|---|---|")
    for size in args.sizes.split(","):
        found = {"riposte, int8": [], "riposte, floats": [], **{name: [] for name in PEERS}}
        for turn in range(args.rounds):
            for name in list(found)[:: 1 if turn % 2 == 0 else -1]:
                if name in PEERS:
                    best = float(output_of([sys.executable, __file__, "--peer", name, model, *size.split("x")]).split()[-1])
                else:
                    best = riposte(program, model, size, ["--float"] if "floats" in name else [])
                found[name].append(best)
        for name, times in found.items():
            ratio = statistics.median(peer / own for peer, own in zip(times, found["riposte, int8"]))
            print(f"| {size} | {name} | {statistics.median(times):.1f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
