//! From a graph's convolutions to steps, with their weights laid out as the kernels want them.

use anyhow::{Result, ensure};
use rten_onnx::onnx::NodeProto;

use super::compile::{About, Compiler, LARGEST};
use super::conv::{Conv, Enlarge, Weights, Window};
use super::depthwise::DepthwiseConv;
use super::fold::Change;
use super::graph::{attribute_int, attribute_ints, attribute_text};
use super::kernel::{Activation, BLOCK, Packed};
use super::steps::Kind;

/// A convolution's weights' dimensions, the weights, and the bias.
type ConvWeights = ([usize; 4], Vec<f32>, Option<Vec<f32>>);

impl Compiler<'_> {
    /// (out, in, rows, columns), and the bias.
    fn weights(&self, node: &NodeProto) -> Option<ConvWeights> {
        let weights = self.graph.constants.get(node.input.get(1)?.as_str())?;
        let dims: [usize; 4] = weights.dims.as_slice().try_into().ok()?;
        let bias = match node.input.get(2).filter(|name| !name.is_empty()) {
            Some(name) => Some(self.graph.constants.get(name.as_str())?.data.clone()),
            None => None,
        };
        Some((dims, weights.data.clone(), bias))
    }

    fn window(node: &NodeProto, kernel: (usize, usize)) -> Option<Window> {
        let plain = attribute_ints(node, "dilations").is_none_or(|d| d.iter().all(|&d| d == 1))
            && attribute_text(node, "auto_pad").is_none_or(|pad| pad == "NOTSET");
        let strides = attribute_ints(node, "strides").unwrap_or(vec![1, 1]);
        let pads = attribute_ints(node, "pads").unwrap_or(vec![0; 4]);
        let (&[down, across], Ok(pads)) = (strides.as_slice(), <[usize; 4]>::try_from(pads)) else {
            return None;
        };
        // what no network has is not worth the memory that it would ask for
        let sane = kernel.0.max(kernel.1) <= LARGEST
            && (1..=LARGEST).contains(&down)
            && (1..=LARGEST).contains(&across)
            && pads.iter().all(|&pad| pad <= LARGEST);
        (plain && sane).then_some(Window {
            kernel,
            stride: (down, across),
            pads,
        })
    }

    /// A convolution of all channels or of each by itself; nothing, if it is of another kind.
    pub(super) fn conv(&mut self, node: &NodeProto) -> Result<()> {
        let Some(input) = node.input.first() else {
            return Ok(());
        };
        let Some((dims, mut weights, bias)) = self.weights(node) else {
            return Ok(());
        };
        let [gives, takes, rows, columns] = dims;
        let Some(window) = Self::window(node, (rows, columns)) else {
            return Ok(());
        };
        let groups = attribute_int(node, "group").unwrap_or(1) as usize;
        let depthwise = groups == gives && takes == 1 && groups > 1;
        if !depthwise && groups != 1 || dims.contains(&0) {
            return Ok(());
        }
        let Some(map) = self.materialise(input) else {
            return Ok(());
        };
        let About {
            channels,
            stride,
            single,
            ..
        } = self.values[map];
        let padded = gives.next_multiple_of(BLOCK);
        if depthwise && stride != padded {
            return Ok(());
        }
        ensure!(
            channels == takes * groups,
            "a convolution of {} channels reads a map of {channels}",
            takes * groups
        );
        let mut bias = bias.unwrap_or(vec![0.0; gives]);
        ensure!(
            bias.len() == gives,
            "a convolution to {gives} channels has {} biases",
            bias.len()
        );
        let width = takes * rows * columns;
        let (activation, name) = self.follow(
            node,
            |channel, scale, shift| {
                weights[channel * width..(channel + 1) * width]
                    .iter_mut()
                    .for_each(|w| *w *= scale);
                bias[channel] = bias[channel] * scale + shift;
            },
            gives,
        );
        bias.resize(padded, 0.0);
        let kind = if depthwise {
            let mut turned = vec![0.0; rows * columns * padded];
            for (channel, kernel) in weights.chunks(width).enumerate() {
                for (n, w) in kernel.iter().enumerate() {
                    turned[n * padded + channel] = *w;
                }
            }
            Kind::Depthwise(DepthwiseConv {
                window,
                channels,
                weights: turned,
                bias,
                activation,
            })
        } else {
            // windows of several places have one scale, which padding must not spoil
            let may_be_bytes = window.is_point() || channels == stride && channels % BLOCK == 0;
            let stride = if window.is_point() { channels } else { stride };
            let mut turned = vec![0.0; rows * columns * stride * padded];
            for (out, kernels) in weights.chunks(width).enumerate() {
                for (channel, kernel) in kernels.chunks(rows * columns).enumerate() {
                    for (n, w) in kernel.iter().enumerate() {
                        turned[(n * stride + channel) * padded + out] = *w;
                    }
                }
            }
            let weights = Weights::new(&turned, bias, may_be_bytes);
            Kind::Conv(Conv {
                window,
                channels,
                weights,
                activation,
                gives,
            })
        };
        let single = single && matches!(&kind, Kind::Conv(conv) if conv.window.is_point());
        self.push(kind, Some(map), gives, single, &name);
        Ok(())
    }

    /// A transposed convolution that doubles a map; nothing, if it is of another kind.
    pub(super) fn enlarge(&mut self, node: &NodeProto) -> Result<()> {
        let Some(input) = node.input.first() else {
            return Ok(());
        };
        let Some((dims, mut weights, bias)) = self.weights(node) else {
            return Ok(());
        };
        let [takes, gives, rows, columns] = dims;
        let Some(window) = Self::window(node, (rows, columns)) else {
            return Ok(());
        };
        let plain = (rows, columns) == (2, 2)
            && !dims.contains(&0)
            && window.stride == (2, 2)
            && window.pads == [0; 4]
            && attribute_int(node, "group").unwrap_or(1) == 1
            && attribute_ints(node, "output_padding").is_none_or(|p| p.iter().all(|&p| p == 0));
        if !plain {
            return Ok(());
        }
        let Some(map) = self.materialise(input) else {
            return Ok(());
        };
        ensure!(
            self.values[map].channels == takes,
            "a convolution of {takes} channels reads a map of {}",
            self.values[map].channels
        );
        let mut bias = bias.unwrap_or(vec![0.0; gives]);
        ensure!(
            bias.len() == gives,
            "a convolution to {gives} channels has {} biases",
            bias.len()
        );
        let (activation, name) = self.follow(
            node,
            |channel, scale, shift| {
                for kernels in weights.chunks_mut(gives * 4) {
                    kernels[channel * 4..(channel + 1) * 4]
                        .iter_mut()
                        .for_each(|w| *w *= scale);
                }
                bias[channel] = bias[channel] * scale + shift;
            },
            gives,
        );
        let single = gives == 1;
        let stride = if single {
            1
        } else {
            gives.next_multiple_of(BLOCK)
        };
        // places that one product gives: all four, or left and right
        let products: &[&[usize]] = if single {
            &[&[0, 1, 2, 3]]
        } else {
            &[&[0, 1], &[2, 3]]
        };
        let packed = products
            .iter()
            .map(|places| {
                let columns = (places.len() * stride).next_multiple_of(BLOCK);
                let mut turned = vec![0.0; takes * columns];
                let mut biases = vec![0.0; columns];
                for (n, place) in places.iter().enumerate() {
                    for channel in 0..gives {
                        biases[n * stride + channel] = bias[channel];
                        for (row, kernels) in weights.chunks(gives * 4).enumerate() {
                            turned[row * columns + n * stride + channel] =
                                kernels[channel * 4 + place];
                        }
                    }
                }
                Packed::new(&turned, biases)
            })
            .collect();
        let kind = Kind::Enlarge(Enlarge {
            channels: takes,
            gives,
            weights: packed,
            activation,
        });
        self.push(kind, Some(map), gives, false, &name);
        Ok(())
    }

    /// What is done to a convolution's sums before anybody else reads them: scales and shifts of channels go to `affine`
    /// (channel, scale, shift), and then an activation may follow. Returns it and the name of what comes out.
    fn follow(
        &mut self,
        node: &NodeProto,
        mut affine: impl FnMut(usize, f32, f32),
        channels: usize,
    ) -> (Activation, String) {
        let mut name = node.output[0].clone();
        let mut activation = Activation::None;
        while let Some((nodes, result, change)) = self.graph.change(&name, channels) {
            match (change, &mut activation) {
                (Change::Affine(changes), Activation::None) => {
                    for (channel, (scale, shift)) in changes.into_iter().enumerate() {
                        affine(channel, scale, shift);
                    }
                }
                (Change::Affine(changes), Activation::HardSwish { scale, shift }) => {
                    let (by, plus) = changes.first().copied().unwrap_or((1.0, 0.0));
                    if changes.iter().any(|&change| change != (by, plus)) {
                        break;
                    }
                    (*scale, *shift) = (*scale * by, *shift * by + plus);
                }
                (Change::Activation(found), Activation::None) => activation = found,
                _ => break,
            }
            self.absorbed.extend(nodes);
            name = result.to_owned();
        }
        (activation, name)
    }
}
