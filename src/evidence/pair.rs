//! The pair encoder: a claim and a text read together by a MiniLM that was trained further, which says whether the text
//! supports the claim, attacks it, or neither.
//!
//! The published all-MiniLM-L6-v2 comes through `weights`; what training changed is part of the program
//! (`models/own/stance.safetensors`, made by `train stance` in models/train): of each matrix of the six layers the difference
//! in steps of four bits with one scale for 64 numbers, biases and norms as they are, and the head. So a model of 90 MB is
//! committed as 6, and it means nothing without the exact file that it was trained from.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use half::f16;
use safetensors::tensor::{SafeTensors, TensorView};
use safetensors::{Dtype, serialize};
use sha2::{Digest, Sha256};
use tokenizers::{EncodeInput, Encoding, Tokenizer};

use super::bert::{ALONE, Config};
use super::checkpoint::{Checkpoint, Texts, read_tokenizer};
use super::packed::{Dense, PackedBert, Trained};

/// Tokens of a pair, the three special ones counted in; what is longer is cut from the end of the longer of the two.
pub const LONGEST: usize = 96;

/// What a pair may be, in the order of the logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The text attacks the claim.
    Con,
    /// It supports the claim.
    Pro,
    /// It does neither.
    Neither,
}

/// Number of [`Class`]es.
pub const CLASSES: usize = 3;

/// Layers of the head, as the weight file names them: from \[CLS\]'s row by tanh, and from that to the classes.
pub const HEAD_DENSE: &str = "head.dense";
/// The second of them.
pub const HEAD_OUT: &str = "head.out";

/// Part of the producer: changes whenever the same weights would give other logits.
const VERSION: u32 = 1;

/// Numbers that share a scale; in narrower matrices a row does.
const GROUP: usize = 64;
/// Steps lie in -7 ..= 7.
const MOST_STEPS: f32 = 7.0;

fn producer_of(sha: &str, trained: &[u8]) -> String {
    let digest = Sha256::digest(trained);
    let changes: String = digest.iter().map(|b| format!("{b:02x}")).collect();
    format!("pair/{VERSION} {sha} {changes}")
}

static COMMITTED: &[u8] = include_bytes!("../../models/own/stance.safetensors");

/// A loaded model. Its methods may be called from several threads.
pub struct PairEncoder {
    producer: String,
    tokenizer: Tokenizer,
    bert: PackedBert,
    dense: Dense,
    out: Dense,
}

impl PairEncoder {
    /// Loads the checkpoint in `dir`, whose weights have the sha256 `sha`, and what is committed on top of it.
    ///
    /// # Errors
    /// A missing or damaged file, or another checkpoint than the committed weights belong to.
    pub fn load(dir: &Path, sha: &str) -> Result<Self> {
        Self::load_trained(dir, sha, COMMITTED)
    }

    /// Whether the committed weights were trained from the checkpoint with that sha256.
    ///
    /// # Errors
    /// Committed weights that are broken: a defect of the program.
    pub fn belongs_to(sha: &str) -> Result<bool> {
        Ok(Changes::read(COMMITTED)?.base == sha)
    }

    /// The same with the weights of a file made by [`pack`].
    ///
    /// # Errors
    /// As [`PairEncoder::load`].
    pub fn load_trained(dir: &Path, sha: &str, trained: &[u8]) -> Result<Self> {
        Self::load_from(dir, sha, trained)
            .with_context(|| format!("loading the pair encoder over {}", dir.display()))
    }

    fn load_from(dir: &Path, sha: &str, bytes: &[u8]) -> Result<Self> {
        let config = Config::read(dir)?;
        let trained = Changes::read(bytes).context("reading what training changed")?;
        ensure!(
            trained.base == sha,
            "it was trained from another checkpoint ({} and not {sha})",
            trained.base
        );
        let mut checkpoint = Checkpoint::open(dir, &config.expected(&ALONE))?;
        let longest = LONGEST.min(config.max_position_embeddings);
        let bert = PackedBert::read(&config, &ALONE, longest, &mut checkpoint, &trained)?;
        let head = |name: &str, out: usize| -> Result<Dense> {
            let weight = trained.numbers(&format!("{name}.weight"))?;
            let bias = trained.numbers(&format!("{name}.bias"))?;
            ensure!(
                bias.len() == out && weight.len() == out * config.hidden_size,
                "{name} has another size"
            );
            Dense::new(bert.gemm(), &weight, out, Some(bias))
        };
        Ok(PairEncoder {
            producer: producer_of(sha, bytes),
            tokenizer: read_tokenizer(dir, Texts::Pairs, longest, config.vocab_size)?,
            dense: head(HEAD_DENSE, config.hidden_size)?,
            out: head(HEAD_OUT, CLASSES)?,
            bert,
        })
    }

    /// The producer that the committed weights over the checkpoint with that sha will be.
    pub fn producer_of(sha: &str) -> String {
        producer_of(sha, COMMITTED)
    }

    /// Version, checkpoint and what training changed: logits of different producers must not be compared.
    pub fn producer(&self) -> &str {
        &self.producer
    }

    /// The logits of the classes (in the order of [`Class`]) for each (claim, text), in the order given.
    ///
    /// A pair's logits are the same whatever stands beside it.
    ///
    /// # Errors
    /// A tokenizer that fails, weights that make no number.
    pub fn logits(&self, pairs: &[(&str, &str)]) -> Result<Vec<[f32; CLASSES]>> {
        self.logits_of(pairs)
            .with_context(|| format!("reading {} claims and texts", pairs.len()))
    }

    fn logits_of(&self, pairs: &[(&str, &str)]) -> Result<Vec<[f32; CLASSES]>> {
        let tokenized = tokenize(&self.tokenizer, pairs)?;
        self.bert.firsts(&tokenized, |firsts| {
            let gemm = self.bert.gemm();
            let mut hidden = self.dense.forward(gemm, firsts)?;
            hidden.iter_mut().for_each(|x| *x = x.tanh());
            let logits = self.out.forward(gemm, &hidden)?;
            ensure!(
                logits.iter().all(|logit| logit.is_finite()),
                "the weights make no number of a text"
            );
            Ok(logits.as_chunks::<CLASSES>().0.to_vec())
        })
    }
}

/// The tokenizer of the checkpoint in `dir`, for pairs.
///
/// # Errors
/// A missing or damaged `tokenizer.json` or `config.json`.
pub fn tokenizer(dir: &Path) -> Result<Tokenizer> {
    read_tokenizer(dir, Texts::Pairs, LONGEST, Config::read(dir)?.vocab_size)
}

/// The tokens of each (claim, text).
///
/// # Errors
/// A tokenizer that fails.
pub fn tokenize(tokenizer: &Tokenizer, pairs: &[(&str, &str)]) -> Result<Vec<Encoding>> {
    let pairs: Vec<EncodeInput> = pairs.iter().map(|&pair| pair.into()).collect();
    tokenizer
        .encode_batch_fast(pairs, true)
        .map_err(|error| anyhow::anyhow!("{error}"))
        .context("splitting texts into tokens")
}

/// A tensor of a trained model.
#[derive(Clone, Debug)]
pub struct TrainedTensor {
    /// As the published checkpoint names it, or `head.…`.
    pub name: String,
    pub shape: Vec<usize>,
    pub numbers: Vec<f32>,
    /// What it was before; none of the head.
    pub published: Option<Vec<f32>>,
}

/// The weight file of a trained model: matrices of which there are published numbers as steps from them; `base` is the
/// checkpoint's sha256, `card` goes into the file's header.
///
/// # Errors
/// Matrices with rows of an odd length.
pub fn pack(base: &str, card: &str, tensors: &[TrainedTensor]) -> Result<Vec<u8>> {
    let mut stored: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
    for tensor in tensors {
        let (name, shape, trained) = (&tensor.name, &tensor.shape, &tensor.numbers);
        match (&tensor.published, shape.as_slice()) {
            (Some(published), &[out, width]) => {
                ensure!(width.is_multiple_of(2), "{name} has rows of {width}");
                let group = if width.is_multiple_of(GROUP) {
                    GROUP
                } else {
                    width
                };
                let (mut steps, mut scales) = (Vec::new(), Vec::new());
                for (trained, published) in trained.chunks(group).zip(published.chunks(group)) {
                    let change: Vec<f32> =
                        trained.iter().zip(published).map(|(t, p)| t - p).collect();
                    let largest = change.iter().fold(0f32, |most, x| most.max(x.abs()));
                    let scale = f16::from_f32(largest / MOST_STEPS);
                    scales.extend(scale.to_le_bytes());
                    let step = |x: f32| {
                        let scale = f32::from(scale);
                        let steps = if scale > 0.0 { x / scale } else { 0.0 };
                        (steps.round().clamp(-MOST_STEPS, MOST_STEPS) as i8 + 8) as u8
                    };
                    steps.extend(change.chunks(2).map(|pair| {
                        step(pair[0]) | step(pair.get(1).copied().unwrap_or(0.0)) << 4
                    }));
                }
                stored.push((
                    format!("{name}.steps"),
                    Dtype::U8,
                    vec![out, width / 2],
                    steps,
                ));
                stored.push((
                    format!("{name}.scales"),
                    Dtype::F16,
                    vec![out, width / group],
                    scales,
                ));
            }
            (_, &[_, _]) => {
                let bytes = trained.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes());
                stored.push((name.clone(), Dtype::F16, shape.clone(), bytes.collect()));
            }
            _ => {
                let bytes = trained.iter().flat_map(|x| x.to_le_bytes());
                stored.push((name.clone(), Dtype::F32, shape.clone(), bytes.collect()));
            }
        }
    }
    let views = stored
        .iter()
        .map(|(name, dtype, shape, bytes)| {
            Ok((name.clone(), TensorView::new(*dtype, shape.clone(), bytes)?))
        })
        .collect::<Result<Vec<_>>>()?;
    let metadata = [("base", base), ("card", card), ("format", "pt")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    Ok(serialize(views, Some(metadata.into()))?)
}

/// A tensor as the weight file `bytes` has it, to go on training from; `published` is what it was before any training.
///
/// # Errors
/// No such file, one that was trained from another checkpoint than `base`, or a tensor of another size.
pub fn unpack(bytes: &[u8], base: &str, name: &str, published: Vec<f32>) -> Result<Vec<f32>> {
    let trained = Changes::read(bytes).context("reading what training changed")?;
    ensure!(
        trained.base == base,
        "it was trained from another checkpoint"
    );
    trained.tensor(name, published)
}

/// A weight file that [`pack`] wrote.
struct Changes<'a> {
    /// sha256 of the checkpoint that it was trained from.
    base: String,
    tensors: SafeTensors<'a>,
}

impl<'a> Changes<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let (_, header) = SafeTensors::read_metadata(bytes)?;
        let base = header
            .metadata()
            .as_ref()
            .and_then(|m| m.get("base"))
            .context("it does not say what it was trained from")?;
        Ok(Changes {
            base: base.clone(),
            tensors: SafeTensors::deserialize(bytes)?,
        })
    }

    fn numbers(&self, name: &str) -> Result<Vec<f32>> {
        let tensor = self.tensors.tensor(name)?;
        let bytes = tensor.data();
        Ok(match tensor.dtype() {
            Dtype::F32 => bytes
                .as_chunks::<4>()
                .0
                .iter()
                .map(|b| f32::from_le_bytes(*b))
                .collect(),
            Dtype::F16 => halves(bytes),
            other => anyhow::bail!("{name} holds {other:?}"),
        })
    }
}

fn halves(bytes: &[u8]) -> Vec<f32> {
    let halves = bytes.as_chunks::<2>().0.iter();
    halves.map(|b| f16::from_le_bytes(*b).to_f32()).collect()
}

impl Trained for Changes<'_> {
    fn tensor(&self, name: &str, mut published: Vec<f32>) -> Result<Vec<f32>> {
        if let Ok(steps) = self.tensors.tensor(&format!("{name}.steps")) {
            let scales = halves(self.tensors.tensor(&format!("{name}.scales"))?.data());
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
