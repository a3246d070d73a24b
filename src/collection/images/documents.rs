//! The files of a document: which there are, whether they have changed, and what they contain.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use riposte_eval::DocId;
use sha2::{Digest, Sha256};

use super::super::{Fault, FaultKind};
use super::{ImageCollection, ImageFolder, file_name, list};
use crate::disk::regular::{self, Transient};
use crate::disk::{Stamp, digest_of, hex};
use crate::limits::{MAX_DOCUMENT_FILE_BYTES, MAX_DOCUMENT_TEXT_BYTES};

/// The names of image files. The first one that can be decoded is used.
const IMAGE_FILES: [&str; 4] = ["image.webp", "image.png", "image.jpg", "image.jpeg"];

/// The files of a document.
#[derive(Debug)]
pub struct DocumentFiles {
    /// The image files that exist, in the order of [`IMAGE_FILES`].
    pub images: Vec<PathBuf>,
    /// The directories of the pages, sorted by name.
    pub pages: Vec<PathBuf>,
    /// A hash over the names and sizes of all files that evidence is computed from, as 16 hex digits. If it changes, the evidence
    /// is computed again. It leaves out the files' times, so a copy of a collection can use the same evidence.
    pub fingerprint: String,
    /// A hash over the names, sizes, times and inodes of the same files. While it is the same, so are their contents. Empty if a file has just been
    /// written: writing it again might not change its time.
    pub state: String,
    /// All files that evidence is computed from.
    files: Vec<PathBuf>,
    /// The hashes of their contents, if they have been read ([`ImageFolder::content`]).
    digests: BTreeMap<PathBuf, [u8; 32]>,
}

/// Why a file of a document was not read.
#[derive(Debug)]
pub struct UnreadFile {
    /// The reason, without the path.
    pub what: String,
    pub transient: Option<Transient>,
}

impl UnreadFile {
    fn of(error: &io::Error) -> Self {
        UnreadFile {
            what: reason(error),
            transient: regular::transient(error),
        }
    }

    /// The fault of the file.
    pub fn fault(self, kind: FaultKind, path: &Path) -> Fault {
        Fault {
            transient: self.transient,
            ..Fault::in_file(kind, path, self.what)
        }
    }
}

impl DocumentFiles {
    /// Reads a file of the document, of at most 256 MiB. If the contents of all files were hashed, they are compared.
    ///
    /// # Errors
    /// The file cannot be read, or it has changed since it was hashed.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, UnreadFile> {
        self.read_up_to(path, MAX_DOCUMENT_FILE_BYTES)
    }

    fn read_up_to(&self, path: &Path, most: u64) -> Result<Vec<u8>, UnreadFile> {
        let read = regular::read(path, most);
        let has_changed = !self.digests.is_empty()
            && match (&read, self.digests.get(path)) {
                (Ok(bytes), Some(digest)) => Sha256::digest(bytes)[..] != digest[..],
                (Ok(_), None) => true,
                (Err(error), known) => known.is_some() && error.kind() == ErrorKind::NotFound,
            };
        if has_changed {
            return Err(UnreadFile {
                what: "it changed while it was read".to_owned(),
                transient: Some(Transient::Failure),
            });
        }
        read.map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge if most < MAX_DOCUMENT_FILE_BYTES => UnreadFile {
                what: format!(
                    "more than the {most} bytes that remain of {MAX_DOCUMENT_TEXT_BYTES} for all texts of a document"
                ),
                transient: None,
            },
            _ => UnreadFile::of(&error),
        })
    }

    /// Checks that the files are still those that were listed, if their contents were not hashed.
    ///
    /// # Errors
    /// A file has changed.
    pub fn ensure_unchanged(&self, entry: &ImageFolder) -> Result<(), Fault> {
        let is_known = self.digests.is_empty() && !self.state.is_empty();
        if is_known && entry.list(&mut Vec::new()).state != self.state {
            let what = "a file of it changed while it was read";
            return Err(Fault {
                transient: Some(Transient::Failure),
                ..Fault::in_file(FaultKind::Layout, &entry.dir, what)
            });
        }
        Ok(())
    }
}

/// Hashes that identify the files of a document and their contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileState {
    /// See [`DocumentFiles::state`].
    pub state: String,
    /// See [`ImageFolder::content`].
    pub content: String,
}

/// What a collection says about an image, without its pixels.
#[derive(Debug, Default)]
pub struct ImageDocument {
    /// `image-url.txt`; empty if it is missing.
    pub url: String,
    /// The perceptual hash in `image-phash.txt`: 64 characters `0` or `1`, the highest bit first.
    pub phash: Option<u64>,
    pub given: GivenTexts,
    pub pages: Vec<PageDocument>,
}

/// The texts that the makers of a collection give for an image. A text that is missing is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenTexts {
    /// `image-caption.txt`: what the image shows, in a sentence.
    pub caption: String,
    /// `image-text.txt`: the text in the image, as the makers recognised it.
    pub text: String,
}

impl GivenTexts {
    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.caption.is_empty() && self.text.is_empty()
    }
}

/// The files of [`GivenTexts`].
const GIVEN_FILES: [&str; 2] = ["image-caption.txt", "image-text.txt"];

/// A page that shows the image.
#[derive(Debug, Default)]
pub struct PageDocument {
    /// The name of the page's directory: "P" and 16 hex digits.
    pub id: String,
    pub url: String,
    /// The bytes of `snapshot/dom.html`; `None` if it is missing or empty.
    pub html: Option<Vec<u8>>,
    /// The positions of the image in the page, as XPaths of a browser.
    pub xpaths: Vec<String>,
    /// `snapshot/text.txt`; only read if there is no HTML.
    pub text: Option<String>,
    /// `rankings.jsonl`.
    pub rankings: Vec<CrawlRank>,
}

/// The rank at which an image search returned this image on this page while the collection was crawled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawlRank {
    pub query: String,
    pub topic: String,
    /// From 1.
    pub rank: u32,
}

impl ImageCollection {
    /// A collection whose files are elsewhere: only its evidence is here, in `store`. `ids` must be sorted.
    pub(crate) fn without_files(store: &Path, ids: impl Iterator<Item = DocId>) -> Self {
        let entry = |id| ImageFolder {
            id,
            dir: PathBuf::new(),
        };
        ImageCollection {
            dir: store.to_owned(),
            entries: ids.map(entry).collect(),
            faults: Vec::new(),
            has_files: false,
        }
    }
}

/// What is in the directory of a document's pages, each with whether it is a directory; nothing if it is missing or cannot be listed.
fn members_of(pages_dir: &Path, faults: &mut Vec<Fault>) -> Vec<(PathBuf, bool)> {
    match regular::exists(pages_dir) {
        Ok(true) if pages_dir.is_dir() => list(pages_dir).unwrap_or_else(|error| {
            let fault = Fault::in_file(FaultKind::Layout, pages_dir, format!("{error:#}"));
            faults.push(match error.downcast_ref() {
                Some(cause) => fault.caused_by(cause),
                None => fault,
            });
            Vec::new()
        }),
        Ok(_) => Vec::new(),
        Err(error) => {
            faults.push(UnreadFile::of(&error).fault(FaultKind::Layout, pages_dir));
            Vec::new()
        }
    }
}

impl ImageFolder {
    /// Lists the document's files. A directory that cannot be listed is a fault, and so is an image that is not a regular file.
    pub fn list(&self, faults: &mut Vec<Fault>) -> DocumentFiles {
        let mut hash = Sha256::new();
        let mut state_hash = Sha256::new();
        let mut files = Vec::new();
        let mut is_settled = true;
        let mut transient = Vec::new();
        let now = SystemTime::now();
        // whether what is at the path is a regular file; `None` if nothing is there
        let mut note = |path: &Path| match fs::metadata(path) {
            Ok(meta) if meta.is_file() => {
                let name = path.strip_prefix(&self.dir).unwrap_or(path);
                hash.update(format!("{}\0{}\n", name.display(), meta.len()));
                let stamp = Stamp::of(&meta);
                is_settled &= stamp.is_settled(now);
                state_hash.update(format!("{}\0{}\n", name.display(), stamp.text));
                files.push(path.to_owned());
                Some(true)
            }
            Ok(_) => Some(false),
            Err(error) => {
                if regular::transient(&error).is_some() {
                    transient.push(UnreadFile::of(&error).fault(FaultKind::Layout, path));
                }
                None
            }
        };
        let mut images: Vec<PathBuf> = Vec::new();
        for path in IMAGE_FILES.map(|name| self.dir.join(name)) {
            match note(&path) {
                Some(true) => images.push(path),
                Some(false) => faults.push(Fault::in_file(
                    FaultKind::Image,
                    &path,
                    "not a regular file",
                )),
                None => {}
            }
        }
        note(&self.dir.join("image-url.txt"));
        for file in GIVEN_FILES {
            note(&self.dir.join(file));
        }
        let pages_dir = self.dir.join("pages");
        let mut pages = Vec::new();
        for (path, is_dir) in members_of(&pages_dir, faults) {
            if !is_dir {
                faults.push(Fault::in_file(
                    FaultKind::Layout,
                    &path,
                    "not a page's directory",
                ));
                continue;
            }
            for file in PAGE_FILES {
                note(&path.join(file));
            }
            pages.push(path);
        }
        faults.append(&mut transient);
        let state = is_settled.then(|| first_half(state_hash));
        DocumentFiles {
            images,
            pages,
            fingerprint: hex(&hash.finalize()[..8]),
            state: state.unwrap_or_default(),
            files,
            digests: BTreeMap::new(),
        }
    }

    /// A hash over the names and contents of all files of the listing. [`DocumentFiles::read`] compares what it reads with them. If a file cannot be
    /// read, the error is hashed instead of its contents.
    pub fn content(&self, listing: &mut DocumentFiles) -> String {
        let mut hash = Sha256::new();
        for path in &listing.files {
            let name = path.strip_prefix(&self.dir).unwrap_or(path);
            // each file has a separate hash, so that bytes cannot move from one file to the next unnoticed
            let of_file = regular::open(path).and_then(|file| {
                // no evidence is computed from a larger file
                digest_of(file.take(MAX_DOCUMENT_FILE_BYTES))
            });
            hash.update(format!("{}\0", name.display()));
            match of_file {
                Ok(digest) => {
                    hash.update(digest);
                    listing.digests.insert(path.clone(), digest);
                }
                Err(error) => hash.update(error.to_string()),
            }
        }
        first_half(hash)
    }

    /// Reads everything except the image. What is missing or broken becomes a fault, and is empty in the result.
    pub fn read(&self, listing: &DocumentFiles, faults: &mut Vec<Fault>) -> ImageDocument {
        if listing.images.is_empty() {
            faults.push(Fault::in_file(FaultKind::Image, &self.dir, "no image file"));
        }
        if listing.pages.is_empty() {
            faults.push(Fault::no_page(&self.dir));
        }
        let mut texts = TextFiles {
            listing,
            left: MAX_DOCUMENT_TEXT_BYTES,
        };
        let url = texts.read(&self.dir.join("image-url.txt"), FaultKind::Page, faults);
        let phash = bytes_of(&self.dir.join("image-phash.txt"))
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .and_then(|text| parse_phash(text.trim()));
        let [caption, text] = GIVEN_FILES.map(|file| {
            let path = self.dir.join(file);
            // only the collections of some years have these files
            let text = texts.read_if_any(&path, FaultKind::Page, faults);
            text.unwrap_or_default().trim().to_owned()
        });
        ImageDocument {
            url: url.unwrap_or_default().trim().to_owned(),
            phash,
            given: GivenTexts { caption, text },
            pages: listing
                .pages
                .iter()
                .map(|dir| read_page(dir, &mut texts, faults))
                .collect(),
        }
    }
}

/// The first half of a SHA-256 in hexadecimal. It detects changes; it need not withstand forgery.
fn first_half(hash: Sha256) -> String {
    hex(&hash.finalize()[..16])
}

/// The files of a page from which evidence is computed.
const PAGE_FILES: [&str; 5] = [
    "page-url.txt",
    "rankings.jsonl",
    "snapshot/dom.html",
    "snapshot/image-xpath.txt",
    "snapshot/text.txt",
];

fn read_page(dir: &Path, texts: &mut TextFiles, faults: &mut Vec<Fault>) -> PageDocument {
    let url = texts.read(&dir.join("page-url.txt"), FaultKind::Page, faults);
    let dom = dir.join("snapshot/dom.html");
    let html = texts.bytes_of(&dom).and_then(|bytes| match bytes.len() {
        0 => Err(UnreadFile {
            what: "empty file".to_owned(),
            transient: None,
        }),
        _ => Ok(bytes),
    });
    let (mut text, mut xpaths, mut page) = (None, None, None);
    match html {
        Err(unread) => {
            faults.push(unread.fault(FaultKind::Page, &dom));
            let path = dir.join("snapshot/text.txt");
            match texts.bytes_of(&path) {
                Ok(bytes) => text = Some(String::from_utf8_lossy(&bytes).into_owned()),
                // a missing text.txt is not a second fault
                Err(unread) if unread.transient.is_some() => {
                    faults.push(unread.fault(FaultKind::Page, &path));
                }
                Err(_) => {}
            }
        }
        Ok(html) => {
            page = Some(html);
            let path = dir.join("snapshot/image-xpath.txt");
            xpaths = texts.read(&path, FaultKind::XPath, faults);
        }
    }
    let xpaths = xpaths.unwrap_or_default();
    let xpaths = xpaths.lines().map(str::trim);
    PageDocument {
        id: file_name(dir),
        url: url.unwrap_or_default().trim().to_owned(),
        html: page,
        xpaths: xpaths
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect(),
        text,
        rankings: read_rankings(&dir.join("rankings.jsonl"), texts, faults),
    }
}

/// Reads `rankings.jsonl`. A missing file is not a fault, because only one baseline uses it. A broken line is a fault.
fn read_rankings(path: &Path, texts: &mut TextFiles, faults: &mut Vec<Fault>) -> Vec<CrawlRank> {
    let text = texts.read_if_any(path, FaultKind::Rankings, faults);
    let text = text.unwrap_or_default();
    let mut rankings = Vec::new();
    // some editors begin a file with a byte order mark
    for (n, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        if line.trim().is_empty() {
            continue;
        }
        match parse_ranking(line) {
            Some(ranking) => rankings.push(ranking),
            None => {
                let what = "not {\"query\", \"topic\", \"rank\"}";
                faults.push(Fault::new(FaultKind::Rankings, path, Some(n), what));
            }
        }
    }
    rankings
}

/// Parses `{"query":"…","topic":"34","rank":61}`. Topic and rank may be numbers or strings.
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
    let parse = || u64::from_str_radix(text, 2).ok();
    (text.len() == 64).then(parse).flatten()
}

/// Reads a regular file of at most 256 MiB. The error gives the reason ("missing", the file is too large) without the path.
pub fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    regular::read(path, MAX_DOCUMENT_FILE_BYTES).map_err(|error| reason(&error))
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "missing".into(),
        _ => error.to_string(),
    }
}

/// Reads the text files of one document.
struct TextFiles<'a> {
    listing: &'a DocumentFiles,
    /// The number of bytes that may still be read.
    left: u64,
}

impl TextFiles<'_> {
    /// Reads a file.
    fn bytes_of(&mut self, path: &Path) -> Result<Vec<u8>, UnreadFile> {
        let bytes = self.listing.read_up_to(path, self.left)?;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(bytes)
    }

    /// As [`TextFiles::read`], but a missing file is no fault.
    fn read_if_any(
        &mut self,
        path: &Path,
        kind: FaultKind,
        faults: &mut Vec<Fault>,
    ) -> Option<String> {
        match regular::exists(path) {
            Ok(true) => self.read(path, kind, faults),
            Ok(false) => None,
            Err(error) => {
                faults.push(UnreadFile::of(&error).fault(kind, path));
                None
            }
        }
    }

    /// Reads a text file. It is a fault if the file is missing, unreadable or not UTF-8; in the last case, invalid bytes are replaced.
    fn read(&mut self, path: &Path, kind: FaultKind, faults: &mut Vec<Fault>) -> Option<String> {
        match self.bytes_of(path) {
            Ok(bytes) => Some(String::from_utf8(bytes).unwrap_or_else(|error| {
                faults.push(Fault::in_file(kind, path, "not UTF-8"));
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            })),
            Err(unread) => {
                faults.push(unread.fault(kind, path));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
