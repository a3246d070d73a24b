//! A collection, a run and judgements that attack the reader of a report.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use image::{ImageFormat, RgbImage};
use serde_json::json;

use super::WIDE;
use crate::support::browser::{Page, file_url};
use crate::support::files::{text, write};
use crate::support::program::{code, rank_images, riposte, stderr, succeed};

/// Scripts that would leave a mark if they ran.
pub const SCRIPT: &str = "<script>window.pwned=1</script>";
pub const BREAK_OUT: &str =
    "\"'></title></style></svg><img src=x onerror=\"window.pwned=1\"><svg onload=window.pwned=1>";

/// A text that turns what follows it around, ends an isolation that it has not begun, and has Hebrew letters.
const TURNED: &str = "\u{202e}gpj.exe\u{2069} שלום";

const IDS: [&str; 5] = [
    "I0000000000000000",
    "I0000000000000001",
    "I0000000000000002",
    "I0000000000000003",
    "I0000000000000004",
];

/// Text for XML and HTML.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// Writes a collection of five images: a real one with a script after its last byte, an SVG drawing with the name of a WebP, a
/// header that promises 3,600 million pixels, a strip of 16,000 by 3 pixels, and an HTML page.
pub fn collection(dir: &Path, port: u16) {
    let attack = format!("{SCRIPT}{BREAK_OUT} {TURNED} cars cities http://127.0.0.1:{port}/near");
    write(
        &dir.join("topics.xml"),
        format!(
            "<topics><topic><number>1</number><title>{}</title><description>{}</description><narrative>{}</narrative></topic></topics>",
            escaped(&format!("Should {SCRIPT} cars {BREAK_OUT} be banned?")),
            escaped(&attack),
            escaped("--><!-- ]]> {{ 7*7 }} ${7*7} javascript:window.pwned=1")
        ),
    );
    let mut picture = Vec::new();
    let pixels = RgbImage::from_fn(600, 400, |x, y| {
        image::Rgb([((x / 60 + y / 80) % 2 * 255) as u8, y as u8, 90])
    });
    pixels
        .write_to(&mut std::io::Cursor::new(&mut picture), ImageFormat::WebP)
        .unwrap();
    picture.extend_from_slice(SCRIPT.as_bytes());
    let drawing =
        format!("<svg xmlns='http://www.w3.org/2000/svg' onload='window.pwned=1'>{SCRIPT}</svg>");
    let huge = b"P6\n60000 60000\n255\nabc";
    let mut strip = Vec::new();
    let pixels = RgbImage::from_pixel(16_000, 3, image::Rgb([200, 30, 30]));
    pixels
        .write_to(&mut std::io::Cursor::new(&mut strip), ImageFormat::Png)
        .unwrap();
    let page = format!("<!doctype html>{SCRIPT}");
    let images: [&[u8]; 5] = [&picture, drawing.as_bytes(), huge, &strip, page.as_bytes()];
    for (id, bytes) in IDS.iter().zip(images) {
        let document = dir.join("images").join(&id[..3]).join(id);
        write(&document.join("image.webp"), bytes);
        write(
            &document.join("image-url.txt"),
            "javascript:window.pwned=1//http://x/image.jpg",
        );
        let shown = document.join("pages/P0000000000000000");
        write(
            &shown.join("page-url.txt"),
            format!("JavaScript:alert(1)//{BREAK_OUT}"),
        );
        write(&shown.join("rankings.jsonl"), "");
        write(
            &shown.join("snapshot/image-xpath.txt"),
            "/HTML[1]/BODY[1]/FIGURE[1]/IMG[1]",
        );
        write(
            &shown.join("snapshot/dom.html"),
            format!(
                "<html><head><title>{0}</title></head><body><h1>{0}</h1><p>{0}</p><figure><img src='image.jpg' alt=\"{0}\" title=\"{0}\"><figcaption>{0}</figcaption></figure><p>{0} cars</p></body></html>",
                escaped(&attack)
            ),
        );
    }
}

/// Checks that nothing in a page changes the direction of what follows it: overrides are shown as escapes, letters from right to left are isolated.
pub fn assert_isolated(page: &str) {
    let turns = |c: &char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let marks: String = page.chars().filter(turns).collect();
    assert_eq!(marks, "\u{2068}\u{2069}".repeat(marks.chars().count() / 2));
    for (at, _) in page.match_indices("שלום") {
        let before = &page[..at];
        let in_isolate = before.rfind('\u{2068}') > before.rfind('\u{2069}');
        let in_element = before.rfind("<bdi>") > before.rfind("</bdi>");
        assert!(
            in_isolate || in_element,
            "{}",
            &page[at.saturating_sub(200)..at]
        );
    }
}

#[test]
fn a_hostile_collection_is_shown_as_text_and_runs_nothing() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let (data, out, report, evidence) =
        (at("data"), at("run"), at("report"), at("evidence.sqlite"));
    // a server that records connections and requests
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let connections = Arc::new(AtomicUsize::new(0));
    let (requests, connected) = (asked.clone(), connections.clone());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            connected.fetch_add(1, Ordering::SeqCst);
            let requests = requests.clone();
            std::thread::spawn(move || {
                let mut request = [0; 64];
                if let Ok(read @ 1..) = stream.read(&mut request) {
                    let request = String::from_utf8_lossy(&request[..read]).into_owned();
                    requests.lock().unwrap().push(request);
                }
            });
        }
    });
    collection(&data, port);

    let tag = format!("\"'><{}", &SCRIPT[1..]);
    fs::create_dir(&out).unwrap();
    let explain = out.join("explain.jsonl");
    let output = rank_images(home.path(), &data, &out)
        .args(["--evidence", text(&evidence)])
        .args(["--tag", &tag, "--explain", text(&explain)])
        .output()
        .unwrap();
    assert_eq!(
        code(&output),
        0,
        "three of the images are broken: {}",
        stderr(&output)
    );
    // the attack also comes as text in an image, as a name in an explanation, and as ids of runs and judgements
    let store = rusqlite::Connection::open(&evidence).unwrap();
    store
        .execute(
            "INSERT INTO ocr_line VALUES (?1, 0, ?2, 0.9, 9, 9, 90, 9, 90, 90, 9, 90)",
            [IDS[0], &format!("{SCRIPT}{BREAK_OUT}")],
        )
        .unwrap();
    drop(store);
    let explained = fs::read_to_string(&explain).unwrap();
    fs::write(
        &explain,
        explained.replace(
            "\"name\":\"relevance\"",
            &format!("\"name\":{}", json!(format!("relevance{SCRIPT}"))),
        ),
    )
    .unwrap();
    let other = at("other.txt");
    fs::write(
        &other,
        format!("1 PRO ../../../{SCRIPT} 1 2.0 {tag}\n<script>/../x CON {} 1 2.0 {tag}\n1 CON javascript:window.pwned=1 1 1.0 {tag}\n", IDS[0]),
    )
    .unwrap();
    let qrels = at("qrels.txt");
    fs::write(
        &qrels,
        format!(
            "1 ONTOPIC {} 1\n1 ONTOPIC {BREAK} 1\n",
            IDS[1],
            BREAK = "\"onmouseover=window.pwned=1"
        ),
    )
    .unwrap();
    for more in [
        &["-o", text(&report)][..],
        &["-o", text(&report), "--single-file"],
    ] {
        let args = ["inspect", "--quiet=progress", text(&out), "-i", text(&data)];
        let mut command = riposte(home.path(), &args);
        command
            .args(["--evidence", text(&evidence), "--qrels", text(&qrels)])
            .args(["--against", text(&other)])
            .args(more);
        let said = stderr(&succeed(&mut command));
        for broken in ["an SVG drawing", "more than 100000000", "an HTML page"] {
            assert!(said.contains(broken), "{broken} is not named: {said}");
        }
    }

    // nothing is written outside the report, and its pictures are encoded again
    let mut names: Vec<String> = fs::read_dir(home.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("report") || name.contains("script"))
        .collect();
    names.sort();
    assert_eq!(names, ["report", "report.html"]);
    let mut pictures = 0;
    for picture in fs::read_dir(report.join("pictures")).unwrap() {
        let bytes = fs::read(picture.unwrap().path()).unwrap();
        assert_eq!(image::guess_format(&bytes).unwrap(), ImageFormat::WebP);
        assert!(!bytes.windows(7).any(|w| w == b"<script"));
        image::load_from_memory(&bytes).unwrap();
        pictures += 1;
    }
    assert_eq!(pictures, 6, "three sizes of each of two images");

    let pages: Vec<_> = fs::read_dir(&report)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "html"))
        .chain([at("report.html")])
        .collect();
    assert_eq!(
        pages.len(),
        4,
        "two topics, the table of topics and the single file: {pages:?}"
    );
    for path in &pages {
        assert_isolated(&fs::read_to_string(path).unwrap());
    }
    let Some(page) = Page::open("about:blank", WIDE) else {
        return;
    };
    for path in &pages {
        let url = file_url(path);
        page.go(&url);
        // every dialog and every part of it is opened and hovered over
        let dialogs: Vec<String> =
            page.js("[...document.querySelectorAll('dialog.image')].map(e => e.id)");
        for id in &dialogs {
            page.run(&format!("location.hash = {id:?}"));
            page.wait("document.querySelector('dialog[open]')");
            page.run("for (const d of document.querySelectorAll('details')) d.open = true;
                for (const e of document.querySelectorAll('dialog[open] *')) e.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));");
            page.keys(&["Escape"]);
            page.wait("!document.querySelector('dialog[open]')");
        }
        assert_eq!(
            page.js::<Option<u32>>("window.pwned ?? null"),
            None,
            "{url}"
        );
        assert_eq!(page.problems(), [""; 0], "{url}");
        assert_eq!(page.count("script"), 1, "only our script");
        assert_eq!(
            page.count(
                "iframe, object, embed, base, form, link, video, audio, foreignObject, use, animate"
            ),
            0
        );
        let handlers: usize = page.js("[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => a.name.startsWith('on') || a.name === 'style')).length");
        assert_eq!(handlers, 0, "{url}");
        let links: Vec<String> = page.js("[...document.querySelectorAll('a, img, image')].map(e => e.getAttribute('href') ?? e.getAttribute('src'))");
        for link in &links {
            let ours = link.starts_with('#')
                || link.starts_with("topic-")
                || link.starts_with("index.html")
                || link.starts_with("pictures/")
                || link.starts_with("data:image/webp;base64,");
            assert!(ours, "{link} in {url}");
        }
        if dialogs.len() >= IDS.len() {
            let shown: String = page.js("document.body.textContent");
            for attack in [
                SCRIPT,
                BREAK_OUT,
                "JavaScript:alert(1)",
                "\\u{202e}gpj.exe\\u{2069} שלום",
                "an SVG drawing",
                "more than 100000000",
                "an HTML page",
            ] {
                assert!(shown.contains(attack), "{attack} is not shown in {url}");
            }
        }
        assert!(
            page.js::<bool>("[...document.images].every(i => !i.complete || i.naturalWidth > 0)")
        );
    }
    for url in page.requests() {
        assert!(
            ["file://", "data:image/webp", "about:blank"]
                .iter()
                .any(|s| url.starts_with(s)),
            "asked for {url}"
        );
    }

    assert_eq!(
        connections.load(Ordering::SeqCst),
        0,
        "a page went to the network"
    );

    // if something had got into the page, the policy would have stopped it (for a frame Chromium opens a connection before it
    // refuses the frame; it sends no request)
    for path in &pages {
        page.go(&file_url(path));
        page.run(&format!(
            "(() => {{
                window.refused = new Set();
                document.addEventListener('securitypolicyviolation', e => refused.add(e.effectiveDirective + ' ' + e.blockedURI));
                const add = (name, set) => {{ const e = document.createElement(name); Object.assign(e, set); document.body.append(e); }};
                add('script', {{ textContent: 'window.pwned = 1' }});
                add('script', {{ src: 'http://127.0.0.1:{port}/s.js' }});
                add('img', {{ src: 'http://127.0.0.1:{port}/i.png' }});
                add('iframe', {{ src: 'http://127.0.0.1:{port}/' }});
                add('link', {{ rel: 'stylesheet', href: 'http://127.0.0.1:{port}/s.css' }});
                add('img', {{ src: 'x-none:' }});
                document.body.insertAdjacentHTML('beforeend', '<img src=x: onerror=window.pwned=1>');
                fetch('http://127.0.0.1:{port}/f').catch(() => {{}});
                try {{ new WebSocket('ws://127.0.0.1:{port}/'); }} catch {{}}
                navigator.sendBeacon('http://127.0.0.1:{port}/b');
            }})()"
        ));
        for (directive, blocked) in [
            ("script-src-elem", "inline"),
            ("script-src-attr", "inline"),
            ("script-src-elem", "s.js"),
            ("img-src", "i.png"),
            ("frame-src", ""),
            ("style-src-elem", "s.css"),
            ("connect-src", "/f"),
            ("connect-src", "/"),
            ("connect-src", "/b"),
        ] {
            page.wait(&format!(
                "[...refused].some(r => r.startsWith('{directive} ') && r.endsWith('{blocked}'))"
            ));
        }
        assert_eq!(page.js::<Option<u32>>("window.pwned ?? null"), None);
    }
    assert_eq!(
        *asked.lock().unwrap(),
        [""; 0],
        "a page went to the network"
    );
}
