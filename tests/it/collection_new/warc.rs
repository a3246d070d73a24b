//! Collections of web archives: WARC and WACZ.

use std::io::{Cursor, Write};
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{assert_is_used, images, page, picture, run, texts};
use crate::support::assert_says;
use crate::support::files::{gzip, name, text, zstd};
use crate::support::need::{Program, need};
use crate::support::program::WorkDir;
use crate::support::server::{Page, Server};

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

/// A skippable frame with a dictionary.
fn dictionary_frame(dictionary: &[u8]) -> Vec<u8> {
    let length = u32::try_from(dictionary.len()).unwrap();
    [
        &[0x5d, 0x2a, 0x4d, 0x18],
        &length.to_le_bytes()[..],
        dictionary,
    ]
    .concat()
}

/// The crawl with each record in a frame of zstd: without a dictionary, with one, and with one that is packed itself.
#[test]
fn a_crawl_that_is_packed_with_zstd_becomes_a_collection() {
    let plain: Vec<u8> = records().iter().flat_map(zstd).collect();
    let dictionary = records()[2].clone();
    let mut packer = zstd::bulk::Compressor::with_dictionary(3, &dictionary).unwrap();
    let mut with = Vec::new();
    for record in records() {
        with.extend(packer.compress(&record).unwrap());
    }
    let known = [dictionary_frame(&dictionary), with.clone()].concat();
    let packed = [dictionary_frame(&zstd(&dictionary)), with.clone()].concat();
    let dir = WorkDir::with(&[
        ("plain.warc.zst", &plain),
        ("known.warc.zst", &known),
        ("packed.warc.zst", &packed),
        ("crawl.wacz", &zipped(&[("archive/data.warc.zst", &known)])),
    ]);
    for (file, made) in [
        ("plain.warc.zst", "plain"),
        ("known.warc.zst", "known"),
        ("packed.warc.zst", "packed"),
        ("crawl.wacz", "wacz"),
    ] {
        let (code, said) = run(&dir, &format!("collection new {made} --from {file}"));
        assert_eq!(code, 0, "{said}");
        assert_is_the_crawl(&dir, &said, made);
    }
}

#[test]
fn broken_and_hostile_archives_in_zstd_are_faults_and_end() {
    let good: Vec<u8> = records().iter().flat_map(zstd).collect();
    let head = b"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 9999999999\r\n\r\n";
    let zeros = zstd(vec![0; 64 << 20]);
    let bomb = [zstd(head), zeros.repeat(20)].concat();
    let mut long = dictionary_frame(b"");
    long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let dir = WorkDir::with(&[
        ("in/good.warc.zst", &good),
        ("in/bomb.warc.zst", &bomb),
        ("in/cut.warc.zst", &good[..good.len() / 2]),
        ("in/long.warc.zst", &long),
        (
            "in/short.warc.zst",
            &[0x5d, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 1],
        ),
        ("in/start.warc.zst", &[0x5d, 0x2a, 0x4d, 0x18, 9]),
        ("in/grown.warc.zst", &dictionary_frame(&zeros)),
        ("in/words.warc.zst", b"words"),
    ]);
    let (code, said) = run(&dir, "collection new made --from in -v");
    assert_eq!(code, 0, "{said}");
    for (file, what) in [
        ("bomb", "it unpacks to more than"),
        ("cut", "after "),
        ("long", "its dictionary has more than"),
        ("short", "the file ends within its dictionary"),
        ("start", "fill whole buffer"),
        ("grown", "its dictionary has more than"),
        ("words", "no record begins here"),
    ] {
        let file = format!("{file}.warc.zst: ");
        let line = said.lines().find(|line| line.contains(&file));
        let line = line.unwrap_or_else(|| panic!("{file} in {said}"));
        assert!(line.contains(what), "{line}");
    }
    assert_says(&said, &["made: 1 image on 1 page of"]);
}

/// A server that packs with Brotli makes no page of strange letters, and no fault of each script.
#[test]
fn bodies_in_brotli_are_faults_that_name_it() {
    let packed = b"\x0b\x02\x80words\x03";
    let of = |kind: &str| format!("Content-Type: {kind}\r\nContent-Encoding: br\r\n");
    let archive = [
        records().concat(),
        response(
            "http://zoo.example/page",
            "200 OK",
            &of("text/html"),
            packed,
        ),
        response(
            "http://zoo.example/c.png",
            "200 OK",
            &of("image/png"),
            packed,
        ),
        response(
            "http://zoo.example/site.js",
            "200 OK",
            &of("text/javascript"),
            packed,
        ),
        // unpacked by the crawler, which keeps the header
        response(
            "http://zoo.example/d.png",
            "200 OK",
            &of("image/png"),
            &picture(9),
        ),
    ]
    .concat();
    let dir = WorkDir::with(&[("crawl.warc", &archive)]);
    let (code, said) = run(&dir, "collection new made --from crawl.warc");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "http://zoo.example/page: packed with Brotli, which riposte does not unpack",
            "http://zoo.example/c.png: packed with Brotli",
            "made: 1 image on 1 page of 1",
            "1 picture: no page shows it (",
            "2 faults: image 1, page 1",
        ],
    );
}

#[test]
fn a_crawl_by_wget_becomes_a_collection() {
    if need(Program("wget")).is_none() {
        return;
    }
    let server = Server::start();
    for (path, kind, body) in [
        ("/", "text/html", page("/img/a.png", "Zoos").into_bytes()),
        ("/img/a.png", "image/png", picture(1)),
    ] {
        let page = Page {
            status: 200,
            headers: vec![("Content-Type", kind.to_owned())],
            body,
            ..Page::default()
        };
        server.page(path, page);
    }
    let address = &server.address;
    let dir = WorkDir::new();
    // wget exits with 8, because one of the pictures is missing
    let wget = Command::new("wget")
        .args(["-q", "-p", "-P", "files", "--warc-file=crawl", "--no-proxy"])
        .arg(format!("{address}/"))
        .current_dir(dir.path(""))
        .status();
    assert!(matches!(wget.unwrap().code(), Some(0 | 8)));
    let (code, said) = run(&dir, "collection new made --from crawl.warc.gz");
    assert_eq!(code, 0, "{said}");
    assert_says(&said, &["made: 1 image on 1 page of 1 that were read"]);
    assert_eq!(
        texts(&dir.path("made"), "image-url.txt"),
        [format!("{address}/img/a.png")]
    );
    assert_is_used(&dir, "made", 1);
    // the files that wget has written are a folder of saved pages
    let (code, said) = run(&dir, "collection new of-files --from files");
    assert_eq!(code, 0, "{said}");
    assert_eq!(images(&dir.path("of-files")).len(), 1);
    assert!(text(&images(&dir.path("of-files"))[0]).ends_with(name(&images(&dir.path("made"))[0])));
}
