//! An ONNX graph with its constants and the readers of each tensor.

use std::collections::HashMap;

use safetensors::Dtype;

use rten_onnx::onnx::{AttributeProto, GraphProto, NodeProto, TensorProto};

use super::NumericMode;
use super::classifier::Classifier;
use super::dense::ConvWeights;
use super::kernel::CHANNEL_BLOCK;
use crate::checkpoint::floats;

/// A constant tensor of 32-bit floats.
pub(crate) struct Constant {
    pub dims: Vec<usize>,
    pub data: Vec<f32>,
}

pub(crate) struct Graph<'a> {
    pub proto: &'a GraphProto,
    /// Initialisers and the outputs of Constant nodes, by name; only those of 32-bit floats.
    pub constants: HashMap<&'a str, Constant>,
    /// The indices of the nodes that read each tensor, by its name; [`usize::MAX`] stands for the graph's output.
    pub readers: HashMap<&'a str, Vec<usize>>,
    /// The index of the first node that computes each tensor, by its name.
    pub producers: HashMap<&'a str, usize>,
}

/// A node's attribute that is a list of integers, if the node has it and no integer is negative.
pub(crate) fn attribute_ints(node: &NodeProto, name: &str) -> Option<Vec<usize>> {
    let numbers = attribute(node, name)?.ints.iter();
    numbers.map(|&n| usize::try_from(n).ok()).collect()
}

fn attribute<'a>(node: &'a NodeProto, name: &str) -> Option<&'a AttributeProto> {
    let mut attributes = node.attribute.iter();
    attributes.find(|a| a.name.as_deref() == Some(name))
}

pub(crate) fn attribute_int(node: &NodeProto, name: &str) -> Option<i64> {
    attribute(node, name)?.i
}

pub(crate) fn attribute_float(node: &NodeProto, name: &str) -> Option<f32> {
    attribute(node, name)?.f
}

pub(crate) fn attribute_text<'a>(node: &'a NodeProto, name: &str) -> Option<&'a str> {
    attribute(node, name)?.s.as_deref()
}

/// ONNX's number for 32-bit floats.
const FLOAT: i32 = 1;

/// Weights with a smaller absolute value are read as zeros. What they add to a sum is lost in rounding, but PP-OCRv4 has thousands of weights that are
/// subnormal floats, and Intel's processors take about a hundred times as long for a product with one of them.
const NOTHING: f32 = 1e-30;

/// None if the tensor has another type or not as many numbers as its dimensions say.
fn constant(tensor: &TensorProto) -> Option<Constant> {
    let dims = tensor.dims.iter().map(|&d| usize::try_from(d).ok());
    let dims = dims.collect::<Option<Vec<usize>>>()?;
    let mut sides = dims.iter();
    let count = sides.try_fold(1usize, |product, &d| product.checked_mul(d))?;
    let mut data = match &tensor.raw_data {
        Some(raw) => floats(Dtype::F32, &raw.borrow())?,
        None => tensor.float_data.clone(),
    };
    for x in data.iter_mut().filter(|x| x.abs() < NOTHING) {
        *x = 0.0;
    }
    (data.len() == count && tensor.data_type.is_some_and(|t| t.0 == FLOAT))
        .then_some(Constant { dims, data })
}

impl<'a> Graph<'a> {
    pub fn new(proto: &'a GraphProto) -> Self {
        let mut constants = HashMap::new();
        for tensor in &proto.initializer {
            if let (Some(name), Some(constant)) = (&tensor.name, constant(tensor)) {
                constants.insert(name.as_str(), constant);
            }
        }
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut producers = HashMap::new();
        for (n, node) in proto.node.iter().enumerate() {
            if node.op_type.as_deref() == Some("Constant")
                && let Some(output) = node.output.first()
                && let Some(constant) = node.attribute.iter().find_map(|a| constant(a.t.as_ref()?))
            {
                constants.insert(output.as_str(), constant);
            }
            for output in &node.output {
                producers.entry(output.as_str()).or_insert(n);
            }
            for input in &node.input {
                readers.entry(input.as_str()).or_default().push(n);
            }
        }
        for output in &proto.output {
            // the caller is a reader too, so that an output that it reads is not folded away
            let name = output.name.as_deref().unwrap_or_default();
            readers.entry(name).or_default().push(usize::MAX);
        }
        Graph {
            proto,
            constants,
            readers,
            producers,
        }
    }

    /// The channels of a tensor, as its first reader declares them. None if that reader is not a convolution with constant weights.
    pub fn channels_of(&self, name: &str) -> Option<usize> {
        let reader = self.proto.node.get(*self.readers.get(name)?.first()?)?;
        let weights = (reader.op_type.as_deref() == Some("Conv"))
            .then(|| self.constants.get(reader.input.get(1)?.as_str()))
            .flatten()
            // the number of channels of weights without numbers is not bounded by the size of the file
            .filter(|weights| !weights.dims.contains(&0))?;
        weights.dims.get(1).copied()
    }

    /// The output layer, if the graph ends in softmax(x · weights + bias) over the last axis. It predicts only the labels `kept`, in that order, or
    /// all labels if `kept` is None. The result is also None if the graph lacks one of these labels.
    pub fn classifier(&self, mode: NumericMode, kept: Option<&[usize]>) -> Option<Classifier> {
        let producer = |name: &str, kind: &str| {
            let node = self.proto.node.get(*self.producers.get(name)?)?;
            (node.op_type.as_deref() == Some(kind)).then_some(node)
        };
        let [output] = self.proto.output.as_slice() else {
            return None;
        };
        let softmax = producer(output.name.as_deref()?, "Softmax")?;
        let sum = producer(softmax.input.first()?, "Add")?;
        let product = sum.input.iter().find_map(|name| producer(name, "MatMul"))?;
        let mut terms = sum.input.iter();
        let bias = terms.find_map(|name| self.constants.get(name.as_str()))?;
        let [input, weights] = product.input.as_slice() else {
            return None;
        };
        let weights = self.constants.get(weights.as_str())?;
        let (&[features, labels], &[biases]) = (weights.dims.as_slice(), bias.dims.as_slice())
        else {
            return None;
        };
        // the output is (batch, step, label)
        let over_labels = matches!(attribute_int(softmax, "axis"), Some(2 | -1));
        if !over_labels || biases != labels || features == 0 || labels == 0 {
            return None;
        }
        // Other runtimes fuse a transposition with the product after it, and then cannot return the tensor between them. So x is
        // the tensor before the transposition.
        let transposed = producer(input, "Transpose")
            .filter(|node| attribute_ints(node, "perm").as_deref() == Some(&[0, 2, 1]))
            .and_then(|node| node.input.first());
        // The softmax over some labels is the softmax over all labels, divided by the sum over these labels. So the columns of the others can be left
        // out.
        let every: Vec<usize> = (0..labels).collect();
        let kept = kept.unwrap_or(&every);
        if kept.is_empty() || kept.iter().any(|&label| label >= labels) {
            return None;
        }
        let columns = kept.len().next_multiple_of(CHANNEL_BLOCK);
        let mut padded = vec![0.0; features * columns];
        for (to, from) in padded.chunks_mut(columns).zip(weights.data.chunks(labels)) {
            for (to, &label) in to.iter_mut().zip(kept) {
                *to = from[label];
            }
        }
        let mut padded_bias: Vec<f32> = kept.iter().map(|&label| bias.data[label]).collect();
        padded_bias.resize(columns, 0.0);
        let row = transposed
            .and_then(|x| producer(x, "Squeeze"))
            .filter(|node| attribute_ints(node, "axes").as_deref() == Some(&[2]))
            .and_then(|node| node.input.first());
        Some(Classifier {
            row_name: row.cloned(),
            input_name: transposed.unwrap_or(input).clone(),
            transposed: transposed.is_some(),
            features,
            labels: kept.len(),
            weights: ConvWeights::new(&padded, 1, padded_bias, mode),
        })
    }
}

#[cfg(test)]
mod tests {
    use rten_onnx::onnx::DataType;

    use super::*;

    #[test]
    fn weights_that_add_nothing_are_read_as_zeros() {
        let tensor = TensorProto {
            dims: vec![5],
            data_type: Some(DataType(FLOAT)),
            float_data: vec![1e-40, -1e-31, 1e-29, -0.5, 2.0],
            ..TensorProto::default()
        };
        let constant = constant(&tensor).unwrap();
        assert_eq!(constant.data, [0.0, 0.0, 1e-29, -0.5, 2.0]);
    }
}
