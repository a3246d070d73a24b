//! The making of an index: a collection read once, in bounded memory, into a directory that is renamed
//! into place when it is whole.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::columns::{Columns, Entry};
use super::invert::{Batch, Counted, MOST_BYTES, Worker, merge, write_run};
use super::texts::TextsWriter;
use super::{Document, FORMAT, META, Marks, Meta, SHORT_WORDS, TextCollection};
use crate::index::analyzer::Analyzer;
use crate::trec::Fault;

/// Documents handed to a thread at once, and the bytes of text after which there are enough of them.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 1 << 19;

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

    let mut arrivals = Arrivals::default();
    let lengths = add_all(
        (collection, analyzer, effort),
        &mut arrivals,
        place.path(),
        progress,
    )?;
    let columns = columns(lengths, &arrivals)?;
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

/// Reads the collection, counts its terms and writes everything but the columns and what describes the
/// index. The lengths of the documents, by field.
fn add_all(
    (collection, analyzer, effort): (&TextCollection, &Analyzer, Effort),
    arrivals: &mut Arrivals,
    dir: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Vec<u32>>> {
    let threads = effort.threads.max(1);
    let bytes = effort.bytes.clamp(1, MOST_BYTES);
    let fields = collection.fields().len();
    let mut lengths = vec![Vec::new(); fields];
    let mut texts = TextsWriter::create(dir)?;
    let mut documents = collection.documents();
    let mut runs = Vec::new();
    loop {
        let used = AtomicUsize::new(0);
        let mut done = Done {
            waiting: BTreeMap::new(),
            lengths: &mut lengths,
            texts: &mut texts,
        };
        let (workers, end) = std::thread::scope(|scope| -> Result<_> {
            let (sender, batches) = crossbeam_channel::bounded::<Batch>(2 * threads);
            let (counted, receiver) = crossbeam_channel::unbounded();
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    let (batches, counted, used) = (batches.clone(), counted.clone(), &used);
                    scope.spawn(move || {
                        let mut worker = Worker::new(analyzer);
                        for batch in batches {
                            // the receiver is gone only when something failed
                            let _ = counted.send(worker.count(&batch, fields, used));
                        }
                        worker
                    })
                })
                .collect();
            drop((batches, counted));
            let mut end = false;
            while !end && used.load(Ordering::Relaxed) < bytes {
                let batch;
                (batch, end) = next_batch(&mut documents, arrivals, progress)?;
                if sender.send(batch).is_err() {
                    bail!("a thread that counts terms has ended");
                }
                for counted in receiver.try_iter() {
                    done.take(counted)?;
                }
            }
            drop(sender);
            for counted in receiver {
                done.take(counted)?;
            }
            let workers: Result<Vec<Worker>, _> = workers.into_iter().map(|w| w.join()).collect();
            let workers = workers.ok().context("a thread that counts terms failed")?;
            Ok((workers, end))
        })?;
        let run = tempfile::tempdir_in(dir)?;
        write_run(workers, &lengths, bytes / 2, run.path())?;
        runs.push(run);
        if end {
            break;
        }
    }
    texts.finish()?;
    merge(&runs, &lengths, dir)?;
    for run in runs {
        run.close()?;
    }
    Ok(lengths)
}

/// What is counted comes back in any order, and is written in that of the documents.
struct Done<'a> {
    waiting: BTreeMap<u32, Counted>,
    lengths: &'a mut Vec<Vec<u32>>,
    texts: &'a mut TextsWriter,
}

impl Done<'_> {
    fn take(&mut self, counted: Counted) -> Result<()> {
        self.waiting.insert(counted.first, counted);
        let written = |lengths: &[Vec<u32>]| lengths.first().map_or(0, Vec::len) as u32;
        while let Some(next) = self.waiting.remove(&written(self.lengths)) {
            self.texts.add(&next.packed)?;
            for (all, own) in self.lengths.iter_mut().zip(&next.lengths) {
                all.extend(own);
            }
            // an empty batch, of an empty collection
            if next.lengths.first().is_none_or(Vec::is_empty) {
                break;
            }
        }
        Ok(())
    }
}

/// The next documents, and whether they are the last.
fn next_batch(
    documents: &mut dyn Iterator<Item = Result<Document, Fault>>,
    arrivals: &mut Arrivals,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Batch, bool)> {
    let mut batch = Batch {
        first: arrivals.marks.len() as u32,
        documents: Vec::new(),
    };
    let mut bytes = 0;
    while batch.documents.len() < BATCH && bytes < BATCH_BYTES {
        let document = match documents.next() {
            Some(Ok(document)) => document,
            Some(Err(fault)) => {
                arrivals.fault(fault);
                continue;
            }
            None => return Ok((batch, true)),
        };
        let Some(place) = arrivals.note(&document)? else {
            continue;
        };
        bytes += document.texts.iter().map(String::len).sum::<usize>();
        batch.documents.push(document);
        if place % 8192 == 8191 {
            progress(Progress {
                documents: u64::from(place) + 1,
                faults: arrivals.fault_count,
            });
        }
    }
    Ok((batch, false))
}

/// The columns of the documents: their numbers are the places in which they came.
fn columns(lengths: Vec<Vec<u32>>, arrivals: &Arrivals) -> Result<Columns> {
    let mut ids: Vec<&str> = vec![""; arrivals.places.len()];
    for (id, place) in &arrivals.places {
        if let Some(slot) = ids.get_mut(*place as usize) {
            *slot = id;
        }
    }
    let entries =
        ids.iter()
            .zip(&arrivals.marks)
            .zip(&arrivals.first)
            .map(|((id, marks), first)| Entry {
                id,
                marks: *marks,
                first: *first,
            });
    Columns::new(lengths, entries)
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
