//! Several processes that use the same files at once: all succeed, with the results of one alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use riposte::recipes::channels::CHANNELS;
use riposte::weights::Models;

use crate::support::collection::{arguments, write_topic};
use crate::support::files::{entries, name, text};
use crate::support::need::{Model, need};
use crate::support::program::{code, rank_arguments, riposte, stderr, succeed};
use crate::support::sample;

/// Starts all commands, and then waits for each.
fn all_at_once(commands: impl IntoIterator<Item = Command>) -> Vec<Output> {
    let start = |mut command: Command| {
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        piped.spawn().unwrap()
    };
    let children: Vec<_> = commands.into_iter().map(start).collect();
    let wait = |child: std::process::Child| child.wait_with_output().unwrap();
    children.into_iter().map(wait).collect()
}

/// The run of each directory; all must be the same.
fn equal_runs(outs: &[PathBuf]) -> Vec<u8> {
    let runs = outs
        .iter()
        .map(|out| fs::read(out.join("run.txt")).unwrap());
    let runs: Vec<Vec<u8>> = runs.collect();
    assert!(!runs[0].is_empty() && runs.iter().all(|run| *run == runs[0]));
    runs[0].clone()
}

fn outs(home: &Path, count: usize) -> Vec<PathBuf> {
    (0..count).map(|n| home.join(format!("out{n}"))).collect()
}

#[test]
fn four_processes_that_want_one_index_all_succeed() {
    let (dir, _) = arguments(3000);
    let home = dir.path();
    write_topic(home);
    let outs = outs(home, 4);
    let index = |place: &Path| {
        let mut command = riposte(home, &["index", "-i", text(home), "--index"]);
        command.arg(place);
        command
    };
    let rank = |place: &Path, out: &Path| {
        let mut command = rank_arguments(home, home, out);
        command.arg("--index").arg(place);
        command
    };
    let mut runs = Vec::new();
    for round in 0..3 {
        let place = home.join(format!("indexed{round}"));
        let indexed = all_at_once((0..4).map(|_| index(&place)));
        let place = home.join(format!("ranked{round}"));
        let ranked = all_at_once(outs.iter().map(|out| rank(&place, out)));
        for output in indexed.iter().chain(&ranked) {
            assert_eq!(code(output), 0, "{}", stderr(output));
        }
        runs.push(equal_runs(&outs));
        let left = entries(&place);
        assert!(
            !left.iter().any(|path| name(path).contains(".building-")),
            "{left:?}"
        );
    }
    assert!(runs.iter().all(|run| *run == runs[0]));
    let alone = home.join("alone");
    succeed(&mut rank(&home.join("ranked0"), &alone));
    assert_eq!(fs::read(alone.join("run.txt")).unwrap(), runs[0]);
}

#[test]
fn three_image_runs_without_evidence_all_succeed_as_one_alone() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let rank = |evidence: &str, out: &Path| {
        let args = ["images", "-i", text(sample()), "-o", text(out)];
        let mut command = riposte(home.path(), &args);
        command.arg("--evidence").arg(at(evidence));
        command
    };
    let alone = rank("alone.sqlite", &at("alone")).output().unwrap();
    let outs = outs(home.path(), 3);
    let outputs = all_at_once(outs.iter().map(|out| rank("shared.sqlite", out)));
    for output in &outputs {
        assert_eq!(code(output), code(&alone), "{}", stderr(output));
    }
    let expected = fs::read(at("alone").join("run.txt")).unwrap();
    assert_eq!(equal_runs(&outs), expected);
    // the same for the index of images
    let index = || {
        let mut command = riposte(home.path(), &["index", "-i", text(sample()), "--evidence"]);
        command.arg(at("shared.sqlite")).arg("--rebuild");
        command
    };
    for output in all_at_once((0..3).map(|_| index())) {
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
}

#[test]
fn two_runs_without_sentence_vectors_both_succeed() {
    if need(Model("all-minilm-l6-v2")).is_none() {
        return;
    }
    let models = Models::at(None).unwrap().dir().to_owned();
    let (dir, _) = arguments(40);
    let home = dir.path();
    write_topic(home);
    let outs = outs(home, 2);
    let rank = |out: &Path| {
        let mut command = rank_arguments(home, home, out);
        command.env("RIPOSTE_MODELS", &models);
        command
    };
    for output in all_at_once(outs.iter().map(|out| rank(out))) {
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    equal_runs(&outs);
}

/// A Python program that runs a command with the default effect of ^C. A shell can start background processes that ignore ^C, and their children
/// inherit that.
#[cfg(unix)]
const WITH_INTERRUPT: &str = "import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])";

/// ^C ends a process that waits for another one.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_waiting() {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::ExitStatusExt;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use crate::support::need::Python;
    let Some(python) = need(Python) else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let evidence = home.path().join("e.sqlite");
    let held = riposte::evidence::store::Store::open(&evidence, CHANNELS).unwrap();
    let args = ["images", "-i", text(sample()), "-o", text(home.path())];
    let rank = riposte(home.path(), &args);
    let mut command = Command::new(python);
    command.args(["-c", WITH_INTERRUPT]).arg(rank.get_program());
    command
        .args(rank.get_args())
        .arg("--evidence")
        .arg(&evidence);
    for (name, value) in rank.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let error = BufReader::new(child.stderr.take().unwrap());
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let mut lines = error.lines().map_while(Result::ok);
        lines.all(|line| sender.send(line).is_ok())
    });
    let mut said = Vec::new();
    let ended = loop {
        match lines.recv_timeout(Duration::from_secs(60)) {
            Ok(line) => {
                if line.contains("waiting for it") {
                    succeed(Command::new("kill").args(["-INT", &child.id().to_string()]));
                }
                said.push(line);
            }
            Err(RecvTimeoutError::Disconnected) => break true,
            Err(RecvTimeoutError::Timeout) => break false,
        }
    };
    if !ended {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    assert!(ended, "the process still waits after a minute: {said:?}");
    let interrupt = 2;
    assert_eq!(status.signal(), Some(interrupt), "{status}: {said:?}");
    drop(held);
}
