//! `benches/guard.py` notices a program that takes longer, or that fails.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::files::text;
use crate::support::need::{Python, need};
use crate::support::program::{WorkDir, code, stderr, stdout};
use crate::support::{assert_says, root};

const RIPOSTE: &str = env!("CARGO_BIN_EXE_riposte");

fn guard(python: &Path, before: &Path, now: &Path, only: &str) -> Output {
    let mut command = Command::new(python);
    let programs = [text(before), text(now)];
    command.arg(root().join("benches/guard.py")).args(programs);
    command.args(["--rounds", "5", "--only", only]);
    command.env("RIPOSTE_MODELS", "nowhere").output().unwrap()
}

/// A program that is a shell script.
fn script(dir: &WorkDir, name: &str, lines: &str) -> std::path::PathBuf {
    let path = dir.path(name);
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_program_that_does_its_work_twice_is_slower_than_one_that_does_it_once() {
    let Some(python) = need(Python) else {
        return;
    };
    let riposte = Path::new(RIPOSTE);
    let dir = WorkDir::new();
    let twice = format!("{RIPOSTE} \"$@\" >/dev/null && exec {RIPOSTE} \"$@\"");
    let twice = script(&dir, "twice", &twice);
    let slower = guard(&python, riposte, &twice, "evaluate");
    let shown = stdout(&slower);
    assert_eq!(code(&slower), 1, "{shown}{}", stderr(&slower));
    assert_says(
        &shown,
        &["slower by more than 5%, beyond the noise: evaluate"],
    );
    // the other way round, it has become faster
    let faster = guard(&python, &twice, riposte, "evaluate");
    assert_eq!(code(&faster), 0, "{}", stdout(&faster));
}

#[test]
fn a_task_that_only_the_newer_program_refuses_is_an_error() {
    let Some(python) = need(Python) else {
        return;
    };
    let riposte = Path::new(RIPOSTE);
    let dir = WorkDir::new();
    let refuses = script(&dir, "refuses", "echo 'no such option' >&2; exit 2");
    let new = guard(&python, &refuses, riposte, "start,evaluate");
    assert!(
        code(&new) == 1 && stderr(&new).contains("no task ran"),
        "{}",
        stdout(&new)
    );
    assert!(stdout(&new).contains("left out, before: no such option"));
    let broken = guard(&python, riposte, &refuses, "evaluate");
    let shown = stdout(&broken);
    assert!(
        code(&broken) == 1 && shown.contains("only the newer program fails: evaluate"),
        "{shown}"
    );
}
