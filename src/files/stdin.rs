//! Standard input as a run or as judgements: `-`.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;

use crate::collection::read_judged_stdin;

/// Whether a path means standard input. A file with this name is `./-`.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Standard input of a command, which gives its bytes only once. They are kept, because a command can read a run several times.
#[derive(Debug, Default)]
pub struct Stdin(OnceLock<Vec<u8>>);

impl Stdin {
    /// The bytes, unpacked, at most `most`.
    ///
    /// # Errors
    /// They cannot be read, or are too many.
    pub(crate) fn read(&self, most: u64) -> Result<Vec<u8>> {
        if let Some(bytes) = self.0.get() {
            return Ok(bytes.clone());
        }
        let bytes = read_judged_stdin(most)?;
        Ok(self.0.get_or_init(|| bytes).clone())
    }
}
