//! Synonyms and the base forms of nouns, from an installed copy of WordNet (Princeton; Miller 1995). The manual page wndb(5WN) describes the
//! format of its `index.*` and `data.*` files.

// a word is then read as what it looks like
#![expect(clippy::disallowed_methods)]

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use riposte_claims::words::alphanumeric_words;
use strum::{Display, VariantArray};
use tantivy::tokenizer::TextAnalyzer;

use super::analyzer;
use super::search::QueryPart;
use crate::disk::regular;
use crate::limits::MAX_WORDNET_BYTES;

/// A part of speech.
///
/// Its text form is the extension of its files.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, serde::Deserialize, VariantArray)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum PartOfSpeech {
    Noun,
    Verb,
    #[strum(serialize = "adj")]
    Adjective,
    #[strum(serialize = "adv")]
    Adverb,
}

/// Which synonyms are added to a query. In a recipe it is written `{ weight = 0.05, senses = 1, parts = ["noun", "adjective"] }`.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synonyms {
    /// The weight of a synonym, as a share of the weight of its word.
    pub weight: f64,
    /// Number of senses of a word, for each part of speech, whose synonyms are used: the most frequent ones. All by default.
    #[serde(default = "all_senses")]
    pub senses: usize,
    /// The parts of speech; all by default.
    #[serde(default = "all_parts")]
    pub parts: Vec<PartOfSpeech>,
    /// Whether only synonyms of a single word are used.
    #[serde(default)]
    pub single_words: bool,
    /// Whether the base form of a noun and its synonyms are used, too.
    #[serde(default)]
    pub base_forms: bool,
}

fn all_senses() -> usize {
    usize::MAX
}

fn all_parts() -> Vec<PartOfSpeech> {
    PartOfSpeech::VARIANTS.to_vec()
}

/// The directories in which systems install WordNet.
const DIRECTORIES: [&str; 3] = [
    "/usr/share/wordnet",
    "/usr/local/WordNet-3.0/dict",
    "/usr/local/share/wordnet",
];

/// The endings of nouns, each with its replacement in the base form.
const NOUN_ENDINGS: [(&str, &str); 9] = [
    ("s", ""),
    ("ses", "s"),
    ("ves", "f"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
];

/// A copy of WordNet, read into memory.
pub struct WordNet {
    parts: Vec<(PartOfSpeech, Lexicon)>,
    /// The base forms of irregular nouns (`noun.exc`); empty if the copy lacks the file.
    irregular_nouns: HashMap<String, Vec<String>>,
}

/// The words of one part of speech.
struct Lexicon {
    /// For each lemma the byte offsets of its synsets in `data`, the most frequent sense first.
    lemmas: HashMap<String, Vec<usize>>,
    /// The content of the data file.
    data: Vec<u8>,
}

impl WordNet {
    /// The directory with the copy: `$WNSEARCHDIR` if it is set, otherwise one of the usual directories. None if it has no copy.
    pub fn find() -> Option<PathBuf> {
        let directories = match std::env::var_os("WNSEARCHDIR") {
            Some(directory) => vec![PathBuf::from(directory)],
            None => DIRECTORIES.map(PathBuf::from).to_vec(),
        };
        let mut directories = directories.into_iter();
        directories.find(|dir| dir.join("index.noun").is_file())
    }

    /// Reads the copy in a directory.
    ///
    /// # Errors
    /// A file cannot be read, or an index has a malformed line.
    pub fn open(dir: &Path) -> Result<Self> {
        let mut parts = Vec::new();
        for &part in PartOfSpeech::VARIANTS {
            let read = |file: PathBuf| {
                regular::read(&file, MAX_WORDNET_BYTES)
                    .with_context(|| format!("cannot read {}", file.display()))
            };
            let path = dir.join(format!("index.{part}"));
            let index = read(path.clone())?;
            let index = String::from_utf8_lossy(&index);
            let mut lemmas = HashMap::new();
            // lines of the licence begin with a space
            for line in index.lines().filter(|line| !line.starts_with(' ')) {
                let Some((lemma, synsets)) = index_line(line) else {
                    bail!("{} is no WordNet index: {line:?}", path.display());
                };
                lemmas.insert(lemma.to_owned(), synsets);
            }
            let data = read(dir.join(format!("data.{part}")))?;
            parts.push((part, Lexicon { lemmas, data }));
        }
        Ok(WordNet {
            parts,
            irregular_nouns: irregular(&dir.join("noun.exc"))?,
        })
    }

    /// The base form of a word as a noun, as NLTK's `WordNetLemmatizer` finds it by default: the shortest noun of WordNet among the word
    /// and its forms without an ending. The word itself if there is none. Case matters: WordNet is in lower case, so a word with a
    /// capital is never changed.
    pub fn noun(&self, word: &str) -> String {
        if let Some(bases) = self.irregular_nouns.get(word) {
            let forms = std::iter::once(word.to_owned()).chain(bases.iter().cloned());
            return self.shortest_noun(forms).unwrap_or_else(|| word.to_owned());
        }
        let mut forms = without_noun_ending(word);
        let own = std::iter::once(word.to_owned());
        if let Some(noun) = self.shortest_noun(own.chain(forms.iter().cloned())) {
            return noun;
        }
        while !forms.is_empty() {
            forms = forms.iter().flat_map(|f| without_noun_ending(f)).collect();
            if let Some(noun) = self.shortest_noun(forms.iter().cloned()) {
                return noun;
            }
        }
        word.to_owned()
    }

    /// The shortest form that is a noun of WordNet, or the first one among equally short forms.
    fn shortest_noun(&self, forms: impl Iterator<Item = String>) -> Option<String> {
        // nouns are the first part of speech
        let (_, Lexicon { lemmas: nouns, .. }) = self.parts.first()?;
        forms
            .filter(|form| nouns.contains_key(form.as_str()))
            .min_by_key(|form| form.chars().count())
    }

    /// The synonyms of a word in its most frequent senses. They are in lower case and without repetitions or the word itself; a synonym can
    /// consist of several words separated by spaces.
    pub fn synonyms(&self, word: &str, which: &Synonyms) -> Vec<String> {
        let word = word.to_lowercase().replace(' ', "_");
        let mut found: Vec<String> = Vec::new();
        let parts = self.parts.iter();
        for (_, Lexicon { lemmas, data }) in parts.filter(|(part, _)| which.parts.contains(part)) {
            let synsets = lemmas.get(&word).into_iter().flatten().take(which.senses);
            for synonym in synsets.flat_map(|offset| synset(data, *offset)) {
                let is_wanted = !which.single_words || !synonym.contains('_');
                if is_wanted && synonym != word && !found.contains(&synonym) {
                    found.push(synonym);
                }
            }
        }
        found.iter().map(|word| word.replace('_', " ")).collect()
    }

    /// Adds the synonyms of the words of a text to a part of a query. `analyzer` turns the synonyms into terms. Each term that the part does not
    /// have yet is added once.
    pub fn expand(
        &self,
        part: &mut QueryPart,
        analyzer: &mut TextAnalyzer,
        text: &str,
        which: &Synonyms,
    ) {
        let base = |word: &str| {
            let base = self.noun(&word.to_lowercase());
            (which.base_forms && base != word.to_lowercase()).then_some(base)
        };
        let of_word = |word: &str| {
            let mut found = self.synonyms(word, which);
            if let Some(base) = base(word) {
                found.extend(self.synonyms(&base, which));
                found.push(base);
            }
            found
        };
        for synonym in alphanumeric_words(text).flat_map(of_word) {
            for term in analyzer::terms(analyzer, &synonym) {
                if !part.terms().iter().any(|(known, _)| *known == term) {
                    part.add(&term, which.weight);
                }
            }
        }
    }
}

/// The forms of a word that replace one of the [`NOUN_ENDINGS`], one form for each ending that the word has.
fn without_noun_ending(word: &str) -> Vec<String> {
    NOUN_ENDINGS
        .iter()
        .filter_map(|(ending, base)| Some(format!("{}{base}", word.strip_suffix(ending)?)))
        .collect()
}

/// The words of a file of exceptions, each with its base forms. Empty if there is no such file.
fn irregular(file: &Path) -> Result<HashMap<String, Vec<String>>> {
    let text = match regular::read(file, MAX_WORDNET_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", file.display()));
        }
    };
    let text = String::from_utf8_lossy(&text);
    let entry = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        Some((words.next()?, words.collect()))
    };
    Ok(text.lines().filter_map(entry).collect())
}

/// The lemma and the synset offsets of a line `lemma pos synset_cnt p_cnt [ptr_symbol…] sense_cnt tagsense_cnt synset_offset…`; none if the
/// line is malformed.
fn index_line(line: &str) -> Option<(&str, Vec<usize>)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let count: usize = fields.get(2)?.parse().ok()?;
    let from = fields.len().checked_sub(count)?;
    // at least six fields precede the offsets
    (from >= 6).then_some(())?;
    let offsets = fields.get(from..)?.iter().map(|offset| offset.parse().ok());
    Some((fields.first()?, offsets.collect::<Option<_>>()?))
}

/// The words, in lower case, of the synset whose line begins at a byte offset: `offset lex_filenum ss_type w_cnt word lex_id [word lex_id…]
/// p_cnt …` with `w_cnt` in hexadecimal. The syntactic marker of adjectives ("ill(p)") is removed. Empty if there is no such line.
fn synset(data: &[u8], offset: usize) -> Vec<String> {
    let line = data.get(offset..).unwrap_or_default();
    let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut fields = line.split_whitespace().skip(3);
    let count = usize::from_str_radix(fields.next().unwrap_or_default(), 16);
    let words = fields.step_by(2).take(count.unwrap_or(0));
    words
        .map(|word| word.split('(').next().unwrap_or(word).to_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A copy of WordNet with three synsets.
    fn copy() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let licence = "  1 This software and database is being provided to you\n";
        let first = "00000000 06 n 03 car 0 auto 0 Motor_Car 0 001 @ 00000000 n 0000 | a vehicle\n";
        let second = "00000000 06 n 02 car 1 gondola 0 000 | of a balloon\n";
        let (a, b) = (licence.len(), licence.len() + first.len());
        let index =
            format!("{licence}car n 2 1 @ 2 1 {a:08} {b:08}  \nauto n 1 1 @ 1 0 {a:08}  \n");
        for &part in PartOfSpeech::VARIANTS {
            let (index, data) = match part {
                PartOfSpeech::Noun => (index.clone(), format!("{licence}{first}{second}")),
                PartOfSpeech::Adjective => (
                    format!("ill a 1 0 1 0 {a:08}  \n"),
                    format!("{licence}00000000 00 a 02 ill(p) 0 sick 0 000 | unwell\n"),
                ),
                _ => (licence.to_owned(), licence.to_owned()),
            };
            fs::write(dir.path().join(format!("index.{part}")), index).unwrap();
            fs::write(dir.path().join(format!("data.{part}")), data).unwrap();
        }
        dir
    }

    #[test]
    fn synonyms_are_found_by_sense() {
        let dir = copy();
        let wordnet = WordNet::open(dir.path()).unwrap();
        let first: Synonyms = toml::from_str("weight = 0.05\nsenses = 1").unwrap();
        let all: Synonyms = toml::from_str("weight = 0.2").unwrap();
        assert_eq!(wordnet.synonyms("Car", &first), ["auto", "motor car"]);
        assert_eq!(
            wordnet.synonyms("car", &all),
            ["auto", "motor car", "gondola"]
        );
        assert_eq!(wordnet.synonyms("ill", &first), ["sick"]);
        assert!(wordnet.synonyms("plane", &first).is_empty());
        let nouns: Synonyms =
            toml::from_str("weight = 0.2\nparts = [\"noun\"]\nsingle_words = true").unwrap();
        assert_eq!(wordnet.synonyms("car", &nouns), ["auto", "gondola"]);
        assert!(wordnet.synonyms("ill", &nouns).is_empty());
        let mut terms = analyzer::Analyzer::default().build();
        let mut part = QueryPart::of_text(0, 1.0, &mut terms, "Auto or car?");
        wordnet.expand(&mut part, &mut terms, "Auto or car?", &first);
        let weights = [("auto", 1.0), ("or", 1.0), ("car", 1.0), ("motor", 0.05)];
        assert_eq!(
            part.terms(),
            weights.map(|(term, weight)| (term.to_owned(), weight))
        );
        fs::write(dir.path().join("index.verb"), "run v x\n").unwrap();
        let error = format!("{:#}", WordNet::open(dir.path()).err().unwrap());
        assert!(error.contains("is no WordNet index"), "{error}");
        fs::remove_file(dir.path().join("data.adv")).unwrap();
        assert!(WordNet::open(dir.path()).is_err());
    }

    #[test]
    fn the_base_form_of_a_noun_is_that_of_nltk() {
        let dir = copy();
        let nouns = [
            "car", "bus", "man", "woman", "city", "wa", "guns", "gun", "ox",
        ];
        let line = |noun: &&str| format!("{noun} n 1 1 @ 1 0 00000000  \n");
        let index: String = nouns.iter().map(line).collect();
        fs::write(dir.path().join("index.noun"), index).unwrap();
        let bases = |words: &[&str]| -> Vec<String> {
            let wordnet = WordNet::open(dir.path()).unwrap();
            words.iter().map(|word| wordnet.noun(word)).collect()
        };
        // "bus" and "bu": only the first is a noun; "was" loses its s; "guns" is longer than "gun"
        let words = ["cars", "buses", "bus", "women", "cities", "was", "guns"];
        let expected = ["car", "bus", "bus", "woman", "city", "wa", "gun"];
        assert_eq!(bases(&words), expected);
        // unknown words and words with a capital letter do not change
        let unknown = ["Cars", "zoos", "oxen", "", "s"];
        assert_eq!(bases(&unknown), unknown);
        fs::write(dir.path().join("noun.exc"), "oxen ox\nguns gunses\n").unwrap();
        // exceptions replace the rules
        assert_eq!(bases(&["oxen", "guns"]), ["ox", "guns"]);
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_read_without_panic(line in "\\PC{0,60}", offset in 0usize..80) {
            index_line(&line);
            synset(line.as_bytes(), offset);
        }
    }
}
