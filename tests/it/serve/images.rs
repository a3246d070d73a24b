//! The page of `riposte serve` over images: they are shown, an answer can be saved, and a collection that attacks the page runs nothing.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::page::{NARROW, WIDE, assert_harmless, assert_stays};
use super::{QUESTION, Server, start};
use crate::report::hostile::{self, BREAK_OUT, SCRIPT, assert_isolated};
use crate::support::browser::{Page, file_url};
use crate::support::files::write;
use crate::support::sample;

/// The number of pictures that the browser has decoded. It loads those that are far below only when they are scrolled to.
fn shown(page: &Page) -> usize {
    page.run(
        "Promise.all([...document.images].map(picture => { picture.loading = 'eager'; return picture.decode(); }))",
    );
    page.js("[...document.images].filter(picture => picture.naturalWidth > 0).length")
}

fn address(server: &Server, path: &str) -> String {
    format!("{}{path}", server.address)
}

#[test]
fn images_stand_on_their_sides_and_the_answer_is_saved_as_a_report() {
    let home = TempDir::new().unwrap();
    let server = start(home.path(), sample());
    let Some(page) = Page::open(&server.address, WIDE) else {
        return;
    };
    let asked = "/?q=Should+zoos+be+closed%3F&stage=read";
    for size in [WIDE, NARROW] {
        page.set_size(size);
        for tab in ["", "&tab=images"] {
            page.go(&address(&server, &format!("{asked}{tab}")));
            let count = shown(&page);
            assert!(count >= 10, "{tab}: {count}");
            assert_eq!(page.count("img:not([alt])"), 0);
            let width: u32 = page.js("document.documentElement.scrollWidth");
            assert!(width <= size.0, "{tab}: {width} in {}", size.0);
            page.assert_contrasts(tab);
        }
    }
    // each picture is one of the answer, and leads to its document
    let pictures: Vec<String> = page.js(
        "[...document.querySelectorAll('a[href^=\"/document/\"] img')].map(img => img.closest('a').getAttribute('href'))",
    );
    assert!(pictures.len() >= 10, "{pictures:?}");
    page.go(&address(&server, &pictures[0]));
    assert_eq!(shown(&page), 1);
    assert_harmless(&page, &server);

    // the report has the same documents, and needs nothing else
    let answer = server.json("/api/debate?q=Should+zoos+be+closed%3F");
    let (status, report) = server.get("/report?q=Should+zoos+be+closed%3F");
    assert_eq!(status, 200);
    let file = home.path().join("saved.html");
    fs::write(&file, &report).unwrap();
    let report = String::from_utf8(report).unwrap();
    for side in answer["sides"].as_array().unwrap() {
        for image in side["images"].as_array().unwrap() {
            assert!(report.contains(image["id"].as_str().unwrap()), "{image}");
        }
    }
    let saved = Page::open(&file_url(&file), WIDE).unwrap();
    assert!(shown(&saved) >= 10);
    let requests = saved.requests().into_iter();
    let elsewhere: Vec<String> = requests
        .filter(|url| !url.starts_with("file://") && !url.starts_with("data:"))
        .collect();
    assert_eq!(elsewhere, [""; 0]);
    assert_eq!(saved.problems(), [""; 0]);
    assert!(saved.text("body").contains(QUESTION));
}

#[test]
fn a_collection_that_attacks_the_page_runs_nothing() {
    let home = TempDir::new().unwrap();
    let input = home.path().join("<img src=x onerror=window.pwned=1>");
    hostile::collection(&input, 9);
    let attack = format!("{SCRIPT}{BREAK_OUT} \u{202e}gpj.exe\u{2069} cars make cities loud");
    let argument = |n: usize| {
        json!({
            "id": format!("a{n}\"'><img/src=x/onerror=window.pwned=1>"),
            "conclusion": format!("Cars should be banned {SCRIPT}"),
            "premises": [{"text": format!("{attack}, and nobody who lives beside the ring road can sleep at night, so cars should be banned from the whole of the old town {n}."), "stance": "PRO"}],
            "context": {
                "sourceId": "s",
                "sourceTitle": attack,
                "sourceUrl": "javascript:window.pwned=1",
                "discussionTitle": attack,
            },
        })
    };
    let arguments: Vec<_> = (0..6).map(argument).collect();
    write(
        &input.join("args-me.json"),
        json!({"arguments": arguments}).to_string(),
    );
    let server = start(home.path(), &input);
    let Some(page) = Page::open(&server.address, WIDE) else {
        return;
    };
    let asked = "q=Should+cars+be+banned%3F";
    let mut paths = vec![
        "/".to_owned(),
        "/?q=%3Cscript%3Ewindow.pwned=1%3C/script%3E+cars".to_owned(),
    ];
    paths.extend(
        ["", "&tab=arguments", "&tab=images"].map(|tab| format!("/?{asked}&stage=read{tab}")),
    );
    let (mut texts, mut seen) = (String::new(), BTreeSet::new());
    while let Some(path) = paths.pop() {
        page.go(&address(&server, &path));
        page.wait("document.querySelector('h1')");
        assert!(page.js::<bool>("window.pwned === undefined"), "{path}");
        texts.push_str(&page.text("body"));
        let html: String = page.js("document.body.innerHTML");
        assert_isolated(&html);
        if !path.starts_with("/document") && !path.starts_with("/why") {
            // the reasons, and the pages of documents
            let links: Vec<String> = page.js(
                "[...document.querySelectorAll('a[href^=\"/document/\"], a[href^=\"/why\"]')].map(a => a.getAttribute('href'))",
            );
            // each tab has them again
            paths.extend(links.into_iter().filter(|link| seen.insert(link.clone())));
        }
        let scripts: Vec<String> = page.js(
            "[...document.querySelectorAll('[href], [src]')].map(of => of.getAttribute('href') || of.getAttribute('src')).filter(url => /^\\s*javascript:/i.test(url))",
        );
        assert_eq!(scripts, [""; 0], "{path}");
    }
    assert!(texts.contains(SCRIPT), "the attack is shown as text");
    assert_stays(&page, &server);
    // three of the files are no pictures
    let problems = page.problems().into_iter();
    let problems: Vec<String> = problems
        .filter(|of| !of.contains("status of 404"))
        .collect();
    assert_eq!(problems, [""; 0]);
    let (status, report) = server.get(&format!("/report?{asked}"));
    assert_eq!(status, 200);
    let file = home.path().join("saved.html");
    fs::write(&file, report).unwrap();
    let saved = Page::open(&file_url(&file), WIDE).unwrap();
    assert!(saved.js::<bool>("window.pwned === undefined"));
    assert_eq!(saved.problems(), [""; 0]);
}
