//! How well a text is written, in the opinion of a reader (src/score/quality.rs).

use std::fs;

use proptest::prelude::*;
use riposte::score::quality::{self, GradedText};
use serde_json::{Value, json};

use crate::support::assert_says;
use crate::support::files::{json_lines, text as path_text};
use crate::support::models::MINILM;
use crate::support::need::{Model, need};
use crate::support::program::{code, riposte, stderr, stdout};

const GOOD: &str = "Raising the minimum wage would help working families. According to a study by the \
    university of Washington, wages rose by 3 percent after the increase, while the number of jobs stayed the same. \
    Critics claim that prices would follow; however, the study found no such effect. Therefore the benefits for \
    workers outweigh the small costs for employers, because people who earn more also spend more in local shops.";

fn quality(text: &str) -> f64 {
    quality::quality(GradedText::Argument, text)
}

#[track_caller]
fn worse(worse: &str, than: &str) {
    let (worse_is, than_is) = (quality(worse), quality(than));
    assert!(
        worse_is < than_is - 0.01,
        "{worse_is:.3} for {worse:?} is not below {than_is:.3} for {than:?}"
    );
}

#[test]
fn shouting_swearing_and_typos_lower_the_quality() {
    worse(&GOOD.to_uppercase(), GOOD);
    worse(&GOOD.replace(". ", "!!! "), GOOD);
    worse(&GOOD.replace("Critics", "Those fucking idiots"), GOOD);
    worse(
        &GOOD
            .replace("the ", "teh ")
            .replace("Therefore", "wich is becuase i beleive")
            .replace(". ", ".")
            .to_lowercase(),
        GOOD,
    );
    worse("my opponent forfeits this round. vote con", GOOD);
    worse(
        &GOOD.replace("Critics claim", "lol ur dumb, u r gonna say"),
        GOOD,
    );
}

#[test]
fn an_argument_is_better_than_a_menu_or_a_headline() {
    let menu = "Home Products About Us Contact Site Map Privacy Policy Terms Of Use Login Register \
        Forum Recent Posts Archive Categories News Reviews Photos Videos Podcasts Shop Advertise";
    worse(menu, GOOD);
    worse("Minimum wage: raise it", GOOD);
}

#[test]
fn the_explanation_adds_up_to_the_quality() {
    for kind in [GradedText::Argument, GradedText::Passage] {
        let opened = quality::explain(kind, GOOD);
        assert_eq!(opened.value(), quality::quality(kind, GOOD));
        let sum: f64 = opened.parts().iter().map(|part| part.value()).sum();
        assert!((1.0 / (1.0 + (-sum).exp()) - opened.value()).abs() < 1e-12);
        assert!(opened.parts().iter().any(|part| part.name() == "profanity"));
    }
}

proptest! {
    #[test]
    fn any_text_has_a_quality(text in "(\\PC|[ .!?,A-Z\n'’+#])*") {
        for kind in [GradedText::Argument, GradedText::Passage] {
            let value = quality::quality(kind, &text);
            prop_assert!(value > 0.0 && value < 1.0, "{value}");
        }
    }
}

#[test]
fn ratings_answer_line_by_line_in_the_same_order() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("asked.jsonl");
    let topic = "We should raise the minimum wage";
    let lines = [
        json!({"topic": topic, "text": GOOD}).to_string(),
        json!({"text": "no topic"}).to_string(),
        json!({"topic": topic, "text": ""}).to_string(),
        json!({"topic": topic, "text": "its good"}).to_string(),
    ];
    fs::write(&file, lines.join("\n")).unwrap();
    let output = riposte(home.path(), &["quality", "--jsonl", path_text(&file)])
        .output()
        .unwrap();
    let said = stderr(&output);
    assert_eq!(code(&output), 0, "{said}");
    assert!(said.contains("is estimated from words only"), "{said}");
    assert_says(&said, &["asked.jsonl:2: missing field `topic`"]);
    let answers = json_lines(&stdout(&output));
    assert_eq!(answers.len(), 4);
    assert_eq!(answers[1], Value::Null);
    assert_eq!(answers[2]["quality"], 0.0);
    let of = |n: usize| answers[n]["quality"].as_f64().unwrap();
    assert!(0.0 < of(3) && of(3) < of(0) && of(0) < 1.0, "{answers:?}");
    let output = riposte(home.path(), &["quality", "--topic", topic])
        .output()
        .unwrap();
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("give --topic and --text"));
}

#[test]
fn the_encoder_rates_a_reason_above_a_mere_opinion() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let rate = |topic: &str, text: &str| -> Value {
        let args = ["quality", "--topic", topic, "--text", text, "--explain"];
        let mut command = riposte(home.path(), &args);
        command.env("RIPOSTE_MODELS", minilm.dir.parent().unwrap());
        let output = command.output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        json_lines(&stdout(&output)).remove(0)
    };
    let topic = "We should subsidize public libraries";
    let good = "Public libraries give everyone, however poor, access to books and knowledge, and so they pay for themselves many times over.";
    let answer = rate(topic, good);
    let quality = |answer: &Value| answer["quality"].as_f64().unwrap();
    assert!(
        answer["explanation"].to_string().contains(quality::READ),
        "{answer}"
    );
    let poor = rate(topic, "libraries is good i like it so much yes");
    assert!(quality(&poor) < quality(&answer) - 0.05, "{poor} {answer}");
}
