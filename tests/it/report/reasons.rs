//! The sentence at the top of "Why is it here?": it agrees with the explanation that the ranking wrote.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::Fixture;
use crate::support::files::{json_lines, text};
use crate::support::program::{succeed, typed};

/// The sentences of a page, by image.
fn sentences(page: &Path) -> HashMap<String, String> {
    let html = fs::read_to_string(page).unwrap();
    let dialogs = html.split("<dialog class=\"image").skip(1);
    dialogs
        .filter_map(|dialog| {
            let between = |start: &str, end: &str| {
                let rest = dialog.split_once(start)?.1;
                Some(rest.split_once(end)?.0.to_owned())
            };
            let sentence = between("<p class=\"reason\">", "</p>")?;
            Some((between("id=\"", "\"")?, sentence.replace("&#39;", "'")))
        })
        .collect()
}

fn parts(of: &Value) -> impl Iterator<Item = (&str, f64)> {
    let parts = of["parts"].as_array().into_iter().flatten();
    parts.map(|part| {
        (
            part["name"].as_str().unwrap(),
            part["value"].as_f64().unwrap(),
        )
    })
}

fn part<'a>(of: &'a Value, name: &str) -> &'a Value {
    let parts = of["parts"].as_array().unwrap();
    parts.iter().find(|part| part["name"] == name).unwrap()
}

/// The sum of the parts whose names contain one of the words.
fn sum(of: &Value, words: &[&str]) -> f64 {
    let about = parts(of).filter(|(name, _)| words.iter().any(|word| name.contains(word)));
    about.map(|(_, value)| value).sum()
}

/// Checks that the sentence about a listed image agrees with its explanation.
fn check(sentence: &str, explained: &Value) {
    let listed = &explained["listed"][0];
    let stance = listed["stance"].as_str().unwrap();
    let (key, other, belief) = match stance {
        "PRO" => ("pro", "con", "P(pro)"),
        _ => ("con", "pro", "P(con)"),
    };
    let place = format!("{stance} {}: ", listed["rank"]);
    let rest = sentence.strip_prefix(&place);
    let rest = rest.unwrap_or_else(|| panic!("{sentence} is at {place}"));
    let (own, there) = (&explained[key], &explained[other]);

    // the first source of relevance adds most
    let relevance = part(own, "relevance");
    let sources = [
        ("the text in it", sum(relevance, &["ocr"])),
        ("its page's title", sum(relevance, &["title"])),
        ("the words around it", sum(relevance, &["near"])),
        ("the text of its page", sum(relevance, &["main"])),
        ("its likeness to arguments", sum(relevance, &["arguments"])),
        ("what it shows", sum(relevance, &["clip"])),
    ];
    let most = sources.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let topic = rest.split_once("; ").unwrap().0;
    if most.1 > 0.0 {
        let by = topic.split_once("by ").unwrap().1;
        let by = by.split_once("by ").map_or(by, |(_, by)| by);
        assert!(by.starts_with(most.0), "{sentence}: {sources:?}");
    } else {
        assert!(topic.contains("nothing about it"), "{sentence}");
    }

    // only an image that would have been worth more in the other list was kept out of it
    let worth_more = there["value"].as_f64() > own["value"].as_f64();
    let displaced = sentence.contains(" was full, and ");
    assert_eq!(displaced, worth_more, "{sentence}");

    // the first source of the stance adds most to its probability
    let belief = part(own, belief);
    let sources = [
        ("the text in it", sum(belief, &["text in the picture"])),
        ("the words around it", sum(belief, &["words around"])),
        (
            "what it shows",
            sum(belief, &["likeness of the picture", "CLIP"]),
        ),
    ];
    let most = sources.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let says = rest.split_once("; ").unwrap().1;
    let says = says
        .split_once(" was full, and ")
        .map_or(says, |(_, says)| says);
    let verbs = match stance {
        "PRO" => ["support", "toward"],
        _ => ["oppose", "against"],
    };
    if most.1 > 0.0 {
        // an image that takes no clear side is not said to support or oppose the claim
        let is_hedged = says.contains("too little to say which side it takes");
        let verb = verbs[usize::from(most.1 < 0.4 || is_hedged)];
        let claim = says.split_once(", though").map_or(says, |(claim, _)| claim);
        assert!(
            claim.starts_with(most.0) && claim.contains(verb),
            "{sentence}: {sources:?}"
        );
    } else {
        assert!(says.starts_with("nothing about it"), "{sentence}");
    }
}

#[test]
fn every_sentence_agrees_with_the_explanation_of_its_image() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let report = fixture.inspect(&run, &[]);
    let explained = json_lines(&fs::read_to_string(run.join("explain.jsonl")).unwrap());
    let (mut checked, mut displaced) = (0, 0);
    for topic in 1..=6 {
        let sentences = sentences(&report.join(format!("topic-{topic}.html")));
        let topic = topic.to_string();
        let of_topic = explained
            .iter()
            .filter(|e| e["topic"] == topic.as_str() && e["listed"][0].is_object());
        for explained in of_topic {
            let sentence = &sentences[explained["image"].as_str().unwrap()];
            check(sentence, explained);
            checked += 1;
            displaced += usize::from(sentence.contains("was full"));
        }
    }
    assert_eq!(checked, 120);
    assert!(
        displaced > 0,
        "the sample has no image whose better list is full"
    );
}

#[test]
fn another_explanation_gives_another_sentence() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let file = run.join("explain.jsonl");
    let mut explained = json_lines(&fs::read_to_string(&file).unwrap());
    let first = explained.iter_mut().find(|e| e["listed"][0]["rank"] == 1);
    let first = first.unwrap();
    let (topic, image) = (first["topic"].clone(), first["image"].clone());
    let stance = first["listed"][0]["stance"].as_str().unwrap().to_owned();
    for side in ["pro", "con"] {
        let relevance = &mut first[side]["parts"][0];
        assert_eq!(relevance["name"], "relevance");
        for part in relevance["parts"].as_array_mut().unwrap() {
            let is_main = part["name"] == "bm25 main";
            part["value"] = if is_main { 0.5 } else { 0.1 }.into();
        }
    }
    let lines: String = explained.iter().map(|e| format!("{e}\n")).collect();
    fs::write(&file, lines).unwrap();
    let report = fixture.inspect(&run, &[]);
    let page = report.join(format!("topic-{}.html", topic.as_str().unwrap()));
    let sentence = &sentences(&page)[image.as_str().unwrap()];
    assert!(
        sentence.starts_with(&format!("{stance} 1: on topic by the text of its page;")),
        "{sentence}"
    );
}

/// Removes the ids from explanations, as an earlier version of riposte wrote them.
fn without_ids(mut value: Value) -> Value {
    match &mut value {
        Value::Object(object) => {
            object.remove("id");
            object
                .values_mut()
                .for_each(|of| *of = without_ids(of.take()));
        }
        Value::Array(values) => values
            .iter_mut()
            .for_each(|of| *of = without_ids(of.take())),
        _ => {}
    }
    value
}

#[test]
fn explanations_of_an_earlier_riposte_are_shown_without_sentences() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let pages = || {
        let report = fixture.inspect(&run, &[]);
        ["index.html", "topic-1.html"].map(|name| fs::read_to_string(report.join(name)).unwrap())
    };
    let note = "of an earlier riposte";
    let [index, topic] = pages();
    assert!(!index.contains(note));
    let rows = |page: &str| page.matches("<b>relevance</b>").count();
    let reasons = |page: &str| page.matches("<p class=\"reason\">").count();
    let (shown, said) = (rows(&topic), reasons(&topic));
    assert!(shown > 0 && said > 0);

    let file = run.join("explain.jsonl");
    let explained = json_lines(&fs::read_to_string(&file).unwrap()).into_iter();
    let lines: String = explained.map(|e| format!("{}\n", without_ids(e))).collect();
    fs::write(&file, lines).unwrap();
    let [index, topic] = pages();
    assert!(index.contains(note), "{index}");
    assert_eq!(rows(&topic), shown);
    // only the sentence about a copy needs no ids, because it does not explain a number
    let copies = topic.matches("Not listed: a copy of").count();
    assert!(reasons(&topic) == copies && copies < said);
    assert!(!topic.contains("class=\"gauges\"") && !topic.contains("class=\"lean\""));
}

#[test]
fn runs_of_other_approaches_have_sentences_too() {
    let fixture = Fixture::new();
    for (approach, says) in [
        ("aramis", "put here by the sign of the formula of Aramis ("),
        (
            "boromir-afinn",
            "put here by the sign of AFINN over the page (",
        ),
        ("minsc", "put here by the smallest crawl rank"),
    ] {
        let run = fixture.run(approach, &["--approach", approach]);
        let lines = fs::read_to_string(run.join("run.txt")).unwrap();
        let topic = lines.split(' ').next().unwrap().to_owned();
        let report = fixture.inspect(&run, &[]);
        let sentences = sentences(&report.join(format!("topic-{topic}.html")));
        let own: Vec<&String> = sentences
            .values()
            .filter(|s| s.starts_with("PRO "))
            .collect();
        assert!(
            !own.is_empty() && own.iter().all(|s| s.contains(says)),
            "{own:?}"
        );
    }
}

#[test]
fn a_copy_that_was_left_out_is_shown_with_the_image_that_was_kept() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    // judged on topic, so that the page shows the copy too
    let explained = json_lines(&fs::read_to_string(run.join("explain.jsonl")).unwrap());
    let listed = |id: &Value, topic: &Value| {
        let of = explained
            .iter()
            .find(|e| e["image"] == *id && e["topic"] == *topic);
        of.filter(|e| e["listed"][0].is_object())
    };
    let copy = explained
        .iter()
        .find(|e| listed(&e["copy_of"], &e["topic"]).is_some());
    let copy = copy.expect("the sample has a copy of a listed image");
    let original = listed(&copy["copy_of"], &copy["topic"]).unwrap();
    let id = |of: &Value| of["image"].as_str().unwrap().to_owned();
    let topic = copy["topic"].as_str().unwrap();
    let qrels = fixture.path("qrels.txt");
    fs::write(&qrels, format!("{topic} ONTOPIC {} 1\n", id(copy))).unwrap();
    let report = fixture.path("with-copies");
    let mut command = fixture.inspect_into(&run, &report);
    command.args(typed(
        "--quiet=progress --evidence {} --qrels {}",
        &[text(&fixture.evidence), text(&qrels)],
    ));
    succeed(&mut command);
    let page = report.join(format!("topic-{topic}.html"));
    let place = format!(
        "{} {}",
        original["listed"][0]["stance"].as_str().unwrap(),
        original["listed"][0]["rank"]
    );
    assert_eq!(
        sentences(&page)[&id(copy)],
        format!("Not listed: a copy of {}, which is {place}.", id(original))
    );
    let html = fs::read_to_string(&page).unwrap();
    let card = |id: &str| {
        let mut cards = html.split("<li class=\"card\">").skip(1);
        let own = format!("<a href=\"#{id}\"");
        let card = cards.find(|card| card.starts_with(&own)).unwrap();
        card.split("</li>").next().unwrap().to_owned()
    };
    for (one, other) in [(copy, original), (original, copy)] {
        let card = card(&id(one));
        let twins = card.split("class=\"twins\"").nth(1).unwrap();
        let picture = format!("pictures/{}-card.webp", id(other));
        assert!(twins.contains(&picture), "{card}");
        assert!(report.join(picture).is_file());
    }
}
