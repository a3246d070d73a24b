//! Collections made, checked, cut and built, as a user does it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// Exit code and standard output of `collection-tools`.
fn run<I: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = I>) -> (i32, String) {
    let output = Command::cargo_bin("collection-tools")
        .unwrap()
        .args(args)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8(text).unwrap(),
    )
}

/// All files under a directory: relative path and bytes.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(dir: &Path, root: &Path, out: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, root, out),
                false => drop(out.insert(
                    path.strip_prefix(root).unwrap().to_owned(),
                    fs::read(&path).unwrap(),
                )),
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(dir, dir, &mut out);
    out
}

fn generated(dir: &Path, images: usize) -> PathBuf {
    let dir = dir.join("made");
    let (code, text) = run([
        "generate",
        "--topics",
        "3",
        "--images",
        &images.to_string(),
        "--seed",
        "5",
        dir.to_str().unwrap(),
    ]);
    assert_eq!(code, 0, "{text}");
    dir
}

#[test]
fn the_committed_sample_is_what_generate_makes() {
    let home = tempfile::tempdir().unwrap();
    let made = home.path().join("sample");
    let (code, text) = run(["generate", made.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    let (made, committed) = (
        files(&made),
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("sample")),
    );
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
fn what_generate_makes_has_no_faults_and_judges_every_image() {
    let home = tempfile::tempdir().unwrap();
    let made = generated(home.path(), 40);
    let (code, text) = run(["check", made.to_str().unwrap()]);
    assert_eq!(
        (code, text.contains("40 images, 3 topics, no faults")),
        (0, true),
        "{text}"
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
fn generate_does_not_write_into_a_full_directory() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("mine"), "x").unwrap();
    let (code, text) = run(["generate", home.path().to_str().unwrap()]);
    assert_eq!((code, text.contains("is not empty")), (2, true), "{text}");
    assert_eq!(files(home.path()).len(), 1);
}

#[test]
fn faults_are_named_one_a_line() {
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
    let (code, text) = run(["check", made.to_str().unwrap()]);
    assert_eq!(code, 1, "{text}");
    for fault in [
        "an HTML page, not an image",
        "no image file",
        "dom.html: empty file",
        "rankings.jsonl:1: not",
        "not 64 characters of 0 and 1",
        "stray: not a directory named I",
        "topic number 1 occurs twice",
    ] {
        assert_eq!(text.matches(fault).count(), 1, "{fault} in {text}");
    }
    assert_eq!(run(["check", home.path().to_str().unwrap()]).0, 2);
}

#[test]
fn a_subset_is_a_valid_collection_of_the_topics_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let made = generated(home.path(), 30);
    let out = home.path().join("cut");
    let (made, cut) = (made.to_str().unwrap(), out.to_str().unwrap());
    let (code, text) = run(["subset", made, cut, "--topics", "2,3", "--images", "7"]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = run(["check", cut]);
    assert_eq!(
        (code, text.contains("7 images, 2 topics, no faults")),
        (0, true),
        "{text}"
    );
    let whole = files(Path::new(made));
    for (name, bytes) in files(&out)
        .into_iter()
        .filter(|(name, _)| name.starts_with("images"))
    {
        assert_eq!(whole.get(&name), Some(&bytes), "{}", name.display());
    }
    let qrels = fs::read_to_string(out.join("qrels.txt")).unwrap();
    assert!(
        qrels.lines().count() >= 21
            && qrels
                .lines()
                .all(|l| l.starts_with("2 ") || l.starts_with("3 ")),
        "{qrels}"
    );
    assert_eq!(
        run(["subset", made, &format!("{cut}2"), "--topics", "9"]).0,
        2
    );
}

#[test]
fn build_joins_saved_pages_to_the_images_that_they_show() {
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
    let (code, text) = run([
        "build",
        "--images",
        pictures.to_str().unwrap(),
        "--pages",
        saved.to_str().unwrap(),
        "--topics",
        topics.to_str().unwrap(),
        out.to_str().unwrap(),
    ]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("gone.png: an HTML page, not an image; left out"),
        "{text}"
    );
    assert!(text.contains("alone.jpg: no page shows it"), "{text}");
    assert!(!text.contains("site.js"), "{text}");
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
    // The image without a page is the collection's one fault.
    let (code, text) = run(["check", out.to_str().unwrap()]);
    assert_eq!((code, text.contains("faults: 1 page")), (1, true), "{text}");
}

#[test]
fn a_stage_to_be_measured_answers_in_rounds() {
    let home = tempfile::tempdir().unwrap();
    let items = home.path().join("items.json");
    fs::write(&items, r#"["I love it.", "It is a table."]"#).unwrap();
    let output = Command::cargo_bin("collection-tools")
        .unwrap()
        .args(["bench-stages", "vader", items.to_str().unwrap()])
        .write_stdin("go\ngo\nshow\n")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 4, "{text}");
    assert_eq!(answers[0]["ready"], 2);
    for round in &answers[1..3] {
        assert!(round["seconds"].as_f64().unwrap() > 0.0, "{text}");
        assert_eq!(round["each"].as_array().unwrap().len(), 2);
    }
    let shown = &answers[3]["shown"];
    assert!(
        shown[0].as_f64().unwrap() > 0.5 && shown[1] == 0.0,
        "{text}"
    );
}
