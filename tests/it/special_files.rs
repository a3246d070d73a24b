//! FIFOs instead of a collection's files: riposte reports a fault or an error at once, and never waits for a writer.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use image::ImageFormat;
use tempfile::TempDir;

use crate::support::assert_says;
use crate::support::bounded::run_within;
use crate::support::collection::{argument, write_arguments};
use crate::support::files::{entries, text};
use crate::support::need::{Model, need};
use crate::support::pictures::{grey, id, write_collection};
use crate::support::program::{code, riposte, stderr, stdout, typed};

/// Replaces a file by a FIFO that nobody writes to.
fn make_fifo(path: &Path) {
    let _ = fs::remove_file(path);
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

fn at_once(command: &mut Command) -> Output {
    run_within(Duration::from_secs(30), command).output
}

#[test]
fn a_fifo_in_a_document_is_a_fault() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let input = home.join("collection");
    write_collection(&input, &vec![grey(40, 30, ImageFormat::Png); 6]);
    let document = |n: usize| input.join("images/I00").join(id(n));
    let page = |n: usize| entries(&document(n).join("pages")).remove(0);
    let fifos = [
        document(0).join("image.png"),
        page(1).join("snapshot/dom.html"),
        page(2).join("rankings.jsonl"),
        page(3).join("snapshot/image-xpath.txt"),
        document(4).join("image-url.txt"),
        page(5).join("page-url.txt"),
    ];
    fifos.iter().for_each(|path| make_fifo(path));
    // riposte does not need a page's text.txt, or a hash, and does not open them
    make_fifo(&page(1).join("snapshot/text.txt"));
    make_fifo(&document(5).join("image-phash.txt"));
    let args = ["extract", "-v", "-i", text(&input)];
    let output = at_once(&mut riposte(home, &args));
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    for path in &fifos {
        let fault = stderr(&output)
            .lines()
            .any(|line| line.contains(text(path)) && line.contains("not a regular file"));
        assert!(fault, "{}\n{}", path.display(), stderr(&output));
    }
}

#[test]
fn a_fifo_instead_of_topics_or_texts_is_an_error() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let out = home.join("out");

    let images = home.join("images");
    write_collection(&images, &[grey(40, 30, ImageFormat::Png)]);
    make_fifo(&images.join("topics.xml"));
    let output = at_once(&mut riposte(
        home,
        &["images", "-i", text(&images), "-o", text(&out)],
    ));
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let error = stderr(&output);
    assert_says(&error, &["topics.xml: a FIFO, not a regular file"]);

    for (command, file) in [
        ("controversial", "args-me.json"),
        ("comparative", "passages.jsonl"),
        ("rank", "corpus.jsonl"),
    ] {
        let input = home.join(command);
        fs::create_dir_all(&input).unwrap();
        let topics = "<topics><topic><number>1</number><title>Is it good?</title></topic></topics>";
        fs::write(input.join("topics.xml"), topics).unwrap();
        make_fifo(&input.join(file));
        let output = at_once(&mut riposte(
            home,
            &[command, "-i", text(&input), "-o", text(&out)],
        ));
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        let fifo = input.join(file);
        let args = ["index", "-i", text(&fifo), "--task", command];
        let output = at_once(&mut riposte(home, &args));
        assert_eq!(code(&output), 2, "{}", stderr(&output));
    }
}

#[test]
fn a_fifo_is_not_read_as_an_image() {
    let Some(ocr) = need(Model("ppocr-v4")) else {
        return;
    };
    let home = TempDir::new().unwrap();
    let fifo = home.path().join("image.png");
    make_fifo(&fifo);
    let mut command = riposte(home.path(), &["read", text(&fifo), "/dev/zero"]);
    let output = at_once(command.env("RIPOSTE_MODELS", ocr.dir.parent().unwrap()));
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let error = stderr(&output);
    assert_says(&error, &["image.png: a FIFO, not a regular file"]);
    assert_says(&error, &["/dev/zero: a device, not a regular file"]);
}

/// `riposte evaluate <(zcat qrels.gz) <(zcat run.gz)`, as a shell runs it.
#[test]
fn judgements_and_runs_are_read_from_pipes() {
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::write(path("qrels"), "1 0 a 1\n1 0 b 0\n").unwrap();
    fs::write(path("run"), "1 Q0 b 1 2.0 tag\n1 Q0 a 2 1.0 tag\n").unwrap();
    let evaluate = |qrels: &Path, run: &Path| {
        let args = typed(
            "evaluate {} {} nDCG@5 --format tsv",
            &[text(qrels), text(run)],
        );
        at_once(&mut riposte(home.path(), &args))
    };
    let expected = evaluate(&path("qrels"), &path("run"));
    assert_eq!(code(&expected), 0, "{}", stderr(&expected));
    fs::create_dir(path("pipes")).unwrap();
    let mut writers = Vec::new();
    for name in ["qrels", "run"] {
        let fifo = path("pipes").join(name);
        make_fifo(&fifo);
        let script = format!("cat '{}' > '{}'", text(&path(name)), text(&fifo));
        writers.push(Command::new("sh").args(["-c", &script]).spawn().unwrap());
    }
    let piped = evaluate(&path("pipes/qrels"), &path("pipes/run"));
    assert_eq!(code(&piped), 0, "{}", stderr(&piped));
    assert_eq!(stdout(&piped), stdout(&expected));
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
}

/// A regular file of a collection can be read through any link.
#[test]
fn a_link_to_a_regular_file_is_read() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let input = home.join("collection");
    fs::create_dir_all(home.join("elsewhere")).unwrap();
    fs::create_dir_all(&input).unwrap();
    let pets = argument(
        "a",
        "cats are good",
        "cats are good pets for people in towns",
        "PRO",
    );
    write_arguments(&home.join("elsewhere"), [pets]);
    std::os::unix::fs::symlink(
        home.join("elsewhere/args-me.json"),
        input.join("args-me.json"),
    )
    .unwrap();
    let output = at_once(&mut riposte(home, &["index", "-i", text(&input)]));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}
