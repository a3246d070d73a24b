//! Web pages: the first line is an XPath of the image, the second its address, and the rest `dom.html`.

use riposte::evidence::page::{self, MAIN_WORDS, NEAR_WORDS};

pub const WORDS: &[&[u8]] = &[
    b"<div>",
    b"</div>",
    b"<table><tr><td>",
    b"<svg><math>",
    b"<template>",
    b"<select><option>",
    b"<a><b><i>",
    b"</p></b></a>",
    b"<img src=a.png alt='x'>",
    b"<figure><figcaption>",
    b"<picture><source srcset='a.png 2x'>",
    b"<h1>",
    b"<meta charset=utf-16>",
    b"<meta property=og:image content=a.png>",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"<script>",
    b"</script>",
    b"<noscript>",
    b"&#x110000;",
    b"&amp;",
    b"&nGg;",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"/html/body/div[1]/img[1]",
    b"//img",
    b"[99999999999999999999]",
    b"*",
    b"text()",
];

/// Reads the words of the page.
pub fn run(bytes: &[u8]) {
    let mut lines = bytes.splitn(3, |&byte| byte == b'\n');
    let mut line = || String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let (xpath, url) = (line(), line());
    let (html, _) = page::decode(lines.next().unwrap_or_default());
    let xpaths = xpath.split('|').filter(|path| !path.is_empty());
    let xpaths: Vec<String> = xpaths.map(str::to_owned).collect();
    let words = page::read(&html, &xpaths, &url);
    let count = |text: &str| text.split_whitespace().count();
    assert!(count(&words.main) <= MAIN_WORDS);
    assert!(count(&words.before) <= NEAR_WORDS && count(&words.after) <= NEAR_WORDS);
}
