//! Encoders of texts that this crate does not compute. The caller says which families there are, and opens them.

use std::path::Path;

use super::Pooling;
use crate::conv::Numeric;
use crate::error::{Result, ensure};
use crate::tokens::Encoding;
use crate::transformer::packed::add;
use crate::transformer::text::{CheckpointConfig, TextEncoder};

/// Families of encoders that other code computes.
#[derive(Clone, Copy)]
pub struct OtherFamilies {
    /// Their names: `model_type` in `config.json`.
    pub kinds: &'static [&'static str],
    /// Opens the checkpoint of one of them in a directory, and checks everything but the weights.
    pub open: fn(&CheckpointConfig, &Path) -> Result<OpenedEncoder>,
}

/// A checkpoint whose weights have not been read.
pub struct OpenedEncoder {
    /// The number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// The length of a token's row.
    pub hidden: usize,
    /// The number of tokens of the longest text.
    pub max_tokens: usize,
    /// Reads the weights, for texts of at most this number of tokens. It fails if a tensor cannot be read.
    pub read: Box<dyn FnOnce(usize) -> Result<TokenRows>>,
}

/// A loaded encoder: returns the last layer's rows of a text, (tokens, hidden). Several threads can call it at the same time.
pub type TokenRows = Box<dyn Fn(&Encoding) -> Result<Vec<f32>> + Send + Sync>;

/// An encoder of this crate, or another one.
pub(super) enum AnyEncoder {
    Own(Box<TextEncoder>),
    Other {
        rows: TokenRows,
        vocabulary: usize,
        hidden: usize,
        max_tokens: usize,
    },
}

impl AnyEncoder {
    pub(super) fn numeric(&self) -> Numeric {
        match self {
            AnyEncoder::Own(encoder) => encoder.numeric(),
            AnyEncoder::Other { .. } => Numeric::Float,
        }
    }

    /// A vector for each text, not normalised.
    pub(super) fn pooled(&self, texts: &[Encoding], pooling: Pooling) -> Result<Vec<Vec<f32>>> {
        match self {
            AnyEncoder::Own(encoder) => match pooling {
                Pooling::Mean => encoder.means(texts),
                Pooling::First => encoder.firsts(texts),
                Pooling::Last => encoder.lasts(texts),
            },
            AnyEncoder::Other {
                rows,
                vocabulary,
                hidden,
                max_tokens,
            } => {
                // one after the other, so that the vector of a text does not depend on the texts beside it
                let vector = |text: &Encoding| {
                    check(text, *vocabulary, *max_tokens)?;
                    Ok(pool(&rows(text)?, *hidden, pooling))
                };
                texts.iter().map(vector).collect()
            }
        }
    }
}

/// A `tokenizer.json` can contain any ids for the special tokens, so all of them are checked.
fn check(text: &Encoding, vocabulary: usize, max_tokens: usize) -> Result<()> {
    ensure!(
        (1..=max_tokens).contains(&text.len()),
        Input,
        "the tokenizer gives {} tokens: expected 1 to {max_tokens}",
        text.len()
    );
    ensure!(
        text.get_ids().iter().all(|id| (*id as usize) < vocabulary),
        Input,
        "the tokenizer gives a token that the model lacks"
    );
    Ok(())
}

/// One row from the rows of a text.
fn pool(rows: &[f32], hidden: usize, pooling: Pooling) -> Vec<f32> {
    let mut rows = rows.chunks_exact(hidden);
    let one = match pooling {
        Pooling::First => rows.next(),
        Pooling::Last => rows.next_back(),
        Pooling::Mean => {
            let (mut mean, count) = (vec![0.0; hidden], rows.len().max(1));
            rows.for_each(|row| add(&mut mean, row));
            mean.iter_mut().for_each(|sum| *sum /= count as f32);
            return mean;
        }
    };
    one.map_or_else(|| vec![0.0; hidden], <[f32]>::to_vec)
}
