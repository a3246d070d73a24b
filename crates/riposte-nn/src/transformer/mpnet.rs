//! The description of MPNet (Song et al. 2020, <https://arxiv.org/abs/2004.09297>): as BERT, but without token types, with positions that begin after
//! the padding id, and with attention that depends on distance.

use serde::Deserialize;

use super::LayerNames;
use super::bert::{BARE, BertConfig};
use super::relative::BUCKETS;
use super::text::{CheckpointConfig, TextEncoderSpec};
use crate::error::{Result, ensure};

/// `model_type` in the `config.json` of an MPNet.
pub const KIND: &str = "mpnet";

/// The padding id. Hugging Face's MPNetModel has it as a constant, whatever `pad_token_id` says.
const PADDING: usize = 1;

const LAYERS: LayerNames = LayerNames {
    query: "attention.attn.q",
    key: "attention.attn.k",
    value: "attention.attn.v",
    output: "attention.attn.o",
    attention_norm: "attention.LayerNorm",
    ..BARE.layers
};

/// The settings of `config.json` that BERT does not have, or that have other values if they are missing, by Hugging Face's MPNetConfig.
#[derive(Deserialize)]
#[serde(default)]
struct MpnetConfig {
    vocab_size: usize,
    relative_attention_num_buckets: usize,
}

impl Default for MpnetConfig {
    fn default() -> Self {
        MpnetConfig {
            vocab_size: 30527,
            relative_attention_num_buckets: BUCKETS,
        }
    }
}

/// The model that a `config.json` describes, with tensors as MPNetModel names them.
///
/// # Errors
/// A setting has another type, or asks for something that this crate does not compute.
pub(super) fn describe(file: &CheckpointConfig) -> Result<TextEncoderSpec> {
    let bert: BertConfig = file.parse()?;
    let config: MpnetConfig = file.parse()?;
    // MPNetModel computes with 32 whatever this setting says, so another number would not be what the model was trained with
    ensure!(
        config.relative_attention_num_buckets == BUCKETS,
        Model,
        "relative_attention_num_buckets is {}: expected {BUCKETS}",
        config.relative_attention_num_buckets
    );
    Ok(TextEncoderSpec {
        layers: LAYERS,
        words: (BARE.words(), config.vocab_size),
        types: None,
        padding: Some(PADDING),
        distances: Some("encoder.relative_attention_bias.weight".to_owned()),
        ..bert.describe(&BARE)
    })
}
