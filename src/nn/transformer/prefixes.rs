//! Texts that begin alike, by an encoder in which no token sees a later one (CLIP's text tower on a CPU).
//!
//! The rows of a token depend on the tokens before it alone. So texts in which the same tokens come first share the rows of these tokens, and
//! each is computed once. The prompts of a topic are a few templates, filled with the same words: of the tokens of fifty topics' prompts, about
//! four in ten are shared.
//!
//! A row has the same numbers, to the last bit, as without sharing, so that a text's vector does not depend on the texts beside it:
//! [`super::packed`] computes each row of a product by itself, but a product with a single row in another order. Here a single row is
//! computed as one of two, except where [`super::packed`] computes it alone, too: in the attention of the last layer.

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_tensor::NdTensorView;
use rten_vecmath::{Gelu, Softmax, Swish};

use super::packed::{BATCH_TOKENS, Linear, Norm, add};
use super::{Activation, EncoderConfig, LayerNames, NormOrder, TensorSource};

/// Texts of which rows are computed together, in an order in which those that begin alike are neighbours.
pub(super) struct Batch {
    pub texts: Vec<Text>,
    /// The number of rows.
    rows: usize,
}

/// A text of a batch.
pub(super) struct Text {
    /// The number of the row of each token.
    path: Vec<usize>,
    /// The number of tokens at the beginning whose rows belong to texts before. The rows of the others follow those of the texts before.
    pub shared: usize,
}

impl Batch {
    /// The batch of these texts in this order.
    fn of(texts: &[&[u32]]) -> Batch {
        let mut batch = Batch {
            texts: Vec::new(),
            rows: 0,
        };
        let mut former: &[u32] = &[];
        for ids in texts {
            let shared = common_beginning(former, ids);
            let before = batch.texts.last().map_or(&[][..], |text| &text.path);
            let own = ids.len() - shared;
            let path = before.iter().copied().take(shared);
            let path = path.chain(batch.rows..batch.rows + own).collect();
            batch.rows += own;
            batch.texts.push(Text { path, shared });
            former = ids;
        }
        batch
    }
}

/// The number of tokens at the beginning that two texts have in common.
fn common_beginning(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Calls `compute` with batches of texts on all threads, and returns its results, one for each text, in the order of `texts`.
pub(super) fn in_batches<T: Send>(
    texts: &[&[u32]],
    compute: impl Fn(&[&[u32]], &Batch) -> Result<Vec<T>> + Sync,
) -> Result<Vec<T>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&n| texts[n]);
    let sorted: Vec<&[u32]> = order.iter().map(|&n| texts[n]).collect();
    // few texts are divided evenly among the threads
    let share = Batch::of(&sorted)
        .rows
        .div_ceil(rayon::current_num_threads());
    let parts = parts(&sorted, share.clamp(1, BATCH_TOKENS));
    let results = parts
        .par_iter()
        .map(|texts| {
            let results = compute(texts, &Batch::of(texts))?;
            ensure!(results.len() == texts.len(), "a result is missing");
            Ok(results)
        })
        .collect::<Result<Vec<Vec<T>>>>()?;
    let mut results: Vec<(usize, T)> = order
        .into_iter()
        .zip(results.into_iter().flatten())
        .collect();
    results.sort_by_key(|(n, _)| *n);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Cuts sorted texts into parts of about `rows` rows. The last text of a part may exceed it.
fn parts<'t, 'i>(texts: &'t [&'i [u32]], rows: usize) -> Vec<&'t [&'i [u32]]> {
    let mut parts = Vec::new();
    let mut rest = texts;
    while !rest.is_empty() {
        let mut own = 0;
        let mut former: &[u32] = &[];
        let count = rest
            .iter()
            .take_while(|ids| {
                let has_room = own < rows;
                own += ids.len() - common_beginning(former, ids);
                former = ids;
                has_room
            })
            .count();
        let (part, others) = rest.split_at(count.max(1));
        parts.push(part);
        rest = others;
    }
    parts
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

impl Layer {
    fn read(
        config: &EncoderConfig,
        names: &LayerNames,
        n: usize,
        source: &impl TensorSource,
    ) -> Result<Self> {
        let affine = |part: &str| {
            let name = format!("{}.{n}.{part}", names.layers);
            super::affine(&name, &mut |name| source.tensor(name))
        };
        let linear = |affine: super::Affine<Vec<f32>>| {
            Linear::new(&affine.weight, affine.bias.len(), Some(affine.bias))
        };
        let norm = |part: &str| {
            let name = format!("{}.{n}.{part}", names.layers);
            Norm::read(source, &name, config.epsilon)
        };
        let scale = (config.head_width() as f32).powf(-0.5);
        let mut query = affine(names.query)?;
        let numbers = query.weight.iter_mut().chain(&mut query.bias);
        numbers.for_each(|x| *x *= scale);
        let mut key_and_value = affine(names.key)?;
        let value = affine(names.value)?;
        key_and_value.weight.extend(value.weight);
        key_and_value.bias.extend(value.bias);
        Ok(Layer {
            query: linear(query)?,
            key_and_value: linear(key_and_value)?,
            output: linear(affine(names.output)?)?,
            attention_norm: norm(names.attention_norm)?,
            up: linear(affine(names.up)?)?,
            down: linear(affine(names.down)?)?,
            mlp_norm: norm(names.mlp_norm)?,
        })
    }
}

/// The queries of one text: rows of `hidden` numbers, and the position in the text of the first.
struct Queries<'a> {
    rows: &'a [f32],
    first: usize,
    /// Whether a single row is computed alone.
    alone: bool,
}

impl Encoder {
    /// Reads and packs the layers.
    ///
    /// # Errors
    /// Those of `source`, or the layer norms do not come first.
    pub(super) fn read(
        config: &EncoderConfig,
        names: &LayerNames,
        source: &impl TensorSource,
    ) -> Result<Self> {
        ensure!(
            config.norms == NormOrder::Before,
            "this encoder has its layer norms before attention and MLP"
        );
        let layers = (0..config.layers).map(|n| Layer::read(config, names, n, source));
        Ok(Encoder {
            layers: layers.collect::<Result<_>>()?,
            config: config.clone(),
        })
    }

    /// Maps the rows (rows, hidden) of a batch to the last layer's rows for one position of each text, (texts, hidden).
    ///
    /// # Errors
    /// A text has no such position.
    pub(super) fn forward(
        &self,
        mut x: Vec<f32>,
        batch: &Batch,
        positions: &[usize],
    ) -> Result<Vec<f32>> {
        let hidden = self.config.hidden;
        ensure!(
            x.len() == batch.rows * hidden && positions.len() == batch.texts.len(),
            "{} numbers for {} rows",
            x.len(),
            batch.rows
        );
        for (n, layer) in self.layers.iter().enumerate() {
            let mut normed = x.clone();
            layer.attention_norm.forward(&mut normed);
            let key_and_value = layer.key_and_value.forward(&normed)?;
            let mut mixed = Vec::with_capacity(x.len());
            if n + 1 < self.layers.len() {
                let query = layer.query.forward(&normed)?;
                let mut rows = query.as_slice();
                for text in &batch.texts {
                    let own = text.path.len() - text.shared;
                    let (of_text, rest) = rows.split_at(own * hidden);
                    rows = rest;
                    let queries = Queries {
                        rows: of_text,
                        first: text.shared,
                        alone: false,
                    };
                    self.attend(&queries, &key_and_value, text, &mut mixed)?;
                }
            } else {
                let rows = batch.texts.iter().zip(positions).map(|(text, position)| {
                    text.path.get(*position).copied().with_context(|| {
                        let tokens = text.path.len();
                        format!("a sequence of {tokens} tokens has no row {position}")
                    })
                });
                let rows = rows.collect::<Result<Vec<usize>>>()?;
                x = chosen(&x, &rows, hidden);
                let query = layer.query.forward(&chosen(&normed, &rows, hidden))?;
                let of_text = query.chunks(hidden).zip(positions);
                for (text, (rows, &first)) in batch.texts.iter().zip(of_text) {
                    let queries = Queries {
                        rows,
                        first,
                        alone: true,
                    };
                    self.attend(&queries, &key_and_value, text, &mut mixed)?;
                }
            }
            add(&mut x, &layer.output.forward(&mixed)?);
            let mut normed = x.clone();
            layer.mlp_norm.forward(&mut normed);
            let mut inner = layer.up.forward(&normed)?;
            match self.config.activation {
                Activation::Gelu => Gelu {}.map_mut(&mut inner),
                Activation::QuickGelu => Swish { alpha: 1.702 }.map_mut(&mut inner),
            }
            add(&mut x, &layer.down.forward(&inner)?);
        }
        Ok(x)
    }

    /// Appends the attention's weighted sums of the values for the queries of a text.
    fn attend(
        &self,
        queries: &Queries,
        key_and_value: &[f32],
        text: &Text,
        mixed: &mut Vec<f32>,
    ) -> Result<()> {
        let hidden = self.config.hidden;
        let width = self.config.head_width();
        let length = text.path.len();
        let count = queries.rows.len() / hidden;
        if count == 0 {
            return Ok(());
        }
        let rows = if count == 1 && !queries.alone {
            [queries.rows, queries.rows].concat()
        } else {
            queries.rows.to_vec()
        };
        let computed = rows.len() / hidden;
        let of_text = chosen(key_and_value, &text.path, 2 * hidden);
        let from = mixed.len();
        mixed.resize(from + count * hidden, 0.0);
        let mut scores = vec![0.0; computed * length];
        let mut values = vec![0.0; computed * width];
        for head in 0..self.config.heads {
            let offset = head * width;
            let query = strided(&rows[offset..], [computed, width], hidden)?;
            let key = strided(&of_text[offset..], [length, width], 2 * hidden)?;
            let value = strided(&of_text[offset + hidden..], [length, width], 2 * hidden)?;
            multiply(&mut scores, query, key.transposed())?;
            for (row, scores) in scores.chunks_mut(length).enumerate() {
                // the second of two equal rows is not used
                let position = queries.first + row.min(count - 1);
                let (seen, unseen) = scores.split_at_mut(position + 1);
                Softmax::new_mut(seen).dispatch();
                unseen.fill(0.0);
            }
            let weights = NdTensorView::from_data([computed, length], scores.as_slice());
            multiply(&mut values, weights, value)?;
            for (row, mixture) in values.chunks(width).take(count).enumerate() {
                let to = from + row * hidden + offset;
                mixed[to..to + width].copy_from_slice(mixture);
            }
        }
        Ok(())
    }
}

/// The rows with these numbers, one after another.
fn chosen(rows: &[f32], numbers: &[usize], width: usize) -> Vec<f32> {
    let row = |n: &usize| &rows[n * width..(n + 1) * width];
    numbers.iter().flat_map(row).copied().collect()
}

fn strided(data: &[f32], shape: [usize; 2], row: usize) -> Result<NdTensorView<'_, f32, 2>> {
    NdTensorView::from_slice_with_strides(shape, data, [row, 1]).context("laying out attention")
}

fn multiply(
    out: &mut [f32],
    a: NdTensorView<'_, f32, 2>,
    b: NdTensorView<'_, f32, 2>,
) -> Result<()> {
    thread_local! {
        static EXECUTOR: GemmExecutor = GemmExecutor::new();
    }
    EXECUTOR
        .with(|executor| {
            executor.gemm(
                out,
                GemmInputA::Unpacked(a),
                GemmInputB::Unpacked(b),
                GemmOptions::default(),
            )
        })
        .context("multiplying matrices")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::{Attention, Layer as OtherLayer, Rows, packed};
    use super::*;
    use crate::nn::checkpoint::Table;

    const HIDDEN: usize = 128;

    const NAMES: LayerNames = LayerNames {
        layers: "layers",
        query: "query",
        key: "key",
        value: "value",
        output: "output",
        attention_norm: "norm1",
        up: "up",
        down: "down",
        mlp_norm: "norm2",
    };

    /// Numbers in [-scale, scale), the same for the same seed.
    fn numbers(seed: u64, count: usize, scale: f32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        (0..count)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                ((state >> 40) as f32 / (1 << 23) as f32 - 1.0) * scale
            })
            .collect()
    }

    struct Weights;

    impl TensorSource for Weights {
        fn tensor(&self, name: &str) -> Result<Vec<f32>> {
            let seed = name.bytes().fold(7, |hash: u64, byte| {
                hash.wrapping_mul(31).wrapping_add(u64::from(byte))
            });
            let is_inner = name.contains("up") || name.contains("down");
            let width = if is_inner { 4 * HIDDEN } else { HIDDEN };
            Ok(if !name.ends_with("weight") {
                let out = if name.contains("up") { width } else { HIDDEN };
                numbers(seed, out, 0.5)
            } else if name.contains("norm") {
                numbers(seed, HIDDEN, 1.0)
            } else {
                numbers(seed, HIDDEN * width, 0.2)
            })
        }

        fn table(&self, name: &str) -> Result<Table> {
            Ok(Table::of(&self.tensor(name)?, HIDDEN))
        }
    }

    fn embed(ids: &[u32], from: usize, x: &mut Vec<f32>) {
        for (position, id) in ids.iter().enumerate().skip(from) {
            let seed = 1000 * u64::from(*id) + position as u64;
            x.extend(numbers(seed, HIDDEN, 1.0));
        }
    }

    #[test]
    fn texts_that_begin_alike_have_the_rows_that_each_has_alone() {
        let config = EncoderConfig {
            hidden: HIDDEN,
            heads: 2,
            intermediate: 4 * HIDDEN,
            layers: 3,
            epsilon: 1e-5,
            activation: Activation::QuickGelu,
            norms: NormOrder::Before,
        };
        let long: Vec<u32> = (0..77).collect();
        let mut longer = long.clone();
        longer[76] = 99;
        let texts: [&[u32]; 9] = [
            &[0, 1, 2, 3, 9],
            &[0, 5, 6, 9],
            &[0, 1, 2, 3, 4, 7, 9],
            &long,
            &[0, 1, 2, 9],
            &[0, 9],
            &[0, 1, 2, 3, 9],
            &longer,
            &[8],
        ];
        let layers =
            (0..config.layers).map(|n| OtherLayer::read(&NAMES, n, |name| Weights.tensor(name)));
        let alone = packed::Encoder::new(&config, layers).unwrap();
        let expected: Vec<Vec<f32>> = texts
            .iter()
            .map(|ids| {
                let mut x = Vec::new();
                embed(ids, 0, &mut x);
                let rows = Rows::OneEach(&[ids.len() - 1]);
                let lengths = [ids.len()];
                alone.forward(x, &lengths, rows, Attention::Causal).unwrap()
            })
            .collect();
        let shared = Encoder::read(&config, &NAMES, &Weights).unwrap();
        let longest = AtomicUsize::new(0);
        let compute = |texts: &[&[u32]], batch: &Batch| {
            let mut x = Vec::new();
            for (ids, text) in texts.iter().zip(&batch.texts) {
                embed(ids, text.shared, &mut x);
                longest.fetch_max(text.shared, Ordering::Relaxed);
            }
            let ends: Vec<usize> = texts.iter().map(|ids| ids.len() - 1).collect();
            let rows = shared.forward(x, batch, &ends)?;
            Ok(rows.chunks(HIDDEN).map(<[f32]>::to_vec).collect())
        };
        let bits = |rows: &[Vec<f32>]| -> Vec<Vec<u32>> {
            rows.iter()
                .map(|row| row.iter().map(|x| x.to_bits()).collect())
                .collect()
        };
        assert!(expected.iter().flatten().all(|x| x.is_finite()));
        for threads in [4, 1] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let found = pool
                .build()
                .unwrap()
                .install(|| in_batches(&texts, compute))
                .unwrap();
            assert_eq!(bits(&found), bits(&expected), "{threads} threads");
        }
        // on one thread all texts are one batch, and the long ones differ in their last token
        assert_eq!(longest.into_inner(), 76);
    }

    #[test]
    fn batches_have_the_rows_of_a_common_beginning_once() {
        let texts: [&[u32]; 4] = [&[0, 1, 2], &[0, 1, 2, 3], &[0, 1, 4], &[5]];
        let batch = Batch::of(&texts);
        let paths: Vec<&[usize]> = batch.texts.iter().map(|t| t.path.as_slice()).collect();
        let expected: [&[usize]; 4] = [&[0, 1, 2], &[0, 1, 2, 3], &[0, 1, 4], &[5]];
        assert_eq!(paths, expected);
        let shared: Vec<usize> = batch.texts.iter().map(|t| t.shared).collect();
        assert_eq!(shared, [0, 3, 2, 0]);
        assert_eq!(batch.rows, 6);
        let counts = |rows| -> Vec<usize> { parts(&texts, rows).iter().map(|p| p.len()).collect() };
        assert_eq!(counts(1), [1, 1, 1, 1]);
        assert_eq!(counts(4), [2, 2]);
        assert_eq!(counts(100), [4]);
    }
}
