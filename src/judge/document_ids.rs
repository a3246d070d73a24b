//! The ids of the documents in a text collection.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Result, anyhow};
use riposte_eval::{DocId, TextTask};

use crate::collection::texts::{TextCollection, open_collection};
use crate::texts::indexes::shard_ids;

/// The ids of all documents that can be read.
///
/// # Errors
/// There is no collection of this task at `input`.
pub(crate) fn document_ids(task: TextTask, input: &Path) -> Result<HashSet<DocId>> {
    let collection = open_collection(task, input)?;
    if let TextCollection::Shards(shards) = &collection {
        return shard_ids(shards);
    }
    let ids = collection.texts().filter_map(|document| match document {
        Ok(document) => Some(Ok(document.id)),
        Err(fault) if fault.transient.is_some() => Some(Err(anyhow!("{fault}"))),
        Err(_) => None,
    });
    ids.collect()
}
