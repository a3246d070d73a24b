//! Sentence vectors: what a text means, for comparing texts that share no word (Reimers and Gurevych 2019,
//! <https://arxiv.org/abs/1908.10084>), by a BERT of the all-MiniLM-L6-v2 layout.
//!
//! `config.json`, `model.safetensors` and `tokenizer.json` of one directory; the vector is the mean of the last layer's
//! rows over the text's tokens, scaled to unit length. Held to sentence-transformers (tests/reference/encoders.py,
//! tests/it/sentence.rs).

use std::path::Path;

use anyhow::{Context, Result};
use candle_core::Tensor;
use tokenizers::Tokenizer;

use super::bert::{ALONE, Bert, Config};
use super::checkpoint::{Checkpoint, Texts, device, read_tokenizer};
use super::encoder::{Road, Run, make_unit, unit_rows};
use super::packed::{PackedBert, Published};

/// Part of the producer: changes whenever the same checkpoint would give other vectors.
const VERSION: u32 = 2;

/// Texts are cut after this many tokens, as all-MiniLM-L6-v2's sentence_bert_config.json says (`max_seq_length`).
const LONGEST: usize = 256;

/// A loaded model. Its methods may be called from several threads.
pub struct Sentences {
    sha: String,
    tokenizer: Tokenizer,
    bert: Model,
    dimension: usize,
}

enum Model {
    Packed(PackedBert),
    Candle(Bert),
}

impl Sentences {
    /// Loads the checkpoint in `dir`; `sha` names its weights in [`Sentences::producer`].
    ///
    /// Runs on the first CUDA device with the cargo feature `cuda` and such a device, on the CPU otherwise; in f32 on both.
    /// [`Sentences::load_by`] chooses how.
    ///
    /// # Errors
    /// A missing or damaged file, a configuration without meaning here, or a tensor that is missing or has another shape
    /// or number type than the configuration says: all found before weights are read, and named.
    pub fn load(dir: &Path, sha: &str) -> Result<Self> {
        Self::load_by(dir, sha, Road::default())
    }

    /// As [`Sentences::load`], computing by the road given.
    ///
    /// # Errors
    /// As [`Sentences::load`].
    pub fn load_by(dir: &Path, sha: &str, road: Road) -> Result<Self> {
        Self::load_from(dir, sha, road)
            .with_context(|| format!("loading the sentence model from {}", dir.display()))
    }

    fn load_from(dir: &Path, sha: &str, road: Road) -> Result<Self> {
        let config = Config::read(dir)?;
        let longest = LONGEST.min(config.max_position_embeddings);
        let tokenizer = read_tokenizer(dir, Texts::Single, longest, config.vocab_size)?;
        let mut checkpoint = Checkpoint::open(dir, &config.expected(&ALONE))?;
        Ok(Sentences {
            sha: sha.to_owned(),
            tokenizer,
            bert: match road.is_packed(&device()) {
                true => Model::Packed(PackedBert::read(
                    &config,
                    &ALONE,
                    longest,
                    &mut checkpoint,
                    &Published,
                )?),
                false => Model::Candle(Bert::read(&config, &ALONE, longest, &mut checkpoint)?),
            },
            dimension: config.hidden_size,
        })
    }

    /// Extractor, its version and the checkpoint's sha: vectors of different producers must not be compared.
    pub fn producer(&self) -> String {
        Self::producer_of(&self.sha)
    }

    /// The producer that the checkpoint with that sha will be.
    pub fn producer_of(sha: &str) -> String {
        format!("sentence/{VERSION} {sha}")
    }

    /// Length of every vector: `hidden_size` (384 for all-MiniLM-L6-v2).
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// A vector of unit length for each text, in the order given.
    ///
    /// Texts are cut after 256 tokens, the two special ones counted in. An empty text has the vector of the two special
    /// tokens alone, as in sentence-transformers: defined, but like nothing; callers do better not to ask.
    ///
    /// On the CPU a text's vector is the same whatever stands beside it.
    ///
    /// # Errors
    /// A tokenizer or device that fails.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.embed_all(texts)
            .with_context(|| format!("computing sentence vectors of {} texts", texts.len()))
    }

    fn embed_all(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let tokenized = self
            .tokenizer
            .encode_batch_fast(texts.to_vec(), true)
            .map_err(|error| anyhow::anyhow!("{error}"))
            .context("splitting texts into tokens")?;
        match &self.bert {
            Model::Packed(bert) => {
                let mut means = bert.means(&tokenized)?;
                means.iter_mut().for_each(|mean| make_unit(mean));
                Ok(means)
            }
            Model::Candle(bert) => bert.each(&tokenized, |rows, runs| self.means(rows, runs)),
        }
    }

    /// The mean of each text's rows, as unit vectors.
    fn means(&self, rows: &Tensor, runs: &[Run]) -> Result<Vec<Vec<f32>>> {
        let mut row = 0;
        let mut means = Vec::with_capacity(runs.len());
        for run in runs {
            let states = rows.narrow(0, row, run.count * run.length)?;
            let states = states.reshape((run.count, run.length, self.dimension))?;
            means.push(states.mean(1)?);
            row += run.count * run.length;
        }
        unit_rows(&Tensor::cat(&means, 0)?)
    }
}
