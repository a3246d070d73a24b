//! The words that Krovetz's stemmer knows.

use std::sync::OnceLock;

/// Three lists of words, each sorted by bytes. No word is on two lists.
pub(super) struct Lexicon {
    head_words: Vec<&'static str>,
    exceptions: Vec<&'static str>,
    conflations: Vec<(&'static str, &'static str)>,
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
        self.head_words.binary_search(&word).is_ok()
            || self.root(word).is_some()
            || self.is_exception(word)
    }

    /// Whether the word ends in an e and is also a word without it (`plane`, `plan`). For such words, `-ed` and `-ing` are not replaced by `-e`.
    pub(super) fn is_exception(&self, word: &str) -> bool {
        self.exceptions.binary_search(&word).is_ok()
    }

    /// The stem of an irregular word (`dying`: `die`) or of a nationality (`french`: `france`). It need not be a word of the lexicon.
    pub(super) fn root(&self, word: &str) -> Option<&'static str> {
        let position = self
            .conflations
            .binary_search_by_key(&word, |&(word, _)| word)
            .ok()?;
        self.conflations.get(position).map(|&(_, root)| root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_those_of_lucene_and_sorted_for_searching() {
        let lexicon = Lexicon::get();
        let conflated: Vec<&str> = lexicon.conflations.iter().map(|&(word, _)| word).collect();
        assert_eq!(
            (27_764, 41, 189),
            (
                lexicon.head_words.len(),
                lexicon.exceptions.len(),
                conflated.len()
            )
        );
        for list in [&lexicon.head_words, &lexicon.exceptions, &conflated] {
            assert!(list.is_sorted_by(|left, right| left < right));
            assert!(
                list.iter()
                    .all(|word| word.bytes().all(|letter| letter.is_ascii_lowercase()))
            );
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
