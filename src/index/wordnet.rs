//! Synonyms from an installed copy of WordNet (Princeton; Miller 1995). The format of its `index.*` and `data.*` files is described in
//! wndb(5WN).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tantivy::tokenizer::TextAnalyzer;

use super::analyzer;
use super::search::Part;
use crate::topic::words::alphanumeric_words;

/// The parts of speech, as the extensions of the file names.
const PARTS_OF_SPEECH: [&str; 4] = ["noun", "verb", "adj", "adv"];

/// The directories in which systems install WordNet.
const DIRECTORIES: [&str; 3] = [
    "/usr/share/wordnet",
    "/usr/local/WordNet-3.0/dict",
    "/usr/local/share/wordnet",
];

/// A copy of WordNet, read into memory.
pub struct WordNet {
    parts: Vec<PartOfSpeech>,
}

struct PartOfSpeech {
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
        directories
            .into_iter()
            .find(|dir| dir.join("index.noun").is_file())
    }

    /// Reads the copy in a directory.
    ///
    /// # Errors
    /// A file cannot be read, or an index has a malformed line.
    pub fn open(dir: &Path) -> Result<Self> {
        let mut parts = Vec::new();
        for part in PARTS_OF_SPEECH {
            let read = |file: PathBuf| {
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))
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
            parts.push(PartOfSpeech {
                lemmas,
                data: read(dir.join(format!("data.{part}")))?,
            });
        }
        Ok(WordNet { parts })
    }

    /// The synonyms of a word in its most frequent senses, at most `senses` senses of each part of speech. They are in lower case, each
    /// once, without the word itself; a synonym can consist of several words separated by spaces.
    pub fn synonyms(&self, word: &str, senses: usize) -> Vec<String> {
        let word = word.to_lowercase().replace(' ', "_");
        let mut found: Vec<String> = Vec::new();
        for PartOfSpeech { lemmas, data } in &self.parts {
            let synsets = lemmas.get(&word).into_iter().flatten().take(senses);
            for synonym in synsets.flat_map(|offset| synset(data, *offset)) {
                if synonym != word && !found.contains(&synonym) {
                    found.push(synonym);
                }
            }
        }
        found
            .into_iter()
            .map(|word| word.replace('_', " "))
            .collect()
    }

    /// Adds the synonyms of the words of a text to a part of a query. `analyzer` turns them into terms; terms that the part does not have
    /// yet are added once, with the given weight.
    pub fn expand(
        &self,
        part: &mut Part,
        analyzer: &mut TextAnalyzer,
        text: &str,
        senses: usize,
        weight: f64,
    ) {
        for synonym in alphanumeric_words(text).flat_map(|word| self.synonyms(word, senses)) {
            for term in analyzer::terms(analyzer, &synonym) {
                if !part.terms().iter().any(|(known, _)| *known == term) {
                    part.add(&term, weight);
                }
            }
        }
    }
}

/// The lemma and the synset offsets of a line `lemma pos synset_cnt p_cnt [ptr_symbol…] sense_cnt tagsense_cnt synset_offset…`; none if the
/// line is malformed.
fn index_line(line: &str) -> Option<(&str, Vec<usize>)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let count: usize = fields.get(2)?.parse().ok()?;
    let from = fields.len().checked_sub(count)?;
    // at least six fields are before the offsets
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
    let count = fields
        .next()
        .and_then(|count| usize::from_str_radix(count, 16).ok())
        .unwrap_or(0);
    fields
        .step_by(2)
        .take(count)
        .map(|word| word.split('(').next().unwrap_or(word).to_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
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
        for part in PARTS_OF_SPEECH {
            let (index, data) = match part {
                "noun" => (index.clone(), format!("{licence}{first}{second}")),
                "adj" => (
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
        assert_eq!(wordnet.synonyms("Car", 1), ["auto", "motor car"]);
        assert_eq!(wordnet.synonyms("car", 9), ["auto", "motor car", "gondola"]);
        assert_eq!(wordnet.synonyms("ill", 1), ["sick"]);
        assert!(wordnet.synonyms("plane", 1).is_empty());
        let mut terms = analyzer::Analyzer::default().build();
        let mut part = Part::of_text(0, 1.0, &mut terms, "Auto or car?");
        wordnet.expand(&mut part, &mut terms, "Auto or car?", 1, 0.05);
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

    proptest::proptest! {
        #[test]
        fn any_line_is_read_without_panic(line in "\\PC{0,60}", offset in 0usize..80) {
            index_line(&line);
            synset(line.as_bytes(), offset);
        }
    }
}
