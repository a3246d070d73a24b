//! Locks between processes.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::{Result, bail, ensure};

use crate::disk::{Busy, is_at, is_link, open_lock, parent};

/// A lock on a file or directory of a workspace, between processes: shared for reading, exclusive for writing. Dropping the value releases it.
///
/// The lock is held on a file beside the locked one, `.NAME.lock`. If that file cannot be created or locked, there is no lock: on a read-only disk,
/// no other process can write, either; and on a file system without locks, SQLite and renaming still protect each file.
#[derive(Debug)]
pub struct Lock(Option<File>);

impl Lock {
    /// Locks for reading. If another process holds the lock, calls `waiting`, and waits.
    ///
    /// # Errors
    /// A symbolic link is in the place of the lock, or `path` has no name ("/", "..").
    pub fn to_read(path: &Path, waiting: &mut dyn FnMut()) -> Result<Self> {
        Self::take(
            path,
            File::try_lock_shared,
            File::lock_shared,
            Some(waiting),
        )
    }

    /// Locks for writing, otherwise like [`Lock::to_read`].
    ///
    /// # Errors
    /// Those of [`Lock::to_read`].
    pub fn to_write(path: &Path, waiting: &mut dyn FnMut()) -> Result<Self> {
        Self::take(path, File::try_lock, File::lock, Some(waiting))
    }

    /// Locks for writing, without waiting for longer than [`INHERITED`].
    ///
    /// # Errors
    /// Another process holds the lock ([`Busy`]), or those of [`Lock::to_read`].
    pub fn try_to_write(path: &Path) -> Result<Self> {
        Self::take(path, File::try_lock, File::lock, None)
    }

    /// If another process holds the lock, calls `waiting` and waits, or fails if there is no `waiting`.
    fn take(
        path: &Path,
        try_lock: fn(&File) -> Result<(), TryLockError>,
        lock: fn(&File) -> io::Result<()>,
        mut waiting: Option<&mut dyn FnMut()>,
    ) -> Result<Self> {
        ensure!(path.file_name().is_some(), "{} has no name", path.display());
        let lock_path = lock_file(path);
        loop {
            let opened = fs::create_dir_all(parent(path)).and_then(|()| open_lock(&lock_path));
            let file = match opened {
                Ok(file) => file,
                Err(error) if is_link(&error) => return Err(error.into()),
                Err(_) => return Ok(Lock(None)),
            };
            let free = match waiting {
                Some(_) => try_lock(&file),
                None => try_for_a_moment(&file, try_lock),
            };
            let locked = match (free, &mut waiting) {
                (Ok(()), _) => true,
                (Err(TryLockError::Error(_)), _) => false,
                (Err(TryLockError::WouldBlock), None) => {
                    bail!(Busy(format!(
                        "another riposte is writing {}: wait for it, or name another place with --evidence or --index",
                        path.display()
                    )));
                }
                (Err(TryLockError::WouldBlock), Some(waiting)) => {
                    waiting();
                    wait(&file, lock).is_ok()
                }
            };
            // `riposte cache clear` can remove the file during the wait for its lock; then no other process sees this lock
            if locked && !is_at(&file, &lock_path) {
                continue;
            }
            return Ok(Lock(locked.then_some(file)));
        }
    }

    /// The file that is locked. Its contents belong to whoever holds the lock.
    pub fn file(&self) -> Option<&File> {
        self.0.as_ref()
    }
}

/// How long a lock that nobody waits for is tried: while a process starts another one, the new one holds all locks of the old one, until it becomes the other
/// program.
const INHERITED: Duration = Duration::from_millis(50);

fn try_for_a_moment(
    file: &File,
    try_lock: fn(&File) -> Result<(), TryLockError>,
) -> Result<(), TryLockError> {
    let begin = Instant::now();
    loop {
        match try_lock(file) {
            Err(TryLockError::WouldBlock) if begin.elapsed() < INHERITED => {
                thread::sleep(INHERITED / 10);
            }
            tried => return tried,
        }
    }
}

/// The file on which a lock is held.
pub(crate) fn lock_file(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    parent(path).join(format!(".{}.lock", name.to_string_lossy()))
}

fn wait(file: &File, lock: fn(&File) -> io::Result<()>) -> io::Result<()> {
    loop {
        match lock(file) {
            // a signal ended the wait
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            ended => return ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_for_a_moment_is_taken_and_one_that_stays_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("evidence.sqlite");
        let held = Lock::try_to_write(&path).unwrap();
        let begin = Instant::now();
        let refused = Lock::try_to_write(&path).unwrap_err();
        assert!(refused.is::<Busy>() && begin.elapsed() >= INHERITED);
        let release = thread::spawn(move || {
            thread::sleep(INHERITED / 10);
            drop(held);
        });
        Lock::try_to_write(&path).unwrap();
        release.join().unwrap();
    }
}
