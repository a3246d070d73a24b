//! Reads documents from a file with one document on each line, as for a part of a collection.

use std::io::Read;

use anyhow::{Result, bail};

use super::{Document, IndexKind};
use crate::collection::{Fault, documents, passages};

/// Documents and faults, each with the number of its line.
pub(crate) type NumberedDocuments = Box<dyn Iterator<Item = (u64, Result<Document, Fault>)>>;

impl IndexKind {
    /// Reads documents from a file with one document on each line.
    ///
    /// # Errors
    /// Files of this kind do not have one document on each line.
    pub(crate) fn read_lines(self, input: Box<dyn Read + Send>) -> Result<NumberedDocuments> {
        Ok(match self {
            IndexKind::Passages => Box::new(passages::lines(input)),
            IndexKind::Documents => Box::new(documents::lines(input)),
            IndexKind::Arguments | IndexKind::Images => {
                bail!("{self} are not stored one on each line")
            }
        })
    }
}
