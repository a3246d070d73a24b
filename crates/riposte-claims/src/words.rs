//! Ways to split a text into words, and into sentences.
//!
//! They differ in what a word is, so code that counts words or learns weights of words uses always the same one:
//!
//! | function | "Don't!" | "cutting-edge" | "C++" | punctuation |
//! |---|---|---|---|---|
//! | [`tokens`] | Don't | cutting, edge | C++ | kept if it ends or separates sentences or clauses |
//! | [`trimmed_words`] | Don't | cutting-edge | C | dropped at both ends of a word, kept inside |
//! | [`alphanumeric_words`] | Don, t | cutting, edge | C | dropped |
//! | [`apostrophe_words`] | Don't | cutting, edge | C | dropped, except apostrophes |
//!
//! [`tagger::split`](crate::tagger::split()) splits as the Penn Treebank does.
//!
//! ```
//! use riposte_claims::words::sentences;
//!
//! let sentences = sentences("C++ wins! Goat's milk, v1.5, isn't cow's.");
//! assert_eq!(sentences[1].text, "Goat's milk, v1.5, isn't cow's.");
//! let words: Vec<&str> = sentences[1].words().map(|word| word.lower.as_str()).collect();
//! assert_eq!(words, ["goat's", "milk", "v1", "5", "isn't", "cow's"]);
//! ```

/// A word or a punctuation mark.
#[derive(Clone, Debug)]
pub struct TextToken<'a> {
    /// The token, as it is in the text.
    pub text: &'a str,
    /// The token in lower case, with straight apostrophes.
    pub lower: String,
    /// Byte offset of the token's start in the whole text.
    pub start: usize,
    /// Byte offset of its end, exclusive.
    pub end: usize,
    /// Whether the token is a word and not punctuation.
    pub word: bool,
}

/// The tokens up to an end mark (".", "!" or "?"), up to a separator of menus ("|" or "•"), or 60 tokens.
#[derive(Clone, Debug)]
pub struct Sentence<'a> {
    /// The text from the first token to the last.
    pub text: &'a str,
    /// Byte offset of `text` in the whole text.
    pub start: usize,
    /// At least one of them is a word.
    pub tokens: Vec<TextToken<'a>>,
}

impl Sentence<'_> {
    /// Whether the sentence ends with a question mark.
    pub fn is_question(&self) -> bool {
        self.tokens.last().is_some_and(|token| token.text == "?")
    }

    /// The words of the sentence, without punctuation.
    pub fn words(&self) -> impl Iterator<Item = &TextToken<'_>> {
        self.tokens.iter().filter(|token| token.word)
    }
}

/// The words and punctuation marks of a text, in order.
///
/// A word is a run of letters and digits with apostrophes inside it and `+` or `#` after it ("goat's", "C++"). Marks that end or separate sentences
/// or clauses (`. ! ? , ; : ( ) [ ] | •`) are separate tokens; all other characters are dropped.
pub fn tokens(text: &str) -> Vec<TextToken<'_>> {
    let mut tokens = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        let word = c.is_alphanumeric();
        if word {
            while let Some(&(at, next)) = chars.peek() {
                let after = || text.get(at + next.len_utf8()..)?.chars().next();
                let inside = next.is_alphanumeric()
                    || (matches!(next, '\'' | '’') && after().is_some_and(char::is_alphanumeric));
                if !inside {
                    break;
                }
                end = at + next.len_utf8();
                chars.next();
            }
            while let Some(&(at, next @ ('+' | '#'))) = chars.peek() {
                end = at + next.len_utf8();
                chars.next();
            }
        } else if !matches!(
            c,
            '.' | '!' | '?' | ',' | ';' | ':' | '(' | ')' | '[' | ']' | '|' | '•'
        ) {
            continue;
        }
        let token = &text[start..end];
        tokens.push(TextToken {
            text: token,
            lower: if token.is_ascii() {
                token.to_ascii_lowercase()
            } else {
                token.to_lowercase().replace('’', "'")
            },
            start,
            end,
            word,
        });
    }
    tokens
}

/// The sentences of a text, in order. Those without a word are left out; [`Sentence`] says where one ends.
pub fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut sentences = Vec::new();
    let mut current: Vec<TextToken<'_>> = Vec::new();
    for token in tokens(text) {
        let stop = match token.text {
            "." | "!" | "?" => text[token.end..]
                .chars()
                .next()
                .is_none_or(|c| c.is_whitespace() || matches!(c, ')' | '"' | '”')),
            "|" | "•" => true,
            _ => false,
        };
        current.push(token);
        if stop || current.len() >= crate::limits::MAX_SENTENCE_TOKENS {
            end_sentence(text, &mut current, &mut sentences);
        }
    }
    end_sentence(text, &mut current, &mut sentences);
    sentences
}

/// Moves the collected tokens into a new sentence if one of them is a word, and drops them otherwise.
fn end_sentence<'a>(
    text: &'a str,
    current: &mut Vec<TextToken<'a>>,
    sentences: &mut Vec<Sentence<'a>>,
) {
    let tokens = std::mem::take(current);
    if let (Some(first), Some(last)) = (tokens.first(), tokens.last())
        && tokens.iter().any(|token| token.word)
    {
        sentences.push(Sentence {
            text: &text[first.start..last.end],
            start: first.start,
            tokens,
        });
    }
}

/// The words between white space, without the marks around them.
///
/// The characters before the first letter or digit of a word and after its last are left out; those inside it are kept. A piece without letters and digits is not a word.
pub fn trimmed_words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

/// The runs of letters and digits.
pub fn alphanumeric_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// The runs of letters, digits and apostrophes, straight or curly.
///
/// A run of only apostrophes counts as a word too.
pub fn apostrophe_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’')))
        .filter(|word| !word.is_empty())
}

/// The number of tokens that are on a list of words in lower case.
pub fn count<'a>(words: impl IntoIterator<Item = &'a TextToken<'a>>, list: &[&str]) -> f64 {
    words
        .into_iter()
        .filter(|token| list.contains(&token.lower.as_str()))
        .count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        let text = "Goat's milk, v1.5, isn't cow's. C++ wins! Home | Contact";
        let found: Vec<&str> = sentences(text).iter().map(|s| s.text).collect();
        assert_eq!(
            found,
            [
                "Goat's milk, v1.5, isn't cow's.",
                "C++ wins!",
                "Home |",
                "Contact"
            ]
        );
        let words: Vec<String> = tokens("Don’t stop C#")
            .into_iter()
            .map(|t| t.lower)
            .collect();
        assert_eq!(words, ["don't", "stop", "c#"]);
        assert!(sentences(" ... ?!").is_empty());
    }

    #[test]
    fn each_way_to_split_has_its_own_words() {
        let text = "\"Don't!\" said cutting-edge C++, it’s '' - done";
        let lower: Vec<String> = tokens(text)
            .into_iter()
            .filter(|t| t.word)
            .map(|t| t.lower)
            .collect();
        assert_eq!(lower.join(" "), "don't said cutting edge c++ it's done");
        let trimmed: Vec<&str> = trimmed_words(text).collect();
        assert_eq!(
            trimmed,
            ["Don't", "said", "cutting-edge", "C", "it’s", "done"]
        );
        let runs: Vec<&str> = alphanumeric_words(text).collect();
        assert_eq!(
            runs,
            [
                "Don", "t", "said", "cutting", "edge", "C", "it", "s", "done"
            ]
        );
        let apostrophes: Vec<&str> = apostrophe_words(text).collect();
        assert_eq!(
            apostrophes,
            [
                "Don't", "said", "cutting", "edge", "C", "it’s", "''", "done"
            ]
        );
    }
}
