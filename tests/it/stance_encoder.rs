//! The stance encoder compared with transformers (tests/reference/encoders.py), and `riposte stance`.

use std::fs;
use std::process::Command;

use riposte::reading::stance_encoder::{
    OUTPUTS, StanceEncoder, StanceReading, TrainedTensor, pack,
};
use riposte_nn::transformer::EncoderBackend;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::checkpoint::texts_of_many_lengths;
use crate::support::files::{json as read_json, json_lines, text};
use crate::support::models::MINILM;
use crate::support::need::{Model, need};
use crate::support::program::{code, riposte, stderr, stdout};
use crate::support::{assert_says, message, reference};

#[derive(Deserialize)]
struct Pair {
    claim: String,
    text: String,
    /// Logits for con, pro and neither, then quality and relevance.
    logits: [f32; OUTPUTS],
}

fn pairs(name: &str) -> Vec<Pair> {
    let pairs: Vec<Pair> = read_json(&reference(name));
    assert_eq!(pairs.len(), 9);
    pairs
}

fn tiny() -> StanceEncoder {
    tiny_with(EncoderBackend::Auto)
}

fn tiny_with(backend: EncoderBackend) -> StanceEncoder {
    let trained = fs::read(reference("tiny-pair.safetensors")).unwrap();
    StanceEncoder::load_trained(&reference("tiny-sentence"), "tiny", &trained, backend).unwrap()
}

/// The stance encoder of the program, on the published checkpoint.
pub fn real() -> Option<StanceEncoder> {
    let model = need(Model(MINILM))?;
    Some(StanceEncoder::load(&model.dir, &model.sha256, EncoderBackend::default()).unwrap())
}

fn agree(model: &StanceEncoder, expected: &[Pair], tolerance: f32) {
    let pairs: Vec<(&str, &str)> = expected
        .iter()
        .map(|pair| (pair.claim.as_str(), pair.text.as_str()))
        .collect();
    let readings = model.read(&pairs).unwrap();
    assert_eq!(readings.len(), expected.len());
    for (reading, expected) in readings.iter().zip(expected) {
        let logits = reading.outputs();
        assert_eq!(StanceReading::of(&logits), *reading);
        for (found, wanted) in logits.iter().zip(expected.logits) {
            assert!(
                (found - wanted).abs() < tolerance,
                "{:?} {:?}: {logits:?}, not {:?}",
                expected.claim,
                expected.text,
                expected.logits
            );
        }
    }
}

#[test]
fn logits_are_those_of_transformers() {
    for backend in [EncoderBackend::Auto, EncoderBackend::Float] {
        agree(&tiny_with(backend), &pairs("tiny-pair.json"), 1e-4);
    }
    assert!(tiny().logits(&[]).unwrap().is_empty());
}

#[test]
fn logits_of_the_real_encoder_are_those_of_transformers() {
    let Some(base) = need(Model(MINILM)) else {
        return;
    };
    let load = |backend| StanceEncoder::load(&base.dir, &base.sha256, backend).unwrap();
    agree(&load(EncoderBackend::Float), &pairs("pair.json"), 1e-3);
    // in int8, if the machine supports it: over the pairs of Task 2's development topics, the root of the mean square of this difference is .02 for stances and .08
    // for relevance, which differs most where a text is empty
    agree(&load(EncoderBackend::Auto), &pairs("pair.json"), 0.3);
}

#[test]
fn a_pair_has_the_same_logits_in_any_batch() {
    let model = tiny();
    let texts = texts_of_many_lengths(300);
    let pairs: Vec<(&str, &str)> = texts.iter().map(|t| ("guns kill", t.as_str())).collect();
    let together = model.logits(&pairs).unwrap();
    assert_eq!(together.len(), pairs.len());
    for (pair, logits) in pairs.iter().zip(&together) {
        assert_eq!(model.logits(&[*pair]).unwrap(), [*logits], "{pair:?}");
    }
}

#[test]
fn trained_changes_are_packed_and_loaded() {
    let base = reference("tiny-sentence");
    let name = "encoder.layer.0.attention.self.query.weight";
    let published: Vec<f32> = (0..32 * 32).map(|n| (n % 7) as f32 * 0.1).collect();
    let trained: Vec<f32> = published.iter().map(|x| x + 0.25).collect();
    let head = |name: &str, shape: Vec<usize>| {
        let count = shape.iter().product();
        TrainedTensor {
            name: name.to_owned(),
            shape,
            numbers: (0..count).map(|n| (n % 5) as f32 * 0.1 - 0.2).collect(),
            published: None,
        }
    };
    let written = |change: bool| {
        let mut tensors = vec![
            head("head.dense.weight", vec![32, 32]),
            head("head.dense.bias", vec![32]),
            head("head.out.weight", vec![OUTPUTS, 32]),
            head("head.out.bias", vec![OUTPUTS]),
        ];
        if change {
            tensors.push(TrainedTensor {
                name: name.to_owned(),
                shape: vec![32, 32],
                numbers: trained.clone(),
                published: Some(published.clone()),
            });
        }
        pack("tiny", "a card", &tensors).unwrap()
    };
    let logits = |bytes: &[u8]| {
        let model =
            StanceEncoder::load_trained(&base, "tiny", bytes, EncoderBackend::Auto).unwrap();
        model.logits(&[("guns", "people")]).unwrap()
    };
    assert_ne!(logits(&written(true)), logits(&written(false)));
    let refused = StanceEncoder::load_trained(&base, "other", &written(true), EncoderBackend::Auto);
    assert!(message(refused).contains("trained from another checkpoint"));
    let refused = StanceEncoder::load_trained(&base, "tiny", b"no weights", EncoderBackend::Auto);
    assert!(message(refused).contains("reading the changes of the weights"));
}

/// Runs a command. Returns the answers, standard error and the exit code.
fn answers(command: &mut Command) -> (Vec<Value>, String, i32) {
    let output = command.output().unwrap();
    (json_lines(&stdout(&output)), stderr(&output), code(&output))
}

#[test]
fn stance_answers_line_by_line_and_names_lines_that_it_cannot_read() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("asked.jsonl");
    let lines = [
        json!({"topic": "Should smoking be banned?", "text": "Smoking is dangerous, it harms and kills."}).to_string(),
        "{\"topic\": \"guns\"}".to_owned(),
        json!({"objects": ["cats", "dogs"], "text": "Cats are better than dogs."}).to_string(),
        json!({"topic": "guns", "objects": ["a", "b"], "text": "x"}).to_string(),
        String::new(),
        json!({"topic": "", "text": "guns kill"}).to_string(),
        json!({"topic": "guns", "text": " \n"}).to_string(),
    ];
    fs::write(&file, lines.join("\n")).unwrap();
    let args = ["stance", "--jsonl", text(&file)];
    let (answers, said, code) = answers(&mut riposte(home.path(), &args));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("is estimated from words only"), "{said}");
    assert_says(&said, &["asked.jsonl:2: missing field `text`"]);
    assert_says(&said, &["asked.jsonl:4: a line has a topic or two objects"]);
    assert!(said.contains("asked.jsonl:6: the topic is empty"), "{said}");
    assert_eq!(answers.len(), 6);
    assert_eq!(answers[0]["stance"], "PRO");
    // an empty text takes no side
    assert_eq!(answers[5]["stance"], "NEITHER");
    assert_eq!(answers[5]["neither"], 1.0);
    for unanswered in [1, 3, 4] {
        assert_eq!(answers[unanswered], Value::Null);
    }
    assert_eq!(answers[2]["stance"], "FIRST");
    for (answer, names) in [
        (&answers[0], &["pro", "con", "neither"][..]),
        (&answers[2], &["first", "second", "neutral", "no"]),
    ] {
        let sum: f64 = names
            .iter()
            .map(|name| answer[name].as_f64().unwrap())
            .sum();
        assert!((sum - 1.0).abs() < 1e-9, "{answer}");
    }
}

#[test]
fn stance_is_read_towards_the_topic_and_not_by_sentiment() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let text = "Smoking kills millions of people every year.";
    for (topic, text, stance) in [
        (
            "Should the voting age be lowered?",
            "It is not true that teenagers are too immature to vote.",
            "PRO",
        ),
        (
            "Should nuclear power be banned?",
            "Nuclear plants kill fewer people than coal.",
            "CON",
        ),
        ("Should smoking be banned?", text, "PRO"),
        ("Should smoking be allowed in restaurants?", text, "CON"),
        (
            "Should the voting age be lowered?",
            "Teenagers are not mature enough to vote.",
            "CON",
        ),
        (
            "This house would abolish the death penalty",
            "Innocent people have been executed.",
            "PRO",
        ),
        (
            "Should zoos be closed?",
            "Animals suffer in captivity.",
            "PRO",
        ),
        (
            "Should zoos be closed?",
            "Zoos protect endangered species from extinction.",
            "CON",
        ),
        (
            "Should the voting age be lowered?",
            "The recipe needs two eggs and some flour.",
            "NEITHER",
        ),
    ] {
        let args = ["stance", "--topic", topic, "--text", text, "--explain"];
        let mut command = riposte(home.path(), &args);
        command.env("RIPOSTE_MODELS", minilm.dir.parent().unwrap());
        let (answers, said, code) = answers(&mut command);
        assert_eq!(code, 0, "{said}");
        assert_eq!(
            answers[0]["stance"], stance,
            "{topic} {text} {}",
            answers[0]
        );
        let opened = answers[0]["explanation"].to_string();
        assert!(opened.contains("from the beginning"), "{opened}");
    }
}
