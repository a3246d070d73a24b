//! The directory of the data sets: which real collections can be had, which are here, and which directory a name of one means.
//!
//! The layout is `<directory>/<data set>/<file>`, as the commands read it. A data set is complete once `dataset.toml` is in its directory. What is
//! not finished yet is in `.get` there: downloads, archives, and a record for each file with what has been done with it.

mod catalogue;
mod entry_name;
mod get;
mod unpack;

pub use catalogue::{DataFile, DatasetCatalogue, DatasetEntry};
pub use entry_name::ExtractedPath;
pub use get::{DatasetRequest, FetchedDataset, get};

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use indicatif::DecimalBytes;
use serde::{Deserialize, Serialize};

use crate::directories::datasets_directory;
use crate::disk::{open_lock, read_record, regular, remove_if_there, try_lock};
use entry_name::{MARKER, UNFINISHED};

/// What stands before the name of a data set where a path could be meant, too.
const PREFIX: &str = "dataset:";

/// The lock file in the directory of unfinished work.
const LOCK: &str = "lock";

/// `dataset.toml`: the files of a data set that are in place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct DatasetRecord {
    #[serde(default)]
    name: String,
    #[serde(default)]
    file: BTreeMap<String, InstalledFile>,
}

/// A file that is in place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct InstalledFile {
    bytes: u64,
    sha256: String,
    /// The address or path that it came from.
    from: String,
    /// For an archive: the number of its entries, and of the bytes that came out of it.
    #[serde(default)]
    entries: u64,
    #[serde(default)]
    unpacked: u64,
}

/// Whether a data set is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatasetStatus {
    Absent,
    /// A `get` was interrupted; the next one goes on.
    Unfinished,
    /// All files are in place, and those of these parts.
    Complete {
        parts: Vec<String>,
    },
}

/// The directory of the data sets, with the catalogue.
#[derive(Clone, Debug)]
pub struct Datasets {
    dir: PathBuf,
    catalogue: DatasetCatalogue,
}

impl Datasets {
    /// The chosen directory, else the value of `RIPOSTE_DATASETS`, else `riposte/datasets` in the user's data directory.
    ///
    /// # Errors
    /// None of these is known, or the catalogue cannot be used.
    pub fn at(dir: Option<&Path>) -> Result<Datasets> {
        let dir = datasets_directory(dir)?;
        let dir = std::path::absolute(&dir);
        Ok(Datasets {
            dir: dir.context("the directory of the data sets has no path")?,
            catalogue: DatasetCatalogue::chosen()?,
        })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn catalogue(&self) -> &DatasetCatalogue {
        &self.catalogue
    }

    /// The directory of a data set. It need not exist.
    pub fn dir_of(&self, entry: &DatasetEntry) -> PathBuf {
        self.dir.join(&entry.name)
    }

    /// # Errors
    /// The record of what is there cannot be read.
    pub fn status(&self, entry: &DatasetEntry) -> Result<DatasetStatus> {
        let dir = self.dir_of(entry);
        let marker: DatasetRecord = read_record(&dir.join(MARKER))?;
        let is_here = |file: &DataFile| marker.file.contains_key(&file.file);
        if !marker.file.is_empty() && entry.files_of(&[]).all(is_here) {
            let of_part = |file: &DataFile| file.part.clone().filter(|_| is_here(file));
            let parts = entry.files.iter().filter_map(of_part).collect();
            return Ok(DatasetStatus::Complete { parts });
        }
        let begun = regular::exists(&dir.join(UNFINISHED));
        match begun.with_context(|| format!("cannot read {}", dir.display()))? {
            true => Ok(DatasetStatus::Unfinished),
            false => Ok(DatasetStatus::Absent),
        }
    }

    /// The directory of a data set that is here.
    ///
    /// # Errors
    /// It is not, or not completely. The message says which command gets it, and how large it is.
    fn complete(&self, entry: &DatasetEntry) -> Result<PathBuf> {
        let here = match self.status(entry)? {
            DatasetStatus::Complete { .. } => return Ok(self.dir_of(entry)),
            DatasetStatus::Unfinished => "only partly here",
            DatasetStatus::Absent => "not here",
        };
        let name = &entry.name;
        let consent = entry.consent.as_ref().map_or("", |_| " --accept-licence");
        // a bound of the catalogue stands for a size that nobody has published
        let exact = entry.files_of(&[]).all(|file| file.bytes.is_some());
        let at_most = if exact { "" } else { "at most " };
        let size = DecimalBytes(self.bytes_with_used(entry));
        bail!(
            "the data set {name} is {here}: `riposte datasets get {name}{consent}` gets it ({at_most}{size})"
        )
    }

    /// The bytes to download for a data set, with those that it uses and that are not here. At most, if nobody has published all sizes.
    pub fn bytes_with_used(&self, entry: &DatasetEntry) -> u64 {
        let used = entry
            .uses
            .iter()
            .filter_map(|name| self.catalogue.find(name));
        let missing =
            used.filter(|e| !matches!(self.status(e), Ok(DatasetStatus::Complete { .. })));
        entry.bytes() + missing.map(DatasetEntry::bytes).sum::<u64>()
    }

    /// Removes what is there of a data set. Returns whether there was anything.
    ///
    /// # Errors
    /// Another process is getting it, or it cannot be removed.
    pub fn remove(&self, entry: &DatasetEntry) -> Result<bool> {
        let dir = self.dir_of(entry);
        let removing = || format!("cannot remove {}", dir.display());
        let is_there = |name: &str| regular::exists(&dir.join(name)).with_context(removing);
        if !is_there(MARKER)? && !is_there(UNFINISHED)? {
            return Ok(false);
        }
        let _lock = lock(&dir, &entry.name)?;
        // first, so that what is left after a crash does not look complete
        remove_if_there(&dir.join(MARKER)).with_context(removing)?;
        fs::remove_dir_all(&dir).with_context(removing)?;
        Ok(true)
    }
}

/// Locks the directory of a data set against other processes, until the file is dropped.
///
/// # Errors
/// Another process has locked it, or it cannot be written.
fn lock(dir: &Path, name: &str) -> Result<File> {
    let unfinished = dir.join(UNFINISHED);
    let writing = || format!("cannot write {}", unfinished.display());
    fs::create_dir_all(&unfinished).with_context(writing)?;
    let file = open_lock(&unfinished.join(LOCK)).with_context(writing)?;
    let is_free = try_lock(&file).with_context(writing)?;
    ensure!(
        is_free,
        "another riposte is getting or removing the data set {name}"
    );
    Ok(file)
}

/// The data set that a word means where a path could be meant, too; `None` if it means a path. What exists is a path, unless the word begins with
/// `dataset:`.
///
/// # Errors
/// There is no data set of the name after `dataset:`, or the catalogue cannot be used.
fn meant(word: &Path) -> Result<Option<(Datasets, DatasetEntry)>> {
    let Some(text) = word.to_str() else {
        return Ok(None);
    };
    if let Some(name) = text.strip_prefix(PREFIX) {
        let datasets = Datasets::at(None)?;
        let entry = datasets.catalogue.entry(name)?.clone();
        return Ok(Some((datasets, entry)));
    }
    let exists = regular::exists(word);
    if exists.with_context(|| format!("cannot read {}", word.display()))? {
        return Ok(None);
    }
    let catalogue = DatasetCatalogue::chosen()?;
    match catalogue.find(text) {
        Some(entry) => Ok(Some((Datasets::at(None)?, entry.clone()))),
        None => Ok(None),
    }
}

/// The directory that a word means: that of the data set with this name, or else the path itself.
///
/// # Errors
/// The data set is not here. The message says which command gets it.
pub fn directory(word: &Path) -> Result<PathBuf> {
    match meant(word)? {
        Some((datasets, entry)) => datasets.complete(&entry),
        None => Ok(word.to_owned()),
    }
}

/// The judgements of the data set that a word means, each with the name that it gets in tables; `None` if it means a path. A name before `=` in the
/// word is kept.
///
/// # Errors
/// The data set is not here, or has no judgements.
pub fn judgements(word: &str) -> Result<Option<Vec<String>>> {
    let (label, rest) = match word.split_once('=') {
        Some((label, rest)) if !label.contains('/') => (Some(label), rest),
        _ => (None, word),
    };
    // a file can have a name with = in it
    let whole = meant(Path::new(word))?;
    let (found, label) = match whole {
        Some(found) => (Some(found), None),
        None if label.is_some() => (meant(Path::new(rest))?, label),
        None => (None, None),
    };
    let Some((datasets, entry)) = found else {
        return Ok(None);
    };
    // before anybody downloads it in vain
    let name = &entry.name;
    ensure!(
        !entry.qrels.is_empty(),
        "riposte knows of no judgements for the data set {name}"
    );
    let dir = datasets.complete(&entry)?;
    let one = |file: &String| {
        let path = dir.join(file);
        let path = path.to_str().context("the path is not UTF-8")?.to_owned();
        let stem = file.rsplit('/').next().unwrap_or(file);
        let stem = stem.split('.').next().unwrap_or(stem);
        Ok(match (label, entry.qrels.len()) {
            (Some(label), 1) => format!("{label}={path}"),
            (Some(label), _) => format!("{label}-{stem}={path}"),
            (None, 1) => path,
            (None, _) => format!("{stem}={path}"),
        })
    };
    entry.qrels.iter().map(one).collect::<Result<_>>().map(Some)
}
