//! Reports can be used by everyone: with only the keyboard, without scripts, in any window and colour scheme, as a single file, and with many
//! topics.

use std::fs;
use std::path::Path;

use super::{Fixture, WIDE, line, open_index};
use crate::support::browser::{Page, file_url};
use crate::support::files::text;

#[test]
fn a_report_can_be_used_with_the_keyboard_alone() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let report = fixture.inspect(&run, &[]);
    let Some(page) = open_index(&report) else {
        return;
    };
    page.keys(&["/"]);
    page.write("ZOOS clo");
    assert_eq!(page.visible("tbody tr"), 1);
    assert_eq!(page.text("#found"), "1 of 6");
    page.write("x");
    assert_eq!(page.visible(".view > .empty"), 1);
    page.keys(&["Escape"]);
    assert_eq!(page.visible("tbody tr"), 6);
    page.keys(&["j", "j", "j", "k", "Enter"]);
    page.wait("document.querySelector('h1')?.textContent.includes('zoos')");

    let focused = |page: &Page| page.js::<String>("document.activeElement.hash ?? ''");
    page.keys(&["j"]);
    assert_eq!(
        focused(&page),
        format!("#{}", line(&run, "2", "PRO", "1").0)
    );
    page.keys(&["ArrowRight", "ArrowRight", "ArrowLeft"]);
    assert_eq!(
        focused(&page),
        format!("#{}", line(&run, "2", "PRO", "2").0)
    );
    page.keys(&["ArrowDown"]);
    assert_eq!(
        focused(&page),
        format!("#{}", line(&run, "2", "PRO", "6").0),
        "the first row has four cards, because the line above what is less likely to be about the topic follows"
    );
    page.keys(&["Enter"]);
    page.wait("document.querySelector('dialog[open] .place')?.textContent === 'PRO 6'");
    page.keys(&["ArrowRight"]);
    page.wait("document.querySelector('dialog[open] .place')?.textContent === 'PRO 7'");
    page.keys(&["k", "k"]);
    page.wait("document.querySelector('dialog[open] .place')?.textContent === 'PRO 5'");
    assert_eq!(page.count("dialog[open]"), 1);
    let before = page.visible("dialog[open] .boxes");
    page.keys(&["b"]);
    assert_ne!(page.visible("dialog[open] .boxes"), before);
    page.keys(&["Escape"]);
    page.wait("!document.querySelector('dialog[open]')");

    // the search finds topics and documents of the other pages
    let (elsewhere, _) = line(&run, "5", "PRO", "1");
    page.keys(&["/"]);
    page.write(&elsewhere);
    let links: Vec<String> =
        page.js("[...document.querySelectorAll('#places a.document')].map(e => e.href)");
    let wanted = format!("topic-5.html#{elsewhere}");
    assert!(
        links.iter().any(|link| link.ends_with(&wanted)),
        "{links:?}"
    );
    assert_eq!(page.visible("#places a"), links.len());
    page.keys(&["Escape", "/"]);
    page.write("four-day");
    assert_eq!(page.visible("#places a"), 1);
    assert!(page.text("#places a:not([hidden])").contains("four-day"));
    page.keys(&["Escape"]);
    assert_eq!(page.visible("#places"), 0);

    // the search finds words in the pictures too
    page.keys(&["/"]);
    page.write("oryx");
    let found = page.count(".card:not(.dim)");
    assert!(found > 0 && found < page.count(".card"), "{found}");
    page.keys(&["Escape", "n"]);
    page.wait("document.querySelector('h1')?.textContent.includes('four-day')");
    page.keys(&["p"]);
    page.wait("document.querySelector('h1')?.textContent.includes('zoos')");
    page.keys(&["?"]);
    assert_eq!(page.visible("#keys"), 1);
    page.keys(&["Escape", "t", "t"]);
    assert_eq!(
        page.js::<String>("document.documentElement.dataset.theme"),
        "dark"
    );
    page.keys(&["u"]);
    page.wait("document.querySelector('table.topics')");
    // the theme is kept on the other pages
    assert_eq!(
        page.js::<String>("document.documentElement.dataset.theme"),
        "dark"
    );
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn pages_are_complete_without_scripts() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let report = fixture.inspect(&run, &[]);
    let Some(page) = Page::open("about:blank", WIDE) else {
        return;
    };
    page.forbid_scripts();
    page.go(&file_url(&report.join("topic-3.html")));
    assert_eq!(page.count("html.js"), 0);
    assert_eq!((page.visible(".card"), page.visible("dialog")), (20, 0));
    // controls that need a script are hidden
    assert_eq!(page.visible("button, input"), 0);
    let (image, _) = line(&run, "3", "PRO", "2");
    page.click(&format!(".side a[href='#{image}']"));
    page.wait("document.querySelector('dialog:target').checkVisibility()");
    assert_eq!(page.text("dialog:target .doc"), image);
    assert_eq!(page.visible("dialog:target .boxes"), 1);
    page.click("dialog:target a.close");
    page.wait("!document.querySelector('dialog:target')");
    assert_eq!(page.visible("dialog"), 0);
}

#[test]
fn text_has_contrast_and_fits_in_light_and_dark_wide_and_narrow_windows() {
    let fixture = Fixture::new();
    let (run, _, report) = fixture.comparison();
    let Some(page) = open_index(&report) else {
        return;
    };
    let (image, _) = line(&run, "2", "CON", "1");
    let urls = [
        file_url(&report.join("index.html")),
        file_url(&report.join("topic-2.html")),
        format!("{}#{image}", file_url(&report.join("topic-2.html"))),
    ];
    for size in [WIDE, (360, 740)] {
        page.set_size(size);
        for url in &urls {
            page.go(url);
            page.assert_contrasts(url);
            let beyond: Vec<String> = page.js(
                "document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 90))",
            );
            assert_eq!(beyond, [""; 0], "{url} is wider than {} pixels", size.0);
            assert_eq!(page.count("img:not([alt])"), 0);
            let nameless: Vec<String> = page.js(
                "[...document.querySelectorAll('a, button, input')].filter(e => !(e.ariaLabel || e.textContent.trim() || e.querySelector('img')?.alt)).map(e => e.outerHTML)",
            );
            assert_eq!(nameless, [""; 0], "without a name in {url}");
            assert_eq!(
                page.count("[id]"),
                page.js::<usize>(
                    "new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size"
                ),
                "ids repeat"
            );
        }
    }
    // the element that has the focus is outlined
    page.set_size(WIDE);
    page.go(&urls[1]);
    for _ in 0..25 {
        page.keys(&["Tab"]);
        let width: String = page.js("getComputedStyle(document.activeElement).outlineWidth");
        assert_ne!(
            width,
            "0px",
            "{}",
            page.js::<String>("document.activeElement.outerHTML.slice(0, 100)")
        );
    }
}

#[test]
fn topics_are_sorted_by_any_column() {
    let fixture = Fixture::new();
    let report = fixture.inspect(&fixture.run("run", &[]), &[]);
    let Some(page) = open_index(&report) else {
        return;
    };
    let numbers = || {
        page.js::<Vec<String>>("[...document.querySelectorAll('td.id')].map(e => e.textContent)")
    };
    let on_stance =
        "[...document.querySelectorAll('tbody tr')].map(r => Number(r.children[6].dataset.value))";
    page.click("[data-sort='2']");
    let values: Vec<f64> = page.js(on_stance);
    assert!(
        values.is_sorted_by(|a, b| a >= b) && values[0] > values[5],
        "{values:?}"
    );
    assert_eq!(page.count("th[aria-sort]"), 1);
    page.click("[data-sort='2']");
    assert!(page.js::<Vec<f64>>(on_stance).is_sorted());
    page.click("[data-sort='title']");
    assert!(page.text("tbody tr th").starts_with("Should cars"));
    page.click("[data-sort='number']");
    assert_eq!(numbers(), ["1", "2", "3", "4", "5", "6"]);
    // a link with a fragment leads to a topic
    page.go(&format!("{}#topic-6", file_url(&report.join("index.html"))));
    assert_eq!(page.text("tr:target td.id"), "6");
}

#[test]
fn a_single_file_report_needs_no_other_file() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let directory = fixture.inspect(&run, &["--single-file"]);
    assert!(!directory.exists());
    // away from everything else that was written
    let file = fixture.path("moved to/mail.html");
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::rename(fixture.path("report.html"), &file).unwrap();
    let url = file_url(&file).replace(' ', "%20");
    let Some(page) = Page::open(&url, WIDE) else {
        return;
    };
    assert_eq!(
        (page.visible("table.topics"), page.visible("article.view")),
        (1, 0)
    );
    page.click("table a[href='#topic-2']");
    page.wait("document.querySelector('#topic-2').checkVisibility()");
    assert_eq!(
        (page.visible("table.topics"), page.visible("article.view")),
        (0, 1)
    );
    page.click("#topic-2 .side .card a");
    page.wait("document.querySelector('dialog[open] img')?.naturalWidth > 200");
    page.keys(&["Escape"]);
    page.wait("!document.querySelector('dialog[open]')");
    assert_eq!(page.visible("article.view"), 1);
    page.keys(&["u"]);
    page.wait("document.querySelector('table.topics').checkVisibility()");
    page.run("history.back()");
    page.wait("document.querySelector('#topic-2').checkVisibility()");
    let (image, _) = line(&run, "5", "PRO", "3");
    page.go(&format!("{url}#topic-5/{image}"));
    page.wait("document.querySelector('dialog[open] .place')?.textContent === 'PRO 3'");
    assert_eq!(page.problems(), [""; 0]);
    let asked: Vec<String> = page
        .requests()
        .into_iter()
        .filter(|u| !u.starts_with("data:image/webp"))
        .collect();
    assert!(
        asked
            .iter()
            .all(|u| u.starts_with("file://") || u == "about:blank"),
        "{asked:?}"
    );
}

#[test]
fn a_report_of_fifty_topics_is_small_and_its_first_page_loads_only_small_pictures() {
    let fixture = Fixture::new();
    let subjects = ["cars", "zoos", "fireworks", "summer time", "free buses"];
    let topics: String = (1..=50)
        .map(|n| format!("<topic><number>{n}</number><title>Should {} be banned in case {n}?</title></topic>", subjects[n % 5]))
        .collect();
    let file = fixture.path("fifty.xml");
    fs::write(&file, format!("<topics>{topics}</topics>")).unwrap();
    let run = fixture.run("run", &["--topics", text(&file)]);
    let report = fixture.inspect(&run, &["--topics", text(&file)]);
    let size = |dir: &Path, ending: &str| -> u64 {
        let files = fs::read_dir(dir).unwrap().map(|e| e.unwrap());
        files
            .filter(|e| e.file_name().to_str().unwrap().ends_with(ending))
            .map(|e| e.metadata().unwrap().len())
            .sum()
    };
    let pages = size(&report, ".html");
    assert!(
        pages < 17_000_000,
        "{pages} bytes of pages leave too little room for a thousand pictures"
    );
    // all that the browser loads for the first page
    let first = size(&report, "index.html") + size(&report.join("pictures"), "-mini.webp");
    assert!(first < 300_000, "{first}");
    let Some(page) = open_index(&report) else {
        return;
    };
    assert_eq!(page.count("tbody tr"), 50);
    assert_eq!(page.count(".minis img"), 100);
    for url in page.requests() {
        let first = url.ends_with("/index.html") || url.ends_with("-mini.webp");
        assert!(first, "the first page asks for {url}");
    }
}
