//! An ONNX graph, with its constants and who reads what.

use std::collections::HashMap;

use rten_onnx::onnx::{GraphProto, NodeProto, TensorProto};

use super::conv::{Classes, Weights};
use super::kernel::BLOCK;

/// A constant of the graph.
pub struct Constant {
    pub dims: Vec<usize>,
    pub data: Vec<f32>,
}

pub struct Graph<'a> {
    pub proto: &'a GraphProto,
    pub constants: HashMap<&'a str, Constant>,
    /// The nodes that read each name; [`usize::MAX`] is who reads the graph's output.
    pub readers: HashMap<&'a str, Vec<usize>>,
}

pub fn attribute_ints(node: &NodeProto, name: &str) -> Option<Vec<usize>> {
    let found = node
        .attribute
        .iter()
        .find(|a| a.name.as_deref() == Some(name))?;
    found
        .ints
        .iter()
        .map(|&n| usize::try_from(n).ok())
        .collect()
}

pub fn attribute_int(node: &NodeProto, name: &str) -> Option<i64> {
    node.attribute
        .iter()
        .find(|a| a.name.as_deref() == Some(name))?
        .i
}

pub fn attribute_float(node: &NodeProto, name: &str) -> Option<f32> {
    node.attribute
        .iter()
        .find(|a| a.name.as_deref() == Some(name))?
        .f
}

pub fn attribute_text<'a>(node: &'a NodeProto, name: &str) -> Option<&'a str> {
    node.attribute
        .iter()
        .find(|a| a.name.as_deref() == Some(name))?
        .s
        .as_deref()
}

fn constant(tensor: &TensorProto) -> Option<Constant> {
    let dims: Vec<usize> = tensor
        .dims
        .iter()
        .map(|&d| usize::try_from(d).ok())
        .collect::<Option<_>>()?;
    let count = dims
        .iter()
        .try_fold(1usize, |product, &d| product.checked_mul(d))?;
    let data: Vec<f32> = match &tensor.raw_data {
        Some(raw) => raw
            .borrow()
            .as_chunks::<4>()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b))
            .collect(),
        None => tensor.float_data.clone(),
    };
    // numbers of other types are nobody's weights; who looks for them finds nothing
    (data.len() == count && tensor.data_type.is_some_and(|t| t.0 == 1))
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
        for (n, node) in proto.node.iter().enumerate() {
            if node.op_type.as_deref() == Some("Constant")
                && let Some(output) = node.output.first()
                && let Some(constant) = node.attribute.iter().find_map(|a| constant(a.t.as_ref()?))
            {
                constants.insert(output.as_str(), constant);
            }
            for input in &node.input {
                readers.entry(input.as_str()).or_default().push(n);
            }
        }
        for output in &proto.output {
            // read from outside: no node's to absorb
            let name = output.name.as_deref().unwrap_or_default();
            readers.entry(name).or_default().push(usize::MAX);
        }
        Graph {
            proto,
            constants,
            readers,
        }
    }

    /// The product that the graph ends in, if it ends in softmax(x · weights + bias).
    pub fn classes(&self) -> Option<Classes> {
        let maker = |name: &str, kind: &str| {
            self.proto.node.iter().find(|node| {
                node.op_type.as_deref() == Some(kind) && node.output.iter().any(|o| o == name)
            })
        };
        let [output] = self.proto.output.as_slice() else {
            return None;
        };
        let softmax = maker(output.name.as_deref()?, "Softmax")?;
        let sum = maker(softmax.input.first()?, "Add")?;
        let product = sum.input.iter().find_map(|name| maker(name, "MatMul"))?;
        let bias = sum
            .input
            .iter()
            .find_map(|name| self.constants.get(name.as_str()))?;
        let (input, weights) = match product.input.as_slice() {
            [input, weights] => (input, self.constants.get(weights.as_str())?),
            _ => return None,
        };
        let (&[rows, labels], &[biases]) = (weights.dims.as_slice(), bias.dims.as_slice()) else {
            return None;
        };
        // (batch, step, label): the last axis is the labels'
        let last = matches!(attribute_int(softmax, "axis"), Some(2 | -1));
        if !last || biases != labels || rows == 0 || labels == 0 {
            return None;
        }
        // a transposition before it is often one with the product in other runtimes, and then no map of theirs
        let turned = maker(input, "Transpose")
            .filter(|node| attribute_ints(node, "perm").as_deref() == Some(&[0, 2, 1]))
            .and_then(|node| node.input.first());
        let columns = labels.next_multiple_of(BLOCK);
        let mut padded = vec![0.0; rows * columns];
        for (to, from) in padded.chunks_mut(columns).zip(weights.data.chunks(labels)) {
            to[..labels].copy_from_slice(from);
        }
        let mut biases = bias.data.clone();
        biases.resize(columns, 0.0);
        Some(Classes {
            input_name: turned.unwrap_or(input).clone(),
            turned: turned.is_some(),
            rows,
            labels,
            weights: Weights::new(&padded, biases, true),
        })
    }
}
