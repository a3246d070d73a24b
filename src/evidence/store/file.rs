//! Checks the file of an evidence store: whether it is complete and can be written, and what a user can do if not.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};

use crate::disk::{TemporaryDir, parent};

/// How long to wait for another process that holds SQLite's lock.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The error for a file that cannot be mended.
#[derive(Debug)]
struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

/// The error for a file that cannot be mended. It says what to do.
pub(super) fn beyond_repair(path: &Path, why: &str) -> Error {
    let path = path.display();
    Error::new(Malformed(format!(
        "the evidence store {path} is damaged ({why}): delete it, and the next run computes the evidence again; `riposte merge NEW {path}` first saves what can be read of it"
    )))
}

/// Whether the file of a store is damaged, as found by SQLite or by [`check`].
pub(super) fn is_malformed(error: &Error) -> bool {
    error.chain().any(|cause| cause.is::<Malformed>())
        || sqlite_codes(error).any(|code| code.code == ErrorCode::DatabaseCorrupt)
}

/// Whether a transaction in the file's journal must be rolled back before the file can be read, because its writer died.
pub(super) fn needs_recovery(error: &Error) -> bool {
    sqlite_codes(error).any(|code| code.extended_code == rusqlite::ffi::SQLITE_READONLY_ROLLBACK)
}

fn sqlite_codes(error: &Error) -> impl Iterator<Item = &rusqlite::ffi::Error> {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref());
    causes.filter_map(rusqlite::Error::sqlite_error)
}

/// Adds to an error what was being done or, if the file is damaged, what to do.
pub(super) fn explain(error: Error, path: &Path, doing: &str) -> Error {
    let is_unknown = |code: &rusqlite::ffi::Error| code.code == ErrorCode::NotADatabase;
    if sqlite_codes(&error).any(is_unknown) {
        anyhow!(
            "{} is not an evidence store, or its beginning is damaged: name another file with --evidence, or delete this one if nothing else is in it",
            path.display()
        )
    } else if sqlite_codes(&error).any(|code| code.code == ErrorCode::DatabaseCorrupt) {
        beyond_repair(path, &error.root_cause().to_string())
    } else {
        error.context(format!("{doing} the evidence store {}", path.display()))
    }
}

/// Checks what SQLite does not: that the last page is whole, and that texts are UTF-8. (SQLite itself notices if pages are missing.)
///
/// # Errors
/// The file is damaged.
pub(super) fn check(c: &Connection, path: &Path) -> Result<()> {
    let number = |pragma: &str| c.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let bytes = number("page_count")?.saturating_mul(number("page_size")?);
    let size = std::fs::metadata(path)?.len();
    if size < bytes.cast_unsigned() {
        let why = format!("it has {size} of {bytes} bytes");
        bail!(beyond_repair(path, &why));
    }
    let encoding: String = c.pragma_query_value(None, "encoding", |row| row.get(0))?;
    if encoding != "UTF-8" {
        bail!(beyond_repair(
            path,
            "its texts are not declared to be UTF-8"
        ));
    }
    Ok(())
}

/// Whether the file and its directory, in which SQLite writes a journal, can be written. Leaves no trace of the attempt.
pub(super) fn can_be_written(path: &Path) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags);
    let is_writable = connection.and_then(|c| c.is_readonly(MAIN_DB)).ok() == Some(false);
    is_writable && tempfile::tempfile_in(parent(path)).is_ok()
}

/// The path of SQLite's rollback journal.
fn journal(path: &Path) -> PathBuf {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    journal.into()
}

/// Rolls back a transaction whose writer died.
///
/// # Errors
/// The file or its directory cannot be written.
pub(super) fn recover(path: &Path) -> Result<()> {
    let recovering = || {
        format!(
            "a writer of {path} died in the middle of a transaction, which has to be rolled back: copy {path} and {journal} to a directory that can be written, and name the copy",
            path = path.display(),
            journal = journal(path).display()
        )
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).with_context(recovering)?;
    connection.busy_timeout(LOCK_WAIT)?;
    // the first statement that reads rolls back
    let read = connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()));
    read.with_context(recovering)
}

/// An evidence file that is merged into another one. It is never written: if a transaction in it has to be rolled back, that happens in a copy.
#[derive(Debug)]
pub struct ShardFile {
    path: PathBuf,
    /// The directory of the copy, if there is one.
    _copy: Option<TemporaryDir>,
}

impl ShardFile {
    /// Makes a copy of the shard at `path` if it needs one, beside `target`, where there is space for the shard's evidence.
    ///
    /// # Errors
    /// The copy cannot be made.
    pub fn new(path: &Path, target: &Path) -> Result<Self> {
        let opened = super::Store::open_read_only(path);
        if !opened.is_err_and(|error| needs_recovery(&error)) {
            return Ok(ShardFile {
                path: path.to_owned(),
                _copy: None,
            });
        }
        let copying = || format!("cannot copy {} to roll back a transaction", path.display());
        let copy = TemporaryDir::new(parent(target)).with_context(copying)?;
        let own = copy.path().join("shard.sqlite");
        std::fs::copy(path, &own).with_context(copying)?;
        std::fs::copy(journal(path), journal(&own)).with_context(copying)?;
        recover(&own)?;
        Ok(ShardFile {
            path: own,
            _copy: Some(copy),
        })
    }

    /// The file to read.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The name under which SQLite attaches a file for reading only.
///
/// # Errors
/// The path is not UTF-8.
pub(crate) fn read_only_uri(path: &Path) -> Result<String> {
    let path = std::path::absolute(path)?;
    let path = path.to_str().context("its path is not UTF-8")?;
    let mut uri = String::from(if path.starts_with('/') {
        "file://"
    } else {
        "file:///"
    });
    for c in path.chars() {
        match c {
            '%' | '?' | '#' => uri.push_str(&format!("%{:02x}", u32::from(c))),
            '\\' if cfg!(windows) => uri.push('/'),
            c => uri.push(c),
        }
    }
    uri.push_str("?mode=ro");
    Ok(uri)
}
