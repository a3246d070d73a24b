//! Gets data sets: downloads their files, checks them, and puts them or what is in them into place. After a kill at any moment, the same command goes on.

mod sources;
mod space;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use anyhow::{Context, Result, bail, ensure};
use indicatif::DecimalBytes;
use serde::{Deserialize, Serialize};

use super::entry_name::{MARKER, UNFINISHED};
use super::unpack::{self, Done};
use super::{DataFile, DatasetEntry, DatasetRecord, DatasetStatus, Datasets, InstalledFile, lock};
use crate::disk::{Stamp, parent, read_record, regular, sha256_of, write_record};
use crate::events::{Event, OnEvent};
use crate::web::Transfer;
use sources::DatasetSources;

/// What is to be got.
#[derive(Clone, Debug, Default)]
pub struct DatasetRequest {
    /// Names or aliases.
    pub names: Vec<String>,
    /// Parts besides the files without which a data set is incomplete; `all` means all parts.
    pub parts: Vec<String>,
    /// The address or directory that has the files, instead of their publishers.
    pub mirror: Option<String>,
    pub accept_licence: bool,
}

/// What became of a data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum DatasetOutcome {
    /// All of it was there before.
    Here,
    Got {
        /// The bytes of the files that were got now.
        bytes: u64,
    },
    Failed {
        why: String,
    },
}

/// A data set with what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FetchedDataset {
    pub name: String,
    pub directory: PathBuf,
    #[serde(flatten)]
    pub outcome: DatasetOutcome,
}

impl FetchedDataset {
    pub fn has_failed(&self) -> bool {
        matches!(self.outcome, DatasetOutcome::Failed { .. })
    }
}

impl fmt::Display for FetchedDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, dir) = (&self.name, self.directory.display());
        match &self.outcome {
            DatasetOutcome::Here => writeln!(f, "{name}: already here, in {dir}"),
            DatasetOutcome::Got { bytes } => {
                writeln!(
                    f,
                    "{name}: complete, {} got, in {dir}",
                    DecimalBytes(*bytes)
                )
            }
            DatasetOutcome::Failed { why } => writeln!(f, "{name}: {why}"),
        }
    }
}

/// `.get/FILE.toml`: what has been done with a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct FileProgress {
    /// The state of the downloaded file when it was checked.
    stamp: String,
    /// The number of entries of an archive that are in place.
    #[serde(default)]
    files: u64,
    /// Whether all of the file is in place.
    #[serde(default)]
    is_done: bool,
    #[serde(default)]
    installed: InstalledFile,
}

/// Gets what is asked for and not there yet.
///
/// # Errors
/// A name or part is unknown, a licence is not accepted, or the disk has too little room: then nothing is fetched. A data set that cannot be got is
/// not an error; its outcome says why.
pub fn get(
    datasets: &Datasets,
    asked: &DatasetRequest,
    on_event: &mut OnEvent,
) -> Result<Vec<FetchedDataset>> {
    let entries = chosen(datasets, asked)?;
    check_consent(&entries, asked)?;
    let missing: Vec<(&DatasetEntry, Vec<&DataFile>)> = entries
        .iter()
        .map(|entry| Ok((*entry, missing(datasets, entry, &asked.parts)?)))
        .collect::<Result<_>>()?;
    space::check(datasets, &missing, on_event)?;
    let mut sources = DatasetSources::new(asked.mirror.as_deref())?;
    let mut all = Vec::new();
    for (entry, files) in missing {
        let got = get_one(datasets, entry, &files, &all, &mut sources, on_event);
        let outcome = got.unwrap_or_else(|error| DatasetOutcome::Failed {
            why: format!("{error:#}"),
        });
        all.push(FetchedDataset {
            name: entry.name.clone(),
            directory: datasets.dir_of(entry),
            outcome,
        });
    }
    Ok(all)
}

/// The data sets that are asked for, each after those that it uses.
fn chosen<'d>(datasets: &'d Datasets, asked: &DatasetRequest) -> Result<Vec<&'d DatasetEntry>> {
    let catalogue = datasets.catalogue();
    let mut chosen: Vec<&DatasetEntry> = Vec::new();
    for name in &asked.names {
        let entry = catalogue.entry(name)?;
        let used = entry.uses.iter().map(|used| catalogue.entry(used));
        for entry in used.chain([Ok(entry)]) {
            let entry = entry?;
            if !chosen.iter().any(|other| other.name == entry.name) {
                chosen.push(entry);
            }
        }
    }
    for part in &asked.parts {
        let mut parts: Vec<&str> = chosen.iter().flat_map(|entry| entry.parts()).collect();
        parts.push("all");
        ensure!(
            parts.contains(&part.as_str()),
            "none of these data sets has a part {part}; there is {}",
            parts.join(", ")
        );
    }
    Ok(chosen)
}

fn check_consent(entries: &[&DatasetEntry], asked: &DatasetRequest) -> Result<()> {
    for entry in entries.iter().filter(|_| !asked.accept_licence) {
        if let Some(consent) = &entry.consent {
            let name = &entry.name;
            bail!("{name}: {consent} If you agree, give --accept-licence");
        }
    }
    Ok(())
}

/// The files that are not in place.
fn missing<'e>(
    datasets: &Datasets,
    entry: &'e DatasetEntry,
    parts: &[String],
) -> Result<Vec<&'e DataFile>> {
    let marker: DatasetRecord = read_record(&datasets.dir_of(entry).join(MARKER))?;
    let files = entry.files.iter().filter(|file| {
        let is_meant = entry.files_of(parts).any(|other| other.file == file.file);
        is_meant && !marker.file.contains_key(&file.file)
    });
    Ok(files.collect())
}

fn get_one(
    datasets: &Datasets,
    entry: &DatasetEntry,
    files: &[&DataFile],
    before: &[FetchedDataset],
    sources: &mut DatasetSources,
    on_event: &mut OnEvent,
) -> Result<DatasetOutcome> {
    let dir = datasets.dir_of(entry);
    if files.is_empty() {
        // what a killed process did not come to remove
        if matches!(datasets.status(entry)?, DatasetStatus::Complete { .. })
            && let Ok(_lock) = lock(&dir, &entry.name)
        {
            let _ = fs::remove_dir_all(dir.join(UNFINISHED));
        }
        on_event(Event::step(format!("{}: already here", entry.name)));
        return Ok(DatasetOutcome::Here);
    }
    for used in before.iter().filter(|got| entry.uses.contains(&got.name)) {
        ensure!(
            !used.has_failed(),
            "it uses {}, which could not be got",
            used.name
        );
    }
    let _lock = lock(&dir, &entry.name)?;
    let marker = dir.join(MARKER);
    let mut record: DatasetRecord = read_record(&marker)?;
    record.name.clone_from(&entry.name);
    let mut bytes = 0;
    let mut failures = BTreeMap::new();
    for file in files {
        let getting = Getting {
            dir: &dir,
            unfinished: dir.join(UNFINISHED),
            name: format!("{}/{}", entry.name, file.file),
            entry,
            file,
        };
        match getting.get(sources, on_event) {
            Ok(installed) => {
                bytes += installed.bytes;
                record.file.insert(file.file.clone(), installed);
            }
            Err(error) => {
                let why = format!("{error:#}");
                on_event(Event::step(format!("{}: {why}", getting.name)));
                failures.insert(&file.file, why);
            }
        }
    }
    if let Some((file, why)) = failures.first_key_value() {
        let more = match failures.len() {
            1 => String::new(),
            n => format!(" ({} more files failed)", n - 1),
        };
        bail!("{file}: {why}{more}");
    }
    for used in &entry.uses {
        let used = datasets.catalogue().entry(used)?;
        link_all(&datasets.complete(used)?, &dir)?;
    }
    write_record(&marker, &record)?;
    sync_directory(&dir);
    // the next `get` removes it, if this cannot
    let _ = fs::remove_dir_all(dir.join(UNFINISHED));
    Ok(DatasetOutcome::Got { bytes })
}

/// A file that is being got.
struct Getting<'a> {
    /// The directory of the data set.
    dir: &'a Path,
    unfinished: PathBuf,
    /// The file's name in messages.
    name: String,
    entry: &'a DatasetEntry,
    file: &'a DataFile,
}

impl Getting<'_> {
    fn get(&self, sources: &mut DatasetSources, on_event: &mut OnEvent) -> Result<InstalledFile> {
        let record = self.unfinished.join(format!("{}.toml", self.file.file));
        let archive = self.unfinished.join(&self.file.file);
        // a record that cannot be read costs a download
        let mut step: FileProgress = read_record(&record).unwrap_or_default();
        if step.is_done || self.is_in_place(&archive, &step)? {
            return Ok(step.installed);
        }
        self.download(&archive, &mut step, sources, on_event)?;
        write_record(&record, &step)?;
        match &self.file.to {
            Some(to) => {
                let path = self.dir.join(to);
                let writing = || format!("cannot write {}", path.display());
                fs::create_dir_all(parent(&path)).with_context(writing)?;
                fs::rename(&archive, &path).with_context(writing)?;
                sync_directory(parent(&path));
            }
            None => self.unpack(&archive, &record, &mut step, on_event)?,
        }
        step.is_done = true;
        write_record(&record, &step)?;
        if self.file.to.is_none() {
            fs::remove_file(&archive)
                .with_context(|| format!("cannot remove {}", archive.display()))?;
        }
        Ok(step.installed)
    }

    /// Whether a file that is no archive got its place before a process was killed.
    fn is_in_place(&self, archive: &Path, step: &FileProgress) -> Result<bool> {
        let Some(to) = &self.file.to else {
            return Ok(false);
        };
        if step.installed.sha256.is_empty() || regular::is_file(archive)? {
            return Ok(false);
        }
        let found = regular::open(&self.dir.join(to)).and_then(sha256_of);
        Ok(found.is_ok_and(|sha256| sha256 == step.installed.sha256))
    }

    /// Downloads the file and checks it, unless that is done.
    fn download(
        &self,
        archive: &Path,
        step: &mut FileProgress,
        sources: &mut DatasetSources,
        on_event: &mut OnEvent,
    ) -> Result<()> {
        if regular::is_file(archive)? {
            let reading = || format!("cannot read {}", archive.display());
            let stamp = Stamp::of(&fs::metadata(archive).with_context(reading)?).text;
            if stamp == step.stamp {
                return Ok(());
            }
            // a process was killed before it could note that it had checked the file
            if let Ok(sha256) = sources::check(archive, self.file, None) {
                if sha256 != step.installed.sha256 {
                    *step = FileProgress::default();
                    step.installed.from = "an interrupted download".to_owned();
                }
                return note_checked(archive, sha256, step);
            }
            fs::remove_file(archive).with_context(reading)?;
        }
        *step = FileProgress::default();
        let names = (self.entry.name.as_str(), self.name.as_str());
        let (sha256, from) = sources.fetch(self.file, names, archive, on_event)?;
        step.installed.from = from;
        note_checked(archive, sha256, step)
    }

    fn unpack(
        &self,
        archive: &Path,
        record: &Path,
        step: &mut FileProgress,
        on_event: &mut OnEvent,
    ) -> Result<()> {
        let announced =
            unpack::announced(archive, self.file).with_context(|| self.stays(archive))?;
        let rest = announced
            .unwrap_or(0)
            .saturating_sub(step.installed.unpacked);
        space::check_room(self.dir, rest)?;
        let verb = if step.installed.entries > 0 {
            "goes on to unpack"
        } else {
            "unpacks"
        };
        on_event(Event::step(format!("{}: {verb} it", self.name)));
        let mut transfer = Transfer::new(&self.name, on_event);
        let total = announced.unwrap_or(self.file.about_in_place());
        transfer.begin(step.installed.unpacked, total);
        let done = Done {
            entries: step.installed.entries,
            bytes: step.installed.unpacked,
            files: step.files,
        };
        let mut journal = |done: Done| {
            step.installed.entries = done.entries;
            step.installed.unpacked = done.bytes;
            step.files = done.files;
            write_record(record, step)
        };
        let unpacked = unpack::unpack(
            archive,
            self.file,
            self.dir,
            done,
            &mut transfer,
            &mut journal,
        );
        drop(transfer);
        let done = unpacked.with_context(|| self.stays(archive))?;
        let files = match done.files {
            1 => "1 file".to_owned(),
            n => format!("{n} files"),
        };
        let bytes = DecimalBytes(done.bytes);
        on_event(Event::step(format!("{}: {files}, {bytes}", self.name)));
        Ok(())
    }

    fn stays(&self, archive: &Path) -> String {
        format!(
            "cannot unpack {}, which stays there (`riposte datasets remove {}` removes it)",
            archive.display(),
            self.entry.name
        )
    }
}

/// Notes that a downloaded file has been checked.
fn note_checked(archive: &Path, sha256: String, step: &mut FileProgress) -> Result<()> {
    let metadata = fs::metadata(archive);
    let metadata = metadata.with_context(|| format!("cannot read {}", archive.display()))?;
    step.stamp = Stamp::of(&metadata).text;
    step.installed.bytes = metadata.len();
    step.installed.sha256 = sha256;
    Ok(())
}

/// Links the files of a data set into the directory of another that uses it; where the file system has no hard links, copies them.
fn link_all(from: &Path, to: &Path) -> Result<()> {
    let linking = || format!("cannot link {} into {}", from.display(), to.display());
    let temporary = to.join(UNFINISHED).join("link");
    for found in fs::read_dir(from).with_context(linking)? {
        let found = found.with_context(linking)?;
        let name = found.file_name();
        let kind = found.file_type().with_context(linking)?;
        if !kind.is_file() || name == MARKER {
            continue;
        }
        let _ = fs::remove_file(&temporary);
        if fs::hard_link(found.path(), &temporary).is_err() {
            fs::copy(found.path(), &temporary).with_context(linking)?;
        }
        fs::rename(&temporary, to.join(name)).with_context(linking)?;
        // a rename of one link over another to the same file does nothing
        let _ = fs::remove_file(&temporary);
    }
    Ok(())
}

/// Syncs a directory, so that a power cut does not undo renames in it. Not every system can do it, and after a kill it is not needed.
fn sync_directory(dir: &Path) {
    #[cfg(unix)]
    if let Ok(dir) = rustix::fs::open(
        dir,
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    ) {
        let _ = rustix::fs::fsync(dir);
    }
    #[cfg(not(unix))]
    let _ = dir;
}
