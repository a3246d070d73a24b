//! Copies of a picture take one place in the lists of a topic, and templates with other words do not.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::files::{json_lines, text};
use crate::support::program::{code, riposte, stderr, succeed};
use crate::support::runs::images;
use crate::support::{golden_evidence, sample};

/// The sample's evidence, in which two images of topic 1 look the same. Both are in its PRO list.
struct Pair {
    home: TempDir,
    evidence: PathBuf,
    first: String,
    second: String,
}

impl Pair {
    fn new() -> Pair {
        let home = TempDir::new().unwrap();
        let evidence = home.path().join("evidence.sqlite");
        fs::copy(golden_evidence(), &evidence).unwrap();
        let (_, run) = images(home.path(), sample(), &["--evidence", text(&evidence)]);
        let run = run.unwrap();
        let mut pro = run.lines().filter(|line| line.starts_with("1 PRO "));
        let mut next = || pro.next().unwrap().split(' ').nth(2).unwrap().to_owned();
        let (first, second) = (next(), next());
        let pair = Pair {
            home,
            evidence,
            first,
            second,
        };
        pair.make_alike();
        pair
    }

    fn make_alike(&self) {
        let same_hash = "UPDATE picture SET phash = (SELECT phash FROM picture WHERE document = ?1) WHERE document = ?2";
        self.change(same_hash, &[&self.first, &self.second]);
    }

    fn change(&self, sql: &str, values: &[&str]) {
        let connection = Connection::open(&self.evidence).unwrap();
        let values = rusqlite::params_from_iter(values);
        connection.execute(sql, values).unwrap();
    }

    /// Replaces the text in a picture by one line of 40 pixels.
    fn write_text(&self, image: &str, line: &str) {
        self.change("DELETE FROM ocr_line WHERE document = ?", &[image]);
        let connection = Connection::open(&self.evidence).unwrap();
        let insert = "INSERT INTO ocr_line (document, line, text, confidence, x1, y1, x2, y2, x3, y3, x4, y4)
             VALUES (?, 0, ?, 0.99, 10, 10, 300, 10, 300, 50, 10, 50)";
        connection.execute(insert, params![image, line]).unwrap();
    }

    /// Ranks the sample. What is said of the second image for topic 1, and which of both are in its lists.
    fn rank(&self) -> (Value, [bool; 2]) {
        let explain = self.explained();
        let (evidence, explain_to) = (text(&self.evidence), text(&explain));
        let args = ["--evidence", evidence, "--explain", explain_to];
        let (output, run) = images(self.home.path(), sample(), &args);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let run = run.unwrap();
        let listed = [&self.first, &self.second].map(|image| {
            run.lines()
                .any(|line| line.starts_with("1 ") && line.contains(image))
        });
        let explained = fs::read_to_string(&explain).unwrap();
        let second = json_lines(&explained)
            .into_iter()
            .find(|image| image["topic"] == "1" && image["image"] == self.second.as_str());
        (second.unwrap(), listed)
    }

    fn explained(&self) -> PathBuf {
        self.home.path().join("explain.jsonl")
    }

    /// The page of topic 1 in a report of the last ranking.
    fn page(&self) -> String {
        let (out, report) = (
            self.home.path().join("out"),
            self.home.path().join("report"),
        );
        let args = [
            "inspect",
            "--quiet=progress",
            text(&out),
            "-i",
            text(sample()),
        ];
        let mut command = riposte(self.home.path(), &args);
        command
            .args(["--evidence", text(&self.evidence), "-o", text(&report)])
            .args(["--explain", text(&self.explained())])
            .args(["--qrels", text(&sample().join("qrels.txt"))]);
        succeed(&mut command);
        read(&report.join("topic-1.html"))
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// The dialog of an image in the page of a topic.
fn dialog<'a>(page: &'a str, image: &str) -> &'a str {
    let mut dialogs = page.split("<dialog ").skip(1);
    dialogs
        .find(|dialog| dialog.contains(&format!("<span class=\"doc\">{image}</span>")))
        .unwrap()
}

#[test]
fn a_copy_takes_no_second_place_and_names_the_image_that_was_kept() {
    let pair = Pair::new();
    for image in [&pair.first, &pair.second] {
        pair.write_text(image, "Streets are for people");
    }
    // the same text makes them alike in other respects too: either may be the better one
    let (second, listed) = pair.rank();
    assert_ne!(listed[0], listed[1]);
    let (kept, copy) = if listed[0] {
        (&pair.first, &pair.second)
    } else {
        (&pair.second, &pair.first)
    };
    let explained = read(&pair.explained());
    let of_copy = json_lines(&explained)
        .into_iter()
        .find(|image| image["topic"] == "1" && image["image"] == copy.as_str())
        .unwrap();
    assert_eq!(of_copy["copy_of"], kept.as_str());
    assert_eq!(of_copy["listed"], serde_json::json!([]));
    let run = read(&pair.home.path().join("out/run.txt"));
    let place: Vec<&str> = run
        .lines()
        .find(|line| line.starts_with("1 ") && line.contains(kept.as_str()))
        .unwrap()
        .split(' ')
        .collect();
    let note = format!(
        "copy of {kept}, which ranks at {} for {}",
        place[3], place[1]
    );
    for side in ["pro", "con"] {
        let how = of_copy[side]["how"].as_str().unwrap();
        assert!(how.ends_with(&note), "{how}");
    }
    if listed[1] {
        assert_eq!(second["copy_of"], Value::Null);
    }

    let page = pair.page();
    let of_kept = dialog(&page, kept);
    let copies = of_kept.split("<h3>Copies").nth(1).unwrap();
    assert!(copies.contains(copy.as_str()), "{of_kept}");
    assert!(page.contains("<div class=\"twins\"><span>a copy, left out</span>"));
    // both are judged to be on topic, so the copy is shown as missed, with the image that was kept
    let of_copy = dialog(&page, copy);
    let twin = of_copy.split("<ul class=\"copies twin\">").nth(1).unwrap();
    let twin = twin.split("</ul>").next().unwrap();
    let place = format!("<small>{} {}; the same picture</small>", place[1], place[3]);
    for part in [format!("<a href=\"#{kept}\">"), place] {
        assert!(twin.contains(&part), "{twin}");
    }
}

#[test]
fn a_template_with_other_words_takes_a_place_of_its_own() {
    let pair = Pair::new();
    pair.write_text(&pair.first, "BAN CARS");
    pair.write_text(&pair.second, "KEEP CARS");
    let (second, listed) = pair.rank();
    assert_eq!(listed, [true, true]);
    assert_eq!(second["copy_of"], Value::Null);
    let page = pair.page();
    let of_first = dialog(&page, &pair.first);
    let alike = of_first.split("<h3>Looks the same").nth(1).unwrap();
    assert!(alike.contains(&pair.second), "{of_first}");
    assert!(!of_first.contains("<h3>Copies"));
    // where the text was not read, the hash alone decides
    for image in [&pair.first, &pair.second] {
        let forget = "DELETE FROM work WHERE channel = 'ocr' AND document = ?";
        pair.change(forget, &[image]);
    }
    // this measures both pictures anew, without their text
    pair.rank();
    pair.make_alike();
    let (_, listed) = pair.rank();
    assert_ne!(listed[0], listed[1]);
}
