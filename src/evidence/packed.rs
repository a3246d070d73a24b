//! The transformer encoder on the CPU over packed matrices: [`super::encoder`]'s arithmetic several times faster.
//!
//! Sequences lie one after another without padding, and each attends to itself alone. Matrix products, softmax and
//! activations are those of the OCR engine's runtime, which choose the widest instructions of the machine. Of the last
//! layer only those rows are computed that somebody reads.

mod bert;

use std::borrow::Cow;
use std::sync::OnceLock;

use anyhow::{Context, Result, ensure};
use candle_core::Device;
use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_tensor::NdTensorView;
use rten_vecmath::{Gelu, Softmax, Swish};

pub(super) use bert::PackedBert;

use super::checkpoint::Checkpoint;
use super::encoder::{Activation, Names, Norms, Size};

/// What a model trained further makes of a published tensor.
pub(super) trait Trained {
    /// The tensor of that name in place of `published`.
    ///
    /// # Errors
    /// A tensor that does not fit.
    fn tensor(&self, name: &str, published: Vec<f32>) -> Result<Vec<f32>>;
}

/// A model as it was published.
pub(super) struct Published;

impl Trained for Published {
    fn tensor(&self, _: &str, published: Vec<f32>) -> Result<Vec<f32>> {
        Ok(published)
    }
}

/// Which of the last layer's rows somebody reads.
pub(super) enum Kept<'a> {
    All,
    /// One of each sequence, counted from its first.
    One(&'a [usize]),
}

/// What multiplies matrices: one for the program. It can be shared between threads and not handed over, so that a model that owned
/// one could not be loaded by whichever thread needs it first.
pub(super) fn executor() -> &'static GemmExecutor {
    static EXECUTOR: OnceLock<&'static GemmExecutor> = OnceLock::new();
    EXECUTOR.get_or_init(|| Box::leak(Box::new(GemmExecutor::new())))
}

pub(super) struct PackedEncoder {
    size: Size,
    layers: Vec<Layer>,
}

struct Layer {
    /// The query is already divided by √(head width).
    query: Dense,
    key_and_value: Dense,
    output: Dense,
    attention_norm: Norm,
    up: Dense,
    down: Dense,
    mlp_norm: Norm,
}

/// x · W + b
pub(super) struct Dense {
    weight: PackedBMatrix<f32>,
    bias: Option<Vec<f32>>,
    width: usize,
}

pub(super) struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

/// Reads the tensors of a checkpoint as `trained` makes them.
pub(super) fn reader<'a>(
    checkpoint: &'a mut Checkpoint,
    trained: &'a impl Trained,
) -> impl FnMut(&str) -> Result<Vec<f32>> + 'a {
    |name: &str| {
        let published = checkpoint.read(name, &Device::Cpu)?;
        trained.tensor(name, published.flatten_all()?.to_vec1()?)
    }
}

impl Dense {
    /// `weight` as PyTorch stores it, (out, in).
    pub(super) fn new(
        gemm: &GemmExecutor,
        weight: &[f32],
        out: usize,
        bias: Option<Vec<f32>>,
    ) -> Result<Dense> {
        let width = weight.len() / out.max(1);
        let weight = NdTensorView::from_slice_with_strides([width, out], weight, [1, width])
            .context("laying out a layer's weights")?;
        Ok(Dense {
            weight: gemm.prepack_b(weight),
            bias,
            width: out,
        })
    }

    /// Numbers of each row of results.
    pub(super) fn gives(&self) -> usize {
        self.width
    }

    /// Row after row. The product of a single row takes another road through the matrix code and differs in the last bits;
    /// it is computed twice over, so that a row is the same in any company.
    pub(super) fn forward(&self, gemm: &GemmExecutor, x: &[f32]) -> Result<Vec<f32>> {
        let width = self.weight.rows();
        let rows = x.len() / width;
        let input = match rows {
            1 => Cow::Owned([x, x].concat()),
            _ => Cow::Borrowed(x),
        };
        let mut out = vec![0.0; rows.max(2) * self.width];
        let options = GemmOptions {
            bias: self.bias.as_deref().map(BiasVector::Row),
            ..GemmOptions::default()
        };
        let input = NdTensorView::from_data([rows.max(2), width], input.as_ref());
        gemm.gemm(
            &mut out,
            GemmInputA::Unpacked(input),
            GemmInputB::Packed(&self.weight),
            options,
        )
        .context("multiplying matrices")?;
        out.truncate(rows * self.width);
        Ok(out)
    }
}

impl Norm {
    /// The tensors of the norm of that name.
    pub(super) fn read(
        read: &mut dyn FnMut(&str) -> Result<Vec<f32>>,
        name: &str,
        epsilon: f64,
    ) -> Result<Norm> {
        Ok(Norm {
            weight: read(&format!("{name}.weight"))?,
            bias: read(&format!("{name}.bias"))?,
            epsilon: epsilon as f32,
        })
    }

    /// Of each row, in its place.
    pub(super) fn forward(&self, x: &mut [f32]) {
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

fn add(x: &mut [f32], added: &[f32]) {
    x.iter_mut().zip(added).for_each(|(x, a)| *x += a);
}

/// In eight lanes, which the compiler makes vectors of.
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

impl PackedEncoder {
    /// Reads the tensors of [`super::encoder::Encoder::expected`].
    ///
    /// # Errors
    /// Tensors that cannot be read.
    pub(super) fn read(
        size: &Size,
        names: &Names,
        mut read: impl FnMut(&str) -> Result<Vec<f32>>,
    ) -> Result<Self> {
        let gemm = executor();
        let scale = (size.head_width() as f32).powf(-0.5);
        let layers = (0..size.layers)
            .map(|n| {
                let name = |part: &str| format!("{}.{n}.{part}", names.layers);
                let mut pair = |part: &str| -> Result<(Vec<f32>, Vec<f32>)> {
                    let part = name(part);
                    Ok((
                        read(&format!("{part}.weight"))?,
                        read(&format!("{part}.bias"))?,
                    ))
                };
                let (mut weight, mut bias) = pair(names.query)?;
                weight.iter_mut().chain(&mut bias).for_each(|x| *x *= scale);
                let query = Dense::new(gemm, &weight, size.hidden, Some(bias))?;
                let (mut weight, mut bias) = pair(names.key)?;
                let value = pair(names.value)?;
                weight.extend(value.0);
                bias.extend(value.1);
                let key_and_value = Dense::new(gemm, &weight, 2 * size.hidden, Some(bias))?;
                let mut dense = |part: &str| -> Result<Dense> {
                    let (weight, bias) = pair(part)?;
                    Dense::new(gemm, &weight, bias.len(), Some(bias))
                };
                let (output, up, down) =
                    (dense(names.output)?, dense(names.up)?, dense(names.down)?);
                Ok(Layer {
                    query,
                    key_and_value,
                    output,
                    up,
                    down,
                    attention_norm: Norm::read(
                        &mut read,
                        &name(names.attention_norm),
                        size.epsilon,
                    )?,
                    mlp_norm: Norm::read(&mut read, &name(names.mlp_norm), size.epsilon)?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(PackedEncoder {
            size: size.clone(),
            layers,
        })
    }

    pub(super) fn gemm(&self) -> &GemmExecutor {
        executor()
    }

    /// Maps the rows of sequences of these lengths, one after another, to the last layer's rows, or to those that are kept.
    ///
    /// `causal`: a token attends to itself and those before it only.
    pub(super) fn forward(
        &self,
        mut x: Vec<f32>,
        lengths: &[usize],
        kept: Kept<'_>,
        causal: bool,
    ) -> Result<Vec<f32>> {
        for (n, layer) in self.layers.iter().enumerate() {
            let last = n + 1 == self.layers.len();
            let one = match kept {
                Kept::One(places) if last => Some(places),
                _ => None,
            };
            x = match self.size.norms {
                Norms::After => {
                    let (mixed, mut x) = self.attend(layer, &x, &x, lengths, one, causal)?;
                    add(&mut x, &layer.output.forward(executor(), &mixed)?);
                    layer.attention_norm.forward(&mut x);
                    let down = self.mlp(layer, &x)?;
                    add(&mut x, &down);
                    layer.mlp_norm.forward(&mut x);
                    x
                }
                Norms::Before => {
                    let mut normed = x.clone();
                    layer.attention_norm.forward(&mut normed);
                    let (mixed, mut x) = self.attend(layer, &normed, &x, lengths, one, causal)?;
                    add(&mut x, &layer.output.forward(executor(), &mixed)?);
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
        let mut inner = layer.up.forward(executor(), x)?;
        match self.size.activation {
            Activation::Gelu => Gelu {}.map_mut(&mut inner),
            Activation::QuickGelu => Swish { alpha: 1.702 }.map_mut(&mut inner),
        }
        layer.down.forward(executor(), &inner)
    }

    /// Attention's mixture of values for each row of `x`, or for `one` of each sequence, and the rows of `residual` that it
    /// belongs to.
    fn attend(
        &self,
        layer: &Layer,
        x: &[f32],
        residual: &[f32],
        lengths: &[usize],
        one: Option<&[usize]>,
        causal: bool,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let (hidden, heads) = (self.size.hidden, self.size.heads);
        let width = hidden / heads;
        let key_and_value = layer.key_and_value.forward(executor(), x)?;
        let chosen = |rows: &[f32]| -> Result<Vec<f32>> {
            let Some(places) = one else {
                return Ok(rows.to_vec());
            };
            let mut chosen = Vec::with_capacity(lengths.len() * hidden);
            let mut at = 0;
            for (length, place) in lengths.iter().zip(places) {
                ensure!(place < length, "row {place} of {length} is asked for");
                chosen.extend_from_slice(&rows[(at + place) * hidden..(at + place + 1) * hidden]);
                at += length;
            }
            Ok(chosen)
        };
        let kept = chosen(residual)?;
        let query = match one {
            Some(_) => layer.query.forward(executor(), &chosen(x)?)?,
            None => layer.query.forward(executor(), x)?,
        };
        let mut mixed = vec![0.0; kept.len()];
        let (mut at, mut asked) = (0, 0);
        let mut scores = Vec::new();
        let mut values = Vec::new();
        for (n, &length) in lengths.iter().enumerate() {
            let place = one.map(|places| places[n]);
            let queries = if place.is_some() { 1 } else { length };
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
                let query = strided(&query, queries, asked * hidden + offset, hidden)?;
                let from = at * 2 * hidden + offset;
                let key = strided(&key_and_value, length, from, 2 * hidden)?;
                let value = strided(&key_and_value, length, from + hidden, 2 * hidden)?;
                scores.clear();
                scores.resize(queries * length, 0.0);
                self.multiply(&mut scores, query, key.transposed())?;
                for (row, scores) in scores.chunks_mut(length).enumerate() {
                    let seen = match causal {
                        true => place.unwrap_or(row) + 1,
                        false => length,
                    };
                    let (seen, unseen) = scores.split_at_mut(seen);
                    Softmax::new_mut(seen).dispatch();
                    unseen.fill(0.0);
                }
                values.clear();
                values.resize(queries * width, 0.0);
                let weights = NdTensorView::from_data([queries, length], scores.as_slice());
                self.multiply(&mut values, weights, value)?;
                for (row, mixture) in values.chunks(width).enumerate() {
                    let to = (asked + row) * hidden + offset;
                    mixed[to..to + width].copy_from_slice(mixture);
                }
            }
            at += length;
            asked += queries;
        }
        Ok((mixed, kept))
    }

    fn multiply(
        &self,
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
}
