//! `riposte inspect`: reports of images and of texts show what the run, the evidence and the judgements say, in a real browser.

mod debate;
pub mod hostile;
mod legible;
mod overview;
mod reasons;
mod usability;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::browser::{Page, file_url};
use crate::support::files::{json_lines, text};
use crate::support::program::{code, rank_images, riposte, stderr, stdout, succeed};
use crate::support::{assert_says, golden_evidence, sample};
use crate::texts::QUESTION;

/// A window of a laptop.
const WIDE: (u32, u32) = (1280, 800);

/// A directory with the stored evidence of the sample, in which runs and reports are made.
struct Fixture {
    home: TempDir,
    evidence: PathBuf,
}

impl Fixture {
    fn new() -> Fixture {
        let home = tempfile::tempdir().unwrap();
        let evidence = home.path().join("evidence.sqlite");
        fs::copy(golden_evidence(), &evidence).unwrap();
        Fixture { home, evidence }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Makes a run of the sample, with explanations, in the directory of that name.
    fn run(&self, name: &str, more: &[&str]) -> PathBuf {
        let out = self.path(name);
        let explain = out.join("explain.jsonl");
        fs::create_dir_all(&out).unwrap();
        let mut command = rank_images(self.home.path(), sample(), &out);
        command
            .args(["--evidence", text(&self.evidence)])
            .args(["--explain", text(&explain)])
            .args(more);
        succeed(&mut command);
        out
    }

    /// Makes a report of a run of the sample; its directory.
    fn inspect(&self, run: &Path, more: &[&str]) -> PathBuf {
        let out = self.path("report");
        let qrels = sample().join("qrels.txt");
        let mut command = self.inspect_into(run, &out);
        command
            .args(["--quiet=progress", "--evidence", text(&self.evidence)])
            .args(["--qrels", text(&qrels)])
            .args(more);
        succeed(&mut command);
        out
    }

    /// Makes a run, a run of another approach, and a report of the first against the second.
    fn comparison(&self) -> (PathBuf, PathBuf, PathBuf) {
        let run = self.run("run", &[]);
        let other = self.run("other", &["--approach", "aramis"]);
        let report = self.inspect(&run, &["--against", text(&other)]);
        (run, other, report)
    }

    /// The command that makes a report of a run of the sample in that directory, without evidence and judgements.
    fn inspect_into(&self, run: &Path, out: &Path) -> Command {
        let args = ["inspect", text(run), "-i", text(sample()), "-o", text(out)];
        riposte(self.home.path(), &args)
    }
}

/// Opens the first page of a report. `None` without a browser.
fn open_index(report: &Path) -> Option<Page> {
    Page::open(&file_url(&report.join("index.html")), WIDE)
}

/// The image and its score at a rank of a topic and stance.
fn line(run: &Path, topic: &str, stance: &str, rank: &str) -> (String, String) {
    let lines = fs::read_to_string(run.join("run.txt")).unwrap();
    let line = lines.lines().find(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        fields[0] == topic && fields[1] == stance && fields[3] == rank
    });
    let fields: Vec<&str> = line.unwrap().split(' ').collect();
    (fields[2].to_owned(), fields[4].to_owned())
}

#[test]
fn a_report_leads_from_the_topics_to_an_image_and_its_explanation() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let report = fixture.inspect(&run, &[]);
    let Some(page) = open_index(&report) else {
        return;
    };
    assert_eq!(page.count("table.topics tbody tr"), 6);
    // the values that `riposte evaluate sample/qrels.txt` prints for the golden run
    let tiles: Vec<String> =
        page.js("[...document.querySelectorAll('.tile dd')].map(e => e.textContent)");
    let values = ["0.392", "0.350", "0.217"];
    // and what could be reached with these judgements
    let most = ["0.442", "0.400", "0.400"];
    let expected: Vec<String> = values
        .iter()
        .zip(most)
        .map(|(value, most)| format!("{value} of {most} possible"))
        .collect();
    assert_eq!(tiles, expected);

    page.click("table a[href='topic-3.html']");
    page.wait("document.querySelector('h1')?.textContent.includes('four-day working week')");
    assert_eq!(page.count(".side.pro .card"), 10);
    assert_eq!(page.count(".side.con .card"), 10);
    assert_eq!(page.visible("dialog"), 0);

    let (image, score) = line(&run, "3", "PRO", "2");
    page.click(&format!(".side.pro a[href='#{image}']"));
    page.wait("document.querySelector('dialog[open]')");
    assert_eq!(page.text("dialog[open] .doc"), image);
    assert_eq!(page.text("dialog[open] .place"), "PRO 2");
    assert!(page.js::<bool>("document.querySelector('dialog[open] img').complete"));
    assert!(page.js::<bool>("document.querySelector('dialog[open] img').naturalWidth > 200"));

    // the page shows the explanation that the ranking wrote: the score, and every name and number
    let score: f64 = score.parse().unwrap();
    let formula = page.text("dialog[open] .formula");
    assert_eq!(
        formula,
        format!("{score:.4} = relevance × (1 + argues + stance)")
    );
    let explained = json_lines(&fs::read_to_string(run.join("explain.jsonl")).unwrap());
    let explained = explained
        .iter()
        .find(|e| e["topic"] == "3" && e["image"] == image.as_str())
        .unwrap();
    let shown: Vec<(String, String)> = page.js(
        "[...document.querySelectorAll('dialog[open] .tree > li:first-child b')].map(e => [e.textContent, e.nextElementSibling.textContent])",
    );
    let mut expected = Vec::new();
    flatten(&explained["pro"], &mut expected);
    expected[0].0 = "score as PRO".into();
    assert_eq!(shown, expected);

    // there is a box around each line of text in the picture
    let lines = page.count("dialog[open] .lines li");
    assert!(lines > 0);
    assert_eq!(page.count("dialog[open] .boxes polygon"), lines);
    // and a larger one around each block
    let blocks = page.count("dialog[open] ol.lines");
    assert!((1..=lines).contains(&blocks));
    assert_eq!(page.count("dialog[open] .boxes rect"), blocks);
    assert_eq!(page.visible("dialog[open] .boxes"), 1);
    page.click("dialog[open] .toggle");
    assert_eq!(page.visible("dialog[open] .boxes"), 0);
    let box_and_image: Vec<f64> = page.js(
        "[document.querySelector('dialog[open] .boxes'), document.querySelector('dialog[open] img')].flatMap(e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })",
    );
    assert_eq!(box_and_image.len(), 8);
    for (of_boxes, of_image) in box_and_image[..4].iter().zip(&box_and_image[4..]) {
        assert!((of_boxes - of_image).abs() < 1.0, "{box_and_image:?}");
    }

    page.keys(&["Escape"]);
    page.wait("!document.querySelector('dialog[open]')");
    assert!(!page.js::<String>("location.href").contains('#'));
    assert_eq!(
        page.js::<String>("document.activeElement.hash"),
        format!("#{image}")
    );

    // a link to an image opens its dialog
    let (other, _) = line(&run, "1", "CON", "4");
    page.go(&format!(
        "{}#{other}",
        file_url(&report.join("topic-1.html"))
    ));
    page.wait("document.querySelector('dialog[open] .place')?.textContent === 'CON 4'");
    assert_eq!(page.problems(), [""; 0]);
    for url in page.requests() {
        assert!(url.starts_with("file://"), "asked for {url}");
    }
}

/// The names and numbers of an explanation as the page shows them, in the same order.
fn flatten(explanation: &Value, into: &mut Vec<(String, String)>) {
    let value = explanation["value"].as_f64().unwrap();
    let shown = match value.abs() {
        size if size >= 0.001 || size == 0.0 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    };
    let name = explanation["name"].as_str().unwrap().to_owned();
    into.push((name, shown.replace('-', "−")));
    for part in explanation["parts"].as_array().into_iter().flatten() {
        flatten(part, into);
    }
}

#[test]
fn a_report_against_another_run_shows_the_differences() {
    let fixture = Fixture::new();
    let (run, other, report) = fixture.comparison();
    let places = |run: &Path| -> BTreeMap<(String, String), u32> {
        let lines = fs::read_to_string(run.join("run.txt")).unwrap();
        let of_topic = lines.lines().map(|l| l.split(' ').collect::<Vec<_>>());
        of_topic
            .filter(|f| f[0] == "1")
            .map(|f| ((f[1].to_owned(), f[2].to_owned()), f[3].parse().unwrap()))
            .collect()
    };
    let (own, others) = (places(&run), places(&other));
    let Some(page) = open_index(&report) else {
        return;
    };
    assert!(page.text(".facts").contains("against riposte-aramis"));
    let new = own.keys().filter(|key| !others.contains_key(*key)).count();
    assert_eq!(page.text("tbody tr td[data-name='new']"), new.to_string());
    assert_eq!(page.count(".tile .difference"), 3);
    page.go(&file_url(&report.join("topic-1.html")));
    assert_eq!(page.count(".side .change.new, .side .change.crossed"), new);
    for (stance, class) in [("PRO", "pro"), ("CON", "con")] {
        let gone: Vec<String> = page.js(&format!(
            "[...document.querySelectorAll('.side.{class} .gone a')].map(a => a.hash.slice(1))"
        ));
        let expected = |id: &String| {
            others.contains_key(&(stance.into(), id.clone()))
                && !own.contains_key(&(stance.into(), id.clone()))
        };
        assert!(gone.iter().all(expected));
        let lost = others
            .keys()
            .filter(|key| key.0 == stance && !own.contains_key(*key))
            .count();
        assert_eq!(gone.len(), lost);
    }
    // an image that is now on the other side has this position
    for (stance, class) in [("PRO", "pro"), ("CON", "con")] {
        let now: Vec<(String, String)> = page.js(&format!(
            "[...document.querySelectorAll('.side.{class} .gone .card')].map(e => [e.querySelector('a').hash.slice(1), e.querySelector('.change').textContent])"
        ));
        for (id, shown) in now {
            let elsewhere = own
                .iter()
                .find(|((side, image), _)| *image == id && side != stance);
            let expected = elsewhere.map(|((side, _), rank)| format!("now {side} {rank}"));
            assert_eq!(
                shown.strip_prefix("now ").is_some(),
                expected.is_some(),
                "{shown}"
            );
            assert!(expected.is_none_or(|expected| shown == expected));
        }
    }
    // the change on a card is the difference of its ranks
    let mut in_both = 0;
    for ((stance, id), rank) in &own {
        let Some(before) = others.get(&(stance.clone(), id.clone())) else {
            continue;
        };
        let expected = match i64::from(*before) - i64::from(*rank) {
            0 => "=".to_owned(),
            up if up > 0 => format!("▲ {up}"),
            down => format!("▼ {}", -down),
        };
        in_both += 1;
        let side = stance.to_lowercase();
        let shown: String = page.js(&format!(
            "document.querySelector('.side.{side} a[href=\"#{id}\"]').closest('.card').querySelector('.change').textContent"
        ));
        assert_eq!(shown, expected, "{stance} {id}");
    }
    assert!(in_both > 0);
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn a_report_names_what_is_missing_and_shows_the_rest() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let out = fixture.path("bare");
    // the run of another system: no explanations, no evidence, no judgements, an unknown image and an unknown topic
    let foreign = fixture.path("foreign.txt");
    let mut lines = fs::read_to_string(run.join("run.txt")).unwrap();
    lines.push_str("7 PRO I00000000000000ff 1 3.5 riposte\n");
    fs::write(&foreign, lines).unwrap();
    let output = succeed(&mut fixture.inspect_into(&foreign, &out));
    assert!(stdout(&output).contains("index.html"));
    let said = stderr(&output);
    assert_says(
        &said,
        &["I00000000000000ff: there is no such image in the collection"],
    );
    let index = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(index.contains("no explanations beside the run") && index.contains("riposte extract"));
    assert!(!index.contains("class=\"tile"));
    let topic = fs::read_to_string(out.join("topic-7.html")).unwrap();
    assert!(
        topic.contains("not among the topics") && topic.contains("no such image in the collection")
    );
    assert!(
        fs::read_to_string(out.join("topic-1.html"))
            .unwrap()
            .contains("without --explain")
    );

    // the explanations of another run are refused
    let other = fixture.run("other", &["--approach", "boromir-afinn"]);
    let explain = other.join("explain.jsonl");
    let mut command = fixture.inspect_into(&run, &out);
    let output = command.arg("--explain").arg(&explain).output().unwrap();
    assert_eq!(code(&output), 2);
    assert_says(&stderr(&output), &["another run"]);
    fs::copy(&explain, run.join("explain.jsonl")).unwrap();
    let report = fixture.inspect(&run, &[]);
    assert!(
        fs::read_to_string(report.join("index.html"))
            .unwrap()
            .contains("are not of this run")
    );
    fs::write(run.join("explain.jsonl"), "{}\n").unwrap();
    let report = fixture.inspect(&run, &[]);
    assert!(
        fs::read_to_string(report.join("index.html"))
            .unwrap()
            .contains("are not of this run")
    );
}

#[test]
fn relevant_images_below_the_shown_ranks_are_listed_as_missed() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let report = fixture.inspect(&run, &["--depth", "5"]);
    let page = fs::read_to_string(report.join("topic-3.html")).unwrap();
    // an image at ranks 6 to 10 for topic 3 is judged to be on topic, and five ranks are shown
    let qrels = fs::read_to_string(sample().join("qrels.txt")).unwrap();
    let (rank, below) = (6..=10)
        .map(|rank| (rank, line(&run, "3", "PRO", &rank.to_string()).0))
        .find(|(_, image)| qrels.contains(&format!("3 ONTOPIC {image} 1")))
        .unwrap();
    let missed = page.split("<section class=\"missed\">").nth(1).unwrap();
    let missed = missed.split("</section>").next().unwrap();
    let card = missed
        .split("<li ")
        .find(|card| card.contains(&format!("href=\"#{below}\"")))
        .unwrap();
    assert!(card.contains(&format!(">PRO {rank}<")), "{card}");
    let sides = page
        .split("<div class=\"sides\">")
        .nth(1)
        .unwrap()
        .split("<section class=\"missed\">")
        .next()
        .unwrap();
    assert_eq!(sides.matches("<li class=\"card\">").count(), 10);
}

#[test]
fn only_an_earlier_report_is_replaced() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let report = fixture.inspect(&run, &[]);
    fixture.inspect(&run, &[]);
    fs::write(report.join("mine.html"), "").unwrap();

    let other = fixture.path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.tex"), "years of work").unwrap();
    let inspect = |run: &Path, out: &Path| fixture.inspect_into(run, out).output().unwrap();
    let output = inspect(&run, &report);
    assert_eq!(code(&output), 2);
    assert_says(&stderr(&output), &["mine.html was added"]);
    let output = inspect(&run, &other);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("no report"), "{}", stderr(&output));
    assert_eq!(
        fs::read_to_string(other.join("thesis.tex")).unwrap(),
        "years of work"
    );

    let empty = fixture.path("empty.txt");
    fs::write(&empty, "34 nothing\n").unwrap();
    let output = inspect(&empty, &fixture.path("none"));
    assert_eq!(code(&output), 2);
    assert_says(&stderr(&output), &["empty.txt:1: ", "there is no line"]);
    assert!(!fixture.path("none").exists());
    // a broken line is left out
    let mut lines = fs::read_to_string(run.join("run.txt")).unwrap();
    lines.push_str("1 MAYBE I1 1 1.0 x\n");
    fs::write(&empty, lines).unwrap();
    let output = inspect(&empty, &fixture.path("some"));
    assert_eq!(code(&output), 0);
    assert!(fixture.path("some/topic-1.html").exists());
}

/// Uses of a computer.
const USES: &str = "writing drawing coding reading studying gaming painting composing filming editing travelling teaching \
    planning banking trading cooking learning mapping printing scanning singing talking meeting browsing searching sorting \
    counting measuring sketching modelling";

#[test]
fn a_report_of_texts_shows_words_stances_and_grades() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let (data, out, other) = (at("data"), at("run"), at("other"));
    fs::create_dir(&data).unwrap();
    fs::write(data.join("topics.xml"), QUESTION).unwrap();
    let passages: String = USES
        .split_whitespace()
        .zip(0..)
        .map(|(using, n)| {
            let (one, other) = if n % 3 == 0 { ("desktop", "laptop") } else { ("laptop", "desktop") };
            let contents = format!("For {using} a {one} is better than a {other}, <b>{using}</b> is faster there, and it is cheaper and lighter than all others that I tried for it.");
            json!({"id": format!("p{n}"), "contents": contents, "chatNoirUrl": "https://example.org/"}).to_string() + "\n"
        })
        .collect();
    fs::write(data.join("passages.jsonl"), passages).unwrap();
    fs::create_dir(&out).unwrap();
    let explain = out.join("explain.jsonl");
    let index = at("index");
    let base = [
        "--quiet=progress",
        "-i",
        text(&data),
        "--index",
        text(&index),
    ];
    let rank = |more: &[&str]| {
        succeed(riposte(home.path(), &["comparative"]).args(base).args(more));
    };
    rank(&["-o", text(&out), "--explain", text(&explain)]);
    rank(&["-o", text(&other), "--approach", "dirichlet"]);
    let run = fs::read_to_string(out.join("run.txt")).unwrap();
    let lines: Vec<Vec<&str>> = run.lines().map(|l| l.split(' ').collect()).collect();
    let topic = lines[0][0];
    let of_topic: Vec<&Vec<&str>> = lines.iter().filter(|l| l[0] == topic).collect();
    // the first is highly relevant, the third is not relevant, one below the shown ranks is relevant, the others are not judged
    let others = fs::read_to_string(other.join("run.txt")).unwrap();
    let there: Vec<&str> = others.lines().take(20).collect();
    let deep = of_topic[20..].iter().find(|l| {
        !there
            .iter()
            .any(|line| line.contains(&format!(" {} ", l[2])))
    });
    let (deep, deep_rank) = deep.map(|line| (line[2], line[3])).unwrap();
    let qrels = at("relevance.qrels");
    fs::write(
        &qrels,
        format!(
            "{topic} 0 {} 2\n{topic} 0 {} 0\n{topic} 0 {deep} 1\n",
            of_topic[0][2], of_topic[2][2]
        ),
    )
    .unwrap();
    let stances = at("stance.qrels");
    fs::write(&stances, format!("{topic} 0 {} FIRST\n", of_topic[0][2])).unwrap();
    let report = at("report");
    let mut command = riposte(home.path(), &["inspect", text(&out)]);
    command
        .args(base)
        .args(["--qrels", text(&qrels), "--qrels", text(&stances)])
        .args(["--against", text(&other), "-o", text(&report)]);
    succeed(&mut command);

    // a document that is listed again is named
    let twice = format!("{run}{topic} NO {} 1000 -9 x\n", of_topic[0][2]);
    let at_line = run.lines().count() + 1;
    fs::create_dir(at("twice")).unwrap();
    fs::write(at("twice/run.txt"), twice).unwrap();
    let mut command = riposte(home.path(), &["inspect", text(&at("twice"))]);
    let output = command
        .args(base)
        .args(["-o", text(&at("other-report"))])
        .output()
        .unwrap();
    assert_eq!(code(&output), 0);
    assert_says(
        &stderr(&output),
        &[&format!(
            "run.txt:{at_line}: document {} of topic {topic} again",
            of_topic[0][2]
        )],
    );

    let Some(page) = open_index(&report) else {
        return;
    };
    assert!(page.text(".facts").contains("30 passages"));
    let ndcg: f64 = page
        .text("tbody tr td[data-name='relevance'] .value")
        .parse()
        .unwrap();
    assert!(ndcg > 0.5 && ndcg < 1.0, "{ndcg}");
    page.click("tbody tr th a");
    page.wait("document.querySelector('.texts')");
    assert_eq!(page.count(".ranking:not(.gone, .missed) .text"), 20);
    let first = ".text:first-child";
    assert_eq!(page.text(&format!("{first} .rank")), "1");
    assert_eq!(page.text(&format!("{first} .doc")), of_topic[0][2]);
    assert!(
        page.text(&format!("{first} .stance"))
            .contains(of_topic[0][1])
    );
    let grades: Vec<String> = page.js(
        "[...document.querySelector('.text').querySelectorAll('.grade')].map(e => e.textContent)",
    );
    assert_eq!(grades, ["relevance 2", "stance FIRST"]);
    assert!(page.count(&format!("{first} mark")) > 0);
    let title = page.text("h1").to_lowercase();
    let marked = page.text(&format!("{first} mark")).to_lowercase();
    assert!(
        title.contains(&marked[..4.min(marked.len())]),
        "{marked} in {title}"
    );
    assert_eq!(
        page.text(".missed .text .rank"),
        format!("rank {deep_rank}")
    );
    assert_eq!(page.text(".missed .text .doc"), deep);

    // the explanation is hidden until it is opened
    assert_eq!(page.visible(&format!("{first} .tree")), 0);
    page.keys(&["j", "Enter"]);
    assert_eq!(page.visible(&format!("{first} .tree")), 1);
    let score: f64 = of_topic[0][4].parse().unwrap();
    assert_eq!(
        page.text(&format!("{first} .tree > li i")),
        format!("{score:.4}")
    );
    page.keys(&["j", "j", "k"]);
    assert_eq!(
        page.js::<String>("document.activeElement.querySelector('.rank').textContent"),
        "2"
    );
    page.assert_contrast("text");
    assert_eq!(page.problems(), [""; 0]);
    assert!(page.requests().iter().all(|url| url.starts_with("file://")));
}
