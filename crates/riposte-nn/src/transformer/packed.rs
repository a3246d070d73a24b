//! The packed backend: an encoder on the CPU.
//!
//! Sequences lie one after another without padding, and each one attends only to itself. Matrix products are those of the convolution runtime
//! ([`LinearLayer`]), softmax and activations come from rten, the runtime of the OCR engine; all use the widest instructions that the machine has. In the
//! last layer, only the wanted rows are computed.

use std::cell::RefCell;

use rten_simd::{Isa, SimdOp, SimdUnaryOp};
use rten_vecmath::{Gelu, Swish};

use super::attention::AttentionHead;
use super::kept::{CachedTensors, PackedTensors};
use super::linear::LinearLayer;
use super::{
    Activation, Affine, Attention, EncoderConfig, NormOrder, TensorSource, WantedRows, coarse,
};
use crate::conv::{Buffer, BufferPool, Numeric};
use crate::error::{Result, ensure};

/// Maximum number of tokens in a batch. Larger batches do not make the matrix products faster, and do not fit into the caches.
pub(super) const BATCH_TOKENS: usize = 480;
/// About how many tokens the last batches have, so that all threads finish together, if a layer's weights fit into the second-level cache. Smaller batches
/// would make the products slower, which read the weights once for each 96 rows.
const LEAST_BATCH_TOKENS: usize = 96;
/// Maximum size of a layer's weights, in bytes, for these small batches: a common size of that cache. Larger layers are read from memory again for each batch:
/// with small batches, the image tower of CLIP ViT-B/32 takes 1.5 times as long.
const CACHED_WEIGHTS: usize = 2 << 20;

thread_local! {
    /// Allocating and freeing memory in each layer would take longer than a small layer itself. A thread runs no other task while it computes an
    /// encoder, so nothing else borrows its buffers.
    static BUFFERS: RefCell<BufferPool> = RefCell::default();
}

/// The layers of a model.
pub(super) struct PackedEncoder {
    config: EncoderConfig,
    layers: Vec<PackedLayer>,
}

struct PackedLayer {
    /// The weights and the bias are already divided by √(head width).
    query: LinearLayer,
    key_and_value: LinearLayer,
    output: LinearLayer,
    attention_norm: LayerNorm,
    up: LinearLayer,
    down: LinearLayer,
    mlp_norm: LayerNorm,
}

/// A layer norm.
pub(crate) struct LayerNorm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl LayerNorm {
    fn of(affine: Affine<Vec<f32>>, epsilon: f64) -> Self {
        LayerNorm {
            weight: affine.weight,
            bias: affine.bias,
            epsilon: epsilon as f32,
        }
    }

    /// Reads the layer norm of that name.
    ///
    /// # Errors
    /// `source` fails.
    pub fn read(source: &impl TensorSource, name: &str, epsilon: f64) -> Result<Self> {
        let affine = super::affine(name, &mut |name| source.tensor(name))?;
        Ok(LayerNorm::of(affine, epsilon))
    }

    /// Normalises each row in place.
    pub fn forward(&self, x: &mut [f32]) {
        let (norm, other) = (self, None);
        Normalise { norm, x, other }.dispatch();
    }

    /// Adds `other` to `x`, and normalises each row of the sum.
    fn forward_sum(&self, x: &mut [f32], other: &[f32]) {
        let (norm, other) = (self, Some(other));
        Normalise { norm, x, other }.dispatch();
    }
}

/// A layer norm of rows, to which other rows are added first. It is a [`SimdOp`] so that the compiler uses the machine's widest vectors; the order of the
/// sums is the same for all widths.
struct Normalise<'a> {
    norm: &'a LayerNorm,
    x: &'a mut [f32],
    other: Option<&'a [f32]>,
}

impl SimdOp for Normalise<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        let LayerNorm {
            weight,
            bias,
            epsilon,
        } = self.norm;
        let width = weight.len();
        for (n, row) in self.x.chunks_mut(width).enumerate() {
            if let Some(other) = self.other {
                add(row, &other[n * width..]);
            }
            let mean = sum(row, |x| x) / width as f32;
            let variance = sum(row, |x| (x - mean) * (x - mean)) / width as f32;
            let scale = (variance + epsilon).sqrt().recip();
            for ((x, w), b) in row.iter_mut().zip(weight).zip(bias) {
                *x = (*x - mean) * scale * w + b;
            }
        }
    }
}

/// Adds `other` to `x`.
#[inline(always)]
pub(crate) fn add(x: &mut [f32], other: &[f32]) {
    x.iter_mut().zip(other).for_each(|(x, other)| *x += other);
}

/// The sum of `of` over a row, in sixteen lanes, which the compiler turns into vector instructions.
#[inline(always)]
fn sum(row: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0f32; 16];
    let (parts, rest) = row.as_chunks::<16>();
    for part in parts {
        for (lane, x) in lanes.iter_mut().zip(part) {
            *lane += of(*x);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|x| of(*x)).sum::<f32>()
}

/// The greatest absolute values of the inputs of a layer's products, which decide how they are quantised.
struct Ranges {
    /// The inputs of the queries, keys and values, (hidden)
    attention: Vec<f32>,
    /// The inputs of the linear layer after the attention, (hidden)
    output: Vec<f32>,
    /// The inputs of the first layer of the MLP, (hidden)
    up: Vec<f32>,
    /// The inputs of the second layer of the MLP, (intermediate)
    down: Vec<f32>,
}

impl Ranges {
    fn new(config: &EncoderConfig) -> Ranges {
        let [attention, output, up] = [(); 3].map(|()| vec![0.0; config.hidden]);
        Ranges {
            attention,
            output,
            up,
            down: vec![0.0; config.intermediate],
        }
    }

    /// Widens the ranges to include the numbers in these rows.
    fn widen(ranges: &mut [f32], rows: &[f32]) {
        for row in rows.chunks(ranges.len()) {
            for (range, x) in ranges.iter_mut().zip(row) {
                *range = range.max(x.abs());
            }
        }
    }

    /// Rounds the ranges up to eighths of a power of two, so that machines whose floats differ in the last bits quantise in the same way.
    fn rounded(mut self) -> Ranges {
        for range in [
            &mut self.attention,
            &mut self.output,
            &mut self.up,
            &mut self.down,
        ] {
            for x in range.iter_mut().filter(|x| x.is_normal()) {
                *x = ((x.log2() * 8.0).ceil() / 8.0).exp2();
            }
        }
        self
    }
}

fn linear(affine: &Affine<Vec<f32>>) -> Result<LinearLayer> {
    LinearLayer::new(&affine.weight, affine.bias.len(), Some(&affine.bias))
}

/// Values are clipped at this multiple of the row's RMS, after a norm and after the attention.
const CLIP: f32 = 3.5;
/// The same after the activation of an MLP. Without clipping, the vectors of all-mpnet-base-v2 are nearly twice as far from those in floats; with
/// smaller multiples they are hardly nearer, and the products take longer.
const CLIP_AFTER_ACTIVATION: f32 = 4.0;

impl PackedLayer {
    /// The linear layers, with the names under which they are kept.
    fn linears(&self) -> [(&'static str, &LinearLayer); 5] {
        [
            ("query", &self.query),
            ("key_and_value", &self.key_and_value),
            ("output", &self.output),
            ("up", &self.up),
            ("down", &self.down),
        ]
    }

    /// The layer norms, with the names under which they are kept.
    fn norms(&self) -> [(&'static str, &LayerNorm); 2] {
        [
            ("attention_norm", &self.attention_norm),
            ("mlp_norm", &self.mlp_norm),
        ]
    }

    /// Packs a layer. `calibration` has rows of the input, which decide how the layer is quantised, and are then replaced by the layer's output; None
    /// leaves the layer in floats.
    fn new(
        config: &EncoderConfig,
        layer: super::Layer<Vec<f32>>,
        calibration: Option<&mut CalibrationRows>,
    ) -> Result<Self> {
        let scale = (config.head_width() as f32).powf(-0.5);
        let mut query = layer.query;
        let numbers = query.weight.iter_mut().chain(&mut query.bias);
        numbers.for_each(|x| *x *= scale);
        let mut key_and_value = layer.key;
        key_and_value.weight.extend(layer.value.weight);
        key_and_value.bias.extend(layer.value.bias);
        let packed = PackedLayer {
            query: linear(&query)?,
            key_and_value: linear(&key_and_value)?,
            output: linear(&layer.output)?,
            attention_norm: LayerNorm::of(layer.attention_norm, config.epsilon),
            up: linear(&layer.up)?,
            down: linear(&layer.down)?,
            mlp_norm: LayerNorm::of(layer.mlp_norm, config.epsilon),
        };
        let Some(calibration) = calibration else {
            return Ok(packed);
        };
        let mut ranges = Ranges::new(config);
        let step = LayerPass {
            config,
            layer: &packed,
            sequences: &calibration.sequences,
            positions: None,
            attention: calibration.attention,
        };
        let rows = step.run(
            &calibration.rows,
            &mut BufferPool::default(),
            Some(&mut ranges),
        )?;
        calibration.rows = rows.to_vec();
        let ranges = ranges.rounded();
        let int8 = |affine: &Affine<Vec<f32>>, ranges: &[f32], limit| {
            let bias = Some(affine.bias.as_slice());
            LinearLayer::in_int8(&affine.weight, affine.bias.len(), bias, ranges, limit)
        };
        // all or none, so that a model computes either in int8 or in floats
        let (Some(query), Some(key_and_value), Some(output), Some(up), Some(down)) = (
            int8(&query, &ranges.attention, CLIP)?,
            int8(&key_and_value, &ranges.attention, CLIP)?,
            int8(&layer.output, &ranges.output, CLIP)?,
            int8(&layer.up, &ranges.up, CLIP)?,
            int8(&layer.down, &ranges.down, CLIP_AFTER_ACTIVATION)?,
        ) else {
            return Ok(packed);
        };
        Ok(PackedLayer {
            query,
            key_and_value,
            output,
            up,
            down,
            ..packed
        })
    }
}

/// Sequences that decide how an encoder is quantised.
pub(super) struct CalibrationRows<'a> {
    /// (tokens, hidden): the input of the first layer; afterwards, the output of the last layer in floats.
    pub rows: Vec<f32>,
    pub sequences: Vec<Sequence>,
    pub attention: Attention<'a>,
}

/// Where the rows of a sequence are in its batch. A sequence begins with rows that it shares with earlier sequences; its own rows follow. A batch has
/// each row once: the rows of the first sequence, then those that the second adds, and so on. Rows can be shared only if no row sees a later one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sequence {
    /// The numbers of the shared rows.
    pub shared: Vec<usize>,
    /// The number of own rows.
    pub own: usize,
}

impl Sequence {
    /// Sequences of these lengths that share nothing.
    pub fn of(lengths: &[usize]) -> Vec<Sequence> {
        let alone = |&own: &usize| Sequence {
            shared: Vec::new(),
            own,
        };
        lengths.iter().map(alone).collect()
    }

    fn len(&self) -> usize {
        self.shared.len() + self.own
    }

    /// The number of the row at a position, if own rows begin with number `first`.
    fn row(&self, position: usize, first: usize) -> Result<usize> {
        ensure!(
            position < self.len(),
            Input,
            "a sequence of {} tokens has no row {position}",
            self.len()
        );
        let shared = self.shared.get(position).copied();
        Ok(shared.unwrap_or_else(|| first + position - self.shared.len()))
    }
}

impl PackedEncoder {
    /// Packs the layers, which have the sizes of `config`. With calibration rows, the products of attention and MLP with weights are computed in
    /// int8, if the machine has instructions for it.
    ///
    /// # Errors
    /// A layer cannot be read, or has other sizes.
    pub(super) fn new(
        config: &EncoderConfig,
        layers: impl Iterator<Item = Result<super::Layer<Vec<f32>>>>,
        mut calibration: Option<&mut CalibrationRows>,
    ) -> Result<Self> {
        Ok(PackedEncoder {
            layers: layers
                .map(|layer| PackedLayer::new(config, layer?, calibration.as_deref_mut()))
                .collect::<Result<_>>()?,
            config: config.clone(),
        })
    }

    /// The layers as bytes ([`super::kept`]); `None` unless all of them are computed in int8.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut parts = PackedTensors::default();
        for (n, layer) in self.layers.iter().enumerate() {
            for (name, linear) in layer.linears() {
                linear
                    .keep(&format!("{n}.{name}"), &mut parts)
                    .then_some(())?;
            }
            for (name, norm) in layer.norms() {
                parts.add_floats(format!("{n}.{name}.weight"), &norm.weight);
                parts.add_floats(format!("{n}.{name}.bias"), &norm.bias);
            }
        }
        parts.to_bytes().ok()
    }

    /// The layers that [`PackedEncoder::to_bytes`] made bytes of, on a machine with the same instructions.
    ///
    /// # Errors
    /// They have other sizes than the configuration.
    pub(super) fn of_bytes(config: &EncoderConfig, bytes: &[u8]) -> Result<Self> {
        let parts = CachedTensors::read(bytes)?;
        let (hidden, inner) = (config.hidden, config.intermediate);
        let layer = |n: usize| {
            let linear = |name: &str, width, out| {
                LinearLayer::kept(&format!("{n}.{name}"), width, out, &parts)
            };
            let norm = |name: &str| -> Result<LayerNorm> {
                Ok(LayerNorm {
                    weight: parts.floats(&format!("{n}.{name}.weight"), hidden)?,
                    bias: parts.floats(&format!("{n}.{name}.bias"), hidden)?,
                    epsilon: config.epsilon as f32,
                })
            };
            Ok(PackedLayer {
                query: linear("query", hidden, hidden)?,
                key_and_value: linear("key_and_value", hidden, 2 * hidden)?,
                output: linear("output", hidden, hidden)?,
                attention_norm: norm("attention_norm")?,
                up: linear("up", hidden, inner)?,
                down: linear("down", inner, hidden)?,
                mlp_norm: norm("mlp_norm")?,
            })
        };
        Ok(PackedEncoder {
            layers: (0..config.layers).map(layer).collect::<Result<_>>()?,
            config: config.clone(),
        })
    }

    /// Whether any product is computed in int8.
    pub(super) fn numeric(&self) -> Numeric {
        let layers = self.layers.iter().map(|layer| layer.query.numeric());
        layers.max().unwrap_or(Numeric::Float)
    }

    /// About how many tokens the last batches of many sequences should have.
    pub(super) fn least_batch_tokens(&self) -> usize {
        let EncoderConfig {
            hidden,
            intermediate,
            ..
        } = self.config;
        let weights = (4 * hidden).saturating_add(2 * intermediate);
        let bytes = match self.numeric() {
            Numeric::Int8 => 1,
            Numeric::Float => size_of::<f32>(),
        };
        if weights.saturating_mul(hidden).saturating_mul(bytes) <= CACHED_WEIGHTS {
            LEAST_BATCH_TOKENS
        } else {
            BATCH_TOKENS
        }
    }

    /// As [`super::EncoderLayers::forward`].
    pub(super) fn forward(
        &self,
        x: Vec<f32>,
        sequences: &[Sequence],
        rows: WantedRows,
        attention: Attention,
    ) -> Result<Vec<f32>> {
        BUFFERS.with_borrow_mut(|pool| {
            let mut x = Buffer::copy_of(&x);
            for (n, layer) in self.layers.iter().enumerate() {
                let positions = match rows {
                    WantedRows::OneEach(positions) if n + 1 == self.layers.len() => Some(positions),
                    _ => None,
                };
                let step = LayerPass {
                    config: &self.config,
                    layer,
                    sequences,
                    positions,
                    attention,
                };
                let next = step.run(&x, pool, None)?;
                pool.give_back(std::mem::replace(&mut x, next));
            }
            let rows = x.to_vec();
            pool.give_back(x);
            Ok(rows)
        })
    }
}

/// A layer, and the sequences that it is computed for.
struct LayerPass<'a> {
    config: &'a EncoderConfig,
    layer: &'a PackedLayer,
    sequences: &'a [Sequence],
    /// The position in each sequence of the row that is wanted; all rows if None.
    positions: Option<&'a [usize]>,
    attention: Attention<'a>,
}

impl LayerPass<'_> {
    /// The layer's output for rows (tokens, hidden). `ranges` are widened to include the inputs of its products.
    fn run(
        &self,
        x: &[f32],
        pool: &mut BufferPool,
        mut ranges: Option<&mut Ranges>,
    ) -> Result<Buffer> {
        let layer = self.layer;
        let mut normed = None;
        if self.config.norms == NormOrder::Before {
            let mut rows = pool.copy(x);
            layer.attention_norm.forward(&mut rows);
            normed = Some(rows);
        }
        let input = normed.as_deref().unwrap_or(x);
        if let Some(ranges) = &mut ranges {
            Ranges::widen(&mut ranges.attention, input);
        }
        let mixed = self.attend(input, pool)?;
        if let Some(rows) = normed {
            pool.give_back(rows);
        }
        if let Some(ranges) = &mut ranges {
            Ranges::widen(&mut ranges.output, &mixed);
        }
        let mut out = layer.output.forward_with(&mixed, pool)?;
        pool.give_back(mixed);
        let chosen = self.chosen(x, pool)?;
        let before = chosen.as_deref().unwrap_or(x);
        let mlp = match self.config.norms {
            NormOrder::After => {
                layer.attention_norm.forward_sum(&mut out, before);
                let mut mlp = self.mlp(&out, pool, ranges)?;
                layer.mlp_norm.forward_sum(&mut mlp, &out);
                mlp
            }
            NormOrder::Before => {
                add(&mut out, before);
                let mut normed = pool.copy(&out);
                layer.mlp_norm.forward(&mut normed);
                let mut mlp = self.mlp(&normed, pool, ranges)?;
                pool.give_back(normed);
                add(&mut mlp, &out);
                mlp
            }
        };
        if let Some(rows) = chosen {
            pool.give_back(rows);
        }
        pool.give_back(out);
        Ok(mlp)
    }

    fn mlp(
        &self,
        x: &[f32],
        pool: &mut BufferPool,
        mut ranges: Option<&mut Ranges>,
    ) -> Result<Buffer> {
        if let Some(ranges) = &mut ranges {
            Ranges::widen(&mut ranges.up, x);
        }
        let mut inner = self.layer.up.forward_with(x, pool)?;
        match self.config.activation {
            Activation::Gelu if self.layer.down.numeric() == Numeric::Int8 => {
                coarse::Gelu.map_mut(&mut inner);
            }
            Activation::Gelu => Gelu {}.map_mut(&mut inner),
            Activation::QuickGelu => Swish { alpha: 1.702 }.map_mut(&mut inner),
        }
        if let Some(ranges) = ranges {
            Ranges::widen(&mut ranges.down, &inner);
        }
        let out = self.layer.down.forward_with(&inner, pool);
        pool.give_back(inner);
        out
    }

    /// The wanted rows of (tokens, hidden). None if all are wanted.
    fn chosen(&self, rows: &[f32], pool: &mut BufferPool) -> Result<Option<Buffer>> {
        let Some(positions) = self.positions else {
            return Ok(None);
        };
        let hidden = self.config.hidden;
        let mut chosen = pool.take(self.sequences.len() * hidden);
        let mut at = 0;
        let sequences = self.sequences.iter().zip(positions);
        for ((sequence, position), to) in sequences.zip(chosen.chunks_mut(hidden)) {
            let row = sequence.row(*position, at)?;
            to.copy_from_slice(&rows[row * hidden..(row + 1) * hidden]);
            at += sequence.own;
        }
        Ok(Some(chosen))
    }

    /// The attention's weighted sums of the values, for the wanted rows of `x`.
    fn attend(&self, x: &[f32], pool: &mut BufferPool) -> Result<Buffer> {
        let (hidden, heads) = (self.config.hidden, self.config.heads);
        let width = hidden / heads;
        let key_and_value = self.layer.key_and_value.forward_with(x, pool)?;
        let wanted = self.chosen(x, pool)?;
        let queries = wanted.as_deref().unwrap_or(x);
        let query = self.layer.query.forward_with(queries, pool)?;
        // each of its numbers is written below
        let mut mixed = match wanted {
            Some(rows) => rows,
            None => pool.take(x.len()),
        };
        // the first rows of the sequence among the keys, and among the queries
        let (mut at, mut query_at) = (0, 0);
        for (n, sequence) in self.sequences.iter().enumerate() {
            let position = self.positions.map(|positions| positions[n]);
            let queries = if position.is_some() { 1 } else { sequence.own };
            if queries == 0 {
                // the sequence repeats another one; after the last row, there is no place of its own either
                continue;
            }
            let own = &key_and_value[at * 2 * hidden..(at + sequence.own) * 2 * hidden];
            let mut gathered = None;
            if !sequence.shared.is_empty() {
                let mut rows = pool.take(sequence.len() * 2 * hidden);
                let (shared, rest) = rows.split_at_mut(sequence.shared.len() * 2 * hidden);
                for (row, to) in sequence.shared.iter().zip(shared.chunks_mut(2 * hidden)) {
                    to.copy_from_slice(&key_and_value[row * 2 * hidden..(row + 1) * 2 * hidden]);
                }
                rest.copy_from_slice(own);
                gathered = Some(rows);
            }
            let keys = gathered.as_deref().unwrap_or(own);
            let first = position.unwrap_or(sequence.shared.len());
            for head in 0..heads {
                let offset = head * width;
                let from = query_at * hidden + offset;
                let (first_seen, bias) = match self.attention {
                    Attention::Full => (None, None),
                    Attention::Causal => (Some(first + 1), None),
                    Attention::Relative(bias) => {
                        let rows = bias.rows(head, first, queries, sequence.len())?;
                        (None, Some(rows))
                    }
                };
                AttentionHead {
                    query: &query[from..],
                    query_step: hidden,
                    queries,
                    key: &keys[offset..],
                    value: &keys[offset + hidden..],
                    key_step: 2 * hidden,
                    length: sequence.len(),
                    width,
                    first_seen,
                    bias,
                }
                .attend(self.layer.query.numeric(), &mut mixed[from..], pool);
            }
            if let Some(rows) = gathered {
                pool.give_back(rows);
            }
            at += sequence.own;
            query_at += queries;
        }
        pool.give_back(key_and_value);
        pool.give_back(query);
        Ok(mixed)
    }
}
