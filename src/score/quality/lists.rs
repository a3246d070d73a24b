//! The word lists for the quality of texts. Only [`super::features`] uses them, and the learned weights (`models/own/quality.toml`) are valid
//! only for exactly these words. No published source is known for them.

use std::sync::LazyLock;

/// Words, one on each line of a file.
pub(super) type WordList = LazyLock<Vec<&'static str>>;

/// Slang, filler words and abbreviations of chats.
pub(super) static SLANG: WordList =
    LazyLock::new(|| include_str!("lists/slang.txt").lines().collect());

/// Beginnings of profane words.
pub(super) static PROFANITY: WordList =
    LazyLock::new(|| include_str!("lists/profanity.txt").lines().collect());

/// Profane words that only count as whole words, because other words begin with them.
pub(super) static PROFANE_WORDS: WordList =
    LazyLock::new(|| include_str!("lists/profane-words.txt").lines().collect());

/// Frequent misspellings, and contractions without their apostrophe. "i" counts only in lower case.
pub(super) static MISSPELLINGS: WordList =
    LazyLock::new(|| include_str!("lists/misspellings.txt").lines().collect());

/// Words that connect sentences and show the structure of an argument.
pub(super) static CONNECTIVES: WordList =
    LazyLock::new(|| include_str!("lists/connectives.txt").lines().collect());

/// Frequent function words; running text has more of them than headlines, menus and lists of keywords.
pub(super) static STOP_WORDS: WordList =
    LazyLock::new(|| include_str!("lists/stop-words.txt").lines().collect());

/// Words with which a text refers to sources and figures.
pub(super) static EVIDENCE: WordList =
    LazyLock::new(|| include_str!("lists/evidence.txt").lines().collect());

/// Remains of links and HTML.
pub(super) static MARKUP: WordList =
    LazyLock::new(|| include_str!("lists/markup.txt").lines().collect());

/// Beginnings of words with which debaters speak about the debate instead of its subject.
pub(super) static DEBATE: WordList =
    LazyLock::new(|| include_str!("lists/debate.txt").lines().collect());

/// Words that address the reader or the opponent.
pub(super) static SECOND_PERSON: WordList =
    LazyLock::new(|| include_str!("lists/second-person.txt").lines().collect());
