//! Finds the operators after a convolution that can be folded into it.

use rten_onnx::onnx::NodeProto;

use super::graph::{Graph, attribute_float};
use super::kernel::ConvActivation;

/// An elementwise operator.
pub(crate) enum Elementwise {
    /// A scale and a shift for each channel.
    Affine(Vec<(f32, f32)>),
    Activation(ConvActivation),
}

/// x · sigmoid(beta · x), which is exported as two or three nodes.
pub(crate) struct Swish<'g> {
    pub nodes: Vec<usize>,
    pub input: &'g str,
    pub output: &'g str,
    pub beta: f32,
}

impl Graph<'_> {
    /// The node that reads the tensor; None if there are several or none.
    fn only_reader(&self, name: &str) -> Option<usize> {
        match self.readers.get(name)?.as_slice() {
            &[n] => Some(n),
            _ => None,
        }
    }

    /// The value of a constant that consists of one number.
    fn scalar(&self, name: &str) -> Option<f32> {
        match self.constants.get(name)?.data.as_slice() {
            &[number] => Some(number),
            _ => None,
        }
    }

    /// The swish that begins with node `n`: a Mul by a single number (left out if that is 1), a Sigmoid, and the Mul with the input.
    pub(crate) fn swish(&self, n: usize) -> Option<Swish<'_>> {
        let node = |n: usize| self.proto.node.get(n);
        let next = |n: usize, kind: &str| {
            let reader = self.only_reader(node(n)?.output.first()?)?;
            (node(reader)?.op_type.as_deref() == Some(kind)).then_some(reader)
        };
        let (first, mut nodes) = (node(n)?, vec![n]);
        let (input, beta) = match (first.op_type.as_deref()?, first.input.as_slice()) {
            ("Sigmoid", [input]) => (input, 1.0),
            ("Mul", [a, b]) => {
                nodes.push(next(n, "Sigmoid")?);
                match (self.scalar(a), self.scalar(b)) {
                    (None, Some(beta)) => (a, beta),
                    (Some(beta), None) => (b, beta),
                    _ => return None,
                }
            }
            _ => return None,
        };
        let sigmoid = *nodes.last()?;
        let product = next(sigmoid, "Mul")?;
        let gated = node(sigmoid)?.output.first()?;
        nodes.push(product);
        let product = node(product)?;
        let both = match product.input.as_slice() {
            [a, b] => (a == input && b == gated) || (a == gated && b == input),
            _ => false,
        };
        both.then_some(Swish {
            nodes,
            input,
            output: product.output.first()?,
            beta,
        })
    }

    /// The elementwise operator that is the only reader of a tensor with this number of channels: its nodes, the name of its output, and what it
    /// computes. None if there is none, or if another node reads the tensor too.
    pub(crate) fn elementwise_reader(
        &self,
        name: &str,
        channels: usize,
    ) -> Option<(Vec<usize>, &str, Elementwise)> {
        let readers = self.readers.get(name)?;
        if let &[add, gate] = readers.as_slice() {
            return self.hard_swish(name, add, gate);
        }
        let n = self.only_reader(name)?;
        let node = self.proto.node.get(n)?;
        let operator = match node.op_type.as_deref()? {
            "Relu" => Elementwise::Activation(ConvActivation::Relu),
            "HardSigmoid" => Elementwise::Activation(ConvActivation::HardSigmoid {
                scale: attribute_float(node, "alpha").unwrap_or(0.2),
                shift: attribute_float(node, "beta").unwrap_or(0.5),
            }),
            "Mul" => {
                let scales = self.constant_operand(node, name, channels)?.into_iter();
                Elementwise::Affine(scales.map(|scale| (scale, 0.0)).collect())
            }
            "Add" => {
                let shifts = self.constant_operand(node, name, channels)?.into_iter();
                Elementwise::Affine(shifts.map(|shift| (1.0, shift)).collect())
            }
            "BatchNormalization" => {
                let parameter = |n: usize| {
                    let data = &self.constants.get(node.input.get(n)?.as_str())?.data;
                    (data.len() == channels).then_some(data)
                };
                let (scale, shift) = (parameter(1)?, parameter(2)?);
                let (mean, variance) = (parameter(3)?, parameter(4)?);
                let epsilon = attribute_float(node, "epsilon").unwrap_or(1e-5);
                let change = |c: usize| {
                    let by = scale[c] / (variance[c] + epsilon).sqrt();
                    (by, shift[c] - mean[c] * by)
                };
                Elementwise::Affine((0..channels).map(change).collect())
            }
            _ => return None,
        };
        Some((vec![n], node.output.first()?, operator))
    }

    /// The constant operand of a sum or product with the tensor `name`, as a number for each channel.
    fn constant_operand(&self, node: &NodeProto, name: &str, channels: usize) -> Option<Vec<f32>> {
        let other = node.input.iter().find(|input| *input != name)?;
        let constant = self.constants.get(other.as_str())?;
        match constant.dims.as_slice() {
            _ if constant.data.len() == 1 => Some(vec![constant.data[0]; channels]),
            &[1, c, 1, 1] | &[c, 1, 1] if c == channels => Some(constant.data.clone()),
            _ => None,
        }
    }

    /// `x · clip(x + 3, 0, 6) / 6`, which is exported as the four nodes Add, Clip, Mul and Div. `add` and `gate` are the two that
    /// read x.
    fn hard_swish(
        &self,
        name: &str,
        add: usize,
        gate: usize,
    ) -> Option<(Vec<usize>, &str, Elementwise)> {
        let node = |n: usize, kind: &str| {
            let node = self.proto.node.get(n);
            node.filter(|node| node.op_type.as_deref() == Some(kind))
        };
        let sum = node(add, "Add")?;
        let three = sum.input.iter().find(|input| *input != name)?;
        let clip = self.only_reader(sum.output.first()?)?;
        let clipped = node(clip, "Clip")?;
        let limit = |n: usize| self.scalar(clipped.input.get(n)?);
        let limits = (limit(1)?, limit(2)?);
        let product = node(gate, "Mul")?;
        let multiplied = self.only_reader(clipped.output.first()?)? == gate;
        let div = self.only_reader(product.output.first()?)?;
        let quotient = node(div, "Div")?;
        let six = self.scalar(quotient.input.get(1)?)?;
        let found = self.scalar(three)? == 3.0 && limits == (0.0, 6.0) && multiplied && six == 6.0;
        let (scale, shift) = (1.0, 0.0);
        let operator = Elementwise::Activation(ConvActivation::HardSwish { scale, shift });
        let output = quotient.output.first()?.as_str();
        found.then_some((vec![add, clip, gate, div], output, operator))
    }
}
