//! Splits a long text into passages. A sentence encoder can read only about 200 words at a time.

use anyhow::{Result, ensure};
use serde::Deserialize;

/// How texts are split into passages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Passages {
    /// Windows of words.
    Windows(PassageWindows),
    /// Sentences, packed until a passage has more than this number of words ([`packed`]).
    Packed(usize),
}

impl Passages {
    /// The passages of a text, with single blanks between words. A text without words has none.
    pub fn split(&self, text: &str) -> Vec<String> {
        match self {
            Passages::Windows(windows) => windows.split(text),
            Passages::Packed(words) => packed(text, *words),
        }
    }
}

/// Overlapping windows of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassageWindows {
    /// Number of words in a window.
    pub words: usize,
    /// Number of words from the start of one window to the start of the next.
    pub step: usize,
    /// Maximum number of windows of a text; the rest is ignored.
    pub most: usize,
}

impl Default for PassageWindows {
    /// MiniLM reads about 200 words. Half of that holds about one thought.
    fn default() -> Self {
        PassageWindows {
            words: 100,
            step: 50,
            most: 8,
        }
    }
}

impl PassageWindows {
    /// # Errors
    /// A number is 0.
    pub fn check(self) -> Result<()> {
        let PassageWindows { words, step, most } = self;
        ensure!(
            words > 0 && step > 0 && most > 0,
            "windows: words, step and most must be above 0"
        );
        Ok(())
    }

    /// The windows of a text, with single blanks between words. A text without words has none.
    pub fn split(&self, text: &str) -> Vec<String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut windows = Vec::new();
        let mut start = 0;
        while start < words.len() && windows.len() < self.most {
            let end = (start + self.words).min(words.len());
            windows.push(words[start..end].join(" "));
            if end == words.len() {
                break;
            }
            start += self.step;
        }
        windows
    }
}

/// Maximum number of packed passages of a text; the rest is ignored. Skeletor has no maximum, but no argument of args.me reaches this one.
const MOST_PACKED: usize = 1000;

/// The numbers of words that a sentence can have. Other sentences are left out.
const SENTENCE_WORDS: std::ops::Range<usize> = 6..500;

/// A full stop after one of these words does not end a sentence.
const TITLES: [&str; 5] = ["Mr", "St", "Mrs", "Ms", "Dr"];

/// A full stop after one of these words or after a single letter ends a sentence only if one of [`STARTERS`] follows.
const SUFFIXES: [&str; 5] = ["Inc", "Ltd", "Jr", "Sr", "Co"];

/// Words that begin sentences.
const STARTERS: [&str; 16] = [
    "Mr", "Mrs", "Ms", "Dr", "He", "She", "It", "They", "Their", "Our", "We", "But", "However",
    "That", "This", "Wherever",
];

/// A full stop before one of these words is part of a web address.
const WEB_ENDINGS: [&str; 5] = ["com", "net", "org", "io", "gov"];

/// The passages of Skeletor at Touché 2021 (kevinros/toucheRetrievalVisualization): whole sentences, until a passage has more than `words` words.
/// Sentences of less than 6 or more than 499 words are left out, and so is the text after the last `.`, `?` or `!`.
fn packed(text: &str, words: usize) -> Vec<String> {
    let mut passages = Vec::new();
    let mut passage = String::new();
    let mut length = 0;
    for sentence in ended_sentences(&cleaned(text)) {
        let count = sentence.split_whitespace().count();
        if !SENTENCE_WORDS.contains(&count) {
            continue;
        }
        for word in sentence.split_whitespace() {
            if !passage.is_empty() {
                passage.push(' ');
            }
            passage.push_str(word);
        }
        length += count;
        if length > words {
            passages.push(std::mem::take(&mut passage));
            length = 0;
            if passages.len() == MOST_PACKED {
                return passages;
            }
        }
    }
    if !passage.is_empty() {
        passages.push(passage);
    }
    passages
}

/// The text with full stops in place of rows of equals signs, and without brackets that contain no letter, such as "\[12\]".
fn cleaned(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '=' => {
                cleaned.push_str(". ");
                after.trim_start_matches('=')
            }
            '[' => match bracket(after) {
                Some(end) => {
                    cleaned.push(' ');
                    &after[end..]
                }
                None => {
                    cleaned.push('[');
                    after
                }
            },
            _ => {
                cleaned.push(c);
                after
            }
        };
    }
    cleaned
}

/// The end of a bracket, given the text after its opening: after the last `]` before the first letter. `None` if the bracket is empty or has a
/// letter.
fn bracket(text: &str) -> Option<usize> {
    let inside = text.find(|c: char| c.is_ascii_alphabetic());
    let inside = text.get(..inside.unwrap_or(text.len()))?;
    inside.rfind(']').filter(|end| *end > 0).map(|end| end + 1)
}

/// The sentences that have an end mark. A quotation mark after the end mark belongs to the sentence.
fn ended_sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut marks = text.char_indices().peekable();
    while let Some((at, mark)) = marks.next() {
        let is_end = match mark {
            '?' | '!' => true,
            '.' => ends_sentence(&text[start..at], &text[at + 1..]),
            _ => false,
        };
        if !is_end {
            continue;
        }
        let mut end = at + 1;
        if let Some((quote, '"' | '”')) = marks.peek().copied() {
            end = quote + text[quote..].chars().next().map_or(0, char::len_utf8);
            marks.next();
        }
        sentences.push(&text[start..end]);
        start = end;
    }
    sentences
}

/// Whether a full stop between `before` and `after` ends a sentence.
fn ends_sentence(before: &str, after: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let word_start = before.rfind(|c| !is_letter(c)).map_or(0, |at| {
        at + before[at..].chars().next().map_or(0, char::len_utf8)
    });
    let word = &before[word_start..];
    let next_end = after.find(|c| !is_letter(c)).unwrap_or(after.len());
    let next = &after[..next_end];
    if TITLES.contains(&word) || WEB_ENDINGS.contains(&next) || (word, next) == ("Ph", "D") {
        return false;
    }
    if word.len() != 1 && !SUFFIXES.contains(&word) {
        return true;
    }
    let following = after.trim_start();
    let end = following.find(|c| !is_letter(c)).unwrap_or(following.len());
    following.len() < after.len() && STARTERS.contains(&&following[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn windows_overlap_and_end_with_the_text() {
        let windows = PassageWindows {
            words: 4,
            step: 2,
            most: 3,
        };
        let split = |text: &str| windows.split(text);
        assert_eq!(split("a b c d e"), ["a b c d", "c d e"]);
        assert_eq!(split("a  b\nc d"), ["a b c d"]);
        assert_eq!(split("a b c d e f g h i j").len(), 3);
        assert!(split(" \n").is_empty());
    }

    #[test]
    fn sentences_end_as_in_skeletors_program() {
        let text = "Dr. No paid $1.5 to debate.org today. Ask Acme Inc. about it! \
             He has a Ph.D. in U.S. law. She said \"no.\" Then it ended";
        let found: Vec<&str> = ended_sentences(text).into_iter().map(str::trim).collect();
        assert_eq!(
            found,
            [
                "Dr. No paid $1.",
                "5 to debate.org today.",
                "Ask Acme Inc. about it!",
                "He has a Ph.D. in U.S. law.",
                "She said \"no.\"",
            ]
        );
        assert_eq!(
            ended_sentences("It is in the U.S. This ends."),
            ["It is in the U.S.", " This ends."]
        );
    }

    #[test]
    fn sentences_are_packed_until_there_are_too_many_words() {
        let text = "One two three four five six. Too short. \
             [1] One two three four five six seven === Last of all words are not ended";
        // the row of equals signs ends the second long sentence
        assert_eq!(
            packed(text, 100),
            ["One two three four five six. One two three four five six seven ."]
        );
        assert_eq!(
            packed(text, 5),
            [
                "One two three four five six.",
                "One two three four five six seven ."
            ]
        );
        assert!(packed("no end mark in this text at all", 200).is_empty());
        assert_eq!(
            cleaned("a [12, 3] b [see 4] c [] d"),
            "a   b [see 4] c [] d"
        );
    }

    proptest! {
        #[test]
        fn any_text_can_be_split(text in r#"([A-Za-z. !?"”=\[\]é1\n]|Mr\.|Ph\.D\.){0,200}"#, words in 1..20usize) {
            for passage in packed(&text, words) {
                prop_assert!(passage.split_whitespace().count() >= SENTENCE_WORDS.start);
            }
        }
    }
}
