//! The pair encoder against transformers (collection-tools/reference.py), and the door to it.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use riposte::nn::transformer::Backend;
use riposte::reading::pair::{CLASSES, PairEncoder, TrainedTensor, pack};
use riposte::weights::{ModelStatus, Models};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::clip::{message, reference};
use crate::sentence::minilm_dir;

#[derive(Deserialize)]
struct Pair {
    claim: String,
    text: String,
    logits: [f32; CLASSES],
}

fn pairs(name: &str) -> Vec<Pair> {
    serde_json::from_str(&fs::read_to_string(reference(name)).unwrap()).unwrap()
}

fn tiny() -> PairEncoder {
    tiny_with(Backend::Auto)
}

fn tiny_with(backend: Backend) -> PairEncoder {
    let trained = fs::read(reference("tiny-pair.safetensors")).unwrap();
    PairEncoder::load_trained(&reference("tiny-sentence"), "tiny", &trained, backend).unwrap()
}

/// The real one, or none and a line that says why.
pub fn real() -> Option<PairEncoder> {
    minilm_dir()?;
    match Models::at(None).unwrap().find("all-minilm-l6-v2").unwrap() {
        ModelStatus::Ready(model) => Some(PairEncoder::load(&model.dir, &model.sha256).unwrap()),
        _ => panic!("all-MiniLM-L6-v2 is there and not whole"),
    }
}

fn agree(model: &PairEncoder, expected: &[Pair], tolerance: f32) {
    let pairs: Vec<(&str, &str)> = expected
        .iter()
        .map(|pair| (pair.claim.as_str(), pair.text.as_str()))
        .collect();
    for (logits, expected) in model.logits(&pairs).unwrap().iter().zip(expected) {
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
    let expected = pairs("tiny-pair.json");
    assert_eq!(expected.len(), 9);
    for backend in [Backend::Auto, Backend::Candle] {
        agree(&tiny_with(backend), &expected, 1e-4);
    }
    assert!(tiny().logits(&[]).unwrap().is_empty());
    if let Some(model) = real() {
        agree(&model, &pairs("pair.json"), 1e-3);
    }
}

#[test]
fn a_pair_has_the_same_logits_in_any_company() {
    let model = tiny();
    let long = "why the death penalty should be abolished ".repeat(9);
    let texts: Vec<String> = (0..60)
        .map(|n| long.chars().skip(n).take(n * n % 300).collect())
        .collect();
    let pairs: Vec<(&str, &str)> = texts.iter().map(|t| ("guns kill", t.as_str())).collect();
    let together = model.logits(&pairs).unwrap();
    for (pair, logits) in pairs.iter().zip(&together) {
        assert_eq!(model.logits(&[*pair]).unwrap(), [*logits], "{pair:?}");
    }
}

#[test]
fn what_training_changed_is_written_and_read_within_its_rounding() {
    // all of a row by the same number: what is written is exact to half a percent
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
            head("head.out.weight", vec![3, 32]),
            head("head.out.bias", vec![3]),
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
        let model = PairEncoder::load_trained(&base, "tiny", bytes, Backend::Auto).unwrap();
        model.logits(&[("guns", "people")]).unwrap()
    };
    assert_ne!(logits(&written(true)), logits(&written(false)));
    let refused = PairEncoder::load_trained(&base, "other", &written(true), Backend::Auto);
    assert!(message(refused).contains("trained from another checkpoint"));
    let refused = PairEncoder::load_trained(&base, "tiny", b"no weights", Backend::Auto);
    assert!(message(refused).contains("reading the changes of the weights"));
}

fn riposte(models: Option<&Path>) -> Command {
    let mut command = Command::cargo_bin("riposte").unwrap();
    command.arg("stance");
    if let Some(models) = models {
        command.arg("--models").arg(models);
    }
    command
}

fn answers(command: &mut Command) -> (Vec<Value>, String, Option<i32>) {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let said = String::from_utf8(output.stderr).unwrap();
    (answers, said, output.status.code())
}

#[test]
fn the_door_answers_line_by_line_and_names_what_it_cannot_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("asked.jsonl");
    let lines = [
        json!({"topic": "Should smoking be banned?", "text": "Smoking is dangerous, it harms and kills."}).to_string(),
        "{\"topic\": \"guns\"}".to_owned(),
        json!({"objects": ["cats", "dogs"], "text": "Cats are better than dogs."}).to_string(),
        json!({"topic": "guns", "objects": ["a", "b"], "text": "x"}).to_string(),
        String::new(),
        json!({"topic": "", "text": ""}).to_string(),
    ];
    fs::write(&file, lines.join("\n")).unwrap();
    // an empty directory of models: words alone
    let (answers, said, code) = answers(riposte(Some(dir.path())).arg("--jsonl").arg(&file));
    assert_eq!(code, Some(1));
    assert!(said.contains("goes by words alone"), "{said}");
    assert!(
        said.contains("asked.jsonl:2: missing field `text`"),
        "{said}"
    );
    assert!(
        said.contains("asked.jsonl:4: a line has a topic or two objects"),
        "{said}"
    );
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[0]["stance"], "PRO");
    assert_eq!((&answers[1], &answers[3]), (&Value::Null, &Value::Null));
    assert_eq!(answers[2]["stance"], "FIRST");
    for (answer, names) in [
        (&answers[0], &["pro", "con", "neither"][..]),
        (&answers[2], &["first", "second", "neutral", "no"]),
        (&answers[4], &["pro", "con", "neither"]),
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
    if real().is_none() {
        return;
    }
    let text = "Smoking kills millions of people every year.";
    for (topic, text, stance) in [
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
        let (answers, _, code) =
            answers(riposte(None).args(["--topic", topic, "--text", text, "--explain"]));
        assert_eq!(code, Some(0));
        assert_eq!(
            answers[0]["stance"], stance,
            "{topic} {text} {}",
            answers[0]
        );
        let opened = answers[0]["explanation"].to_string();
        assert!(opened.contains("from the beginning"), "{opened}");
    }
}
