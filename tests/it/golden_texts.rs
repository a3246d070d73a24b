//! The text tasks' golden runs: every approach over a small generated collection, held against what tests/golden/make_texts.py wrote.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

use crate::tools::collection_tools;

/// The largest difference between an explained score and its golden one.
const NEAR: f64 = 1e-9;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/texts")
}

/// The collection that the golden runs were made from: COUNT and SEED of make_texts.py.
fn generate(what: &str, dir: &Path) {
    Command::new(collection_tools())
        .args([what, "--count", "160", "--seed", "7"])
        .arg(dir)
        .assert()
        .success();
}

/// Runs one approach and describes what is not as the golden run says.
fn differences(task: &str, home: &Path, expected: &Path) -> Vec<String> {
    let name = expected.file_stem().unwrap().to_str().unwrap();
    let none = home.join("none");
    Command::cargo_bin("riposte")
        .unwrap()
        .env("RIPOSTE_MODELS", &none)
        .env("WNSEARCHDIR", &none)
        .current_dir(home)
        .args([task, "-q", "-i", task, "-o", "out", "--index", "kept"])
        .args(["--explain", "explain.jsonl", "--approach", name, "--topics"])
        .arg(golden().join(task).join("topics.xml"))
        .assert()
        .success();
    let mut explained: HashMap<(String, String), f64> = HashMap::new();
    for line in fs::read_to_string(home.join("explain.jsonl"))
        .unwrap()
        .lines()
    {
        let of: Value = serde_json::from_str(line).unwrap();
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
            (Some(opened), Ok(wanted)) => (opened - wanted).abs() <= NEAR,
            (opened, wanted) => opened.is_none() && wanted.is_err(),
        };
        if !same {
            wrong.push(format!("{name}: {opened:?} is explained, not {wanted:?}"));
        }
    }
    wrong
}

#[test]
fn every_approach_ranks_texts_as_its_golden_run_does() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("none")).unwrap();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (task, what) in [
        ("controversial", "generate-arguments"),
        ("comparative", "generate-passages"),
    ] {
        generate(what, &home.path().join(task));
        let mut runs: Vec<PathBuf> = fs::read_dir(golden().join(task))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "tsv"))
            .collect();
        runs.sort();
        for expected in runs {
            seen += 1;
            wrong.extend(differences(task, home.path(), &expected));
        }
    }
    assert!(seen >= 17, "only {seen} golden runs");
    let shown = wrong.get(..20).unwrap_or(&wrong);
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        shown.join("\n")
    );
}
