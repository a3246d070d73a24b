//! The making of an index: a collection read once, in bounded memory, into a directory that is renamed
//! into place when it is whole.

use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use tantivy::indexer::NoMergePolicy;
use tantivy::{Index, IndexWriter, SegmentReader, TantivyDocument};

use super::columns::{Columns, Entry};
use super::{
    Document, FORMAT, Fields, META, Marks, Meta, SHORT_WORDS, TERMS, TextCollection, each_block,
    schema,
};
use crate::index::analyzer::Analyzer;
use crate::trec::Fault;

/// So many faults are kept with the index.
const KEPT_FAULTS: usize = 1000;

/// So much of a file's beginning and end is in its fingerprint.
const SAMPLED_BYTES: u64 = 1 << 16;

/// What a directory has in its name while an index is built in it, and the file in it that its builder holds.
const BUILDING: &str = ".building-";
const LOCK: &str = "building.lock";

/// How much of the machine may be used.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub threads: usize,
    /// Memory for postings that are not written yet, all threads together. The whole of what is built and
    /// looked up needs about as much again.
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

/// How far the building has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub documents: u64,
    pub faults: u64,
}

/// What the documents are, in the order in which they came.
#[derive(Default)]
struct Arrivals {
    /// The ids, and which place each has.
    places: FxHashMap<Box<str>, u32>,
    marks: Vec<Marks>,
    /// The place of the first document with the same words.
    first: Vec<u32>,
    /// By a hash of the words, the place of the first document that has them. That two texts of a
    /// million share one of 64 bits by chance has a probability of 3 in 10^8.
    words: FxHashMap<u64, u32>,
    repeated_ids: u64,
    fault_count: u64,
    faults: Vec<Fault>,
}

impl Arrivals {
    /// Takes note of a document: its place, or none if its id is there already.
    fn note(&mut self, document: &Document) -> Result<Option<u32>> {
        if self.places.contains_key(document.id.0.as_str()) {
            self.repeated_ids += 1;
            return Ok(None);
        }
        let place = u32::try_from(self.places.len()).context("more than 4 billion documents")?;
        self.places.insert(document.id.0.as_str().into(), place);
        let text = document
            .texts
            .first()
            .map(String::as_str)
            .unwrap_or_default();
        let first = match hash_of_words(text) {
            Some(hash) => *self.words.entry(hash).or_insert(place),
            None => place,
        };
        self.first.push(first);
        self.marks.push(Marks {
            short: text.split_whitespace().take(SHORT_WORDS).count() < SHORT_WORDS,
            duplicate: first != place,
        });
        Ok(Some(place))
    }

    fn fault(&mut self, fault: Fault) {
        self.fault_count += 1;
        if self.faults.len() < KEPT_FAULTS {
            self.faults.push(fault);
        }
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

/// Builds the index of a collection in `dir`; one that is there is replaced.
pub(super) fn build(
    collection: &TextCollection,
    analyzer: &Analyzer,
    fingerprint: String,
    dir: &Path,
    effort: Effort,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let name = dir.file_name().context("it has no name")?.to_string_lossy();
    let parent = match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // what is no index is not replaced by one
    let strange = fs::read_dir(dir).is_ok_and(|mut inside| inside.next().is_some());
    ensure!(
        !strange || dir.join(META).is_file(),
        "there is something else in it"
    );
    fs::create_dir_all(parent)?;
    let prefix = format!(".{name}{BUILDING}");
    remove_abandoned(parent, &prefix);
    let place = tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir_in(parent)?;
    let lock = File::create(place.path().join(LOCK))?;
    // where files cannot be locked, nothing that is left is removed
    let _ = lock.lock();

    let (schema, fields) = schema(collection.fields());
    let index = Index::create_in_dir(place.path(), schema)?;
    index.tokenizers().register(TERMS, analyzer.build());
    let threads = effort.threads.max(1);
    // of each thread tantivy wants 15 MB to 4 GB
    let bytes = effort
        .bytes
        .clamp(threads * (16 << 20), threads * (2 << 30));
    let mut writer: IndexWriter = index.writer_with_num_threads(threads, bytes)?;
    // what is merged is written twice, and searched hardly faster
    writer.set_merge_policy(Box::new(NoMergePolicy));
    let arrivals = add_all(collection, &writer, &fields, progress)?;
    writer.commit()?;
    writer.wait_merging_threads()?;

    let reader = index.reader()?;
    let columns = columns(reader.searcher().segment_readers(), &fields, &arrivals)?;
    columns.write(place.path())?;
    let count = |marked: fn(&Marks) -> bool| arrivals.marks.iter().filter(|m| marked(m)).count();
    let meta = Meta {
        format: FORMAT,
        fingerprint,
        analyzer: analyzer.clone(),
        fields: collection
            .fields()
            .iter()
            .map(|f| (*f).to_owned())
            .collect(),
        tokens: columns
            .lengths
            .iter()
            .map(|lengths| lengths.iter().map(|n| u64::from(*n)).sum())
            .collect(),
        documents: u64::from(columns.documents()),
        repeated_ids: arrivals.repeated_ids,
        duplicates: count(|m| m.duplicate) as u64,
        short: count(|m| m.short) as u64,
        fault_count: arrivals.fault_count,
        faults: arrivals.faults,
    };
    let mut file = File::create(place.path().join(META))?;
    file.write_all(&serde_json::to_vec(&meta)?)?;
    file.sync_all()?;

    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => bail!(error),
        _ => {}
    }
    fs::remove_file(place.path().join(LOCK))?;
    fs::rename(place.path(), dir)?;
    // it is at home now: nothing to remove
    let _ = place.keep();
    // not every file system can do it for a directory
    let _ = File::open(parent).and_then(|parent| parent.sync_all());
    Ok(())
}

/// Removes what killed builders have left: directories whose lock nobody holds. What cannot be removed
/// stays; it is in nobody's way.
fn remove_abandoned(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            let lock = File::open(entry.path().join(LOCK));
            if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn add_all(
    collection: &TextCollection,
    writer: &IndexWriter,
    fields: &Fields,
    progress: &mut dyn FnMut(Progress),
) -> Result<Arrivals> {
    let mut arrivals = Arrivals::default();
    for read in collection.documents() {
        let document = match read {
            Ok(document) => document,
            Err(fault) => {
                arrivals.fault(fault);
                continue;
            }
        };
        let Some(place) = arrivals.note(&document)? else {
            continue;
        };
        let mut entry = TantivyDocument::default();
        entry.add_u64(fields.place, u64::from(place));
        for (field, text) in fields.texts.iter().zip(&document.texts) {
            if !text.is_empty() {
                entry.add_text(*field, text);
            }
        }
        if let Some(stance) = document.stance {
            entry.add_text(fields.stance, stance.word());
        }
        if let Some(url) = &document.url {
            entry.add_text(fields.url, url);
        }
        writer.add_document(entry)?;
        if place % 8192 == 8191 {
            progress(Progress {
                documents: u64::from(place) + 1,
                faults: arrivals.fault_count,
            });
        }
    }
    Ok(arrivals)
}

/// The columns of the documents as the segments have them.
fn columns(segments: &[SegmentReader], fields: &Fields, arrivals: &Arrivals) -> Result<Columns> {
    let lengths: Vec<Vec<Vec<u32>>> = segments
        .par_iter()
        .map(|segment| {
            let of_field = |field| count_terms(segment, field);
            fields.texts.iter().map(|field| of_field(*field)).collect()
        })
        .collect::<Result<_>>()?;
    let mut joined = vec![Vec::new(); fields.texts.len()];
    for segment in lengths {
        for (field, lengths) in joined.iter_mut().zip(segment) {
            field.extend(lengths);
        }
    }
    let mut places: Vec<u32> = Vec::with_capacity(arrivals.places.len());
    for segment in segments {
        let column = segment.fast_fields().u64("place")?;
        for document in 0..segment.max_doc() {
            let place = column.first(document).context("a document has no place")?;
            places.push(u32::try_from(place)?);
        }
    }
    let mut ids: Vec<&str> = vec![""; arrivals.places.len()];
    for (id, place) in &arrivals.places {
        if let Some(slot) = ids.get_mut(*place as usize) {
            *slot = id;
        }
    }
    let mut numbers = vec![0u32; ids.len()];
    for (number, place) in (0..).zip(&places) {
        *numbers
            .get_mut(*place as usize)
            .context("a place too many")? = number;
    }
    let entries: Vec<Entry> = places
        .iter()
        .map(|place| {
            let place = *place as usize;
            let first = arrivals
                .first
                .get(place)
                .and_then(|f| numbers.get(*f as usize));
            Some(Entry {
                id: ids.get(place)?,
                marks: *arrivals.marks.get(place)?,
                first: *first?,
            })
        })
        .collect::<Option<_>>()
        .context("a document is missing")?;
    let segments = segments
        .iter()
        .map(|segment| (segment.segment_id().uuid_string(), segment.max_doc()))
        .collect();
    Columns::new(segments, joined, entries.into_iter())
}

/// How many terms each document of a segment has in a field: the sum of its terms' frequencies.
fn count_terms(segment: &SegmentReader, field: tantivy::schema::Field) -> Result<Vec<u32>> {
    let mut lengths = vec![0u32; segment.max_doc() as usize];
    let inverted = segment.inverted_index(field)?;
    let mut terms = inverted.terms().stream()?;
    while terms.advance() {
        each_block(&inverted, terms.value(), |documents, frequencies| {
            for (document, frequency) in documents.iter().zip(frequencies) {
                if let Some(length) = lengths.get_mut(*document as usize) {
                    *length += frequency;
                }
            }
        })?;
    }
    Ok(lengths)
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
