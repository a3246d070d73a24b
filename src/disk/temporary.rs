//! Temporary directories, and files that are written completely or not at all.
//!
//! A writer works in a directory with a temporary name, and holds a lock on it. When the writer is killed, the system releases the lock, and the next
//! run removes the directory. A marker file in the directory proves that riposte made it. Without the marker, the directory is removed only if it is
//! empty and its name ends with a hash: then its writer was killed before it wrote the marker.

use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{open_here, parent, regular, remove_if_there};

/// The beginning of the names of temporary directories.
pub(super) const TEMPORARY: &str = ".riposte-";

/// Number of random hexadecimal digits in a temporary name, and of those of their hash after them.
const DIGITS: usize = 8;

/// How often a directory is made again that another process has removed before it was locked.
const TRIES: usize = 100;

/// The file in a temporary directory by which riposte recognises it as its own. It is written when the lock is held, so an unlocked directory with it
/// has no living writer.
const MARKER: &str = "made-by-riposte";

/// What is being written, within a temporary directory.
const CONTENT: &str = "content";

/// Writes a file completely or, after an error, not at all. Everyone may read it. A symbolic link in its place is replaced, not followed. What is written to
/// a device or a pipe, such as `/dev/null` or `/dev/stdout`, passes through it.
///
/// # Errors
/// The directory cannot be written, the disk is full, or there is something in the place that is neither a file nor a device or pipe.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, |file| file.write_all(bytes))
}

/// Like [`replace`], with what `write` writes.
///
/// # Errors
/// Those of [`replace`] and of `write`.
pub fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if is_stream(path)? {
        return write(&mut File::options().append(true).open(path)?);
    }
    let dir = TemporaryDir::new(parent(path))?;
    let written = dir.path().join("file");
    let mut file = File::create_new(&written)?;
    write(&mut file)?;
    file.sync_all()?;
    #[cfg(unix)]
    {
        // others must be able to evaluate a run, whatever the umask of its maker
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    fs::rename(written, path)
}

/// Creates a file in a temporary directory or under a temporary name, which is renamed when it is complete. What lies there is replaced: it could be a
/// link of another program.
///
/// # Errors
/// The directory cannot be written.
pub(crate) fn create_draft(path: &Path) -> io::Result<File> {
    remove_if_there(path)?;
    File::create_new(path)
}

/// Writes a file where [`create_draft`] creates one.
///
/// # Errors
/// It cannot be written. The message names it.
pub(crate) fn write_draft(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = create_draft(path).and_then(|mut file| file.write_all(bytes));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Gives a file of a temporary directory its place, where it replaces an older one.
///
/// # Errors
/// The place cannot be written.
pub(crate) fn rename_draft(draft: &Path, to: &Path) -> io::Result<()> {
    regular::open(draft)?.sync_all()?;
    fs::rename(draft, to)
}

/// Whether bytes that are written to the path pass through it: a device such as `/dev/null`, a terminal or a pipe, or what a link in `/dev` leads to. Who
/// may write in `/dev` would otherwise replace it by a file, for all other programs. False for a file, and where nothing is.
///
/// # Errors
/// There is something that is neither a file nor a device or pipe.
#[cfg(unix)]
pub fn is_stream(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(false);
    };
    let passes = |kind: fs::FileType| kind.is_fifo() || kind.is_char_device();
    let kind = found.file_type();
    if kind.is_symlink() {
        // `/dev/stdout` can lead to a file
        let parent = parent(path).canonicalize();
        return Ok(parent.is_ok_and(|parent| parent == Path::new("/dev"))
            || fs::metadata(path).is_ok_and(|to| passes(to.file_type())));
    }
    if kind.is_block_device() || kind.is_socket() {
        let message = "it is neither a file nor a pipe";
        return Err(io::Error::new(ErrorKind::InvalidInput, message));
    }
    Ok(passes(kind))
}

#[cfg(not(unix))]
pub fn is_stream(_: &Path) -> io::Result<bool> {
    Ok(false)
}

/// A directory that is removed when this value is dropped. If the process is killed, the next process that creates such a directory removes it.
#[derive(Debug)]
pub struct TemporaryDir {
    outer: PathBuf,
    content: PathBuf,
    /// `None` on a system that cannot lock a directory. Nobody removes it then.
    _lock: Option<File>,
}

impl TemporaryDir {
    /// Creates a directory in `parent`. Only its owner can enter it.
    ///
    /// # Errors
    /// `parent` cannot be written.
    pub fn new(parent: &Path) -> io::Result<Self> {
        Self::with_prefix(parent, TEMPORARY)
    }

    /// Like [`TemporaryDir::new`], with a name that begins with `prefix`.
    pub fn with_prefix(parent: &Path, prefix: &str) -> io::Result<Self> {
        remove_abandoned(parent, prefix);
        let mut made = Self::create(parent, prefix);
        for _ in 0..TRIES {
            match &made {
                // before this process had locked its empty directory, another one took it for abandoned
                Err(error) if error.kind() == ErrorKind::NotFound && parent.is_dir() => {}
                _ => break,
            }
            made = Self::create(parent, prefix);
        }
        made
    }

    /// # Errors
    /// `parent` cannot be written. The kind of the error is `NotFound` if another process removes the new directory.
    fn create(parent: &Path, prefix: &str) -> io::Result<Self> {
        let outer = new_directory(parent, prefix)?;
        let content = outer.join(CONTENT);
        let lock = match open_here(File::options().read(true).to_owned(), &outer) {
            Ok(file) => match file.try_lock() {
                Ok(()) => Some(file),
                Err(TryLockError::WouldBlock) => return Err(ErrorKind::NotFound.into()),
                Err(TryLockError::Error(_)) => None,
            },
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(error),
            // not every system can open a directory
            Err(_) => None,
        };
        let made = TemporaryDir {
            outer,
            content,
            _lock: lock,
        };
        if made._lock.is_some() {
            let mut marker = File::create_new(made.outer.join(MARKER))?;
            marker.write_all(mark(&made.outer)?.as_bytes())?;
            marker.sync_all()?;
        }
        // it keeps these permissions when it gets its final name
        fs::create_dir(&made.content)?;
        Ok(made)
    }

    pub fn path(&self) -> &Path {
        &self.content
    }

    /// Gives the directory its final name. Nothing may exist under that name.
    ///
    /// # Errors
    /// The directory cannot be renamed. Then it is removed.
    pub fn rename(self, to: &Path) -> io::Result<()> {
        fs::rename(&self.content, to)
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        // what cannot be removed only takes space
        let _ = remove_ours(&self.outer);
    }
}

/// Creates a directory in `parent` whose name is `prefix`, random digits, and their hash.
fn new_directory(parent: &Path, prefix: &str) -> io::Result<PathBuf> {
    loop {
        let random = RandomState::new().build_hasher().finish();
        let random = format!("{random:016x}")[..DIGITS].to_owned();
        let dir = parent.join(format!("{prefix}{random}{}", hash_of(&random)));
        match create_private(&dir) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|()| dir),
        }
    }
}

/// The digits that follow these random digits.
fn hash_of(random: &str) -> String {
    // unlike the hasher of a HashMap, this one has fixed keys
    let mut hash = std::hash::DefaultHasher::new();
    hash.write(random.as_bytes());
    format!("{:016x}", hash.finish())[..DIGITS].to_owned()
}

/// Creates a directory that only its owner can enter.
fn create_private(dir: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        fs::DirBuilder::new().mode(0o700).create(dir)
    }
    #[cfg(not(unix))]
    {
        fs::create_dir(dir)
    }
}

/// What the marker of a temporary directory says: its name and its owner, so that a copy with another name has a wrong one.
fn mark(dir: &Path) -> io::Result<String> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    #[cfg(unix)]
    let owner = {
        use std::os::unix::fs::MetadataExt;
        fs::symlink_metadata(dir)?.uid().to_string()
    };
    #[cfg(not(unix))]
    let owner = "unknown";
    Ok(format!(
        "riposte has made this directory, and removes it when nothing uses it.\nname {name}\nowner {owner}\n"
    ))
}

/// Whether riposte has made the directory at `path`, as its marker says, and nobody else has put anything into it. Before it has a marker, it is empty.
pub(crate) fn is_ours(path: &Path) -> bool {
    let check = || -> io::Result<bool> {
        let name = path.file_name().and_then(|name| name.to_str());
        if !name.is_some_and(is_temporary) || !fs::symlink_metadata(path)?.is_dir() {
            return Ok(false);
        }
        let mut has_content = false;
        for entry in fs::read_dir(path)? {
            let name = entry?.file_name();
            if name != MARKER && name != CONTENT {
                return Ok(false);
            }
            has_content |= name == CONTENT;
        }
        let marker = path.join(MARKER);
        match fs::symlink_metadata(&marker) {
            Ok(found) if found.is_file() => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(!has_content),
            _ => return Ok(false),
        }
        let expected = mark(path)?;
        let mut found = Vec::new();
        let file = open_here(File::options().read(true).to_owned(), &marker)?;
        file.take(expected.len() as u64 + 1)
            .read_to_end(&mut found)?;
        // killed while it wrote the marker, which the content follows
        let is_begun = !has_content && expected.as_bytes().starts_with(&found);
        Ok(found == expected.as_bytes() || is_begun)
    };
    check().unwrap_or(false)
}

/// Removes the temporary directories in `parent` whose names begin with `prefix`, if riposte has made them and no living process holds their lock.
/// Failing to remove one is not an error: it only takes space.
pub(crate) fn remove_abandoned(parent: &Path, prefix: &str) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let is_meant = |name: &str| name.starts_with(prefix) && is_temporary(name);
        if name.to_str().is_some_and(is_meant) {
            let path = entry.path();
            if let Ok(Some(_lock)) = lock_abandoned(&path) {
                let _ = remove_ours(&path);
            }
        }
    }
}

/// Whether a name ends with random digits and their hash.
fn is_temporary(name: &str) -> bool {
    let parts = name.len().checked_sub(2 * DIGITS);
    let parts = parts.and_then(|at| name.split_at_checked(at)?.1.split_at_checked(DIGITS));
    parts.is_some_and(|(random, hash)| hash == hash_of(random))
}

/// Locks a temporary directory that a process may have abandoned. `None` if a living process holds its lock, or if riposte has not made it.
///
/// # Errors
/// It cannot be opened, or it is a symbolic link.
pub(crate) fn lock_abandoned(path: &Path) -> io::Result<Option<File>> {
    if !is_ours(path) {
        return Ok(None);
    }
    let lock = open_here(File::options().read(true).to_owned(), path)?;
    // looked at again under the lock: another process may have removed it, and a user may have made another one
    Ok((lock.try_lock().is_ok() && is_ours(path)).then_some(lock))
}

/// Removes a temporary directory that riposte has made. The marker goes last: a killed removal is continued by the next run.
///
/// # Errors
/// It cannot be removed.
pub(crate) fn remove_ours(path: &Path) -> io::Result<()> {
    let content = path.join(CONTENT);
    if fs::symlink_metadata(&content).is_ok() {
        fs::remove_dir_all(content)?;
    }
    let marker = path.join(MARKER);
    if fs::symlink_metadata(&marker).is_ok() {
        fs::remove_file(marker)?;
    }
    fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// What a killed process leaves behind.
    fn abandoned(parent: &Path) -> PathBuf {
        let mut dir = TemporaryDir::new(parent).unwrap();
        fs::write(dir.path().join("half"), "x").unwrap();
        dir._lock = None;
        let outer = dir.outer.clone();
        std::mem::forget(dir);
        outer
    }

    /// A pipe stands for `/dev/null`, which a test must not put at risk.
    #[cfg(unix)]
    #[test]
    fn what_is_written_to_a_pipe_passes_through_it() {
        let home = tempfile::tempdir().unwrap();
        let (pipe, link) = (home.path().join("pipe"), home.path().join("link"));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        for path in [&pipe, &link] {
            let reader = std::thread::spawn({
                let pipe = pipe.clone();
                move || fs::read_to_string(pipe).unwrap()
            });
            replace(path, b"line\n").unwrap();
            assert_eq!(reader.join().unwrap(), "line\n");
        }
        assert_eq!(names(home.path()), ["link", "pipe"]);
        assert!(is_stream(&pipe).unwrap() && fs::symlink_metadata(&link).unwrap().is_symlink());
        // a socket is not replaced either
        let socket = home.path().join("socket");
        let _held = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        replace(&socket, b"line\n").unwrap_err();
    }

    #[test]
    fn a_directory_that_another_thread_takes_for_abandoned_is_made_again() {
        let home = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let dir = TemporaryDir::new(home.path()).unwrap();
                        fs::write(dir.path().join("file"), "x").unwrap();
                    }
                });
            }
        });
        assert_eq!(names(home.path()), [""; 0]);
    }

    #[test]
    fn what_a_killed_writer_has_left_is_removed_and_what_a_living_one_writes_is_not() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let living = TemporaryDir::new(home).unwrap();
        let living_name = living
            .outer
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let left = abandoned(home);
        replace(&home.join("run.txt"), b"line\n").unwrap();
        assert!(!left.exists());
        assert_eq!(names(home), [living_name.as_str(), "run.txt"]);
        assert_eq!(fs::read(home.join("run.txt")).unwrap(), b"line\n");
        living.rename(&home.join("report")).unwrap();
        assert_eq!(names(home), ["report", "run.txt"]);
        let dropped = TemporaryDir::new(home).unwrap();
        drop(dropped);
        assert_eq!(names(home).len(), 2);
    }

    #[test]
    fn directories_and_files_of_a_user_stay_whatever_their_names() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        for file in [
            ".riposte-models/clip/weights",
            ".riposte-backup/made-by-riposte",
            ".riposte-copied/a",
        ] {
            fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            fs::write(home.join(file), "years of work").unwrap();
        }
        fs::create_dir(home.join(".riposte-config")).unwrap();
        fs::write(home.join(".riposte-ABCDEF"), "x").unwrap();
        // something of the user's in a directory that riposte has made
        let used = abandoned(home);
        fs::write(used.join("notes"), "years of work").unwrap();
        // the marker of another directory, as in a copy
        let left = abandoned(home);
        fs::copy(left.join(MARKER), home.join(".riposte-copied").join(MARKER)).unwrap();
        // directories whose makers were killed before they had written the marker
        let empty = new_directory(home, TEMPORARY).unwrap();
        let begun = new_directory(home, TEMPORARY).unwrap();
        fs::write(begun.join(MARKER), "riposte has").unwrap();
        let filled = new_directory(home, TEMPORARY).unwrap();
        fs::write(filled.join("a"), "years of work").unwrap();
        let before = names(home);
        replace(&home.join("run.txt"), b"line\n").unwrap();
        let after = names(home);
        let gone: Vec<&String> = before.iter().filter(|name| !after.contains(name)).collect();
        let mut expected = [&left, &empty, &begun].map(|path| path.file_name().unwrap());
        expected.sort();
        assert_eq!(gone, expected.map(|name| name.to_str().unwrap()));
        assert!(used.join("notes").exists() && home.join(".riposte-copied/a").exists());
        #[cfg(unix)]
        {
            let link = home.join(".riposte-linked");
            std::os::unix::fs::symlink(abandoned(&home.join(".riposte-models")), &link).unwrap();
            remove_abandoned(home, TEMPORARY);
            assert!(link.join(MARKER).exists());
        }
    }
}
