//! Pages and pictures that a browser or a crawler has saved: as files in a folder, or in MHTML, WARC or WACZ. `riposte collection new` makes a
//! collection of them.

pub mod embedded;
mod headers;
mod http;
pub mod location;
mod mhtml;
mod packed;
mod wacz;
mod warc;

use std::fmt::Display;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use encoding_rs::{Encoding, UTF_8};

use super::{Fault, FaultKind};
use crate::disk::regular;
use crate::limits::{MAX_MHTML_BYTES, MAX_SAVED_DEPTH, MAX_SAVED_FILE_BYTES, MAX_SAVED_FILES};

/// Some programs leave out the padding, or leave bits in the last character.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedKind {
    Page,
    Picture,
}

/// A page or a picture.
#[derive(Debug)]
pub struct SavedFile {
    /// Where it was loaded from.
    pub location: String,
    pub bytes: Vec<u8>,
    /// The file itself, or the archive that it is in.
    pub file: PathBuf,
}

impl SavedFile {
    fn new(location: String, bytes: Vec<u8>, file: &Path) -> SavedFile {
        SavedFile {
            location,
            bytes,
            file: file.to_owned(),
        }
    }
}

/// Something in a source.
#[derive(Debug)]
pub enum SavedItem {
    Saved(SavedKind, SavedFile),
    /// Whoever refers to `from` gets what is at `to`.
    Redirect {
        from: String,
        to: String,
    },
    /// A response with an error, such as 404, was left out.
    NoAnswer,
    /// HTML that is not in the list of pages of its WACZ file was left out.
    Unlisted,
    Fault(Fault),
}

/// Receives everything that is found in a source.
pub(crate) type OnFound<'f> = dyn FnMut(SavedItem) -> Result<()> + 'f;

impl SavedItem {
    fn fault(kind: SavedKind, file: &Path, what: impl Display) -> SavedItem {
        let kind = match kind {
            SavedKind::Page => FaultKind::Page,
            SavedKind::Picture => FaultKind::Image,
        };
        SavedItem::Fault(Fault::in_file(kind, file, what.to_string()))
    }
}

/// Lists the files of a source in the order of their paths: the file itself, or all files below a folder. Symbolic links could lead out of the folder, so
/// they are only counted; the number of them is the second value.
///
/// # Errors
/// The source does not exist or cannot be listed, or has too many files.
pub fn files(source: &Path) -> Result<(Vec<PathBuf>, usize)> {
    let listing = || format!("cannot list {}", source.display());
    if !fs::metadata(source).with_context(listing)?.is_dir() {
        return Ok((vec![source.to_owned()], 0));
    }
    let (mut files, mut links) = (Vec::new(), 0);
    let mut folders = vec![(source.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let listing = || format!("cannot list {}", folder.display());
        for entry in fs::read_dir(&folder).with_context(listing)? {
            let entry = entry.with_context(listing)?;
            let (path, kind) = (entry.path(), entry.file_type().with_context(listing)?);
            if kind.is_symlink() {
                links += 1;
            } else if kind.is_dir() {
                let what = "folders within folders";
                ensure!(
                    depth < MAX_SAVED_DEPTH,
                    "{}: more than {MAX_SAVED_DEPTH} {what}",
                    path.display()
                );
                folders.push((path, depth + 1));
            } else {
                files.push(path);
            }
            ensure!(
                files.len() <= MAX_SAVED_FILES,
                "{}: more than {MAX_SAVED_FILES} files",
                source.display()
            );
        }
    }
    files.sort();
    Ok((files, links))
}

/// Passes the pages and pictures in a file to `found`. Other files, such as the scripts of a saved page, are passed over.
///
/// # Errors
/// `found` fails. What is broken in the file is no error: it is passed to `found` as a fault.
pub fn read(file: &Path, found: &mut OnFound) -> Result<()> {
    let name = file.file_name().unwrap_or_default();
    let name = name.to_string_lossy().to_lowercase();
    if let Some(what) = foreign(&name) {
        return found(SavedItem::fault(SavedKind::Page, file, what));
    }
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let kind = match extension {
        "html" | "htm" | "xhtml" | "xht" => SavedKind::Page,
        "mhtml" | "mht" => return read_mhtml(file, found),
        "wacz" => return read_archive(file, wacz::read, found),
        _ if is_warc(&name) => return read_archive(file, read_warc, found),
        _ if PICTURES.contains(&extension) => SavedKind::Picture,
        // browsers and wget save pages and pictures under the names that their addresses have: `picture`, `page.php?id=1`
        _ => match kind_by_beginning(file) {
            Ok(Some(kind)) => kind,
            Ok(None) => return Ok(()),
            Err(error) => return found(SavedItem::fault(SavedKind::Picture, file, error)),
        },
    };
    match regular::read(file, MAX_SAVED_FILE_BYTES) {
        Ok(bytes) => {
            let path = std::path::absolute(file);
            let path = path.with_context(|| format!("cannot read {}", file.display()))?;
            let saved = SavedFile::new(location::of_file(&path), bytes, file);
            found(SavedItem::Saved(kind, saved))
        }
        Err(error) => found(SavedItem::fault(kind, file, error)),
    }
}

fn read_mhtml(file: &Path, found: &mut OnFound) -> Result<()> {
    let bytes = match regular::read(file, MAX_MHTML_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => return found(SavedItem::fault(SavedKind::Page, file, error)),
    };
    or_fault(file, found, |found| mhtml::read(&bytes, file, found))
}

/// Reads a file by `read`. If that fails and `found` did not, the file is broken, which is a fault.
fn or_fault(
    file: &Path,
    found: &mut OnFound,
    read: impl FnOnce(&mut OnFound) -> Result<()>,
) -> Result<()> {
    let mut failed = false;
    match read(&mut |one| found(one).inspect_err(|_| failed = true)) {
        Err(error) if !failed => {
            let what = format!("{error:#}");
            found(SavedItem::fault(SavedKind::Page, file, what))
        }
        result => result,
    }
}

type ReadArchive = fn(fs::File, &Path, &mut OnFound) -> Result<()>;

fn read_archive(file: &Path, read: ReadArchive, found: &mut OnFound) -> Result<()> {
    let opened = match regular::open(file) {
        Ok(opened) => opened,
        Err(error) => return found(SavedItem::fault(SavedKind::Page, file, error)),
    };
    or_fault(file, found, |found| read(opened, file, found))
}

fn read_warc(input: fs::File, file: &Path, found: &mut OnFound) -> Result<()> {
    let size = input.metadata().map_or(0, |found| found.len());
    warc::read(input, size, file, &|_| true, found)
}

/// File name extensions of pictures.
const PICTURES: [&str; 12] = [
    "webp", "png", "jpg", "jpeg", "jfif", "gif", "bmp", "ico", "tif", "tiff", "avif", "svg",
];

/// Whether a file is WARC, by its name in lower case.
fn is_warc(name: &str) -> bool {
    [".warc", ".warc.gz", ".warc.zst"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Web archives that riposte does not read, by the ends of their names in lower case, and what can be done.
const FOREIGN: [(&[&str], &str); 8] = [
    (
        &[".arc", ".arc.gz"],
        "ARC, the format before WARC: convert it with `warcio recompress IN OUT.warc.gz`",
    ),
    (
        &[".har"],
        "a record of a browser's requests (HAR): convert it with `har2warc IN OUT.warc.gz`",
    ),
    (
        &[".maff"],
        "a zip file of saved pages (MAFF): unpack it, and name the folder",
    ),
    (
        &[".webarchive"],
        "a web archive of Safari: save the page with another browser, or with SingleFile",
    ),
    (
        &[".zim"],
        "an archive for Kiwix (ZIM): unpack it with `zimdump dump --dir=FOLDER FILE`, and name the folder",
    ),
    (
        &[".warc.bz2", ".arc.bz2"],
        "packed with bzip2: unpack it first (bunzip2)",
    ),
    (
        &[".warc.xz", ".arc.xz", ".warc.lz4"],
        "packed in a way that riposte does not unpack: unpack it first (unxz, lz4 -d)",
    ),
    (
        &[".mhtml.gz", ".mht.gz", ".html.gz", ".htm.gz", ".wacz.gz"],
        "packed with gzip: unpack it first (gunzip)",
    ),
];

/// What to say of a web archive that riposte does not read.
fn foreign(name: &str) -> Option<&'static str> {
    let is_one = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let found = FOREIGN.iter().find(|(ends, _)| is_one(ends));
    found.map(|(_, what)| *what)
}

/// Number of bytes from which a picture or a page is recognised.
const MAGIC_BYTES: u64 = 512;

fn kind_by_beginning(file: &Path) -> std::io::Result<Option<SavedKind>> {
    let mut start = Vec::new();
    regular::open(file)?
        .take(MAGIC_BYTES)
        .read_to_end(&mut start)?;
    Ok(if image::guess_format(&start).is_ok() {
        Some(SavedKind::Picture)
    } else {
        begins_as_page(&start).then_some(SavedKind::Page)
    })
}

/// Whether a file begins as an HTML page does, perhaps after an XML declaration and comments.
fn begins_as_page(start: &[u8]) -> bool {
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let mut rest = start.trim_start_matches('\u{feff}').trim_start();
    loop {
        let end = match rest {
            _ if rest.starts_with("<?xml") => "?>",
            _ if rest.starts_with("<!--") => "-->",
            _ => return rest.starts_with("<!doctype html") || rest.starts_with("<html"),
        };
        match rest.split_once(end) {
            Some((_, after)) => rest = after.trim_start(),
            None => return false,
        }
    }
}

/// What bytes are, by the type that a server gives them and by their beginning. `None` for style sheets, scripts and the like.
fn kind_of(media_type: &str, bytes: &[u8]) -> Option<SavedKind> {
    if image::guess_format(bytes).is_ok() {
        return Some(SavedKind::Picture);
    }
    match media_type {
        "text/html" | "application/xhtml+xml" => Some(SavedKind::Page),
        other if other.starts_with("image/") => Some(SavedKind::Picture),
        _ => None,
    }
}

/// The bytes of a page, converted to UTF-8 if the server named another encoding and no byte order mark contradicts it.
fn in_utf8(bytes: Vec<u8>, charset: &str) -> Vec<u8> {
    match Encoding::for_label(charset.as_bytes()) {
        Some(encoding) if encoding != UTF_8 && Encoding::for_bom(&bytes).is_none() => {
            encoding.decode(&bytes).0.into_owned().into_bytes()
        }
        _ => bytes,
    }
}
