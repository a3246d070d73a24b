//! If a process dies in a document, no further process dies in the same document.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use image::ImageFormat;
use tempfile::TempDir;

use crate::support::bounded::run_within;
use crate::support::evidence::assert_computed;
use crate::support::files::text;
use crate::support::pictures::{grey, hollow_png, id, write_collection};
use crate::support::program::{code, riposte, stderr, typed};
use crate::support::runs::images;

/// The number of the document whose picture needs 400 MB.
const LARGE: usize = 5;

/// Memory for riposte's data, in kilobytes: enough for small pictures, but not for the large one. (In so small an address space, it would not begin.)
const SPACE: u32 = 300_000;

const FAULT: &str = "riposte died in it: passed over; --retry tries it again";

/// Twelve documents. One has a picture that is decoded into 400 MB, if there is enough memory, and is then found to be truncated.
fn collection(home: &Path) -> std::path::PathBuf {
    let input = home.join("collection");
    let pictures: Vec<Vec<u8>> = (0..12)
        .map(|n| {
            if n == LARGE {
                hollow_png(10_000, 10_000, 8)
            } else {
                grey(40 + n as u32, 30, ImageFormat::Png)
            }
        })
        .collect();
    write_collection(&input, &pictures);
    input
}

/// Runs `riposte extract`. With `limited`, an allocation of 400 MB fails, and a signal ends the process.
fn extract(home: &Path, limited: bool, more: &[&str]) -> Output {
    let input = home.join("collection");
    let evidence = home.join("evidence.sqlite");
    let args = typed(
        "extract -v -i {} --evidence {}",
        &[text(&input), text(&evidence)],
    );
    let mut command = riposte(home, &args);
    command.args(["--threads", "1"]).args(more);
    if limited {
        let mut shell = Command::new("sh");
        shell
            .args([
                "-c",
                &format!("ulimit -d {SPACE}; ulimit -c 0; exec \"$0\" \"$@\""),
            ])
            .arg(command.get_program())
            .args(command.get_args())
            .env("MALLOC_ARENA_MAX", "1");
        for (name, value) in command.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        command = shell;
    }
    run_within(Duration::from_secs(60), &mut command).output
}

/// The ids of the documents whose pictures are in the evidence.
fn measured(home: &Path) -> Vec<String> {
    let evidence = rusqlite::Connection::open(home.join("evidence.sqlite")).unwrap();
    let mut ids = evidence
        .prepare("SELECT document FROM picture ORDER BY document")
        .unwrap();
    let ids = ids.query_map([], |row| row.get(0)).unwrap();
    ids.map(|id| id.unwrap()).collect()
}

fn names(output: &Output, what: &str) -> bool {
    let error = stderr(output);
    error
        .lines()
        .any(|l| l.contains(&id(LARGE)) && l.contains(what))
}

#[test]
fn a_document_that_ends_the_process_is_passed_over_until_retry() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let input = collection(home);
    let others: Vec<String> = (0..12).filter(|n| *n != LARGE).map(id).collect();

    let died = extract(home, true, &[]);
    assert_eq!(died.status.signal(), Some(6), "{}", stderr(&died));
    assert_ne!(measured(home), others);

    // the second start tries the document in a separate process, and continues without it
    let second = extract(home, true, &[]);
    assert_eq!(code(&second), 0, "{}", stderr(&second));
    assert!(names(&second, FAULT), "{}", stderr(&second));
    assert_eq!(measured(home), others);

    // later starts do not try it, and the fault remains
    for limited in [true, false] {
        let third = extract(home, limited, &[]);
        assert_eq!(code(&third), 0, "{}", stderr(&third));
        assert!(names(&third, FAULT), "{}", stderr(&third));
        assert_computed(&third, 0);
        assert!(
            !stderr(&third).contains("may have died"),
            "{}",
            stderr(&third)
        );
    }

    // images are ranked without this document
    let evidence = home.join("evidence.sqlite");
    let (output, run) = images(home, &input, &["--evidence", text(&evidence), "-v"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(names(&output, FAULT), "{}", stderr(&output));
    assert!(!run.unwrap().contains(&id(LARGE)));

    // retried under the same limit, the document is passed over again; without the limit, it is only a fault
    let retried = extract(home, true, &["--retry"]);
    assert_eq!(code(&retried), 0, "{}", stderr(&retried));
    assert!(names(&retried, FAULT), "{}", stderr(&retried));
    let retried = extract(home, false, &["--retry"]);
    assert_eq!(code(&retried), 0, "{}", stderr(&retried));
    assert!(
        names(&retried, "a png file that cannot be decoded"),
        "{}",
        stderr(&retried)
    );
    assert!(!names(&retried, FAULT), "{}", stderr(&retried));
    let last = extract(home, false, &[]);
    assert_computed(&last, 0);
    assert!(!names(&last, FAULT), "{}", stderr(&last));
}

#[test]
fn a_document_that_is_passed_over_is_tried_when_its_files_change() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let input = collection(home);
    extract(home, true, &[]);
    let second = extract(home, true, &[]);
    assert!(names(&second, FAULT), "{}", stderr(&second));
    let picture = input.join("images/I00").join(id(LARGE)).join("image.png");
    fs::write(picture, grey(50, 40, ImageFormat::Png)).unwrap();
    let third = extract(home, true, &[]);
    assert_eq!(code(&third), 0, "{}", stderr(&third));
    assert_eq!(measured(home).len(), 12);
}

#[test]
fn notes_of_a_killed_run_about_healthy_documents_change_nothing() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    write_collection(&home.join("collection"), &[grey(40, 30, ImageFormat::Png)]);
    assert_eq!(code(&extract(home, false, &[])), 0);
    let lock = home.join(".evidence.sqlite.lock");
    assert_eq!(fs::read(&lock).unwrap(), b"");
    let evidence = rusqlite::Connection::open(home.join("evidence.sqlite")).unwrap();
    let fingerprint: String = evidence
        .query_row("SELECT fingerprint FROM document", [], |row| row.get(0))
        .unwrap();
    let before = measured(home);
    fs::write(&lock, format!("{} {fingerprint}\n", id(0))).unwrap();
    let output = extract(home, false, &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("may have died in one of these documents"));
    assert_computed(&output, 0);
    assert_eq!(measured(home), before);
    assert_eq!(fs::read(&lock).unwrap(), b"");
    // the lock names other files, or no document: riposte tries none of them
    fs::write(
        &lock,
        format!("{} 0123\nI00ff {fingerprint}\nrubbish\n", id(0)),
    )
    .unwrap();
    let output = extract(home, false, &[]);
    assert!(
        !stderr(&output).contains("may have died"),
        "{}",
        stderr(&output)
    );
}
