//! Builds the index of a text collection: reads the collection once, in bounded memory, into a temporary directory that is renamed
//! when the index is complete.

use std::hash::Hasher;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use riposte_eval::DocId;
use rustc_hash::{FxHashMap, FxHashSet};
use tantivy::index::IndexSettings;
use tantivy::merge_policy::NoMergePolicy;
use tantivy::schema::document::Document as TantivyDocumentTrait;
use tantivy::{Index, IndexWriter, TantivyDocument};

use super::disk::{self, SealedDirectory};
use super::schema::{self, Fields};
use super::{Document, Meta, SHORT_WORDS, TextCollection};
use crate::collection::Fault;

/// Maximum number of documents in a batch for one thread.
const BATCH: usize = 256;
/// A batch ends with the document with which its texts reach this number of bytes.
const BATCH_BYTES: usize = 1 << 19;

/// Maximum number of bytes of documents in tantivy's queue.
const QUEUE_BYTES: usize = 64 << 20;

/// Maximum number of faults kept with the index.
const KEPT_FAULTS: usize = 1000;

/// Minimum memory per thread that tantivy accepts, in bytes.
const MIN_BYTES_PER_THREAD: usize = 15_000_000;

/// How many threads and how much memory indexing may use.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub threads: usize,
    /// Memory for postings that are not on disk yet, for all threads together, in bytes.
    pub bytes: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Effort {
            threads: std::thread::available_parallelism()
                .map_or(1, std::num::NonZero::get)
                .min(8),
            bytes: 600 << 20,
        }
    }
}

/// What is reported while an index is opened or built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another process is writing the index; this one waits for it.
    Waiting,
    /// The existing index cannot be used, for this reason; it is built again.
    Outdated(&'static str),
    /// A file of the existing index is damaged; the text says which file and how. The index is built again.
    Damaged(String),
    /// Documents and faults read so far.
    Progress { documents: u64, faults: u64 },
}

/// Creates an empty index in `dir`.
pub(super) fn create(dir: &Path, fields: &Fields) -> Result<Index> {
    let settings = IndexSettings {
        // the indexing threads compress, too: they already use every core
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    };
    let index = Index::builder()
        .schema(fields.schema.clone())
        .settings(settings);
    Ok(index.open_or_create(SealedDirectory::open(dir)?)?)
}

/// A writer that never merges segments by itself.
pub(super) fn writer(index: &Index, effort: Effort) -> Result<IndexWriter<QueuedDocument>> {
    let threads = effort.threads.max(1);
    let bytes = effort.bytes.max(threads * MIN_BYTES_PER_THREAD);
    let writer = index.writer_with_num_threads(threads, bytes)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    Ok(writer)
}

/// Commits all pending changes in one atomic step, and stores `meta` with them.
pub(super) fn commit(writer: &mut IndexWriter<QueuedDocument>, meta: &Meta) -> Result<()> {
    let mut commit = writer.prepare_commit()?;
    commit.set_payload(&serde_json::to_string(meta)?);
    commit.commit()?;
    Ok(())
}

/// Builds the index of a collection, and replaces what is in `dir` by it.
pub(super) fn build(
    collection: &TextCollection,
    mut meta: Meta,
    dir: &Path,
    effort: Effort,
    on_event: &mut dyn FnMut(Event),
) -> Result<()> {
    let built = disk::build_directory(dir)?;
    let fields = Fields::new(meta.kind);
    let index = create(built.path(), &fields)?;
    let mut writer = writer(&index, effort)?;
    index_collection(collection, &fields, &mut meta, effort, &writer, on_event)?;
    commit(&mut writer, &meta)?;
    writer.wait_merging_threads()?;
    disk::install(built, dir)
}

/// The documents read so far.
#[derive(Default)]
struct SeenDocuments {
    /// Whether a document that repeats an earlier one names it. If so, words are not compared.
    is_declared: bool,
    ids: FxHashSet<Arc<str>>,
    /// The first document with each text, by the hash of the text's words. Among n texts, two different ones have the same 64-bit hash with a
    /// probability of about n² / 2⁶⁵.
    words: FxHashMap<u64, Arc<str>>,
}

/// A document with an id that no earlier document has, and its marks.
type NewDocument = (Document, u8);

impl SeenDocuments {
    /// Adds a document, and counts in `meta` whether its id is repeated, its text short or a duplicate. `None` if an earlier document has the
    /// same id.
    fn add(&mut self, mut document: Document, meta: &mut Meta) -> Option<NewDocument> {
        let id: Arc<str> = document.id.0.as_str().into();
        if !self.ids.insert(id.clone()) {
            meta.repeated_ids += 1;
            return None;
        }
        let text = meta.kind.main_text(&document.texts);
        let mut marks = schema::portal_bits(document.portal);
        if text.split_whitespace().take(SHORT_WORDS).count() < SHORT_WORDS {
            marks |= schema::SHORT;
            meta.short += 1;
        }
        if !self.is_declared {
            let hash = hash_of_words(&text);
            let first = hash.map(|hash| self.words.entry(hash).or_insert_with(|| id.clone()));
            let first = first.filter(|first| **first != id);
            document.duplicate_of = first.map(|first| DocId(first.to_string()));
        }
        if document.duplicate_of.is_some() {
            marks |= schema::DUPLICATE;
            meta.duplicates += 1;
        }
        Some((document, marks))
    }
}

/// A hash of a text's letters and digits that ignores case, spaces and punctuation; `None` for a text without letters and digits.
pub(crate) fn hash_of_words(text: &str) -> Option<u64> {
    // unlike the hasher of a HashMap, this one has fixed keys
    let mut hash = std::hash::DefaultHasher::new();
    let mut some = false;
    let mut buffer = [0u8; 256];
    let mut filled = 0;
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || !byte.is_ascii() {
            if filled == buffer.len() {
                hash.write(&buffer);
                filled = 0;
            }
            if let Some(slot) = buffer.get_mut(filled) {
                *slot = byte.to_ascii_lowercase();
            }
            filled += 1;
            some = true;
        }
    }
    hash.write(buffer.get(..filled).unwrap_or_default());
    some.then(|| hash.finish())
}

/// Reads the collection, passes its documents to the writer, and adds counts to `meta`.
fn index_collection(
    collection: &TextCollection,
    fields: &Fields,
    meta: &mut Meta,
    effort: Effort,
    writer: &IndexWriter<QueuedDocument>,
    on_event: &mut dyn FnMut(Event),
) -> Result<()> {
    let threads = effort.threads.max(1);
    let budget = QueueBudget::new(QUEUE_BYTES);
    let analyzer = meta.analyzer.clone();
    let mut documents = collection.documents();
    let mut seen = SeenDocuments {
        is_declared: collection.declares_duplicates(),
        ..SeenDocuments::default()
    };
    std::thread::scope(|scope| -> Result<()> {
        let (sender, batches) = crossbeam_channel::bounded::<Vec<NewDocument>>(2 * threads);
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let (batches, budget, analyzer) = (batches.clone(), &budget, &analyzer);
                scope.spawn(move || -> Result<()> {
                    let (mut analyzer, mut joined) = (analyzer.build(), String::new());
                    for (document, marks) in batches.into_iter().flatten() {
                        let made = fields.document(&document, marks, &mut analyzer, &mut joined);
                        let bytes: usize = document.texts.iter().map(String::len).sum();
                        // the queue holds the texts and their terms
                        writer.add_document(budget.admit(made, 2 * bytes))?;
                    }
                    Ok(())
                })
            })
            .collect();
        drop(batches);
        while let Some(batch) = next_batch(&mut *documents, &mut seen, meta, on_event) {
            // sending fails only after all threads have failed; `join` returns their errors
            if sender.send(batch).is_err() {
                break;
            }
        }
        drop(sender);
        join(workers)
    })
}

/// Waits until all threads have ended. Errors: the first one of a thread.
pub(in crate::index) fn join(workers: Vec<ScopedJoinHandle<Result<()>>>) -> Result<()> {
    for worker in workers {
        let ended = worker.join();
        ended.ok().context("an indexing thread has panicked")??;
    }
    Ok(())
}

/// Reads the next part of the collection, and returns its documents without repeated ids. The batch can be empty: only `None` means
/// the end of the collection.
fn next_batch(
    documents: &mut dyn Iterator<Item = Result<Document, Fault>>,
    seen: &mut SeenDocuments,
    meta: &mut Meta,
    on_event: &mut dyn FnMut(Event),
) -> Option<Vec<NewDocument>> {
    let mut batch = Vec::new();
    let mut read = 0;
    let mut bytes = 0;
    while read < BATCH && bytes < BATCH_BYTES {
        match documents.next() {
            Some(Ok(read)) => {
                bytes += read.texts.iter().map(String::len).sum::<usize>();
                batch.extend(seen.add(read, meta));
            }
            Some(Err(fault)) => {
                meta.fault_count += 1;
                if meta.faults.len() < KEPT_FAULTS {
                    meta.faults.push(fault);
                }
            }
            None => break,
        }
        read += 1;
    }
    on_event(Event::Progress {
        documents: seen.ids.len() as u64,
        faults: meta.fault_count,
    });
    (read > 0).then_some(batch)
}

/// Limits the memory of the documents in tantivy's queue. tantivy limits only their number, to 10,000.
pub(super) struct QueueBudget(Arc<(Mutex<usize>, Condvar)>, usize);

impl QueueBudget {
    pub fn new(bytes: usize) -> Self {
        QueueBudget(Arc::default(), bytes)
    }

    /// Waits until the document fits into the budget.
    pub(crate) fn admit(&self, document: TantivyDocument, bytes: usize) -> QueuedDocument {
        let (used, changed) = &*self.0;
        let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
        // a failed indexing thread frees no memory, so the wait ends after this time, and the writer returns the error
        let patience = Duration::from_secs(10);
        let full = |used: &mut usize| *used > 0 && *used + bytes > self.1;
        (used, _) = changed
            .wait_timeout_while(used, patience, full)
            .unwrap_or_else(PoisonError::into_inner);
        *used += bytes;
        QueuedDocument {
            document,
            bytes,
            budget: Arc::clone(&self.0),
        }
    }
}

/// A document in tantivy's queue. Its share of the budget is freed when tantivy drops the document.
pub(super) struct QueuedDocument {
    document: TantivyDocument,
    bytes: usize,
    budget: Arc<(Mutex<usize>, Condvar)>,
}

impl Drop for QueuedDocument {
    fn drop(&mut self) {
        let (used, changed) = &*self.budget;
        *used.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        changed.notify_all();
    }
}

impl TantivyDocumentTrait for QueuedDocument {
    type Value<'a> = <TantivyDocument as TantivyDocumentTrait>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as TantivyDocumentTrait>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        TantivyDocumentTrait::iter_fields_and_values(&self.document)
    }
}
