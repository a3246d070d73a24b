//! `riposte stance` on texts that mislead a reader of words, and on texts of another kind than its model has read.

use std::fs;

use serde_json::{Value, json};

use crate::support::files::{json_lines, text};
use crate::support::models::MINILM;
use crate::support::need::{Model, need};
use crate::support::program::{riposte, stdout, succeed};

/// The answers to pairs of topic and text; `None` without the published model.
fn answers(pairs: &[(&str, String)]) -> Option<Vec<Value>> {
    let model = need(Model(MINILM))?;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("asked.jsonl");
    let asked = pairs
        .iter()
        .map(|(topic, text)| format!("{}\n", json!({"topic": topic, "text": text})));
    fs::write(&file, asked.collect::<String>()).unwrap();
    let mut command = riposte(home.path(), &["stance", "--jsonl", text(&file)]);
    command.env("RIPOSTE_MODELS", model.dir.parent().unwrap());
    Some(json_lines(&stdout(&succeed(&mut command))))
}

#[test]
fn a_hashtag_a_name_or_a_link_does_not_turn_a_stance_round() {
    let bicycles = "Bicycles are amazing, cheap, clean and healthy!";
    let person = "@HillaryClinton is plain amazing, humble, smart and confident!";
    let against = "Zoos are cruel prisons, and every one of them should be closed tomorrow.";
    let pairs = [
        ("bicycles", bicycles.to_owned(), "PRO"),
        ("bicycles", format!("{bicycles} #bike"), "PRO"),
        (
            "bicycles",
            format!("{bicycles} #bike #news #fail #stop"),
            "PRO",
        ),
        ("bicycles", format!("@jane {bicycles}"), "PRO"),
        (
            "bicycles",
            format!("{bicycles} https://example.org/x"),
            "PRO",
        ),
        ("Hillary Clinton", person.to_owned(), "PRO"),
        (
            "Hillary Clinton",
            format!("{person} #HillaryClinton"),
            "PRO",
        ),
        (
            "Hillary Clinton",
            format!("{person} #Hillary2016 #win"),
            "PRO",
        ),
        ("zoos", against.to_owned(), "CON"),
        ("zoos", format!("{against} #lovezoos"), "CON"),
    ];
    let asked = pairs.clone().map(|(topic, text, _)| (topic, text));
    let Some(found) = answers(&asked) else { return };
    for ((_, text, stance), found) in pairs.iter().zip(found) {
        assert_eq!(found["stance"], *stance, "{text}: {found}");
        let [pro, con] = ["pro", "con"].map(|side| found[side].as_f64().unwrap());
        let right = if *stance == "PRO" { pro } else { con };
        assert!(right / (pro + con) > 0.6, "{text}: {found}");
        assert_eq!(found["unlike"], Value::Null, "{text}");
    }
}

#[test]
fn a_text_of_another_kind_is_said_to_be_unlike() {
    let list = "lion tiger bear wolf zebra giraffe elephant penguin seal otter eagle snake monkey camel rabbit goat sheep horse";
    let german = "Zoos sind grausam, weil die Tiere dort ihr ganzes Leben lang eingesperrt werden und leiden.";
    let plain =
        "Animals in zoos suffer all their lives, because they are locked up in small cages.";
    let pairs = [list, german, plain].map(|text| ("zoos", text.to_owned()));
    let Some(found) = answers(&pairs) else { return };
    for unlike in &found[..2] {
        let says = unlike["unlike"]
            .as_str()
            .unwrap_or_else(|| panic!("{unlike}"));
        assert!(says.contains("usually"), "{says}");
    }
    assert_eq!(found[2]["unlike"], Value::Null, "{}", found[2]);
    assert_eq!(found[2]["stance"], "CON");
}
