//! Cross-encoders: a topic and a text read together by a BERT that says how well the text answers the topic (Nogueira
//! and Cho 2019, <https://arxiv.org/abs/1901.04085>), of the layout of cross-encoder/ms-marco-MiniLM-L-6-v2.
//!
//! `config.json`, `model.safetensors` and `tokenizer.json` of one directory, as Hugging Face's
//! BertForSequenceClassification with one label writes them. Held to sentence-transformers' CrossEncoder
//! (tests/reference/encoders.py, tests/it/cross.rs).

use std::path::Path;

use anyhow::{Context, Result, ensure};
use candle_core::Tensor;
use tokenizers::{EncodeInput, Tokenizer};

use super::bert::{BELOW, Bert, Config};
use super::checkpoint::{Checkpoint, Texts, read_tokenizer};
use super::encoder::{Run, project_rows};

/// Part of the producer: changes whenever the same checkpoint would give other scores.
const VERSION: u32 = 1;

/// Pairs are cut to this many tokens, as ms-marco-MiniLM-L-6-v2's tokenizer_config.json says (`model_max_length`).
const LONGEST: usize = 512;

const POOLER: &str = "bert.pooler.dense";
const CLASSIFIER: &str = "classifier";

/// A loaded model. Its methods may be called from several threads.
pub struct Cross {
    sha: String,
    tokenizer: Tokenizer,
    bert: Bert,
    hidden: usize,
    pooler: Dense,
    classifier: Dense,
}

/// A layer that is applied row by row, so that a pair has the same score in any batch.
struct Dense {
    /// (out, in)
    weight: Tensor,
    bias: Tensor,
}

impl Dense {
    fn expected(name: &str, out: usize, width: usize) -> [(String, Vec<usize>); 2] {
        [
            (format!("{name}.weight"), vec![out, width]),
            (format!("{name}.bias"), vec![out]),
        ]
    }

    fn read(name: &str, bert: &Bert, checkpoint: &mut Checkpoint) -> Result<Self> {
        Ok(Dense {
            weight: checkpoint.read(&format!("{name}.weight"), &bert.device)?,
            bias: checkpoint.read(&format!("{name}.bias"), &bert.device)?,
        })
    }

    fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        Ok(project_rows(rows, &self.weight)?.broadcast_add(&self.bias)?)
    }
}

impl Cross {
    /// Loads the checkpoint in `dir`; `sha` names its weights in [`Cross::producer`].
    ///
    /// Runs on the first CUDA device with the cargo feature `cuda` and such a device, on the CPU otherwise; in f32 on both.
    ///
    /// # Errors
    /// A missing or damaged file, a configuration without meaning here, more labels than one, or a tensor that is missing
    /// or has another shape or number type than the configuration says: all found before weights are read, and named.
    pub fn load(dir: &Path, sha: &str) -> Result<Self> {
        Self::load_from(dir, sha)
            .with_context(|| format!("loading the cross-encoder from {}", dir.display()))
    }

    fn load_from(dir: &Path, sha: &str) -> Result<Self> {
        let config = Config::read(dir)?;
        let hidden = config.hidden_size;
        let longest = LONGEST.min(config.max_position_embeddings);
        let tokenizer = read_tokenizer(dir, Texts::Pairs, longest, config.vocab_size)?;
        let mut expected = config.expected(&BELOW);
        expected.extend(Dense::expected(POOLER, hidden, hidden));
        expected.extend(Dense::expected(CLASSIFIER, 1, hidden));
        let mut checkpoint = Checkpoint::open(dir, &expected)?;
        let bert = Bert::read(&config, &BELOW, longest, &mut checkpoint)?;
        Ok(Cross {
            sha: sha.to_owned(),
            tokenizer,
            hidden,
            pooler: Dense::read(POOLER, &bert, &mut checkpoint)?,
            classifier: Dense::read(CLASSIFIER, &bert, &mut checkpoint)?,
            bert,
        })
    }

    /// Extractor, its version and the checkpoint's sha: scores of different producers must not be compared.
    pub fn producer(&self) -> String {
        Self::producer_of(&self.sha)
    }

    /// The producer that the checkpoint with that sha will be.
    pub fn producer_of(sha: &str) -> String {
        format!("cross/{VERSION} {sha}")
    }

    /// How well each text answers the topic, in the order given: the model's logit, any finite number, more is better.
    ///
    /// Topic and text together are cut to 512 tokens, the three special ones counted in, from the end of the longer of
    /// the two as in sentence-transformers: of a topic of up to 254 tokens nothing is lost. (Of two that are both longer
    /// than 512 the text has the odd token, in sentence-transformers the longer one: tokenizers 0.23.2 stops reading there.)
    /// On the CPU a text's score is the same whatever stands beside it.
    ///
    /// # Errors
    /// A tokenizer or device that fails, weights that make no number.
    pub fn score(&self, topic: &str, texts: &[&str]) -> Result<Vec<f32>> {
        self.score_all(topic, texts)
            .with_context(|| format!("scoring {} texts by the cross-encoder", texts.len()))
    }

    fn score_all(&self, topic: &str, texts: &[&str]) -> Result<Vec<f32>> {
        let pairs: Vec<EncodeInput> = texts.iter().map(|&text| (topic, text).into()).collect();
        let tokenized = self
            .tokenizer
            .encode_batch_fast(pairs, true)
            .map_err(|error| anyhow::anyhow!("{error}"))
            .context("splitting texts into tokens")?;
        self.bert
            .each(&tokenized, |rows, runs| self.logits(rows, runs))
    }

    /// From the row of each pair's first token, \[CLS\].
    fn logits(&self, rows: &Tensor, runs: &[Run]) -> Result<Vec<f32>> {
        let mut row = 0;
        let mut first = Vec::with_capacity(runs.len());
        for run in runs {
            let states = rows.narrow(0, row, run.count * run.length)?;
            let states = states.reshape((run.count, run.length, self.hidden))?;
            first.push(states.narrow(1, 0, 1)?.squeeze(1)?);
            row += run.count * run.length;
        }
        let pooled = self.pooler.forward(&Tensor::cat(&first, 0)?)?.tanh()?;
        let logits: Vec<f32> = self.classifier.forward(&pooled)?.flatten_all()?.to_vec1()?;
        ensure!(
            logits.iter().all(|logit| logit.is_finite()),
            "the weights make no number of a text"
        );
        Ok(logits)
    }
}
