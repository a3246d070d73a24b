//! BERT on the CPU over packed matrices: [`super::bert`]'s arithmetic several times faster, for models that read each
//! topic together with each text, where nothing can be kept from one topic to the next.
//!
//! Texts lie one after another without padding, and each attends to itself alone. Matrix products, softmax and GELU are
//! those of the OCR engine's runtime, which choose the widest instructions of the machine.

use std::borrow::Cow;

use anyhow::{Context, Result, ensure};
use candle_core::Device;
use rayon::prelude::*;
use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_tensor::NdTensorView;
use rten_vecmath::{Gelu, Softmax};
use tokenizers::Encoding;

use super::bert::{Config, Parts, batches};
use super::checkpoint::Checkpoint;
use super::encoder::Activation;

/// Tokens that go through the model together: enough for the matrix products, few enough that all threads have some.
const BATCH: usize = 512;

/// What a model trained further makes of a published tensor.
pub(super) trait Trained {
    /// The tensor of that name in place of `published`.
    ///
    /// # Errors
    /// A tensor that does not fit.
    fn tensor(&self, name: &str, published: Vec<f32>) -> Result<Vec<f32>>;
}

pub(super) struct PackedBert {
    gemm: GemmExecutor,
    hidden: usize,
    heads: usize,
    vocabulary: usize,
    longest: usize,
    epsilon: f32,
    /// (vocabulary, hidden)
    words: Vec<f32>,
    /// (2 × longest, hidden): the position vectors, that of the segment's token type added to each.
    places: Vec<f32>,
    norm: Norm,
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
    bias: Vec<f32>,
}

struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Dense {
    /// `weight` as PyTorch stores it, (out, in).
    pub(super) fn new(gemm: &GemmExecutor, weight: &[f32], bias: Vec<f32>) -> Result<Dense> {
        let out = bias.len();
        let width = weight.len() / out.max(1);
        let weight = NdTensorView::from_slice_with_strides([width, out], weight, [1, width])
            .context("laying out a layer's weights")?;
        Ok(Dense {
            weight: gemm.prepack_b(weight),
            bias,
        })
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
        let mut out = vec![0.0; rows.max(2) * self.bias.len()];
        let options = GemmOptions {
            bias: Some(BiasVector::Row(&self.bias)),
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
        out.truncate(rows * self.bias.len());
        Ok(out)
    }
}

impl Norm {
    /// Of each row of `x + added`, in `x`.
    fn forward(&self, x: &mut [f32], added: Option<&[f32]>, epsilon: f32) {
        let width = self.weight.len();
        if let Some(added) = added {
            x.iter_mut().zip(added).for_each(|(x, a)| *x += a);
        }
        for row in x.chunks_mut(width) {
            let mean = sum(row, |x| x) / width as f32;
            let variance = sum(row, |x| (x - mean) * (x - mean)) / width as f32;
            let scale = (variance + epsilon).sqrt().recip();
            for ((x, w), b) in row.iter_mut().zip(&self.weight).zip(&self.bias) {
                *x = (*x - mean) * scale * w + b;
            }
        }
    }
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

impl PackedBert {
    /// Reads the tensors of [`Config::expected`], each as `trained` makes it. `longest`: tokens of the longest text.
    ///
    /// # Errors
    /// Tensors that cannot be read, or an activation other than GELU.
    pub(super) fn read(
        config: &Config,
        parts: &Parts,
        longest: usize,
        checkpoint: &mut Checkpoint,
        trained: &impl Trained,
    ) -> Result<Self> {
        let size = config.size();
        ensure!(
            size.activation == Activation::Gelu,
            "hidden_act is not gelu"
        );
        let gemm = GemmExecutor::new();
        let hidden = size.hidden;
        let mut read = |name: &str| -> Result<Vec<f32>> {
            let published = checkpoint.read(name, &Device::Cpu)?;
            trained.tensor(name, published.flatten_all()?.to_vec1()?)
        };
        let types = read(&parts.types())?;
        let positions = read(&parts.positions())?;
        let places = types
            .chunks(hidden)
            .take(2)
            .flat_map(|kind| {
                positions
                    .chunks(hidden)
                    .take(longest)
                    .flat_map(move |place| place.iter().zip(kind).map(|(p, k)| p + k))
            })
            .collect();
        let scale = (size.head_width() as f32).powf(-0.5);
        let names = parts.names();
        let norm = |read: &mut dyn FnMut(&str) -> Result<Vec<f32>>, name: &str| {
            Ok::<_, anyhow::Error>(Norm {
                weight: read(&format!("{name}.weight"))?,
                bias: read(&format!("{name}.bias"))?,
            })
        };
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
                let query = Dense::new(&gemm, &weight, bias)?;
                let (mut weight, mut bias) = pair(names.key)?;
                let value = pair(names.value)?;
                weight.extend(value.0);
                bias.extend(value.1);
                let key_and_value = Dense::new(&gemm, &weight, bias)?;
                let mut dense = |part: &str| -> Result<Dense> {
                    let (weight, bias) = pair(part)?;
                    Dense::new(&gemm, &weight, bias)
                };
                let (output, up, down) =
                    (dense(names.output)?, dense(names.up)?, dense(names.down)?);
                Ok(Layer {
                    query,
                    key_and_value,
                    output,
                    up,
                    down,
                    attention_norm: norm(&mut read, &name(names.attention_norm))?,
                    mlp_norm: norm(&mut read, &name(names.mlp_norm))?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(PackedBert {
            hidden,
            heads: size.heads,
            vocabulary: config.vocab_size,
            longest,
            epsilon: size.epsilon as f32,
            words: read(&parts.words())?,
            places,
            norm: norm(&mut read, &parts.norm())?,
            layers,
            gemm,
        })
    }

    pub(super) fn gemm(&self) -> &GemmExecutor {
        &self.gemm
    }

    /// What `of_firsts` says of each text from the last layer's row of its first token, \[CLS\], in the order given. It gets
    /// the rows of a batch one after another and answers with as many.
    pub(super) fn each<T: Clone + Default + Send>(
        &self,
        texts: &[Encoding],
        of_firsts: impl Fn(&[f32]) -> Result<Vec<T>> + Sync,
    ) -> Result<Vec<T>> {
        // longest first: what is left for the last thread is short
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&n| std::cmp::Reverse(texts[n].len()));
        let batches = batches(&order, texts, BATCH);
        let said: Vec<Vec<T>> = batches
            .par_iter()
            .map(|batch| {
                let texts: Vec<&Encoding> = batch.iter().map(|&n| &texts[n]).collect();
                of_firsts(&self.firsts(&texts)?)
            })
            .collect::<Result<_>>()?;
        let mut in_order = vec![T::default(); texts.len()];
        for (batch, said) in batches.iter().zip(said) {
            for (&n, of_text) in batch.iter().zip(said) {
                in_order[n] = of_text;
            }
        }
        Ok(in_order)
    }

    /// The last layer's first row of each text.
    fn firsts(&self, texts: &[&Encoding]) -> Result<Vec<f32>> {
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let mut x = self.embed(texts)?;
        for (n, layer) in self.layers.iter().enumerate() {
            let last = n + 1 == self.layers.len();
            let (mixed, mut kept) = self.attend(layer, x, &lengths, last)?;
            let output = layer.output.forward(&self.gemm, &mixed)?;
            layer
                .attention_norm
                .forward(&mut kept, Some(&output), self.epsilon);
            let mut up = layer.up.forward(&self.gemm, &kept)?;
            Gelu {}.map_mut(&mut up);
            let down = layer.down.forward(&self.gemm, &up)?;
            layer.mlp_norm.forward(&mut kept, Some(&down), self.epsilon);
            x = kept;
        }
        Ok(x)
    }

    fn embed(&self, texts: &[&Encoding]) -> Result<Vec<f32>> {
        let row = |table: &[f32], at: usize| {
            let from = at * self.hidden;
            table.get(from..from + self.hidden).map(<[f32]>::to_vec)
        };
        let mut x = Vec::new();
        for text in texts {
            ensure!(
                (1..=self.longest).contains(&text.len()),
                "the tokenizer gives {} tokens: expected 1 to {}",
                text.len(),
                self.longest
            );
            for (at, (&id, &kind)) in text.get_ids().iter().zip(text.get_type_ids()).enumerate() {
                let mut vector = row(&self.words, id as usize).with_context(|| {
                    format!(
                        "the tokenizer gives token {id}, but the model has {}",
                        self.vocabulary
                    )
                })?;
                let place = row(&self.places, kind as usize * self.longest + at)
                    .with_context(|| format!("the tokenizer gives token type {kind}"))?;
                vector.iter_mut().zip(place).for_each(|(v, p)| *v += p);
                x.extend(vector);
            }
        }
        self.norm.forward(&mut x, None, self.epsilon);
        Ok(x)
    }

    /// Attention's mixture of values for each token, or for each text's `first` alone, and the rows that it belongs to.
    fn attend(
        &self,
        layer: &Layer,
        x: Vec<f32>,
        lengths: &[usize],
        first: bool,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let hidden = self.hidden;
        let width = hidden / self.heads;
        let key_and_value = layer.key_and_value.forward(&self.gemm, &x)?;
        let kept = if first {
            let mut firsts = Vec::with_capacity(lengths.len() * hidden);
            let mut at = 0;
            for length in lengths {
                firsts.extend_from_slice(&x[at * hidden..(at + 1) * hidden]);
                at += length;
            }
            firsts
        } else {
            x
        };
        let query = layer.query.forward(&self.gemm, &kept)?;
        let mut mixed = vec![0.0; kept.len()];
        let (mut at, mut asked) = (0, 0);
        let mut scores = Vec::new();
        let mut values = Vec::new();
        for &length in lengths {
            let queries = if first { 1 } else { length };
            for head in 0..self.heads {
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
                for row in scores.chunks_mut(length) {
                    Softmax::new_mut(row).dispatch();
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
        self.gemm
            .gemm(
                out,
                GemmInputA::Unpacked(a),
                GemmInputB::Unpacked(b),
                GemmOptions::default(),
            )
            .context("multiplying matrices")
    }
}
