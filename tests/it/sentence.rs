//! Compares sentence vectors with those of sentence-transformers (tests/reference/encoders.py).

use std::fs::{self, File};
use std::path::Path;

use riposte::evidence::sentence::Sentences;
use riposte_nn::conv::Numeric;
use riposte_nn::transformer::EncoderBackend;
use serde::Deserialize;
use serde_json::json;

use crate::clip::TextReference;
use crate::support::checkpoint::{copy_of, edit_header, largest_difference, texts_of_many_lengths};
use crate::support::files::json as read_json;
use crate::support::models::{MINILM, MPNET};
use crate::support::need::{Model, need};
use crate::support::{message, reference};

fn values(name: &str) -> Vec<TextReference> {
    let values: Vec<TextReference> = read_json(&reference(name));
    assert_eq!(values.len(), 7);
    values
}

fn agree(model: &Sentences, expected: &[TextReference]) {
    let texts: Vec<&str> = expected.iter().map(|text| text.text.as_str()).collect();
    let vectors = model.embed(&texts).unwrap();
    assert_eq!(vectors.len(), texts.len());
    for (vector, expected) in vectors.iter().zip(expected) {
        assert_eq!(vector.len(), expected.vector.len());
        let difference = largest_difference(vector, &expected.vector);
        assert!(difference < 1e-4, "{:?}: {difference}", expected.text);
    }
}

#[test]
fn vectors_are_those_of_sentence_transformers() {
    for backend in [EncoderBackend::Auto, EncoderBackend::Float] {
        let model = Sentences::load(&reference("tiny-sentence"), backend).unwrap();
        agree(&model, &values("tiny-sentence.json"));
        assert!(model.embed(&[]).unwrap().is_empty());
    }
}

#[test]
fn the_real_models_agree_with_sentence_transformers() {
    for (name, reference) in [(MINILM, "minilm.json"), (MPNET, "mpnet.json")] {
        let Some(real) = need(Model(name)) else {
            continue;
        };
        for backend in [EncoderBackend::Auto, EncoderBackend::Float] {
            let model = Sentences::load(&real.dir, backend).unwrap();
            if model.numeric() == Numeric::Float {
                agree(&model, &values(reference));
            }
        }
    }
}

/// If the machine multiplies in int8, vectors differ a little from those in floats: the cosine is above .998 for all-MiniLM-L6-v2, and above .99 for
/// all-mpnet-base-v2, which has twice as many layers. This includes texts without content, whose vectors are short before they are scaled; those of
/// whole sentences are nearer.
#[test]
fn vectors_in_int8_are_nearly_those_in_floats() {
    for (name, least) in [(MINILM, 0.998), (MPNET, 0.99)] {
        let Some(real) = need(Model(name)) else {
            continue;
        };
        let load = |backend| Sentences::load(&real.dir, backend).unwrap();
        let (auto, float) = (load(EncoderBackend::Auto), load(EncoderBackend::Float));
        assert_eq!(float.numeric(), Numeric::Float);
        let texts = [
            "They're not",
            "No.",
            "Sweet!!",
            "This is simply not true",
            "Home Autos Jobs Pets News Crime Elections Schools The Fixer Tip Jar Other News",
            "Should students have to wear school uniforms?",
        ];
        let found = auto.embed(&texts).unwrap().into_iter();
        for ((found, expected), text) in found.zip(float.embed(&texts).unwrap()).zip(texts) {
            let cosine: f32 = found.iter().zip(&expected).map(|(a, b)| a * b).sum();
            assert!(cosine > least, "{name}, {text:?}: {cosine}");
            let is_sentence = text.split(' ').count() > 5;
            assert!(
                !is_sentence || cosine > 1.0 - (1.0 - least) / 2.0,
                "{name}, {text:?}: {cosine}"
            );
        }
    }
}

#[derive(Deserialize)]
struct OfLayout {
    tokens: Vec<Tokens>,
    /// The vectors of the first texts.
    documents: Vec<Vec<f32>>,
    queries: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct Tokens {
    text: String,
}

#[test]
fn queries_and_documents_have_the_prompts_of_the_model() {
    for name in ["tiny-mpnet", "tiny-nomic-bert"] {
        let values: OfLayout = read_json(&reference(&format!("{name}.json")));
        let model = Sentences::load(&reference(name), EncoderBackend::Auto).unwrap();
        let texts: Vec<&str> = values.tokens.iter().map(|of| of.text.as_str()).collect();
        let queries = model.embed_queries(&texts[..values.queries.len()]).unwrap();
        let documents = model.embed(&texts[..values.documents.len()]).unwrap();
        assert_eq!((queries.len(), documents.len()), (10, 50));
        let found = queries.iter().chain(&documents);
        let expected = values.queries.iter().chain(&values.documents);
        for (found, expected) in found.zip(expected) {
            assert!(largest_difference(found, expected) < 1e-4, "{name}");
        }
        // texts that both have a vector: most differ
        let same = queries.iter().zip(&documents).filter(|(a, b)| a == b);
        assert!(same.count() < 3, "{name}");
    }
}

/// The vectors of a model with prompts are stored under another name than those of the same weights without them.
#[test]
fn the_producer_says_whether_there_are_prompts() {
    let with = Sentences::producer_of(&reference("tiny-mpnet"), "abc");
    let without = Sentences::producer_of(&reference("tiny-xlm-roberta"), "abc");
    assert!(
        with.starts_with(&format!("{without} ")),
        "{with}, {without}"
    );
}

#[test]
fn the_real_model_gives_a_text_the_same_vector_in_any_batch() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let model = Sentences::load(&minilm.dir, EncoderBackend::Auto).unwrap();
    // the last text is longer than the model can read
    let long = "why the death penalty should be abolished ".repeat(60);
    let texts: Vec<String> = texts_of_many_lengths(700)
        .into_iter()
        .chain([long])
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = model.embed(&texts).unwrap();
    assert_eq!(together.len(), texts.len());
    for (text, vector) in texts.iter().zip(&together) {
        assert_eq!(&model.embed(&[text]).unwrap()[0], vector, "{text:?} alone");
    }
    let reversed: Vec<&str> = texts.iter().rev().copied().collect();
    let mut again = model.embed(&reversed).unwrap();
    again.reverse();
    assert_eq!(again, together);
}

#[test]
fn a_small_model_gives_a_text_nearly_the_same_vector_in_any_batch() {
    let model = Sentences::load(&reference("tiny-sentence"), EncoderBackend::Auto).unwrap();
    let texts = [
        "people",
        "",
        "the cat and the people on guns",
        "x",
        "death penalty ".repeat(300).leak(),
    ];
    let together = model.embed(&texts).unwrap();
    assert_eq!(together.len(), texts.len());
    for (text, vector) in texts.iter().zip(&together) {
        assert!(
            largest_difference(&model.embed(&[text]).unwrap()[0], vector) < 1e-6,
            "{text:?}"
        );
        let length: f32 = vector.iter().map(|v| v * v).sum();
        assert!((length - 1.0).abs() < 1e-5);
    }
}

#[test]
fn words_after_256_tokens_change_nothing() {
    let model = Sentences::load(&reference("tiny-sentence"), EncoderBackend::Auto).unwrap();
    // 254 words with one token each, and the two special tokens
    let full = "the ".repeat(254);
    let vector = |text: &str| model.embed(&[text]).unwrap().remove(0);
    assert_eq!(vector(&full), vector(&format!("{full} people people")));
    assert_ne!(vector(&full), vector(&format!("people {full}")));
}

#[test]
fn a_damaged_checkpoint_is_named() {
    let refused = |damage: &dyn Fn(&Path), expected: &str| {
        let copy = copy_of("tiny-sentence");
        damage(copy.path());
        let said = message(Sentences::load(copy.path(), EncoderBackend::Auto));
        assert!(said.contains(expected), "{said}");
    };
    let tensor = "encoder.layer.1.attention.self.key.weight";
    refused(
        &|dir| {
            edit_header(dir, |header| {
                let weight = header.remove(tensor).unwrap();
                header.insert("other".to_owned(), weight);
            });
        },
        &format!("tensor {tensor} is missing: expected shape [32, 32]"),
    );
    refused(
        &|dir| edit_header(dir, |header| header[tensor]["shape"] = json!([64, 16])),
        &format!("tensor {tensor} has shape [64, 16]: expected [32, 32]"),
    );
    refused(
        &|dir| edit_header(dir, |header| header[tensor]["dtype"] = json!("I32")),
        &format!("tensor {tensor} holds I32"),
    );
    refused(
        &|dir| {
            let file = File::options()
                .write(true)
                .open(dir.join("model.safetensors"))
                .unwrap();
            file.set_len(50_000).unwrap();
        },
        "truncated or damaged",
    );
    refused(
        &|dir| fs::remove_file(dir.join("tokenizer.json")).unwrap(),
        "tokenizer.json",
    );
    refused(
        &|dir| fs::write(dir.join("tokenizer.json"), "{}").unwrap(),
        "tokenizer.json",
    );
    refused(
        &|dir| fs::write(dir.join("config.json"), "[").unwrap(),
        "config.json",
    );
}
