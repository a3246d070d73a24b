//! `collection-tools`: collections are generated and cut.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use riposte::collection::arguments::ArgumentCollection;
use riposte::collection::documents::DocumentCollection;
use riposte::collection::passages::PassageCollection;
use riposte::ingest::check_collection::check;

fn collection_tools(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collection-tools"));
    command.args(args);
    command
}

/// Runs `collection-tools`. Returns the exit code and everything that it prints.
fn run(args: &[&str]) -> (i32, String) {
    let output = collection_tools(args).output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code().unwrap(), said)
}

/// Runs a command that must exit with 0.
#[track_caller]
fn succeed(command: &mut Command) {
    command.assert().success();
}

/// The numbers of images and topics of a collection, which must have no fault.
#[track_caller]
fn valid(dir: &Path) -> (usize, Option<usize>) {
    let checked = check(dir).unwrap();
    assert!(checked.faults.is_empty(), "{:?}", checked.faults);
    (checked.images, checked.topics)
}

/// A path as an argument of a command.
fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// All files below a directory: relative path and bytes.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(dir: &Path, root: &Path, out: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, out);
            } else {
                let inside = path.strip_prefix(root).unwrap().to_owned();
                out.insert(inside, fs::read(&path).unwrap());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(dir, dir, &mut out);
    out
}

fn generated(dir: &Path, images: usize) -> PathBuf {
    let dir = dir.join("made");
    let images = images.to_string();
    let mut command = collection_tools(&["generate", "--topics", "3", "--images", &images]);
    succeed(command.args(["--seed", "5", text(&dir)]));
    dir
}

#[test]
fn the_committed_sample_is_what_the_commands_make() {
    let home = tempfile::tempdir().unwrap();
    let made = home.path().join("sample");
    succeed(&mut collection_tools(&["generate", text(&made)]));
    succeed(&mut collection_tools(&["generate-debates", text(&made)]));
    // nothing is replaced
    let again = collection_tools(&["generate-debates", text(&made)])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(2));
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample");
    let (made, committed) = (files(&made), files(&sample));
    let names: Vec<_> = committed.keys().collect();
    assert_eq!(made.keys().collect::<Vec<_>>(), names);
    let differ: Vec<_> = committed
        .iter()
        .filter(|(name, bytes)| made.get(*name) != Some(bytes))
        .map(|(name, _)| name)
        .collect();
    assert!(differ.is_empty(), "other bytes: {differ:?}");
}

#[test]
fn a_generated_collection_has_no_faults_and_every_image_is_judged() {
    let home = tempfile::tempdir().unwrap();
    let made = generated(home.path(), 40);
    assert_eq!(valid(&made), (40, Some(3)));
    let qrels = fs::read_to_string(made.join("qrels.txt")).unwrap();
    let judged: std::collections::BTreeSet<&str> = qrels
        .lines()
        .map(|line| line.split(' ').nth(2).unwrap())
        .collect();
    assert_eq!(judged.len(), 40);
    for (what, least) in [("ONTOPIC", 20), ("PRO", 8), ("CON", 5)] {
        let held = qrels
            .lines()
            .filter(|l| l.contains(&format!(" {what} ")) && l.ends_with(" 1"))
            .count();
        assert!(held >= least, "{held} images are {what}");
    }
}

#[test]
fn two_sided_images_are_added_and_are_pro_and_con() {
    let home = tempfile::tempdir().unwrap();
    let make = |name: &str, more: &[&str]| {
        let dir = home.path().join(name);
        let mut command = collection_tools(&["generate", "--topics", "2", "--images", "8"]);
        succeed(command.args(more).arg(&dir));
        dir
    };
    let (plain, made) = (make("plain", &[]), make("both", &["--two-sided", "10"]));
    assert_eq!(valid(&made), (18, Some(2)));
    // the other images keep their bytes, and a second collection has the same bytes as the first
    let (before, after) = (files(&plain), files(&made));
    let images = |name: &&PathBuf| name.starts_with("images");
    for name in before.keys().filter(images) {
        assert!(before[name] == after[name], "{}", name.display());
    }
    assert!(after == files(&make("again", &["--two-sided", "10"])));
    let added: Vec<String> = after
        .keys()
        .filter(|name| name.ends_with("image.webp") && !before.contains_key(*name))
        .map(|name| name.iter().nth(2).unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(added.len(), 10);
    let qrels = fs::read_to_string(made.join("qrels.txt")).unwrap();
    for id in added {
        let both = ["PRO", "CON"].map(|stance| {
            qrels
                .lines()
                .any(|line| line.ends_with(&format!(" {stance} {id} 1")))
        });
        assert_eq!(both, [true, true], "{id}");
    }
}

#[test]
fn generate_does_not_write_into_a_directory_that_is_not_empty() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("mine"), "x").unwrap();
    let (code, said) = run(&["generate", text(home.path())]);
    assert_eq!((code, said.contains("is not empty")), (2, true), "{said}");
    assert_eq!(files(home.path()).len(), 1);
}

#[test]
fn a_subset_is_a_valid_collection_of_the_given_topics() {
    let home = tempfile::tempdir().unwrap();
    let made = generated(home.path(), 30);
    let out = home.path().join("cut");
    let (made, cut) = (text(&made), text(&out));
    let args = ["subset", made, cut, "--topics", "2,3", "--images", "7"];
    succeed(&mut collection_tools(&args));
    assert_eq!(valid(&out), (7, Some(2)));
    let whole = files(Path::new(made));
    let mut compared = 0;
    for (name, bytes) in files(&out) {
        if name.starts_with("images") {
            assert_eq!(whole.get(&name), Some(&bytes), "{}", name.display());
            compared += 1;
        }
    }
    assert!(compared >= 7, "{compared} files");
    let qrels = fs::read_to_string(out.join("qrels.txt")).unwrap();
    assert!(
        qrels.lines().count() >= 21
            && qrels
                .lines()
                .all(|l| l.starts_with("2 ") || l.starts_with("3 ")),
        "{qrels}"
    );
    let other = format!("{cut}2");
    assert_eq!(run(&["subset", made, &other, "--topics", "9"]).0, 2);
    let (code, said) = run(&["subset", made, &other, "--topics", "2", "--images", "1"]);
    assert!(
        code == 0 && said.contains(": 1 image, 1 topic, 3 lines of judgements"),
        "{said}"
    );
}

#[test]
fn generated_texts_can_all_be_read_and_are_the_same_for_a_seed() {
    let home = tempfile::tempdir().unwrap();
    let make = |what: &str, name: &str, seed: &str| {
        let dir = home.path().join(name);
        let args = [what, "--count", "80", "--seed", seed, text(&dir)];
        succeed(&mut collection_tools(&args));
        dir
    };
    for (what, file) in [
        ("generate-arguments", "args-me.json"),
        ("generate-passages", "passages.jsonl.gz"),
        ("generate-beir", "corpus.jsonl"),
    ] {
        let bytes = |dir: PathBuf| fs::read(dir.join(file)).unwrap();
        let one = bytes(make(what, &format!("{what}1"), "5"));
        assert!(one == bytes(make(what, &format!("{what}2"), "5")), "{what}");
        assert!(one != bytes(make(what, &format!("{what}3"), "6")), "{what}");
    }
    let arguments = ArgumentCollection::open(&home.path().join("generate-arguments1")).unwrap();
    assert_eq!(arguments.arguments().filter(Result::is_ok).count(), 80);
    let passages = PassageCollection::open(&home.path().join("generate-passages1")).unwrap();
    assert_eq!(passages.passages().filter(Result::is_ok).count(), 80);
    let documents = DocumentCollection::open(&home.path().join("generate-beir1")).unwrap();
    assert_eq!(documents.documents().filter(Result::is_ok).count(), 80);
}
