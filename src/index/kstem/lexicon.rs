//! The words that Krovetz's stemmer knows.

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};

/// Three lists of words. No word is on two lists.
pub(super) struct Lexicon {
    head_words: FxHashSet<&'static str>,
    exceptions: FxHashSet<&'static str>,
    conflations: FxHashMap<&'static str, &'static str>,
}

impl Lexicon {
    /// The lexicon of Lucene. It is read once.
    pub(super) fn get() -> &'static Self {
        static LEXICON: OnceLock<Lexicon> = OnceLock::new();
        LEXICON.get_or_init(|| Self {
            head_words: include_str!("head-words.txt").lines().collect(),
            exceptions: include_str!("exceptions.txt").lines().collect(),
            conflations: include_str!("conflations.txt")
                .lines()
                .filter_map(|line| line.split_once(' '))
                .collect(),
        })
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        self.head_words.contains(word)
            || self.conflations.contains_key(word)
            || self.is_exception(word)
    }

    /// Whether the word ends in an e and is also a word without it (`plane`, `plan`). For such words, `-ed` and `-ing` are not replaced by `-e`.
    pub(super) fn is_exception(&self, word: &str) -> bool {
        self.exceptions.contains(word)
    }

    /// The stem of an irregular word (`dying`: `die`) or of a nationality (`french`: `france`). It need not be a word of the lexicon.
    pub(super) fn root(&self, word: &str) -> Option<&'static str> {
        self.conflations.get(word).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_those_of_lucene() {
        let Lexicon {
            head_words,
            exceptions,
            conflations,
        } = Lexicon::get();
        let lengths = [head_words.len(), exceptions.len(), conflations.len()];
        assert_eq!(lengths, [27_764, 41, 189]);
        let listed = head_words
            .iter()
            .chain(exceptions)
            .chain(conflations.keys());
        for word in listed {
            assert!(word.bytes().all(|letter| letter.is_ascii_lowercase()));
        }
    }

    #[test]
    fn no_word_is_on_two_lists() {
        let lexicon = Lexicon::get();
        for word in &lexicon.head_words {
            assert!(lexicon.root(word).is_none() && !lexicon.is_exception(word));
        }
        for word in &lexicon.exceptions {
            assert!(lexicon.root(word).is_none());
        }
    }
}
