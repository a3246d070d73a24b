//! `riposte ask` answers from any folder: it makes a collection of the pictures, the saved pages and the texts in it.

use std::fs;
use std::path::Path;

use image::{ImageFormat, Rgb, RgbImage};
use serde_json::Value;

use crate::collection_new::{page, picture};
use crate::support::assert_says;
use crate::support::files::entries;
use crate::support::pictures::encoded;
use crate::support::program::WorkDir;

const FOR: &str = "Zoos should be closed. Wild animals belong in freedom and never in a cage, wherever they were born and whoever feeds them there, day after day.";
const AGAINST: &str = "Zoos should not be closed. A zoo protects rare species that would die out in the wild, and it teaches children why these animals need forests.";

/// The answer as JSON, and what was said besides.
#[track_caller]
fn ask(dir: &WorkDir, line: &str) -> (Value, String) {
    let (exit, shown, error) = dir.run(line);
    assert_eq!(exit, 0, "{error}");
    (serde_json::from_str(&shown).unwrap(), error)
}

/// What is said when a collection is made.
const MADE: &str = "is in the cache now";

#[test]
fn a_folder_of_pictures_answers_and_is_read_again_only_if_it_changes() {
    let shown = ["cage.png", "images/gate.png", "sign.png"];
    let elements = shown.map(|file| format!("<p>Zoos should be closed. <img src={file:?}></p>"));
    let page = format!("<!DOCTYPE html><title>Zoos</title>{}", elements.concat());
    // a folder that is named like a part of a collection is none
    let dir = WorkDir::with(&[
        ("zoo/zoo.html", page.as_bytes()),
        ("zoo/cage.png", &drawn(|x, _| x > 40)),
        ("zoo/images/gate.png", &drawn(|_, y| y > 30)),
    ]);
    let line = "ask -n 2 --json Should zoos be closed? -i zoo";
    let (answer, error) = ask(&dir, line);
    let made: Vec<&str> = error.lines().filter(|line| line.contains(MADE)).collect();
    assert!(!error.contains("topic asked"), "{error}");
    assert_eq!(
        made,
        [
            "note: zoo: a collection of 2 images on 1 page is in the cache now, and is made again only if a file changes"
        ],
        "{error}"
    );
    // the user's files are named, and not their copies
    let here = dir.path("zoo").canonicalize().unwrap();
    let images = answer["undecided"]["images"].as_array().unwrap();
    assert!(!images.is_empty(), "{answer}");
    for image in images {
        let file = image["file"].as_str().unwrap();
        let inside = Path::new(file).strip_prefix(&here).unwrap();
        assert!(shown.iter().any(|name| inside == Path::new(name)), "{file}");
        assert!(Path::new(file).is_file());
    }
    // nothing was written beside them
    assert_eq!(entries(&dir.path("zoo")).len(), 3);

    let (again, error) = ask(&dir, line);
    assert!(!error.contains(MADE), "{error}");
    assert_eq!(again, answer);

    fs::write(
        dir.path("zoo/sign.png"),
        drawn(|x, y| (x / 20 + y / 20) % 2 == 0),
    )
    .unwrap();
    let (_, error) = ask(&dir, line);
    assert_says(
        &error,
        &["a collection of 3 images on 1 page is in the cache now"],
    );

    let (_, listed, _) = dir.run("cache list");
    assert_says(&listed, &["collection", "zoo.collection"]);
    let (exit, removed, error) = dir.run("cache clear zoo --yes");
    assert_eq!(exit, 0, "{error}");
    assert_says(&removed, &["removed 3 entries"]);
    let (_, listed, _) = dir.run("cache list");
    assert!(listed.contains("nothing is stored"), "{listed}");
    let (_, error) = ask(&dir, line);
    assert_says(&error, &[MADE]);
}

#[test]
fn saved_pages_and_texts_answer_together() {
    let cage = picture(10);
    let week = page("zoo_files/cage.png", "Zoos should be closed");
    let dir = WorkDir::with(&[
        ("zoo/zoo.html", week.as_bytes()),
        ("zoo/zoo_files/cage.png", &cage),
        (
            "zoo/zoo_files/licence.txt",
            b"This is a part of a saved page.",
        ),
        ("zoo/notes/for it.md", FOR.as_bytes()),
        ("zoo/notes/against.txt", AGAINST.as_bytes()),
    ]);
    let (answer, error) = ask(&dir, "ask --json Should zoos be closed? -i zoo");
    assert_says(
        &error,
        &["zoo: a collection of 1 image on 1 page and of 2 texts of 2 files is in"],
    );
    let text = answer.to_string();
    assert_says(
        &text,
        &["file:zoo.html", "notes/for%20it.md", "notes/against.txt"],
    );
    assert!(!text.contains("licence.txt"), "{text}");
    // one of the two alone
    let (answer, _) = ask(
        &dir,
        "ask --json --task images Should zoos be closed? -i zoo",
    );
    let text = answer.to_string();
    assert!(
        !text.contains("against.txt") && text.contains("file:zoo.html"),
        "{text}"
    );
    let (answer, _) = ask(
        &dir,
        "ask --json --task controversial Should zoos be closed? -i zoo",
    );
    let text = answer.to_string();
    assert!(
        text.contains("against.txt") && !text.contains("file:zoo.html"),
        "{text}"
    );
}

/// Notes of one line are no arguments, and an answer without any argument would be a riddle.
#[test]
fn texts_that_are_too_short_are_counted() {
    let dir = WorkDir::with(&[
        ("notes/for.txt", FOR.as_bytes()),
        ("notes/one.txt", b"Zoos should be closed."),
        ("notes/two.md", b"Zoos should stay open."),
        // a run that was written there is no text
        ("notes/out/run.txt", b"1 Q0 for.txt 1 1.0 riposte"),
    ]);
    let (_, error) = ask(&dir, "ask --json Should zoos be closed? -i notes");
    let said = "of 3 texts of 3 files is in the cache now, and is made again only if a file changes. 2 texts have fewer than 20 words, too few for an argument or a passage";
    assert_says(&error, &[said]);
}

#[test]
fn texts_are_arguments_passages_or_documents_by_the_question() {
    let pets = "Cats are much better pets than dogs, because cats are quiet and clean, and a cat needs no walks in the rain.";
    // in an old encoding, and with more words than a text has
    let long = format!(
        "{}\n\nThe caf\u{e9} of the zoo sells soup.",
        "Ducks swim in it. ".repeat(60)
    );
    let latin: Vec<u8> = long.chars().map(|c| c as u8).collect();
    let dir = WorkDir::with(&[
        ("notes/pets.txt", pets.as_bytes()),
        ("notes/zoo.md", FOR.as_bytes()),
        ("notes/long.txt", &latin),
    ]);
    let (answer, error) = ask(&dir, "ask --json Should zoos be closed? -i notes");
    assert_says(&error, &["of 4 texts of 3 files"]);
    assert!(answer["sides"].is_array(), "{answer}");
    assert_says(&answer.to_string(), &["zoo.md"]);
    let (answer, error) = ask(&dir, "ask --json Which is better, a cat or a dog? -i notes");
    assert!(!error.contains(MADE), "{error}");
    assert_eq!(answer["objects"][0], "cat", "{answer}");
    assert_eq!(answer["texts"][0]["id"], "pets.txt", "{answer}");
    let (answer, _) = ask(&dir, "ask --json What does the café sell? -i notes");
    assert_eq!(answer["texts"][0]["id"], "long.txt#2", "{answer}");
    // a question in another language is searched, because documents have no sides
    let (answer, _) = ask(&dir, "ask --json Wo schwimmen die ducks im Zoo? -i notes");
    assert!(answer["texts"].is_array(), "{answer}");
    // a single file
    let (answer, _) = ask(
        &dir,
        "ask --json Which is better, a cat or a dog? -i notes/pets.txt",
    );
    assert_eq!(answer["texts"][0]["id"], "pets.txt", "{answer}");
}

#[test]
fn a_folder_with_nothing_to_answer_from_says_what_was_looked_for() {
    let dir = WorkDir::with(&[
        ("sheets/numbers.csv", b"1,2\n" as &[u8]),
        ("icons/dot.png", &small()),
        ("notes/zoo.txt", FOR.as_bytes()),
    ]);
    fs::create_dir(dir.path("empty")).unwrap();
    for (line, message) in [
        (
            "ask why -i sheets",
            "sheets has nothing to answer from. riposte looks for a collection",
        ),
        (
            "ask why -i empty",
            "(.html, .mhtml, .warc, .wacz), and for texts (.txt, .md)",
        ),
        (
            "ask why -i sheets/numbers.csv",
            "has nothing to answer from",
        ),
        (
            "ask why -i icons",
            "1 picture and 0 pages were read, and no picture is left. Left out: 1 picture: smaller",
        ),
        (
            "ask why -i notes --task images",
            "has no pictures: --task images",
        ),
        (
            "ask why -i notes --cache notes/cache",
            "the cache directory is in notes: name a smaller folder",
        ),
    ] {
        let (exit, shown, error) = dir.run(line);
        assert_eq!((exit, &*shown), (2, ""), "{line}: {error}");
        assert!(error.contains(message), "{line}: {error}");
        let own: Vec<&str> = error
            .lines()
            .filter(|line| !line.starts_with("note: "))
            .collect();
        assert_eq!(own.len(), 1, "{line}: {error}");
    }
}

/// A picture in black and white: those of a single colour would be copies of each other.
fn drawn(is_white: impl Fn(u32, u32) -> bool) -> Vec<u8> {
    let pixel = |x, y| Rgb([if is_white(x, y) { 250 } else { 5 }; 3]);
    encoded(RgbImage::from_fn(80, 70, pixel), ImageFormat::Png)
}

/// A picture that is smaller than those of a collection.
fn small() -> Vec<u8> {
    encoded(RgbImage::new(20, 20), ImageFormat::Png)
}

/// A command that takes a collection takes a folder, too, and finds what another has computed of it.
#[test]
fn every_command_takes_a_folder() {
    let topics = b"{\"qid\": \"1\", \"query\": \"Should zoos be closed?\"}\n";
    let elements = ["cage.png", "gate.png"]
        .map(|file| format!("<p>Zoos should be closed. <img src={file:?}></p>"));
    let page = format!("<!DOCTYPE html><title>Zoos</title>{}", elements.concat());
    let dir = WorkDir::with(&[
        ("zoo/zoo.html", page.as_bytes()),
        ("zoo/cage.png", &drawn(|x, _| x > 40)),
        ("zoo/gate.png", &drawn(|_, y| y > 30)),
        ("notes/for.md", FOR.as_bytes()),
        ("notes/against.txt", AGAINST.as_bytes()),
        ("topics.jsonl", topics),
    ]);
    let (_, said) = dir.succeeds("images -i zoo -o out/images --topics topics.jsonl");
    assert_says(&said, &["zoo: a collection of 2 images on 1 page is in"]);
    for line in [
        "inspect out/images -i zoo -o out/report --topics topics.jsonl",
        "index -i zoo",
        "extract -i zoo",
        "export evidence -i zoo -o out/evidence",
    ] {
        let (_, said) = dir.succeeds(line);
        assert!(!said.contains(MADE), "{line}: {said}");
    }
    // so small a run is not valid, but its images are those of the folder
    let (_, found, said) = dir.run("verify out/images -i zoo");
    let said = found + &said;
    assert!(!said.contains(MADE) && !said.contains("not in"), "{said}");
    for (number, task) in (1..).zip(["controversial", "comparative", "rank"]) {
        let line = format!("{task} -i notes -o out/{task} --topics topics.jsonl");
        let (_, said) = dir.succeeds(&line);
        assert_eq!(said.contains(MADE), number == 1, "{line}: {said}");
        let run = dir.read(&format!("out/{task}/run.txt"));
        assert!(
            run.contains("for.md") && run.contains("against.txt"),
            "{run}"
        );
    }
    // what a command does not find is said by the command
    let (exit, _, said) = dir.run("images -i notes -o out/none --topics topics.jsonl");
    assert_eq!(exit, 2, "{said}");
    assert!(said.contains("notes"), "{said}");
}
