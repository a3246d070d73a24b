//! `riposte stance` on pairs that are difficult for a reader that considers only words. No model was trained on them
//! (tests/it/data/stance/README.md).

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::sentence::MINILM;
use crate::support::files::{json_lines, text};
use crate::support::need::{Model, need};
use crate::support::program::{riposte, stdout, succeed};

const KEPT: &str = include_str!("data/stance/challenge-kept.tsv");

/// The correct answer, and the answer of the program.
type Answer = (&'static str, String);

/// The mean F1 of the three answers.
fn macro_f1(answers: &[&Answer]) -> f64 {
    let f1 = |class: &str| {
        let count = |of: &dyn Fn(&Answer) -> bool| answers.iter().filter(|a| of(a)).count() as f64;
        let both = count(&|(truth, found)| *truth == class && found == class);
        2.0 * both / (count(&|(truth, _)| *truth == class) + count(&|(_, found)| found == class))
    };
    ["pro", "con", "neither"].map(f1).iter().sum::<f64>() / 3.0
}

#[test]
fn stance_survives_negation_comparison_concession_questions_irony_and_quotation() {
    let rows: Vec<Vec<&str>> = KEPT
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    let pairs: Vec<(&str, String)> = rows.iter().map(|row| (row[1], row[2].to_owned())).collect();
    let Some(found) = answers(&pairs) else { return };
    assert_eq!(found.len(), rows.len());
    let mut by_phenomenon: BTreeMap<&str, Vec<Answer>> = BTreeMap::new();
    for (row, found) in rows.iter().zip(found) {
        let found = found["stance"].as_str().unwrap().to_lowercase();
        by_phenomenon
            .entry(row[0])
            .or_default()
            .push((row[3], found));
    }
    assert_eq!(by_phenomenon.len(), 7);
    let all: Vec<&Answer> = by_phenomenon.values().flatten().collect();
    let figure = macro_f1(&all);
    // One answer changes the figure of a phenomenon by about .05, so the limits are below the figures in docs/stance.md.
    assert!(figure >= 0.7, "all: {figure:.3}");
    for (phenomenon, answers) in &by_phenomenon {
        let figure = macro_f1(&answers.iter().collect::<Vec<_>>());
        assert!(figure >= 0.45, "{phenomenon}: {figure:.3}");
    }
}

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
