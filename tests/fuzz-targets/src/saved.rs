//! Pages and pictures that browsers and crawlers have saved: MHTML, WARC and WACZ.

use riposte::collection::saved::{self, SavedItem, SavedKind, embedded};
use riposte::evidence::page::images::images;
use riposte::evidence::page::{self};

use crate::with_file;

pub const MHTML_WORDS: &[&[u8]] = &[
    b"Content-Type: multipart/related; boundary=\"b\"\r\n\r\n",
    b"Content-Type: multipart/mixed; boundary=b\r\n",
    b"\r\n--b\r\n",
    b"\r\n--b--\r\n",
    b"Content-Type: text/html; charset=utf-16\r\n",
    b"Content-Type: image/png\r\n",
    b"Content-Transfer-Encoding: base64\r\n",
    b"Content-Transfer-Encoding: quoted-printable\r\n",
    b"Content-Location: https://example.org/a.png\r\n",
    b"Content-Location: ../../a?b#c\r\n",
    b"Content-ID: <a@mhtml.blink>\r\n",
    b"Snapshot-Content-Location: cid:x\r\n",
    b"=\r\n",
    b"=3D",
    b"<img src=3D\"cid:a@mhtml.blink\">",
    b"data:image/png;base64,iVBORw0KGgo=",
    b"\r\n\t",
    b"\r\n\r\n",
];

pub const WARC_WORDS: &[&[u8]] = &[
    b"WARC/1.0\r\n",
    b"WARC/1.1\r\n",
    b"WARC-Type: response\r\n",
    b"WARC-Type: resource\r\n",
    b"WARC-Type: revisit\r\n",
    b"WARC-Target-URI: <http://example.org/>\r\n",
    b"WARC-Refers-To-Target-URI: http://example.org/a\r\n",
    b"Content-Type: application/http; msgtype=response\r\n",
    b"Content-Length: 0\r\n\r\n",
    b"Content-Length: 18446744073709551615\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 301 Moved\r\nLocation: //example.org/../b\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"ffffffffffffffff;x\r\n",
    b"0\r\n\r\n",
    b"Content-Encoding: gzip\r\n",
    b"Content-Encoding: deflate\r\n",
    b"Content-Encoding: zstd\r\n",
    b"Content-Encoding: br\r\n",
    b"Content-Type: text/html; charset=shift_jis\r\n",
    b"\x1f\x8b\x08\x00",
    b"\x28\xb5\x2f\xfd",
    b"\x5d\x2a\x4d\x18\xff\xff\xff\xff",
    b"\x5d\x2a\x4d\x18\x04\x00\x00\x00",
];

pub const WACZ_WORDS: &[&[u8]] = &[
    b"PK\x01\x02",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"PK\x06\x06",
    b"archive/a.warc",
    b"archive/a.warc.gz",
    b"archive/../../a.warc.zst",
    b"pages/pages.jsonl",
    b"{\"url\": \"http://example.org/\"}\n",
    b"\xff\xff\xff\xff",
];

/// The most that a page or a picture has.
const MOST: usize = 96 << 20;

pub fn mhtml(bytes: &[u8]) {
    read("a.mhtml", bytes);
}

pub fn warc(bytes: &[u8]) {
    read("a.warc.gz", bytes);
}

pub fn wacz(bytes: &[u8]) {
    read("a.wacz", bytes);
}

/// Reads a file, and searches its pages for pictures. What is broken in it is no error.
fn read(name: &str, bytes: &[u8]) {
    with_file(name, bytes, |path| {
        let result = saved::read(path, &mut |found| {
            match found {
                SavedItem::Saved(SavedKind::Picture, picture) => {
                    assert!(picture.bytes.len() <= MOST)
                }
                SavedItem::Saved(SavedKind::Page, page) => {
                    assert!(page.bytes.len() <= MOST * 3, "in UTF-8");
                    search(page.bytes);
                }
                _ => {}
            }
            Ok(())
        });
        result.expect("a broken file is a fault");
    });
}

/// Takes the pictures out of a page, and lists those that it shows.
fn search(page: Vec<u8>) {
    let mut taken = 0;
    let page = embedded::without_pictures(page, &mut |picture| {
        assert!(picture.len() <= MOST);
        taken += 1;
        Ok::<_, ()>((taken % 2 == 0).then(|| format!("{}{taken}", embedded::SCHEME)))
    });
    let page = page.expect("taking a picture does not fail");
    let (html, _) = page::decode(&page);
    assert!(images(&html, 10).shown.len() <= 10);
}
