//! The families of text encoders that this crate computes, by `model_type` in `config.json`.

use super::bert::{self, BARE, BertConfig};
use super::text::{CheckpointConfig, TextEncoderSpec};
use super::{mpnet, roberta};
use crate::error::{Result, While};

/// Checks a `config.json`: an encoder of texts of any family, whose checkpoint contains only the encoder. A file without a `model_type` describes a BERT.
/// `others`: families that other code computes. They are named if the file has neither one of them nor one of this crate's.
///
/// # Errors
/// The file is damaged, it describes a model of another family, or it has a setting that would change what the model computes.
pub(crate) fn describe(file: &CheckpointConfig, others: &[&str]) -> Result<TextEncoderSpec> {
    let own = [bert::KIND, mpnet::KIND, roberta::KIND];
    file.ensure_kind(&[&own[..], others].concat())?;
    let description = match file.kind() {
        Some(mpnet::KIND) => mpnet::describe(file),
        Some(roberta::KIND) => roberta::describe(file),
        _ => file
            .parse()
            .map(|config: BertConfig| config.describe(&BARE)),
    };
    let description = description.during(|| format!("reading {}", file.path().display()))?;
    file.check(&description)?;
    Ok(description)
}
