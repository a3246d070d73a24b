//! Systems with several stages, as a user runs them: fusion times quality, comparison in pairs, and scores of the sentences that argue. The
//! expected values are computed by hand with the formulas of the systems.

use std::fs;

use riposte::evidence::sentence::Sentences;
use riposte::weights::CheckedModel;
use riposte_nn::transformer::EncoderBackend;
use serde_json::{Value, json};

use crate::support::files::json_lines;
use crate::support::models::MINILM;
use crate::support::need::{Model, need};
use crate::support::program::WorkDir;

const TOPIC: &str = "<topics><topic><number>2</number><title>Which is better, a laptop or a desktop?</title>\
    <objects>laptop, desktop</objects></topic></topics>";

/// A directory with these passages in `in`.
fn with_passages(passages: &[(&str, &str)]) -> WorkDir {
    let dir = WorkDir::new();
    fs::create_dir(dir.path("in")).unwrap();
    let line = |(id, contents): &(&str, &str)| json!({"id": id, "contents": contents}).to_string();
    let lines: Vec<String> = passages.iter().map(line).collect();
    fs::write(dir.path("in/passages.jsonl"), lines.join("\n")).unwrap();
    fs::write(dir.path("in/topics.xml"), TOPIC).unwrap();
    dir
}

/// The documents of a run by an approach, with their scores and explanations. The parts of each explanation must add up.
#[track_caller]
fn ranked(dir: &WorkDir, approach: &str) -> Vec<(String, f64, Value)> {
    dir.succeeds(&format!(
        "comparative -i in -o out --index kept --explain why.jsonl --approach {approach}"
    ));
    let run = dir.read("out/run.txt");
    let why = json_lines(&dir.read("why.jsonl"));
    assert!(!why.is_empty(), "{run}");
    let documents = run.lines().zip(why).map(|(line, why)| {
        let fields: Vec<&str> = line.split(' ').collect();
        assert_eq!(fields[2], why["document"], "{line}");
        let score: f64 = fields[4].parse().unwrap();
        let explained = &why["score"];
        let difference = score - explained["value"].as_f64().unwrap();
        assert!(difference.abs() < 1e-4, "{line}\n{explained}");
        assert_follows(explained);
        (fields[2].to_owned(), score, explained.clone())
    });
    documents.collect()
}

fn parts(explanation: &Value) -> &[Value] {
    explanation["parts"].as_array().map_or(&[], Vec::as_slice)
}

/// The part with this name.
#[track_caller]
fn part<'a>(explanation: &'a Value, name: &str) -> &'a Value {
    let found = parts(explanation).iter().find(|part| part["name"] == name);
    found.unwrap_or_else(|| panic!("there is no {name} in {explanation}"))
}

#[track_caller]
fn value(explanation: &Value) -> f64 {
    explanation["value"].as_f64().unwrap()
}

/// Checks that the value of an explanation follows from its parts.
#[track_caller]
fn assert_follows(explanation: &Value) {
    let parts = parts(explanation).iter().map(value);
    let follows: f64 = if explanation["how"] == "product" {
        parts.product()
    } else {
        parts.sum()
    };
    let difference = follows - value(explanation);
    assert!(difference.abs() < 1e-9, "{explanation}");
}

const BEST: (&str, &str) = ("best", "A laptop or a desktop: laptop, desktop.");
const NEXT: (&str, &str) = (
    "next",
    "The laptop of my aunt is better than the one that my uncle bought, compared to which it is slower.",
);
const LAST: (&str, &str) = (
    "last",
    "They sell a desktop of oak, with four drawers, made by hand in the valley where we went for a walk every summer, and it is better.",
);

#[test]
fn aldo_nadi_adds_reciprocal_ranks_of_five_searches_and_multiplies_by_quality() {
    let dir = with_passages(&[BEST, NEXT, LAST]);
    let found = ranked(&dir, "aldo-nadi-rrf");
    // all searches rank the same document first
    assert_eq!(found[0].0, "best");
    assert!((found[0].1 - 5.0 / 31.0).abs() < 1e-5, "{found:?}");
    for (document, _, fusion) in &found {
        assert_eq!(parts(fusion).len(), 5, "{fusion}");
        for search in parts(fusion) {
            let how = search["how"].as_str().unwrap();
            let rank = how.strip_prefix("weight 1, rank ").unwrap();
            let rank: f64 = rank.split(' ').next().unwrap().parse().unwrap();
            assert!(
                (value(search) - 1.0 / (30.0 + rank)).abs() < 1e-12,
                "{document}"
            );
        }
        assert_follows(fusion);
    }
    for (document, score, product) in ranked(&dir, "aldo-nadi-rrf-quality") {
        assert_eq!(product["how"], "product");
        let sum = found.iter().find(|(other, ..)| *other == document).unwrap();
        let retrieval = part(&product, "retrieval");
        assert!(
            (value(retrieval) - value(&sum.2)).abs() < 1e-12,
            "{product}"
        );
        let expected = value(retrieval) * value(part(&product, "quality"));
        assert!(
            (score - expected).abs() < 1e-5,
            "{document}: {score}, {product}"
        );
    }
}

/// A recipe that compares the first documents of a search.
fn compare(depth: usize, weights: &str) -> String {
    format!(
        "name = \"mine\"\nkeep = {{ short = true, duplicates = true }}\n\
        [[retrieval]]\nanalyzer = \"stop=lucene\"\nsimilarity = {{ name = \"bm25\", k1 = 1.2, b = 0.75 }}\nfields = {{ contents = 1.0 }}\n\
        [pairwise]\ndepth = {depth}\nweights = {{ {weights} }}\n"
    )
}

#[test]
fn the_first_documents_are_ordered_by_their_sums_of_preferences() {
    let far = (
        "far",
        "A desktop in a long list of goods that they do not sell here but in the shop at the end of the other street, every day from nine to five, and on Sundays.",
    );
    let dir = with_passages(&[BEST, NEXT, LAST, far]);
    fs::write(dir.path("search.toml"), compare(2, "quality = 0.0")).unwrap();
    let (_, _, said) = dir.run("comparative -i in -o out --index kept --approach search.toml");
    let before: Vec<(String, f64)> = dir
        .read("out/run.txt")
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .map(|fields| (fields[2].to_owned(), fields[4].parse().unwrap()))
        .collect();
    let order: Vec<&str> = before
        .iter()
        .map(|(document, _)| document.as_str())
        .collect();
    assert_eq!(order, ["next", "best", "last", "far"], "{said}");

    // "next" has three words that compare (better, than, compared), "best" has none, and "last" one. A document gets 2 for each of the two others
    // that it beats: 4, 2 and 0 by retrieval, and 4, 0 and 2 by comparison. The weights are one third and two thirds:
    fs::write(
        dir.path("mine.toml"),
        compare(3, "retrieval = 1.0, comparison = 2.0"),
    )
    .unwrap();
    let found = ranked(&dir, "mine.toml");
    let rest = before[3].1;
    let expected = [
        ("next", rest + 1.0 + 4.0),
        ("last", rest + 1.0 + 4.0 / 3.0),
        ("best", rest + 1.0 + 2.0 / 3.0),
    ];
    assert_eq!(found.len(), 3);
    for ((document, score, why), (wanted, sum)) in found.iter().zip(expected) {
        assert_eq!(document, wanted, "{why}");
        assert!((score - sum).abs() < 1e-4, "{document}: {score}, not {sum}");
    }
    // a document that is not compared keeps its score and comes last
    let run = dir.read("out/run.txt");
    let last: Vec<&str> = run.lines().last().unwrap().split(' ').collect();
    assert_eq!((last[2], last[4].parse::<f64>().unwrap()), ("far", rest));
    assert!((value(part(&found[0].2, "comparison")) - 8.0 / 3.0).abs() < 1e-9);
    // the score before the comparison is explained, too
    assert_eq!(value(part(&found[0].2, "point-wise")), 0.0);
    assert_eq!(parts(part(&found[0].2, "retrieval"))[0]["name"], "score");
}

/// The options for MiniLM and the stance encoder.
fn with_models(minilm: &CheckedModel) -> String {
    format!("--models {}", minilm.dir.parent().unwrap().display())
}

#[test]
fn captain_levi_compares_what_it_has_read_point_by_point() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let dir = with_passages(&[BEST, NEXT, LAST]);
    let found = ranked(&dir, &format!("captain-levi {}", with_models(&minilm)));
    assert_eq!(found.len(), 3);
    for (document, _, why) in &found {
        let names: Vec<&Value> = parts(why).iter().map(|part| &part["name"]).collect();
        // there is no cross-encoder, so similarities are compared
        assert!(
            names.iter().any(|name| *name == "sentence"),
            "{document}: {why}"
        );
        let before = &parts(part(why, "point-wise"))[0];
        assert_eq!(parts(before)[1]["name"], "sentence", "{document}: {why}");
    }
}

#[test]
fn olivier_armstrong_adds_bm25_share_and_likeness_of_sentences_that_argue() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let argues = "A laptop is better than a desktop, because it is light.";
    let passages = [
        ("half", format!("{argues} The shop opens at nine.")),
        (
            "none",
            "The shop sells a laptop. It sells a desktop, too.".to_owned(),
        ),
        ("one", argues.to_owned()),
    ];
    let passages: Vec<(&str, &str)> = passages
        .iter()
        .map(|(id, text)| (*id, text.as_str()))
        .collect();
    let dir = with_passages(&passages);
    let approach = format!("olivier-armstrong {}", with_models(&minilm));
    let found = ranked(&dir, &approach);
    // a passage of one sentence is passed over, and a passage without an argument has the score 0 and is left out
    let documents: Vec<&str> = found
        .iter()
        .map(|(document, ..)| document.as_str())
        .collect();
    assert_eq!(documents, ["half"], "{found:?}");
    let why = &found[0].2;
    // with two texts, each of its terms has an idf of ln(1.5) - ln(1.5) = 0
    assert_eq!(value(part(why, "argument-bm25")), 0.0, "{why}");
    assert_eq!(value(part(why, "argument-share")), 12.5, "{why}");
    let model = Sentences::load(&minilm.dir, EncoderBackend::Auto).unwrap();
    let vectors = model
        .embed(&["Which is better, a laptop or a desktop?", argues])
        .unwrap();
    let products = vectors[0].iter().zip(&vectors[1]).map(|(a, b)| a * b);
    let cosine = f64::from(products.sum::<f32>());
    let likeness = value(part(why, "argument-cosine"));
    assert!(
        (likeness - 15.0 * cosine).abs() < 1e-4,
        "{likeness}, {cosine}"
    );
}
