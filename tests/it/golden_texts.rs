//! The golden runs of the text tasks: every approach ranks a small generated collection in the same way as when tests/golden/make_texts.py wrote
//! the runs.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::files::{entries, json_lines, text};
use crate::support::program::{collection_tools, riposte, succeed};
use crate::support::root;

/// The largest difference between an explained score and its golden one.
const TOLERANCE: f64 = 1e-9;

pub(crate) fn golden() -> PathBuf {
    root().join("tests/golden/texts")
}

/// Generates the collection of the golden runs, with COUNT and SEED of make_texts.py.
pub(crate) fn generate(what: &str, dir: &Path) {
    let args = [what, "--count", "160", "--seed", "7", text(dir)];
    succeed(&mut collection_tools(&args));
}

/// The tasks, each with the command that generates its collection.
pub(crate) const TASKS: [(&str, &str); 3] = [
    ("controversial", "generate-arguments"),
    ("comparative", "generate-passages"),
    ("rank", "generate-beir"),
];

/// The golden runs of a task.
pub(crate) fn runs(task: &str) -> Vec<PathBuf> {
    let runs = entries(&golden().join(task)).into_iter();
    runs.filter(|path| text(path).ends_with(".tsv")).collect()
}

/// The approach of a golden run.
pub(crate) fn approach(run: &Path) -> &str {
    run.file_stem().unwrap().to_str().unwrap()
}

/// The command that makes a golden run and its explanations from the collection `input`. Its files are in `home`.
pub(crate) fn command(task: &str, home: &Path, input: &str, run: &Path) -> Command {
    let topics = golden().join(task).join("topics.xml");
    let mut command = riposte(home, &[task, "--quiet=progress", "-i", input, "-o", "out"]);
    command
        .args(["--index", "kept", "--explain", "explain.jsonl"])
        .args(["--approach", approach(run), "--topics", text(&topics)]);
    command.current_dir(home);
    command
}

/// Describes the differences between a golden run and the run that a command has made in `home`.
pub(crate) fn differences(home: &Path, expected: &Path) -> Vec<String> {
    let name = approach(expected);
    let mut explained: HashMap<(String, String), f64> = HashMap::new();
    for of in json_lines(&fs::read_to_string(home.join("explain.jsonl")).unwrap()) {
        let text = |key: &str| of[key].as_str().unwrap().to_owned();
        let score = of["score"]["value"].as_f64().unwrap();
        explained.insert((text("topic"), text("document")), score);
    }
    let run = fs::read_to_string(home.join("out/run.txt")).unwrap();
    let expected = fs::read_to_string(expected).unwrap();
    let mut wrong = Vec::new();
    if run.lines().count() != expected.lines().count() {
        wrong.push(format!(
            "{name}: {} lines, not {}",
            run.lines().count(),
            expected.lines().count()
        ));
    }
    for (line, wanted) in run.lines().zip(expected.lines()) {
        let line: Vec<&str> = line.split(' ').collect();
        let wanted: Vec<&str> = wanted.split('\t').collect();
        let [topic, second, document, _, score, _] = line[..] else {
            panic!("{name}: not a line of a run: {line:?}");
        };
        if wanted[..4] != [topic, document, second, score] {
            wrong.push(format!("{name}: {line:?}, not {wanted:?}"));
        }
        let opened = explained.get(&(topic.to_owned(), document.to_owned()));
        let same = match (opened, wanted[4].parse::<f64>()) {
            (Some(opened), Ok(wanted)) => (opened - wanted).abs() <= TOLERANCE,
            (opened, wanted) => opened.is_none() && wanted.is_err(),
        };
        if !same {
            wrong.push(format!("{name}: {opened:?} is explained, not {wanted:?}"));
        }
    }
    wrong
}

/// Asserts that all golden runs were seen and that none differs.
#[track_caller]
pub fn assert_golden(seen: usize, wrong: &[String]) {
    assert!(seen >= 17, "only {seen} golden runs");
    let shown = wrong.get(..20).unwrap_or(wrong);
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        shown.join("\n")
    );
}

#[test]
fn every_approach_ranks_texts_as_in_its_golden_run() {
    let home = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (task, what) in TASKS {
        generate(what, &home.path().join(task));
        for expected in runs(task) {
            seen += 1;
            succeed(&mut command(task, home.path(), task, &expected));
            wrong.extend(differences(home.path(), &expected));
        }
    }
    assert_golden(seen, &wrong);
}
