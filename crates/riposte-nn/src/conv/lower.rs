//! Translates the graph's convolutions into steps, with their weights laid out for the kernels.

use rten_onnx::onnx::NodeProto;

use super::NumericMode;
use super::aligned::Aligned;
use super::compile::{Compiler, ValueInfo};
use super::dense::{Conv, ConvGeometry, ConvTranspose, ConvWeights};
use super::depthwise::DepthwiseConv;
use super::fold::Elementwise;
use super::graph::{attribute_int, attribute_ints, attribute_text};
use super::kernel::{CHANNEL_BLOCK, ConvActivation, PackedWeights};
use super::steps::Operator;
use crate::error::{Result, ensure};
use crate::limits::MAX_EXTENT;

/// A convolution whose windows have several pixels and more numbers than this stays in floats. PP-OCRv4's recogniser has one such convolution, of
/// 2,880 numbers. With that one in int8, .9092 of the words in 25 images of a crawl are found, instead of .9112, and reading takes as long (`make
/// bench`, part ocr).
const INT8_WINDOW_ROWS: usize = 1440;

/// The operands of a convolution node.
struct ConvOperands<'n> {
    /// The name of the input.
    input: &'n String,
    window: ConvGeometry,
    /// The dimensions of the weights: (output channels, input channels of a group, rows, columns); for a transposed convolution the first two are swapped.
    dims: [usize; 4],
    data: Vec<f32>,
    bias: Option<Vec<f32>>,
}

/// The biases of a node; zeros if it has none. Errors: their number is not that of the output channels. The message calls the node `what`.
fn bias_of(what: &str, bias: Option<Vec<f32>>, channels: usize) -> Result<Vec<f32>> {
    let bias = bias.unwrap_or(vec![0.0; channels]);
    ensure!(
        bias.len() == channels,
        Model,
        "{what} has {channels} output channels and {} biases",
        bias.len()
    );
    Ok(bias)
}

/// Reorders weights from (channels, rows, columns) to (blocks of channels, rows, columns, [`CHANNEL_BLOCK`]). A kernel has `size` elements. Channels are filled up
/// with zeros to the number `padded`.
fn depthwise_weights(data: &[f32], size: usize, padded: usize) -> Aligned<f32> {
    let mut weights = Aligned::zeros(size * padded);
    for (channel, kernel) in data.chunks(size).enumerate() {
        for (n, w) in kernel.iter().enumerate() {
            let (block, in_block) = (channel / CHANNEL_BLOCK, channel % CHANNEL_BLOCK);
            weights[(block * size + n) * CHANNEL_BLOCK + in_block] = *w;
        }
    }
    weights
}

/// Reorders weights from (output channels, input channels, rows, columns) to (rows, columns, `stride` input channels, `padded` output channels).
fn dense_weights(data: &[f32], dims: [usize; 4], stride: usize, padded: usize) -> Vec<f32> {
    let [_, inputs, rows, columns] = dims;
    let mut weights = vec![0.0; rows * columns * stride * padded];
    for (out, kernels) in data.chunks(inputs * rows * columns).enumerate() {
        for (channel, kernel) in kernels.chunks(rows * columns).enumerate() {
            for (n, w) in kernel.iter().enumerate() {
                weights[(n * stride + channel) * padded + out] = *w;
            }
        }
    }
    weights
}

/// A dense convolution of a map. `dims` are those of its weights: channels of its output and of its input, and the kernel. `bias` is padded.
fn dense(
    map: &ValueInfo,
    window: ConvGeometry,
    dims: [usize; 4],
    data: &[f32],
    bias: Vec<f32>,
    activation: ConvActivation,
    mode: NumericMode,
) -> Conv {
    let [out_channels, group_channels, rows, columns] = dims;
    let (channels, pointwise) = (map.channels, window.is_pointwise());
    // Windows of several pixels share one quantisation, whose range the padding of channels must not widen.
    let unpadded = channels == map.stride && channels.is_multiple_of(CHANNEL_BLOCK);
    let few_rows = group_channels * rows * columns <= INT8_WINDOW_ROWS;
    // the product of one pixel takes no time, and all pixels of another map may be multiplied by it
    let mode = if !map.one_pixel && (pointwise || unpadded && few_rows) {
        mode
    } else {
        NumericMode::Float
    };
    let stride = if pointwise { channels } else { map.stride };
    let weights = dense_weights(data, dims, stride, bias.len());
    Conv {
        window,
        in_channels: channels,
        out_channels,
        weights: ConvWeights::new(&weights, rows, bias, mode),
        activation,
    }
}

/// The matrices of a transposed convolution whose kernel has four elements. With several output channels, one matrix is for the upper two elements
/// and one for the lower two. With one output channel, one matrix is for all four.
fn transposed_weights(data: &[f32], in_channels: usize, bias: &[f32]) -> Vec<PackedWeights> {
    let out_channels = bias.len();
    let (products, stride): (&[&[usize]], usize) = if out_channels == 1 {
        (&[&[0, 1, 2, 3]], 1)
    } else {
        let stride = out_channels.next_multiple_of(CHANNEL_BLOCK);
        (&[&[0, 1], &[2, 3]], stride)
    };
    let packed = products.iter().map(|elements| {
        let columns = (elements.len() * stride).next_multiple_of(CHANNEL_BLOCK);
        let mut matrix = vec![0.0; in_channels * columns];
        let mut biases = vec![0.0; columns];
        for (n, element) in elements.iter().enumerate() {
            for (channel, bias) in bias.iter().enumerate() {
                biases[n * stride + channel] = *bias;
                for (row, kernels) in data.chunks(out_channels * 4).enumerate() {
                    matrix[row * columns + n * stride + channel] = kernels[channel * 4 + element];
                }
            }
        }
        PackedWeights::new(&matrix, biases)
    });
    packed.collect()
}

impl Compiler<'_> {
    /// None if the weights or the bias are not constants of the graph, or the convolution is of a kind that [`Self::window`] refuses.
    fn operands<'n>(&self, node: &'n NodeProto) -> Option<ConvOperands<'n>> {
        let weights = self.graph.constants.get(node.input.get(1)?.as_str())?;
        let bias = match node.input.get(2).filter(|name| !name.is_empty()) {
            Some(name) => Some(self.graph.constants.get(name.as_str())?.data.clone()),
            None => None,
        };
        let dims: [usize; 4] = weights.dims.as_slice().try_into().ok()?;
        let [_, _, rows, columns] = dims;
        Some(ConvOperands {
            input: node.input.first()?,
            window: Self::window(node, (rows, columns))?,
            dims,
            data: weights.data.clone(),
            bias,
        })
    }

    /// None if the convolution is dilated or padded automatically, or a number is beyond [`MAX_EXTENT`].
    fn window(node: &NodeProto, kernel: (usize, usize)) -> Option<ConvGeometry> {
        let plain = attribute_ints(node, "dilations").is_none_or(|d| d.iter().all(|&d| d == 1))
            && attribute_text(node, "auto_pad").is_none_or(|pad| pad == "NOTSET");
        let strides = attribute_ints(node, "strides").unwrap_or(vec![1, 1]);
        let padding = attribute_ints(node, "pads").unwrap_or(vec![0; 4]);
        let (&[down, across], Ok(padding)) = (strides.as_slice(), <[usize; 4]>::try_from(padding))
        else {
            return None;
        };
        let plausible = kernel.0.max(kernel.1) <= MAX_EXTENT
            && (1..=MAX_EXTENT).contains(&down)
            && (1..=MAX_EXTENT).contains(&across)
            && padding.iter().all(|&side| side <= MAX_EXTENT);
        (plain && plausible).then_some(ConvGeometry {
            kernel,
            stride: (down, across),
            padding,
        })
    }

    /// Adds a step for a dense or a depthwise convolution. Does nothing for a convolution of another kind, or one whose input is not computed here.
    ///
    /// # Errors
    /// Weights, bias and input contradict each other.
    pub(super) fn conv(&mut self, node: &NodeProto) -> Result<()> {
        let Some(mut of) = self.operands(node) else {
            return Ok(());
        };
        let dims = of.dims;
        let [out_channels, group_channels, rows, columns] = dims;
        let groups = attribute_int(node, "group").unwrap_or(1) as usize;
        let depthwise = groups == out_channels && group_channels == 1 && groups > 1;
        if !depthwise && groups != 1 || dims.contains(&0) {
            return Ok(());
        }
        let Some(map) = self.materialise(of.input) else {
            return Ok(());
        };
        let ValueInfo {
            channels,
            stride,
            one_pixel,
        } = self.values[map];
        let padded_out = out_channels.next_multiple_of(CHANNEL_BLOCK);
        if depthwise && stride != padded_out {
            return Ok(());
        }
        ensure!(
            channels == group_channels * groups,
            Model,
            "a convolution takes {} channels and reads a map of {channels}",
            group_channels * groups
        );
        let mut bias = bias_of("a convolution", of.bias, out_channels)?;
        let kernel_size = group_channels * rows * columns;
        let (activation, name) = self.fold_elementwise(
            node,
            |channel, scale, shift| {
                let own = &mut of.data[channel * kernel_size..(channel + 1) * kernel_size];
                own.iter_mut().for_each(|w| *w *= scale);
                bias[channel] = bias[channel] * scale + shift;
            },
            out_channels,
        );
        bias.resize(padded_out, 0.0);
        let operator = if depthwise {
            Operator::Depthwise(DepthwiseConv {
                window: of.window,
                channels,
                weights: depthwise_weights(&of.data, kernel_size, padded_out),
                bias,
                activation,
            })
        } else {
            let (map, data) = (&self.values[map], &of.data);
            let mode = self.mode;
            Operator::Conv(dense(map, of.window, dims, data, bias, activation, mode))
        };
        let one_pixel =
            one_pixel && matches!(&operator, Operator::Conv(conv) if conv.window.is_pointwise());
        self.push(operator, Some(map), out_channels, one_pixel, &name);
        Ok(())
    }

    /// Adds a step for a transposed convolution with a 2 × 2 kernel and stride 2. Does nothing for a convolution of another kind, or one whose input
    /// is not computed here.
    ///
    /// # Errors
    /// Weights, bias and input contradict each other.
    pub(super) fn conv_transpose(&mut self, node: &NodeProto) -> Result<()> {
        let Some(mut of) = self.operands(node) else {
            return Ok(());
        };
        let [in_channels, out_channels, rows, columns] = of.dims;
        let supported = (rows, columns) == (2, 2)
            && !of.dims.contains(&0)
            && of.window.stride == (2, 2)
            && of.window.padding == [0; 4]
            && attribute_int(node, "group").unwrap_or(1) == 1
            && attribute_ints(node, "output_padding").is_none_or(|p| p.iter().all(|&p| p == 0));
        if !supported {
            return Ok(());
        }
        let Some(map) = self.materialise(of.input) else {
            return Ok(());
        };
        ensure!(
            self.values[map].channels == in_channels,
            Model,
            "a transposed convolution takes {in_channels} channels and reads a map of {}",
            self.values[map].channels
        );
        let mut bias = bias_of("a transposed convolution", of.bias, out_channels)?;
        let (activation, name) = self.fold_elementwise(
            node,
            |channel, scale, shift| {
                for kernels in of.data.chunks_mut(out_channels * 4) {
                    let own = &mut kernels[channel * 4..(channel + 1) * 4];
                    own.iter_mut().for_each(|w| *w *= scale);
                }
                bias[channel] = bias[channel] * scale + shift;
            },
            out_channels,
        );
        let operator = Operator::ConvTranspose(ConvTranspose {
            in_channels,
            out_channels,
            weights: transposed_weights(&of.data, in_channels, &bias),
            activation,
        });
        self.push(operator, Some(map), out_channels, false, &name);
        Ok(())
    }

    /// Folds the elementwise operators after a convolution into it, as far as possible: scales and shifts of channels are passed to `scale_channel`
    /// (channel, scale, shift), then one activation may follow. Returns the activation and the name of the last folded node's output.
    fn fold_elementwise(
        &mut self,
        node: &NodeProto,
        mut scale_channel: impl FnMut(usize, f32, f32),
        channels: usize,
    ) -> (ConvActivation, String) {
        let mut name = node.output[0].clone();
        let mut activation = ConvActivation::None;
        while let Some((nodes, output, operator)) = self.graph.elementwise_reader(&name, channels) {
            // in a damaged graph an operator may read what it computes
            if nodes.iter().any(|n| self.folded.contains(n)) {
                break;
            }
            match (operator, &mut activation) {
                (Elementwise::Affine(changes), ConvActivation::None) => {
                    for (channel, (scale, shift)) in changes.into_iter().enumerate() {
                        scale_channel(channel, scale, shift);
                    }
                }
                (Elementwise::Affine(changes), ConvActivation::HardSwish { scale, shift }) => {
                    // a hard swish has one scale and one shift for all channels
                    let (by, plus) = changes.first().copied().unwrap_or((1.0, 0.0));
                    if changes.iter().any(|&change| change != (by, plus)) {
                        break;
                    }
                    (*scale, *shift) = (*scale * by, *shift * by + plus);
                }
                (Elementwise::Activation(found), ConvActivation::None) => activation = found,
                _ => break,
            }
            self.folded.extend(nodes);
            name = output.to_owned();
        }
        (activation, name)
    }
}
