//! The image collection's layout (Touché 2022 and 2023, image retrieval for arguments):
//! `images/I<2 hex>/I<hex>/…`, one directory an image, with the pages that show it.
//!
//! Only the ids and their directories are held for the whole collection; what a document consists
//! of is read one document at a time.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::trec::{DocId, Fault, FaultKind};

/// A larger file is a fault: the largest page of the real crawl has 1 MB, the largest image 60 MB.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// The image files of a document, in the order in which they are tried.
const IMAGE_FILES: [&str; 4] = ["image.webp", "image.png", "image.jpg", "image.jpeg"];

/// An image collection: where each document is.
#[derive(Debug)]
pub struct ImageCollection {
    dir: PathBuf,
    entries: Vec<Entry>,
    faults: Vec<Fault>,
}

/// One document of the collection: its id and its directory.
#[derive(Clone, Debug)]
pub struct Entry {
    pub id: DocId,
    pub dir: PathBuf,
}

/// The files of a document, without their contents.
#[derive(Debug)]
pub struct Listing {
    /// Image files there are, the first to be tried first.
    pub images: Vec<PathBuf>,
    /// Directories of the pages, by name.
    pub pages: Vec<PathBuf>,
    /// Hash over the names and sizes of all files that evidence is made of (16 hex digits): what
    /// was extracted from other files is extracted again. Times are not in it, so that a copy of
    /// a collection on another machine keeps its evidence.
    pub fingerprint: String,
}

/// What the pages say of an image, and where it came from.
#[derive(Debug, Default)]
pub struct ImageDocument {
    /// `image-url.txt`; empty if it is missing.
    pub url: String,
    /// `image-phash.txt`, 64 characters of 0 and 1, first character highest.
    pub phash: Option<u64>,
    pub pages: Vec<PageDocument>,
}

/// One page that shows the image.
#[derive(Debug, Default)]
pub struct PageDocument {
    /// The name of its directory, "P" and 16 hex digits.
    pub id: String,
    pub url: String,
    /// Bytes of `snapshot/dom.html`; none if it is missing or empty.
    pub html: Option<Vec<u8>>,
    /// Where the image's element stands, one browser XPath a line.
    pub xpaths: Vec<String>,
    /// `snapshot/text.txt`: read where there is no HTML.
    pub text: Option<String>,
    pub rankings: Vec<CrawlRank>,
}

/// At which rank an image search returned this image and page while the collection was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawlRank {
    pub query: String,
    pub topic: String,
    /// Counted from 1.
    pub rank: u32,
}

impl ImageCollection {
    /// Finds the documents of the collection in `dir`, by id.
    ///
    /// Errors: there is no directory `images`, or it cannot be listed.
    pub fn open(dir: &Path) -> Result<Self> {
        let images = dir.join("images");
        if !images.is_dir() {
            bail!(
                "{} is not an image collection: there is no directory {}",
                dir.display(),
                images.display()
            );
        }
        let mut faults = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        for prefix in list(&images)? {
            let name = file_name(&prefix);
            if !prefix.is_dir() || !is_id(&name, 3) {
                faults.push(layout(prefix, "not a directory named I and 2 hex digits"));
                continue;
            }
            let inner = match list(&prefix) {
                Ok(inner) => inner,
                Err(error) => {
                    faults.push(layout(prefix, format!("{error:#}")));
                    continue;
                }
            };
            for path in inner {
                let id = file_name(&path);
                if !path.is_dir() || id.len() < 17 || !is_id(&id, id.len()) {
                    faults.push(layout(
                        path,
                        "not a directory named I and at least 16 hex digits",
                    ));
                } else if !id.starts_with(&name) {
                    faults.push(layout(
                        path,
                        format!("an id that does not begin with {name}; passed over"),
                    ));
                } else {
                    entries.push(Entry {
                        id: DocId(id),
                        dir: path,
                    });
                }
            }
        }
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(ImageCollection {
            dir: dir.to_owned(),
            entries,
            faults,
        })
    }

    /// The collection's directory, as given.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The documents, by id.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What in `images/` is not a document.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl Entry {
    /// Lists the document's files. What cannot be listed is a fault.
    pub fn list(&self, faults: &mut Vec<Fault>) -> Listing {
        let mut hash = Sha256::new();
        let mut note = |path: &Path| match fs::metadata(path) {
            Ok(meta) if meta.is_file() => {
                let name = path.strip_prefix(&self.dir).unwrap_or(path);
                hash.update(format!("{}\0{}\n", name.display(), meta.len()));
                true
            }
            _ => false,
        };
        let images: Vec<PathBuf> = IMAGE_FILES
            .iter()
            .map(|name| self.dir.join(name))
            .filter(|path| note(path))
            .collect();
        note(&self.dir.join("image-url.txt"));
        let pages_dir = self.dir.join("pages");
        let mut pages = Vec::new();
        if pages_dir.is_dir() {
            match list(&pages_dir) {
                Ok(paths) => {
                    for path in paths {
                        if !path.is_dir() {
                            faults.push(layout(path, "not a page's directory"));
                            continue;
                        }
                        for file in PAGE_FILES {
                            note(&path.join(file));
                        }
                        pages.push(path);
                    }
                }
                Err(error) => faults.push(layout(pages_dir, format!("{error:#}"))),
            }
        }
        let digest = hash.finalize();
        Listing {
            images,
            pages,
            fingerprint: digest[..8].iter().map(|b| format!("{b:02x}")).collect(),
        }
    }

    /// Reads everything but the pixels. What is missing or broken is a fault and left empty.
    pub fn read(&self, listing: &Listing, faults: &mut Vec<Fault>) -> ImageDocument {
        if listing.images.is_empty() {
            faults.push(Fault {
                kind: FaultKind::Image,
                path: self.dir.clone(),
                line: None,
                what: "no image file".into(),
            });
        }
        if listing.pages.is_empty() {
            faults.push(Fault {
                kind: FaultKind::Page,
                path: self.dir.clone(),
                line: None,
                what: "no page".into(),
            });
        }
        let url = text_file(&self.dir.join("image-url.txt"), FaultKind::Page, faults);
        let phash = fs::read_to_string(self.dir.join("image-phash.txt"))
            .ok()
            .and_then(|text| parse_phash(text.trim()));
        ImageDocument {
            url: url.unwrap_or_default().trim().to_owned(),
            phash,
            pages: listing
                .pages
                .iter()
                .map(|dir| read_page(dir, faults))
                .collect(),
        }
    }
}

/// The files of a page that evidence is made of.
const PAGE_FILES: [&str; 5] = [
    "page-url.txt",
    "rankings.jsonl",
    "snapshot/dom.html",
    "snapshot/image-xpath.txt",
    "snapshot/text.txt",
];

fn read_page(dir: &Path, faults: &mut Vec<Fault>) -> PageDocument {
    let url = text_file(&dir.join("page-url.txt"), FaultKind::Page, faults);
    let dom = dir.join("snapshot/dom.html");
    let html = match bytes_of(&dom) {
        Ok(bytes) if bytes.is_empty() => {
            faults.push(fault(FaultKind::Page, &dom, "empty file"));
            None
        }
        Ok(bytes) => Some(bytes),
        Err(error) => {
            faults.push(fault(FaultKind::Page, &dom, error));
            None
        }
    };
    let text_path = dir.join("snapshot/text.txt");
    let text = match html {
        Some(_) => None,
        None => bytes_of(&text_path)
            .ok()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    };
    let xpaths = match html {
        Some(_) => text_file(
            &dir.join("snapshot/image-xpath.txt"),
            FaultKind::XPath,
            faults,
        ),
        None => None,
    };
    PageDocument {
        id: file_name(dir),
        url: url.unwrap_or_default().trim().to_owned(),
        html,
        xpaths: xpaths
            .unwrap_or_default()
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect(),
        text,
        rankings: read_rankings(&dir.join("rankings.jsonl"), faults),
    }
}

/// `rankings.jsonl`: needed by one baseline only, so its absence is no fault; a broken line is.
fn read_rankings(path: &Path, faults: &mut Vec<Fault>) -> Vec<CrawlRank> {
    if !path.exists() {
        return Vec::new();
    }
    let Some(text) = text_file(path, FaultKind::Rankings, faults) else {
        return Vec::new();
    };
    let mut rankings = Vec::new();
    for (n, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match parse_ranking(line) {
            Some(ranking) => rankings.push(ranking),
            None => faults.push(Fault {
                kind: FaultKind::Rankings,
                path: path.to_owned(),
                line: Some(n as u64 + 1),
                what: "not {\"query\", \"topic\", \"rank\"}".into(),
            }),
        }
    }
    rankings
}

/// `{"query":"…","topic":"34","rank":61}`; topic and rank may be numbers or strings.
fn parse_ranking(line: &str) -> Option<CrawlRank> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| match value.get(key)? {
        serde_json::Value::String(text) => Some(text.trim().to_owned()),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    Some(CrawlRank {
        query: text("query")?,
        topic: text("topic")?,
        rank: text("rank")?.parse().ok()?,
    })
}

fn parse_phash(text: &str) -> Option<u64> {
    (text.len() == 64)
        .then(|| u64::from_str_radix(text, 2).ok())
        .flatten()
}

/// The bytes of a file; the error says what a reader needs to know, without the path.
pub fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    let size = fs::metadata(path).map_err(|error| reason(&error))?.len();
    if size > MAX_FILE_BYTES {
        return Err(format!(
            "{size} bytes are more than a file of a collection may have ({MAX_FILE_BYTES})"
        ));
    }
    let mut bytes = Vec::with_capacity(size as usize);
    fs::File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut bytes))
        .map_err(|error| reason(&error))?;
    Ok(bytes)
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "missing".into(),
        _ => error.to_string(),
    }
}

/// A small text file. Missing, unreadable or not UTF-8 is a fault; in the last case what could be
/// read is used.
fn text_file(path: &Path, kind: FaultKind, faults: &mut Vec<Fault>) -> Option<String> {
    match bytes_of(path) {
        Ok(bytes) => Some(String::from_utf8(bytes).unwrap_or_else(|error| {
            faults.push(fault(kind, path, "not UTF-8"));
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        })),
        Err(what) => {
            faults.push(fault(kind, path, what));
            None
        }
    }
}

fn fault(kind: FaultKind, path: &Path, what: impl Into<String>) -> Fault {
    Fault {
        kind,
        path: path.to_owned(),
        line: None,
        what: what.into(),
    }
}

fn layout(path: PathBuf, what: impl Into<String>) -> Fault {
    Fault {
        kind: FaultKind::Layout,
        path,
        line: None,
        what: what.into(),
    }
}

/// The paths in a directory, by name; hidden files are none of our business.
fn list(dir: &Path) -> Result<Vec<PathBuf>> {
    let listing = || format!("cannot list {}", dir.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).with_context(listing)? {
        let path = entry.with_context(listing)?.path();
        if !file_name(&path).starts_with('.') {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(OsStr::new(""))
        .to_string_lossy()
        .into_owned()
}

/// "I" and hex digits, `length` characters in all.
fn is_id(name: &str, length: usize) -> bool {
    name.len() == length
        && name
            .strip_prefix('I')
            .is_some_and(|hex| hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ranking_is_read_with_numbers_or_strings() {
        let wanted = CrawlRank {
            query: "lower voting age good".into(),
            topic: "48".into(),
            rank: 24,
        };
        for line in [
            r#"{"query":"lower voting age good","topic":"48","rank":24}"#,
            r#"{"rank":"24","topic":48,"query":" lower voting age good "}"#,
        ] {
            assert_eq!(parse_ranking(line).as_ref(), Some(&wanted));
        }
        for line in ["", "{}", "[1]", r#"{"query":"x","topic":"48","rank":-1}"#] {
            assert_eq!(parse_ranking(line), None);
        }
    }

    #[test]
    fn a_phash_has_64_digits_first_highest() {
        let text = format!("1{}1", "0".repeat(62));
        assert_eq!(parse_phash(&text), Some((1 << 63) | 1));
        assert_eq!(parse_phash("101"), None);
        assert_eq!(parse_phash(&"2".repeat(64)), None);
        assert_eq!(parse_phash(&"é".repeat(32)), None);
    }

    #[test]
    fn ids_are_hexadecimal() {
        assert!(is_id("I2b62b2335042df6d", 17));
        assert!(!is_id("I2B62b2335042df6d", 17));
        assert!(!is_id("P2b62b2335042df6d", 17));
        assert!(!is_id("I2b", 17));
    }
}
