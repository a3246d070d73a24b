//! Stop lists: frequent words that say nothing about the topic of a text.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use tantivy::tokenizer::{
    Language, RawTokenizer, StopWordFilter, TokenFilter, TokenStream, Tokenizer,
};

use crate::disk::{hex, regular};
use crate::wording::UnknownName;

/// The beginning of the name of a list that was read from a file. A hash of its words follows.
const FROM_FILE: &str = "file:";

/// A list of words that are left out.
///
/// The built-in lists for English are in `src/index/stop_words/`, with one word on each line. Those for other languages are in tantivy.
#[derive(Clone)]
pub struct StopList {
    /// One of [`StopList::names`], or "file:" and a hash of the words.
    name: Arc<str>,
    words: Arc<HashSet<Box<str>>>,
    /// A language other than English, and the filter that has its list.
    of_language: Option<(&'static str, StopWordFilter)>,
}

/// The built-in lists by name.
const LISTS: [(&str, &str); 15] = [
    ("none", ""),
    // articles, forms of "to be", and the most frequent prepositions and conjunctions, without negations and question words
    ("short", include_str!("stop_words/short.txt")),
    // Lucene's EnglishAnalyzer, also Elasticsearch's `_english_` (Apache-2.0)
    ("lucene", include_str!("stop_words/lucene.txt")),
    // Snowball's list (snowballstem.org/algorithms/english/stop.txt, BSD-3-Clause, Copyright (c) 2001 Dr Martin Porter, (c) 2002
    // Richard Boulton), with contractions as the two words into which `tokens=words` splits them
    ("long", include_str!("stop_words/long.txt")),
    // Snowball's list as it was published, for `tokens=standard`
    ("snowball", include_str!("stop_words/snowball.txt")),
    // the list of 99webtools.com, which the team Elrond used
    ("99webtools", include_str!("stop_words/99webtools.txt")),
    // the list of the team Aldo Nadi
    ("aldo-nadi", include_str!("stop_words/aldo-nadi.txt")),
    // the list of the search engine ATIRE, collected by Puurula
    ("atire", include_str!("stop_words/atire.txt")),
    // Lucene's list and three more words that the team Deadpool added
    ("deadpool", include_str!("stop_words/deadpool.txt")),
    // the list of EBSCOhost's databases MEDLINE and CINAHL
    ("ebscohost", include_str!("stop_words/ebscohost.txt")),
    // the list of the text retrieval toolkit Onix, Lextek
    ("onix", include_str!("stop_words/onix.txt")),
    // the list of the team Shanks
    ("shanks", include_str!("stop_words/shanks.txt")),
    // the list of the retrieval system SMART, Cornell University
    ("smart", include_str!("stop_words/smart.txt")),
    // the list of the retrieval system Terrier, University of Glasgow
    ("terrier", include_str!("stop_words/terrier.txt")),
    // the list of the Python package Whoosh
    ("whoosh", include_str!("stop_words/whoosh.txt")),
];

/// The languages other than English that have a list: Snowball's (snowballstem.org, BSD-3-Clause), which tantivy contains. An update of
/// tantivy that changes one needs a new version of the index format, as a changed list of this program does.
const LANGUAGES: [(&str, Language); 12] = [
    ("danish", Language::Danish),
    ("dutch", Language::Dutch),
    ("finnish", Language::Finnish),
    ("french", Language::French),
    ("german", Language::German),
    ("hungarian", Language::Hungarian),
    ("italian", Language::Italian),
    ("norwegian", Language::Norwegian),
    ("portuguese", Language::Portuguese),
    ("russian", Language::Russian),
    ("spanish", Language::Spanish),
    ("swedish", Language::Swedish),
];

impl StopList {
    /// The names of the built-in lists.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let for_english = LISTS.iter().map(|(name, _)| *name);
        for_english.chain(Self::languages())
    }

    /// The languages other than English that have a list, which has the name of the language.
    pub fn languages() -> impl Iterator<Item = &'static str> {
        LANGUAGES.iter().map(|(name, _)| *name)
    }

    /// The list with this name or, if the name contains a point or a slash, the list in the file with this name. The file has one word on each
    /// line; blank lines and lines that begin with # are ignored.
    ///
    /// # Errors
    /// There is no such list, or the file cannot be read.
    pub fn find(name: &str) -> Result<Self> {
        if let Some((name, text)) = LISTS.iter().find(|(known, _)| *known == name) {
            return Ok(StopList {
                name: (*name).into(),
                words: Arc::new(text.lines().map(Box::from).collect()),
                of_language: None,
            });
        }
        if let Some((name, language)) = LANGUAGES.iter().find(|(known, _)| *known == name) {
            let filter = StopWordFilter::new(*language);
            return Ok(StopList {
                name: (*name).into(),
                words: Arc::default(),
                of_language: filter.map(|filter| (*name, filter)),
            });
        }
        if name.starts_with(FROM_FILE) {
            // an index stores only the name of a list from a file; the words come from the analyzer with which the index is opened
            return Ok(StopList {
                name: name.into(),
                words: Arc::default(),
                of_language: None,
            });
        }
        if !name.contains(['.', '/']) {
            let unknown = UnknownName::new("stop list", name, StopList::names());
            return Err(unknown.or(", or name a file").into());
        }
        Self::read(Path::new(name)).with_context(|| format!("cannot read the stop list {name}"))
    }

    /// A built-in list; without words if there is no such list.
    pub(crate) fn built_in(name: &str) -> Self {
        Self::find(name).unwrap_or_default()
    }

    fn read(path: &Path) -> Result<Self> {
        let text = regular::read_text(path, crate::limits::MAX_STOP_LIST_BYTES)?;
        let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
        let words: HashSet<Box<str>> = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| line.to_lowercase().into_boxed_str())
            .collect();
        let mut sorted: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        sorted.sort_unstable();
        let hash = hex(&Sha256::digest(sorted.join("\n"))[..8]);
        Ok(StopList {
            name: format!("{FROM_FILE}{hash}").into(),
            words: Arc::new(words),
            of_language: None,
        })
    }

    /// The name. Lists with the same name have the same words, if these are known ([`StopList::is_known`]).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the words are known. They are not if the list was read from a file and the name comes from an index, which stores only names.
    pub fn is_known(&self) -> bool {
        !self.name.starts_with(FROM_FILE) || !self.words.is_empty()
    }

    /// The language of a list for another language than English.
    pub fn language(&self) -> Option<&'static str> {
        self.of_language.as_ref().map(|(name, _)| *name)
    }

    /// Whether this is a built-in list for English.
    pub fn is_english(&self) -> bool {
        let mut lists = LISTS.iter().skip(1);
        lists.any(|(name, _)| *name == &*self.name)
    }

    /// Whether a word in lower case is on the list.
    pub fn contains(&self, word: &str) -> bool {
        match &self.of_language {
            // tantivy shows no words, it only leaves them out
            Some((_, filter)) => {
                let mut left = filter.clone().transform(RawTokenizer::default());
                !word.is_empty() && !left.token_stream(word).advance()
            }
            None => self.words.contains(word),
        }
    }
}

impl fmt::Debug for StopList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StopList").field(&self.name).finish()
    }
}

impl Default for StopList {
    /// No words.
    fn default() -> Self {
        StopList {
            name: "none".into(),
            words: Arc::default(),
            of_language: None,
        }
    }
}

impl PartialEq for StopList {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for StopList {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_have_as_many_words_as_their_sources_say() {
        for (name, words) in [
            ("none", 0),
            ("short", 24),
            ("lucene", 33),
            ("99webtools", 183),
            ("atire", 988),
            ("deadpool", 36),
            ("ebscohost", 24),
            ("terrier", 733),
            ("whoosh", 34),
        ] {
            assert_eq!(StopList::find(name).unwrap().words.len(), words, "{name}");
        }
        for (name, _) in LISTS {
            let list = StopList::find(name).unwrap();
            let mut words = list.words.iter().map(AsRef::as_ref);
            assert!(
                words.all(|word: &str| !word.is_empty() && word.trim() == word),
                "{name}"
            );
        }
        assert!(StopList::find("deadpool").unwrap().contains("your"));
        let error = StopList::find("krovetz").unwrap_err().to_string();
        assert!(
            error.contains("choose one of none, short, lucene"),
            "{error}"
        );
    }

    #[test]
    fn each_language_has_its_words_and_not_those_of_others() {
        let words = [
            ("danish", "hvad"),
            ("dutch", "het"),
            ("finnish", "minä"),
            ("french", "vous"),
            ("german", "für"),
            ("hungarian", "hogy"),
            ("italian", "della"),
            ("norwegian", "ikkje"),
            ("portuguese", "você"),
            ("russian", "что"),
            ("spanish", "muy"),
            ("swedish", "från"),
        ];
        assert!(
            words
                .iter()
                .map(|(name, _)| *name)
                .eq(StopList::languages())
        );
        for (name, word) in words {
            let list = StopList::find(name).unwrap();
            assert_eq!((list.name(), list.language()), (name, Some(name)));
            assert!(list.contains(word) && list.is_known(), "{name}");
            assert!(!list.contains("haus") && !list.contains(""), "{name}");
            let mut others = words.iter().filter(|(other, _)| *other != name);
            assert!(others.all(|(_, other)| !list.contains(other)), "{name}");
            assert!(!list.is_english());
        }
        assert!(!StopList::default().is_english() && StopList::find("smart").unwrap().is_english());
        assert!(StopList::find("english").is_err());
    }

    #[test]
    fn a_list_of_ones_own_is_known_by_its_words() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            StopList::find(path.to_str().unwrap()).unwrap()
        };
        let list = write("a.txt", "# mine\nThe\n\nof\n");
        assert!(list.contains("the") && list.contains("of") && !list.contains("# mine"));
        assert_eq!(list, write("b.txt", "of\r\nthe"));
        assert_ne!(list, write("c.txt", "of\nthe\nand"));
        // the list as it is stored with an index
        let stored = StopList::find(list.name()).unwrap();
        assert!(stored == list && list.is_known() && !stored.is_known());
        assert!(StopList::find("missing.txt").is_err());
    }
}
