//! What follows a convolution and becomes part of it.

use rten_onnx::onnx::NodeProto;

use super::graph::{Graph, attribute_float};
use super::kernel::Activation;

/// A change of each number by itself.
pub enum Change {
    /// Scale and shift for each channel.
    Affine(Vec<(f32, f32)>),
    Activation(Activation),
}

impl Graph<'_> {
    /// What alone reads a name, if it changes each number by itself: its nodes, and the name of the result.
    pub fn change(&self, name: &str, channels: usize) -> Option<(Vec<usize>, &str, Change)> {
        let readers = self.readers.get(name)?;
        if let &[add, gate] = readers.as_slice() {
            return self.hard_swish(name, add, gate);
        }
        let &[n] = readers.as_slice() else {
            return None;
        };
        let node = self.proto.node.get(n)?;
        let change = match node.op_type.as_deref()? {
            "Relu" => Change::Activation(Activation::Relu),
            "HardSigmoid" => Change::Activation(Activation::HardSigmoid {
                scale: attribute_float(node, "alpha").unwrap_or(0.2),
                shift: attribute_float(node, "beta").unwrap_or(0.5),
            }),
            "Mul" => Change::Affine(
                self.other(node, name, channels)?
                    .into_iter()
                    .map(|by| (by, 0.0))
                    .collect(),
            ),
            "Add" => Change::Affine(
                self.other(node, name, channels)?
                    .into_iter()
                    .map(|plus| (1.0, plus))
                    .collect(),
            ),
            "BatchNormalization" => {
                let part = |n: usize| {
                    let data = &self.constants.get(node.input.get(n)?.as_str())?.data;
                    (data.len() == channels).then_some(data)
                };
                let (scale, shift, mean, variance) = (part(1)?, part(2)?, part(3)?, part(4)?);
                let epsilon = attribute_float(node, "epsilon").unwrap_or(1e-5);
                Change::Affine(
                    (0..channels)
                        .map(|c| {
                            let by = scale[c] / (variance[c] + epsilon).sqrt();
                            (by, shift[c] - mean[c] * by)
                        })
                        .collect(),
                )
            }
            _ => return None,
        };
        Some((vec![n], node.output.first()?, change))
    }

    /// The other, constant, input of a sum or product, for each channel.
    fn other(&self, node: &NodeProto, name: &str, channels: usize) -> Option<Vec<f32>> {
        let other = node.input.iter().find(|input| *input != name)?;
        let constant = self.constants.get(other.as_str())?;
        match constant.dims.as_slice() {
            _ if constant.data.len() == 1 => Some(vec![constant.data[0]; channels]),
            &[1, c, 1, 1] | &[c, 1, 1] if c == channels => Some(constant.data.clone()),
            _ => None,
        }
    }

    /// `x · clip(x + 3, 0, 6) / 6`, as four nodes.
    fn hard_swish(
        &self,
        name: &str,
        add: usize,
        gate: usize,
    ) -> Option<(Vec<usize>, &str, Change)> {
        let of = |n: usize, kind: &str| {
            self.proto
                .node
                .get(n)
                .filter(|node| node.op_type.as_deref() == Some(kind))
        };
        let only = |name: &str| match self.readers.get(name)?.as_slice() {
            &[n] => Some(n),
            _ => None,
        };
        let scalar = |name: &str| match self.constants.get(name)?.data.as_slice() {
            &[x] => Some(x),
            _ => None,
        };
        let first = of(add, "Add")?;
        let three = first.input.iter().find(|input| *input != name)?;
        let clip = only(first.output.first()?)?;
        let clipped = of(clip, "Clip")?;
        let limits = (
            scalar(clipped.input.get(1)?)?,
            scalar(clipped.input.get(2)?)?,
        );
        let product = of(gate, "Mul")?;
        let same = only(clipped.output.first()?)? == gate;
        let div = only(product.output.first()?)?;
        let last = of(div, "Div")?;
        let six = scalar(last.input.get(1)?)?;
        (scalar(three)? == 3.0 && limits == (0.0, 6.0) && same && six == 6.0).then_some((
            vec![add, clip, gate, div],
            last.output.first()?.as_str(),
            Change::Activation(Activation::HardSwish {
                scale: 1.0,
                shift: 0.0,
            }),
        ))
    }
}
