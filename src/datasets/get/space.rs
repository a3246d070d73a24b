//! Whether the disk has room for what is to be got.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use indicatif::DecimalBytes;

use super::super::entry_name::UNFINISHED;
use super::{DataFile, DatasetEntry, Datasets, FileProgress};
use crate::disk::read_record;
use crate::events::{Event, OnEvent};

/// Says what is to be downloaded and how much room it needs, and checks that the disk has it.
///
/// # Errors
/// It has less.
pub(super) fn check(
    datasets: &Datasets,
    missing: &[(&DatasetEntry, Vec<&DataFile>)],
    on_event: &mut OnEvent,
) -> Result<()> {
    let files = || {
        let pairs = missing.iter();
        pairs.flat_map(|(entry, files)| files.iter().map(move |file| (*entry, *file)))
    };
    if files().next().is_none() {
        return Ok(());
    }
    let mut needed: u64 = 0;
    // archives are removed one by one
    let mut largest = 0;
    let (mut download, mut unknown) = (0, 0);
    for (entry, file) in files() {
        let (there, unpacked) = already(datasets, entry, file);
        let Some(bytes) = file.bytes else {
            unknown += 1;
            continue;
        };
        let rest = bytes.saturating_sub(there);
        download += rest;
        needed += file.about_in_place().saturating_sub(unpacked);
        if file.to.is_none() {
            largest = largest.max(rest);
        } else {
            needed = needed.saturating_sub(there);
        }
    }
    needed += largest;
    let free = free(datasets.dir());
    let of_unknown = match unknown {
        0 => String::new(),
        1 => ", and a file of unknown size".to_owned(),
        n => format!(", and {n} files of unknown size"),
    };
    let is_free = free.map_or_else(String::new, |free| {
        format!(", where {} are free", DecimalBytes(free))
    });
    on_event(Event::step(format!(
        "{} to download{of_unknown}; needs at least {} in {}{is_free}",
        DecimalBytes(download),
        DecimalBytes(needed),
        datasets.dir().display()
    )));
    check_room(datasets.dir(), needed)
}

/// Checks that the disk has room for so many bytes.
///
/// # Errors
/// It has less.
pub(super) fn check_room(dir: &Path, needed: u64) -> Result<()> {
    if let Some(free) = free(dir) {
        ensure!(
            needed <= free,
            "{} are needed in {}, where {} are free: make room, or name another directory (--dir, $RIPOSTE_DATASETS)",
            DecimalBytes(needed),
            dir.display(),
            DecimalBytes(free)
        );
    }
    Ok(())
}

/// The bytes of a file that an earlier process has downloaded, and those that it has unpacked.
fn already(datasets: &Datasets, entry: &DatasetEntry, file: &DataFile) -> (u64, u64) {
    let unfinished = datasets.dir_of(entry).join(UNFINISHED);
    let length = |end: &str| {
        let path = unfinished.join(format!("{}{end}", file.file));
        fs::metadata(path).map_or(0, |metadata| metadata.len())
    };
    let step: FileProgress =
        read_record(&unfinished.join(format!("{}.toml", file.file))).unwrap_or_default();
    let there = match step.is_done {
        true => file.at_most(),
        false => length("").max(length(".part")),
    };
    let unpacked = match step.is_done {
        true => file.about_in_place(),
        false => step.installed.unpacked,
    };
    (there, unpacked)
}

/// The bytes that this user can still write where `dir` is, or will be. `None` if the system does not say.
fn free(dir: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let there = dir.ancestors().find(|dir| fs::metadata(dir).is_ok())?;
        let found = rustix::fs::statvfs(there).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = dir;
        None
    }
}
