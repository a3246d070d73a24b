//! `collection-tools`: collections are generated, checked, cut and built.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use riposte::collection::arguments::ArgumentCollection;
use riposte::collection::documents::DocumentCollection;
use riposte::collection::passages::PassageCollection;

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
    let (code, said) = run(&["check", text(&made)]);
    assert_eq!(
        (code, said.contains("40 images, 3 topics, no faults")),
        (0, true),
        "{said}"
    );
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
    let (code, said) = run(&["check", text(&made)]);
    assert!(
        code == 0 && said.contains("18 images, 2 topics, no faults"),
        "{said}"
    );
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
fn check_names_each_fault_on_a_line() {
    let home = tempfile::tempdir().unwrap();
    let made = generated(home.path(), 6);
    let all = files(&made);
    let of = |name: &str| -> Vec<PathBuf> {
        all.keys()
            .filter(|p| p.ends_with(name))
            .map(|p| made.join(p))
            .collect()
    };
    let images = of("image.webp");
    fs::write(&images[0], "<!DOCTYPE html><p>gone").unwrap();
    fs::remove_file(&images[1]).unwrap();
    fs::write(&of("dom.html")[2], "").unwrap();
    fs::write(&of("rankings.jsonl")[3], "{\"query\":\n").unwrap();
    fs::write(&of("image-phash.txt")[4], "0101").unwrap();
    fs::write(made.join("images/stray"), "").unwrap();
    let twice = "<topics><topic><number>1</number><title>a</title></topic><topic><number>1</number><title>b</title></topic></topics>";
    fs::write(made.join("topics.xml"), twice).unwrap();
    let (code, said) = run(&["check", text(&made)]);
    assert_eq!(code, 1, "{said}");
    for fault in [
        "an HTML page, not an image",
        "no image file",
        "dom.html: empty file",
        "rankings.jsonl:1: not",
        "not 64 characters of 0 and 1",
        "stray: not a directory named I",
        "topic number 1 occurs twice",
    ] {
        assert_eq!(said.matches(fault).count(), 1, "{fault} in {said}");
    }
    assert_eq!(run(&["check", text(home.path())]).0, 2);
}

#[test]
fn a_subset_is_a_valid_collection_of_the_given_topics() {
    let home = tempfile::tempdir().unwrap();
    let made = generated(home.path(), 30);
    let out = home.path().join("cut");
    let (made, cut) = (text(&made), text(&out));
    let args = ["subset", made, cut, "--topics", "2,3", "--images", "7"];
    succeed(&mut collection_tools(&args));
    let (code, said) = run(&["check", cut]);
    assert_eq!(
        (code, said.contains("7 images, 2 topics, no faults")),
        (0, true),
        "{said}"
    );
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
fn build_joins_saved_pages_with_the_images_that_they_show() {
    let home = tempfile::tempdir().unwrap();
    let saved = home.path().join("saved");
    let pictures = saved.join("A page_files");
    fs::create_dir_all(&pictures).unwrap();
    let image = image::RgbImage::from_pixel(30, 20, image::Rgb([200, 30, 30]));
    image.save(pictures.join("red.png")).unwrap();
    image.save(pictures.join("alone.jpg")).unwrap();
    fs::write(pictures.join("site.js"), "alert()").unwrap();
    fs::write(pictures.join("gone.png"), "<html>404").unwrap();
    let page = "<!DOCTYPE html>\n<!-- saved from url=(0026)https://example.org/a?b=1 -->\n<html><body><p>Words before</p>\
        <p><img src=\"x.gif\"><img src=\"./A%20page_files/red.png\"></p><script>var hidden</script></body></html>";
    fs::write(saved.join("A page.html"), page).unwrap();
    let topics = home.path().join("topics.xml");
    fs::write(
        &topics,
        "<topics><topic><number>1</number><title>Is red good?</title></topic></topics>",
    )
    .unwrap();
    let out = home.path().join("out");
    let mut args = vec![
        "build",
        "--images",
        text(&pictures),
        "--pages",
        text(&saved),
    ];
    args.extend(["--topics", text(&topics), text(&out)]);
    let (code, said) = run(&args);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("gone.png: an HTML page, not an image; left out"),
        "{said}"
    );
    assert!(said.contains("alone.jpg: no page shows it"), "{said}");
    assert!(!said.contains("site.js"), "{said}");
    let made = files(&out);
    let read = |name: &str| -> Vec<String> {
        made.iter()
            .filter(|(p, _)| p.ends_with(name))
            .map(|(_, b)| String::from_utf8_lossy(b).into_owned())
            .collect()
    };
    assert_eq!(read("image-url.txt").len(), 2);
    assert_eq!(read("image-xpath.txt"), ["/HTML[1]/BODY[1]/P[2]/IMG[2]\n"]);
    assert_eq!(read("page-url.txt"), ["https://example.org/a?b=1"]);
    assert_eq!(read("text.txt"), ["Words before\n"]);
    assert_eq!(read("dom.html"), [page]);
    // the image without a page is the only fault
    let (code, said) = run(&["check", text(&out)]);
    assert_eq!((code, said.contains("faults: 1 page")), (1, true), "{said}");
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
