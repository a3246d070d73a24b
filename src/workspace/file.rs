//! Opens the SQLite file of a workspace. Checks whether it is complete and can be written, and tells users what they can do if not.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};

use super::schema;
use crate::disk::{parent, regular};
use crate::limits::{LOCK_WAIT, SQLITE_STEPS, SQLITE_STEPS_PER_BYTE};

/// Opens the file for writing, and creates it if it does not exist.
///
/// # Errors
/// SQLite cannot open the file. It notices only at the first query that a file is not an SQLite file.
pub(crate) fn open(path: &Path) -> Result<Connection> {
    regular::check(path).with_context(|| path.display().to_string())?;
    let connection = Connection::open(path)?;
    schema::restrict(&connection)?;
    check_locks(&connection, path)?;
    connection.busy_timeout(LOCK_WAIT)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

/// Opens the file for reading.
///
/// # Errors
/// There is no such file.
pub(crate) fn open_read_only(path: &Path) -> Result<Connection> {
    // only one thread uses a connection, so it needs no mutex
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    regular::check(path).with_context(|| path.display().to_string())?;
    let connection = Connection::open_with_flags(path, flags)?;
    schema::restrict(&connection)?;
    check_locks(&connection, path)?;
    connection.busy_timeout(LOCK_WAIT)?;
    Ok(connection)
}

/// Checks that the file system has the locks that SQLite needs. Where it has none, SQLite says that another process holds them, and would wait for it.
///
/// # Errors
/// It has none.
fn check_locks(connection: &Connection, path: &Path) -> Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    if !is_locked(connection) {
        return Ok(());
    }
    // nobody else knows a new file, so nobody can hold its lock
    let dir = parent(path);
    let Ok(file) = tempfile::NamedTempFile::new_in(dir) else {
        return Ok(());
    };
    let own = Connection::open(file.path())?;
    own.busy_timeout(Duration::ZERO)?;
    if is_locked(&own) {
        bail!(
            "the file system of {} has no locks for files, or they do not work at this moment: SQLite cannot use {} there, so name a place on another file system with --evidence or --index",
            dir.display(),
            path.display()
        );
    }
    Ok(())
}

/// Whether SQLite cannot lock the file of a connection to read it. Any other error is found when the file is read.
fn is_locked(connection: &Connection) -> bool {
    let read = connection.query_row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |_| Ok(()));
    let code = read.as_ref().err().and_then(rusqlite::Error::sqlite_error);
    code.is_some_and(|code| {
        use rusqlite::ffi::{SQLITE_IOERR_LOCK, SQLITE_IOERR_RDLOCK, SQLITE_IOERR_UNLOCK};
        let locks = [SQLITE_IOERR_LOCK, SQLITE_IOERR_RDLOCK, SQLITE_IOERR_UNLOCK];
        code.code == ErrorCode::DatabaseBusy || locks.contains(&code.extended_code)
    })
}

/// How many steps a connection may still take. Without a limit, reading a hostile file may never end: pages of a table can refer to each other, so that
/// it has more rows than anybody can read.
#[derive(Clone)]
pub(crate) struct StepBudget(Arc<AtomicU64>);

impl StepBudget {
    /// Limits the steps of a connection.
    ///
    /// # Errors
    /// SQLite fails.
    pub(crate) fn of(connection: &mut Connection, path: &Path) -> Result<StepBudget> {
        const AT_ONCE: i32 = 100_000;
        let steps = StepBudget(Arc::default());
        steps.renew(&[path]);
        let left = Arc::clone(&steps.0);
        let count = move || {
            let step = |left: u64| left.checked_sub(AT_ONCE as u64);
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step)
                .is_err()
        };
        connection.progress_handler(AT_ONCE, Some(count))?;
        Ok(steps)
    }

    /// Sets the limit for the next piece of work, which reads or writes no more than all rows of these files.
    pub(crate) fn renew(&self, files: &[&Path]) {
        let size = |file: &&Path| std::fs::metadata(file).map_or(0, |file| file.len());
        let bytes: u64 = files.iter().map(size).sum();
        let all = SQLITE_STEPS.saturating_add(bytes.saturating_mul(SQLITE_STEPS_PER_BYTE));
        self.0.store(all, Ordering::Relaxed);
    }
}

/// Calls `open`, which opens the file for reading. If a writer died in the middle of a transaction, rolls it back and calls `open` again.
///
/// # Errors
/// Those of `open`, or the transaction cannot be rolled back because the file or its directory cannot be written.
pub(crate) fn recovering<T>(path: &Path, open: impl Fn() -> Result<T>) -> Result<T> {
    match open() {
        Err(error) if needs_recovery(&error) => {
            recover(path)?;
            open()
        }
        opened => opened,
    }
}

/// Whether the database has this table. SQLite ignores the case of names.
pub(crate) fn has_table(c: &Connection, schema: &str, table: &str) -> rusqlite::Result<bool> {
    c.prepare(&format!(
        "SELECT 1 FROM {schema}.sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE"
    ))?
    .exists([table])
}

/// The error for a file that cannot be mended.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Malformed(String);

/// The error for a file whose structure is damaged.
pub(crate) fn malformed(why: String) -> Error {
    Error::new(Malformed(why))
}

/// The error for a file that cannot be mended. It says what to do.
pub(crate) fn beyond_repair(path: &Path, why: &str) -> Error {
    let path = path.display();
    Error::new(Malformed(format!(
        "{path} is damaged ({why}): delete it, and the next run computes again what is in it; `riposte merge NEW {path}` first saves the evidence that can be read of it"
    )))
}

/// Whether the file of a store is damaged, as found by SQLite or by [`check`].
pub(crate) fn is_malformed(error: &Error) -> bool {
    error.chain().any(|cause| cause.is::<Malformed>())
        || sqlite_codes(error).any(|code| code.code == ErrorCode::DatabaseCorrupt)
}

/// Whether a transaction in the file's journal must be rolled back before the file can be read, because its writer died.
pub(crate) fn needs_recovery(error: &Error) -> bool {
    sqlite_codes(error).any(|code| code.extended_code == rusqlite::ffi::SQLITE_READONLY_ROLLBACK)
}

fn sqlite_codes(error: &Error) -> impl Iterator<Item = &rusqlite::ffi::Error> {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref());
    causes.filter_map(rusqlite::Error::sqlite_error)
}

/// Adds to an error what was being done, such as "cannot read the evidence store", or, if the file is damaged, what to do.
pub(crate) fn explain(error: Error, path: &Path, doing: &str) -> Error {
    let is_unknown = |code: &rusqlite::ffi::Error| code.code == ErrorCode::NotADatabase;
    let is_endless = |code: &rusqlite::ffi::Error| code.code == ErrorCode::OperationInterrupted;
    if sqlite_codes(&error).any(is_endless) {
        beyond_repair(path, "it has more rows than fit into its bytes")
    } else if sqlite_codes(&error).any(is_unknown) {
        anyhow!(
            "{} is not an evidence store or another file of riposte's, or its beginning is damaged: name another place with --evidence or --index, or delete it if nothing else is in it",
            path.display()
        )
    } else if sqlite_codes(&error).any(|code| code.code == ErrorCode::DatabaseCorrupt) {
        // SQLite reports an input or output error as damage, too
        match is_whole(path) {
            Err(reading) => anyhow!("cannot read {}: {reading}", path.display()),
            Ok(true) => anyhow!(
                "{} could not be read at this moment, but it is whole: run the command again",
                path.display()
            ),
            Ok(false) => beyond_repair(path, &error.root_cause().to_string()),
        }
    } else {
        error.context(format!("{doing} {}", path.display()))
    }
}

/// Reads the whole file again, and has SQLite check its structure.
///
/// # Errors
/// The system cannot read the file.
fn is_whole(path: &Path) -> io::Result<bool> {
    io::copy(&mut regular::open(path)?, &mut io::sink())?;
    let checked = open_read_only(path).and_then(|c| {
        check(&c, path)?;
        Ok(c.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))?)
    });
    Ok(checked.is_ok_and(|said| said == "ok"))
}

/// Checks what SQLite does not: that the last page is whole, and that texts are UTF-8. (SQLite itself notices if pages are missing.)
///
/// # Errors
/// The file is damaged.
pub(crate) fn check(c: &Connection, path: &Path) -> Result<()> {
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
pub(crate) fn can_be_written(path: &Path) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags);
    let is_writable = connection.and_then(|c| c.is_readonly(MAIN_DB)).ok() == Some(false);
    is_writable && tempfile::tempfile_in(parent(path)).is_ok()
}

/// The path of SQLite's rollback journal.
pub(crate) fn journal(path: &Path) -> PathBuf {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    journal.into()
}

/// Rolls back a transaction whose writer died.
///
/// # Errors
/// The file or its directory cannot be written.
pub(crate) fn recover(path: &Path) -> Result<()> {
    let recovering = || {
        format!(
            "a writer of {path} died in the middle of a transaction, which has to be rolled back: copy {path} and {journal} to a directory that can be written, and name the copy",
            path = path.display(),
            journal = journal(path).display()
        )
    };
    let connection = open(path).with_context(recovering)?;
    // the first statement that reads rolls back
    let read = connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()));
    read.with_context(recovering)
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
