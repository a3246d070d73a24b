//! Handles files and directories where other processes and other users can write too: locks, replacement of whole files, temporary directories, and a
//! directory that only one user can enter.

mod hash;
mod record;
#[cfg_attr(docsrs, doc(hidden))]
pub mod regular;
mod stamp;
mod temporary;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(unix)]
use anyhow::ensure;
use anyhow::{Context, Error, Result};

pub(crate) use hash::digest_of;
pub use hash::{hex, is_hex, sha256_of};
pub(crate) use record::{read_record, write_record};
pub use stamp::Stamp;
pub use temporary::{TemporaryDir, is_stream, replace, replace_with};
pub(crate) use temporary::{
    create_draft, is_ours, lock_abandoned, remove_abandoned, remove_ours, rename_draft, write_draft,
};

/// The pause between two tries to open a file that another process is writing.
const PAUSE: Duration = Duration::from_millis(100);

/// Whether `name` is a single, visible path component without characters that have a special meaning on some system or in a shell.
pub(crate) fn is_plain_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// The error for a file that another process is writing. Its text is the message to the user.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Busy(pub String);

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

/// Locks a file against other processes until it is closed; `false` if another one has locked it. Some file systems have no locks: there it is `true`.
///
/// # Errors
/// The file cannot be locked.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() != ErrorKind::Unsupported => Err(error),
        _ => Ok(true),
    }
}

/// Whether [`open_lock`] returned this error because of a symbolic link.
pub fn is_link(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Link>())
}

#[derive(Debug, thiserror::Error)]
#[error("{} is a symbolic link, which riposte does not follow: remove it", .0.display())]
struct Link(PathBuf);

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

/// Removes a file. That there is none is no error.
///
/// # Errors
/// It cannot be removed.
pub fn remove_if_there(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether an open file is the one at `path`: another process may have removed or replaced it since it was opened.
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
