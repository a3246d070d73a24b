//! The image collections of Touché 2022 to 2025: a directory `images/I<2 hex>/I<hex>/` for each image, with the pages that show it. Images of 2024
//! and 2025 also have a caption, and the text in the image as the organisers' OCR read it.
//!
//! Only the ids and directories of all documents are kept in memory. Their contents are read one document at a time (`documents`).

mod documents;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result, bail};
use riposte_eval::DocId;

use super::{Fault, FaultKind};
use crate::disk::{is_hex, regular};
pub use documents::{
    CrawlRank, DocumentFiles, FileState, GivenTexts, ImageDocument, PageDocument, UnreadFile,
    bytes_of,
};

/// The documents of an image collection, with the directory of each.
#[derive(Debug)]
pub struct ImageCollection {
    /// The directory, as it was given to [`Self::open`].
    pub dir: PathBuf,
    /// The documents, sorted by id.
    pub entries: Vec<ImageFolder>,
    /// Files and directories in `images/` that do not belong to the layout.
    pub faults: Vec<Fault>,
    /// Whether the files of the documents are here. If not, no evidence can be computed.
    pub has_files: bool,
}

/// A document of the collection.
#[derive(Clone, Debug)]
pub struct ImageFolder {
    pub id: DocId,
    pub dir: PathBuf,
}

impl ImageCollection {
    /// Finds the documents in `dir`, sorted by id.
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
        let mut misplaced =
            |path: &Path, what: &str| faults.push(Fault::in_file(FaultKind::Layout, path, what));
        let mut entries: Vec<ImageFolder> = Vec::new();
        for (prefix, is_dir) in list(&images)? {
            let name = file_name(&prefix);
            if !is_dir || !is_id(&name, 3) {
                misplaced(&prefix, "not a directory named I and 2 hex digits");
                continue;
            }
            let inner = match list(&prefix) {
                Ok(inner) => inner,
                // otherwise hundreds of images would be missing from the run
                Err(error) if is_transient(&error) => return Err(error),
                Err(error) => {
                    misplaced(&prefix, &format!("{error:#}"));
                    Vec::new()
                }
            };
            for (dir, is_dir) in inner {
                let id = DocId(file_name(&dir));
                if !is_dir || !is_document_id(&id.0) {
                    let what = "not a directory named I and at least 16 hex digits";
                    misplaced(&dir, what);
                } else if !id.0.starts_with(&name) {
                    let what = format!("an id that does not begin with {name}; skipped");
                    misplaced(&dir, &what);
                } else {
                    entries.push(ImageFolder { id, dir });
                }
            }
        }
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(ImageCollection {
            dir: dir.to_owned(),
            entries,
            faults,
            has_files: true,
        })
    }

    /// Whether `dir` has any document. It stops at the first one, so a large collection takes no longer than a small one.
    ///
    /// # Errors
    /// A directory cannot be listed.
    pub fn has_any(dir: &Path) -> Result<bool> {
        for (prefix, is_dir) in list(&dir.join("images"))? {
            if !is_dir || !is_id(&file_name(&prefix), 3) {
                continue;
            }
            let is_document =
                |(dir, is_dir): &(PathBuf, bool)| *is_dir && is_document_id(&file_name(dir));
            if list(&prefix)?.iter().any(is_document) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Keeps only these documents. `ids` must be sorted.
    pub fn retain(&mut self, ids: &[DocId]) {
        self.entries
            .retain(|entry| ids.binary_search(&entry.id).is_ok());
    }
}

/// Whether a directory could not be listed because of a temporary error.
fn is_transient(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_some_and(|cause| regular::transient(cause).is_some())
}

/// The paths in a directory, sorted by name, without hidden ones. Each comes with whether it is a directory, or a link to one.
fn list(dir: &Path) -> Result<Vec<(PathBuf, bool)>> {
    let listing = || format!("cannot list {}", dir.display());
    let mut members = Vec::new();
    for entry in fs::read_dir(dir).with_context(listing)? {
        let entry = entry.with_context(listing)?;
        let path = entry.path();
        if !file_name(&path).starts_with('.') {
            // most systems give the type together with the name, which saves a system call for each of tens of thousands of directories
            let is_dir = match entry.file_type() {
                Ok(kind) if !kind.is_symlink() => kind.is_dir(),
                _ => path.is_dir(),
            };
            members.push((path, is_dir));
        }
    }
    members.sort();
    Ok(members)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(OsStr::new(""))
        .to_string_lossy()
        .into_owned()
}

/// Whether `name` is the name of a document's directory.
pub(super) fn is_document_id(name: &str) -> bool {
    name.len() >= 17 && is_id(name, name.len())
}

/// Whether `name` is "I" and lower-case hex digits, `length` characters in all.
fn is_id(name: &str, length: usize) -> bool {
    name.len() == length && name.strip_prefix('I').is_some_and(is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hexadecimal() {
        assert!(is_id("I2b62b2335042df6d", 17));
        assert!(!is_id("I2B62b2335042df6d", 17));
        assert!(!is_id("P2b62b2335042df6d", 17));
        assert!(!is_id("I2b", 17));
    }
}
