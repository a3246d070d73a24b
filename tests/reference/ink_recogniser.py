#!/usr/bin/env python3
"""Makes src/evidence/ocr/reference/ink-recogniser.onnx, a stand-in for the ocrs recogniser with predictable output.

It has the input and output of the real recogniser: grey pixels (batch, 1, 64, width) in [-0.5, 0.5], and log-probabilities (width / 4,
batch, 97). A step of 64 × 4 pixels with a mean below 0.35 contains ink and is read as "x" of the default alphabet. Any other step is read
as blank. So a line of text is read as one "x" for each stroke.

    python -m venv venv && venv/bin/pip install onnx && venv/bin/python tests/reference/ink_recogniser.py
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LABELS, X = 97, 1 + " 0123456789!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~€ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".index("x")

weight = np.zeros((LABELS, 1, 1, 1), np.float32)
bias = np.full(LABELS, -60, np.float32)
weight[X], bias[X] = -100, 35  # 35 - 100 mean > 0 if the mean is below 0.35
bias[0] = 0
nodes = [
    helper.make_node("AveragePool", ["line"], ["mean"], kernel_shape=[64, 4], strides=[64, 4]),
    helper.make_node("Conv", ["mean", "weight", "bias"], ["scores"], kernel_shape=[1, 1]),
    helper.make_node("Squeeze", ["scores", "height"], ["flat"]),
    helper.make_node("Transpose", ["flat"], ["steps"], perm=[2, 0, 1]),
    helper.make_node("LogSoftmax", ["steps"], ["logs"], axis=-1),
]
graph = helper.make_graph(
    nodes,
    "ink",
    [helper.make_tensor_value_info("line", TensorProto.FLOAT, ["batch", 1, 64, "width"])],
    [helper.make_tensor_value_info("logs", TensorProto.FLOAT, ["steps", "batch", LABELS])],
    [
        numpy_helper.from_array(weight, "weight"),
        numpy_helper.from_array(bias, "bias"),
        numpy_helper.from_array(np.array([2], np.int64), "height"),
    ],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model)
target = Path(__file__).resolve().parent.parent.parent / "src/evidence/ocr/reference/ink-recogniser.onnx"
target.parent.mkdir(parents=True, exist_ok=True)
onnx.save(model, target)
print(target.name, target.stat().st_size, "bytes")
