//! The page of `riposte serve` in a real browser.

use std::fs;

use tempfile::TempDir;

use super::{QUESTION, Server, serve};
use crate::support::browser::Page;
use crate::support::files::write;
use crate::support::models::MINILM;
use crate::support::need::{Model, need};
use crate::support::sample;

pub const WIDE: (u32, u32) = (1280, 900);
pub const NARROW: (u32, u32) = (360, 740);

/// A server for the arguments of the sample, and its first page. `None` without a browser or the model that reads stances.
fn open(home: &TempDir) -> Option<(Server, Page)> {
    let model = need(Model(MINILM))?;
    let input = home.path().join("arguments");
    for file in ["args-me.json", "topics.xml"] {
        write(&input.join(file), fs::read(sample().join(file)).unwrap());
    }
    let mut command = serve(home.path(), &[&input], &[]);
    command.env("RIPOSTE_MODELS", model.dir.parent().unwrap());
    let server = Server::start(&mut command);
    let page = Page::open(&server.address, WIDE)?;
    Some((server, page))
}

/// That nothing was requested from elsewhere, and no script or policy failed.
#[track_caller]
pub fn assert_harmless(page: &Page, server: &Server) {
    assert_stays(page, server);
    assert_eq!(page.problems(), [""; 0]);
}

/// That nothing was requested from elsewhere.
#[track_caller]
pub fn assert_stays(page: &Page, server: &Server) {
    let from_elsewhere = page.requests().into_iter();
    let from_elsewhere = from_elsewhere.filter(|address| !address.starts_with(&server.address));
    assert_eq!(from_elsewhere.collect::<Vec<_>>(), [""; 0]);
}

/// The titles of the columns of an answer, of which both must have something.
#[track_caller]
fn assert_has_two_columns(page: &Page) {
    let columns: Vec<(String, usize)> = page.js(
        "[...document.querySelectorAll('.side')].map(side => [side.querySelector('h2').firstChild.textContent.trim(), side.querySelectorAll('li').length])",
    );
    let titles: Vec<&str> = columns.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(titles[..2], ["For", "Against"], "{columns:?}");
    assert!(
        columns[..2].iter().all(|(_, count)| *count > 2),
        "{columns:?}"
    );
}

#[test]
fn a_question_is_typed_and_both_sides_and_a_reason_are_read() {
    let home = TempDir::new().unwrap();
    let Some((server, page)) = open(&home) else {
        return;
    };
    assert!(page.count(".examples a") >= 3);
    page.keys(&["/"]);
    page.write(QUESTION);
    page.keys(&["Enter"]);
    page.wait("document.querySelectorAll('.side').length >= 2");
    assert_has_two_columns(&page);
    assert_eq!(page.text("h1"), QUESTION);
    // the address that stays is that of the whole answer
    let address: String = page.js("location.href");
    assert!(!address.contains("stage=words"), "{address}");
    page.click(".side a.why");
    page.wait("document.querySelector('.side .reason')");
    assert!(page.text(".side .reason").len() > 20);
    assert!((1..=3).contains(&page.printed_pages()));
    assert_harmless(&page, &server);
}

#[test]
fn everything_can_be_read_without_scripts() {
    let home = TempDir::new().unwrap();
    let Some((server, page)) = open(&home) else {
        return;
    };
    page.forbid_scripts();
    page.go(&server.address);
    page.click("#q");
    page.write(QUESTION);
    page.keys(&["Enter"]);
    page.wait("document.querySelectorAll('.side').length >= 2");
    assert_has_two_columns(&page);
    let why: String = page.js("document.querySelector('a.why').href");
    page.go(&why);
    assert!(page.text(".reason").len() > 20);
    assert!(page.count(".tree li") > 5);
    assert_harmless(&page, &server);
}

#[test]
fn text_has_contrast_and_fits_wide_and_narrow_light_and_dark() {
    let home = TempDir::new().unwrap();
    let Some((server, page)) = open(&home) else {
        return;
    };
    let q = "q=Should+zoos+be+closed%3F";
    let paths = [
        "/".to_owned(),
        format!("/?{q}&stage=read"),
        format!("/?{q}&tab=arguments&stage=read"),
        "/?q=Sollten+Zoos+geschlossen+werden%3F&stage=read".to_owned(),
    ];
    for size in [WIDE, NARROW] {
        page.set_size(size);
        for path in &paths {
            page.go(&format!("{}{path}", server.address));
            page.assert_contrasts(path);
            let width: u32 = page.js("document.documentElement.scrollWidth");
            assert!(width <= size.0, "{path}: {width} in {}", size.0);
            assert_eq!(page.count("img:not([alt])"), 0);
            assert_eq!(page.count("h1"), 1, "{path}");
        }
    }
    // what has the focus is outlined
    page.set_size(WIDE);
    page.go(&format!("{}{}", server.address, paths[1]));
    for _ in 0..25 {
        page.keys(&["Tab"]);
        let width: String = page.js("getComputedStyle(document.activeElement).outlineWidth");
        assert_ne!(width, "0px");
    }
}
