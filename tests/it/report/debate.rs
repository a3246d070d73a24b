//! Debate sheets in a browser: links, widths, colours, and printed pages.

use std::fs;

use super::{Fixture, WIDE};
use crate::support::browser::{Page, file_url};
use crate::support::files::{json_lines, text};
use crate::support::models::MINILM;
use crate::support::need::{Model, need};
use crate::support::program::{riposte, stderr, succeed, typed};
use crate::support::sample;

/// A run of the sample with debate sheets, and its report. `None` without the model.
fn report(fixture: &Fixture) -> Option<(std::path::PathBuf, std::path::PathBuf)> {
    let minilm = need(Model(MINILM))?;
    let debate = fixture.path("run").join("debate.jsonl");
    let arguments = sample().join("args-me.json");
    let run = fixture.run(
        "run",
        &typed(
            "--arguments {} --debate {} --models {}",
            &[
                text(&arguments),
                text(&debate),
                text(minilm.dir.parent().unwrap()),
            ],
        ),
    );
    let report = fixture.inspect(&run, &[]);
    Some((run, report))
}

#[test]
fn a_sheet_is_reached_from_its_topic_and_leads_to_its_images_and_back() {
    let fixture = Fixture::new();
    let Some((run, report)) = report(&fixture) else {
        return;
    };
    let Some(page) = Page::open(&file_url(&report.join("topic-2.html")), WIDE) else {
        return;
    };
    page.click(".to-sheet a");
    page.wait("location.pathname.endsWith('debate-2.html')");
    let sheets = json_lines(&fs::read_to_string(run.join("debate.jsonl")).unwrap());
    let sheet = sheets.iter().find(|sheet| sheet["topic"] == "2").unwrap();
    let arguments = sheet["arguments"].as_array().unwrap();
    assert_eq!(page.count(".argument"), arguments.len());
    assert_eq!(
        page.text(".side.pro h2 small"),
        "yes, zoos should be closed"
    );
    let first = &arguments[0];
    let said = page.text(".side.pro .argument .says");
    // the arguments before it are on the other side or undecided
    let facts = format!("rank {}, score ", first["rank"]);
    assert!(said.contains(&facts) && said.contains("+0."), "{said}");
    // every image of the lists is on the sheet once
    let images = sheet["images"].as_array().unwrap();
    let links: Vec<String> =
        page.js("[...document.querySelectorAll('.side .card a')].map(a => a.hash.slice(1)).sort()");
    let mut expected: Vec<&str> = images
        .iter()
        .map(|i| i["image"].as_str().unwrap())
        .collect();
    expected.sort_unstable();
    assert_eq!(links, expected);
    page.click(".shows .card a");
    page.wait("document.querySelector('dialog[open] .like')");
    let like = page.text("dialog[open] .like h3 a");
    page.click("dialog[open] .like h3 a");
    page.wait("location.pathname.endsWith('debate-2.html')");
    assert!(page.text(".argument:target .doc") == like, "{like}");
    // j walks through the images of the sheet
    page.go(&file_url(&report.join("debate-2.html")));
    page.keys(&["j"]);
    let focused: String = page.js("document.activeElement.closest('.card') ? 'card' : 'none'");
    assert_eq!(focused, "card");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn a_sheet_fits_has_contrast_and_is_printed_on_a_page_for_each_side() {
    let fixture = Fixture::new();
    let Some((_, report)) = report(&fixture) else {
        return;
    };
    let Some(page) = Page::open(&file_url(&report.join("debate-1.html")), WIDE) else {
        return;
    };
    for topic in 1..=6 {
        let url = file_url(&report.join(format!("debate-{topic}.html")));
        for size in [WIDE, (390, 800)] {
            page.set_size(size);
            page.go(&url);
            let width: (u32, u32) = page.js("[document.documentElement.scrollWidth, innerWidth]");
            assert!(
                width.0 <= width.1,
                "{url} is {} wide in {}",
                width.0,
                width.1
            );
            page.assert_contrasts(&url);
        }
        page.set_scheme("dark");
        // a page for each side, and one for what is undecided
        let sides = page.count(".debate .side");
        assert!((2..=3).contains(&sides), "{url}");
        assert_eq!(page.printed_pages(), sides, "{url}");
    }
}

#[test]
fn a_single_page_has_the_sheets_too_and_sheets_of_another_run_are_not_shown() {
    let fixture = Fixture::new();
    let Some((run, _)) = report(&fixture) else {
        return;
    };
    let single = fixture.path("one.html");
    let mut command = fixture.inspect_into(&run, &single);
    succeed(command.args([
        "--quiet=progress",
        "--single-file",
        "--evidence",
        text(&fixture.evidence),
    ]));
    if let Some(page) = Page::open(&format!("{}#debate-3", file_url(&single)), WIDE) {
        assert_eq!(page.visible("article.debate"), 1);
        assert_eq!(page.visible("#debate-3"), 1);
        page.click("#debate-3 .crumbs .up");
        page.wait("!document.getElementById('topic-3').hidden");
    }
    let other = fixture.run("other", &["--approach", "aramis"]);
    fs::copy(run.join("debate.jsonl"), other.join("debate.jsonl")).unwrap();
    let report = fixture.path("other-report");
    let mut command = fixture.inspect_into(&other, &report);
    let output = succeed(command.args(["--quiet=progress", "--evidence", text(&fixture.evidence)]));
    assert!(stderr(&output).contains("these debate sheets belong to another run"));
    assert!(!report.join("debate-3.html").exists());
    let index = fs::read_to_string(report.join("index.html")).unwrap();
    assert!(index.contains("The debate sheets beside the run are not of this run."));
}

#[test]
fn a_run_of_arguments_has_sheets_without_images_that_lead_to_the_ranking() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let fixture = Fixture::new();
    let run = fixture.path("arguments");
    let sheets = run.join("debate.jsonl");
    fs::create_dir_all(&run).unwrap();
    let args = ["controversial", "--quiet=progress", "-i", text(sample())];
    let mut command = riposte(fixture.home.path(), &args);
    command
        .args(["-o", text(&run), "--debate", text(&sheets)])
        .args(["--models", text(minilm.dir.parent().unwrap())]);
    succeed(&mut command);
    let report = fixture.path("arguments-report");
    succeed(&mut fixture.inspect_into(&run, &report));
    let Some(page) = Page::open(&file_url(&report.join("topic-2.html")), WIDE) else {
        return;
    };
    page.click(".to-sheet a");
    page.wait("location.pathname.endsWith('debate-2.html')");
    let written = json_lines(&fs::read_to_string(&sheets).unwrap());
    let sheet = written.iter().find(|sheet| sheet["topic"] == "2").unwrap();
    let arguments = sheet["arguments"].as_array().unwrap();
    assert_eq!(page.count(".argument"), arguments.len());
    assert_eq!(page.count(".shows") + page.count(".others"), 0);
    let id = arguments[0]["argument"].as_str().unwrap();
    assert_eq!(page.text(".argument .doc"), id);
    page.click(".argument a.open");
    page.wait("location.pathname.endsWith('topic-2.html')");
    let shown: String = page.js("document.querySelector(':target').textContent");
    assert!(shown.contains(id), "{shown}");
    assert_eq!(page.problems(), [""; 0]);
    // another approach ranks the arguments differently
    let other = fixture.path("other");
    let args = [
        "controversial",
        "--quiet=progress",
        "-i",
        text(sample()),
        "-o",
    ];
    let mut command = riposte(fixture.home.path(), &args);
    succeed(command.args([text(&other), "--approach", "bm25"]));
    fs::copy(&sheets, other.join("debate.jsonl")).unwrap();
    let output = succeed(&mut fixture.inspect_into(&other, &report));
    assert!(stderr(&output).contains("these debate sheets belong to another run"));
    assert!(!report.join("debate-2.html").exists());
}
