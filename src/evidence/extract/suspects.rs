//! Finds documents in which riposte may have died, and records those in which it did.
//!
//! An extraction notes the documents that it works on. If its process ends without removing the notes, it was killed, or one of these documents made
//! it die: they are suspects. The caller lets another process [`attempt`] them, and [`pass_over`] records those that make it die, too.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result};
use riposte_eval::DocId;

use super::files::Policy;
use super::worker::Worker;
use super::{Extractors, Store};
use crate::collection::Fault;
use crate::collection::images::{ImageCollection, ImageFolder};
use crate::disk::regular;
use crate::evidence::clock::Clock;
use crate::evidence::store::{PassedOver, StoreFile};

/// The documents that an extraction was working on when its process ended, and whose files are still the same. With `retry`, also those
/// that are passed over.
///
/// # Errors
/// The store or its lock file cannot be read.
pub fn suspects(collection: &ImageCollection, store: &Store, retry: bool) -> Result<Vec<DocId>> {
    let noted = store.notes()?.into_iter().filter(|note| {
        let entry = entry_of(&collection.entries, &note.document);
        entry.is_some_and(|(_, entry)| entry.list(&mut Vec::new()).fingerprint == note.fingerprint)
    });
    let mut suspects: Vec<DocId> = noted.map(|note| note.document).collect();
    if retry {
        let passed_over = store.passed_over()?.into_iter().map(|row| row.document);
        suspects.extend(passed_over.filter(|id| entry_of(&collection.entries, id).is_some()));
    }
    suspects.sort();
    suspects.dedup();
    Ok(suspects)
}

/// Computes the missing evidence of the documents, one after the other, and stores nothing. The store at `evidence` decides what is missing.
/// `on_done` is called after each document.
///
/// # Errors
/// The store cannot be read, a model fails, or `on_done` does.
pub fn attempt(
    collection: &ImageCollection,
    evidence: &Path,
    tools: &Extractors,
    documents: &[DocId],
    on_done: &mut dyn FnMut(&DocId) -> Result<()>,
) -> Result<()> {
    let place = StoreFile::new(evidence.to_owned(), tools.channels);
    let mut stored = HashMap::new();
    if regular::exists(evidence)? {
        stored = place.open_to_read()?.stored_documents()?;
    }
    let clock = Clock::default();
    let policy = Policy {
        is_read_only: false,
        // a document may have been at work only because its contents were compared
        rehash: true,
    };
    let known_images = Mutex::default();
    let entries = &collection.entries;
    for document in documents {
        if let Some((index, _)) = entry_of(&collection.entries, document) {
            let worker = Worker::new(tools, &clock, entries, &place, policy, &known_images, None)?;
            worker.alone(index, stored.get(&document.0))?;
        }
        on_done(document)?;
    }
    Ok(())
}

/// Records that riposte dies in a document. It is passed over until its files, a producer or riposte's version change. `how` says how
/// it died.
///
/// # Errors
/// The collection does not have the document, or the store cannot be written.
pub fn pass_over(
    collection: &ImageCollection,
    store: &mut Store,
    tools: &Extractors,
    document: &DocId,
    how: &str,
) -> Result<()> {
    let (_, entry) = entry_of(&collection.entries, document)
        .with_context(|| format!("there is no document {}", document.0))?;
    store.pass_over(&death(entry, &entry.dir, tools, how))
}

/// The record of a document in which riposte dies. `shown` is the directory that messages name.
pub(super) fn death(
    entry: &ImageFolder,
    shown: &Path,
    tools: &Extractors,
    how: &str,
) -> PassedOver {
    let mut listing = entry.list(&mut Vec::new());
    PassedOver {
        document: entry.id.clone(),
        content: entry.content(&mut listing),
        fingerprint: listing.fingerprint,
        producers: tools.signature(),
        path: shown.to_owned(),
        what: format!("riposte died in it: passed over; --retry tries it again ({how})"),
    }
}

/// The faults of the documents that are passed over now, by index. `mine` are the indices of the documents in the extent.
pub(super) fn passed_over(
    entries: &[ImageFolder],
    mine: &[usize],
    store: &Store,
    tools: &Extractors,
) -> Result<BTreeMap<usize, Fault>> {
    let signature = tools.signature();
    let mut faults = BTreeMap::new();
    for row in store.passed_over()? {
        if let Some((index, entry)) = entry_of(entries, &row.document)
            && mine.binary_search(&index).is_ok()
            && row.producers == signature
            && row.content == entry.content(&mut entry.list(&mut Vec::new()))
        {
            faults.insert(index, row.fault());
        }
    }
    Ok(faults)
}

fn entry_of<'a>(entries: &'a [ImageFolder], id: &DocId) -> Option<(usize, &'a ImageFolder)> {
    let index = entries.binary_search_by(|entry| entry.id.cmp(id)).ok()?;
    Some((index, entries.get(index)?))
}
