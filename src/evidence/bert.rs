//! BERT (Devlin et al. 2019, <https://arxiv.org/abs/1810.04805>) as sentence vectors and cross-encoders share it: from
//! tokens to the rows of the last layer.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use candle_core::{Device, Tensor};
use candle_nn::{LayerNorm, Module};
use serde::Deserialize;
use tokenizers::Encoding;

use super::checkpoint::{Checkpoint, Expected, device, read_json};
use super::encoder::{
    Activation, Encoder, Names, Norms, Run, Size, by_length, check_size, expected_norm, read_norm,
};

/// Tokens that go through the model together: enough for the matrix products, little enough for the caches.
const BATCH: usize = 1024;

/// Token types that BERT was trained with: those of a first and of a second text.
const SEGMENTS: usize = 2;

/// How a checkpoint calls its BERT.
pub(super) struct Parts {
    embeddings: &'static str,
    encoder: Names,
}

/// In a checkpoint of BERT alone.
pub(super) const ALONE: Parts = Parts {
    embeddings: "embeddings",
    encoder: Names {
        layers: "encoder.layer",
        query: "attention.self.query",
        key: "attention.self.key",
        value: "attention.self.value",
        output: "attention.output.dense",
        attention_norm: "attention.output.LayerNorm",
        up: "intermediate.dense",
        down: "output.dense",
        mlp_norm: "output.LayerNorm",
    },
};

/// In a checkpoint that has something on top of it.
pub(super) const BELOW: Parts = Parts {
    embeddings: "bert.embeddings",
    encoder: Names {
        layers: "bert.encoder.layer",
        ..ALONE.encoder
    },
};

impl Parts {
    /// How the encoder's layers are called.
    pub(super) fn names(&self) -> &Names {
        &self.encoder
    }

    pub(super) fn words(&self) -> String {
        format!("{}.word_embeddings.weight", self.embeddings)
    }

    pub(super) fn positions(&self) -> String {
        format!("{}.position_embeddings.weight", self.embeddings)
    }

    pub(super) fn types(&self) -> String {
        format!("{}.token_type_embeddings.weight", self.embeddings)
    }

    pub(super) fn norm(&self) -> String {
        format!("{}.LayerNorm", self.embeddings)
    }
}

/// `config.json`; what a file leaves out has the value that Hugging Face's BertConfig gives it.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub(super) struct Config {
    pub vocab_size: usize,
    pub hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Activation,
    pub max_position_embeddings: usize,
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
    pub(super) fn read(dir: &Path) -> Result<Self> {
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

    pub(super) fn size(&self) -> Size {
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

    /// Every tensor that BERT needs; shapes as PyTorch stores them.
    pub(super) fn expected(&self, parts: &Parts) -> Vec<Expected> {
        let mut all: Vec<Expected> = [
            (parts.words(), self.vocab_size),
            (parts.positions(), self.max_position_embeddings),
            (parts.types(), self.type_vocab_size),
        ]
        .into_iter()
        .map(|(name, rows)| (name, vec![rows, self.hidden_size]))
        .collect();
        all.extend(expected_norm(&parts.norm(), self.hidden_size));
        all.extend(Encoder::expected(&self.size(), &parts.encoder));
        all
    }
}

/// Numbers of texts in their order, cut into batches of at most so many tokens, or of one text that is longer.
pub(super) fn batches<'o>(order: &'o [usize], texts: &[Encoding], most: usize) -> Vec<&'o [usize]> {
    let mut batches = Vec::new();
    let mut rest = order;
    while !rest.is_empty() {
        let mut tokens = 0;
        let fits = |n: &&usize| {
            tokens += texts[**n].len();
            tokens <= most
        };
        let (batch, others) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        batches.push(batch);
        rest = others;
    }
    batches
}

/// A loaded BERT, in f32.
pub(super) struct Bert {
    pub device: Device,
    /// (vocabulary, hidden)
    words: Tensor,
    /// (segments × longest text, hidden): the position vectors, that of the segment's token type added to each.
    places: Tensor,
    segments: usize,
    longest: usize,
    norm: LayerNorm,
    encoder: Encoder,
}

impl Bert {
    /// Reads the tensors of [`Config::expected`], on the first CUDA device with the cargo feature `cuda` and such a device, on the
    /// CPU otherwise. `longest`: tokens of the longest text, at most the configuration's `max_position_embeddings`.
    pub(super) fn read(
        config: &Config,
        parts: &Parts,
        longest: usize,
        checkpoint: &mut Checkpoint,
    ) -> Result<Self> {
        let device = device();
        let segments = config.type_vocab_size.min(SEGMENTS);
        let types = checkpoint.read(&parts.types(), &device)?;
        let positions = checkpoint
            .read(&parts.positions(), &device)?
            .narrow(0, 0, longest)?;
        let places = (0..segments)
            .map(|segment| positions.broadcast_add(&types.narrow(0, segment, 1)?))
            .collect::<candle_core::Result<Vec<_>>>()?;
        Ok(Bert {
            words: checkpoint.read(&parts.words(), &device)?,
            places: Tensor::cat(&places, 0)?,
            segments,
            longest,
            norm: read_norm(checkpoint, &parts.norm(), config.layer_norm_eps, &device)?,
            encoder: Encoder::read(&config.size(), &parts.encoder, checkpoint, &device)?,
            device,
        })
    }

    /// What `of_batch` says of each text, in the order given.
    ///
    /// It is given the last layer's rows (tokens, hidden) of a batch, text after text, and in which runs they lie.
    /// Texts are sorted by their number of tokens and pass through the model without padding, each attending to its own
    /// tokens only; on the CPU a text's rows are then the same whatever stands beside it.
    pub(super) fn each<T: Clone + Default>(
        &self,
        texts: &[Encoding],
        of_batch: impl Fn(&Tensor, &[Run]) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&n| texts[n].len());
        let mut said = vec![T::default(); texts.len()];
        for batch in batches(&order, texts, BATCH) {
            let sorted: Vec<&Encoding> = batch.iter().map(|&n| &texts[n]).collect();
            let (rows, runs) = self.forward(&sorted)?;
            for (&n, of_text) in batch.iter().zip(of_batch(&rows, &runs)?) {
                said[n] = of_text;
            }
        }
        Ok(said)
    }

    /// The last layer's rows of texts that are sorted by length.
    fn forward(&self, texts: &[&Encoding]) -> Result<(Tensor, Vec<Run>)> {
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let (_, runs) = by_length(&lengths);
        let mut places = Vec::with_capacity(lengths.iter().sum());
        for text in texts {
            // A tokenizer.json may say anything of the tokens that it adds.
            ensure!(
                (1..=self.longest).contains(&text.len()),
                "the tokenizer gives {} tokens: expected 1 to {}",
                text.len(),
                self.longest
            );
            for (place, &segment) in text.get_type_ids().iter().enumerate() {
                ensure!(
                    (segment as usize) < self.segments,
                    "the tokenizer gives token type {segment}, but the model has {}",
                    self.segments
                );
                places.push(segment * self.longest as u32 + place as u32);
            }
        }
        let ids: Vec<u32> = texts
            .iter()
            .flat_map(|text| text.get_ids())
            .copied()
            .collect();
        let vocabulary = self.words.dim(0)?;
        if let Some(id) = ids.iter().find(|&&id| id as usize >= vocabulary) {
            bail!("the tokenizer gives token {id}, but the model has {vocabulary}");
        }
        let select = |table: &Tensor, rows: Vec<u32>| {
            let rows = Tensor::new(rows, &self.device)?;
            table.index_select(&rows, 0)
        };
        let x = (select(&self.words, ids)? + select(&self.places, places)?)?;
        let x = self.encoder.forward(self.norm.forward(&x)?, &runs, false)?;
        Ok((x, runs))
    }
}
