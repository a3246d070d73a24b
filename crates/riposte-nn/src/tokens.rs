//! Turns texts into the token ids that a model reads, as a checkpoint's `tokenizer.json` or `vocab.txt` says.

use std::path::Path;

use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::replace::ReplacePattern;
use tokenizers::normalizers::{
    BertNormalizer, Lowercase, NormalizerWrapper, Replace, Sequence, Strip,
};
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, EncodeInput, PostProcessor, TruncationParams};

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
pub struct Tokenizer {
    tokenizer: tokenizers::Tokenizer,
    /// The padding id of `tokenizer.json`.
    padding: Option<u32>,
}

/// How texts become words before BERT's tokenizer divides them.
#[derive(Clone, Copy, Debug)]
pub struct WordRules {
    /// Texts become lower case.
    pub lower_case: bool,
    /// Accents are removed; `None`: if texts become lower case.
    pub strip_accents: Option<bool>,
    /// Each Chinese character is a word.
    pub chinese_characters: bool,
}

/// The punctuation of ASCII, as Python's `string.punctuation`.
const PUNCTUATION: &str = r"[!-/:-@\[-`{-~]";

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
        let tokenizer: tokenizers::Tokenizer = text
            .parse()
            .map_err(|error: tokenizers::Error| Error::Model(error.to_string()))
            .during(|| format!("parsing {}", path.display()))?;
        Self::new(tokenizer, &path, input, max_tokens, vocabulary)
    }

    /// Makes BERT's tokenizer of single texts from `vocab.txt` in `dir`: a token a line. `max_tokens` and `vocabulary` are those of
    /// [`Tokenizer::read`].
    ///
    /// # Errors
    /// The file is missing, or a special token is missing in it; otherwise as for [`Tokenizer::read`].
    pub fn read_words(
        dir: &Path,
        rules: WordRules,
        max_tokens: usize,
        vocabulary: usize,
    ) -> Result<Self> {
        let path = dir.join("vocab.txt");
        let reading = || format!("reading {}", path.display());
        let text = read_text(&path).during(reading)?;
        let failed = |error: tokenizers::Error| Error::Model(error.to_string());
        let words = WordPiece::read_bytes(text.as_bytes()).map_err(failed);
        let words = words.during(reading)?;
        let special = ["[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"];
        let mut ids = Vec::new();
        for token in special {
            let id = words.get(token).copied();
            ids.push(id.ok_or_else(|| Error::Model(format!("{} lacks {token}", path.display())))?);
        }
        let (separator, first) = (ids[1], ids[3]);
        let words = WordPiece::builder().vocab(words).build().map_err(failed);
        let mut tokenizer = tokenizers::Tokenizer::new(words.during(reading)?);
        let normalizer = BertNormalizer::new(
            true,
            rules.chinese_characters,
            rules.strip_accents,
            rules.lower_case,
        );
        tokenizer
            .with_normalizer(Some(normalizer))
            .map_err(failed)
            .during(reading)?
            .with_pre_tokenizer(Some(BertPreTokenizer))
            .with_post_processor(Some(BertProcessing::new(
                ("[SEP]".to_owned(), separator),
                ("[CLS]".to_owned(), first),
            )));
        tokenizer
            .add_special_tokens(special.map(|token| AddedToken::from(token, true)))
            .map_err(failed)
            .during(reading)?;
        Self::new(tokenizer, &path, Input::Single, max_tokens, vocabulary)
    }

    /// `path` is that of the file from which the tokenizer was made.
    fn new(
        mut tokenizer: tokenizers::Tokenizer,
        path: &Path,
        input: Input,
        max_tokens: usize,
        vocabulary: usize,
    ) -> Result<Self> {
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
        let padding = tokenizer.get_padding().map(|padding| padding.pad_id);
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
        Ok(Tokenizer { tokenizer, padding })
    }

    /// The id of a token; `None` if there is no such token.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// The padding id of `tokenizer.json`; `None` if it has none.
    pub fn padding(&self) -> Option<u32> {
        self.padding
    }

    /// Makes texts lower case before they are split (`do_lower_case` of sentence-transformers).
    ///
    /// # Errors
    /// An added token cannot be made lower case.
    pub fn lower_case(&mut self) -> Result<()> {
        let steps = vec![NormalizerWrapper::Lowercase(Lowercase)];
        self.normalise_first(steps)
            .during(|| "making texts lower case")
    }

    /// Removes ASCII's punctuation, and superfluous space, before texts are split.
    ///
    /// # Errors
    /// An added token cannot be changed in this way.
    pub fn remove_punctuation(&mut self) -> Result<()> {
        let removing = || "removing punctuation";
        let replace = |pattern: &str, by: &str| {
            let pattern = ReplacePattern::Regex(pattern.to_owned());
            let replace = Replace::new(pattern, by);
            let replace = replace.map_err(|error| Error::Model(error.to_string()));
            replace.during(removing).map(NormalizerWrapper::Replace)
        };
        let steps = vec![
            replace(PUNCTUATION, "")?,
            replace(r"\s+", " ")?,
            NormalizerWrapper::StripNormalizer(Strip::new(true, true)),
        ];
        self.normalise_first(steps).during(removing)
    }

    /// Puts these steps before those of the tokenizer.
    fn normalise_first(&mut self, mut steps: Vec<NormalizerWrapper>) -> Result<()> {
        steps.extend(self.tokenizer.get_normalizer().cloned());
        let all = NormalizerWrapper::Sequence(Sequence::new(steps));
        let changed = self.tokenizer.with_normalizer(Some(all));
        changed.map_err(|error| Error::Model(error.to_string()))?;
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
        self.tokenizer
            .encode_batch_fast(inputs, true)
            .map_err(|error| Error::Input(error.to_string()))
            .during(|| "splitting texts into tokens")
    }
}
