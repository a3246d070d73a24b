//! Compares a cross-encoder's scores with those of sentence-transformers (tests/reference/encoders.py).

use std::fs;
use std::path::Path;

use riposte::reading::cross::CrossEncoder;
use riposte_nn::transformer::Backend;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::checkpoint::{copy_of, edit_header, edit_json, texts_of_many_lengths};
use crate::support::files::json as read_json;
use crate::support::{message, reference};

#[derive(Deserialize)]
struct Pair {
    topic: String,
    text: String,
    score: f32,
}

fn tiny() -> CrossEncoder {
    CrossEncoder::load(&reference("tiny-cross"), "sha", Backend::default()).unwrap()
}

#[test]
fn scores_are_those_of_sentence_transformers() {
    let expected: Vec<Pair> = read_json(&reference("tiny-cross.json"));
    assert_eq!(expected.len(), 9);
    for backend in [Backend::Auto, Backend::Float] {
        let model = CrossEncoder::load(&reference("tiny-cross"), "sha", backend).unwrap();
        for pair in &expected {
            let score = model.score(&pair.topic, &[&pair.text]).unwrap()[0];
            assert!(
                (score - pair.score).abs() < 1e-4,
                "{backend:?} {:?} {:?}: {score}, not {}",
                pair.topic,
                pair.text,
                pair.score
            );
        }
        // in a batch, texts are padded to the longest one
        let together: Vec<&str> = expected.iter().map(|pair| pair.text.as_str()).collect();
        let scores = model.score(&expected[0].topic, &together).unwrap();
        for (score, text) in scores.iter().zip(&together) {
            let alone = model.score(&expected[0].topic, &[text]).unwrap()[0];
            assert!((score - alone).abs() < 1e-4, "{backend:?} {text:?}");
        }
    }
    let model = tiny();
    assert!(model.score("guns", &[]).unwrap().is_empty());
    assert_eq!(model.producer(), "cross/4 sha");
}

#[test]
fn a_text_has_the_same_score_in_any_batch() {
    let model = tiny();
    let texts = texts_of_many_lengths(300);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = model.score("Death penalty?", &texts).unwrap();
    assert_eq!(together.len(), texts.len());
    for (text, score) in texts.iter().zip(&together) {
        let alone = model.score("Death penalty?", &[text]).unwrap()[0];
        assert!((alone - score).abs() < 1e-6, "{text:?}: {alone}, {score}");
    }
}

#[test]
fn topic_and_text_cannot_be_swapped_and_long_texts_are_cut() {
    let model = tiny();
    let score = |topic: &str, text: &str| model.score(topic, &[text]).unwrap()[0];
    assert_ne!(score("people", "guns"), score("guns", "people"));
    // the longest input has 48 tokens: [CLS] people [SEP] 44 words [SEP]
    let full = "the ".repeat(44);
    assert_eq!(
        score("people", &full),
        score("people", &format!("{full} cat cat"))
    );
    assert_ne!(score("people", &full), score("people", &"the ".repeat(43)));
}

#[test]
fn a_damaged_checkpoint_is_named() {
    let refused = |damage: &dyn Fn(&Path), expected: &str| {
        let copy = copy_of("tiny-cross");
        damage(copy.path());
        let said = message(CrossEncoder::load(copy.path(), "sha", Backend::default()));
        assert!(said.contains(expected), "{said}");
    };
    refused(
        &|dir| {
            edit_header(dir, |header| {
                let weight = header.remove("bert.pooler.dense.weight").unwrap();
                header.insert("other".to_owned(), weight);
            });
        },
        "tensor bert.pooler.dense.weight is missing: expected shape [16, 16]",
    );
    refused(
        &|dir| {
            edit_header(dir, |header| {
                header["classifier.weight"]["shape"] = json!([2, 8])
            })
        },
        "tensor classifier.weight has shape [2, 8]: expected [1, 16]",
    );
    refused(
        &|dir| fs::remove_file(dir.join("model.safetensors")).unwrap(),
        "model.safetensors",
    );
    // a pair needs three special tokens, which leave no room for a word; a single text would have room
    refused(
        &|dir| {
            edit_json(&dir.join("config.json"), |config| {
                config["max_position_embeddings"] = json!(3);
            });
        },
        "it adds 3 special tokens",
    );
}

#[test]
fn a_tokenizer_that_does_not_fit_is_an_error() {
    let special = |change: &dyn Fn(&mut Value)| {
        let copy = copy_of("tiny-cross");
        edit_json(&copy.path().join("tokenizer.json"), |tokenizer| {
            change(&mut tokenizer["post_processor"]);
        });
        let model = CrossEncoder::load(copy.path(), "sha", Backend::default());
        message(model.and_then(|model| model.score("guns", &["people"])))
    };
    let said = special(&|processor| processor["pair"][3]["Sequence"]["type_id"] = json!(2));
    assert!(said.contains("token type 2, but the model has 2"), "{said}");
    let said = special(&|processor| {
        processor["special_tokens"]["[CLS]"]["ids"] = json!([100_000]);
    });
    assert!(said.contains("token 100000, but the model has"), "{said}");
}
