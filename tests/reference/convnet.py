#!/usr/bin/env python3
"""Makes src/evidence/ocr/reference/convnet-*.onnx, small random networks of the same kinds of layers as text detectors and recognisers,
and convnet.json, the outputs that onnxruntime computes with them.

    pip install onnx onnxruntime numpy
    python tests/reference/convnet.py

Made with onnx 1.23 and onnxruntime 1.31. The input is not stored: its value at channel c, row y and column x is
((7x + 13y + 5c) mod 17) / 17 - 0.5, which the test computes too.
"""

import json
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent.parent.parent / "src/evidence/ocr/reference"
RANDOM = np.random.default_rng(7)


class Graph:
    def __init__(self):
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def node(self, kind, *inputs, **attributes):
        self.count += 1
        output = f"{kind.lower()}{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def random(self, *shape, scale=1.0):
        return self.constant(RANDOM.normal(size=shape) * scale)

    def conv(self, x, takes, gives, kernel, stride=(1, 1), pads=None, depthwise=False, bias=True):
        rows, columns = kernel
        pads = pads or [rows // 2, columns // 2] * 2
        group = takes if depthwise else 1
        weights = self.random(gives, takes // group, rows, columns, scale=(takes // group * rows * columns) ** -0.5)
        inputs = [x, weights] + ([self.random(gives, scale=0.2)] if bias else [])
        return self.node("Conv", *inputs, kernel_shape=list(kernel), strides=list(stride), pads=pads, group=group)

    def norm(self, x, channels):
        variance = self.constant(RANDOM.uniform(0.5, 2, channels))
        return self.node("BatchNormalization", x, self.random(channels), self.random(channels), self.random(channels, scale=0.3),
                         variance, epsilon=1e-5)

    def affine(self, x):
        return self.node("Add", self.node("Mul", self.random(1), x), self.random(1, scale=0.3))

    def hard_swish(self, x):
        clip = self.node("Clip", self.node("Add", x, self.constant(3.0)), self.constant(0.0), self.constant(6.0))
        return self.node("Div", self.node("Mul", x, clip), self.constant(6.0))

    def swish(self, x):
        return self.node("Mul", x, self.node("Sigmoid", self.node("Mul", x, self.constant([1.5]))))

    def gate(self, x, channels, alpha):
        """Squeeze and excitation."""
        y = self.node("Relu", self.conv(self.node("GlobalAveragePool", x), channels, 6, (1, 1)))
        return self.node("HardSigmoid", self.conv(y, 6, channels, (1, 1)), alpha=alpha, beta=0.5)

    def enlarge(self, x, factor):
        return self.node("Resize", x, "", self.constant([1, 1, factor, factor]), mode="nearest",
                         coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def save(self, name, output, channels, opset=13):
        shape = [1, channels, "height", "width"]
        graph = helper.make_graph(self.nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        model.producer_name = ""
        path = HERE / f"convnet-{name}.onnx"
        onnx.save(model, path)
        return path


def detector():
    g = Graph()
    x = g.norm(g.conv("x", 3, 16, (3, 3), (2, 2), bias=False), 16)
    x = g.affine(g.hard_swish(g.affine(g.conv(x, 16, 16, (3, 3), depthwise=True))))
    early = g.node("Relu", g.conv(x, 16, 24, (1, 1)))
    x = g.conv(early, 24, 24, (5, 5), (2, 2), depthwise=True)
    x = g.node("Mul", x, g.gate(x, 24, 1 / 6))
    late = g.affine(g.hard_swish(g.conv(x, 24, 40, (1, 1))))
    low = g.conv(late, 40, 20, (1, 1))
    low = g.node("Add", low, g.node("Mul", low, g.gate(low, 20, 0.2)))
    high = g.node("Add", g.conv(early, 24, 20, (1, 1)), g.enlarge(low, 2))
    x = g.node("Concat", g.enlarge(low, 2), high, axis=1)
    x = g.node("Relu", g.norm(g.conv(x, 40, 18, (3, 3), bias=False), 18))
    x = g.node("ConvTranspose", x, g.random(18, 10, 2, 2, scale=0.3), kernel_shape=[2, 2], strides=[2, 2])
    x = g.node("Relu", g.norm(g.node("Add", x, g.random(1, 10, 1, 1)), 10))
    x = g.node("ConvTranspose", x, g.random(10, 1, 2, 2, scale=0.3), kernel_shape=[2, 2], strides=[2, 2])
    return g.save("detector", g.node("Sigmoid", g.node("Add", x, g.random(1, 1, 1, 1))), 3)


def recogniser():
    g = Graph()
    x = g.node("Relu", g.conv("x", 3, 10, (3, 3), (2, 1)))
    x = g.conv(x, 10, 10, (5, 5), (2, 1), depthwise=True)
    x = g.hard_swish(g.conv(x, 10, 70, (1, 1)))
    x = g.node("AveragePool", x, kernel_shape=[3, 2], strides=[3, 2])
    # from here on riposte leaves the network to rten: one map has two branches, and the last layer is not a convolution
    y = g.node("Tanh", g.conv(x, 70, 12, (1, 3), pads=[0, 1, 0, 1]))
    x = g.conv(g.node("Concat", x, y, axis=1), 82, 9, (1, 1))
    return g.save("recogniser", g.node("Softmax", x, axis=1), 3)


def reader():
    """The middle is not convolutional, and the convolutions after it lead to an output layer, as in PP-OCRv4's recogniser."""
    g = Graph()
    x = g.node("Relu", g.conv("x", 3, 64, (3, 3), (2, 1)))
    x = g.node("AveragePool", x, kernel_shape=[18, 2], strides=[18, 2])
    y = g.swish(g.norm(g.conv(x, 64, 12, (1, 3), bias=False), 12))
    # riposte computes the pooled map and this one, and hands this one to rten
    y = g.node("Tanh", g.swish(g.conv(y, 12, 20, (1, 1))))
    # from here on riposte computes the network again
    y = g.swish(g.norm(g.conv(y, 20, 64, (1, 1)), 64))
    y = g.swish(g.conv(g.node("Concat", x, y, axis=1), 128, 12, (1, 3)))
    y = g.node("Transpose", g.node("Squeeze", g.swish(g.conv(y, 12, 24, (1, 1))), axes=[2]), perm=[0, 2, 1])
    y = g.node("Add", g.node("MatMul", y, g.random(24, 9, scale=0.4)), g.random(9))
    return g.save("reader", g.node("Softmax", y, axis=2), 3, opset=11)


def main():
    said = {}
    for path, (height, width) in ((detector(), (24, 36)), (recogniser(), (12, 22)), (reader(), (48, 30))):
        y, x = np.mgrid[:height, :width]
        picture = np.stack([(7 * x + 13 * y + 5 * c) % 17 / 17 - 0.5 for c in range(3)])[None].astype(np.float32)
        answer = onnxruntime.InferenceSession(str(path)).run(None, {"x": picture})[0]
        said[path.stem] = {"height": height, "width": width, "shape": answer.shape,
                           "values": [round(float(v), 6) for v in answer.ravel()]}
    (HERE / "convnet.json").write_text(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
