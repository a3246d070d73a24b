//! Collections of MHTML files.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{assert_is_used, page, picture, run, texts};
use crate::support::assert_says;
use crate::support::program::WorkDir;

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
