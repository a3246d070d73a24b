//! Standard error cannot be written: no message ends a run.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::support::collection::{arguments, write_topic};
use crate::support::files::text;
use crate::support::program::riposte;
use crate::support::{golden_evidence, sample};

/// Two standard errors that cannot be written: a full disk, and a pipe that nobody reads.
fn unwritable() -> [Stdio; 2] {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    [File::create("/dev/full").unwrap().into(), writer.into()]
}

/// Runs a command with a normal standard error and with those that cannot be written. The exit code, standard output and the result of `read`
/// must always be the same. Returns the exit code.
fn run_the_same(command: impl Fn() -> Command, read: impl Fn() -> Option<Vec<u8>>) -> Option<i32> {
    let usual = command().output().unwrap();
    let expected = (usual.status.code(), usual.stdout, read());
    assert!(!usual.stderr.is_empty(), "the command prints no message");
    for stderr in unwritable() {
        let output = command().stderr(stderr).stdout(Stdio::piped()).spawn();
        let output = output.unwrap().wait_with_output().unwrap();
        assert!(
            (output.status.code(), output.stdout, read()) == expected,
            "{:?}: {:?} instead of {:?}",
            command(),
            output.status,
            usual.status
        );
    }
    expected.0
}

#[test]
fn commands_do_the_same_if_standard_error_cannot_be_written() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let (evidence, out) = (at("e.sqlite"), at("out"));
    fs::copy(golden_evidence(), &evidence).unwrap();
    let (sample, qrels) = (text(sample()), sample().join("qrels.txt"));
    let run_file = || fs::read(out.join("run.txt")).ok();
    let nothing = || None;
    let with = |args: &[&str]| riposte(home.path(), args);
    let evidence = ["--evidence", text(&evidence)];

    let images = ["images", "-v", "-i", sample, "-o", text(&out)];
    let code = run_the_same(|| with(&[&images[..], &evidence].concat()), run_file);
    assert!(code.is_some() && run_file().is_some_and(|run| !run.is_empty()));

    let index = ["index", "-v", "-i", sample];
    let code = run_the_same(|| with(&[&index[..], &evidence].concat()), nothing);
    assert_eq!(code, Some(0));

    // a line cannot be read, which is a message
    let broken = fs::read_to_string(&qrels).unwrap() + "broken\n";
    fs::write(at("qrels.txt"), broken).unwrap();
    let qrels = at("qrels.txt");
    let evaluate = ["evaluate", text(&qrels), text(&out)];
    assert_eq!(run_the_same(|| with(&evaluate), nothing), Some(1));

    let missing = at("missing");
    let verify = ["verify", text(&missing), "-i", sample];
    assert_eq!(run_the_same(|| with(&verify), nothing), Some(2));
    let unknown = ["evaluate", "--unknown"];
    assert_eq!(run_the_same(|| with(&unknown), nothing), Some(2));
    let stance = ["stance", "--topic", "Ban cars?", "--text", "They kill."];
    assert_eq!(run_the_same(|| with(&stance), nothing), Some(0));
}

#[test]
fn a_text_run_is_the_same_if_standard_error_cannot_be_written() {
    let (dir, _) = arguments(200);
    let home = dir.path();
    write_topic(home);
    let out = home.join("out");
    let args = ["controversial", "-v", "-i", text(home), "-o", text(&out)];
    let run_file = || fs::read(out.join("run.txt")).ok();
    let code = run_the_same(|| riposte(home, &args), run_file);
    assert_eq!(code, Some(0));
    assert!(run_file().is_some_and(|run| run.len() > 1000));
}

/// The name of a file can contain a line break, but must not begin a line that looks like another message.
#[test]
fn a_name_of_a_file_forges_no_line() {
    let home = tempfile::tempdir().unwrap();
    for (kind, message) in [
        ("missing", "riposte: forged"),
        ("empty", "note: forged"),
        ("wrong", "error: forged"),
        ("directory", "riposte: forged"),
    ] {
        let path = home.path().join(format!("{kind}\n{message}"));
        match kind {
            "missing" => {}
            "directory" => fs::create_dir(&path).unwrap(),
            _ => fs::write(&path, if kind == "empty" { "" } else { "}{\0" }).unwrap(),
        }
        for line in [
            "images -i FILE -o out",
            "images -i SAMPLE -o out --topics FILE",
            "images -i SAMPLE -o out --approach FILE",
            "images -i SAMPLE -o out --evidence FILE",
            "extract -i FILE",
            "extract -i SAMPLE --evidence FILE",
            "controversial -i FILE -o out",
            "comparative -i FILE -o out",
            "rank -i FILE -o out",
            "index -i FILE",
            "ask zoos -i FILE",
            "verify FILE",
            "evaluate --qrels FILE FILE",
            "inspect FILE -i SAMPLE -o report",
            "merge FILE FILE",
            "merge new.sqlite FILE",
            "export evidence --evidence FILE -o parquet",
            "export run FILE -o exported",
            "stance --jsonl FILE",
            "quality --jsonl FILE",
            "approaches show FILE",
            "config --config FILE",
            "cache list --cache FILE",
            "images -i SAMPLE -o FILE/x/y",
        ] {
            let words = line.split(' ').map(|word| match word {
                "SAMPLE" => text(sample()),
                "FILE" => text(&path),
                word => word,
            });
            let words: Vec<&str> = words.collect();
            let output = riposte(home.path(), &words)
                .current_dir(home.path())
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let forged = said.lines().find(|line| line.starts_with(message));
            assert_eq!(forged, None, "{line}, {kind}: {said}");
        }
    }
}
