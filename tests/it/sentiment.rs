//! VADER and AFINN against the Python packages (collection-tools/sentiment_reference.py).

use std::path::{Path, PathBuf};
use std::time::Instant;

use proptest::prelude::*;
use riposte::evidence::sentiment::{Afinn, Vader};
use serde::Deserialize;

use crate::development::data;

#[derive(Deserialize)]
struct Reference {
    text: String,
    #[serde(default)]
    rule: String,
    #[serde(default)]
    compound: f64,
    #[serde(default)]
    sum: f64,
    #[serde(default)]
    words: usize,
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn references(name: &str) -> Vec<Reference> {
    let path = here("tests/reference").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn vader_gives_pythons_compound() {
    let vader = Vader::new();
    let references = references("vader.json");
    assert!(references.len() > 400, "{} lines", references.len());
    let wrong: Vec<String> = references
        .iter()
        .filter(|r| (vader.compound(&r.text) - r.compound).abs() > 1e-9)
        .map(|r| {
            let start: String = r.text.chars().take(80).collect();
            format!(
                "{}: {start:?} is {} instead of {}",
                r.rule,
                vader.compound(&r.text),
                r.compound
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn afinn_finds_what_python_finds() {
    let afinn = Afinn::load(&here("tests/reference/afinn.tsv")).unwrap();
    for r in references("afinn.json") {
        let found = afinn.valence(&r.text);
        assert_eq!((found.sum, found.words), (r.sum, r.words), "{:?}", r.text);
    }
}

/// Lines of one's own, scored by the script's `score`: one JSON object a line.
#[test]
fn real_lines_agree_with_python() {
    let Some(path) = std::env::var_os("RIPOSTE_SENTIMENT_LINES") else {
        eprintln!(
            "skipped: real_lines_agree_with_python, because RIPOSTE_SENTIMENT_LINES names no values"
        );
        return;
    };
    let list = data("lexicon/AFINN-en-165.txt");
    let afinn = list.map(|list| Afinn::load(&list).unwrap());
    let vader = Vader::new();
    let text = std::fs::read_to_string(path).unwrap();
    let (mut lines, mut worst) = (0, 0.0_f64);
    let mut spent = std::time::Duration::ZERO;
    for line in text.lines() {
        let r: Reference = serde_json::from_str(line).unwrap();
        let start = Instant::now();
        let ours = vader.compound(&r.text);
        spent += start.elapsed();
        lines += 1;
        worst = worst.max((ours - r.compound).abs());
        assert!(
            (ours - r.compound).abs() <= 0.001,
            "{ours} instead of {}: {:?}",
            r.compound,
            r.text
        );
        if let Some(afinn) = &afinn {
            let found = afinn.valence(&r.text);
            assert_eq!((found.sum, found.words), (r.sum, r.words), "{:?}", r.text);
        }
    }
    assert!(lines > 0);
    eprintln!(
        "{lines} texts, {} characters: largest difference {worst}, VADER took {spent:?}",
        text.len()
    );
}

#[test]
fn a_text_of_a_million_words_takes_seconds_at_most() {
    let text = "good bad table NICE but awful, not great! ".repeat(125_000);
    let start = Instant::now();
    let compound = Vader::new().compound(&text);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    assert!((-1.0..=1.0).contains(&compound));
}

#[test]
fn an_afinn_file_of_another_form_is_one_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("list.txt");
    for (content, what) in [
        ("good\t3\nbad\n", "list.txt:2: not an AFINN line"),
        ("good\tthree\n", "list.txt:1: not an AFINN line"),
        (":-)\t2\n", "list.txt:1: not an AFINN line"),
        ("", "the AFINN list is empty"),
    ] {
        std::fs::write(&path, content).unwrap();
        let error = format!("{:#}", Afinn::load(&path).err().unwrap());
        assert!(error.contains(what), "{content:?}: {error}");
    }
    let error = format!(
        "{:#}",
        Afinn::load(&dir.path().join("none.txt")).err().unwrap()
    );
    assert!(
        error.contains("cannot read the AFINN list") && error.contains("none.txt"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn any_text_has_a_compound_in_range(text in r"(good|BAD|but|no|kind|of|least|never|so|😁|n't|[!? :)\PC]){0,40}") {
        let compound = Vader::new().compound(&text);
        prop_assert!((-1.0..=1.0).contains(&compound), "{compound}");
    }
}
