//! Builds the index of a text collection: reads the collection once, in bounded memory, into a temporary directory that is renamed
//! when the index is complete.

use std::collections::hash_map::Entry;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};
use riposte_eval::DocId;
use rustc_hash::FxHashMap;
use tantivy::directory::{Directory, TerminatingWrite};
use tantivy::index::IndexSettings;
use tantivy::merge_policy::NoMergePolicy;
use tantivy::schema::document::Document as TantivyDocumentTrait;
use tantivy::{Index, IndexWriter, TantivyDocument, TantivyError};
use twox_hash::XxHash64;

use super::contents::CollectionContents;
use super::disk::{self, SealedDirectory};
use super::schema::{self, IndexFields};
use super::{Document, IndexKind, IndexMeta, SHORT_WORDS, TextCollection};
use crate::collection::{Fault, FaultKind};
use crate::events::{Event, OnEvent, Progress};
use crate::index::hash_of_words;
use crate::limits::{MAX_KEPT_FAULTS, MAX_QUEUE_BYTES};
use crate::threads;
use crate::threads::check_threads;

/// Maximum number of documents in a batch for one thread.
const BATCH: usize = 256;
/// A batch ends with the document with which its texts reach this number of bytes.
const BATCH_BYTES: usize = 1 << 19;

/// Minimum memory per thread that tantivy accepts, in bytes.
const MIN_BYTES_PER_THREAD: usize = 15_000_000;

/// Memory for postings, in bytes, unless the caller says otherwise.
const DEFAULT_BYTES: usize = 600 << 20;

/// How many threads and how much memory indexing may use.
#[derive(Clone, Copy, Debug)]
pub struct IndexingBudget {
    pub threads: usize,
    /// Memory for postings that are not on disk yet, for all threads together, in bytes.
    pub bytes: usize,
}

impl Default for IndexingBudget {
    fn default() -> Self {
        IndexingBudget {
            threads: std::thread::available_parallelism()
                .map_or(1, std::num::NonZero::get)
                .min(8),
            bytes: DEFAULT_BYTES,
        }
    }
}

impl IndexingBudget {
    /// The effort of indexing on this number of threads, or on one for each core.
    ///
    /// # Errors
    /// Those of [`check_threads`].
    pub fn on(threads: Option<usize>) -> Result<IndexingBudget> {
        let mut effort = IndexingBudget::default();
        if let Some(threads) = threads {
            effort.threads = check_threads(threads)?;
        }
        Ok(effort)
    }
}

/// Creates an empty index in `dir`.
pub(super) fn create(dir: &Path, fields: &IndexFields) -> Result<Index> {
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
pub(super) fn writer(index: &Index, effort: IndexingBudget) -> Result<IndexWriter<QueuedDocument>> {
    let threads = effort.threads.max(1);
    let bytes = effort.bytes.max(threads * MIN_BYTES_PER_THREAD);
    let writer = index.writer_with_num_threads(threads, bytes)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    Ok(writer)
}

/// Commits all pending changes in one atomic step, and stores `meta` with them.
pub(super) fn commit(writer: &mut IndexWriter<QueuedDocument>, meta: &IndexMeta) -> Result<()> {
    let mut commit = writer.prepare_commit()?;
    commit.set_payload(&serde_json::to_string(meta)?);
    commit.commit()?;
    Ok(())
}

/// Builds the index of a collection, and replaces what is in `dir` by it. `contents` are those from which `meta` has the fingerprint.
///
/// # Errors
/// The collection has changed since ([`Changed`](super::contents::Changed)), a file cannot be read, or `dir` cannot be written.
pub(super) fn build(
    collection: &TextCollection,
    (mut meta, contents): (IndexMeta, &CollectionContents),
    dir: &Path,
    effort: IndexingBudget,
    on_event: &mut OnEvent,
) -> Result<()> {
    disk::ensure_only_index(dir)?;
    let built = disk::build_directory(dir)?;
    let fields = IndexFields::new(meta.kind);
    let index = create(built.path(), &fields)?;
    let mut writer = writer(&index, effort)?;
    let mut faults = Faults::new(built.path());
    let indexed = index_collection(
        collection,
        &fields,
        &mut meta,
        &mut faults,
        effort,
        &writer,
        on_event,
    );
    if let Err(error) = indexed {
        return Err(why_stopped(&mut writer, error));
    }
    contents.ensure_unchanged()?;
    commit(&mut writer, &meta)?;
    writer.wait_merging_threads()?;
    // after the commit, which removes what tantivy does not know
    faults.write(&index)?;
    disk::install(built, dir)
}

/// The error because of which a thread of the writer ended, if one has. The others only say that the writer is dead.
pub(super) fn why_stopped(writer: &mut IndexWriter<QueuedDocument>, error: Error) -> Error {
    let is_of_writer = error.chain().any(|cause| cause.is::<TantivyError>());
    match writer.prepare_commit() {
        Err(cause) if is_of_writer => Error::new(cause),
        _ => error,
    }
}

/// The faults of a collection. The first ones are kept in [`IndexMeta`], so that most indexes need no file for them.
struct Faults {
    /// All of them, as lines of JSON, if there are more than that.
    lines: Option<BufWriter<File>>,
    dir: PathBuf,
}

impl Faults {
    /// More faults than memory may hold are written to a file without a name in `dir`.
    fn new(dir: &Path) -> Self {
        Faults {
            lines: None,
            dir: dir.to_owned(),
        }
    }

    fn add(&mut self, fault: Fault, meta: &mut IndexMeta) -> Result<()> {
        meta.fault_count += 1;
        if meta.faults.len() < MAX_KEPT_FAULTS {
            meta.faults.push(fault);
            return Ok(());
        }
        if self.lines.is_none() {
            let mut lines = BufWriter::new(tempfile::tempfile_in(&self.dir)?);
            for kept in &meta.faults {
                writeln!(lines, "{}", serde_json::to_string(kept)?)?;
            }
            self.lines = Some(lines);
        }
        if let Some(lines) = &mut self.lines {
            writeln!(lines, "{}", serde_json::to_string(&fault)?)?;
        }
        Ok(())
    }

    /// Writes the file of the index, to which tantivy adds a checksum.
    fn write(self, index: &Index) -> Result<()> {
        let Some(lines) = self.lines else {
            return Ok(());
        };
        let mut lines = lines.into_inner()?;
        lines.rewind()?;
        let mut file = index.directory().open_write(Path::new(disk::FAULTS))?;
        std::io::copy(&mut lines, &mut file)?;
        Ok(file.terminate()?)
    }
}

/// The documents read so far.
#[derive(Default)]
struct SeenDocuments {
    /// Whether a document that repeats an earlier one names it. If so, words are not compared.
    is_declared: bool,
    /// The ids, each with a hash of its texts.
    ids: FxHashMap<Arc<str>, u64>,
    /// The first document with each text, by the hash of the text's words. Among n texts, two different ones have the same 64-bit hash with a
    /// probability of about n² / 2⁶⁵.
    words: FxHashMap<u64, Arc<str>>,
}

/// A document with an id that no earlier document has, and its marks.
type NewDocument = (Document, u8);

/// What becomes of a document.
enum NewOrKnown {
    New(NewDocument),
    /// An earlier document has the same id and the same texts.
    Repeated,
    /// An earlier document has the same id and other texts.
    Conflict(DocId),
}

impl SeenDocuments {
    /// Adds a document, and counts in `meta` whether its id is repeated, its text short or a duplicate.
    fn add(&mut self, mut document: Document, meta: &mut IndexMeta) -> NewOrKnown {
        let id: Arc<str> = document.id.0.as_str().into();
        let mut hash = XxHash64::default();
        document.texts.hash(&mut hash);
        let hash = hash.finish();
        match self.ids.entry(id.clone()) {
            Entry::Vacant(free) => *free.insert(hash),
            Entry::Occupied(taken) => {
                meta.repeated_ids += 1;
                if *taken.get() == hash {
                    return NewOrKnown::Repeated;
                }
                return NewOrKnown::Conflict(document.id);
            }
        };
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
        NewOrKnown::New((document, marks))
    }
}

/// Reads the collection, passes its documents to the writer, and adds counts to `meta`.
fn index_collection(
    collection: &TextCollection,
    fields: &IndexFields,
    meta: &mut IndexMeta,
    faults: &mut Faults,
    effort: IndexingBudget,
    writer: &IndexWriter<QueuedDocument>,
    on_event: &mut OnEvent,
) -> Result<()> {
    let threads = effort.threads.max(1);
    let budget = QueueBudget::new(MAX_QUEUE_BYTES);
    let analyzer = meta.analyzer.clone();
    let mut documents = collection.documents();
    let place = collection.place();
    let mut seen = SeenDocuments {
        is_declared: collection.declares_duplicates(),
        ..SeenDocuments::default()
    };
    std::thread::scope(|scope| -> Result<()> {
        let (sender, batches) = crossbeam_channel::bounded::<Vec<NewDocument>>(2 * threads);
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let (batches, budget, analyzer) = (batches.clone(), &budget, &analyzer);
                threads::spawn(scope, move || -> Result<()> {
                    let mut terms = analyzer.writer();
                    for (document, marks) in batches.into_iter().flatten() {
                        let made = fields.document(&document, marks, &mut terms);
                        let bytes: usize = document.texts.iter().map(String::len).sum();
                        // the queue holds the texts and their terms
                        writer.add_document(budget.admit(made, 2 * bytes))?;
                    }
                    Ok(())
                })
            })
            .collect::<Result<_>>()?;
        drop(batches);
        while let Some(batch) =
            next_batch(&mut *documents, &place, &mut seen, meta, faults, on_event)?
        {
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

/// The fault of a document that is left out because an earlier one has its id.
fn conflict(id: &DocId, kind: IndexKind, place: &Path) -> Fault {
    let kind = match kind {
        IndexKind::Arguments => FaultKind::Argument,
        IndexKind::Passages => FaultKind::Passage,
        IndexKind::Documents | IndexKind::Images => FaultKind::Document,
    };
    let what = format!("{id}: left out, because an earlier text has this id");
    Fault::in_file(kind, place, what).of(id)
}

/// Reads the next part of the collection, and returns its documents without repeated ids. The batch can be empty: only `None` means
/// the end of the collection.
fn next_batch(
    documents: &mut dyn Iterator<Item = Result<Document, Fault>>,
    place: &Path,
    seen: &mut SeenDocuments,
    meta: &mut IndexMeta,
    faults: &mut Faults,
    on_event: &mut OnEvent,
) -> Result<Option<Vec<NewDocument>>> {
    let mut batch = Vec::new();
    let mut read = 0;
    let mut bytes = 0;
    while read < BATCH && bytes < BATCH_BYTES {
        match documents.next() {
            Some(Ok(read)) => {
                bytes += read.texts.iter().map(String::len).sum::<usize>();
                match seen.add(read, meta) {
                    NewOrKnown::New(document) => batch.push(document),
                    NewOrKnown::Repeated => {}
                    NewOrKnown::Conflict(id) => {
                        faults.add(conflict(&id, meta.kind, place), meta)?
                    }
                }
            }
            // what cannot be read because of a temporary error is not left out: the index would never contain it
            Some(Err(fault)) if fault.transient.is_some() => bail!("{fault}"),
            Some(Err(fault)) => faults.add(fault, meta)?,
            None => break,
        }
        read += 1;
    }
    let detail = match meta.fault_count {
        0 => String::new(),
        count => format!("{count} faults"),
    };
    let (done, total) = (seen.ids.len() as u64, 0);
    on_event(Event::Progress(Progress::Items {
        done,
        total,
        detail,
    }));
    Ok((read > 0).then_some(batch))
}

/// Limits the memory of the documents in tantivy's queue. tantivy limits only their number, to 10,000.
pub(super) struct QueueBudget(Arc<Queue>);

struct Queue {
    used: Mutex<BudgetUse>,
    has_room: Condvar,
    /// The maximum of [`BudgetUse::bytes`].
    bytes: usize,
}

/// What is used of the budget.
#[derive(Default)]
struct BudgetUse {
    bytes: usize,
    /// Number of threads that wait for room. Without any, waking them would be a needless system call.
    waiting: usize,
}

impl Queue {
    /// A thread that waits for room goes on when no more than this number of bytes is used. If it went on as soon as its document fits, it would wait
    /// for the next one again, and threads would be switched for each document.
    fn low(&self) -> usize {
        self.bytes / 4 * 3
    }

    fn lock(&self) -> MutexGuard<'_, BudgetUse> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueBudget {
    pub fn new(bytes: usize) -> Self {
        QueueBudget(Arc::new(Queue {
            used: Mutex::default(),
            has_room: Condvar::new(),
            bytes,
        }))
    }

    /// Waits until the document fits into the budget.
    pub(crate) fn admit(&self, document: TantivyDocument, bytes: usize) -> QueuedDocument {
        // a failed indexing thread frees no memory, so the wait ends after this time, and the writer returns the error
        const PATIENCE: Duration = Duration::from_secs(10);
        let queue = &self.0;
        let mut used = queue.lock();
        let is_full = |used: &BudgetUse| used.bytes > 0 && used.bytes + bytes > queue.bytes;
        if is_full(&used) {
            used.waiting += 1;
            let waits = |used: &mut BudgetUse| used.bytes > queue.low() || is_full(used);
            (used, _) = queue
                .has_room
                .wait_timeout_while(used, PATIENCE, waits)
                .unwrap_or_else(PoisonError::into_inner);
            used.waiting -= 1;
        }
        used.bytes += bytes;
        QueuedDocument {
            document,
            bytes,
            queue: Arc::clone(queue),
        }
    }
}

/// A document in tantivy's queue. Its share of the budget is freed when tantivy drops the document.
pub(super) struct QueuedDocument {
    document: TantivyDocument,
    bytes: usize,
    queue: Arc<Queue>,
}

impl Drop for QueuedDocument {
    fn drop(&mut self) {
        let mut used = self.queue.lock();
        used.bytes -= self.bytes;
        let wakes = used.waiting > 0 && used.bytes <= self.queue.low();
        drop(used);
        if wakes {
            self.queue.has_room.notify_all();
        }
    }
}

impl TantivyDocumentTrait for QueuedDocument {
    type Value<'a> = <TantivyDocument as TantivyDocumentTrait>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as TantivyDocumentTrait>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        TantivyDocumentTrait::iter_fields_and_values(&self.document)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A thread that is not woken goes on after ten seconds, which this test would take longer than.
    #[test]
    fn documents_wait_until_there_is_room_and_those_that_are_larger_than_it_go_alone() {
        const BYTES: usize = 1000;
        let (begin, budget) = (Instant::now(), QueueBudget::new(BYTES));
        let (sender, queue) = crossbeam_channel::unbounded::<QueuedDocument>();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (sender, budget) = (sender.clone(), &budget);
                scope.spawn(move || {
                    for n in 0..500 {
                        let bytes = if n % 50 == thread { 3 * BYTES } else { 1 + n };
                        let document = budget.admit(TantivyDocument::default(), bytes);
                        let used = budget.0.lock().bytes;
                        assert!(used <= BYTES || used == 3 * BYTES, "{used}");
                        sender.send(document).unwrap();
                    }
                });
            }
            drop(sender);
            let count = queue.into_iter().map(drop).count();
            assert_eq!(count, 4 * 500);
        });
        assert_eq!(budget.0.lock().bytes, 0);
        assert!(begin.elapsed() < Duration::from_secs(8));
    }
}
