//! Whether pages can be read in narrow windows: words stay whole, charts keep their letters, and nothing is wider than the window.

use std::fs;
use std::path::PathBuf;

use super::{Fixture, WIDE, line, open_index};
use crate::support::browser::{Page, file_url};
use crate::support::collection::{argument, write_arguments};
use crate::support::files::text;
use crate::support::program::{riposte, succeed};

/// A window of a telephone.
const NARROW: (u32, u32) = (390, 800);

/// What is wider than the window.
const BEYOND: &str = "document.documentElement.scrollWidth <= innerWidth ? [] : \
    [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 90))";

/// Visible words of 3 to 19 letters that are broken over two lines. Addresses can be broken anywhere.
const BROKEN: &str = r"(() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.parentElement.checkVisibility() || node.parentElement.closest('script, style, svg, .hidden, .url')) continue;
    for (const word of node.data.matchAll(/[\p{L}]{3,19}/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index); range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(r => Math.round(r.top / 4))).size > 1) found.push(word[0]);
    }
  }
  return found;
})()";

/// Names that a style puts before values, and that are wider than their cells.
const CUT_NAMES: &str = r"(() => {
  const canvas = document.createElement('canvas').getContext('2d');
  return [...document.querySelectorAll('td.number')].filter(e => {
    const style = getComputedStyle(e, '::before');
    canvas.font = style.font;
    return style.content !== 'none' && Math.max(...e.dataset.name.split(' ').map(w => canvas.measureText(w).width)) > e.clientWidth + 1;
  }).map(e => e.dataset.name);
})()";

/// The smallest letters in charts, in pixels of the screen.
const SMALLEST: &str = "Math.min(...[...document.querySelectorAll('.plot text, .plot .ends, .plot .axis-title')].filter(e => e.checkVisibility()).map(e => \
    parseFloat(getComputedStyle(e).fontSize) * (e.getScreenCTM ? e.getScreenCTM().a : 1)))";

fn check(page: &Page, url: &str) {
    assert_eq!(page.js::<Vec<String>>(BEYOND), [""; 0], "{url}");
    assert_eq!(page.js::<Vec<String>>(BROKEN), [""; 0], "{url}");
    assert_eq!(page.js::<Vec<String>>(CUT_NAMES), [""; 0], "{url}");
    page.assert_contrasts(url);
}

/// A report of a run of six arguments about zoos; the last two have no conclusion.
fn report_of_arguments(fixture: &Fixture) -> PathBuf {
    let data = fixture.path("arguments");
    fs::create_dir(&data).unwrap();
    let topic =
        "<topics><topic><number>1</number><title>Should zoos be closed?</title></topic></topics>";
    fs::write(data.join("topics.xml"), topic).unwrap();
    let reasons = [
        "are cages for animals that walk in circles",
        "teach children what no book about animals can",
        "save species that have no forest left",
        "cost more than the parks in which animals live",
        "sell tickets to see boredom behind glass",
        "feed animals that would starve in winter",
    ];
    let arguments = (0..).zip(reasons).map(|(n, reason)| {
        let conclusion = if n < 4 { "Zoos should be closed" } else { "" };
        let stance = if n % 2 == 0 { "PRO" } else { "CON" };
        let premise = format!(
            "Zoos {reason}, and nothing that was said about zoos in this debate or in any other debate so far changes that at all."
        );
        argument(&format!("a{n}"), conclusion, &premise, stance)
    });
    write_arguments(&data, arguments);
    let (run, report) = (fixture.path("text-run"), fixture.path("text-report"));
    fs::create_dir(&run).unwrap();
    let explain = run.join("explain.jsonl");
    let index = fixture.path("index");
    let common = [
        "--quiet=progress",
        "-i",
        text(&data),
        "--index",
        text(&index),
    ];
    let mut command = riposte(fixture.home.path(), &["controversial"]);
    command
        .args(common)
        .args(["-o", text(&run), "--explain", text(&explain)]);
    succeed(&mut command);
    let qrels = fixture.path("relevance.qrels");
    fs::write(&qrels, "1 0 a0 2\n1 0 a1 0\n1 0 a2 1\n").unwrap();
    let mut command = riposte(fixture.home.path(), &["inspect", text(&run)]);
    command
        .args(common)
        .args(["--qrels", text(&qrels), "-o", text(&report)]);
    succeed(&mut command);
    report
}

#[test]
fn words_stay_whole_and_nothing_is_wider_than_a_narrow_window() {
    let fixture = Fixture::new();
    let (run, _, report) = fixture.comparison();
    let texts = report_of_arguments(&fixture);
    let Some(page) = open_index(&report) else {
        return;
    };
    let (image, _) = line(&run, "2", "CON", "1");
    let urls = [
        file_url(&report.join("index.html")),
        file_url(&report.join("topic-2.html")),
        format!("{}#{image}", file_url(&report.join("topic-2.html"))),
        file_url(&texts.join("index.html")),
        file_url(&texts.join("topic-1.html")),
    ];
    for size in [NARROW, (360, 740), WIDE] {
        page.set_size(size);
        for url in &urls {
            page.go(url);
            page.run("for (const why of document.querySelectorAll('.why')) why.open = true");
            check(&page, url);
        }
    }
}

#[test]
fn charts_have_letters_of_one_size_in_any_window() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let report = fixture.inspect(&run, &[]);
    let texts = report_of_arguments(&fixture);
    let Some(page) = open_index(&report) else {
        return;
    };
    for size in [NARROW, WIDE] {
        page.set_size(size);
        for url in [
            report.join("index.html"),
            report.join("topic-2.html"),
            texts.join("topic-1.html"),
        ] {
            page.go(&file_url(&url));
            let smallest: f64 = page.js(SMALLEST);
            assert!((11.0..20.0).contains(&smallest), "{smallest} in {url:?}");
        }
        // the number of its topic is below each column
        page.go(&file_url(&report.join("index.html")));
        let names: Vec<String> =
            page.js("[...document.querySelectorAll('.columns a text')].map(e => e.textContent)");
        assert_eq!(names, ["1", "2", "3", "4", "5", "6"]);
    }
}

#[test]
fn a_chart_of_two_topics_fills_its_box() {
    let fixture = Fixture::new();
    let topics = fs::read_to_string(crate::support::sample().join("topics.xml")).unwrap();
    let two: Vec<&str> = topics.split_inclusive("</topic>").take(2).collect();
    let file = fixture.path("two.xml");
    fs::write(&file, format!("{}</topics>", two.concat())).unwrap();
    let run = fixture.run("run", &["--topics", text(&file)]);
    let report = fixture.inspect(&run, &["--topics", text(&file)]);
    let Some(page) = open_index(&report) else {
        return;
    };
    let [of_box, of_bars]: [f64; 2] = page.js(
        "(() => { const bars = [...document.querySelectorAll('.columns .hit')].map(e => e.getBoundingClientRect());
            return [document.querySelector('.columns').getBoundingClientRect().width, Math.max(...bars.map(r => r.right)) - Math.min(...bars.map(r => r.left))]; })()",
    );
    assert!(
        of_bars > 0.6 * of_box,
        "bars of {of_bars} in a box of {of_box}"
    );
    assert!(of_box < 500.0, "{of_box}");
}

#[test]
fn lists_are_named_in_narrow_windows_and_the_run_is_named_once() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &["--tag", "mayfly"]);
    let report = fixture.inspect(&run, &[]);
    let Some(page) = open_index(&report) else {
        return;
    };
    for (size, file) in [
        (WIDE, "index.html"),
        (NARROW, "index.html"),
        (WIDE, "topic-1.html"),
        (NARROW, "topic-1.html"),
    ] {
        page.set_size(size);
        page.go(&file_url(&report.join(file)));
        let shown: String = page.js("document.body.innerText");
        assert_eq!(shown.matches("mayfly").count(), 1, "{file} {size:?}");
    }
    page.set_size(NARROW);
    page.go(&file_url(&report.join("index.html")));
    let names: Vec<String> = page.js(
        "[...document.querySelectorAll('tbody tr:first-child .minis')].map(e => getComputedStyle(e, '::before').content)",
    );
    assert_eq!(names, ["\"PRO\"", "\"CON\""]);
    // thumbnails take the width of the row
    let width: f64 = page.js("document.querySelector('.minis img').getBoundingClientRect().width");
    assert!(width > 64.0, "{width}");
}

#[test]
fn estimates_are_filled_and_judgements_outlined() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let report = fixture.inspect(&run, &[]);
    let texts = report_of_arguments(&fixture);
    let Some(page) = Page::open(&file_url(&report.join("topic-1.html")), NARROW) else {
        return;
    };
    // what the bar means is said once, above the lists
    assert_eq!(page.visible(".legend .lean"), 1);
    assert!(
        page.text(".legend")
            .contains("the bar below an image is estimated")
    );
    let look = |selector: &str| -> (String, String) {
        page.js(&format!(
            "(() => {{ const s = getComputedStyle(document.querySelector('{selector}')); return [s.borderTopStyle, s.backgroundColor]; }})()"
        ))
    };
    let clear = "rgba(0, 0, 0, 0)";
    assert_eq!(look(".card .grade.stance"), ("solid".into(), clear.into()));
    assert_eq!(look(".card .grade.unjudged").0, "dashed");
    page.go(&file_url(&texts.join("topic-1.html")));
    assert_eq!(
        look(".text .grade:not(.unjudged)"),
        ("solid".into(), clear.into())
    );
    let (border, ground) = look(".text .estimate");
    assert!(border == "none" && ground != clear, "{border} {ground}");
    assert!(page.text(".legend").contains("estimated"));

    // a stance towards a conclusion needs a conclusion
    let stances: Vec<(String, Option<String>)> = page.js(
        "[...document.querySelectorAll('.text')].map(e => [e.querySelector('.doc').textContent, e.querySelector('.stance:not(.taken)')?.textContent ?? null])",
    );
    assert_eq!(stances.len(), 6);
    for (id, stance) in stances {
        let expected = match id.as_str() {
            "a0" | "a2" => Some("for its conclusion"),
            "a1" | "a3" => Some("against its conclusion"),
            _ => None,
        };
        assert_eq!(stance.as_deref(), expected, "{id}");
    }
    // and each has the side that its text takes towards the claim
    let sides: Vec<String> =
        page.js("[...document.querySelectorAll('.text .taken')].map(e => e.textContent)");
    assert_eq!(sides.len(), 6);
    for side in sides {
        let known = ["for the claim", "against the claim", "no clear side"];
        assert!(known.contains(&&*side), "{side}");
    }
    // every text says why it is there, before bars and tree
    let firsts: Vec<String> = page.js(
        "[...document.querySelectorAll('.why')].map(e => e.children[1].className + ' ' + e.children[2].className + ' ' + e.children[3].className)",
    );
    assert_eq!(firsts, ["reason gauges tree"; 6]);
    let reason = page.text(".why .reason");
    assert!(reason.starts_with("1st: "), "{reason}");
}
