//! The terms of a text, in the form that the index takes.

use tantivy::tokenizer::{TokenStream, Tokenizer};

use super::{Analyzer, CachedWord, TermStream, WordTokenizer};

/// Makes the terms of texts in the form that the index takes: separated by spaces. It caches terms, so one writer should be used for many texts.
///
/// These are the terms of [`Analyzer::build`], which copies each of them into a token first.
pub(crate) struct TermWriter {
    tokenizer: WordTokenizer,
    joined: Vec<u8>,
}

impl Analyzer {
    /// A writer of the terms of these rules.
    pub(crate) fn writer(&self) -> TermWriter {
        TermWriter {
            tokenizer: self.tokenizer(),
            joined: Vec::new(),
        }
    }
}

impl TermWriter {
    /// The terms of a text, separated by spaces, and their number.
    pub fn write(&mut self, text: &str) -> (&str, u32) {
        let TermWriter { tokenizer, joined } = self;
        joined.clear();
        let has_shingles = tokenizer.rules.shingles > 1;
        let stream = tokenizer.token_stream(text);
        let count = if has_shingles {
            write_shingles(stream, joined)
        } else {
            write_words(stream, joined)
        };
        // without the space behind the last term
        joined.pop();
        // all terms are texts, so their bytes are one, too
        (std::str::from_utf8(joined).unwrap_or_default(), count)
    }
}

/// Appends each term of a word and a space. Returns the number of terms.
fn write_words(mut stream: TermStream, joined: &mut Vec<u8>) -> u32 {
    let mut count = 0;
    loop {
        stream.read_ahead();
        let WordTokenizer {
            rules,
            cache,
            ahead,
            ..
        } = &mut *stream.tokenizer;
        if ahead.is_empty() {
            return count;
        }
        for next in ahead.iter() {
            let term = match next.term {
                Some(term) => CachedWord::Short(term),
                None => cache.term(&next.word, |word| rules.term(word)),
            };
            count += u32::from(term.append(joined));
        }
    }
}

/// Appends each term and a space. Returns the number of terms.
fn write_shingles(mut stream: TermStream, joined: &mut Vec<u8>) -> u32 {
    let mut count = 0;
    while stream.advance() {
        joined.extend_from_slice(stream.token().text.as_bytes());
        joined.push(b' ');
        count += 1;
    }
    count
}
