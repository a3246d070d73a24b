//! Reads documents from a file with one document on each line, as for a part of a collection.

use std::io::Read;

use anyhow::{Result, bail};

use super::kind::{of_document, of_passage};
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
        fn all<T: 'static>(
            read: impl Iterator<Item = (u64, Result<T, Fault>)> + 'static,
            document: fn(T) -> Document,
        ) -> NumberedDocuments {
            Box::new(read.map(move |(line, read)| (line, read.map(document))))
        }
        Ok(match self {
            IndexKind::Passages => all(passages::lines(input), of_passage),
            IndexKind::Documents => all(documents::lines(input), of_document),
            IndexKind::Arguments | IndexKind::Images => {
                bail!("{self} are not stored one on each line")
            }
        })
    }
}
