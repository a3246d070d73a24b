//! The description of XLM-RoBERTa (Conneau et al. 2020, <https://arxiv.org/abs/1911.02116>): a BERT whose positions begin after the padding id.

use serde::Deserialize;

use super::bert::{BARE, BertConfig};
use super::text::{CheckpointConfig, TextEncoderSpec};
use crate::error::Result;

/// `model_type` in the `config.json` of an XLM-RoBERTa.
pub const KIND: &str = "xlm-roberta";

/// What `config.json` says beyond BERT's settings, whose missing values are the same.
#[derive(Deserialize)]
struct RobertaConfig {
    #[serde(default = "one")]
    pad_token_id: usize,
}

fn one() -> usize {
    1
}

/// The model that a `config.json` describes, with tensors as XLMRobertaModel names them.
///
/// # Errors
/// A setting has another type, or asks for something that this crate does not compute.
pub(super) fn describe(file: &CheckpointConfig) -> Result<TextEncoderSpec> {
    let config: BertConfig = file.parse()?;
    let RobertaConfig { pad_token_id } = file.parse()?;
    Ok(TextEncoderSpec {
        padding: Some(pad_token_id),
        ..config.describe(&BARE)
    })
}
