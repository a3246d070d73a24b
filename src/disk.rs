//! Handles files and directories where other processes and other users can write too: locks, replacement of whole files, temporary names, and a
//! directory that only one user can enter.
//!
//! A file that is being written has a temporary name, and its writer holds a lock on it. When a writer is killed, the system releases the lock, and
//! the next run removes the file.

#[cfg(feature = "texts")]
mod hash;
mod stamp;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(unix)]
use anyhow::ensure;
use anyhow::{Context, Error, Result};
use tempfile::{Builder, TempDir};

#[cfg(feature = "full")]
pub(crate) use hash::digest_of;
#[cfg(feature = "texts")]
pub use hash::{hex, sha256_of};
pub use stamp::Stamp;

/// The beginning of the names of temporary files and directories.
pub(crate) const TEMPORARY: &str = ".riposte-";

/// Number of random characters at the end of a temporary name.
const RANDOM: usize = 6;

/// The number of tries to create a temporary file. A try fails only if another process removes the new file: until this process has locked it, it looks
/// like one that a killed process has left behind.
const TRIES: usize = 16;

/// The pause between two tries to open a file that another process is writing.
const PAUSE: Duration = Duration::from_millis(100);

/// The error for a file that another process is writing. Its text is the message to the user.
#[derive(Debug)]
pub struct Busy(pub String);

impl std::fmt::Display for Busy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Busy {}

/// Calls `open` again as long as its error is [`Busy`]. Calls `waiting` once, before the first pause.
///
/// # Errors
/// Those of `open`, except [`Busy`].
pub fn when_free<T>(open: impl Fn() -> Result<T>, waiting: &mut dyn FnMut()) -> Result<T> {
    let is_busy = |error: &Error| error.is::<Busy>();
    let mut result = open();
    if result.as_ref().err().is_some_and(is_busy) {
        waiting();
    }
    while result.as_ref().err().is_some_and(is_busy) {
        std::thread::sleep(PAUSE);
        result = open();
    }
    result
}

/// The directory that a path is in.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Opens a lock file, and creates it if it does not exist. Its contents do not change.
///
/// # Errors
/// The file cannot be opened, or it is a symbolic link: another user may have planted it.
pub fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).read(true).write(true);
    open_here(options, path)
}

/// Whether [`open_lock`] returned this error because of a symbolic link.
pub fn is_link(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Link>())
}

#[derive(Debug)]
struct Link(PathBuf);

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.0.display();
        write!(
            f,
            "{path} is a symbolic link, which riposte does not follow: remove it"
        )
    }
}

impl std::error::Error for Link {}

/// Opens a file without following a symbolic link in its place.
fn open_here(options: OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    let mut options = options;
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    }
    options.open(path).map_err(|error| {
        if path.is_symlink() {
            io::Error::other(Link(path.to_owned()))
        } else {
            error
        }
    })
}

/// Writes a file completely or, after an error, not at all. Everyone may read it. A symbolic link in its place is replaced, not followed.
///
/// # Errors
/// The directory cannot be written, or the disk is full.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = parent(path);
    remove_abandoned(parent, TEMPORARY);
    let mut file = until_ours(|| {
        let file = Builder::new().prefix(TEMPORARY).tempfile_in(parent)?;
        let is_ours = is_ours(file.as_file().try_lock(), file.path());
        Ok(is_ours.then_some(file))
    })?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    #[cfg(unix)]
    {
        // only its owner may read a temporary file, but others must be able to evaluate a run
        use std::os::unix::fs::PermissionsExt;
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path)?;
    Ok(())
}

/// A directory with a temporary name. It is removed when this value is dropped. If the process is killed, the next process that creates such a
/// directory removes it.
#[derive(Debug)]
pub struct TemporaryDir {
    dir: TempDir,
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
        until_ours(|| {
            let dir = Builder::new().prefix(prefix).tempdir_in(parent)?;
            // not every system can open a directory
            let lock = open_here(File::options().read(true).to_owned(), dir.path()).ok();
            let is_ours = match &lock {
                Some(lock) => is_ours(lock.try_lock(), dir.path()),
                None => dir.path().exists(),
            };
            Ok(is_ours.then_some(TemporaryDir { dir, _lock: lock }))
        })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Gives the directory its final name. Nothing may exist under that name.
    ///
    /// # Errors
    /// The directory cannot be renamed. Then it is removed.
    pub fn rename(self, to: &Path) -> io::Result<()> {
        fs::rename(self.dir.path(), to)?;
        // the temporary name does not exist any more, so there is nothing to remove
        let _ = self.dir.keep();
        Ok(())
    }
}

/// Calls `create` until it returns something: `None` means that another process has removed what was created.
fn until_ours<T>(create: impl Fn() -> io::Result<Option<T>>) -> io::Result<T> {
    for _ in 0..TRIES {
        if let Some(created) = create()? {
            return Ok(created);
        }
    }
    Err(io::Error::other(
        "other processes removed each new temporary file",
    ))
}

/// Whether a new file or directory at `path` still belongs to this process after the attempt to lock it. Otherwise another process has taken it for
/// abandoned, and removes it. On a file system without locks, nothing is taken for abandoned.
fn is_ours(locked: Result<(), TryLockError>, path: &Path) -> bool {
    match locked {
        Ok(()) => path.exists(),
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => true,
    }
}

/// Removes the temporary files and directories in `parent` whose names begin with `prefix`, if no living process holds their lock. Failing to remove
/// one is not an error: it only takes space.
pub fn remove_abandoned(parent: &Path, prefix: &str) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| is_temporary(name, prefix)) {
            let _ = remove_if_abandoned(&entry.path());
        }
    }
}

/// Whether this is a temporary name that begins with `prefix`.
pub(crate) fn is_temporary(name: &str, prefix: &str) -> bool {
    let random = name.strip_prefix(prefix);
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Removes a file or directory with a temporary name, if no living process holds its lock.
fn remove_if_abandoned(path: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(path)?.file_type();
    if kind.is_dir() || kind.is_file() {
        let lock = lock_abandoned(path)?;
        if lock.is_some() {
            return remove(path);
        }
    }
    Ok(())
}

/// Locks a file or directory that a process may have abandoned. `None` if a living process holds its lock.
///
/// # Errors
/// It cannot be opened, or it is a symbolic link.
pub(crate) fn lock_abandoned(path: &Path) -> io::Result<Option<File>> {
    let lock = open_here(File::options().read(true).to_owned(), path)?;
    Ok(lock.try_lock().is_ok().then_some(lock))
}

/// Removes a file, or a directory with its contents.
///
/// # Errors
/// It cannot be removed.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

/// Whether an open file is the one at `path`: another process may have removed or replaced it since it was opened.
#[cfg(feature = "texts")]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(opened), Ok(found)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        opened.ino() == found.ino() && opened.dev() == found.dev()
    }
    #[cfg(not(unix))]
    {
        opened.file_type() == found.file_type()
    }
}

/// A directory in `parent`, the directory for temporary files, that only this user can enter. It is created if it does not exist. The user's number
/// is appended to `name`.
///
/// # Errors
/// `parent` cannot be written; or other users can enter or write what is already there, it belongs to another user, or it is not a directory.
#[cfg(unix)]
pub fn private_directory(parent: &Path, name: &str) -> Result<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    let writing = || format!("{} cannot be written", parent.display());
    // a new file belongs to this user
    let own = tempfile::tempfile_in(parent).with_context(writing)?;
    let user = own.metadata().with_context(writing)?.uid();
    let dir = parent.join(format!("{name}-{user}"));
    match fs::DirBuilder::new().mode(0o700).create(&dir) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(error).with_context(|| format!("cannot create {}", dir.display()));
        }
        _ => {}
    }
    let found = fs::symlink_metadata(&dir);
    let found = found.with_context(|| format!("cannot inspect {}", dir.display()))?;
    let path = dir.display();
    ensure!(found.is_dir(), "{path} is not a directory");
    ensure!(found.uid() == user, "{path} belongs to another user");
    ensure!(
        found.mode() & 0o077 == 0,
        "others can enter {path}: look at what is in it, then close it with chmod 700"
    );
    Ok(dir)
}

/// The directory that [`private_directory`] would return, if it exists. It is not created.
pub fn existing_private_directory(parent: &Path, name: &str) -> Option<PathBuf> {
    #[cfg(unix)]
    let name = &format!("{name}-{}", rustix::process::geteuid().as_raw());
    let dir = parent.join(name);
    let found = fs::symlink_metadata(&dir).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if found.uid() != rustix::process::geteuid().as_raw() {
            return None;
        }
    }
    found.is_dir().then_some(dir)
}

/// A directory in `parent`, the directory for temporary files. It is created if it does not exist.
///
/// # Errors
/// It cannot be created.
#[cfg(not(unix))]
pub fn private_directory(parent: &Path, name: &str) -> Result<PathBuf> {
    let dir = parent.join(name);
    match fs::create_dir(&dir) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("cannot create {}", dir.display()))
        }
        _ => Ok(dir),
    }
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

    #[test]
    fn what_a_killed_writer_has_left_is_removed_and_what_a_living_one_writes_is_not() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let living = TemporaryDir::new(home).unwrap();
        let living_name = living.path().file_name().unwrap().to_str().unwrap();
        fs::create_dir_all(home.join(".riposte-abc123/pictures")).unwrap();
        fs::write(home.join(".riposte-abc123/pictures/1.webp"), "x").unwrap();
        for name in [
            ".riposte-ABCDEF",
            ".riposte-notes",
            "riposte-abc123",
            "run.txt",
        ] {
            fs::write(home.join(name), "x").unwrap();
        }
        replace(&home.join("run.txt"), b"line\n").unwrap();
        let mut left = [".riposte-notes", "riposte-abc123", "run.txt", living_name];
        left.sort_unstable();
        assert_eq!(names(home), left);
        assert_eq!(fs::read(home.join("run.txt")).unwrap(), b"line\n");
        living.rename(&home.join("report")).unwrap();
        assert!(home.join("report").is_dir());
        let dropped = TemporaryDir::new(home).unwrap();
        drop(dropped);
        assert_eq!(names(home).len(), 4);
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_does_not_touch_what_is_there_and_follows_no_link() {
        use std::os::unix::fs::symlink;
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::write(at("precious"), "years of work").unwrap();
        open_lock(&at("precious")).unwrap();
        symlink(at("precious"), at("lock")).unwrap();
        let error = open_lock(&at("lock")).unwrap_err();
        assert!(is_link(&error) && error.to_string().contains("symbolic link"));
        symlink(at("missing"), at("dangling")).unwrap();
        assert!(is_link(&open_lock(&at("dangling")).unwrap_err()));
        assert!(!at("missing").exists());
        assert!(!is_link(&open_lock(&at("none/lock")).unwrap_err()));
        // a file is replaced, and so is a link in its place
        replace(&at("lock"), b"new").unwrap();
        assert_eq!(fs::read(at("precious")).unwrap(), b"years of work");
        assert_eq!(fs::read(at("lock")).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn a_private_directory_is_refused_if_others_can_enter_it_or_it_is_a_link() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let home = tempfile::tempdir().unwrap();
        let dir = private_directory(home.path(), "r").unwrap();
        let mode = |mode| fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(
            fs::metadata(&dir).unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert_eq!(private_directory(home.path(), "r").unwrap(), dir);
        let error = || private_directory(home.path(), "r").unwrap_err().to_string();
        for shared in [0o770, 0o755, 0o701, 0o720] {
            mode(shared);
            assert!(error().contains("others can enter"), "{shared:o}");
        }
        fs::remove_dir(&dir).unwrap();
        fs::create_dir(home.path().join("elsewhere")).unwrap();
        symlink(home.path().join("elsewhere"), &dir).unwrap();
        assert!(error().contains("is not a directory"), "{}", error());
        fs::remove_file(&dir).unwrap();
        fs::write(&dir, "").unwrap();
        assert!(error().contains("is not a directory"), "{}", error());
    }
}
