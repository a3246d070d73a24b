//! Unpacks an archive into the directory of a data set, and goes on where a killed process has stopped.
//!
//! Entries are unpacked in the order of the archive. Each is written to a temporary file, which then gets its name. From time to time everything is
//! synced, and then the number of entries that are done is written to a journal; after a kill, the entries behind that number are unpacked again.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use zip::ZipArchive;

use super::catalogue::{ArchiveKind, DataFile};
use super::entry_name::{self, UNFINISHED};
use crate::disk::{create_draft, parent, regular};
use crate::limits::MAX_ARCHIVE_ENTRIES;
use crate::web::Transfer;

/// How often the journal is written.
const JOURNAL_INTERVAL: Duration = Duration::from_secs(2);

/// What has been unpacked of an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// The number of entries, wanted or not.
    pub entries: u64,
    /// The bytes of those that were wanted.
    pub bytes: u64,
    /// The number of those that were wanted.
    pub files: u64,
}

/// The sum of the sizes that a zip archive gives for its entries; `None` for other archives, or if it gives none.
///
/// # Errors
/// The archive cannot be read.
pub(super) fn announced(archive: &Path, file: &DataFile) -> Result<Option<u64>> {
    if ArchiveKind::of(&file.file) != Some(ArchiveKind::Zip) {
        return Ok(None);
    }
    let total = open_zip(archive)?.decompressed_size();
    Ok(total.map(|total| u64::try_from(total).unwrap_or(u64::MAX)))
}

/// Unpacks what `file` wants of `archive` into `dir`, from the entry behind those that are done. `journal` is called when more is done and synced.
///
/// # Errors
/// The archive is damaged or hostile, more comes out of it than it should, nothing of it is wanted, or a file cannot be written.
pub(super) fn unpack(
    archive: &Path,
    file: &DataFile,
    dir: &Path,
    done: Done,
    transfer: &mut Transfer,
    journal: &mut dyn FnMut(Done) -> Result<()>,
) -> Result<Done> {
    let kind = ArchiveKind::of(&file.file).context("it is no archive")?;
    let mut unpacking = Unpacking {
        file,
        dir,
        temporary: dir.join(UNFINISHED).join("entry"),
        done,
        unsynced: Vec::new(),
        journalled: Instant::now(),
        transfer,
        journal,
    };
    match kind {
        ArchiveKind::Zip => unpacking.zip(archive)?,
        ArchiveKind::Tar => unpacking.tar(regular::open(archive)?)?,
        ArchiveKind::TarGz => unpacking.tar(GzDecoder::new(regular::open(archive)?))?,
    }
    unpacking.write_journal()?;
    ensure!(
        unpacking.done.files > 0,
        "it has nothing of what the catalogue wants from it"
    );
    Ok(unpacking.done)
}

fn open_zip(archive: &Path) -> Result<ZipArchive<File>> {
    Ok(ZipArchive::new(regular::open(archive)?)?)
}

struct Unpacking<'a, 'e> {
    file: &'a DataFile,
    dir: &'a Path,
    temporary: PathBuf,
    done: Done,
    /// The files that were written since the journal was written.
    unsynced: Vec<PathBuf>,
    journalled: Instant,
    transfer: &'a mut Transfer<'e>,
    journal: &'a mut dyn FnMut(Done) -> Result<()>,
}

impl Unpacking<'_, '_> {
    fn zip(&mut self, archive: &Path) -> Result<()> {
        let mut zip = open_zip(archive)?;
        let entries = zip.len() as u64;
        check_count(entries)?;
        // if one name is hostile, nothing is unpacked
        for at in 0..zip.len() {
            let name = zip.name_for_index(at).context("an entry has no name")??;
            entry_name::place(&self.file.unpack, &name)?;
        }
        for at in usize::try_from(self.done.entries)?..zip.len() {
            let name = zip.name_for_index(at).context("an entry has no name")??;
            if let Some(place) = entry_name::place(&self.file.unpack, &name)? {
                let name = name.into_owned();
                let mut found = zip.by_index(at).with_context(|| damaged(&name))?;
                if !found.is_dir() {
                    // a symbolic link is a file whose content is its target
                    let is_plain = found
                        .unix_mode()
                        .is_none_or(|mode| matches!(mode & 0o170_000, 0 | 0o100_000));
                    ensure!(
                        is_plain && found.is_file(),
                        "{} is a link or a device, which riposte does not unpack",
                        place.display()
                    );
                    self.write(&mut found, &place)?;
                }
            }
            self.finish_entry()?;
        }
        Ok(())
    }

    /// The entries that are done are read again, because the stream has no places to jump to.
    fn tar(&mut self, stream: impl Read) -> Result<()> {
        // what is not wanted is read, too
        let most = self.file.at_most_unpacked().saturating_mul(2);
        let mut tar = tar::Archive::new(Bounded { stream, left: most });
        let already = self.done.entries;
        let mut seen = 0;
        for entry in tar.entries()? {
            let mut entry = entry.context("the archive is damaged")?;
            seen += 1;
            check_count(seen)?;
            if seen <= already {
                continue;
            }
            let name = entry.path_bytes().into_owned();
            let name = String::from_utf8(name);
            let name = name.context("the name of an entry is not UTF-8")?;
            if let Some(place) = entry_name::place(&self.file.unpack, &name)? {
                let kind = entry.header().entry_type();
                ensure!(
                    kind.is_file() || kind.is_contiguous() || kind.is_dir(),
                    "{} is a link or a device, which riposte does not unpack",
                    place.display()
                );
                if !kind.is_dir() {
                    self.write(&mut entry, &place)?;
                }
            }
            self.finish_entry()?;
        }
        Ok(())
    }

    /// Writes an entry to its place.
    fn write(&mut self, entry: &mut dyn Read, place: &Path) -> Result<()> {
        let most = self.file.at_most_unpacked();
        let left = most.saturating_sub(self.done.bytes);
        let path = self.dir.join(place);
        let writing = || format!("cannot write {}", path.display());
        let mut out = create_draft(&self.temporary).with_context(writing)?;
        let mut reader = Remembering {
            entry: entry.take(left.saturating_add(1)),
            transfer: &mut *self.transfer,
            failed: false,
        };
        // what an archive says about the size of an entry can be wrong, so the bytes are counted
        let copied = io::copy(&mut reader, &mut out);
        let bytes = copied.with_context(|| match reader.failed {
            true => damaged(&place.to_string_lossy()),
            false => writing(),
        })?;
        ensure!(
            bytes <= left,
            "more than {most} bytes come out of it, which is too much for such an archive"
        );
        drop(out);
        fs::create_dir_all(parent(&path)).with_context(writing)?;
        fs::rename(&self.temporary, &path).with_context(writing)?;
        self.unsynced.push(path);
        self.done.bytes += bytes;
        self.done.files += 1;
        Ok(())
    }

    fn finish_entry(&mut self) -> Result<()> {
        self.done.entries += 1;
        if self.journalled.elapsed() >= JOURNAL_INTERVAL {
            self.write_journal()?;
        }
        Ok(())
    }

    /// Syncs what was written, and then writes the journal.
    fn write_journal(&mut self) -> Result<()> {
        for path in self.unsynced.drain(..) {
            let syncing = || format!("cannot write {}", path.display());
            let file = regular::open(&path).with_context(syncing)?;
            // all files at once, because a collection can have a million
            #[cfg(target_os = "linux")]
            if rustix::fs::syncfs(&file).is_ok() {
                break;
            }
            file.sync_all().with_context(syncing)?;
        }
        (self.journal)(self.done)?;
        self.journalled = Instant::now();
        Ok(())
    }
}

fn check_count(entries: u64) -> Result<()> {
    ensure!(
        entries <= MAX_ARCHIVE_ENTRIES,
        "it has {entries} entries, of which riposte unpacks at most {MAX_ARCHIVE_ENTRIES}"
    );
    Ok(())
}

fn damaged(entry: &str) -> String {
    let entry: String = entry.escape_debug().take(200).collect();
    format!("the entry {entry} is damaged")
}

/// A reader that shows how much was read, and remembers whether it has failed: `io::copy` does not say whether reading or writing did.
struct Remembering<'t, 'e, R> {
    entry: R,
    transfer: &'t mut Transfer<'e>,
    failed: bool,
}

impl<R: Read> Read for Remembering<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.entry.read(buffer);
        self.failed |= read.is_err();
        self.transfer.inc(*read.as_ref().unwrap_or(&0) as u64);
        read
    }
}

/// A reader that fails instead of reading more than so many bytes.
struct Bounded<R> {
    stream: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => {
                return Err(io::Error::other(
                    "too much comes out of it for such an archive",
                ));
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::super::entry_name::ExtractedPath;
    use super::*;
    use zip::write::{SimpleFileOptions, ZipWriter};

    const NAMES: [&str; 3] = ["images/a", "images/b", "images/c"];

    fn zipped() -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for name in NAMES {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(name.as_bytes()).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn tarred() -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for name in NAMES {
            let mut header = tar::Header::new_ustar();
            header.set_size(name.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, name.as_bytes()).unwrap();
        }
        tar.into_inner().unwrap()
    }

    #[test]
    fn unpacking_goes_on_behind_the_entries_that_are_done() {
        for (name, bytes) in [("a.zip", zipped()), ("a.tar", tarred())] {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join(UNFINISHED)).unwrap();
            let archive = dir.path().join(name);
            fs::write(&archive, bytes).unwrap();
            let images = || "images/".to_owned();
            let file = DataFile {
                file: name.to_owned(),
                urls: Vec::new(),
                bytes: Some(1),
                most: None,
                md5: None,
                sha256: None,
                part: None,
                unpacked: None,
                to: None,
                unpack: vec![ExtractedPath {
                    from: images(),
                    to: images(),
                }],
            };
            let done = Done {
                entries: 2,
                bytes: 16,
                files: 2,
            };
            let mut told = Vec::new();
            let mut journal = |done: Done| {
                told.push(done);
                Ok(())
            };
            let mut silent = |_| ();
            let transfer = &mut Transfer::new("", &mut silent);
            let all = unpack(&archive, &file, dir.path(), done, transfer, &mut journal).unwrap();
            let (entries, bytes, files) = (3, 24, 3);
            let must = Done {
                entries,
                bytes,
                files,
            };
            assert_eq!(all, must);
            assert_eq!(told.last(), Some(&must));
            let written = |name: &str| fs::read_to_string(dir.path().join(name)).ok();
            assert_eq!(NAMES.map(written), [None, None, Some(NAMES[2].to_owned())]);
        }
    }
}
