//! The committed weights are what the commands in their first lines make of the data today.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Parser;

use crate::base_model::BaseModel;
use crate::{Cli, run};

/// The development data, which RIPOSTE_DATA names; none, and the test is listed as not run, where there is none.
fn data() -> Option<PathBuf> {
    let dir = std::env::var_os("RIPOSTE_DATA").filter(|dir| !dir.is_empty());
    if dir.is_none() {
        skip("RIPOSTE_DATA names no development data", Some("data"));
    }
    dir.map(PathBuf::from)
}

/// Notes in the file that RIPOSTE_SKIPPED names that this test did not run; a failure if RIPOSTE_REQUIRE names the kind of thing
/// that is missing.
fn skip(reason: &str, kind: Option<&str>) {
    let required = std::env::var("RIPOSTE_REQUIRE").unwrap_or_default();
    let is_required = kind.is_some_and(|kind| required.split(',').any(|word| word.trim() == kind));
    assert!(
        !is_required,
        "{reason}, and RIPOSTE_REQUIRE={required} requires it"
    );
    let thread = std::thread::current();
    let line = format!("{}: {reason}\n", thread.name().unwrap_or("train"));
    eprint!("skipped: {line}");
    if let Some(file) = std::env::var_os("RIPOSTE_SKIPPED").filter(|file| !file.is_empty()) {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(file)
            .unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}

/// The file that `train WHAT` writes.
fn trained(what: &str, data: &Path) -> String {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("weights.toml");
    let (data, path) = (data.to_str().unwrap(), out.to_str().unwrap());
    run(&Cli::parse_from(["train", what, "--data", data, "-o", path]).command).unwrap();
    fs::read_to_string(out).unwrap()
}

fn committed(name: &str) -> String {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../own");
    fs::read_to_string(own.join(name)).unwrap()
}

#[test]
fn training_quality_gives_the_committed_file() {
    let Some(data) = data() else { return };
    let made = trained("quality", &data);
    assert_eq!(made, committed("quality.toml"));
    // the README says that the model beats length alone: shares of pairs in the right order, for topics left out
    let pairs = |line: &str| -> f64 {
        let line = made
            .lines()
            .find_map(|l| l.strip_prefix(&format!("# {line}: ")))
            .unwrap();
        line.split_once(',').unwrap().0.parse().unwrap()
    };
    for set in ["arguments", "passages"] {
        assert!(pairs(&format!("{set}, this model")) > pairs(&format!("{set}, length alone")));
    }
}

/// The numbers of a weight file, and the text between them.
fn numbers(text: &str) -> (String, Vec<f64>) {
    let (mut rest, mut numbers) = (String::new(), Vec::new());
    for piece in text.split_inclusive([' ', ',', '\n', ']', '[']) {
        let bare = piece.trim_end_matches([' ', ',', '\n', ']', '[', ';']);
        match bare.parse() {
            Ok(number) => numbers.push(number),
            Err(_) => rest.push_str(piece),
        }
    }
    (rest, numbers)
}

/// Vectors differ in their last bits between processors, and so may the numbers by a little.
#[test]
fn training_object_stance_gives_the_committed_numbers() {
    if std::env::var_os("RIPOSTE_TRAIN").is_none() {
        skip("it takes minutes (RIPOSTE_TRAIN=1 asks for it)", None);
        return;
    }
    let Some(data) = data() else { return };
    if let Err(missing) = BaseModel::find(None) {
        skip(&format!("{missing:#}"), Some("models"));
        return;
    }
    let (made_text, made) = numbers(&trained("object-stance", &data));
    let (committed_text, committed) = numbers(&committed("object-stance.toml"));
    assert_eq!(made_text, committed_text);
    assert_eq!(made.len(), committed.len());
    for (made, committed) in made.iter().zip(&committed) {
        assert!((made - committed).abs() < 0.02, "{made} {committed}");
    }
}
