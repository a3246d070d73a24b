//! `riposte inspect`: reports in a real browser, on the committed sample, on texts, and on a collection made to attack them.

mod browser;
mod hostile;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::images::{code, riposte, root, sample, stderr, text};
use crate::texts::QUESTION;
use browser::{Page, file_url};

/// A window of a laptop.
const WIDE: (u32, u32) = (1280, 800);

/// What runs and reports of the sample are made from.
struct Desk {
    home: TempDir,
    evidence: PathBuf,
}

impl Desk {
    /// With the sample's stored evidence, so that no model is needed.
    fn new() -> Desk {
        let home = tempfile::tempdir().unwrap();
        let evidence = home.path().join("evidence.sqlite");
        fs::copy(root().join("tests/golden/evidence.sqlite"), &evidence).unwrap();
        Desk { home, evidence }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// A run of the sample in a directory of that name, with its explanations.
    fn run(&self, name: &str, more: &[&str]) -> PathBuf {
        let (collection, out) = (sample(), self.path(name));
        let explain = out.join("explain.jsonl");
        fs::create_dir_all(&out).unwrap();
        let mut args = vec!["images", "-q", "-i", text(&collection), "-o", text(&out)];
        args.extend([
            "--evidence",
            text(&self.evidence),
            "--explain",
            text(&explain),
        ]);
        args.extend(more);
        let output = riposte(self.home.path(), &args).output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        out
    }

    /// A report of a run of the sample; its directory or file.
    fn inspect(&self, run: &Path, more: &[&str]) -> PathBuf {
        let (collection, out) = (sample(), self.path("report"));
        let qrels = collection.join("qrels.txt");
        let mut args = vec![
            "inspect",
            "-q",
            text(run),
            "-i",
            text(&collection),
            "-o",
            text(&out),
        ];
        args.extend(["--evidence", text(&self.evidence), "--qrels", text(&qrels)]);
        args.extend(more);
        let output = riposte(self.home.path(), &args).output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        out
    }
}

/// Of the run's topic and stance, the image at that rank and its score.
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
fn from_all_topics_to_an_image_and_why_it_is_there() {
    let desk = Desk::new();
    let run = desk.run("run", &[]);
    let report = desk.inspect(&run, &[]);
    let Some(page) = Page::open(&file_url(&report.join("index.html")), WIDE) else {
        return;
    };
    assert_eq!(page.count("table.topics tbody tr"), 6);
    // what `riposte evaluate sample/qrels.txt` says of the golden run
    let tiles: Vec<String> =
        page.js("[...document.querySelectorAll('.tile dd')].map(e => e.textContent)");
    assert_eq!(tiles, ["0.383", "0.342", "0.208"]);
    let load = page.load_time(&file_url(&report.join("index.html")));
    assert!(load < 1000.0, "the first page took {load} ms");

    page.click("a[href='topic-3.html']");
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

    // the explanation is the run's: its sum is the score, and every number is one that ranking wrote
    let score: f64 = score.parse().unwrap();
    let formula = page.text("dialog[open] .formula");
    assert_eq!(
        formula,
        format!("{score:.4} = relevance × (1 + argues + stance)")
    );
    let written = fs::read_to_string(run.join("explain.jsonl")).unwrap();
    let explained = written
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|e| e["topic"] == "3" && e["image"] == image.as_str())
        .unwrap();
    let shown: Vec<(String, String)> = page.js(
        "[...document.querySelectorAll('dialog[open] .tree > .row:first-child b')].map(e => [e.textContent, e.nextElementSibling.textContent])",
    );
    let mut expected = Vec::new();
    flatten(&explained["pro"], &mut expected);
    expected[0].0 = "worth as PRO".into();
    assert_eq!(shown, expected);

    // boxes: one a line of text, where evidence says that it is
    let lines = page.count("dialog[open] .lines li");
    assert!(lines > 0);
    assert_eq!(page.count("dialog[open] .boxes polygon"), lines);
    assert_eq!(page.visible("dialog[open] .boxes"), 1);
    page.click("dialog[open] .toggle");
    assert_eq!(page.visible("dialog[open] .boxes"), 0);
    let box_and_image: Vec<f64> = page.js(
        "[document.querySelector('dialog[open] .boxes'), document.querySelector('dialog[open] img')].flatMap(e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })",
    );
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

    // a link to an image opens it
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

/// Names and numbers as the page puts them, in the order of the page.
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
fn the_keyboard_alone_is_enough() {
    let desk = Desk::new();
    let run = desk.run("run", &[]);
    let report = desk.inspect(&run, &[]);
    let Some(page) = Page::open(&file_url(&report.join("index.html")), WIDE) else {
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
        format!("#{}", line(&run, "2", "PRO", "7").0),
        "five a row"
    );
    page.keys(&["Enter"]);
    page.wait("document.querySelector('dialog[open] .place')?.textContent === 'PRO 7'");
    page.keys(&["ArrowRight"]);
    page.wait("document.querySelector('dialog[open] .place')?.textContent === 'PRO 8'");
    page.keys(&["k", "k"]);
    page.wait("document.querySelector('dialog[open] .place')?.textContent === 'PRO 6'");
    assert_eq!(page.count("dialog[open]"), 1);
    let before = page.visible("dialog[open] .boxes");
    page.keys(&["b"]);
    assert_ne!(page.visible("dialog[open] .boxes"), before);
    page.keys(&["Escape"]);
    page.wait("!document.querySelector('dialog[open]')");

    // words in the pictures are found too
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
    // chosen once, kept on all pages
    assert_eq!(
        page.js::<String>("document.documentElement.dataset.theme"),
        "dark"
    );
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn fifty_topics_stay_small_and_quick() {
    let desk = Desk::new();
    let subjects = ["cars", "zoos", "fireworks", "summer time", "free buses"];
    let topics: String = (1..=50)
        .map(|n| format!("<topic><number>{n}</number><title>Should {} be banned in case {n}?</title></topic>", subjects[n % 5]))
        .collect();
    let file = desk.path("fifty.xml");
    fs::write(&file, format!("<topics>{topics}</topics>")).unwrap();
    let run = desk.run("run", &["--topics", text(&file)]);
    let start = Instant::now();
    let report = desk.inspect(&run, &["--topics", text(&file)]);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    let size = |dir: &Path, ending: &str| -> u64 {
        let files = fs::read_dir(dir).unwrap().map(|e| e.unwrap());
        files
            .filter(|e| e.file_name().to_str().unwrap().ends_with(ending))
            .map(|e| e.metadata().unwrap().len())
            .sum()
    };
    let pages = size(&report, ".html");
    assert!(
        pages < 15_500_000,
        "{pages} bytes leave too few for a thousand pictures"
    );
    // whatever the browser would load of it
    let first = size(&report, "index.html") + size(&report.join("pictures"), "-mini.webp");
    assert!(first < 300_000, "{first}");
    let Some(page) = Page::open(&file_url(&report.join("index.html")), WIDE) else {
        return;
    };
    assert_eq!(page.count("tbody tr"), 50);
    assert_eq!(page.count(".minis img"), 100);
    let load = page.load_time(&file_url(&report.join("index.html")));
    assert!(load < 1000.0, "the first page took {load} ms");
}

#[test]
fn topics_are_sorted_by_any_column() {
    let desk = Desk::new();
    let report = desk.inspect(&desk.run("run", &[]), &[]);
    let Some(page) = Page::open(&file_url(&report.join("index.html")), WIDE) else {
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
    // a fragment leads to a topic
    page.go(&format!("{}#topic-6", file_url(&report.join("index.html"))));
    assert_eq!(page.text("tr:target td.id"), "6");
}

#[test]
fn pages_are_whole_without_their_script() {
    let desk = Desk::new();
    let run = desk.run("run", &[]);
    let report = desk.inspect(&run, &[]);
    let Some(page) = Page::open("about:blank", WIDE) else {
        return;
    };
    page.forbid_scripts();
    page.go(&file_url(&report.join("topic-3.html")));
    assert_eq!(page.count("html.js"), 0);
    assert_eq!((page.visible(".card"), page.visible("dialog")), (20, 0));
    // what only a script could do is not offered
    assert_eq!(page.visible("button, input"), 0);
    let (image, _) = line(&run, "3", "PRO", "2");
    page.click(&format!(".side.pro a[href='#{image}']"));
    page.wait("document.querySelector('dialog:target').checkVisibility()");
    assert_eq!(page.text("dialog:target .doc"), image);
    assert_eq!(page.visible("dialog:target .boxes"), 1);
    page.click("dialog:target a.close");
    page.wait("!document.querySelector('dialog:target')");
    assert_eq!(page.visible("dialog"), 0);
}

#[test]
fn two_runs_side_by_side() {
    let desk = Desk::new();
    let (run, other) = (
        desk.run("run", &[]),
        desk.run("other", &["--approach", "aramis"]),
    );
    let report = desk.inspect(&run, &["--against", text(&other)]);
    let places = |run: &Path| -> BTreeMap<(String, String), u32> {
        let lines = fs::read_to_string(run.join("run.txt")).unwrap();
        let of_topic = lines.lines().map(|l| l.split(' ').collect::<Vec<_>>());
        of_topic
            .filter(|f| f[0] == "1")
            .map(|f| ((f[1].to_owned(), f[2].to_owned()), f[3].parse().unwrap()))
            .collect()
    };
    let (own, others) = (places(&run), places(&other));
    let Some(page) = Page::open(&file_url(&report.join("index.html")), WIDE) else {
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
    // the change of a card is the difference of its ranks
    for ((stance, id), rank) in &own {
        let Some(before) = others.get(&(stance.clone(), id.clone())) else {
            continue;
        };
        let expected = match i64::from(*before) - i64::from(*rank) {
            0 => "=".to_owned(),
            up if up > 0 => format!("▲ {up}"),
            down => format!("▼ {}", -down),
        };
        let side = stance.to_lowercase();
        let shown: String = page.js(&format!(
            "document.querySelector('.side.{side} a[href=\"#{id}\"]').closest('.card').querySelector('.change').textContent"
        ));
        assert_eq!(shown, expected, "{stance} {id}");
    }
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn one_file_holds_it_all() {
    let desk = Desk::new();
    let run = desk.run("run", &[]);
    let directory = desk.inspect(&run, &["--single-file"]);
    assert!(!directory.exists());
    // moved away from everything else
    let file = desk.path("moved to/mail.html");
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::rename(desk.path("report.html"), &file).unwrap();
    let url = file_url(&file).replace(' ', "%20");
    let Some(page) = Page::open(&url, WIDE) else {
        return;
    };
    assert_eq!(
        (page.visible("table.topics"), page.visible("article.view")),
        (1, 0)
    );
    page.click("a[href='#topic-2']");
    page.wait("document.querySelector('#topic-2').checkVisibility()");
    assert_eq!(
        (page.visible("table.topics"), page.visible("article.view")),
        (0, 1)
    );
    page.click("#topic-2 .side.con .card a");
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

/// All colours of text against what is behind them, as WCAG 2 computes contrast; the worst first.
const CONTRASTS: &str = r"(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const luminance = (c) => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const ground = (e) => { if (!e) return rgba(getComputedStyle(document.documentElement).backgroundColor);
    const own = rgba(getComputedStyle(e).backgroundColor); return own[3] >= 1 ? own : over(own, ground(e.parentElement)); };
  const found = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !e.checkVisibility() || e.closest('script, style, .dim')) continue;
    const style = getComputedStyle(e);
    const back = e.closest('svg') ? ground(e.closest('figure, article, main')) : ground(e);
    const front = over(rgba(e.closest('svg') ? style.fill : style.color), back);
    const [a, b] = [luminance(front), luminance(back)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    const name = e.tagName + '.' + (e.getAttribute('class') ?? '') + ' in ' + (e.parentElement.getAttribute('class') ?? e.parentElement.tagName);
    found[name] = Math.min(found[name] ?? 99, ratio);
  }
  return Object.entries(found).sort((x, y) => x[1] - y[1]).slice(0, 6);
})()";

#[test]
fn everyone_can_read_it_light_and_dark_wide_and_narrow() {
    let desk = Desk::new();
    let (run, other) = (
        desk.run("run", &[]),
        desk.run("other", &["--approach", "aramis"]),
    );
    let report = desk.inspect(&run, &["--against", text(&other)]);
    let Some(page) = Page::open(&file_url(&report.join("index.html")), WIDE) else {
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
            for scheme in ["light", "dark"] {
                page.set_scheme(scheme);
                let worst: Vec<(String, f64)> = page.js(CONTRASTS);
                assert!(worst[0].1 >= 4.5, "{scheme} {url}: {worst:?}");
            }
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
    // whatever has the focus shows it
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
fn what_is_missing_is_said_and_the_rest_is_shown() {
    let desk = Desk::new();
    let run = desk.run("run", &[]);
    let (collection, out) = (sample(), desk.path("bare"));
    // another system's run: no explanations, nothing stored, no judgements, an image and a topic that nobody knows
    let foreign = desk.path("foreign.txt");
    let mut lines = fs::read_to_string(run.join("run.txt")).unwrap();
    lines.push_str("7 PRO I00000000000000ff 1 3.5 riposte\n");
    fs::write(&foreign, lines).unwrap();
    let args = [
        "inspect",
        text(&foreign),
        "-i",
        text(&collection),
        "-o",
        text(&out),
    ];
    let output = riposte(desk.home.path(), &args).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("index.html"));
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

    // explanations of another run are not taken for this one's
    let other = desk.run("other", &["--approach", "boromir-afinn"]);
    let explain = other.join("explain.jsonl");
    let args = [
        "inspect",
        text(&run),
        "-i",
        text(&collection),
        "-o",
        text(&out),
        "--explain",
        text(&explain),
    ];
    let output = riposte(desk.home.path(), &args).output().unwrap();
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("another run"),
        "{}",
        stderr(&output)
    );
    fs::copy(&explain, run.join("explain.jsonl")).unwrap();
    let report = desk.inspect(&run, &[]);
    assert!(
        fs::read_to_string(report.join("index.html"))
            .unwrap()
            .contains("are not of this run")
    );
    fs::write(run.join("explain.jsonl"), "{}\n").unwrap();
    let report = desk.inspect(&run, &[]);
    assert!(
        fs::read_to_string(report.join("index.html"))
            .unwrap()
            .contains("are not of this run")
    );
}

#[test]
fn what_was_missed_is_shown_where_it_stands() {
    let desk = Desk::new();
    let run = desk.run("run", &[]);
    let report = desk.inspect(&run, &["--depth", "5"]);
    let page = fs::read_to_string(report.join("topic-1.html")).unwrap();
    // one of the sixth to tenth for banning cars is judged on topic, and is now below what is shown
    let qrels = fs::read_to_string(sample().join("qrels.txt")).unwrap();
    let (rank, below) = (6..=10)
        .map(|rank| (rank, line(&run, "1", "PRO", &rank.to_string()).0))
        .find(|(_, image)| qrels.contains(&format!("1 ONTOPIC {image} 1")))
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
fn nothing_but_a_report_is_replaced() {
    let desk = Desk::new();
    let run = desk.run("run", &[]);
    let report = desk.inspect(&run, &[]);
    fs::write(report.join("old.html"), "").unwrap();
    desk.inspect(&run, &[]);
    assert!(!report.join("old.html").exists());

    let dear = desk.path("dear");
    fs::create_dir(&dear).unwrap();
    fs::write(dear.join("thesis.tex"), "years of work").unwrap();
    let collection = sample();
    let inspect = |run: &Path, out: &Path| {
        let args = [
            "inspect",
            text(run),
            "-i",
            text(&collection),
            "-o",
            text(out),
        ];
        riposte(desk.home.path(), &args).output().unwrap()
    };
    let output = inspect(&run, &dear);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("no report"), "{}", stderr(&output));
    assert_eq!(
        fs::read_to_string(dear.join("thesis.tex")).unwrap(),
        "years of work"
    );

    let empty = desk.path("empty.txt");
    fs::write(&empty, "34 nothing\n").unwrap();
    let output = inspect(&empty, &desk.path("none"));
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("line 1") && stderr(&output).contains("there is no line"));
    assert!(!desk.path("none").exists());
    // a broken line costs itself, and the exit code
    let mut lines = fs::read_to_string(run.join("run.txt")).unwrap();
    lines.push_str("1 MAYBE I1 1 1.0 x\n");
    fs::write(&empty, lines).unwrap();
    let output = inspect(&empty, &desk.path("some"));
    assert_eq!(code(&output), 1);
    assert!(desk.path("some/topic-1.html").exists());
}

/// What computers are used for.
const USES: &str = "writing drawing coding reading studying gaming painting composing filming editing travelling teaching \
    planning banking trading cooking learning mapping printing scanning singing talking meeting browsing searching sorting \
    counting measuring sketching modelling";

/// Runs `riposte` and expects it to do it.
fn done(home: &Path, args: &[&str]) {
    let output = riposte(home, args).output().unwrap();
    assert_eq!(code(&output), 0, "{args:?}: {}", stderr(&output));
}

#[test]
fn texts_with_their_words_stances_and_grades() {
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
    let base = ["-q", "-i", text(&data), "--index", text(&index)];
    let with = |first: &[&'static str], rest: &[&str]| {
        let args: Vec<String> = first
            .iter()
            .chain(&base)
            .chain(rest)
            .map(|a| (*a).to_owned())
            .collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        done(home.path(), &args);
    };
    with(
        &["comparative"],
        &["-o", text(&out), "--explain", text(&explain)],
    );
    with(
        &["comparative", "--approach", "dirichlet"],
        &["-o", text(&other)],
    );
    let run = fs::read_to_string(out.join("run.txt")).unwrap();
    let lines: Vec<Vec<&str>> = run.lines().map(|l| l.split(' ').collect()).collect();
    let topic = lines[0][0];
    let of_topic: Vec<&Vec<&str>> = lines.iter().filter(|l| l[0] == topic).collect();
    // the first is highly relevant, the third is not, one far below is and so is missed, the others are not judged
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
    let (out_text, report) = (text(&out).to_owned(), at("report"));
    let args: Vec<&str> = ["inspect", &out_text]
        .into_iter()
        .chain(base)
        .chain(["--qrels", text(&qrels), "--qrels", text(&stances)])
        .chain(["--against", text(&other), "-o", text(&report)])
        .collect();
    done(home.path(), &args);

    let Some(page) = Page::open(&file_url(&report.join("index.html")), WIDE) else {
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

    // the explanation is folded up until it is asked for
    assert_eq!(page.visible(&format!("{first} .tree")), 0);
    page.keys(&["j", "Enter"]);
    assert_eq!(page.visible(&format!("{first} .tree")), 1);
    let score: f64 = of_topic[0][4].parse().unwrap();
    assert_eq!(
        page.text(&format!("{first} .tree > .row i")),
        format!("{score:.4}")
    );
    page.keys(&["j", "j", "k"]);
    assert_eq!(
        page.js::<String>("document.activeElement.querySelector('.rank').textContent"),
        "2"
    );
    let worst: Vec<(String, f64)> = page.js(CONTRASTS);
    assert!(worst[0].1 >= 4.5, "{worst:?}");
    assert_eq!(page.problems(), [""; 0]);
    assert!(page.requests().iter().all(|url| url.starts_with("file://")));
}
