//! An evidence store that is merged into another one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Store;
use crate::disk::{TemporaryDir, parent};
use crate::workspace::file::{journal, needs_recovery, recover};

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
    pub fn new(path: &Path, target: &Store) -> Result<Self> {
        let opened = Store::open_read_only(&target.place.with_path(path));
        let target = target.path();
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
