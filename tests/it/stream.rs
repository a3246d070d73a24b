//! `riposte extract --stream`: the output has the rows that a store would have, in the order of the documents, and no document is read ahead.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::collection::documents;
use crate::support::files::{copy, entries, name, text};
use crate::support::program::{code, riposte, stderr, succeed};
use crate::support::sample;

/// The frame of a document.
fn frame(dir: &Path) -> Vec<u8> {
    let mut files = Vec::new();
    list(dir, &mut files);
    let (mut listed, mut bytes) = (Vec::new(), Vec::new());
    for file in files {
        let content = fs::read(&file).unwrap();
        let path = file.strip_prefix(dir).unwrap();
        listed.push(json!({"path": path, "size": content.len()}));
        bytes.extend(content);
    }
    let header = json!({"document": name(dir), "dir": dir, "files": listed}).to_string();
    let length = (header.len() as u64).to_le_bytes();
    [&length, header.as_bytes(), &bytes].concat()
}

fn list(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in entries(dir) {
        if entry.is_dir() {
            list(&entry, files);
        } else {
            files.push(entry);
        }
    }
}

/// The frames of the output: the greeting of the process, and the documents.
fn answers(mut output: &[u8]) -> (Value, Vec<Value>) {
    let mut answers = Vec::new();
    while let Some((length, rest)) = output.split_first_chunk() {
        let (answer, rest) = rest.split_at(u64::from_le_bytes(*length) as usize);
        answers.push(serde_json::from_slice(answer).unwrap());
        output = rest;
    }
    (answers.remove(0), answers)
}

fn stream(home: &Path, more: &[&str]) -> Command {
    let tmp = home.join("tmp");
    fs::create_dir_all(&tmp).unwrap();
    let mut command = riposte(home, &["extract", "--stream"]);
    command.args(more).env("TMPDIR", tmp);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    command
}

/// Writes the frames in another thread, and counts the frames that were written.
fn feed(child: &mut Child, frames: Vec<Vec<u8>>) -> Arc<AtomicUsize> {
    let fed = Arc::new(AtomicUsize::new(0));
    let (mut input, count) = (child.stdin.take().unwrap(), fed.clone());
    std::thread::spawn(move || {
        for frame in frames {
            if input.write_all(&frame).is_err() {
                break;
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    fed
}

/// Runs the stream on these frames. No temporary file is left.
fn run(home: &Path, frames: Vec<Vec<u8>>, more: &[&str]) -> Output {
    let mut child = stream(home, more).spawn().unwrap();
    feed(&mut child, frames);
    let output = child.wait_with_output().unwrap();
    assert_eq!(entries(&home.join("tmp")), [] as [PathBuf; 0]);
    output
}

/// A value of a store in the stream's JSON.
fn value(value: ValueRef) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).unwrap().into(),
        ValueRef::Blob(bytes) => BASE64_STANDARD.encode(bytes).into(),
    }
}

/// The rows of a document in a table of a store, without the hash of the files' times, because the stream has no times.
fn rows(store: &rusqlite::Connection, table: &str, document: &str) -> Value {
    let sql = format!("SELECT * FROM {table} WHERE document = ?");
    let mut statement = store.prepare(&sql).unwrap();
    let columns = statement.column_count();
    let mut found = statement.query([document]).unwrap();
    let mut rows: Vec<Value> = Vec::new();
    while let Some(row) = found.next().unwrap() {
        let mut values: Vec<Value> = (0..columns)
            .map(|at| value(row.get_ref(at).unwrap()))
            .collect();
        if table == "file_state" {
            values[1] = "".into();
        }
        rows.push(values.into());
    }
    // The rows are converted to JSON text and back, like the rows of the stream, because serde_json can read the last bit of a number
    // differently. The checksums, which are in one of the tables, cover all bits.
    serde_json::from_str(&Value::from(rows).to_string()).unwrap()
}

#[test]
fn the_rows_are_those_of_a_store_and_threads_do_not_change_them() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    // one picture is truncated, one document has no page, and one has a file among its pages
    let input = home.join("input");
    copy(&sample().join("images"), &input.join("images"));
    let ids = documents(&input);
    let picture = ids[3].join("image.webp");
    let bytes = fs::read(&picture).unwrap();
    fs::write(&picture, &bytes[..bytes.len() / 3]).unwrap();
    fs::remove_dir_all(ids[4].join("pages")).unwrap();
    fs::write(ids[5].join("pages/notes.txt"), "x").unwrap();

    let evidence = home.join("e.sqlite");
    let args = ["extract", "-i", text(&input), "--evidence", text(&evidence)];
    assert_eq!(code(&riposte(home, &args).output().unwrap()), 0);
    let store = rusqlite::Connection::open(&evidence).unwrap();

    let frames: Vec<Vec<u8>> = ids.iter().map(|dir| frame(dir)).collect();
    let output = run(home, frames.clone(), &[]);
    // some documents have faults
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (greeting, found) = answers(&output.stdout);
    assert!(greeting["producers"].as_str().unwrap().contains("page: "));
    let streamed: Vec<&str> = found
        .iter()
        .map(|a| a["document"].as_str().unwrap())
        .collect();
    let expected: Vec<&str> = ids.iter().map(|dir| name(dir)).collect();
    assert_eq!(streamed, expected);
    let mut faults = 0;
    for answer in &found {
        let tables = answer["tables"].as_object().unwrap();
        assert_eq!(tables.len(), 19);
        for (table, streamed) in tables {
            let stored = rows(&store, table, answer["document"].as_str().unwrap());
            assert_eq!(*streamed, stored, "{table} of {}", answer["document"]);
        }
        faults += tables["fault"].as_array().unwrap().len();
    }
    assert!(faults >= 3, "{faults}");

    let threads = run(home, frames, &["--threads", "3"]);
    assert!(threads.stdout == output.stdout);
}

#[test]
fn nothing_is_read_ahead_of_a_slow_reader() {
    let home = TempDir::new().unwrap();
    let frames: Vec<Vec<u8>> = documents(sample()).iter().map(|dir| frame(dir)).collect();
    let many: Vec<Vec<u8>> = frames.iter().cycle().take(500).cloned().collect();
    let mut child = stream(home.path(), &[]).spawn().unwrap();
    let fed = feed(&mut child, many);
    // waits until nothing has been read for a second
    let mut before = usize::MAX;
    while before != fed.load(Ordering::Relaxed) || before == 0 {
        before = fed.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_secs(1));
    }
    assert!(before < 100, "{before} documents were read");
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(answers(&output.stdout).1.len(), 500);
}

#[test]
fn a_broken_frame_is_one_error_after_the_documents_before_it() {
    let home = TempDir::new().unwrap();
    let frames: Vec<Vec<u8>> = documents(sample())[..3]
        .iter()
        .map(|dir| frame(dir))
        .collect();
    let cut = frames[2][..frames[2].len() - 1].to_vec();
    for (last, what) in [
        (cut, "the stream ends within it"),
        (
            b"no frame at all".to_vec(),
            "this is not a stream of frames",
        ),
        (vec![1], "the stream ends within the length of a header"),
    ] {
        let frames = [&frames[..2], &[last]].concat();
        let output = run(home.path(), frames, &["--threads", "2"]);
        assert_eq!(code(&output), 2);
        assert_eq!(answers(&output.stdout).1.len(), 2);
        let error = stderr(&output);
        let lines: Vec<&str> = error
            .lines()
            .filter(|line| !line.contains(" is off: "))
            .collect();
        assert!(
            matches!(lines[..], [line] if line.contains("frame 3 of stdin") && line.contains(what)),
            "{error}"
        );
    }
}

/// The process must end if nobody reads its output, although its input is open.
#[test]
fn the_stream_ends_when_nobody_reads_its_output() {
    let home = TempDir::new().unwrap();
    let mut child = stream(home.path(), &[]).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    output.read_exact(&mut [0; 8]).unwrap();
    drop(output);
    let mut input = child.stdin.take().unwrap();
    let document = frame(&documents(sample())[0]);
    input.write_all(&document).unwrap();
    let _ = input.write_all(&document);
    assert_eq!(child.wait().unwrap().code(), Some(2));
    drop(input);
}

#[test]
fn a_stream_has_no_store_and_no_document_is_chosen() {
    let home = TempDir::new().unwrap();
    for args in [["--evidence", "x"], ["--shard", "1/2"], ["--limit", "3"]] {
        let output = stream(home.path(), &args).output().unwrap();
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains("cannot be used with"));
    }
    let none = riposte(home.path(), &["extract"]).output().unwrap();
    assert!(stderr(&none).contains("--input"), "{}", stderr(&none));
    // an empty stream is allowed
    let output = succeed(stream(home.path(), &[]).stdin(Stdio::null()));
    assert_eq!(answers(&output.stdout).1, [] as [Value; 0]);
}
