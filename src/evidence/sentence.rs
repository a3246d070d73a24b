//! Sentence vectors: what a text means, for comparing texts that share no word (Reimers and Gurevych 2019,
//! <https://arxiv.org/abs/1908.10084>), by a BERT of the all-MiniLM-L6-v2 layout.
//!
//! `config.json`, `model.safetensors` and `tokenizer.json` of one directory; the vector is the mean of the last layer's
//! rows over the text's tokens, scaled to unit length. Held to sentence-transformers (collection-tools/reference.py,
//! tests/it/sentence.rs).

use std::path::Path;

use anyhow::{Context, Result};
use candle_core::{Device, Tensor};
use candle_nn::{LayerNorm, Module};
use serde::Deserialize;
use tokenizers::Tokenizer;

use super::checkpoint::{Checkpoint, Expected, device, read_json, read_tokenizer};
use super::encoder::{
    Activation, Encoder, Names, Norms, Size, by_length, check_size, expected_norm, read_norm,
    unit_rows,
};

/// Part of the producer: changes whenever the same checkpoint would give other vectors.
const VERSION: u32 = 1;

/// Texts are cut after this many tokens, as all-MiniLM-L6-v2's sentence_bert_config.json says (`max_seq_length`).
const LONGEST: usize = 256;

/// Tokens that go through the model together: enough for the matrix products, little enough for the caches.
const BATCH: usize = 1024;

const NAMES: Names = Names {
    layers: "encoder.layer",
    query: "attention.self.query",
    key: "attention.self.key",
    value: "attention.self.value",
    output: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    mlp_norm: "output.LayerNorm",
};

const WORDS: &str = "embeddings.word_embeddings.weight";
const POSITIONS: &str = "embeddings.position_embeddings.weight";
const TYPES: &str = "embeddings.token_type_embeddings.weight";
const NORM: &str = "embeddings.LayerNorm";

/// A loaded model. Its methods may be called from several threads.
pub struct Sentences {
    sha: String,
    device: Device,
    tokenizer: Tokenizer,
    /// (vocabulary, hidden)
    words: Tensor,
    /// (longest text, hidden): the position vectors, that of token type 0 added to each.
    positions: Tensor,
    norm: LayerNorm,
    encoder: Encoder,
    dimension: usize,
}

/// `config.json`; what a file leaves out has the value that Hugging Face's BertConfig gives it.
#[derive(Debug, Deserialize)]
#[serde(default)]
struct Config {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Activation,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            vocab_size: 30522,
            hidden_size: 768,
            num_hidden_layers: 12,
            num_attention_heads: 12,
            intermediate_size: 3072,
            hidden_act: Activation::Gelu,
            max_position_embeddings: 512,
            type_vocab_size: 2,
            layer_norm_eps: 1e-12,
        }
    }
}

impl Config {
    fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("config.json");
        let config: Config = read_json(&path)?;
        config
            .check()
            .with_context(|| format!("reading {}", path.display()))?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        check_size("vocab_size", self.vocab_size)?;
        check_size("max_position_embeddings", self.max_position_embeddings)?;
        check_size("type_vocab_size", self.type_vocab_size)?;
        self.size().check()
    }

    fn size(&self) -> Size {
        Size {
            hidden: self.hidden_size,
            heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            layers: self.num_hidden_layers,
            epsilon: self.layer_norm_eps,
            activation: self.hidden_act,
            norms: Norms::After,
        }
    }

    /// Every tensor that the model needs; shapes as PyTorch stores them.
    fn expected(&self) -> Vec<Expected> {
        let mut all = vec![
            (WORDS.to_owned(), vec![self.vocab_size, self.hidden_size]),
            (
                POSITIONS.to_owned(),
                vec![self.max_position_embeddings, self.hidden_size],
            ),
            (
                TYPES.to_owned(),
                vec![self.type_vocab_size, self.hidden_size],
            ),
        ];
        all.extend(expected_norm(NORM, self.hidden_size));
        all.extend(Encoder::expected(&self.size(), &NAMES));
        all
    }
}

impl Sentences {
    /// Loads the checkpoint in `dir`; `sha` names its weights in [`Sentences::producer`].
    ///
    /// Runs on the first CUDA device with the cargo feature `cuda` and such a device, on the CPU otherwise; in f32 on both.
    ///
    /// # Errors
    /// A missing or damaged file, a configuration without meaning here, or a tensor that is missing or has another shape
    /// or number type than the configuration says: all found before weights are read, and named.
    pub fn load(dir: &Path, sha: &str) -> Result<Self> {
        Self::load_from(dir, sha)
            .with_context(|| format!("loading the sentence model from {}", dir.display()))
    }

    fn load_from(dir: &Path, sha: &str) -> Result<Self> {
        let config = Config::read(dir)?;
        let longest = LONGEST.min(config.max_position_embeddings);
        let tokenizer = read_tokenizer(dir, longest, config.vocab_size)?;
        let mut checkpoint = Checkpoint::open(dir, &config.expected())?;
        let device = device();
        let words = checkpoint.read(WORDS, &device)?;
        // Single texts are all of type 0.
        let first_type = checkpoint.read(TYPES, &device)?.narrow(0, 0, 1)?;
        let positions = checkpoint.read(POSITIONS, &device)?.narrow(0, 0, longest)?;
        Ok(Sentences {
            sha: sha.to_owned(),
            tokenizer,
            words,
            positions: positions.broadcast_add(&first_type)?,
            norm: read_norm(&mut checkpoint, NORM, config.layer_norm_eps, &device)?,
            encoder: Encoder::read(&config.size(), &NAMES, &mut checkpoint, &device)?,
            dimension: config.hidden_size,
            device,
        })
    }

    /// Extractor, its version and the checkpoint's sha: vectors of different producers must not be compared.
    pub fn producer(&self) -> String {
        format!("sentence/{VERSION} {}", self.sha)
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
    /// Inside, texts are sorted by their number of tokens and pass through the model without padding, each attending to
    /// its own tokens only; on the CPU a text's vector is then the same whatever stands beside it.
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
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&n| tokenized[n].len());
        let mut vectors = vec![Vec::new(); texts.len()];
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let mut tokens = 0;
            let fits = |n: &&usize| {
                tokens += tokenized[**n].len();
                tokens <= BATCH
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let (batch, others) = rest.split_at(count);
            rest = others;
            let ids: Vec<&[u32]> = batch.iter().map(|&n| tokenized[n].get_ids()).collect();
            for (&n, vector) in batch.iter().zip(self.embed_batch(&ids)?) {
                vectors[n] = vector;
            }
        }
        Ok(vectors)
    }

    /// Vectors of tokenized texts that are sorted by length.
    fn embed_batch(&self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let (_, runs) = by_length(&texts.iter().map(|ids| ids.len()).collect::<Vec<_>>());
        let places: Vec<u32> = texts.iter().flat_map(|ids| 0..ids.len() as u32).collect();
        let select = |table: &Tensor, rows: Vec<u32>| {
            let rows = Tensor::new(rows, &self.device)?;
            table.index_select(&rows, 0)
        };
        let x = (select(&self.words, texts.concat())? + select(&self.positions, places)?)?;
        let x = self.encoder.forward(self.norm.forward(&x)?, &runs, false)?;
        let mut row = 0;
        let mut means = Vec::with_capacity(runs.len());
        for run in runs {
            let rows = run.count * run.length;
            let states = x.narrow(0, row, rows)?;
            means.push(
                states
                    .reshape((run.count, run.length, self.dimension))?
                    .mean(1)?,
            );
            row += rows;
        }
        unit_rows(&Tensor::cat(&means, 0)?)
    }
}
