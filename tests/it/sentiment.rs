//! Compares VADER and AFINN with the Python packages (tests/reference/sentiment.py).

use proptest::prelude::*;
use riposte::evidence::sentiment::{Afinn, Vader};
use serde::Deserialize;

use crate::support::files::json as read_json;
use crate::support::need::{Model, Request, need};
use crate::support::{assert_says, reference};

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
    words: u64,
}

#[test]
fn vader_gives_the_compound_of_the_python_package() {
    let vader = Vader::new();
    let references: Vec<Reference> = read_json(&reference("vader.json"));
    assert_eq!(references.len(), 438);
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
fn afinn_gives_the_sums_of_the_python_package() {
    let afinn = Afinn::load(&reference("afinn.tsv")).unwrap();
    let references: Vec<Reference> = read_json(&reference("afinn.json"));
    assert_eq!(references.len(), 19);
    for r in references {
        let found = afinn.valence(&r.text);
        assert_eq!((found.sum, found.words), (r.sum, r.words), "{:?}", r.text);
    }
}

/// The file is the output of the script's command `score`: a JSON object on each line.
#[test]
fn lines_of_a_named_file_have_the_values_of_the_python_packages() {
    let path = need(Request {
        variable: "RIPOSTE_SENTIMENT_LINES",
        reason: "no file with texts and their values is given",
    });
    let (Some(path), Some(list)) = (path, need(Model("afinn"))) else {
        return;
    };
    let afinn = Afinn::load(&list.path("AFINN-en-165.txt")).unwrap();
    let vader = Vader::new();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(!text.is_empty());
    for line in text.lines() {
        let r: Reference = serde_json::from_str(line).unwrap();
        let ours = vader.compound(&r.text);
        assert!(
            (ours - r.compound).abs() <= 0.001,
            "{ours} instead of {}: {:?}",
            r.compound,
            r.text
        );
        let found = afinn.valence(&r.text);
        assert_eq!((found.sum, found.words), (r.sum, r.words), "{:?}", r.text);
    }
}

/// If the time grew with the square of the length, this test would take hours.
#[test]
fn a_text_of_a_million_words_has_a_compound() {
    let text = "good bad table NICE but awful, not great! ".repeat(125_000);
    let compound = Vader::new().compound(&text);
    assert!((-1.0..=1.0).contains(&compound), "{compound}");
}

#[test]
fn an_afinn_file_of_another_format_is_an_error_that_names_the_line() {
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
    assert_says(&error, &["cannot read the AFINN list", "none.txt"]);
}

proptest! {
    #[test]
    fn any_text_has_a_compound_in_range(text in r"(good|BAD|but|no|kind|of|least|never|so|😁|n't|[!? :)\PC]){0,40}") {
        let compound = Vader::new().compound(&text);
        prop_assert!((-1.0..=1.0).contains(&compound), "{compound}");
    }
}
