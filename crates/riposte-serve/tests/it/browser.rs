//! The page in a real browser.

use std::path::Path;
use std::process::{Command, Stdio};

use need::{Chromium, need};
use scraper::{Html, Selector};

use crate::stub::Running;

/// Runs the browser once, and returns what it prints.
fn run(chromium: &Path, args: &[&str], address: &str) -> String {
    let profile = tempfile::tempdir().unwrap();
    let mut browser = Command::new(chromium);
    browser.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-component-update",
    ]);
    // time passes in the page until nothing is left to load
    browser.args([
        "--virtual-time-budget=20000",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ]);
    browser.arg(format!("--user-data-dir={}", profile.path().display()));
    browser.args(args).arg(address).stderr(Stdio::null());
    let output = browser.output().unwrap();
    assert!(output.status.success(), "{browser:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The document as it is when the scripts have run.
fn dom(chromium: &Path, address: &str) -> Html {
    Html::parse_document(&run(chromium, &["--dump-dom"], address))
}

fn count(page: &Html, selector: &str) -> usize {
    page.select(&Selector::parse(selector).unwrap()).count()
}

fn text(page: &Html, selector: &str) -> String {
    let selector = Selector::parse(selector).unwrap();
    page.select(&selector)
        .flat_map(|element| element.text())
        .collect()
}

#[test]
fn results_by_words_are_replaced_by_what_models_have_read() {
    let Some(chromium) = need(Chromium) else {
        return;
    };
    let server = Running::start(|_| {});
    let address = |query: &str| format!("http://{}/?{query}", server.address);
    let page = dom(&chromium, &address("q=Close+zoos%3F&stage=words"));
    assert_eq!(count(&page, "html.js main .sides > .side"), 3);
    assert_eq!(count(&page, ".reading, [aria-busy]"), 0);
    assert!(text(&page, "body > [role=status]").contains("Models have read"));
    // what goes wrong is said, with a button, and the results by words stay
    let failed = dom(&chromium, &address("q=damaged&stage=words&tab=arguments"));
    assert_eq!(count(&failed, "main .refused"), 1, "the words fail, too");
    let none = Running::start(|settings| settings.deadline = std::time::Duration::from_millis(200));
    let late = format!("http://{}/?q=wait&stage=words&tab=images", none.address);
    let late = dom(&chromium, &late);
    assert!(text(&late, ".reading.failed").contains("There was no answer in time."));
    assert_eq!(text(&late, ".reading.failed button"), "Try again");
}

#[test]
fn an_attack_runs_nothing_and_asks_nobody() {
    let Some(chromium) = need(Chromium) else {
        return;
    };
    let server = Running::start(|_| {});
    server
        .stub
        .version
        .store(66, std::sync::atomic::Ordering::SeqCst);
    for path in [
        "?q=attack&stage=words",
        "?q=attack&tab=images",
        "why?q=attack&id=1",
        "document/debates/attack",
    ] {
        let page = dom(&chromium, &format!("http://{}/{path}", server.address));
        assert_eq!(count(&page, "html.js"), 1, "{path}");
        assert_eq!(count(&page, "script"), 1, "{path}");
        assert_eq!(
            count(&page, "[onerror], [onmouseover], [src*=evil]"),
            0,
            "{path}"
        );
    }
}

#[test]
fn the_debate_sheet_is_one_printed_page() {
    let Some(chromium) = need(Chromium) else {
        return;
    };
    let server = Running::start(|_| {});
    let dir = tempfile::tempdir().unwrap();
    let pdf = dir.path().join("sheet.pdf");
    let print = format!("--print-to-pdf={}", pdf.display());
    for query in ["q=Close+zoos%3F", "q=attack&hits=100"] {
        run(
            &chromium,
            &[&print, "--no-pdf-header-footer"],
            &format!("http://{}/?{query}", server.address),
        );
        let bytes = std::fs::read(&pdf).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let pages = text.split("/Type /Page").skip(1);
        let pages = pages.filter(|rest| !rest.starts_with('s')).count();
        assert_eq!(pages, 1, "{query}");
    }
}
