//! A collection that has nothing about a question says so, in the terminal, in JSON, in the summary of a run, in the report and on the debate sheet, and the
//! documents of a list that are less likely to be about it stand below a line. A question in another language gets no sides.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::support::files::{json_lines, text};
use crate::support::models::MINILM;
use crate::support::need::{Model, need};
use crate::support::program::{WorkDir, code, riposte, stderr, stdout, typed};
use crate::support::{assert_says, golden_evidence, runs, sample};

/// Nothing in the sample is about this.
const ABSENT: &str = "Should Germany leave the European Union?";
const PRESENT: &str = "Should zoos be closed?";
const GERMAN: &str = "Sollten Zoos geschlossen werden?";

const NOTHING: &str = "This collection seems to have nothing about it";
const DIVIDER: &str = "less likely to be about it";

/// A directory with the stored evidence of the sample.
fn home() -> WorkDir {
    let home = WorkDir::with(&[]);
    fs::copy(golden_evidence(), home.path("e.sqlite")).unwrap();
    home
}

/// What a command with these words prints, its exit code and its messages. `more` follows the words of `line`.
fn run(home: &WorkDir, line: &str, more: &[&str]) -> (i32, String, String) {
    let mut command = riposte(&home.path(""), &typed(line, &[]));
    let output = command
        .args(more)
        .current_dir(home.path(""))
        .output()
        .unwrap();
    (code(&output), stdout(&output), stderr(&output))
}

#[track_caller]
fn succeeds(home: &WorkDir, line: &str, more: &[&str]) -> (String, String) {
    let (exit, shown, said) = run(home, line, more);
    assert_eq!(exit, 0, "{line}: {said}");
    (shown, said)
}

/// The texts in one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks that the padding of a list is its end, and that the terminal draws the line above it. Returns the number of documents before it.
#[track_caller]
fn before_padding(list: &[Value]) -> usize {
    let is_padding = |one: &Value| one["padding"].as_bool().unwrap();
    let before = list.iter().take_while(|one| !is_padding(one)).count();
    assert!(list[before..].iter().all(is_padding), "{list:?}");
    for one in list {
        let about = one["about"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&about), "{one}");
    }
    before
}

/// The lists of an answer.
fn lists(answer: &Value) -> Vec<&[Value]> {
    let sides = answer["sides"].as_array().unwrap().iter();
    let lists = sides.chain([&answer["undecided"]]);
    let lists = lists.flat_map(|side| [&side["images"], &side["arguments"]]);
    lists
        .filter_map(|list| list.as_array().map(Vec::as_slice))
        .collect()
}

fn asked(home: &WorkDir, question: &str, task: &str, models: &[&str]) -> (Value, String) {
    let place = ["-i", text(sample()), "-n", "10"];
    let line = format!(
        "ask --quiet=progress --task {task}{}",
        if task == "images" {
            " --evidence e.sqlite"
        } else {
            ""
        }
    );
    let more = [&[question][..], &place, models].concat();
    let (json, _) = succeeds(home, &line, &[&more[..], &["--json"]].concat());
    let (shown, _) = succeeds(home, &line, &more);
    (serde_json::from_str(&json).unwrap(), shown)
}

/// What is said of a question about another matter and of one that the collection answers, for images and for arguments.
fn a_question_about_another_matter_is_recognised(models: &[&str], by: &str) {
    let home = home();
    for task in ["images", "controversial"] {
        let (answer, shown) = asked(&home, ABSENT, task, models);
        assert_eq!(answer["nothing_about_it"], true, "{task}: {answer}");
        let presence = &answer["presence"];
        assert_eq!(presence["by"], by, "{task}");
        assert!(presence["about"].as_f64() < presence["least"].as_f64());
        assert!(one_line(&shown).contains(NOTHING), "{task}: {shown}");
        // images fill the lists of the run all the same, and all of them are padding
        let lists = lists(&answer);
        if task == "images" {
            assert_eq!(lists.iter().map(|list| list.len()).sum::<usize>(), 20);
        }
        for list in lists.into_iter().filter(|list| !list.is_empty()) {
            assert_eq!(before_padding(list), 0, "{task}");
        }

        let (answer, shown) = asked(&home, PRESENT, task, models);
        assert_eq!(answer["nothing_about_it"], false, "{task}: {answer}");
        assert!(!shown.contains(NOTHING), "{task}: {shown}");
    }
}

#[test]
fn a_question_about_another_matter_is_recognised_by_words() {
    a_question_about_another_matter_is_recognised(&[], "words");
}

#[test]
fn a_question_about_another_matter_is_recognised_by_sentences() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let models = text(minilm.dir.parent().unwrap());
    a_question_about_another_matter_is_recognised(&["--models", models], "sentences");
}

#[test]
fn the_line_above_the_padding_is_at_the_same_place_in_the_terminal_in_json_and_in_the_report() {
    let home = home();
    let (answer, shown) = asked(&home, PRESENT, "images", &[]);
    let lists = lists(&answer);
    let padded = lists
        .iter()
        .filter(|list| before_padding(list) < list.len());
    let padded = padded.count();
    // the sample has fewer than twenty images about a topic
    assert!(padded > 0, "{answer}");
    assert_eq!(shown.matches(DIVIDER).count(), padded, "{shown}");
    for list in &lists {
        let place = before_padding(list);
        if let Some(first) = list.get(place) {
            let (above, _) = shown.split_once(first["id"].as_str().unwrap()).unwrap();
            let line = above
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty() && !line.contains('['));
            assert!(line.unwrap().contains(DIVIDER), "{shown}");
        }
    }

    succeeds(
        &home,
        "ask --quiet=progress --task images --evidence e.sqlite -o out",
        &[PRESENT, "-i", text(sample())],
    );
    let page = fs::read_to_string(home.path("out/report/topic-asked.html")).unwrap();
    let dividers: Vec<&str> = page.split("<li class=\"padding\">").skip(1).collect();
    // the report shows the two lists of the run, whose end is padding for the images that the answer shows as padding, too
    assert!((1..=2).contains(&dividers.len()), "{}", dividers.len());
    for after in &dividers {
        assert!(after.starts_with(DIVIDER), "{after:.80}");
        let list = after.split("</ol>").next().unwrap();
        let ids = list.split("href=\"#").skip(1);
        let ids: Vec<&str> = ids.map(|id| id.split('"').next().unwrap()).collect();
        assert!(!ids.is_empty());
        for image in lists.iter().copied().flatten() {
            if ids.iter().any(|id| image["id"] == *id) {
                assert!(
                    image["padding"] == true || image["argument"].is_string(),
                    "{image}"
                );
            }
        }
    }
    assert!(!page.contains(NOTHING));
    // the probability is in the explanations, too
    let why = fs::read_to_string(home.path("out/explain.jsonl")).unwrap();
    let why = json_lines(&why);
    for image in lists.iter().copied().flatten() {
        let mut of_image = why.iter().filter(|one| one["image"] == image["id"]);
        assert_eq!(of_image.next().unwrap()["about"]["value"], image["about"]);
    }
}

#[test]
fn lists_of_a_run_stay_full_and_its_summary_and_report_name_the_topic_that_nothing_is_about() {
    let home = home();
    let topics = format!(
        "{{\"qid\": \"1\", \"query\": \"{PRESENT}\"}}\n{{\"qid\": \"2\", \"query\": \"{ABSENT}\"}}\n"
    );
    fs::write(home.path("topics.jsonl"), topics).unwrap();
    let place = ["-i", text(sample())];
    let images =
        "images -o out --topics topics.jsonl --evidence e.sqlite --explain out/explain.jsonl";
    let (_, said) = succeeds(&home, images, &place);
    let arguments = "controversial -o texts --topics topics.jsonl --debate texts/debate.jsonl --explain texts/explain.jsonl";
    let (_, of_texts) = succeeds(&home, arguments, &place);
    for said in [&said, &of_texts] {
        let note = format!("nothing about 1 topic: 2 \"{ABSENT}\"");
        assert_eq!(said.matches(&note).count(), 1, "{said}");
        assert!(!said.contains("1 \"Should zoos"), "{said}");
    }
    let lines = fs::read_to_string(home.path("out/run.txt")).unwrap();
    let mut lengths = BTreeMap::new();
    for line in lines.lines() {
        let mut fields = line.split(' ');
        *lengths.entry((fields.next(), fields.next())).or_insert(0) += 1;
    }
    assert!(
        lengths.len() == 4 && lengths.values().all(|length| *length == 10),
        "{lengths:?}"
    );

    let inspect = |run: &str, report: &str| {
        let line = format!(
            "inspect --quiet=progress {run} -o {report} --topics topics.jsonl --evidence e.sqlite"
        );
        succeeds(&home, &line, &place);
        ["topic-1.html", "topic-2.html"]
            .map(|page| fs::read_to_string(home.path(&format!("{report}/{page}"))).unwrap())
    };
    for [present, absent] in [inspect("out", "r-images"), inspect("texts", "r-texts")] {
        assert!(!present.contains(NOTHING));
        assert_eq!(absent.matches(NOTHING).count(), 1);
        // everything in a list that has nothing is padding
        let (_, list) = absent.split_once("<ol class=\"").unwrap();
        let (_, list) = list.split_once('>').unwrap();
        assert!(list.starts_with("<li class=\"padding\">"), "{list:.90}");
    }
    let sheets = json_lines(&fs::read_to_string(home.path("texts/debate.jsonl")).unwrap());
    let is_nothing =
        |sheet: &Value| sheet["presence"]["about"].as_f64() < sheet["presence"]["least"].as_f64();
    assert_eq!(
        sheets.iter().map(is_nothing).collect::<Vec<_>>(),
        [false, true]
    );
    let sheet = fs::read_to_string(home.path("r-texts/debate-2.html")).unwrap();
    assert_eq!(sheet.matches(NOTHING).count(), 1);
}

#[test]
fn a_question_in_another_language_is_refused_where_the_answer_has_sides() {
    let home = home();
    let place = ["-i", text(sample())];
    for task in ["images", "controversial"] {
        let line = format!("ask --quiet=progress --task {task}");
        let (exit, shown, said) = run(&home, &line, &[&[GERMAN][..], &place].concat());
        assert_eq!((exit, &*shown, said.lines().count()), (2, "", 1), "{said}");
        assert!(
            said.contains("looks German") && said.contains("reads only English"),
            "{said}"
        );
    }
    // an English question with German names is answered
    let english = "Should the Frankfurter Zoo in Frankfurt am Main be closed?";
    succeeds(
        &home,
        "ask --quiet=progress --task controversial",
        &[&[english][..], &place].concat(),
    );
    // and documents without sides are found in any language
    fs::create_dir(home.path("plain")).unwrap();
    let document = "{\"docno\": \"d1\", \"text\": \"Zoos werden oft kritisiert. Sollten Tiere in Zoos leben?\"}\n";
    fs::write(home.path("plain/documents.jsonl"), document).unwrap();
    let (shown, said) = succeeds(&home, "ask -i plain --approach bm25", &[GERMAN]);
    assert!(shown.contains("d1") && !shown.contains(NOTHING), "{shown}");
    assert_says(&said, &["does not look English (asked: German)"]);
}

#[test]
fn a_run_reads_no_stance_towards_a_topic_in_another_language() {
    let home = home();
    fs::write(
        home.path("topics.jsonl"),
        format!("{{\"qid\": \"1\", \"query\": \"{GERMAN}\"}}\n"),
    )
    .unwrap();
    let place = ["-i", text(sample())];
    let images =
        "images -o out --topics topics.jsonl --evidence e.sqlite --explain out/explain.jsonl";
    let (_, said) = succeeds(&home, images, &place);
    assert_says(&said, &["1 topic does not look English (1: German)"]);
    assert_says(&said, &["both of their lists have the same images"]);
    let lists = runs::lists(&home.read("out/run.txt"));
    let of = |stance: &str| &lists[&("1".to_owned(), stance.to_owned())];
    assert_eq!(of("PRO"), of("CON"));
    // without a sentence model, only images with one of its words are found
    assert!(!of("PRO").is_empty());
    let why = fs::read_to_string(home.path("out/explain.jsonl")).unwrap();
    assert!(!why.contains("\"probability\""), "a stance is estimated");

    let debate = "controversial -o texts --topics topics.jsonl --debate texts/debate.jsonl --explain texts/explain.jsonl";
    let (_, said) = succeeds(&home, debate, &place);
    assert_says(&said, &["no argument about them is on a side"]);
    let sheets = json_lines(&fs::read_to_string(home.path("texts/debate.jsonl")).unwrap());
    let listed = sheets[0]["arguments"].as_array().unwrap();
    assert!(listed.iter().all(|argument| argument["side"].is_null()));
    assert!(sheets[0]["considered"].as_u64() > Some(0));
    for text in json_lines(&fs::read_to_string(home.path("texts/explain.jsonl")).unwrap()) {
        assert!(text["stance"].is_null(), "{text}");
    }
}

#[test]
fn a_single_stance_towards_a_topic_in_another_language_comes_with_a_warning() {
    let home = home();
    for (topic, warns) in [(GERMAN, true), (PRESENT, false)] {
        let more = [
            "--topic",
            topic,
            "--text",
            "Zoos sind Gefängnisse für Tiere.",
        ];
        let (_, said) = succeeds(&home, "stance", &more);
        assert_eq!(said.contains("the topic looks German"), warns, "{said}");
    }
}
