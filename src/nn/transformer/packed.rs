//! The packed backend: an encoder on the CPU.
//!
//! Sequences lie one after another without padding, and each one attends to itself alone. Matrix products, softmax and activations come
//! from rten, the runtime of the OCR engine; they use the widest instructions that the machine has. Of the last layer, only the wanted
//! rows are computed.

use std::borrow::Cow;
use std::sync::OnceLock;

use anyhow::{Context, Result, ensure};
use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_tensor::NdTensorView;
use rten_vecmath::{Gelu, Softmax, Swish};

use super::{Activation, Affine, Attention, EncoderConfig, NormOrder, Rows, TensorSource};

/// Maximum number of tokens in a batch. More do not make the matrix products faster, but push each other out of the caches.
pub(super) const BATCH_TOKENS: usize = 512;

/// The matrix multiplier of the process. It can be shared between threads, but not sent to another one, so a model cannot own it: a
/// model is loaded by whichever thread needs it first.
fn executor() -> &'static GemmExecutor {
    static EXECUTOR: OnceLock<&'static GemmExecutor> = OnceLock::new();
    EXECUTOR.get_or_init(|| Box::leak(Box::new(GemmExecutor::new())))
}

/// The layers of a model.
pub(super) struct Encoder {
    config: EncoderConfig,
    layers: Vec<Layer>,
}

struct Layer {
    /// Already divided by √(head width).
    query: Linear,
    key_and_value: Linear,
    output: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    mlp_norm: Norm,
}

/// A linear layer: x · Wᵀ + b.
pub struct Linear {
    weight: PackedBMatrix<f32>,
    bias: Option<Vec<f32>>,
    out: usize,
}

/// A layer norm.
pub(crate) struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl Linear {
    /// Packs `weight` (out, in), row after row.
    ///
    /// # Errors
    /// The weights are not `out` whole rows.
    pub fn new(weight: &[f32], out: usize, bias: Option<Vec<f32>>) -> Result<Self> {
        let width = weight.len() / out.max(1);
        let weight = NdTensorView::from_slice_with_strides([width, out], weight, [1, width])
            .context("laying out a layer's weights")?;
        Ok(Linear {
            weight: executor().prepack_b(weight),
            bias,
            out,
        })
    }

    fn of(affine: Affine<Vec<f32>>) -> Result<Self> {
        Linear::new(&affine.weight, affine.bias.len(), Some(affine.bias))
    }

    /// The number of outputs for each row.
    pub fn out(&self) -> usize {
        self.out
    }

    /// Maps rows (n, in) to rows (n, out).
    ///
    /// rten computes the product of a single row in another order, and it differs in the last bits. A single row is therefore computed
    /// as two equal ones, so that a row's result does not depend on the rows beside it.
    ///
    /// # Errors
    /// The rows do not have the layer's width.
    pub fn forward(&self, x: &[f32]) -> Result<Vec<f32>> {
        let width = self.weight.rows();
        let rows = x.len() / width;
        let input = if rows == 1 {
            Cow::Owned([x, x].concat())
        } else {
            Cow::Borrowed(x)
        };
        let mut out = vec![0.0; rows.max(2) * self.out];
        if rows > 0 {
            let options = GemmOptions {
                bias: self.bias.as_deref().map(BiasVector::Row),
                ..GemmOptions::default()
            };
            let input = NdTensorView::from_slice_with_strides(
                [rows.max(2), width],
                input.as_ref(),
                [width, 1],
            )
            .context("laying out a layer's input")?;
            executor()
                .gemm(
                    &mut out,
                    GemmInputA::Unpacked(input),
                    GemmInputB::Packed(&self.weight),
                    options,
                )
                .context("multiplying matrices")?;
        }
        out.truncate(rows * self.out);
        Ok(out)
    }
}

impl Norm {
    fn of(affine: Affine<Vec<f32>>, epsilon: f64) -> Self {
        Norm {
            weight: affine.weight,
            bias: affine.bias,
            epsilon: epsilon as f32,
        }
    }

    /// Reads the layer norm of that name.
    ///
    /// # Errors
    /// Those of `source`.
    pub fn read(source: &impl TensorSource, name: &str, epsilon: f64) -> Result<Self> {
        let affine = super::affine(name, &mut |name| source.tensor(name))?;
        Ok(Norm::of(affine, epsilon))
    }

    /// Normalises each row in place.
    pub fn forward(&self, x: &mut [f32]) {
        let width = self.weight.len();
        for row in x.chunks_mut(width) {
            let mean = sum(row, |x| x) / width as f32;
            let variance = sum(row, |x| (x - mean) * (x - mean)) / width as f32;
            let scale = (variance + self.epsilon).sqrt().recip();
            for ((x, w), b) in row.iter_mut().zip(&self.weight).zip(&self.bias) {
                *x = (*x - mean) * scale * w + b;
            }
        }
    }
}

/// Adds `other` to `x`.
pub(super) fn add(x: &mut [f32], other: &[f32]) {
    x.iter_mut().zip(other).for_each(|(x, other)| *x += other);
}

/// The sum of `of` over a row, in eight lanes, which the compiler turns into vector instructions.
fn sum(row: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0f32; 8];
    let (parts, rest) = row.as_chunks::<8>();
    for part in parts {
        for (lane, x) in lanes.iter_mut().zip(part) {
            *lane += of(*x);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|x| of(*x)).sum::<f32>()
}

impl Layer {
    fn new(config: &EncoderConfig, layer: super::Layer<Vec<f32>>) -> Result<Self> {
        let scale = (config.head_width() as f32).powf(-0.5);
        let mut query = layer.query;
        let numbers = query.weight.iter_mut().chain(&mut query.bias);
        numbers.for_each(|x| *x *= scale);
        let mut key_and_value = layer.key;
        key_and_value.weight.extend(layer.value.weight);
        key_and_value.bias.extend(layer.value.bias);
        Ok(Layer {
            query: Linear::of(query)?,
            key_and_value: Linear::of(key_and_value)?,
            output: Linear::of(layer.output)?,
            attention_norm: Norm::of(layer.attention_norm, config.epsilon),
            up: Linear::of(layer.up)?,
            down: Linear::of(layer.down)?,
            mlp_norm: Norm::of(layer.mlp_norm, config.epsilon),
        })
    }
}

impl Encoder {
    /// Packs the layers, which have the sizes of `config`.
    ///
    /// # Errors
    /// A layer cannot be read, or has other sizes.
    pub(super) fn new(
        config: &EncoderConfig,
        layers: impl Iterator<Item = Result<super::Layer<Vec<f32>>>>,
    ) -> Result<Self> {
        Ok(Encoder {
            layers: layers
                .map(|layer| Layer::new(config, layer?))
                .collect::<Result<_>>()?,
            config: config.clone(),
        })
    }

    /// As [`super::Encoder::forward`].
    pub(super) fn forward(
        &self,
        mut x: Vec<f32>,
        lengths: &[usize],
        rows: Rows,
        attention: Attention,
    ) -> Result<Vec<f32>> {
        for (n, layer) in self.layers.iter().enumerate() {
            let positions = match rows {
                Rows::OneEach(positions) if n + 1 == self.layers.len() => Some(positions),
                _ => None,
            };
            x = match self.config.norms {
                NormOrder::After => {
                    let (mixed, mut x) =
                        self.attend(layer, &x, &x, lengths, positions, attention)?;
                    add(&mut x, &layer.output.forward(&mixed)?);
                    layer.attention_norm.forward(&mut x);
                    let down = self.mlp(layer, &x)?;
                    add(&mut x, &down);
                    layer.mlp_norm.forward(&mut x);
                    x
                }
                NormOrder::Before => {
                    let mut normed = x.clone();
                    layer.attention_norm.forward(&mut normed);
                    let (mixed, mut x) =
                        self.attend(layer, &normed, &x, lengths, positions, attention)?;
                    add(&mut x, &layer.output.forward(&mixed)?);
                    let mut normed = x.clone();
                    layer.mlp_norm.forward(&mut normed);
                    add(&mut x, &self.mlp(layer, &normed)?);
                    x
                }
            };
        }
        Ok(x)
    }

    fn mlp(&self, layer: &Layer, x: &[f32]) -> Result<Vec<f32>> {
        let mut inner = layer.up.forward(x)?;
        match self.config.activation {
            Activation::Gelu => Gelu {}.map_mut(&mut inner),
            Activation::QuickGelu => Swish { alpha: 1.702 }.map_mut(&mut inner),
        }
        layer.down.forward(&inner)
    }

    /// The attention's weighted sums of the values, for all rows of `x` or for one row of each sequence, and the same rows of `residual`.
    fn attend(
        &self,
        layer: &Layer,
        x: &[f32],
        residual: &[f32],
        lengths: &[usize],
        positions: Option<&[usize]>,
        attention: Attention,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let (hidden, heads) = (self.config.hidden, self.config.heads);
        let width = hidden / heads;
        let key_and_value = layer.key_and_value.forward(x)?;
        let chosen = |rows: &[f32]| -> Result<Vec<f32>> {
            let Some(positions) = positions else {
                return Ok(rows.to_vec());
            };
            let mut chosen = Vec::with_capacity(lengths.len() * hidden);
            let mut at = 0;
            for (length, position) in lengths.iter().zip(positions) {
                ensure!(
                    position < length,
                    "a sequence of {length} tokens has no row {position}"
                );
                chosen.extend_from_slice(
                    &rows[(at + position) * hidden..(at + position + 1) * hidden],
                );
                at += length;
            }
            Ok(chosen)
        };
        let kept = chosen(residual)?;
        let query = match positions {
            Some(_) => layer.query.forward(&chosen(x)?)?,
            None => layer.query.forward(x)?,
        };
        let mut mixed = vec![0.0; kept.len()];
        // the first rows of the sequence among the keys, and among the queries
        let (mut at, mut query_at) = (0, 0);
        let mut scores = Vec::new();
        let mut values = Vec::new();
        for (n, &length) in lengths.iter().enumerate() {
            let position = positions.map(|positions| positions[n]);
            let queries = if position.is_some() { 1 } else { length };
            for head in 0..heads {
                let strided = |data, rows, from: usize, row: usize| {
                    NdTensorView::from_slice_with_strides(
                        [rows, width],
                        &<[f32]>::as_ref(data)[from..],
                        [row, 1],
                    )
                    .context("laying out attention")
                };
                let offset = head * width;
                let query = strided(&query, queries, query_at * hidden + offset, hidden)?;
                let from = at * 2 * hidden + offset;
                let key = strided(&key_and_value, length, from, 2 * hidden)?;
                let value = strided(&key_and_value, length, from + hidden, 2 * hidden)?;
                scores.clear();
                scores.resize(queries * length, 0.0);
                multiply(&mut scores, query, key.transposed())?;
                for (row, scores) in scores.chunks_mut(length).enumerate() {
                    let seen = match attention {
                        Attention::Causal => position.unwrap_or(row) + 1,
                        Attention::Full => length,
                    };
                    let (seen, unseen) = scores.split_at_mut(seen);
                    Softmax::new_mut(seen).dispatch();
                    unseen.fill(0.0);
                }
                values.clear();
                values.resize(queries * width, 0.0);
                let weights = NdTensorView::from_data([queries, length], scores.as_slice());
                multiply(&mut values, weights, value)?;
                for (row, mixture) in values.chunks(width).enumerate() {
                    let to = (query_at + row) * hidden + offset;
                    mixed[to..to + width].copy_from_slice(mixture);
                }
            }
            at += length;
            query_at += queries;
        }
        Ok((mixed, kept))
    }
}

fn multiply(
    out: &mut [f32],
    a: NdTensorView<'_, f32, 2>,
    b: NdTensorView<'_, f32, 2>,
) -> Result<()> {
    executor()
        .gemm(
            out,
            GemmInputA::Unpacked(a),
            GemmInputB::Unpacked(b),
            GemmOptions::default(),
        )
        .context("multiplying matrices")
}
