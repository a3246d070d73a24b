//! `riposte collection new` makes collections of folders, saved pages, MHTML, WARC and WACZ, and `riposte collection check` says what is in them.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use image::{ImageFormat, Rgb, RgbImage};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::bounded::run_within;
use crate::support::files::{copy, entries, gzip, name, text};
use crate::support::need::{Program, need};
use crate::support::pictures::{encoded, grey};
use crate::support::program::{WorkDir, code, riposte, stderr, stdout};
use crate::support::{assert_says, sample};

const TOPICS: &str =
    "<topics><topic><number>7</number><title>Should zoos be closed?</title></topic></topics>";

/// A picture of 80 × 70 pixels. Each shade is another picture.
fn picture(shade: u8) -> Vec<u8> {
    encoded(
        RgbImage::from_pixel(80, 70, Rgb([shade, 90, 30])),
        ImageFormat::Png,
    )
}

/// A page that shows one picture, second in its paragraph, after words.
fn page(source: &str, words: &str) -> String {
    format!(
        "<!DOCTYPE html><html><head><title>{words}</title></head><body><p>{words} before</p>\
         <p><img src=\"nowhere.png\"><img src=\"{source}\" alt=\"cages\"></p><p>{words} after</p></body></html>"
    )
}

/// The images of a collection, in the order of their ids.
fn images(dir: &Path) -> Vec<PathBuf> {
    let prefixes = entries(&dir.join("images"));
    prefixes.iter().flat_map(|prefix| entries(prefix)).collect()
}

/// The texts of all files with this name, sorted.
fn texts(dir: &Path, wanted: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in entries(dir) {
        if entry.is_dir() {
            found.extend(texts(&entry, wanted));
        } else if name(&entry) == wanted {
            found.push(fs::read_to_string(entry).unwrap());
        }
    }
    found.sort();
    found
}

/// Runs a command within a time that is far above what it needs, and below what an endless one takes. Returns the exit code and all that it prints.
fn run(dir: &WorkDir, line: &str) -> (i32, String) {
    let args: Vec<&str> = line.split(' ').collect();
    let mut command = riposte(&dir.path("home"), &args);
    command.current_dir(dir.path(""));
    let output = run_within(Duration::from_secs(120), &mut command).output;
    (code(&output), stdout(&output) + &stderr(&output))
}

/// The collection is valid, is ranked for a topic, and a report shows it.
fn assert_is_used(dir: &WorkDir, collection: &str, images: usize) {
    let (code, said) = run(dir, &format!("collection check {collection}"));
    assert_eq!(code, 0, "{said}");
    let counted = format!("{collection}: {images} image");
    assert_says(&said, &[&counted]);
    fs::write(dir.path("topics.xml"), TOPICS).unwrap();
    dir.succeeds(&format!(
        "images -q -i {collection} -o out-{collection} --topics topics.xml"
    ));
    let run_file = dir.read(&format!("out-{collection}/run.txt"));
    assert!(run_file.starts_with("7 PRO I"), "{run_file}");
    dir.succeeds(&format!(
        "inspect -q out-{collection} -i {collection} --topics topics.xml -o report-{collection}"
    ));
    let report = dir.read(&format!("report-{collection}/index.html"));
    assert!(report.contains("Should zoos be closed?"));
}

/// The explanation of a rank says that the words near the picture match the topic.
fn assert_words_are_found(dir: &WorkDir, collection: &str) {
    let explain = format!("explain-{collection}.jsonl");
    dir.succeeds(&format!(
        "images -q -i {collection} -o out-{collection} --topics topics.xml --explain {explain}"
    ));
    let explained = dir.read(&explain);
    let near = explained.split("\"bm25 near\",\"value\":").nth(1).unwrap();
    let weight: f64 = near.split(',').next().unwrap().parse().unwrap();
    assert!(weight > 0.0, "{explained}");
}

#[test]
fn a_folder_of_pictures_and_pages_becomes_a_collection() {
    let dir = WorkDir::with(&[
        ("saved/A page_files/red.png", &picture(200)),
        ("saved/A page_files/copy.png", &picture(200)),
        (
            "saved/A page_files/icon.png",
            &grey(16, 16, ImageFormat::Png),
        ),
        ("saved/A page_files/gone.png", b"<html>404"),
        (
            "saved/A page_files/chart.svg",
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        ),
        ("saved/A page_files/alone.png", &picture(10)),
        ("saved/A page_files/site.js", b"alert()"),
        ("topics.xml", TOPICS.as_bytes()),
    ]);
    let html = "<!DOCTYPE html>\n<!-- saved from url=(0026)https://example.org/a?b=1 -->\n<html><body><p>Zoos before</p>\
        <p><img src=\"x.gif\"><img src=\"./A%20page_files/red.png\"><img src=\"./A%20page_files/icon.png\">\
        <img src='A page_files/gone.png'><img src='A page_files/chart.svg'><img src='A page_files/copy.png'></p>\
        <script>var hidden</script></body></html>";
    fs::write(dir.path("saved/A page.html"), html).unwrap();
    let (code, said) = run(&dir, "collection new made --from saved --topics topics.xml");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "gone.png: an HTML page, not an image",
            "made: 1 image on 1 page of 1 that were read",
            "1 picture: no page shows it",
            "1 picture: smaller than --min-side",
            "1 picture: SVG, AVIF or HEIF",
            "1 image element: its picture was not saved",
            "1 topic: rank them with `riposte images -i made -o OUT`",
            "1 fault: image 1",
        ],
    );
    let made = dir.path("made");
    // both copies are one picture
    assert_eq!(
        texts(&made, "image-xpath.txt"),
        ["/HTML[1]/BODY[1]/P[2]/IMG[2]\n/HTML[1]/BODY[1]/P[2]/IMG[6]\n"]
    );
    assert_eq!(texts(&made, "page-url.txt"), ["https://example.org/a?b=1"]);
    assert_eq!(texts(&made, "text.txt"), ["Zoos before\n"]);
    assert_eq!(texts(&made, "dom.html"), [html]);
    assert_eq!(
        texts(&made, "image-url.txt"),
        ["file:A page_files/copy.png"]
    );
    assert_eq!(fs::read_to_string(made.join("topics.xml")).unwrap(), TOPICS);
    let image = &images(&made)[0];
    assert_eq!(fs::read(image.join("image.png")).unwrap(), picture(200));
    assert_is_used(&dir, "made", 1);
    assert_words_are_found(&dir, "made");
    // the same files make the same collection
    dir.succeeds("collection new again --from saved");
    assert_eq!(images(&dir.path("again"))[0].file_name(), image.file_name());
    // strictness, and pictures that no page shows
    let (code, said) = run(
        &dir,
        "collection new kept --from saved --keep-unshown --strict",
    );
    assert_eq!(code, 1, "{said}");
    assert_says(
        &said,
        &["kept: 2 images on 1 page", "1 image without a page"],
    );
    let (code, said) = run(&dir, "collection check kept");
    assert_eq!(code, 1, "{said}");
    assert_says(&said, &["page: ", "no page"]);
}

#[test]
fn pictures_alone_become_a_collection() {
    let dir = WorkDir::with(&[("in/b/1.png", &picture(1)), ("in/2", &picture(2))]);
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "made: 2 images on 0 pages",
            "2 images without a page",
            "no topics: ask it with `riposte ask",
        ],
    );
    let (code, said) = run(&dir, "collection check made");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &["made: 2 images, 0 pages, no topics", "no image has a page"],
    );
}

#[test]
fn a_directory_that_is_used_and_sources_that_are_none_are_refused() {
    let dir = WorkDir::with(&[
        ("in/1.png", &picture(1)),
        ("used/mine.txt", b"x"),
        ("words/a.txt", b"x"),
        (
            "broken.xml",
            b"<topics><topic><number>1</number><title></title></topic></topics>",
        ),
    ]);
    fs::create_dir(dir.path("empty")).unwrap();
    dir.refuses(
        "collection new used --from in | used is not empty: give a new directory
         collection new in/made --from in | in/made is in the folder in of --from
         collection new made --from nowhere | cannot list nowhere
         collection new made --from words | nothing to write: 0 pictures and 0 pages were read
         collection new made --from in --topics broken.xml | cannot read the topics in broken.xml
         collection check words | words is not an image collection",
    );
    assert!(!dir.path("made").exists() && !dir.path("in/made").exists());
    assert_eq!(dir.read("used/mine.txt"), "x");
    dir.succeeds("collection new empty --from in");
    assert_eq!(images(&dir.path("empty")).len(), 1);
    // nothing temporary is left
    let left = entries(&dir.path(""))
        .into_iter()
        .filter(|path| name(path).starts_with(".riposte-"));
    assert_eq!(left.count(), 0);
}

/// Only files below the folders are read, whatever pages and links name.
#[cfg(unix)]
#[test]
fn nothing_outside_the_folders_is_read() {
    let dir = WorkDir::with(&[
        ("secret.png", &picture(1)),
        ("in/own.png", &picture(2)),
        ("in/1.html", page("../secret.png", "Out").as_bytes()),
        ("in/2.html", page("file:///etc/passwd", "Out").as_bytes()),
        ("in/3.html", page("linked.png", "Out").as_bytes()),
        ("in/4.html", page("../in/./x/../own.png", "In").as_bytes()),
    ]);
    std::os::unix::fs::symlink(dir.path("secret.png"), dir.path("in/linked.png")).unwrap();
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(&said, &["made: 1 image on 1 page of 4", "1 symbolic link"]);
    assert_eq!(texts(&dir.path("made"), "image-url.txt"), ["file:own.png"]);
}

#[cfg(unix)]
#[test]
fn a_killed_run_leaves_nothing_and_the_next_one_removes_what_it_wrote() {
    let dir = WorkDir::new();
    fs::create_dir(dir.path("in")).unwrap();
    let shade = encoded(
        RgbImage::from_pixel(300, 300, Rgb([1, 2, 3])),
        ImageFormat::Png,
    );
    for n in 0..3000u32 {
        // decoders ignore what is behind a picture
        let bytes = [&shade[..], &n.to_be_bytes()].concat();
        fs::write(dir.path(&format!("in/{n}.png")), bytes).unwrap();
    }
    let mut command = riposte(
        &dir.path("home"),
        &["collection", "new", "made", "--from", "in"],
    );
    let mut child = command.current_dir(dir.path("")).spawn().unwrap();
    let temporary = || {
        let found = entries(&dir.path("")).into_iter();
        found
            .filter(|path| name(path).starts_with(".riposte-"))
            .count()
    };
    while temporary() < 2 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it has ended too early"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!dir.path("made").exists() && temporary() > 0);
    fs::create_dir(dir.path("few")).unwrap();
    fs::copy(dir.path("in/0.png"), dir.path("few/0.png")).unwrap();
    dir.succeeds("collection new made --from few");
    assert_eq!((images(&dir.path("made")).len(), temporary()), (1, 0));
}

#[test]
fn a_page_with_a_hundred_thousand_images_is_read_up_to_a_bound() {
    let mut html = String::from("<body><p>Zoos</p>");
    for n in 0..100_000 {
        write!(html, "<img src='{}.png'>", n % 3).unwrap();
    }
    let dir = WorkDir::with(&[
        ("in/0.png", &picture(1)),
        ("in/1.png", &picture(2)),
        ("in/a.html", html.as_bytes()),
    ]);
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "made: 2 images on 1 page",
            "99000 image elements: beyond what is read of a page",
        ],
    );
    assert_is_used(&dir, "made", 2);
}

#[test]
fn a_picture_on_every_page_keeps_ten_of_them() {
    let dir = WorkDir::with(&[("in/logo.png", &picture(1))]);
    for n in 0..25 {
        fs::write(dir.path(&format!("in/{n}.html")), page("logo.png", "Zoos")).unwrap();
    }
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &["made: 1 image on 10 pages of 25", "15 appearances"],
    );
}

#[test]
fn check_names_each_fault_on_a_line() {
    let dir = WorkDir::new();
    let made = dir.path("made");
    copy(sample(), &made);
    let images = images(&made);
    let page = |n: usize| entries(&images[n].join("pages")).remove(0);
    fs::write(images[0].join("image.webp"), "<!DOCTYPE html><p>gone").unwrap();
    fs::remove_file(images[1].join("image.webp")).unwrap();
    fs::write(page(2).join("snapshot/dom.html"), "").unwrap();
    fs::write(page(3).join("rankings.jsonl"), "{\"query\":\n").unwrap();
    fs::write(images[4].join("image-phash.txt"), "0101").unwrap();
    fs::remove_dir_all(images[5].join("pages")).unwrap();
    fs::write(page(6).join("snapshot/image-xpath.txt"), "\n").unwrap();
    fs::write(made.join("images/stray"), "").unwrap();
    let twice = "<topics><topic><number>1</number><title>a</title></topic><topic><number>1</number><title>b</title></topic></topics>";
    fs::write(made.join("topics.xml"), twice).unwrap();
    let mut judged = dir.read("made/qrels.txt");
    judged.push_str("1 MAYBE I0 1\n1 PRO I0 many\n1 PRO I0 1\n1 PRO\n");
    fs::write(made.join("qrels.txt"), judged).unwrap();
    let (code, said) = run(&dir, "collection check made");
    assert_eq!(code, 1, "{said}");
    for fault in [
        "an HTML page, not an image",
        "no image file",
        "dom.html: empty file",
        "rankings.jsonl:1: not",
        "not 64 characters of 0 and 1",
        ": no page",
        "the file has no XPath",
        "stray: not a directory named I",
        "topic number 1 occurs twice",
        "MAYBE is none of ONTOPIC, PRO and CON",
        "the grade many is not a number",
        "image I0 is not in the collection",
        "not \"topic ONTOPIC|PRO|CON image grade\"",
    ] {
        assert_eq!(said.matches(fault).count(), 1, "{fault} in {said}");
    }
    assert_says(
        &said,
        &[
            "made: 66 images, ",
            "13 faults: layout 6, image 3, page 2, xpath 1, rankings 1",
        ],
    );
    let (code, said) = run(&dir, &format!("collection check {}", text(sample())));
    assert_eq!(code, 0, "{said}");
}

// ---- MHTML ----

/// An MHTML file: a page in quoted-printable, a picture that it names by its address, one that it names by an id, and a frame.
fn mhtml() -> String {
    let html = page(
        "https://example.org/img/a.png?x=1&amp;y=2",
        "Z\u{f6}\u{f6}s",
    )
    .replace("nowhere.png", "cid:two@mhtml.blink");
    let mut encoded = String::new();
    for byte in html.bytes() {
        // soft line breaks at odd places
        if encoded.len() % 70 == 69 {
            encoded.push_str("=\r\n");
        }
        match byte {
            b'=' | 128.. => write!(encoded, "={byte:02X}").unwrap(),
            _ => encoded.push(char::from(byte)),
        }
    }
    let base64 = |bytes: &[u8]| {
        let text = STANDARD.encode(bytes);
        let lines: Vec<&str> = text
            .as_bytes()
            .chunks(76)
            .map(|l| std::str::from_utf8(l).unwrap())
            .collect();
        lines.join("\r\n")
    };
    format!(
        "From: <Saved by Blink>\r\nSnapshot-Content-Location: https://example.org/zoo\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/related;\r\n\ttype=\"text/html\";\r\n\tboundary=\"--B--1\"\r\n\r\n\r\n\
         ----B--1\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\nContent-Location: https://example.org/zoo\r\n\r\n{encoded}\r\n\
         ----B--1\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\nContent-Location: https://example.org/img/a.png?x=1&y=2\r\n\r\n{}\r\n\
         ----B--1\r\nContent-Type: image/png\r\nContent-ID: <two@mhtml.blink>\r\nContent-Transfer-Encoding: base64\r\n\r\n{}\r\n\
         ----B--1\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\nContent-Location: https://example.org/img/bad.png\r\n\r\n!!!\r\n\
         ----B--1--\r\n",
        base64(&picture(1)),
        base64(&picture(2)),
    )
}

#[test]
fn a_page_in_mhtml_becomes_a_collection() {
    let whole = mhtml();
    let cut = whole.split("Content-ID").next().unwrap();
    let dir = WorkDir::with(&[
        ("zoo.mhtml", whole.as_bytes()),
        ("cut.mht", cut.as_bytes()),
        ("none.mhtml", b"From: me\r\n\r\nwords"),
    ]);
    let (code, said) = run(&dir, "collection new made --from zoo.mhtml");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &["zoo.mhtml: https://example.org/img/bad.png: its base64 is damaged"],
    );
    let made = dir.path("made");
    assert_eq!(
        texts(&made, "image-xpath.txt"),
        [
            "/HTML[1]/BODY[1]/P[2]/IMG[1]\n",
            "/HTML[1]/BODY[1]/P[2]/IMG[2]\n"
        ]
    );
    assert_eq!(
        texts(&made, "image-url.txt"),
        [
            "cid:two@mhtml.blink",
            "https://example.org/img/a.png?x=1&y=2"
        ]
    );
    assert_eq!(texts(&made, "page-url.txt"), ["https://example.org/zoo"; 2]);
    assert_eq!(
        texts(&made, "text.txt")[0],
        "Z\u{f6}\u{f6}s\nZ\u{f6}\u{f6}s before\nZ\u{f6}\u{f6}s after\n"
    );
    assert_is_used(&dir, "made", 2);
    // what is there of a cut file is used
    let (code, said) = run(&dir, "collection new of-cut --from cut.mht none.mhtml");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &["of-cut: 1 image on 1 page", "none.mhtml: it has no page"],
    );
}

#[test]
fn mhtml_with_boundaries_within_boundaries_ends() {
    let mut nested = String::new();
    for n in 0..50_000 {
        write!(
            nested,
            "Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n"
        )
        .unwrap();
    }
    let mut many = String::from("Content-Type: multipart/related; boundary=b\r\n\r\n");
    many.push_str(&"--b\r\n\r\n".repeat(200_000));
    let own = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nx\r\n--b--\r\n";
    let dir = WorkDir::with(&[
        ("in/nested.mhtml", nested.as_bytes()),
        ("in/many.mhtml", many.as_bytes()),
        ("in/own.mhtml", own.as_bytes()),
        ("in/1.png", &picture(1)),
    ]);
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "nested.mhtml: it has parts within parts",
            "many.mhtml: it has more than 100000 parts",
            "own.mhtml: it has no page",
            "made: 1 image",
        ],
    );
}

// ---- WARC ----

/// A record.
fn record(kind: &str, location: &str, headers: &str, block: &[u8]) -> Vec<u8> {
    let length = block.len();
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {location}\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), block, b"\r\n\r\n"].concat()
}

/// The record of an answer.
fn response(location: &str, status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}\r\n");
    let block = [head.as_bytes(), body].concat();
    let http = "Content-Type: application/http;msgtype=response\r\n";
    record("response", location, http, &block)
}

/// The records of a crawl of one page: its HTML in chunks and packed, a picture behind a redirect, and one that the server does not have.
fn records() -> Vec<Vec<u8>> {
    let html = gzip(page("/moved/a.png", "Zoos").replace("nowhere.png", "/none.png"));
    let (one, two) = html.split_at(10);
    let mut chunks = format!("{:x}\r\n", one.len()).into_bytes();
    chunks.extend_from_slice(one);
    chunks.extend(format!("\r\n{:X};x\r\n", two.len()).bytes());
    chunks.extend_from_slice(two);
    chunks.extend(b"\r\n0\r\n\r\n");
    let html =
        "Content-Type: text/html\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n";
    let png = "Content-Type: image/png\r\n";
    vec![
        record("warcinfo", "", "", b"software: a test\r\n"),
        record(
            "request",
            "http://zoo.example/",
            "",
            b"GET / HTTP/1.1\r\n\r\n",
        ),
        response("<http://zoo.example/>", "200 OK", html, &chunks),
        response(
            "http://zoo.example/moved/a.png",
            "302 Found",
            "Location: /b.png\r\n",
            b"",
        ),
        response("https://zoo.example/b.png", "200 OK", png, &picture(1)),
        response(
            "http://zoo.example/none.png",
            "404 Not Found",
            png,
            &picture(3),
        ),
        record("metadata", "http://zoo.example/", "", b"x"),
    ]
}

fn assert_is_the_crawl(dir: &WorkDir, said: &str, made: &str) {
    assert_says(
        said,
        &[
            &format!("{made}: 1 image on 1 page of 1"),
            "1 response: the server answered with an error",
        ],
    );
    let at = dir.path(made);
    assert_eq!(
        texts(&at, "image-xpath.txt"),
        ["/HTML[1]/BODY[1]/P[2]/IMG[2]\n"]
    );
    assert_eq!(texts(&at, "image-url.txt"), ["https://zoo.example/b.png"]);
    assert_eq!(texts(&at, "page-url.txt"), ["http://zoo.example/"]);
    assert_is_used(dir, made, 1);
}

/// A zip file with these members.
fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_crawl_in_warc_and_wacz_becomes_a_collection() {
    let plain = records().concat();
    let packed: Vec<u8> = records().iter().flat_map(gzip).collect();
    let advertisement = response(
        "http://ads.example/",
        "200 OK",
        "Content-Type: text/html\r\n",
        page("http://zoo.example/b.png", "Buy").as_bytes(),
    );
    let with_advertisement = [packed.clone(), gzip(advertisement)].concat();
    let pages = "{\"format\": \"json-pages-1.0\", \"id\": \"pages\"}\n{\"url\": \"http://zoo.example/\", \"title\": \"Zoos\"}\n";
    let wacz = zipped(&[
        ("archive/data.warc.gz", &with_advertisement),
        ("archive/../../evil.warc", b""),
        ("indexes/index.cdx", b"x"),
        ("pages/pages.jsonl", pages.as_bytes()),
    ]);
    let dir = WorkDir::with(&[
        ("crawl.warc", &plain),
        ("crawl.warc.gz", &packed),
        ("crawl.wacz", &wacz),
    ]);
    for (file, made) in [
        ("crawl.warc", "plain"),
        ("crawl.warc.gz", "packed"),
        ("crawl.wacz", "wacz"),
    ] {
        let (code, said) = run(&dir, &format!("collection new {made} --from {file}"));
        assert_eq!(code, 0, "{said}");
        assert_is_the_crawl(&dir, &said, made);
        if made == "wacz" {
            assert_says(
                &said,
                &["1 HTML file: not in the list of pages of its WACZ file"],
            );
        }
    }
}

#[test]
fn broken_and_hostile_archives_are_faults_and_end() {
    let good = records().concat();
    let long = String::from_utf8_lossy(&record("response", "http://a.example/", "", b"x"))
        .replace("Content-Length: 1", "Content-Length: 99999999999");
    let short = String::from_utf8_lossy(&response(
        "http://a.example/",
        "200 OK",
        "",
        b"<html>words that are not counted",
    ))
    .replace("Content-Length: ", "Content-Length: 2\r\nX: ");
    let endless = [
        b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 18446744073709551615\r\n\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
        b"1\r\nx\r\n".repeat(100_000),
    ]
    .concat();
    let mut zeros = GzEncoder::new(Vec::new(), Compression::best());
    zeros.write_all(&vec![0; 1 << 20]).unwrap();
    let zeros = zeros.finish().unwrap();
    let head = b"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 9999999999\r\n\r\n";
    let bomb = [gzip(head), zeros.repeat(400)].concat();
    let headers = [b"WARC/1.0\r\n".to_vec(), b"X: y\r\n".repeat(1 << 18)].concat();
    let dir = WorkDir::with(&[
        ("in/good.warc", &good),
        ("in/long.warc", long.as_bytes()),
        ("in/short.warc", &[short.as_bytes(), &good].concat()),
        ("in/endless.warc", &endless),
        ("in/bomb.warc.gz", &bomb),
        ("in/headers.warc", &headers),
        ("in/words.warc", b"words\nand words\n"),
        ("in/cut.warc.gz", &gzip(&good)[..60]),
        ("in/bomb.wacz", &zipped(&[("archive/a.warc.gz", &bomb)])),
        ("in/words.wacz", b"words"),
    ]);
    let (code, said) = run(
        &dir,
        "collection new made --from in -v --faults faults.jsonl",
    );
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "long.warc: after ",
            "the file ends within the record of http://a.example/, which says that it has 99999999999 bytes",
            "bytes belong to no record; the length of the record before is wrong",
            "endless.warc: ",
            "bomb.warc.gz: ",
            "it unpacks to more than",
            "headers.warc: after ",
            "bytes of headers",
            "words.warc: ",
            "no record begins here",
            "cut.warc.gz: ",
            "bomb.wacz/archive/a.warc.gz: ",
            "words.wacz: not a zip file",
            // the good records, alone and after a wrong length, are read
            "made: 1 image on 1 page of",
        ],
    );
    let listed = dir.read("faults.jsonl");
    for file in [
        "long", "short", "endless", "bomb", "headers", "words", "cut",
    ] {
        assert!(
            listed.contains(&format!("in/{file}.wa")),
            "{file}: {listed}"
        );
    }
}

#[test]
fn a_crawl_by_wget_becomes_a_collection() {
    if need(Program("wget")).is_none() {
        return;
    }
    let html = page("/img/a.png", "Zoos");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in server.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(request)) = lines.next() else {
                continue;
            };
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            let (status, kind, body) = match request.split(' ').nth(1).unwrap_or_default() {
                "/" => ("200 OK", "text/html", html.clone().into_bytes()),
                "/img/a.png" => ("200 OK", "image/png", picture(1)),
                _ => ("404 Not Found", "text/plain", Vec::new()),
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(&[head.as_bytes(), &body].concat());
        }
    });
    let dir = WorkDir::new();
    // wget exits with 8, because one of the pictures is missing
    let wget = Command::new("wget")
        .args(["-q", "-p", "-P", "files", "--warc-file=crawl", "--no-proxy"])
        .arg(format!("http://{address}/"))
        .current_dir(dir.path(""))
        .status();
    assert!(matches!(wget.unwrap().code(), Some(0 | 8)));
    let (code, said) = run(&dir, "collection new made --from crawl.warc.gz");
    assert_eq!(code, 0, "{said}");
    assert_says(&said, &["made: 1 image on 1 page of 1 that were read"]);
    assert_eq!(
        texts(&dir.path("made"), "image-url.txt"),
        [format!("http://{address}/img/a.png")]
    );
    assert_is_used(&dir, "made", 1);
    // the files that wget has written are a folder of saved pages
    let (code, said) = run(&dir, "collection new of-files --from files");
    assert_eq!(code, 0, "{said}");
    assert_eq!(images(&dir.path("of-files")).len(), 1);
    assert!(text(&images(&dir.path("of-files"))[0]).ends_with(name(&images(&dir.path("made"))[0])));
}
