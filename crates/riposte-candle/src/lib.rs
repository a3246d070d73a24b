//! Computes the encoders of [`riposte_nn`] with candle, on an NVIDIA GPU and for training. With candle-transformers, it also computes encoders that
//! riposte-nn does not: those of texts ([`texts`]: ModernBERT, NomicBERT), and those of pictures and texts ([`image_text`]: SigLIP, Chinese CLIP).
//!
//! ```
//! use riposte_nn::transformer::{Activation, Attention, EncoderConfig, NormOrder, WantedRows};
//! use riposte_nn::transformer::{Affine, Layer};
//!
//! let config = EncoderConfig {
//!     hidden: 2,
//!     heads: 1,
//!     intermediate: 2,
//!     layers: 1,
//!     epsilon: 1e-5,
//!     activation: Activation::Gelu,
//!     norms: NormOrder::After,
//! };
//! // a layer of zeros, whose last norm gives (1, -1)
//! let zeros = |count| Affine { weight: vec![0.0; count], bias: vec![0.0; 2] };
//! let layer = Layer {
//!     query: zeros(4),
//!     key: zeros(4),
//!     value: zeros(4),
//!     output: zeros(4),
//!     attention_norm: zeros(2),
//!     up: zeros(4),
//!     down: zeros(4),
//!     mlp_norm: Affine { weight: vec![0.0; 2], bias: vec![1.0, -1.0] },
//! };
//! // usually riposte_nn calls it: EncoderBackend::Given(riposte_candle::layers)
//! let layers = riposte_candle::layers(&config, &mut [Ok(layer)].into_iter())?;
//! let rows = layers.forward(vec![3.0, 4.0], &[1], WantedRows::All, Attention::Full)?;
//! assert_eq!(rows, [1.0, -1.0]);
//! # Ok::<(), riposte_nn::Error>(())
//! ```
//!
//! [`layers`] is for [`EncoderBackend::Given`](riposte_nn::transformer::EncoderBackend::Given): on the first CUDA device if this crate was built with the feature
//! `cuda` and there is one, and otherwise on the CPU, where riposte-nn's own backend is faster. Results agree with those of riposte-nn in floats
//! within 1e-4.
//!
//! Sequences of a batch are padded to the longest one, and a mask keeps tokens from attending to the padding. Inference and training compute the same
//! layers ([`layer_forward`]) with different operations ([`LayerOps`]): candle's fused layer norm and softmax have no gradients.
//!
//! BERT and CLIP are not those of the crate `candle-transformers`: its CLIP has one activation (`Activation::QuickGelu`) and one epsilon (1e-5) as
//! constants, so it cannot compute checkpoints such as LAION's, which have `"hidden_act": "gelu"`; and training needs layers with other operations.

#![warn(missing_docs)]

pub mod image_text;
pub mod limits;
pub mod texts;
mod weights;

use candle_core::{Device, Result, Tensor};
use riposte_nn::Error;
use riposte_nn::transformer::{
    Activation, Affine, Attention, EncoderConfig, Layer, Layers, NormOrder, WantedRows,
};

/// Maximum number of tokens in a batch, padding not counted.
const BATCH_TOKENS: usize = 8192;

/// Whether [`layers`] computes on an NVIDIA GPU: this crate was built with the feature `cuda`, and there is one.
pub fn has_gpu() -> bool {
    cuda_device().is_some()
}

/// The device that computes: the first CUDA device if there is one, otherwise the CPU.
fn device() -> Device {
    cuda_device().unwrap_or(Device::Cpu)
}

fn cuda_device() -> Option<Device> {
    #[cfg(feature = "cuda")]
    return Device::new_cuda(0).ok();
    #[cfg(not(feature = "cuda"))]
    None
}

/// Makes the layers of an encoder: on the first CUDA device if there is one ([`has_gpu`]), otherwise on the CPU.
///
/// # Errors
/// A layer cannot be read or has other sizes than `config` says, or the device fails.
pub fn layers(
    config: &EncoderConfig,
    layers: &mut dyn Iterator<Item = riposte_nn::Result<Layer<Vec<f32>>>>,
) -> riposte_nn::Result<Box<dyn Layers>> {
    let device = device();
    let upload = |layer: riposte_nn::Result<Layer<Vec<f32>>>| {
        upload(config, layer?, &device).map_err(Error::other)
    };
    Ok(Box::new(CandleLayers {
        layers: layers.map(upload).collect::<riposte_nn::Result<_>>()?,
        config: config.clone(),
        device,
    }))
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
    /// Applies the activation of the MLP to each number.
    fn activate(&mut self, x: &Tensor, activation: Activation) -> Result<Tensor>;
    /// Sets random numbers to 0 in training.
    fn dropout(&mut self, x: Tensor) -> Result<Tensor>;
}

/// The operations of inference.
struct Inference;

impl LayerOps for Inference {
    fn linear(&mut self, x: &Tensor, layer: &Affine<Tensor>) -> Result<Tensor> {
        x.matmul(&layer.weight.t()?)?.broadcast_add(&layer.bias)
    }

    fn norm(&mut self, x: &Tensor, norm: &Affine<Tensor>, epsilon: f64) -> Result<Tensor> {
        let Affine { weight, bias } = norm;
        candle_nn::ops::layer_norm(x, weight, bias, epsilon as f32)
    }

    fn softmax(&mut self, x: &Tensor) -> Result<Tensor> {
        candle_nn::ops::softmax_last_dim(x)
    }

    fn activate(&mut self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        match activation {
            Activation::Gelu => x.gelu_erf(),
            Activation::QuickGelu => x * candle_nn::ops::sigmoid(&(x * 1.702)?)?,
        }
    }

    fn dropout(&mut self, x: Tensor) -> Result<Tensor> {
        Ok(x)
    }
}

/// The shape of a padded batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchShape {
    /// The number of sequences.
    pub count: usize,
    /// The length of the longest sequence.
    pub length: usize,
}

/// Computes one layer of an encoder: maps rows (count × length, hidden) to rows of the same shape.
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
            &x + mlp(config, layer, &normed, ops)?
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
        ops.linear(x, part)?
            .reshape((count, length, heads, width))?
            .transpose(1, 2)?
            .contiguous()
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

/// The layers of a model, on a device.
struct CandleLayers {
    config: EncoderConfig,
    layers: Vec<Layer<Tensor>>,
    device: Device,
}

/// Copies a layer to the device.
fn upload(
    config: &EncoderConfig,
    layer: Layer<Vec<f32>>,
    device: &Device,
) -> Result<Layer<Tensor>> {
    let upload = |part: Affine<Vec<f32>>, shape: &[usize]| -> Result<Affine<Tensor>> {
        let out = part.bias.len();
        Ok(Affine {
            weight: Tensor::from_vec(part.weight, shape, device)?,
            bias: Tensor::from_vec(part.bias, out, device)?,
        })
    };
    let (hidden, intermediate) = (config.hidden, config.intermediate);
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
}

impl Layers for CandleLayers {
    fn forward(
        &self,
        x: Vec<f32>,
        lengths: &[usize],
        rows: WantedRows,
        attention: Attention,
    ) -> riposte_nn::Result<Vec<f32>> {
        self.compute(&x, lengths, rows, attention)
            .map_err(Error::other)
    }

    fn batch_tokens(&self) -> usize {
        BATCH_TOKENS
    }
}

impl CandleLayers {
    fn compute(
        &self,
        x: &[f32],
        lengths: &[usize],
        rows: WantedRows,
        attention: Attention,
    ) -> Result<Vec<f32>> {
        let hidden = self.config.hidden;
        let batch = BatchShape {
            count: lengths.len(),
            length: lengths.iter().copied().max().unwrap_or(0),
        };
        let mut padded = Vec::with_capacity(batch.count * batch.length * hidden);
        let mut sequences = x;
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
            WantedRows::All => firsts
                .zip(lengths)
                .flat_map(|(first, length)| first..first + length)
                .map(|row| row as u32)
                .collect(),
            WantedRows::OneEach(positions) => firsts
                .zip(positions)
                .map(|(first, position)| (first + position) as u32)
                .collect(),
        };
        let wanted = Tensor::new(wanted, &self.device)?;
        x.index_select(&wanted, 0)?.flatten_all()?.to_vec1()
    }

    /// The numbers that are added to the scores of attention, in a shape that can be broadcast to theirs (count, heads, length, length). None if all
    /// are zero.
    fn mask(
        &self,
        lengths: &[usize],
        longest: usize,
        attention: Attention,
    ) -> Result<Option<Tensor>> {
        let masked = |masked: bool| if masked { MASKED } else { 0.0 };
        let on_device =
            |numbers: Vec<f32>, shape: &[usize]| Tensor::from_vec(numbers, shape, &self.device);
        if let Attention::Causal = attention {
            // padding comes after all tokens, so no token sees it
            let rows =
                (0..longest).flat_map(|row| (0..longest).map(move |column| masked(column > row)));
            return on_device(rows.collect(), &[longest, longest]).map(Some);
        }
        let padding = match lengths.iter().all(|length| *length == longest) {
            true => None,
            false => {
                let rows = lengths
                    .iter()
                    .flat_map(|length| (0..longest).map(move |column| masked(column >= *length)));
                Some(on_device(rows.collect(), &[lengths.len(), 1, 1, longest])?)
            }
        };
        let Attention::Relative(bias) = attention else {
            return Ok(padding);
        };
        let mut numbers = Vec::with_capacity(bias.heads() * longest * longest);
        for head in 0..bias.heads() {
            for query in 0..longest {
                let row = bias.rows(head, query, 1, longest);
                numbers.extend_from_slice(&row.map_err(candle_core::Error::wrap)?[..longest]);
            }
        }
        let bias = on_device(numbers, &[1, bias.heads(), longest, longest])?;
        match padding {
            Some(padding) => bias.broadcast_add(&padding).map(Some),
            None => Ok(Some(bias)),
        }
    }
}

/// The example of the README is compiled with the doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
