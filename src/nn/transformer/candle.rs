//! The candle backend: an encoder on a GPU, and for training.
//!
//! Sequences of a batch are padded to the longest one, and a mask keeps tokens from attending to the padding. Inference and training
//! compute the same layers with different operations ([`LayerOps`]): candle's fused layer norm and softmax have no gradients.

use anyhow::Result;
use candle_core::{Device, Tensor};

use super::{Activation, Affine, Attention, EncoderConfig, Layer, NormOrder, Rows};

/// Maximum number of tokens in a batch, padding not counted.
pub(super) const BATCH_TOKENS: usize = 8192;

/// The CPU, as candle names it.
pub(super) const CPU: Device = Device::Cpu;

/// The first CUDA device if riposte was built with the feature `cuda` and there is one.
pub(super) fn cuda_device() -> Option<Device> {
    #[cfg(feature = "cuda")]
    return Device::new_cuda(0).ok();
    #[cfg(not(feature = "cuda"))]
    None
}

/// The number that is added to the attention scores of padding. Its exponential is 0 in 32-bit floats.
pub const MASKED: f32 = -1e9;

/// The operations of which layers consist.
pub trait LayerOps {
    /// x · weightᵀ + bias
    ///
    /// # Errors
    /// candle fails. The same holds for all operations.
    fn linear(&mut self, x: &Tensor, layer: &Affine<Tensor>) -> Result<Tensor>;
    /// Normalises the last axis.
    fn norm(&mut self, x: &Tensor, norm: &Affine<Tensor>, epsilon: f64) -> Result<Tensor>;
    /// Softmax over the last axis.
    fn softmax(&mut self, x: &Tensor) -> Result<Tensor>;
    fn activate(&mut self, x: &Tensor, activation: Activation) -> Result<Tensor>;
    /// Sets random numbers to 0 in training.
    fn dropout(&mut self, x: Tensor) -> Result<Tensor>;
}

/// The operations of inference.
struct Inference;

impl LayerOps for Inference {
    fn linear(&mut self, x: &Tensor, layer: &Affine<Tensor>) -> Result<Tensor> {
        Ok(x.matmul(&layer.weight.t()?)?.broadcast_add(&layer.bias)?)
    }

    fn norm(&mut self, x: &Tensor, norm: &Affine<Tensor>, epsilon: f64) -> Result<Tensor> {
        let Affine { weight, bias } = norm;
        Ok(candle_nn::ops::layer_norm(x, weight, bias, epsilon as f32)?)
    }

    fn softmax(&mut self, x: &Tensor) -> Result<Tensor> {
        Ok(candle_nn::ops::softmax_last_dim(x)?)
    }

    fn activate(&mut self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        Ok(match activation {
            Activation::Gelu => x.gelu_erf()?,
            Activation::QuickGelu => (x * candle_nn::ops::sigmoid(&(x * 1.702)?)?)?,
        })
    }

    fn dropout(&mut self, x: Tensor) -> Result<Tensor> {
        Ok(x)
    }
}

/// The shape of a padded batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchShape {
    pub count: usize,
    /// The length of the longest sequence.
    pub length: usize,
}

/// Computes one layer: maps rows (count × length, hidden) to rows of the same shape.
///
/// `mask` is added to the attention scores (count, heads, length, length); it has that shape, or one that can be broadcast to it.
///
/// # Errors
/// The tensors do not have the sizes of `config`, or an operation fails.
pub fn layer_forward(
    config: &EncoderConfig,
    layer: &Layer<Tensor>,
    x: Tensor,
    batch: BatchShape,
    mask: Option<&Tensor>,
    ops: &mut impl LayerOps,
) -> Result<Tensor> {
    match config.norms {
        NormOrder::Before => {
            let normed = ops.norm(&x, &layer.attention_norm, config.epsilon)?;
            let x = (&x + attend(config, layer, &normed, batch, mask, ops)?)?;
            let normed = ops.norm(&x, &layer.mlp_norm, config.epsilon)?;
            Ok((&x + mlp(config, layer, &normed, ops)?)?)
        }
        NormOrder::After => {
            let sum = (&x + attend(config, layer, &x, batch, mask, ops)?)?;
            let x = ops.norm(&sum, &layer.attention_norm, config.epsilon)?;
            let sum = (&x + mlp(config, layer, &x, ops)?)?;
            ops.norm(&sum, &layer.mlp_norm, config.epsilon)
        }
    }
}

fn attend(
    config: &EncoderConfig,
    layer: &Layer<Tensor>,
    x: &Tensor,
    BatchShape { count, length }: BatchShape,
    mask: Option<&Tensor>,
    ops: &mut impl LayerOps,
) -> Result<Tensor> {
    let (hidden, heads, width) = (config.hidden, config.heads, config.head_width());
    // (count × length, hidden) to (count, heads, length, width)
    let mut project = |part: &Affine<Tensor>| -> Result<Tensor> {
        Ok(ops
            .linear(x, part)?
            .reshape((count, length, heads, width))?
            .transpose(1, 2)?
            .contiguous()?)
    };
    let query = (project(&layer.query)? * (width as f64).powf(-0.5))?;
    let mut scores = query.matmul(&project(&layer.key)?.t()?)?;
    let value = project(&layer.value)?;
    if let Some(mask) = mask {
        scores = scores.broadcast_add(mask)?;
    }
    let weights = ops.softmax(&scores)?;
    let weights = ops.dropout(weights)?;
    let mixed = weights
        .matmul(&value)?
        .transpose(1, 2)?
        .contiguous()?
        .reshape((count * length, hidden))?;
    let output = ops.linear(&mixed, &layer.output)?;
    ops.dropout(output)
}

fn mlp(
    config: &EncoderConfig,
    layer: &Layer<Tensor>,
    x: &Tensor,
    ops: &mut impl LayerOps,
) -> Result<Tensor> {
    let up = ops.linear(x, &layer.up)?;
    let inner = ops.activate(&up, config.activation)?;
    let down = ops.linear(&inner, &layer.down)?;
    ops.dropout(down)
}

/// The layers of a model.
pub(super) struct Encoder {
    config: EncoderConfig,
    layers: Vec<Layer<Tensor>>,
    device: Device,
}

impl Encoder {
    /// Copies the layers, which have the sizes of `config`, to the device.
    ///
    /// # Errors
    /// A layer cannot be read, or has other sizes.
    pub(super) fn new(
        config: &EncoderConfig,
        layers: impl Iterator<Item = Result<Layer<Vec<f32>>>>,
        device: Device,
    ) -> Result<Self> {
        let upload = |part: Affine<Vec<f32>>, shape: &[usize]| -> Result<Affine<Tensor>> {
            let out = part.bias.len();
            Ok(Affine {
                weight: Tensor::from_vec(part.weight, shape, &device)?,
                bias: Tensor::from_vec(part.bias, out, &device)?,
            })
        };
        let (hidden, intermediate) = (config.hidden, config.intermediate);
        let layers = layers
            .map(|layer| {
                let layer = layer?;
                Ok(Layer {
                    query: upload(layer.query, &[hidden, hidden])?,
                    key: upload(layer.key, &[hidden, hidden])?,
                    value: upload(layer.value, &[hidden, hidden])?,
                    output: upload(layer.output, &[hidden, hidden])?,
                    attention_norm: upload(layer.attention_norm, &[hidden])?,
                    up: upload(layer.up, &[intermediate, hidden])?,
                    down: upload(layer.down, &[hidden, intermediate])?,
                    mlp_norm: upload(layer.mlp_norm, &[hidden])?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Encoder {
            config: config.clone(),
            layers,
            device,
        })
    }

    /// As [`super::Encoder::forward`].
    pub(super) fn forward(
        &self,
        x: Vec<f32>,
        lengths: &[usize],
        rows: Rows,
        attention: Attention,
    ) -> Result<Vec<f32>> {
        let hidden = self.config.hidden;
        let batch = BatchShape {
            count: lengths.len(),
            length: lengths.iter().copied().max().unwrap_or(0),
        };
        let mut padded = Vec::with_capacity(batch.count * batch.length * hidden);
        let mut sequences = x.as_slice();
        for (n, length) in lengths.iter().enumerate() {
            let (sequence, rest) = sequences.split_at((length * hidden).min(sequences.len()));
            sequences = rest;
            padded.extend_from_slice(sequence);
            padded.resize((n + 1) * batch.length * hidden, 0.0);
        }
        let shape = (batch.count * batch.length, hidden);
        let mut x = Tensor::from_vec(padded, shape, &self.device)?;
        let mask = self.mask(lengths, batch.length, attention)?;
        for layer in &self.layers {
            x = layer_forward(&self.config, layer, x, batch, mask.as_ref(), &mut Inference)?;
        }
        let firsts = (0..batch.count).map(|n| n * batch.length);
        let wanted: Vec<u32> = match rows {
            Rows::All => firsts
                .zip(lengths)
                .flat_map(|(first, length)| first..first + length)
                .map(|row| row as u32)
                .collect(),
            Rows::OneEach(positions) => firsts
                .zip(positions)
                .map(|(first, position)| (first + position) as u32)
                .collect(),
        };
        let wanted = Tensor::new(wanted, &self.device)?;
        Ok(x.index_select(&wanted, 0)?.flatten_all()?.to_vec1()?)
    }

    /// Causal: (length, length). Otherwise (count, 1, 1, length), or none if no sequence is padded.
    fn mask(
        &self,
        lengths: &[usize],
        longest: usize,
        attention: Attention,
    ) -> Result<Option<Tensor>> {
        let masked = |masked: bool| if masked { MASKED } else { 0.0 };
        let (mask, shape): (Vec<f32>, Vec<usize>) = match attention {
            // padding comes after all tokens, so no token sees it
            Attention::Causal => (
                (0..longest)
                    .flat_map(|row| (0..longest).map(move |column| masked(column > row)))
                    .collect(),
                vec![longest, longest],
            ),
            Attention::Full if lengths.iter().all(|length| *length == longest) => return Ok(None),
            Attention::Full => (
                lengths
                    .iter()
                    .flat_map(|length| (0..longest).map(move |column| masked(column >= *length)))
                    .collect(),
                vec![lengths.len(), 1, 1, longest],
            ),
        };
        Ok(Some(Tensor::from_vec(mask, shape, &self.device)?))
    }
}
