//! The making of an index of texts: a collection read once, in bounded memory, into a directory that is renamed
//! into place when it is whole.

use std::fs::File;
use std::hash::Hasher;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use sha2::{Digest, Sha256};
use tantivy::index::IndexSettings;
use tantivy::merge_policy::NoMergePolicy;
use tantivy::schema::document::Document as TantivyDocumentTrait;
use tantivy::{Index, IndexWriter, TantivyDocument};

use super::disk::{self, SealedDirectory};
use super::schema::{self, Entry, Fields};
use super::{Document, Meta, SHORT_WORDS, TextCollection};
use crate::trec::Fault;

/// Documents handed to a thread at once, and the bytes of text after which there are enough of them.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 1 << 19;

/// Bytes of documents that wait to be indexed.
const WAITING_BYTES: usize = 64 << 20;

/// Maximum number of faults kept with the index.
const KEPT_FAULTS: usize = 1000;

/// Bytes of a file's beginning and end that are in its fingerprint.
const SAMPLED_BYTES: u64 = 1 << 16;

/// The least memory that tantivy takes for a thread.
const LEAST_BYTES: usize = 15_000_000;

/// How much of the machine may be used.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub threads: usize,
    /// Memory for postings that are not written yet, all threads together.
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

/// What happens while an index is opened or built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another process builds the index; this one waits.
    Waiting,
    /// The index that is there cannot be used, and is built anew.
    Outdated(&'static str),
    /// So many documents are on their way, and so many faults were found.
    Progress { documents: u64, faults: u64 },
}

/// An empty index in `dir`, and a writer for it.
pub(super) fn create(dir: &Path, fields: &Fields) -> Result<Index> {
    let settings = IndexSettings {
        // the threads that index compress too: there are as many as the machine has
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    };
    let index = Index::builder()
        .schema(fields.schema.clone())
        .settings(settings);
    Ok(index.open_or_create(SealedDirectory::open(dir)?)?)
}

/// A writer that leaves its segments as they are.
pub(super) fn writer(index: &Index, effort: Effort) -> Result<IndexWriter<Waiting>> {
    let threads = effort.threads.max(1);
    let bytes = effort.bytes.max(threads * LEAST_BYTES);
    let writer = index.writer_with_num_threads(threads, bytes)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    Ok(writer)
}

/// Makes what was written part of the index, in one step.
pub(super) fn commit(writer: &mut IndexWriter<Waiting>, meta: &Meta) -> Result<()> {
    let mut commit = writer.prepare_commit()?;
    commit.set_payload(&serde_json::to_string(meta)?);
    commit.commit()?;
    Ok(())
}

/// Builds the index of a collection in `dir`; one that is there is replaced.
pub(super) fn build(
    collection: &TextCollection,
    mut meta: Meta,
    dir: &Path,
    effort: Effort,
    told: &mut dyn FnMut(Event),
) -> Result<()> {
    let site = disk::building_site(dir)?;
    let fields = Fields::new(meta.kind);
    let index = create(site.path(), &fields)?;
    let mut writer = writer(&index, effort)?;
    add_all(collection, &fields, &mut meta, effort, &writer, told)?;
    commit(&mut writer, &meta)?;
    writer.wait_merging_threads()?;
    disk::put_in_place(site, dir)
}

/// Documents in the order in which they came.
#[derive(Default)]
struct Arrivals {
    ids: FxHashSet<Arc<str>>,
    /// By a hash of its words, the first document that has them. That two texts of a million share one of 64 bits by chance has
    /// a probability of 3 in 10^8.
    words: FxHashMap<u64, Arc<str>>,
}

/// A document, and what is known of it from those before it.
struct Arrived {
    document: Document,
    marks: u8,
    duplicate_of: Option<Arc<str>>,
}

impl Arrivals {
    /// Takes note of a document; none if its id is there already.
    fn note(&mut self, document: Document, meta: &mut Meta) -> Option<Arrived> {
        let id: Arc<str> = document.id.0.as_str().into();
        if !self.ids.insert(id.clone()) {
            meta.repeated_ids += 1;
            return None;
        }
        let text = document.texts.first().map_or("", String::as_str);
        let mut marks = 0;
        if text.split_whitespace().take(SHORT_WORDS).count() < SHORT_WORDS {
            marks |= schema::SHORT;
            meta.short += 1;
        }
        let hash = hash_of_words(text);
        let first = hash.map(|hash| self.words.entry(hash).or_insert_with(|| id.clone()));
        let duplicate_of = first.filter(|first| **first != id).cloned();
        if duplicate_of.is_some() {
            marks |= schema::DUPLICATE;
            meta.duplicates += 1;
        }
        Some(Arrived {
            document,
            marks,
            duplicate_of,
        })
    }
}

/// A hash of a text's letters and digits, whatever stands between them and in whichever case; none
/// if it has none.
fn hash_of_words(text: &str) -> Option<u64> {
    // its keys are fixed
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

/// Reads the collection and hands its documents to the writer. What is counted goes into `meta`.
fn add_all(
    collection: &TextCollection,
    fields: &Fields,
    meta: &mut Meta,
    effort: Effort,
    writer: &IndexWriter<Waiting>,
    told: &mut dyn FnMut(Event),
) -> Result<()> {
    let threads = effort.threads.max(1);
    let room = Room::new(WAITING_BYTES);
    let analyzer = meta.analyzer.clone();
    let mut documents = collection.documents();
    let mut arrivals = Arrivals::default();
    std::thread::scope(|scope| -> Result<()> {
        let (sender, batches) = crossbeam_channel::bounded::<Vec<Arrived>>(2 * threads);
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let (batches, room, analyzer) = (batches.clone(), &room, &analyzer);
                scope.spawn(move || -> Result<()> {
                    let (mut analyzer, mut joined) = (analyzer.build(), String::new());
                    for arrived in batches.into_iter().flatten() {
                        let entry = Entry {
                            document: &arrived.document,
                            marks: arrived.marks,
                            duplicate_of: arrived.duplicate_of.as_deref(),
                        };
                        let made = fields.document(&entry, &mut analyzer, &mut joined);
                        let bytes = arrived
                            .document
                            .texts
                            .iter()
                            .map(String::len)
                            .sum::<usize>();
                        // its texts and their terms
                        writer.add_document(room.enter(made, 2 * bytes))?;
                    }
                    Ok(())
                })
            })
            .collect();
        drop(batches);
        while let Some(batch) = next_batch(&mut *documents, &mut arrivals, meta, told) {
            // sending fails only if all threads have failed: they say why below
            if sender.send(batch).is_err() {
                break;
            }
        }
        drop(sender);
        for worker in workers {
            let ended = worker.join();
            ended.ok().context("a thread that indexes has failed")??;
        }
        Ok(())
    })
}

/// Reads the next part of the collection, and returns its documents without those whose id was there before: that may be none
/// of them. `None` at the end of the collection.
fn next_batch(
    documents: &mut dyn Iterator<Item = Result<Document, Fault>>,
    arrivals: &mut Arrivals,
    meta: &mut Meta,
    told: &mut dyn FnMut(Event),
) -> Option<Vec<Arrived>> {
    let mut batch = Vec::new();
    let mut read = 0;
    let mut bytes = 0;
    while read < BATCH && bytes < BATCH_BYTES {
        match documents.next() {
            Some(Ok(document)) => {
                bytes += document.texts.iter().map(String::len).sum::<usize>();
                batch.extend(arrivals.note(document, meta));
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
    told(Event::Progress {
        documents: arrivals.ids.len() as u64,
        faults: meta.fault_count,
    });
    (read > 0).then_some(batch)
}

/// Memory for documents that wait to be indexed. tantivy lets ten thousand of them wait, however large they are.
pub(super) struct Room(Arc<(Mutex<usize>, Condvar)>, usize);

impl Room {
    pub fn new(bytes: usize) -> Self {
        Room(Arc::default(), bytes)
    }

    /// The document with its place in the room; waits until there is one.
    pub fn enter(&self, document: TantivyDocument, bytes: usize) -> Waiting {
        let (taken, changed) = &*self.0;
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        // an indexing thread that has failed makes no room any more: the writer says so at the next document
        let patience = Duration::from_secs(10);
        let full = |taken: &mut usize| *taken > 0 && *taken + bytes > self.1;
        (taken, _) = changed
            .wait_timeout_while(taken, patience, full)
            .unwrap_or_else(PoisonError::into_inner);
        *taken += bytes;
        Waiting {
            document,
            bytes,
            room: Arc::clone(&self.0),
        }
    }
}

/// A document on its way to the index, which leaves the room when it has been indexed.
pub(super) struct Waiting {
    document: TantivyDocument,
    bytes: usize,
    room: Arc<(Mutex<usize>, Condvar)>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let (taken, changed) = &*self.room;
        *taken.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        changed.notify_all();
    }
}

impl TantivyDocumentTrait for Waiting {
    type Value<'a> = <TantivyDocument as TantivyDocumentTrait>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as TantivyDocumentTrait>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        TantivyDocumentTrait::iter_fields_and_values(&self.document)
    }
}

/// A file's name, size, time of change, first and last bytes.
pub(super) fn fingerprint_file(path: &Path, hash: &mut Sha256) -> Result<()> {
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    let time = meta
        .modified()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |time| time.as_nanos());
    let name = path.file_name().unwrap_or_default();
    hash.update(name.as_encoded_bytes());
    hash.update([0]);
    hash.update(meta.len().to_le_bytes());
    hash.update(time.to_le_bytes());
    let mut sample = Vec::new();
    (&file).take(SAMPLED_BYTES).read_to_end(&mut sample)?;
    file.seek(SeekFrom::Start(meta.len().saturating_sub(SAMPLED_BYTES)))?;
    file.take(SAMPLED_BYTES).read_to_end(&mut sample)?;
    hash.update(&sample);
    Ok(())
}
