//! The key of a user of ChatNoir. No message and no file shows it.

use std::path::Path;
use std::{env, fmt};

use anyhow::{Context, Result, bail, ensure};

use crate::disk::regular;

/// The environment variable with the key.
const VARIABLE: &str = "CHATNOIR_API_KEY";

/// Maximum length of a key in bytes. The service's keys and signed tokens are much shorter.
const MAX_BYTES: u64 = 4096;

/// Number of characters of the key that no shown word has in common with it, in either case.
const IN_COMMON: usize = 4;

/// Length in bytes from which a word of the service is not shown. In base64, a key of 12 characters has 16.
const LONG_WORD: usize = 16;

/// A key, or a token made from one.
pub struct ChatNoirKey(String);

impl ChatNoirKey {
    /// The key in this file or, without a file, in the environment variable `CHATNOIR_API_KEY`. `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or the text is not a key.
    pub fn find(file: Option<&Path>) -> Result<Option<ChatNoirKey>> {
        let Some(path) = file else {
            return match env::var(VARIABLE) {
                Ok(text) if text.trim().is_empty() => Ok(None),
                Ok(text) => ChatNoirKey::new(&text).context(VARIABLE).map(Some),
                Err(env::VarError::NotPresent) => Ok(None),
                Err(env::VarError::NotUnicode(_)) => bail!("{VARIABLE} is not valid UTF-8"),
            };
        };
        let reading = || format!("cannot read the key in {}", path.display());
        let text = regular::read_text(path, MAX_BYTES).with_context(reading)?;
        ChatNoirKey::new(&text).with_context(reading).map(Some)
    }

    /// Checks a key. White space around it is removed.
    ///
    /// # Errors
    /// The text is empty, or has characters other than visible ASCII. Quotation marks and backslashes are not allowed either: JSON would escape them,
    /// but a key must look the same in every message ([`ChatNoirKey::hidden_in`]).
    pub fn new(text: &str) -> Result<ChatNoirKey> {
        let key = text.trim();
        ensure!(!key.is_empty(), "there is no key in it");
        // the key itself must not be in the message
        ensure!(
            key.bytes()
                .all(|b| b.is_ascii_graphic() && !b"\"\\".contains(&b)),
            "a key consists of letters, digits and punctuation marks of ASCII, without blanks and quotation marks"
        );
        Ok(ChatNoirKey(key.to_owned()))
    }

    /// The key itself. It is only for requests to the service.
    pub(super) fn secret(&self) -> &str {
        &self.0
    }

    /// The text with dots in place of the key: a service may repeat in a message what it was sent.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        text.replace(&self.0, "…")
    }

    /// A message of the service without the key. The service may repeat the key in capitals, in part or in another encoding, so no word is shown that
    /// has some characters in common with it, or is long enough to be such an encoding.
    pub(super) fn hidden_from(&self, message: &str) -> String {
        let key: Vec<u8> = self.0.to_ascii_lowercase().into_bytes();
        let parts: Vec<&[u8]> = key.windows(IN_COMMON.min(key.len())).collect();
        let shown = |word: &str| {
            let word = word.to_ascii_lowercase();
            let has = |part: &&[u8]| word.as_bytes().windows(part.len()).any(|run| run == *part);
            word.len() < LONG_WORD && !parts.iter().any(has)
        };
        let words = message.split_whitespace();
        let words: Vec<&str> = words
            .map(|word| if shown(word) { word } else { "…" })
            .collect();
        words.join(" ")
    }
}

impl fmt::Debug for ChatNoirKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    #[test]
    fn no_form_of_the_key_is_shown() {
        let key = ChatNoirKey::new("dQw4-w9WgXcQ").unwrap();
        let hex: String = key.0.bytes().map(|byte| format!("{byte:02x}")).collect();
        for form in [
            key.0.clone(),
            key.0.to_uppercase(),
            "key=dQw4-w9…".to_owned(),
            STANDARD.encode(&key.0),
            STANDARD.encode(format!("user:{}", key.0)),
            URL_SAFE_NO_PAD.encode(&key.0),
            hex,
        ] {
            let shown = key.hidden_from(&format!("the key {form} has expired"));
            assert_eq!(shown, "the key … has expired", "{form}");
        }
    }
}
