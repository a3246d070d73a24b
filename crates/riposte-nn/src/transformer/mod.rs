//! Transformer encoders: encoders of texts and the two towers of CLIP, described once and computed by any backend.
//!
//! The description is the configuration, the names of the tensors and what happens before and after the encoder's layers ([`text`], [`clip`]). A
//! backend computes the layers: this crate's own, with packed matrices on a CPU, or one that the caller gives ([`Layers`]), on a GPU, say.

mod attention;
pub mod bert;
pub mod calibration;
pub mod clip;
mod coarse;
pub(crate) mod family;
pub mod kept;
mod linear;
mod mpnet;
pub(crate) mod packed;
mod prefixes;
mod relative;
mod roberta;
mod source;
pub mod text;

use rayon::prelude::*;
use serde::Deserialize;

pub use linear::LinearLayer;
pub use relative::RelativeBias;
pub use source::TensorSource;

use kept::LayerCache;

use crate::checkpoint::ExpectedTensor;
use crate::conv::quantised::Int8Weights;
use crate::conv::{Numeric, NumericMode};
use crate::error::{Error, Result, ensure};
use crate::limits::{MAX_LAYERS, MAX_SIZE};

/// The code that computes an encoder. The results of the backends agree within 1e-4, except in int8.
#[derive(Clone, Copy, Debug, Default)]
pub enum EncoderBackend {
    /// Packed matrices on the CPU, in int8 as far as the machine and the model allow.
    #[default]
    Auto,
    /// As [`EncoderBackend::Auto`], in floats on every machine.
    Float,
    /// Layers that this function makes, in floats.
    Given(NewLayers),
}

/// Makes the layers of an encoder from its configuration and their weights, the first layer first.
pub type NewLayers = fn(
    &EncoderConfig,
    &mut dyn Iterator<Item = Result<Layer<Vec<f32>>>>,
) -> Result<Box<dyn Layers>>;

/// The layers of an encoder, computed by other code than this crate's ([`EncoderBackend::Given`]).
pub trait Layers: Send + Sync {
    /// Maps the rows (tokens, hidden) of sequences of these lengths, one sequence after another, to the last layer's rows.
    ///
    /// # Errors
    /// The computation fails.
    fn forward(
        &self,
        x: Vec<f32>,
        lengths: &[usize],
        rows: WantedRows,
        attention: Attention,
    ) -> Result<Vec<f32>>;

    /// The number of tokens that a batch should have at most. Batches are computed one after another.
    fn batch_tokens(&self) -> usize;
}

impl EncoderBackend {
    /// The backend for a mode of numbers.
    pub fn of(mode: NumericMode) -> EncoderBackend {
        match mode {
            NumericMode::Auto => EncoderBackend::Auto,
            NumericMode::Float => EncoderBackend::Float,
        }
    }
}

/// `hidden_act`: the activation function of the MLP.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// x · Φ(x), computed with the error function.
    Gelu,
    /// x · sigmoid(1.702 x), with which OpenAI trained CLIP.
    QuickGelu,
}

/// Where the layer norms are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NormOrder {
    /// Before attention and MLP (CLIP).
    Before,
    /// After the residual sums of attention and MLP (BERT).
    After,
}

/// The part of `config.json` that describes an encoder.
#[derive(Clone, Debug)]
pub struct EncoderConfig {
    /// The length of a token's row.
    pub hidden: usize,
    /// The number of attention heads, which divides `hidden`.
    pub heads: usize,
    /// The number of units between the two linear layers of each MLP.
    pub intermediate: usize,
    /// The number of layers.
    pub layers: usize,
    /// The epsilon of the layer norms.
    pub epsilon: f64,
    /// The activation between the two linear layers of each MLP.
    pub activation: Activation,
    /// Where the layer norms are.
    pub norms: NormOrder,
}

impl EncoderConfig {
    /// The width of an attention head.
    pub fn head_width(&self) -> usize {
        self.hidden / self.heads
    }

    /// Refuses sizes that no model has, before anything is allocated or divided by them.
    ///
    /// # Errors
    /// A size is out of range; the message names it.
    pub fn check(&self) -> Result<()> {
        check_size("hidden_size", self.hidden)?;
        check_size("num_attention_heads", self.heads)?;
        check_size("intermediate_size", self.intermediate)?;
        ensure!(
            (1..=MAX_LAYERS).contains(&self.layers),
            Model,
            "num_hidden_layers is {}: expected 1 to {MAX_LAYERS}",
            self.layers
        );
        ensure!(
            self.hidden.is_multiple_of(self.heads),
            Model,
            "hidden_size {} is not a multiple of num_attention_heads {}",
            self.hidden,
            self.heads
        );
        Ok(())
    }
}

/// Refuses a size that no model has.
///
/// # Errors
/// It is out of range; the message has the name.
pub fn check_size(name: &str, value: usize) -> Result<()> {
    ensure!(
        (1..=MAX_SIZE).contains(&value),
        Model,
        "{name} is {value}: expected 1 to {MAX_SIZE}"
    );
    Ok(())
}

/// The names of a layer's parts in a checkpoint, relative to the layer.
#[derive(Clone, Copy)]
pub struct LayerNames {
    /// The common name of all layers; `.N.` follows.
    pub layers: &'static str,
    /// The linear layer of the queries, (hidden, hidden).
    pub query: &'static str,
    /// The linear layer of the keys, (hidden, hidden).
    pub key: &'static str,
    /// The linear layer of the values, (hidden, hidden).
    pub value: &'static str,
    /// The linear layer after the attention, (hidden, hidden).
    pub output: &'static str,
    /// The layer norm of the attention.
    pub attention_norm: &'static str,
    /// The first linear layer of the MLP, (intermediate, hidden).
    pub up: &'static str,
    /// The second linear layer of the MLP, (hidden, intermediate).
    pub down: &'static str,
    /// The layer norm of the MLP.
    pub mlp_norm: &'static str,
}

/// The weights and biases of a linear layer, or the scales and shifts of a layer norm.
pub struct Affine<T> {
    /// Linear layer: (out, in), as PyTorch stores it. Norm: (hidden).
    pub weight: T,
    /// (out) or (hidden)
    pub bias: T,
}

/// One layer of an encoder, with weights in the form that a backend needs.
pub struct Layer<T> {
    /// The linear layer of the queries, (hidden, hidden).
    pub query: Affine<T>,
    /// The linear layer of the keys, (hidden, hidden).
    pub key: Affine<T>,
    /// The linear layer of the values, (hidden, hidden).
    pub value: Affine<T>,
    /// The linear layer after the attention, (hidden, hidden).
    pub output: Affine<T>,
    /// The layer norm of the attention.
    pub attention_norm: Affine<T>,
    /// The first linear layer of the MLP, (intermediate, hidden).
    pub up: Affine<T>,
    /// The second linear layer of the MLP, (hidden, intermediate).
    pub down: Affine<T>,
    /// The layer norm of the MLP.
    pub mlp_norm: Affine<T>,
}

impl<T> Layer<T> {
    /// Makes layer `n` with a function that reads a tensor by its full name.
    ///
    /// # Errors
    /// `read` fails.
    pub fn read<E>(
        names: &LayerNames,
        n: usize,
        mut read: impl FnMut(&str) -> Result<T, E>,
    ) -> Result<Self, E> {
        let mut part = |part: &str| affine(&format!("{}.{n}.{part}", names.layers), &mut read);
        Ok(Layer {
            query: part(names.query)?,
            key: part(names.key)?,
            value: part(names.value)?,
            output: part(names.output)?,
            attention_norm: part(names.attention_norm)?,
            up: part(names.up)?,
            down: part(names.down)?,
            mlp_norm: part(names.mlp_norm)?,
        })
    }
}

fn affine<T, E>(name: &str, read: &mut impl FnMut(&str) -> Result<T, E>) -> Result<Affine<T>, E> {
    Ok(Affine {
        weight: read(&format!("{name}.weight"))?,
        bias: read(&format!("{name}.bias"))?,
    })
}

/// The tensors that an encoder needs, with their shapes.
pub fn expected_tensors(config: &EncoderConfig, names: &LayerNames) -> Vec<ExpectedTensor> {
    let (hidden, intermediate) = (config.hidden, config.intermediate);
    let mut all = Vec::new();
    for n in 0..config.layers {
        for (part, shape) in [
            (names.query, vec![hidden, hidden]),
            (names.key, vec![hidden, hidden]),
            (names.value, vec![hidden, hidden]),
            (names.output, vec![hidden, hidden]),
            (names.attention_norm, vec![hidden]),
            (names.up, vec![intermediate, hidden]),
            (names.down, vec![hidden, intermediate]),
            (names.mlp_norm, vec![hidden]),
        ] {
            let name = format!("{}.{n}.{part}", names.layers);
            all.extend(expected_affine(&name, shape));
        }
    }
    all
}

/// The two tensors of a linear layer (out, in) or a layer norm (hidden).
pub fn expected_affine(name: &str, shape: Vec<usize>) -> [ExpectedTensor; 2] {
    let bias = shape.iter().take(1).copied().collect();
    [
        (format!("{name}.weight"), shape),
        (format!("{name}.bias"), bias),
    ]
}

/// Which tokens see which.
#[derive(Clone, Copy, Debug)]
pub enum Attention<'a> {
    /// Each token sees all tokens of its sequence.
    Full,
    /// Each token sees itself and earlier tokens.
    Causal,
    /// Each token sees all tokens of its sequence, and the score of a token depends also on how far away it is.
    Relative(&'a RelativeBias),
}

/// The rows of the last layer that are wanted.
#[derive(Clone, Copy, Debug)]
pub enum WantedRows<'a> {
    /// All rows, one sequence after another.
    All,
    /// One row of each sequence, by its position in the sequence.
    OneEach(&'a [usize]),
}

/// The layers of a model, by one of the backends.
enum EncoderLayers {
    Packed(packed::PackedEncoder),
    Given(Box<dyn Layers>),
}

impl EncoderLayers {
    /// If `backend` allows int8, the packed backend takes the layers that are kept. If there are none, the rows of `calibration` decide how it is
    /// quantised, and are replaced by the last layer's rows in floats.
    fn read(
        config: &EncoderConfig,
        names: &LayerNames,
        source: &impl TensorSource,
        backend: EncoderBackend,
        calibration: Option<&mut packed::CalibrationRows>,
        keep: Option<&dyn LayerCache>,
    ) -> Result<Self> {
        let mut layers =
            (0..config.layers).map(|n| Layer::read(names, n, |name| source.tensor(name)));
        match backend {
            EncoderBackend::Given(new) => Ok(EncoderLayers::Given(new(config, &mut layers)?)),
            EncoderBackend::Auto | EncoderBackend::Float => {
                let int8 = matches!(backend, EncoderBackend::Auto) && Int8Weights::are_available();
                let calibration = calibration.filter(|_| int8);
                let keep = keep.filter(|_| int8);
                if let Some(bytes) = keep.and_then(LayerCache::get)
                    && let Ok(encoder) = packed::PackedEncoder::of_bytes(config, &bytes)
                {
                    return Ok(EncoderLayers::Packed(encoder));
                }
                let encoder = packed::PackedEncoder::new(config, layers, calibration)?;
                if let Some(keep) = keep
                    && let Some(bytes) = encoder.to_bytes()
                {
                    keep.put(&bytes);
                }
                Ok(EncoderLayers::Packed(encoder))
            }
        }
    }

    /// Whether any product is computed in int8.
    fn numeric(&self) -> Numeric {
        match self {
            EncoderLayers::Packed(encoder) => encoder.numeric(),
            EncoderLayers::Given(_) => Numeric::Float,
        }
    }

    /// Maps the rows (tokens, hidden) of sequences of these lengths, one sequence after another, to the last layer's rows.
    fn forward(
        &self,
        x: Vec<f32>,
        lengths: &[usize],
        rows: WantedRows,
        attention: Attention,
    ) -> Result<Vec<f32>> {
        match self {
            EncoderLayers::Packed(encoder) => {
                encoder.forward(x, &packed::Sequence::of(lengths), rows, attention)
            }
            EncoderLayers::Given(layers) => layers.forward(x, lengths, rows, attention),
        }
    }

    /// Calls `compute` with batches of the sequences' numbers and returns its results in the order of the sequences. The packed backend
    /// takes small batches, which fit into the caches, on all threads; a given one takes batches of its size, one after another.
    ///
    /// Long sequences come first, and the last batches are smaller, so that all threads finish at about the same time. Sequences of similar length
    /// are in one batch.
    fn in_batches<T: Send, E: From<Error> + Send>(
        &self,
        lengths: &[usize],
        compute: impl Fn(&[usize]) -> Result<Vec<T>, E> + Sync,
    ) -> Result<Vec<T>, E> {
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|&n| std::cmp::Reverse(lengths[n]));
        let results: Vec<Vec<T>> = match self {
            EncoderLayers::Packed(encoder) => {
                let (threads, least) = (rayon::current_num_threads(), encoder.least_batch_tokens());
                let batches = batches_for_threads(&order, lengths, threads, least);
                // a thread takes the next batch when it has finished one; a parallel iterator over the list would begin in several places of it
                let numbered = batches.into_iter().enumerate().par_bridge();
                let results = numbered.map(|(n, batch)| Ok((n, compute(batch)?)));
                let mut results = results.collect::<Result<Vec<_>, E>>()?;
                results.sort_by_key(|(n, _)| *n);
                results.into_iter().map(|(_, results)| results).collect()
            }
            EncoderLayers::Given(layers) => {
                let tokens = layers.batch_tokens();
                let batches = batches(&order, lengths, usize::MAX, |_| tokens);
                let results = batches.iter().map(|batch| compute(batch));
                results.collect::<Result<_, E>>()?
            }
        };
        Ok(in_order(order, results)?)
    }
}

/// The results of batches in the order of the inputs; `order` has the positions of the inputs in the order of the batches.
fn in_order<T>(order: Vec<usize>, batches: Vec<Vec<T>>) -> Result<Vec<T>> {
    let count = order.len();
    let results = batches.into_iter().flatten();
    let mut results: Vec<(usize, T)> = order.into_iter().zip(results).collect();
    results.sort_by_key(|(n, _)| *n);
    ensure!(results.len() == count, Input, "a result is missing");
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Batches of the packed backend for this number of threads. They get smaller towards the end, down to about `least` tokens.
fn batches_for_threads<'o>(
    order: &'o [usize],
    lengths: &[usize],
    threads: usize,
    least: usize,
) -> Vec<&'o [usize]> {
    // few sequences are divided evenly among the threads
    let share = order.len().div_ceil(threads).max(1);
    batches(order, lengths, share, |left| match threads {
        1 => packed::BATCH_TOKENS,
        _ => (left / (2 * threads)).clamp(least, packed::BATCH_TOKENS),
    })
}

/// Cuts `order` into batches of at most `max_count` sequences, and of at most as many tokens as `max_tokens` says for the number of tokens that are left. A
/// single longer sequence is a batch.
fn batches<'o>(
    order: &'o [usize],
    lengths: &[usize],
    max_count: usize,
    max_tokens: impl Fn(usize) -> usize,
) -> Vec<&'o [usize]> {
    let mut batches = Vec::new();
    let mut rest = order;
    let mut left: usize = order.iter().map(|&n| lengths[n]).sum();
    while !rest.is_empty() {
        let most = max_tokens(left);
        let mut tokens = 0;
        let fits = |n: &&usize| {
            tokens += lengths[**n];
            tokens <= most
        };
        let count = rest.iter().take_while(fits).take(max_count).count();
        let (batch, others) = rest.split_at(count.max(1));
        left -= batch.iter().map(|&n| lengths[n]).sum::<usize>();
        batches.push(batch);
        rest = others;
    }
    batches
}

/// A row of an embedding table whose rows have `width` numbers; `None` if the table has no such row.
fn row(table: &[f32], width: usize, n: usize) -> Option<&[f32]> {
    table.get(n.checked_mul(width)?..n.checked_add(1)?.checked_mul(width)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_batches_are_small_so_that_threads_finish_together() {
        let lengths = [40; 100];
        let order: Vec<usize> = (0..lengths.len()).rev().collect();
        for threads in [1, 2, 8, 64] {
            let batches = batches_for_threads(&order, &lengths, threads, 96);
            assert_eq!(batches.concat(), order);
            let counts: Vec<usize> = batches.iter().map(|batch| batch.len()).collect();
            assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
            // of 4,000 tokens, a batch has at most 480, or half of what is left for each thread, but 96 at least
            let first = match threads {
                1 | 2 => 12,
                8 => 6,
                _ => 2,
            };
            assert_eq!(counts[0], first, "{threads} threads");
            let last = counts[counts.len() - 1];
            assert!(last <= 2 || threads == 1, "{threads} threads: {counts:?}");
        }
        // batches of one size, as for a large model
        let same = batches_for_threads(&order, &lengths, 2, packed::BATCH_TOKENS);
        assert!(same[..8].iter().all(|batch| batch.len() == 12));
        // two sequences on two threads, and one that is longer than any batch
        assert_eq!(batches_for_threads(&[1, 0], &[5, 5], 2, 96), [[1], [0]]);
        assert_eq!(batches_for_threads(&[0], &[2000], 2, 96), [[0]]);
        assert!(batches_for_threads(&[], &[], 2, 96).is_empty());
    }
}
