//! The catalogue of data sets that riposte can get: `datasets/datasets.toml`, parsed and checked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::entry_name::{self, ExtractedPath};
use crate::collection::task::Task;
use crate::directories::CATALOGUE_VARIABLE;
use crate::disk::{is_hex, is_plain_name, regular};
use crate::limits::{
    MAX_ARCHIVE_GROWTH, MAX_ARCHIVE_MORE_BYTES, MAX_CATALOGUE_BYTES, MAX_COMPARED_NAME_BYTES,
    MAX_TIMES_STATED,
};
use crate::web::is_web_address;

/// One file of a data set.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataFile {
    /// The file's name at its publisher. An archive is unpacked, if `unpack` says so: `.zip`, `.tar`, `.tar.gz` or `.tgz`.
    pub file: String,
    /// Tried in this order. At least one.
    pub urls: Vec<String>,
    /// The file's size. `None` if nobody has published it; then `most` bounds the download.
    pub bytes: Option<u64>,
    pub most: Option<u64>,
    /// In lower-case hexadecimal. Without a checksum, that of the first download is recorded.
    pub md5: Option<String>,
    pub sha256: Option<String>,
    /// The part that the file belongs to; `None` if the data set is incomplete without it.
    pub part: Option<String>,
    /// About how many bytes the archive takes when it is unpacked.
    pub unpacked: Option<u64>,
    /// Where the file goes, if it is no archive.
    pub to: Option<String>,
    #[serde(default)]
    pub unpack: Vec<ExtractedPath>,
}

impl DataFile {
    /// The file's size, or the largest that is accepted.
    pub fn at_most(&self) -> u64 {
        self.bytes.or(self.most).unwrap_or(0)
    }

    /// The largest number of bytes that may come out of the file.
    pub fn at_most_unpacked(&self) -> u64 {
        match self.unpacked {
            Some(about) => about.saturating_mul(MAX_TIMES_STATED),
            None => self
                .at_most()
                .saturating_mul(MAX_ARCHIVE_GROWTH)
                .saturating_add(MAX_ARCHIVE_MORE_BYTES),
        }
    }

    /// About how many bytes the file takes in the collection; at least its own size, if nobody says more.
    pub fn about_in_place(&self) -> u64 {
        self.unpacked.unwrap_or(self.at_most())
    }
}

/// A data set of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetEntry {
    /// Also the name of its directory.
    pub name: String,
    /// Other names, such as the ids of ir_datasets.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The task of the command that ranks it.
    pub task: Task,
    pub about: String,
    pub licence: String,
    /// What a user must accept before anything is fetched.
    pub consent: Option<String>,
    pub doi: Option<String>,
    pub citation: String,
    /// The data sets whose files are linked into the directory.
    #[serde(default)]
    pub uses: Vec<String>,
    /// The files with judgements, by their places in the directory.
    #[serde(default)]
    pub qrels: Vec<String>,
    #[serde(rename = "file")]
    pub files: Vec<DataFile>,
}

impl DatasetEntry {
    /// The files without which the data set is incomplete, and those of the given parts.
    pub fn files_of<'a>(&'a self, parts: &'a [String]) -> impl Iterator<Item = &'a DataFile> {
        let is_meant = |part: &String| parts.iter().any(|other| other == part || other == "all");
        self.files
            .iter()
            .filter(move |file| file.part.as_ref().is_none_or(is_meant))
    }

    /// The parts that can be fetched besides.
    pub fn parts(&self) -> Vec<&str> {
        let parts: BTreeSet<&str> = self
            .files
            .iter()
            .filter_map(|f| f.part.as_deref())
            .collect();
        parts.into_iter().collect()
    }

    /// The number of bytes to download, at most.
    pub fn bytes(&self) -> u64 {
        self.files_of(&[]).map(DataFile::at_most).sum()
    }

    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// The data sets of the catalogue, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetCatalogue {
    #[serde(rename = "dataset")]
    entries: Vec<DatasetEntry>,
}

impl DatasetCatalogue {
    /// The catalogue that `RIPOSTE_DATASETS_CATALOGUE` names, or else the one that is compiled into the program.
    ///
    /// # Errors
    /// The file cannot be read, or something in it is wrong.
    pub fn chosen() -> Result<DatasetCatalogue> {
        match std::env::var_os(CATALOGUE_VARIABLE).filter(|value| !value.is_empty()) {
            None => DatasetCatalogue::embedded(),
            Some(path) => {
                let path = PathBuf::from(path);
                let read =
                    || DatasetCatalogue::parse(&regular::read_text(&path, MAX_CATALOGUE_BYTES)?);
                read().with_context(|| {
                    let path = path.display();
                    format!("cannot use the catalogue {path} of ${CATALOGUE_VARIABLE}")
                })
            }
        }
    }

    /// # Errors
    /// The program was built with a broken catalogue.
    pub fn embedded() -> Result<DatasetCatalogue> {
        DatasetCatalogue::parse(include_str!("../../datasets/datasets.toml"))
            .context("cannot use the embedded datasets/datasets.toml")
    }

    /// # Errors
    /// A name, address, size, checksum or place is malformed, a name occurs twice, or a data set uses another that does not come before it.
    pub fn parse(toml: &str) -> Result<DatasetCatalogue> {
        let catalogue: DatasetCatalogue = toml::from_str(toml)?;
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for entry in &catalogue.entries {
            let name = &entry.name;
            // so that a circle of data sets that use each other is impossible
            for used in &entry.uses {
                let known = catalogue.entries.iter().any(|e| e.name == *used);
                ensure!(
                    known && names.contains(used.as_str()),
                    "data set {name}: {used}, which it uses, is not above it"
                );
            }
            ensure!(
                is_plain_name(name) && names.insert(name),
                "data set {name:?}: not a plain name, or it occurs twice"
            );
            for alias in &entry.aliases {
                ensure!(
                    alias.split('/').all(is_plain_name) && names.insert(alias),
                    "data set {name}: the alias {alias:?} is not a name, or it occurs twice"
                );
            }
            for file in &entry.qrels {
                check_place(file).with_context(|| format!("data set {name}, qrels {file:?}"))?;
            }
            ensure!(!entry.files.is_empty(), "data set {name}: no file");
            let mut files = BTreeSet::new();
            for file in &entry.files {
                check_file(file)
                    .and_then(|()| {
                        ensure!(files.insert(&file.file), "it occurs twice");
                        Ok(())
                    })
                    .with_context(|| format!("data set {name}, file {:?}", file.file))?;
            }
        }
        Ok(catalogue)
    }

    pub fn entries(&self) -> &[DatasetEntry] {
        &self.entries
    }

    /// The data set with this name or alias.
    pub fn find(&self, name: &str) -> Option<&DatasetEntry> {
        self.entries.iter().find(|entry| entry.is_named(name))
    }

    /// Like [`find`](Self::find).
    ///
    /// # Errors
    /// There is no such data set. The message names one with a similar name.
    pub fn entry(&self, name: &str) -> Result<&DatasetEntry> {
        self.find(name).with_context(|| {
            let near = self.entries.iter().min_by_key(|e| distance(&e.name, name));
            let near = near.filter(|e| distance(&e.name, name) <= e.name.len() / 3);
            let hint = near.map_or_else(String::new, |e| format!(": did you mean {}?", e.name));
            format!("there is no data set named {name}{hint} (`riposte datasets list` lists all)")
        })
    }
}

fn distance(name: &str, typed: &str) -> usize {
    if typed.len() > MAX_COMPARED_NAME_BYTES {
        return usize::MAX;
    }
    strsim::damerau_levenshtein(name, typed)
}

fn check_file(file: &DataFile) -> Result<()> {
    ensure!(is_plain_name(&file.file), "not a plain file name");
    ensure!(!file.urls.is_empty(), "no address");
    for url in &file.urls {
        ensure!(is_web_address(url), "{url:?} is not a web address");
    }
    ensure!(
        file.bytes.is_some() != file.most.is_some() && file.at_most() > 0,
        "it needs either `bytes` or `most`, above 0"
    );
    for (hash, digits) in [(&file.md5, 32), (&file.sha256, 64)] {
        if let Some(hash) = hash {
            ensure!(
                hash.len() == digits && is_hex(hash),
                "{hash:?} is not a checksum of {digits} lower-case digits"
            );
        }
    }
    ensure!(
        file.part
            .as_deref()
            .is_none_or(|part| is_plain_name(part) && part != "all"),
        "the part is not a plain name"
    );
    ensure!(
        file.to.is_some() == file.unpack.is_empty(),
        "it needs either `to` or `unpack`"
    );
    ensure!(
        file.unpack.is_empty() || ArchiveKind::of(&file.file).is_some(),
        "it is not the name of an archive (.zip, .tar, .tar.gz or .tgz)"
    );
    if let Some(to) = &file.to {
        check_place(to)?;
    }
    for ExtractedPath { from, to } in &file.unpack {
        ensure!(
            from.ends_with('/') == to.ends_with('/') || from.is_empty(),
            "{from:?} and {to:?} must both be directories, which end in /, or both files"
        );
        for path in [from, to].map(|path| path.trim_end_matches('/')) {
            if !path.is_empty() {
                check_place(path)?;
            }
        }
    }
    Ok(())
}

/// Checks a place in the directory of a data set.
fn check_place(path: &str) -> Result<()> {
    entry_name::check(path)?;
    ensure!(
        !entry_name::is_reserved(Path::new(path)),
        "{path:?} is a name that riposte needs itself"
    );
    Ok(())
}

/// The kinds of archives that riposte unpacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveKind {
    Zip,
    Tar,
    TarGz,
}

impl ArchiveKind {
    /// By the ending of the file's name.
    pub fn of(file: &str) -> Option<ArchiveKind> {
        [
            (".zip", ArchiveKind::Zip),
            (".tar", ArchiveKind::Tar),
            (".tar.gz", ArchiveKind::TarGz),
            (".tgz", ArchiveKind::TarGz),
        ]
        .into_iter()
        .find_map(|(end, kind)| file.ends_with(end).then_some(kind))
    }
}
