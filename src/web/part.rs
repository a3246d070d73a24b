//! An unfinished download or copy, `<file>.part`, with the record of where its bytes come from: an interrupted process can go on where it was.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::progress::Transfer;
use crate::disk::{Stamp, open_lock, read_record, regular, try_lock, write_record};
use crate::limits::MIN_STALL_BYTES;

/// How many times locking is tried, and the pause in between. A lock may outlive its file for a moment: a process that is being
/// started (pip) inherits it until it runs.
const LOCK_TRIES: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// Number of bytes that are read at once.
const BUFFER: usize = 1 << 16;

/// `<file>.part.toml`: which file the bytes in `<file>.part` belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// An address or a path.
    pub from: String,
    /// Which version of the file it is: the server's ETag, or the stamp of the file that is copied.
    pub version: Option<String>,
}

/// The file `<file>.part`, locked against other processes.
pub(super) struct Part<'p> {
    path: &'p Path,
    record: PathBuf,
    file: File,
}

impl<'p> Part<'p> {
    /// Opens the file, which may have the beginning of an earlier download.
    ///
    /// # Errors
    /// Another process has locked it, or it cannot be written.
    pub fn open(path: &'p Path) -> Result<Part<'p>> {
        let file = open_lock(path).with_context(|| cannot_write(path))?;
        let locked = || try_lock(&file).with_context(|| format!("cannot lock {path:?}"));
        let mut tries = 0;
        while !locked()? {
            ensure!(tries < LOCK_TRIES, "another riposte is fetching {path:?}");
            tries += 1;
            thread::sleep(LOCK_PAUSE);
        }
        let record = path.with_added_extension("toml");
        Ok(Part { path, record, file })
    }

    /// Where the bytes of the file come from. A record that cannot be read costs a download.
    pub fn origin(&self) -> Origin {
        read_record(&self.record).unwrap_or_default()
    }

    pub fn length(&self) -> Result<u64> {
        let metadata = self.file.metadata();
        let metadata = metadata.with_context(|| format!("cannot read {:?}", self.path))?;
        Ok(metadata.len())
    }

    /// Keeps only the first `had` bytes, and notes where those that follow come from.
    pub fn go_on(&mut self, had: u64, origin: &Origin) -> Result<()> {
        self.keep(had)?;
        write_record(&self.record, origin)
    }

    /// Keeps only the first `had` bytes.
    pub fn keep(&mut self, had: u64) -> Result<()> {
        let kept = self.file.set_len(had);
        let kept = kept.and_then(|()| self.file.seek(SeekFrom::Start(had)));
        kept.with_context(|| cannot_write(self.path))?;
        Ok(())
    }

    /// Appends the body, but at most one byte more than `rest`, and no more if fewer than [`MIN_STALL_BYTES`] bytes have arrived in `window`. The outer error
    /// is a failure to write, the inner one a failure to read. Whatever has arrived is in the file, because a pause can be ours as well: a machine
    /// that was suspended, a slow disk.
    pub fn append(
        &mut self,
        body: impl Read,
        rest: u64,
        window: Option<Duration>,
        transfer: &mut Transfer,
    ) -> Result<io::Result<()>> {
        let mut body = body.take(rest.saturating_add(1));
        let mut buffer = vec![0; BUFFER];
        let (mut begin, mut arrived) = (Instant::now(), 0);
        loop {
            let read = match body.read(&mut buffer) {
                Ok(0) => return Ok(Ok(())),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Ok(Err(error)),
            };
            self.file
                .write_all(buffer.get(..read).unwrap_or_default())
                .with_context(|| cannot_write(self.path))?;
            transfer.inc(read as u64);
            arrived += read as u64;
            if let Some(window) = window.filter(|window| begin.elapsed() > *window) {
                if arrived < MIN_STALL_BYTES {
                    let what = format!("only {arrived} bytes have arrived in {window:?}");
                    return Ok(Err(io::Error::new(ErrorKind::TimedOut, what)));
                }
                (begin, arrived) = (Instant::now(), 0);
            }
        }
    }

    /// Syncs the file, which is complete.
    pub fn finish(&self) -> Result<()> {
        let synced = self.file.sync_all();
        synced.with_context(|| cannot_write(self.path))
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {path:?}")
}

/// Copies the file `from` to `part`, which may have the beginning of it from an earlier copy. Its content is not checked here.
///
/// # Errors
/// The file cannot be read, or has more than `most` bytes.
pub(crate) fn copy_file(
    from: &Path,
    most: u64,
    part: &Path,
    transfer: &mut Transfer,
) -> Result<()> {
    let reading = "cannot read it";
    let mut source = regular::open(from).context(reading)?;
    let metadata = source.metadata().context(reading)?;
    ensure!(metadata.len() <= most, "it has more than {most} bytes");
    let path = std::path::absolute(from).context(reading)?;
    let origin = Origin {
        from: path.to_string_lossy().into_owned(),
        // a file that was replaced since is copied from its beginning
        version: Some(Stamp::of(&metadata).text),
    };
    let mut part = Part::open(part)?;
    let had = match part.origin() == origin {
        true => part.length()?.min(metadata.len()),
        false => 0,
    };
    source.seek(SeekFrom::Start(had)).context(reading)?;
    part.go_on(had, &origin)?;
    transfer.begin(had, metadata.len());
    // it could grow while it is copied
    let copied = part.append(source, most.saturating_sub(had), None, transfer)?;
    copied.context(reading)?;
    ensure!(part.length()? <= most, "it has more than {most} bytes");
    part.finish()
}

/// Removes an unfinished download, if there is one.
pub(crate) fn remove_part(part: &Path) {
    // if it cannot be removed, the next download overwrites it
    let _ = fs::remove_file(part);
    let _ = fs::remove_file(part.with_added_extension("toml"));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that sends a byte now and then.
    struct Trickle;

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            thread::sleep(Duration::from_millis(2));
            buffer[0] = 1;
            Ok(1)
        }
    }

    /// A server that has sent all of a small file while this machine was suspended.
    struct Suspended(&'static [u8]);

    impl Read for Suspended {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            thread::sleep(Duration::from_millis(50));
            self.0.read(buffer)
        }
    }

    #[test]
    fn a_download_of_some_bytes_a_minute_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("part");
        let mut part = Part::open(&path).unwrap();
        let window = Some(Duration::from_millis(20));
        let mut silent = |_| ();
        let transfer = &mut Transfer::new("", &mut silent);
        let copied = part.append(Trickle, u64::MAX - 1, window, transfer);
        let error = copied.unwrap().unwrap_err().to_string();
        assert!(error.contains("bytes have arrived in 20ms"), "{error}");
        // a fast one goes on beyond the window
        let fast = io::repeat(1).take(3 << 20);
        let done = part.append(fast, u64::MAX - 1, Some(Duration::ZERO), transfer);
        assert!(done.unwrap().is_ok());
    }

    #[test]
    fn what_has_arrived_after_a_long_pause_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("part");
        let mut part = Part::open(&path).unwrap();
        let window = Some(Duration::from_millis(10));
        let mut silent = |_| ();
        let transfer = &mut Transfer::new("", &mut silent);
        let copied = part.append(Suspended(b"all of it"), 9, window, transfer);
        // the pause is noticed, but nothing is lost
        assert!(copied.unwrap().is_err());
        assert_eq!(fs::read(&path).unwrap(), b"all of it");
    }

    #[test]
    fn a_copy_goes_on_unless_the_file_was_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let [from, path] = ["from", "part"].map(|name| dir.path().join(name));
        let mut silent = |_| ();
        let transfer = &mut Transfer::new("", &mut silent);
        let mut copy = |most| copy_file(&from, most, &path, transfer);
        fs::write(&from, "0123456789").unwrap();
        assert!(copy(9).is_err());
        copy(10).unwrap();
        // the copy is interrupted, and what it has is marked
        fs::write(&path, "ABC").unwrap();
        copy(10).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ABC3456789");
        let other = dir.path().join("other");
        fs::write(&other, "another one").unwrap();
        fs::rename(&other, &from).unwrap();
        copy(11).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"another one");
    }
}
