//! The stance encoder: a MiniLM that was fine-tuned to read a claim and a text together. Its outputs say whether the text supports the claim,
//! attacks it, or does neither; how good an argument the text is; and whether it is about the claim.
//!
//! `weights` fetches the published all-MiniLM-L6-v2. The changes by training are a part of riposte: `models/own/stance.safetensors`, made by
//! `train stance`. This file contains the differences of each matrix of the six layers, in steps of four bits with one scale for each 64
//! numbers; the biases and layer norms; and the head. This form is much smaller than the complete model. It can only be used with exactly the
//! file from which it was trained.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use half::f16;
use riposte_nn::checkpoint::{Checkpoint, EmbeddingTable, floats};
use riposte_nn::conv::Numeric;
use riposte_nn::tokens::{Input, Tokenizer};
use riposte_nn::transformer::bert::{BARE, BertConfig};
use riposte_nn::transformer::kept::LayerCache;
use riposte_nn::transformer::text::TextEncoder;
use riposte_nn::transformer::{EncoderBackend, LinearLayer, TensorSource, calibration};
use safetensors::tensor::{SafeTensors, TensorView};
use safetensors::{Dtype, serialize};
use sha2::{Digest, Sha256};

use crate::disk::hex;
use crate::limits::MAX_STANCE_TOKENS;

/// The classes of a pair, in the order of the logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StanceClass {
    /// The text attacks the claim.
    Con,
    /// The text supports the claim.
    Pro,
    /// The text neither attacks nor supports the claim.
    Neither,
}

/// The number of [`StanceClass`]es.
pub const CLASSES: usize = 3;

/// The logits of a pair, in the order of [`StanceClass`].
pub type Logits = [f32; CLASSES];

/// The number of values that the network computes for a pair: the logits of the classes, of the quality and of the relevance.
pub const OUTPUTS: usize = CLASSES + 2;

/// The network's outputs for a claim and a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StanceReading {
    /// The logits of the text's stance.
    pub stance: Logits,
    /// How good an argument the text is: the logit of the share of people who would recommend it.
    pub quality: f32,
    /// The logit of the probability that the text is about the claim, whatever its stance.
    pub relevance: f32,
}

impl StanceReading {
    /// The reading with these [`OUTPUTS`], in the order in which the network computes them.
    pub fn of(outputs: &[f32; OUTPUTS]) -> StanceReading {
        let [con, pro, neither, quality, relevance] = *outputs;
        StanceReading {
            stance: [con, pro, neither],
            quality,
            relevance,
        }
    }

    /// The outputs in the order of [`StanceReading::of`].
    pub fn outputs(&self) -> [f32; OUTPUTS] {
        let [con, pro, neither] = self.stance;
        [con, pro, neither, self.quality, self.relevance]
    }
}

/// The names of the head's two layers in the weight file: (hidden, hidden) with tanh over the row of \[CLS\], and (outputs, hidden).
pub const HEAD_DENSE: &str = "head.dense";
/// The name of the second layer.
pub const HEAD_OUT: &str = "head.out";

/// How the names of all stance encoders begin as producers.
pub(super) const PRODUCERS: &str = "pair/";

/// A part of the producer's name. It must change whenever the same weights would give other logits.
const VERSION: u32 = 4;

/// The number of weights that share a scale. If the length of a row is not a multiple of it, the complete row shares one scale.
const GROUP: usize = 64;
/// Steps are in -7 ..= 7.
const TOP_STEP: f32 = 7.0;

static COMMITTED: &[u8] = include_bytes!("../../models/own/stance.safetensors");

/// A loaded model. Several threads can call its methods at the same time.
pub struct StanceEncoder {
    tokenizer: Tokenizer,
    bert: TextEncoder,
    dense: LinearLayer,
    /// The number of hidden units of the head.
    hidden: usize,
    out: LinearLayer,
}

impl StanceEncoder {
    /// Loads the checkpoint in `dir`, whose weights have the sha256 `sha`, and applies the committed changes.
    ///
    /// # Errors
    /// A file is missing or damaged, or the changes belong to another checkpoint.
    pub fn load(dir: &Path, sha: &str, backend: EncoderBackend) -> Result<Self> {
        Self::load_kept(dir, sha, backend, None)
    }

    /// As [`StanceEncoder::load`]; the packed layers are taken from `keep`, or kept there.
    ///
    /// # Errors
    /// Those of [`StanceEncoder::load`].
    pub fn load_kept(
        dir: &Path,
        sha: &str,
        backend: EncoderBackend,
        keep: Option<&dyn LayerCache>,
    ) -> Result<Self> {
        Self::load_from(dir, sha, COMMITTED, backend, keep).with_context(loading(dir))
    }

    /// Whether the committed weights were trained from the checkpoint with this sha256.
    ///
    /// # Errors
    /// The committed weights are damaged, which is a defect of the program.
    pub(crate) fn belongs_to(sha: &str) -> Result<bool> {
        Ok(WeightChanges::read(COMMITTED)?.base == sha)
    }

    /// Like [`StanceEncoder::load`], with the content of another file made by [`pack`].
    ///
    /// # Errors
    /// As [`StanceEncoder::load`].
    pub fn load_trained(
        dir: &Path,
        sha: &str,
        trained: &[u8],
        backend: EncoderBackend,
    ) -> Result<Self> {
        Self::load_from(dir, sha, trained, backend, None).with_context(loading(dir))
    }

    fn load_from(
        dir: &Path,
        sha: &str,
        bytes: &[u8],
        backend: EncoderBackend,
        keep: Option<&dyn LayerCache>,
    ) -> Result<Self> {
        let config = BertConfig::read(dir)?;
        let changes = WeightChanges::read(bytes).context("reading the changes of the weights")?;
        ensure!(
            changes.base == sha,
            "it was trained from another checkpoint ({}, not {sha})",
            changes.base
        );
        let model = config.describe(&BARE);
        let checkpoint = Checkpoint::open(dir, &model.expected_tensors())?;
        let max_tokens = MAX_STANCE_TOKENS.min(config.max_position_embeddings);
        let head = |name: &str, out: usize| -> Result<LinearLayer> {
            let weight = changes.numbers(&format!("{name}.weight"))?;
            let bias = changes.numbers(&format!("{name}.bias"))?;
            ensure!(
                bias.len() == out && weight.len() == out * config.hidden_size,
                "{name} has another size"
            );
            Ok(LinearLayer::new(&weight, out, Some(&bias))?)
        };
        let tokenizer = Tokenizer::read(dir, Input::Pair, max_tokens, config.vocab_size)?;
        let calibration = tokenizer.encode(calibration::pairs())?;
        let hidden = config.hidden_size;
        let (dense, out) = (head(HEAD_DENSE, hidden)?, head(HEAD_OUT, OUTPUTS)?);
        let source = ChangedCheckpoint {
            checkpoint,
            changes,
        };
        Ok(StanceEncoder {
            tokenizer,
            dense,
            hidden,
            out,
            bert: TextEncoder::read(&model, max_tokens, &source, backend, &calibration, keep)?,
        })
    }

    /// The name under which the logits of the committed changes and the checkpoint with this sha256 are stored: version, checkpoint and changes. Logits of
    /// different producers must not be compared.
    pub fn producer_of(sha: &str) -> String {
        let changes = hex(&Sha256::digest(COMMITTED));
        format!("{PRODUCERS}{VERSION} {sha} {changes}")
    }

    /// Whether any product is computed in int8.
    pub fn numeric(&self) -> Numeric {
        self.bert.numeric()
    }

    /// The stance of each (claim, text) pair, in the given order.
    ///
    /// # Errors
    /// As [`StanceEncoder::read`].
    pub fn logits(&self, pairs: &[(&str, &str)]) -> Result<Vec<Logits>> {
        let readings = self.read(pairs)?;
        Ok(readings.iter().map(|reading| reading.stance).collect())
    }

    /// The network's outputs for each (claim, text) pair, in the given order. By the packed backend, the outputs of a pair do not depend on the other
    /// pairs.
    ///
    /// # Errors
    /// The tokenizer or the device fails, or an output is not finite.
    pub fn read(&self, pairs: &[(&str, &str)]) -> Result<Vec<StanceReading>> {
        self.classify(pairs, |_, outputs| StanceReading::of(outputs))
    }

    /// Like [`StanceEncoder::read`], with the hidden units of the head for each pair, in [-1, 1]. From these, another output can be learned.
    ///
    /// # Errors
    /// As [`StanceEncoder::read`].
    pub fn read_with_hidden(
        &self,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<(StanceReading, Vec<f32>)>> {
        self.classify(pairs, |hidden, outputs| {
            (StanceReading::of(outputs), hidden.to_vec())
        })
    }

    /// Calls `each` with the hidden units and the outputs of each pair.
    fn classify<T: Send>(
        &self,
        pairs: &[(&str, &str)],
        each: impl Fn(&[f32], &[f32; OUTPUTS]) -> T + Sync,
    ) -> Result<Vec<T>> {
        let read = |firsts: &[f32]| {
            let mut hidden = self.dense.forward(firsts)?;
            riposte_nn::tanh(&mut hidden);
            let outputs = self.out.forward(&hidden)?;
            ensure!(
                outputs.iter().all(|output| output.is_finite()),
                "an output is not a finite number: the weights are damaged"
            );
            let outputs = outputs.as_chunks::<OUTPUTS>().0.iter();
            let pairs = hidden.chunks(self.hidden).zip(outputs);
            Ok(pairs
                .map(|(hidden, outputs)| each(hidden, outputs))
                .collect())
        };
        let tokens = self.tokenizer.encode(pairs.iter().copied());
        tokens
            .map_err(anyhow::Error::from)
            .and_then(|tokens| self.bert.classify(&tokens, read))
            .with_context(|| format!("reading {} claims and texts", pairs.len()))
    }
}

/// What fails if the encoder over the checkpoint in `dir` cannot be loaded.
fn loading(dir: &Path) -> impl FnOnce() -> String {
    move || format!("loading the stance encoder over {}", dir.display())
}

/// The tokenizer of the checkpoint in `dir`, as the stance encoder uses it.
///
/// # Errors
/// `tokenizer.json` or `config.json` is missing or damaged.
pub fn tokenizer(dir: &Path) -> Result<Tokenizer> {
    let vocabulary = BertConfig::read(dir)?.vocab_size;
    Ok(Tokenizer::read(
        dir,
        Input::Pair,
        MAX_STANCE_TOKENS,
        vocabulary,
    )?)
}

/// A tensor of a fine-tuned model.
#[derive(Clone, Debug)]
pub struct TrainedTensor {
    /// The name in the published checkpoint, or `head.…`.
    pub name: String,
    pub shape: Vec<usize>,
    pub numbers: Vec<f32>,
    /// The tensor's numbers before training; `None` for the head.
    pub published: Option<Vec<f32>>,
}

/// Makes the weight file of a fine-tuned model. Matrices with published numbers are stored as differences from them, in steps. `base` is the
/// sha256 of the published checkpoint; `card` goes into the file's header.
///
/// # Errors
/// A matrix has rows of odd length.
pub fn pack(base: &str, card: &str, tensors: &[TrainedTensor]) -> Result<Vec<u8>> {
    let mut stored: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
    for tensor in tensors {
        let (name, shape, trained) = (&tensor.name, &tensor.shape, &tensor.numbers);
        let mut store = |end: &str, dtype, shape: &[usize], bytes| {
            stored.push((format!("{name}{end}"), dtype, shape.to_vec(), bytes));
        };
        match (&tensor.published, shape.as_slice()) {
            (Some(published), &[out, width]) => {
                ensure!(width.is_multiple_of(2), "{name} has rows of {width}");
                let is_grouped = width.is_multiple_of(GROUP);
                let group = if is_grouped { GROUP } else { width };
                let (mut steps, mut scales) = (Vec::new(), Vec::new());
                for (trained, published) in trained.chunks(group).zip(published.chunks(group)) {
                    let changes = trained.iter().zip(published).map(|(t, p)| t - p);
                    let changes: Vec<f32> = changes.collect();
                    let largest = changes.iter().fold(0f32, |largest, x| largest.max(x.abs()));
                    let scale = f16::from_f32(largest / TOP_STEP);
                    scales.extend(scale.to_le_bytes());
                    let step = |x: &f32| {
                        let scale = f32::from(scale);
                        let steps = if scale > 0.0 { x / scale } else { 0.0 };
                        (steps.round().clamp(-TOP_STEP, TOP_STEP) as i8 + 8) as u8
                    };
                    let pairs = changes.chunks(2);
                    steps.extend(
                        pairs.map(|pair| step(&pair[0]) | pair.get(1).map_or(8, step) << 4),
                    );
                }
                store(".steps", Dtype::U8, &[out, width / 2], steps);
                store(".scales", Dtype::F16, &[out, width / group], scales);
            }
            (_, &[_, _]) => {
                let bytes = trained.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes());
                store("", Dtype::F16, shape, bytes.collect());
            }
            _ => {
                let bytes = trained.iter().flat_map(|x| x.to_le_bytes());
                store("", Dtype::F32, shape, bytes.collect());
            }
        }
    }
    let views = stored.iter().map(|(name, dtype, shape, bytes)| {
        Ok((name, TensorView::new(*dtype, shape.clone(), bytes)?))
    });
    let views = views.collect::<Result<Vec<_>>>()?;
    let metadata = [("base", base), ("card", card), ("format", "pt")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    Ok(serialize(views, Some(metadata.into()))?)
}

/// A tensor with the changes of the weight file `bytes`, from which training can continue. `published` is the tensor before any training.
///
/// # Errors
/// `bytes` is not a weight file, it belongs to another checkpoint than `base`, or the tensor has another size.
pub fn unpack(bytes: &[u8], base: &str, name: &str, published: Vec<f32>) -> Result<Vec<f32>> {
    let changes = WeightChanges::read(bytes).context("reading the changes of the weights")?;
    ensure!(
        changes.base == base,
        "it was trained from another checkpoint"
    );
    changes.apply(name, published)
}

/// The content of a weight file made by [`pack`].
struct WeightChanges<'a> {
    /// The sha256 of the published checkpoint.
    base: String,
    tensors: SafeTensors<'a>,
}

impl<'a> WeightChanges<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let (_, header) = SafeTensors::read_metadata(bytes)?;
        let base = header
            .metadata()
            .as_ref()
            .and_then(|m| m.get("base"))
            .context("it does not say what it was trained from")?;
        Ok(WeightChanges {
            base: base.clone(),
            tensors: SafeTensors::deserialize(bytes)?,
        })
    }

    /// A tensor whose numbers are stored without a reference to published ones.
    fn numbers(&self, name: &str) -> Result<Vec<f32>> {
        let tensor = self.tensors.tensor(name)?;
        let numbers = floats(tensor.dtype(), tensor.data());
        numbers.with_context(|| format!("{name} has numbers of the type {:?}", tensor.dtype()))
    }

    /// Whether training changed the tensor.
    fn has(&self, name: &str) -> bool {
        let steps = format!("{name}.steps");
        let names = self.tensors.names();
        names.contains(&name) || names.contains(&steps.as_str())
    }

    /// The tensor after training.
    fn apply(&self, name: &str, mut published: Vec<f32>) -> Result<Vec<f32>> {
        if let Ok(steps) = self.tensors.tensor(&format!("{name}.steps")) {
            let scales = self.numbers(&format!("{name}.scales"))?;
            let group = (published.len() / scales.len().max(1)).max(1);
            ensure!(
                steps.data().len() * 2 == published.len()
                    && scales.len() * group == published.len(),
                "{name} has another size"
            );
            let steps = steps
                .data()
                .iter()
                .flat_map(|byte| [byte & 15, byte >> 4])
                .map(|step| f32::from(step) - 8.0);
            for ((x, step), n) in published.iter_mut().zip(steps).zip(0..) {
                *x += step * scales[n / group];
            }
            Ok(published)
        } else if self.tensors.names().contains(&name) {
            let numbers = self.numbers(name)?;
            ensure!(numbers.len() == published.len(), "{name} has another size");
            Ok(numbers)
        } else {
            Ok(published)
        }
    }
}

/// A published checkpoint and the changes of its tensors.
struct ChangedCheckpoint<'a> {
    checkpoint: Checkpoint,
    changes: WeightChanges<'a>,
}

impl TensorSource for ChangedCheckpoint<'_> {
    fn tensor(&self, name: &str) -> riposte_nn::Result<Vec<f32>> {
        let published = self.checkpoint.read(name)?;
        let changed = self.changes.apply(name, published);
        changed.map_err(riposte_nn::Error::other)
    }

    fn table(&self, name: &str) -> riposte_nn::Result<EmbeddingTable> {
        if !self.changes.has(name) {
            return self.checkpoint.table(name);
        }
        let width = self.checkpoint.width(name)?;
        Ok(EmbeddingTable::of(&self.tensor(name)?, width))
    }
}
