//! Turns texts into the token ids that a model reads, as a checkpoint's `tokenizer.json` says.

use std::path::Path;

use tokenizers::normalizers::{Lowercase, NormalizerWrapper, Sequence};
use tokenizers::{EncodeInput, PostProcessor, TruncationParams};

use crate::checkpoint::read_text;
use crate::error::{Error, Result, While, bail, ensure};

/// The tokens of an input, with their ids and types.
pub use tokenizers::Encoding;

/// Whether a model reads one text or two at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    /// One text.
    Single,
    /// Two texts.
    Pair,
}

/// A tokenizer that truncates and does not pad. It can be used from several threads.
pub struct Tokenizer(tokenizers::Tokenizer);

impl Tokenizer {
    /// Reads `tokenizer.json` in `dir`. Inputs are truncated to `max_tokens`, special tokens included; a pair loses tokens at the end
    /// of the longer text. `vocabulary` is the number of rows of the model's embedding table.
    ///
    /// # Errors
    /// The file is missing or damaged; it has a token id that the embedding table lacks; it adds no special tokens (an empty text would
    /// have no tokens at all), or so many that no other token fits.
    pub fn read(dir: &Path, input: Input, max_tokens: usize, vocabulary: usize) -> Result<Self> {
        let path = dir.join("tokenizer.json");
        let text = read_text(&path).during(|| format!("reading {}", path.display()))?;
        let mut tokenizer: tokenizers::Tokenizer = text
            .parse()
            .map_err(|error: tokenizers::Error| Error::Model(error.to_string()))
            .during(|| format!("parsing {}", path.display()))?;
        let largest = tokenizer.get_vocab(true).into_values().max();
        if let Some(largest) = largest.filter(|&id| id as usize >= vocabulary) {
            bail!(
                Model,
                "{} knows token {largest}, but the model has {vocabulary} tokens (vocab_size in config.json)",
                path.display()
            );
        }
        let special_tokens = |is_pair| {
            let processor = tokenizer.get_post_processor();
            processor.map_or(0, |processor| processor.added_tokens(is_pair))
        };
        // the library subtracts the number of special tokens from the length without a check, for single texts even if only pairs are used
        let mut counts = vec![special_tokens(false)];
        if input == Input::Pair {
            counts.push(special_tokens(true));
        }
        for count in counts {
            ensure!(
                (1..max_tokens).contains(&count),
                Model,
                "cutting texts to {max_tokens} tokens with {}: it adds {count} special tokens",
                path.display()
            );
        }
        tokenizer
            .with_padding(None)
            .with_truncation(Some(TruncationParams {
                max_length: max_tokens,
                ..Default::default()
            }))
            .map_err(|error| Error::Model(error.to_string()))
            .during(|| {
                format!(
                    "cutting texts to {max_tokens} tokens with {}",
                    path.display()
                )
            })?;
        Ok(Tokenizer(tokenizer))
    }

    /// Makes texts lower case before they are split (`do_lower_case` of sentence-transformers).
    ///
    /// # Errors
    /// An added token cannot be made lower case.
    pub fn lower_case(&mut self) -> Result<()> {
        let mut steps = vec![NormalizerWrapper::Lowercase(Lowercase)];
        steps.extend(self.0.get_normalizer().cloned());
        let all = NormalizerWrapper::Sequence(Sequence::new(steps));
        self.0
            .with_normalizer(Some(all))
            .map_err(|error| Error::Model(error.to_string()))
            .during(|| "making texts lower case")?;
        Ok(())
    }

    /// The tokens of each input, in the order given.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn encode<'a>(
        &self,
        inputs: impl IntoIterator<Item = impl Into<EncodeInput<'a>>>,
    ) -> Result<Vec<Encoding>> {
        let inputs: Vec<EncodeInput> = inputs.into_iter().map(Into::into).collect();
        self.0
            .encode_batch_fast(inputs, true)
            .map_err(|error| Error::Input(error.to_string()))
            .during(|| "splitting texts into tokens")
    }
}
