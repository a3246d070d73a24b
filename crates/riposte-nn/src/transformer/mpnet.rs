//! The description of MPNet (Song et al. 2020, <https://arxiv.org/abs/2004.09297>): as BERT, but without token types, with positions that begin after
//! the padding id, and with attention that depends on distance.

use serde::Deserialize;

use super::relative::BUCKETS;
use super::text::{CheckpointConfig, TextEncoderSpec};
use super::{Activation, EncoderConfig, LayerNames, NormOrder};
use crate::error::{Result, ensure};

/// `model_type` in the `config.json` of an MPNet.
pub const KIND: &str = "mpnet";

/// The padding id. Hugging Face's MPNetModel has it as a constant, whatever `pad_token_id` says.
const PADDING: usize = 1;

const LAYERS: LayerNames = LayerNames {
    layers: "encoder.layer",
    query: "attention.attn.q",
    key: "attention.attn.k",
    value: "attention.attn.v",
    output: "attention.attn.o",
    attention_norm: "attention.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    mlp_norm: "output.LayerNorm",
};

/// `config.json`. Missing values are those of Hugging Face's MPNetConfig.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
struct MpnetConfig {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Activation,
    max_position_embeddings: usize,
    layer_norm_eps: f64,
    relative_attention_num_buckets: usize,
}

impl Default for MpnetConfig {
    fn default() -> Self {
        MpnetConfig {
            vocab_size: 30527,
            hidden_size: 768,
            num_hidden_layers: 12,
            num_attention_heads: 12,
            intermediate_size: 3072,
            hidden_act: Activation::Gelu,
            max_position_embeddings: 512,
            layer_norm_eps: 1e-12,
            relative_attention_num_buckets: BUCKETS,
        }
    }
}

/// The model that a `config.json` describes, with tensors as MPNetModel names them.
///
/// # Errors
/// A setting has another type, or asks for something that this crate does not compute.
pub(super) fn describe(file: &CheckpointConfig) -> Result<TextEncoderSpec> {
    let config: MpnetConfig = file.parse()?;
    // MPNetModel computes with 32 whatever this setting says, so another number would not be what the model was trained with
    ensure!(
        config.relative_attention_num_buckets == BUCKETS,
        Model,
        "relative_attention_num_buckets is {}: expected {BUCKETS}",
        config.relative_attention_num_buckets
    );
    Ok(TextEncoderSpec {
        encoder: EncoderConfig {
            hidden: config.hidden_size,
            heads: config.num_attention_heads,
            intermediate: config.intermediate_size,
            layers: config.num_hidden_layers,
            epsilon: config.layer_norm_eps,
            activation: config.hidden_act,
            norms: NormOrder::After,
        },
        layers: LAYERS,
        words: (
            "embeddings.word_embeddings.weight".to_owned(),
            config.vocab_size,
        ),
        positions: (
            "embeddings.position_embeddings.weight".to_owned(),
            config.max_position_embeddings,
        ),
        types: None,
        norm: "embeddings.LayerNorm".to_owned(),
        padding: Some(PADDING),
        distances: Some("encoder.relative_attention_bias.weight".to_owned()),
    })
}
