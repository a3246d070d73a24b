//! The ids of the documents in a text collection.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Result, anyhow};
use riposte_eval::{DocId, TextTask};

use crate::collection::Fault;
use crate::collection::texts::{TextCollection, open_collection};
use crate::texts::indexes::shard_ids;

/// The ids of all documents that can be read.
///
/// # Errors
/// There is no collection of this task at `input`.
pub(crate) fn document_ids(task: TextTask, input: &Path) -> Result<HashSet<DocId>> {
    fn all<T>(
        documents: impl Iterator<Item = Result<T, Fault>>,
        id: impl Fn(T) -> DocId,
    ) -> Result<HashSet<DocId>> {
        let ids = documents.filter_map(|document| match document {
            Ok(document) => Some(Ok(id(document))),
            Err(fault) if fault.transient.is_some() => Some(Err(anyhow!("{fault}"))),
            Err(_) => None,
        });
        ids.collect()
    }
    Ok(match open_collection(task, input)? {
        TextCollection::Arguments(arguments) => all(arguments.arguments(), |a| a.id)?,
        TextCollection::Passages(passages) => all(passages.passages(), |p| p.id)?,
        TextCollection::Documents(documents) => all(documents.documents(), |d| d.id)?,
        TextCollection::Entries(entries) => all(entries.texts(), |text| text.id)?,
        TextCollection::Shards(shards) => shard_ids(&shards)?,
    })
}
