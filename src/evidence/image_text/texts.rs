//! How the texts of a model become tokens: what its tokenizer does, and what its processor does before.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result, bail};
use riposte_nn::checkpoint::read_json_if_there;
use riposte_nn::tokens::{Encoding, Input, Tokenizer, WordRules};
use riposte_nn::transformer::clip::ClipConfig;
use serde::Deserialize;

use crate::disk::regular;

const TOKENIZER: &str = "tokenizer.json";
const SETTINGS: &str = "tokenizer_config.json";

/// The tokenizer of a model, with what comes before it.
pub(in crate::evidence) struct Texts {
    tokenizer: Tokenizer,
    /// Whether Python makes texts lower case before the tokenizer sees them. It differs from the tokenizer's own rule at the end of Greek words.
    lower_case: bool,
}

/// `tokenizer_config.json`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenizerConfig {
    tokenizer_class: Option<String>,
    pad_token: Option<TokenText>,
    do_lower_case: Option<bool>,
    strip_accents: Option<bool>,
    tokenize_chinese_chars: Option<bool>,
}

/// A token in the file.
#[derive(Deserialize)]
#[serde(untagged)]
enum TokenText {
    Text(String),
    Described { content: String },
}

impl TokenizerConfig {
    fn read(dir: &Path) -> Result<TokenizerConfig> {
        Ok(read_json_if_there(&dir.join(SETTINGS))?.unwrap_or_default())
    }
}

impl Texts {
    /// Those of CLIP, which are cut to the model's length.
    pub fn of_clip(dir: &Path, config: &ClipConfig) -> Result<Texts> {
        let text = &config.text;
        let (most, vocabulary) = (text.max_position_embeddings, text.vocab_size);
        Ok(Texts {
            tokenizer: Tokenizer::read(dir, Input::Single, most, vocabulary)?,
            lower_case: false,
        })
    }

    /// Those of SigLIP, with the token that fills them up.
    ///
    /// All SigLIPs were trained with texts in lower case. The first ones also had no punctuation, which a published tokenizer.json does not always
    /// say; the second ones have the tokenizer of Gemma, which keeps capital letters.
    pub fn of_siglip(dir: &Path, tokens: usize, vocabulary: usize) -> Result<(Texts, u32)> {
        let mut tokenizer = Tokenizer::read(dir, Input::Single, tokens, vocabulary)?;
        let settings = TokenizerConfig::read(dir)?;
        let padding = match &settings.pad_token {
            Some(TokenText::Text(token) | TokenText::Described { content: token }) => {
                let id = tokenizer.id(token);
                id.with_context(|| {
                    let dir = dir.display();
                    format!("{dir}: {SETTINGS} pads with {token}, which {TOKENIZER} lacks")
                })?
            }
            // SigLIP 1 and 2 pad with different tokens
            None => tokenizer.padding().with_context(|| {
                let dir = dir.display();
                format!("{dir}: neither {SETTINGS} nor {TOKENIZER} says with which token texts are padded (pad_token)")
            })?,
        };
        if padding as usize >= vocabulary {
            bail!(
                "{}: texts are padded with token {padding}, but the model has {vocabulary} tokens",
                dir.display()
            );
        }
        let mut lower_case = false;
        if settings.tokenizer_class.as_deref() == Some("SiglipTokenizer") {
            tokenizer.remove_punctuation()?;
            lower_case = settings.do_lower_case.unwrap_or(true);
        } else {
            tokenizer.lower_case()?;
        }
        let texts = Texts {
            tokenizer,
            lower_case,
        };
        Ok((texts, padding))
    }

    /// Those of a model with BERT's tokenizer. Without tokenizer.json, it is made from vocab.txt.
    pub fn of_bert(dir: &Path, tokens: usize, vocabulary: usize) -> Result<Texts> {
        let words = dir.join("vocab.txt");
        let tokenizer = if !regular::exists(&dir.join(TOKENIZER))? && regular::exists(&words)? {
            let settings = TokenizerConfig::read(dir)?;
            let rules = WordRules {
                lower_case: settings.do_lower_case.unwrap_or(true),
                strip_accents: settings.strip_accents,
                chinese_characters: settings.tokenize_chinese_chars.unwrap_or(true),
            };
            Tokenizer::read_words(dir, rules, tokens, vocabulary)?
        } else {
            Tokenizer::read(dir, Input::Single, tokens, vocabulary)?
        };
        Ok(Texts {
            tokenizer,
            lower_case: false,
        })
    }

    /// The tokens of each text, in the order given.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn encode<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> Result<Vec<Encoding>> {
        let texts = texts.into_iter().map(|text| match self.lower_case {
            true => Cow::Owned(text.to_lowercase()),
            false => Cow::Borrowed(text),
        });
        Ok(self.tokenizer.encode(texts)?)
    }
}
