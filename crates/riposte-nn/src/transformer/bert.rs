//! The description of BERT (Devlin et al. 2019, <https://arxiv.org/abs/1810.04805>). `text.rs` computes it.

use std::path::Path;

use serde::Deserialize;

use super::text::{CheckpointConfig, TextEncoderSpec};
use super::{Activation, EncoderConfig, LayerNames, NormOrder};
use crate::error::Result;

/// `model_type` in the `config.json` of a BERT.
pub const KIND: &str = "bert";

/// The names of BERT's tensors in a checkpoint.
pub struct BertNames {
    embeddings: &'static str,
    /// The names of the layers.
    pub layers: LayerNames,
}

/// The names in a checkpoint that contains only BERT.
pub const BARE: BertNames = BertNames {
    embeddings: "embeddings",
    layers: LayerNames {
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

/// The names in a checkpoint that contains BERT and a head.
pub const WITH_HEAD: BertNames = BertNames {
    embeddings: "bert.embeddings",
    layers: LayerNames {
        layers: "bert.encoder.layer",
        ..BARE.layers
    },
};

impl BertNames {
    /// The embedding of tokens, (vocabulary, hidden).
    pub fn words(&self) -> String {
        format!("{}.word_embeddings.weight", self.embeddings)
    }

    /// The layer norm of the sum of the embeddings.
    pub fn norm(&self) -> String {
        format!("{}.LayerNorm", self.embeddings)
    }
}

/// `config.json`. Missing values are those of Hugging Face's BertConfig.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct BertConfig {
    /// The number of tokens.
    pub vocab_size: usize,
    /// The length of a token's row.
    pub hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Activation,
    /// The number of tokens of the longest text.
    pub max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f64,
}

impl Default for BertConfig {
    fn default() -> Self {
        BertConfig {
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

impl BertConfig {
    /// Reads and checks `config.json` in `dir`.
    ///
    /// # Errors
    /// The file is missing or damaged, it describes a model of another kind, or a size is out of range.
    pub fn read(dir: &Path) -> Result<Self> {
        let file = CheckpointConfig::read(dir)?;
        file.ensure_kind(&[KIND])?;
        let config: BertConfig = file.parse()?;
        file.check(&config.describe(&BARE))?;
        Ok(config)
    }

    /// The part that describes the layers.
    pub fn encoder(&self) -> EncoderConfig {
        EncoderConfig {
            hidden: self.hidden_size,
            heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            layers: self.num_hidden_layers,
            epsilon: self.layer_norm_eps,
            activation: self.hidden_act,
            norms: NormOrder::After,
        }
    }

    /// The model, with tensors of these names.
    pub fn describe(&self, names: &BertNames) -> TextEncoderSpec {
        let embedding = |what: &str| format!("{}.{what}_embeddings.weight", names.embeddings);
        TextEncoderSpec {
            encoder: self.encoder(),
            layers: names.layers,
            words: (names.words(), self.vocab_size),
            positions: (embedding("position"), self.max_position_embeddings),
            types: Some((embedding("token_type"), self.type_vocab_size)),
            norm: names.norm(),
            padding: None,
            distances: None,
        }
    }
}
