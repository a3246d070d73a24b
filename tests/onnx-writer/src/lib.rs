//! Writes ONNX files, valid and hostile ones, as protocol buffers: for tests, which need networks of a few operators.
//!
//! Nothing is checked. What is written in a wrong order, or with wrong sizes, is a damaged model.

/// A protocol buffer's message: its bytes.
#[derive(Clone, Debug, Default)]
pub struct ProtobufMessage(pub Vec<u8>);

impl ProtobufMessage {
    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Adds a field with a number.
    pub fn int(mut self, field: u64, number: i64) -> ProtobufMessage {
        self.varint(field << 3);
        self.varint(number as u64);
        self
    }

    /// Adds a field with bytes or a text.
    pub fn bytes(mut self, field: u64, bytes: impl AsRef<[u8]>) -> ProtobufMessage {
        let bytes = bytes.as_ref();
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    /// Adds a field with a message.
    pub fn message(self, field: u64, message: &ProtobufMessage) -> ProtobufMessage {
        self.bytes(field, &message.0)
    }
}

/// An attribute of a node: several integers.
pub fn ints(name: &str, numbers: &[i64]) -> ProtobufMessage {
    let attribute = ProtobufMessage::default().bytes(1, name).int(20, 7);
    numbers
        .iter()
        .fold(attribute, |a, &number| a.int(8, number))
}

/// An attribute of a node: an integer.
pub fn int(name: &str, number: i64) -> ProtobufMessage {
    ProtobufMessage::default()
        .bytes(1, name)
        .int(3, number)
        .int(20, 2)
}

/// An attribute of a node: a text.
pub fn text(name: &str, text: &str) -> ProtobufMessage {
    ProtobufMessage::default()
        .bytes(1, name)
        .bytes(4, text)
        .int(20, 3)
}

/// A tensor without its numbers. `data_type` is 1 for 32-bit floats and 7 for 64-bit integers.
pub fn tensor(name: &str, data_type: i64, dims: &[i64]) -> ProtobufMessage {
    let tensor = ProtobufMessage::default().int(2, data_type).bytes(8, name);
    dims.iter().fold(tensor, |t, &dim| t.int(1, dim))
}

/// A tensor whose numbers are in another file.
pub fn external(name: &str, dims: &[i64], location: &str) -> ProtobufMessage {
    let entry = |key: &str, value: &str| ProtobufMessage::default().bytes(1, key).bytes(2, value);
    tensor(name, 1, dims)
        .message(13, &entry("location", location))
        .message(13, &entry("offset", "0"))
        .message(13, &entry("length", "64"))
        .int(14, 1)
}

/// A graph that is being written, in the order of the calls: the operators first to last.
#[derive(Clone, Debug, Default)]
pub struct GraphWriter {
    graph: ProtobufMessage,
    metadata: Vec<(String, String)>,
}

impl GraphWriter {
    /// An operator of this kind with one output, and the names of its inputs; "" stands for an input that is left out.
    pub fn node(
        self,
        kind: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[ProtobufMessage],
    ) -> GraphWriter {
        let mut node = ProtobufMessage::default().bytes(4, kind).bytes(2, output);
        for input in inputs {
            node = node.bytes(1, input);
        }
        for attribute in attributes {
            node = node.message(5, attribute);
        }
        self.part(1, &node)
    }

    /// A constant of 32-bit floats.
    pub fn floats(self, name: &str, dims: &[i64], numbers: &[f32]) -> GraphWriter {
        let raw: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.part(5, &tensor(name, 1, dims).bytes(9, raw))
    }

    /// A constant of 64-bit integers.
    pub fn integers(self, name: &str, numbers: &[i64]) -> GraphWriter {
        let raw: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.part(5, &tensor(name, 7, &[numbers.len() as i64]).bytes(9, raw))
    }

    /// A constant that is already written as a tensor.
    pub fn constant(self, tensor: &ProtobufMessage) -> GraphWriter {
        self.part(5, tensor)
    }

    /// An input of 32-bit floats; a negative side is unknown.
    pub fn input(self, name: &str, sides: &[i64]) -> GraphWriter {
        self.part(11, &value(name, sides))
    }

    /// An output of 32-bit floats; a negative side is unknown.
    pub fn output(self, name: &str, sides: &[i64]) -> GraphWriter {
        self.part(12, &value(name, sides))
    }

    /// An entry of the metadata of the file.
    pub fn metadata(mut self, key: &str, value: &str) -> GraphWriter {
        self.metadata.push((key.to_owned(), value.to_owned()));
        self
    }

    fn part(mut self, field: u64, part: &ProtobufMessage) -> GraphWriter {
        self.graph = self.graph.message(field, part);
        self
    }

    /// The bytes of a model file with this graph.
    pub fn model(&self) -> Vec<u8> {
        let opset = ProtobufMessage::default().bytes(1, "").int(2, 13);
        let graph = self.graph.clone().bytes(2, "graph");
        let mut model = ProtobufMessage::default()
            .int(1, 8)
            .message(8, &opset)
            .message(7, &graph);
        for (key, value) in &self.metadata {
            let entry = ProtobufMessage::default().bytes(1, key).bytes(2, value);
            model = model.message(14, &entry);
        }
        model.0
    }
}

fn value(name: &str, sides: &[i64]) -> ProtobufMessage {
    let mut shape = ProtobufMessage::default();
    for (n, &side) in sides.iter().enumerate() {
        let dimension = match side {
            ..0 => ProtobufMessage::default().bytes(2, format!("side{n}")),
            _ => ProtobufMessage::default().int(1, side),
        };
        shape = shape.message(1, &dimension);
    }
    let tensor = ProtobufMessage::default().int(1, 1).message(2, &shape);
    let kind = ProtobufMessage::default().message(1, &tensor);
    ProtobufMessage::default().bytes(1, name).message(2, &kind)
}

/// Numbers in [-1, 1) that look random.
pub fn numbers(count: usize) -> Vec<f32> {
    let mixed = |n: u64| (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let number = |n| mixed(n) as f32 / (1 << 23) as f32 - 1.0;
    (0..count as u64).map(number).collect()
}

/// A recogniser of lines with random weights: (1, 3, 48, width) to the probabilities of labels, (1, width / 4, labels).
pub fn recogniser() -> GraphWriter {
    recogniser_of("etaoinsrhl")
}

/// As [`recogniser`], for these characters.
pub fn recogniser_of(characters: &str) -> GraphWriter {
    let labels = characters.chars().count() + 2;
    let [wide, high] = [labels as i64, 16];
    let scaled = |count, by: f32| numbers(count).iter().map(|n| n * by).collect::<Vec<_>>();
    let listed: Vec<String> = characters.chars().map(String::from).collect();
    GraphWriter::default()
        .input("x", &[1, 3, 48, -1])
        .floats("w", &[high, 3, 3, 3], &numbers(16 * 27))
        .node(
            "Conv",
            &["x", "w"],
            "edges",
            &[
                ints("kernel_shape", &[3, 3]),
                ints("strides", &[2, 2]),
                ints("pads", &[1, 1, 1, 1]),
            ],
        )
        .node("Relu", &["edges"], "lit", &[])
        .node(
            "AveragePool",
            &["lit"],
            "means",
            &[ints("kernel_shape", &[24, 2]), ints("strides", &[24, 2])],
        )
        .integers("height", &[2])
        .node("Squeeze", &["means", "height"], "flat", &[])
        .node("Transpose", &["flat"], "steps", &[ints("perm", &[0, 2, 1])])
        .floats("matrix", &[high, wide], &scaled(16 * labels, 12.0))
        .node("MatMul", &["steps", "matrix"], "product", &[])
        .floats("bias", &[wide], &numbers(labels))
        .node("Add", &["product", "bias"], "scores", &[])
        .node("Softmax", &["scores"], "labels", &[int("axis", 2)])
        .output("labels", &[1, -1, wide])
        .metadata("character", &listed.join("\n"))
}
