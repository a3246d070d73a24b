//! `riposte rank` on small collections in German and Japanese: inflected words and pairs of characters are found, an index of another analyzer is
//! not reused, and what knows only English says so.

use std::fs;

use serde_json::json;

use crate::support::program::WorkDir;
use crate::support::{assert_says, root};

/// A collection in the layout of BEIR in `in`: documents and queries as (id, text).
fn collection(documents: &[(&str, &str)], queries: &[(&str, &str)]) -> WorkDir {
    let lines = |texts: &[(&str, &str)]| -> String {
        let line = |(id, text): &(&str, &str)| format!("{}\n", json!({"_id": id, "text": text}));
        texts.iter().map(line).collect()
    };
    WorkDir::with(&[
        ("in/corpus.jsonl", lines(documents).as_bytes()),
        ("in/queries.jsonl", lines(queries).as_bytes()),
    ])
}

/// Writes a recipe that only searches, with this analyzer.
fn recipe(dir: &WorkDir, analyzer: &str) {
    let recipe = format!(
        "name = \"mine\"\n[[retrieval]]\nanalyzer = \"{analyzer}\"\nsimilarity = {{ name = \"bm25\", k1 = 1.2, b = 0.75 }}\nfields = {{ text = 1.0 }}\n"
    );
    fs::write(dir.path("mine.toml"), recipe).unwrap();
}

/// The documents that a search with this analyzer finds for each query, as "query document" in the order of the run.
#[track_caller]
fn found(dir: &WorkDir, analyzer: &str) -> Vec<String> {
    recipe(dir, analyzer);
    dir.succeeds("rank -i in -o out --index kept --approach mine.toml");
    let run = dir.read("out/run.txt");
    let pair = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        format!("{} {}", fields[0], fields[2])
    };
    run.lines().map(pair).collect()
}

fn german() -> WorkDir {
    collection(
        &[
            ("haus", "Die Häuser der Stadt sind alt."),
            ("schule", "Für Schulen gibt es Regeln."),
            ("strasse", "Auf den STRASSEN fahren Autos."),
            ("und", "Und für und für."),
        ],
        &[
            ("q1", "das Haus und die Schule"),
            ("q2", "Straße"),
            ("q3", "für"),
        ],
    )
}

#[test]
fn inflected_german_words_are_found_and_stop_words_are_not() {
    let dir = german();
    let with = found(&dir, "tokens=standard stop=german stem=german");
    let mut of_first: Vec<&str> = with.iter().map(String::as_str).collect();
    of_first.retain(|pair| pair.starts_with("q1"));
    of_first.sort_unstable();
    assert_eq!(of_first, ["q1 haus", "q1 schule"]);
    assert!(!with.iter().any(|pair| pair.starts_with("q3")), "{with:?}");
    // the words as they are written: the same index directory, another analyzer
    let plain = found(&dir, "tokens=standard");
    assert!(!plain.contains(&"q1 schule".to_owned()), "{plain:?}");
    assert!(plain.contains(&"q3 und".to_owned()), "{plain:?}");
    assert_eq!(found(&dir, "tokens=standard stop=german stem=german"), with);
}

#[test]
fn a_fold_makes_sharp_s_and_capitals_equal() {
    let dir = german();
    let strasse = "q2 strasse".to_owned();
    let plain = found(&dir, "tokens=standard");
    assert!(!plain.contains(&strasse), "{plain:?}");
    // the document has the plural
    let folded = found(&dir, "tokens=standard fold=nfkc-casefold stem=german");
    assert!(folded.contains(&strasse), "{folded:?}");
}

#[test]
fn pairs_of_japanese_characters_are_found() {
    let dir = collection(
        &[
            ("law", "死刑制度を廃止すべきである。"),
            ("life", "死者に刑はない。"),
            ("tv", "ﾃﾚﾋﾞ局のニュース"),
        ],
        &[("q1", "死刑"), ("q2", "テレビ")],
    );
    // the characters of the first query are in two documents, but they are neighbours in one
    let pairs = found(&dir, "tokens=cjk fold=nfkc-casefold");
    assert_eq!(pairs, ["q1 law", "q2 tv"]);
    let single = found(&dir, "tokens=standard");
    assert!(single.contains(&"q1 life".to_owned()), "{single:?}");
    // half-width characters are other characters without a fold
    assert_eq!(found(&dir, "tokens=cjk"), ["q1 law"]);
}

#[test]
fn each_analyzer_has_an_index_of_its_own() {
    let dir = german();
    let analyzers = [
        "stem=german",
        "stem=snowball",
        "stop=german",
        "tokens=cjk",
        "tokens=standard fold=nfkc-casefold",
        "tokens=standard",
    ];
    let mut described = Vec::new();
    for analyzer in analyzers {
        recipe(&dir, analyzer);
        let (out, _) = dir.succeeds("index -i in --index kept --approach mine.toml");
        described.push(out);
    }
    for (at, text) in described.iter().enumerate() {
        let line = |text: &str| text.lines().next().map(str::to_owned);
        let same = described[..at]
            .iter()
            .any(|other| line(other) == line(text));
        assert!(!same, "two analyzers share an index: {described:?}");
    }
    assert_says(&described[0], &["stem=german"]);
    // another name of the same stemmer is the same index
    recipe(&dir, "stem=english");
    let (out, _) = dir.succeeds("index -i in --index kept --approach mine.toml");
    assert_says(&out, &["stem=snowball"]);
}

#[test]
fn what_knows_only_english_says_so_once() {
    let dir = collection(
        &[("a", "死刑制度を廃止すべきである。")],
        &[
            ("q1", "死刑を廃止すべきか"),
            ("q2", "Should zoos be banned?"),
        ],
    );
    let (_, said) = dir.succeeds("rank -i in -o out --index kept --approach bm25");
    let note = "1 topic does not look English (q1: Japanese)";
    assert_eq!(said.matches(note).count(), 1, "{said}");
    assert_says(&said, &["know only English: analyzer."]);
    // nothing of this recipe is English
    recipe(&dir, "tokens=cjk");
    let (_, said) = dir.succeeds("rank -i in -o out --index kept --approach mine.toml");
    assert!(!said.contains("look English"), "{said}");
    // English topics need no note
    let sample = root().join("sample").display().to_string();
    let line = format!("controversial -i {sample} -o out2 --index kept2 --approach bm25");
    let (_, said) = dir.succeeds(&line);
    assert!(!said.contains("look English"), "{said}");
}

#[test]
fn a_wrong_name_is_an_error_that_lists_the_right_ones() {
    let dir = german();
    for (analyzer, message) in [
        ("stem=germany", "choose one of none, minimal, porter"),
        ("stop=klingon", "there is no stop list"),
        ("tokens=bigrams", "choose one of words, standard, cjk"),
        ("fold=nfkc-casefold", "needs tokens=standard or tokens=cjk"),
    ] {
        recipe(&dir, analyzer);
        let (code, _, said) = dir.run("rank -i in -o out --index kept --approach mine.toml");
        assert_eq!(code, 2, "{said}");
        assert_says(&said, &[message]);
    }
}
