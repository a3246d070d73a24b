//! Synonyms from an installed copy of WordNet (Princeton; Miller 1995): its `index.*` and `data.*` files, as
//! wndb(5WN) describes them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tantivy::tokenizer::TextAnalyzer;

use super::analyzer;
use super::search::Part;
use crate::topic::words::alphanumeric_words;

/// The parts of speech, by the ends of their files' names.
const PARTS: [&str; 4] = ["noun", "verb", "adj", "adv"];

/// Where copies are installed.
const PLACES: [&str; 3] = [
    "/usr/share/wordnet",
    "/usr/local/WordNet-3.0/dict",
    "/usr/local/share/wordnet",
];

/// A copy of WordNet.
pub struct WordNet {
    parts: Vec<PartOfSpeech>,
}

struct PartOfSpeech {
    /// Where each lemma's synsets are in `data`, the commonest sense first.
    lemmas: HashMap<String, Vec<usize>>,
    data: Vec<u8>,
}

impl WordNet {
    /// The directory with the copy: `$WNSEARCHDIR` if it is set, else where systems install it. None: there is no copy.
    pub fn find() -> Option<PathBuf> {
        let places = match std::env::var_os("WNSEARCHDIR") {
            Some(named) => vec![PathBuf::from(named)],
            None => PLACES.map(PathBuf::from).to_vec(),
        };
        places
            .into_iter()
            .find(|dir| dir.join("index.noun").is_file())
    }

    /// Reads a copy. Errors: one of its files is missing or not what it should be.
    pub fn open(dir: &Path) -> Result<Self> {
        let mut parts = Vec::new();
        for part in PARTS {
            let read = |file: PathBuf| {
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))
            };
            let path = dir.join(format!("index.{part}"));
            let index = read(path.clone())?;
            let index = String::from_utf8_lossy(&index);
            let mut lemmas = HashMap::new();
            // the licence's lines begin with blanks
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

    /// Words that mean the same as one in its commonest senses, at most `senses` of each part of speech:
    /// lower case, several words parted by blanks, each once, without the word itself.
    pub(crate) fn synonyms(&self, word: &str, senses: usize) -> Vec<String> {
        let word = word.to_lowercase().replace(' ', "_");
        let mut found: Vec<String> = Vec::new();
        for PartOfSpeech { lemmas, data } in &self.parts {
            let synsets = lemmas.get(&word).into_iter().flatten().take(senses);
            for synonym in synsets.flat_map(|at| synset(data, *at)) {
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

    /// Adds the synonyms of a text's words to a query's part, each term once and with that weight, as far
    /// as the part does not have it. Its analyzer makes terms of them.
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

/// `lemma pos synset_cnt p_cnt [ptr_symbol…] sense_cnt tagsense_cnt synset_offset…`
fn index_line(line: &str) -> Option<(&str, Vec<usize>)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let count: usize = fields.get(2)?.parse().ok()?;
    let from = fields.len().checked_sub(count)?;
    // the numbers before the offsets are there too
    (from >= 6).then_some(())?;
    let offsets = fields.get(from..)?.iter().map(|offset| offset.parse().ok());
    Some((fields.first()?, offsets.collect::<Option<_>>()?))
}

/// The words of the synset at that byte: `offset lex_filenum ss_type w_cnt word lex_id [word lex_id…] p_cnt …`,
/// w_cnt in hexadecimal. Adjectives have their place in brackets: "ill(p)".
fn synset(data: &[u8], at: usize) -> Vec<String> {
    let line = data.get(at..).unwrap_or_default();
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

    /// A copy of four synsets.
    fn copy() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let licence = "  1 This software and database is being provided to you\n";
        let first = "00000000 06 n 03 car 0 auto 0 Motor_Car 0 001 @ 00000000 n 0000 | a vehicle\n";
        let second = "00000000 06 n 02 car 1 gondola 0 000 | of a balloon\n";
        let (a, b) = (licence.len(), licence.len() + first.len());
        let index =
            format!("{licence}car n 2 1 @ 2 1 {a:08} {b:08}  \nauto n 1 1 @ 1 0 {a:08}  \n");
        for part in PARTS {
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
    fn synonyms_come_by_sense() {
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

    #[test]
    fn an_installed_copy_knows_that_a_car_is_an_automobile() {
        let Some(dir) = WordNet::find() else {
            eprintln!("skipped: WordNet is not installed (package wordnet-base, or WNSEARCHDIR)");
            return;
        };
        let synonyms = WordNet::open(&dir).unwrap().synonyms("car", 1);
        assert_eq!(synonyms, ["auto", "automobile", "machine", "motorcar"]);
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_read(line in "\\PC{0,60}", at in 0usize..80) {
            index_line(&line);
            synset(line.as_bytes(), at);
        }
    }
}
