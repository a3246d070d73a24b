//! Standard input as a run or as judgements: `-`.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, ensure};

use super::files::{MAX_RUN_BYTES, named_run};
use crate::collection::read_judged_stdin;

/// What has been read from standard input. A command can read a run several times, and standard input gives its bytes only once.
static READ: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Whether a path means standard input. A file with this name is `./-`.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The bytes of standard input, unpacked, within the limits of a run.
///
/// # Errors
/// It cannot be read, or is too large.
pub(crate) fn read() -> Result<Vec<u8>> {
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = &*read {
        return Ok(bytes.clone());
    }
    let bytes = read_judged_stdin(MAX_RUN_BYTES)?;
    *read = Some(bytes.clone());
    Ok(bytes)
}

/// Checks that at most one of the runs and judgements of a command, each as [NAME=]PATH, is standard input.
///
/// # Errors
/// Several are.
pub fn check_once<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    let files = files.into_iter();
    let count = files.filter(|file| is_stdin(named_run(file).1)).count();
    ensure!(
        count <= 1,
        "only one run or file of judgements can be standard input (-), not {count}"
    );
    Ok(())
}
