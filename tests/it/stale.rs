//! When evidence is computed again: an edit is noticed even if it changes neither the size nor the time of a file, and a copy recomputes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::collection::documents;
use crate::support::evidence::{self, assert_computed};
use crate::support::files::{copy, entries, text};
use crate::support::program::{riposte, succeed};
use crate::support::{golden_evidence, sample, wait};

/// The first documents of the sample.
const DOCUMENTS: usize = 5;

/// A small collection.
fn collection(home: &Path) -> PathBuf {
    let dir = home.join("collection");
    for document in documents(sample()).iter().take(DOCUMENTS) {
        copy(
            document,
            &dir.join(document.strip_prefix(sample()).unwrap()),
        );
    }
    dir
}

fn extract(home: &Path, input: &Path, evidence: &Path, more: &[&str]) -> Output {
    succeed(evidence::extract(home, input, evidence).args(more))
}

/// Swaps two letters in the first page of a document. The length and the time of the last change remain the same.
fn edit(document: &Path) -> PathBuf {
    let page = entries(&document.join("pages")).remove(0);
    let dom = page.join("snapshot/dom.html");
    let modified = fs::metadata(&dom).unwrap().modified().unwrap();
    let before = fs::read_to_string(&dom).unwrap();
    let after = before
        .replace('e', "\0")
        .replace('a', "e")
        .replace('\0', "a");
    assert!(after != before && after.len() == before.len());
    fs::write(&dom, after).unwrap();
    let file = fs::File::options().write(true).open(&dom).unwrap();
    file.set_modified(modified).unwrap();
    dom
}

/// The stored page titles and main texts.
fn stored_words(evidence: &Path) -> Vec<String> {
    let connection = Connection::open(evidence).unwrap();
    let mut statement = connection
        .prepare("SELECT title || main FROM page ORDER BY document, page")
        .unwrap();
    let words = statement.query_map([], |row| row.get(0)).unwrap();
    words.collect::<Result<_, _>>().unwrap()
}

#[test]
fn an_edit_that_keeps_length_and_time_is_seen() {
    let home = TempDir::new().unwrap();
    let (input, evidence) = (collection(home.path()), home.path().join("e.sqlite"));
    let run = |more: &[&str]| extract(home.path(), &input, &evidence, more);
    assert_computed(&run(&[]), DOCUMENTS);
    assert_computed(&run(&[]), 0);
    let before = stored_words(&evidence);
    // immediately, while the times of the files are too recent to be trusted, and later
    for is_later in [false, true] {
        if is_later {
            wait::until_settled(&input);
        }
        assert_computed(&run(&[]), 0);
        edit(&documents(&input)[2]);
        assert_computed(&run(&[]), 1);
        assert_computed(&run(&[]), 0);
    }
    // the second edit reverses the first one
    assert_eq!(stored_words(&evidence), before);
    let image = documents(&input)[1].join("image.webp");
    let mut bytes = fs::read(&image).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&image, bytes).unwrap();
    assert_computed(&run(&[]), 1);
}

#[test]
fn a_copied_collection_and_merged_shards_recompute_nothing() {
    let home = TempDir::new().unwrap();
    let (input, evidence) = (collection(home.path()), home.path().join("e.sqlite"));
    assert_computed(&extract(home.path(), &input, &evidence, &[]), DOCUMENTS);
    let copied = home.path().join("copied");
    copy(&input, &copied);
    assert_computed(&extract(home.path(), &copied, &evidence, &[]), 0);
    edit(&documents(&copied)[0]);
    assert_computed(&extract(home.path(), &copied, &evidence, &[]), 1);
    // the store has the evidence of the copy, whose words differ from the original
    assert_computed(&extract(home.path(), &input, &evidence, &[]), 1);
    let merged = home.path().join("merged.sqlite");
    succeed(&mut riposte(
        home.path(),
        &["merge", text(&merged), text(&evidence)],
    ));
    let states = |evidence: &Path| -> Vec<(String, String, String)> {
        let connection = Connection::open(evidence).unwrap();
        let mut statement = connection
            .prepare("SELECT * FROM file_state ORDER BY 1")
            .unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(states(&merged).len(), DOCUMENTS);
    assert_eq!(states(&merged), states(&evidence));
    assert_computed(&extract(home.path(), &copied, &merged, &[]), 1);
    // evidence of an earlier build, which stored only names and sizes
    fs::copy(golden_evidence(), &evidence).unwrap();
    assert_computed(&extract(home.path(), sample(), &evidence, &[]), 0);
    assert_eq!(states(&evidence).len(), documents(sample()).len());
}

#[test]
fn a_collection_cloned_by_git_recomputes_nothing() {
    let home = TempDir::new().unwrap();
    let (input, evidence) = (collection(home.path()), home.path().join("e.sqlite"));
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
        let mut command = Command::new("git");
        succeed(command.current_dir(&input).args(who).args(args));
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "x"]);
    assert_computed(&extract(home.path(), &input, &evidence, &[]), DOCUMENTS);
    let cloned = home.path().join("cloned");
    git(&["clone", "-q", text(&input), text(&cloned)]);
    assert_computed(&extract(home.path(), &cloned, &evidence, &[]), 0);
}

#[test]
fn rehash_trusts_no_times() {
    let home = TempDir::new().unwrap();
    let (input, evidence) = (collection(home.path()), home.path().join("e.sqlite"));
    wait::until_settled(&input);
    assert_computed(&extract(home.path(), &input, &evidence, &[]), DOCUMENTS);
    // a file system that does not change times is imitated: the edited files get the former state
    edit(&documents(&input)[3]);
    wait::until_settled(&input);
    let other = home.path().join("other.sqlite");
    extract(home.path(), &input, &other, &[]);
    let connection = Connection::open(&evidence).unwrap();
    let forged = format!(
        "ATTACH DATABASE '{}' AS other; UPDATE file_state AS own SET state =
         (SELECT state FROM other.file_state o WHERE o.document = own.document);",
        other.display()
    );
    connection.execute_batch(&forged).unwrap();
    drop(connection);
    assert_computed(&extract(home.path(), &input, &evidence, &[]), 0);
    assert_computed(&extract(home.path(), &input, &evidence, &["--rehash"]), 1);
    assert_computed(&extract(home.path(), &input, &evidence, &["--rehash"]), 0);
}
