//! Standard input as a run or as judgements: `-`.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use crate::collection::read_judged_stdin;

/// What has been read from standard input. A command can read a run several times, and standard input gives its bytes only once.
static READ: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Whether a path means standard input. A file with this name is `./-`.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The bytes of standard input, unpacked, at most `most`.
///
/// # Errors
/// It cannot be read, or is too large.
pub(crate) fn read(most: u64) -> Result<Vec<u8>> {
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = &*read {
        return Ok(bytes.clone());
    }
    let bytes = read_judged_stdin(most)?;
    *read = Some(bytes.clone());
    Ok(bytes)
}
