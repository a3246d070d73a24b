//! What a terminal shows while a run is made, and how the time of a run is divided.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::support::files::text;
use crate::support::models::MINILM;
use crate::support::need::{Model, Python, need};
use crate::support::program::{WorkDir, on_terminal, riposte, stderr, succeed, typed};
use crate::support::sample;

/// A collection of passages about two objects, in `in`.
fn passages() -> WorkDir {
    let mut lines = String::new();
    for n in 0..40 {
        let line = format!(
            "In test number {n}, I prefer the laptop, because it is much better than my old desktop ever was. The desktop was worse than the laptop by {n} points."
        );
        writeln!(lines, "{{\"id\": \"p{n}\", \"contents\": \"{line}\"}}").unwrap();
    }
    let mut topics = String::new();
    for n in 1..=2 {
        write!(topics, "<topic><number>{n}</number><title>Which is better, a laptop or a desktop, in test {n}?</title></topic>").unwrap();
    }
    WorkDir::with(&[
        ("in/passages.jsonl", lines.as_bytes()),
        (
            "in/topics.xml",
            format!("<topics>{topics}</topics>").as_bytes(),
        ),
    ])
}

fn comparative(dir: &WorkDir, models: &Path) -> Command {
    // with an opinion of the stance encoder, which the default approach does not use
    let args = "comparative -i in -o out --index kept --set rerank.weights.relevance=1";
    let args: Vec<&str> = args.split(' ').collect();
    let mut command = riposte(&dir.path(""), &args);
    command.current_dir(dir.path(""));
    command.env("RIPOSTE_MODELS", models.parent().unwrap());
    command
}

/// The states of progress that a terminal of 100 columns has shown, one after the other.
fn states(shown: &str) -> Vec<String> {
    let mut states = Vec::new();
    for state in shown.split(['\r', '\n', '\u{1b}']) {
        // without the rest of a sequence for the cursor
        let state = state.split_once("  ").map_or("", |(_, rest)| rest);
        if state.contains(", ") && !state.trim().is_empty() {
            states.push(state.trim().to_owned());
        }
    }
    states
}

#[test]
fn a_text_run_says_which_step_it_is_in_and_how_long_each_took() {
    let (Some(minilm), Some(python)) = (need(Model(MINILM)), need(Python)) else {
        return;
    };
    let dir = passages();
    let shown = on_terminal(&python, 100, &comparative(&dir, &minilm.dir));
    let states = states(&shown);
    let ranking: Vec<&String> = states
        .iter()
        .filter(|s| s.contains("topics ranked"))
        .collect();
    let shows = |what: &str| ranking.iter().any(|state| state.contains(what));
    assert!(
        shows("; sentence vectors ") && shows("; stance 0 of "),
        "{ranking:#?}"
    );
    assert!(shows("; stance encoder "), "{ranking:#?}");
    // outputs are counted over the whole run: for the second topic, those of the first are done
    let of_vectors: Vec<&str> = ranking
        .iter()
        .filter_map(|state| state.split("; sentence vectors ").nth(1))
        .collect();
    let first = of_vectors.first().unwrap();
    assert!(first.starts_with("0 of about "), "{of_vectors:#?}");
    let last = of_vectors.last().unwrap();
    let (done, all) = last.split_once(" of ").unwrap();
    let count = |text: &str| text.replace(',', "").parse::<usize>().unwrap();
    assert!(!last.contains("about"), "{of_vectors:#?}");
    let estimates = of_vectors
        .iter()
        .filter_map(|state| state.split_once(" of about "));
    let of_first = estimates.map(|(done, _)| count(done)).max().unwrap();
    assert!(
        count(done) <= count(all) && count(all) > of_first,
        "{of_vectors:#?}"
    );
    // the remaining time is shown as soon as the first topic is finished, or if that takes longer than some seconds
    for state in &ranking {
        let is_first = state.contains(" 0/2 topics ranked");
        assert!(is_first || state.contains(" left"), "{state}");
    }
    assert!(shows(" 0/2 topics ranked"), "{ranking:#?}");
    assert!(states.iter().all(|state| state.chars().count() <= 100));
    let timings = shown
        .lines()
        .find(|line| line.contains("seconds: index"))
        .unwrap();
    for step in ["sentence vectors ", "stance encoder ", "stance "] {
        assert!(timings.contains(step), "{timings}");
    }
    // the seconds of the steps are parts of those of the ranking
    let number = |text: &str| -> f64 {
        let digits = text.split([',', ')', ' ']).next().unwrap();
        digits.parse().unwrap()
    };
    let (_, rank) = timings.split_once(", rank ").unwrap();
    let (_, steps) = rank.split_once('(').unwrap();
    let of_steps = steps
        .split(", ")
        .map(|step| number(step.rsplit(' ').next().unwrap()));
    let (rank, sum) = (number(rank), of_steps.sum::<f64>());
    assert!(sum > 0.5 * rank && sum < rank + 0.5, "{timings}");
    // when all outputs are stored, none is computed, and the run is the same
    let run = dir.read("out/run.txt");
    let again = succeed(&mut comparative(&dir, &minilm.dir));
    assert!(
        !stderr(&again).contains("stance 0 of"),
        "{}",
        stderr(&again)
    );
    assert_eq!(dir.read("out/run.txt"), run);
}

#[test]
fn no_time_is_promised_before_the_first_images_are_done() {
    let Some(python) = need(Python) else {
        return;
    };
    let dir = WorkDir::new();
    let evidence = dir.path("evidence.sqlite");
    let args = typed(
        "extract -i {} --evidence {}",
        &[text(sample()), text(&evidence)],
    );
    let mut command = riposte(&dir.path(""), &args);
    command.current_dir(dir.path(""));
    let shown = on_terminal(&python, 100, &command);
    let states = states(&shown);
    let of_images = states
        .iter()
        .filter(|state| state.contains("images extracted"));
    let mut counted = 0;
    for state in of_images {
        counted += 1;
        let is_first = state.contains(" 0/66 ");
        assert_eq!(state.contains(" left"), !is_first, "{state}");
    }
    assert!(counted > 1, "{shown:?}");
}
