//! Computes the evidence of a collection that the store lacks.
//!
//! Each worker thread takes one document at a time through all stages, on one core. So no stage waits for a slower one, and no two thread pools share
//! a core. CLIP embeds the images of a group of [`GROUP`] neighbouring documents in one batch, on the worker that finishes the group's last document,
//! and the group is written in one transaction. So a resumed extraction embeds the same batches as an uninterrupted one, and stores the same bytes.

mod files;
mod groups;
mod single;
mod suspects;
mod worker;

pub use single::{SingleResult, single};
pub use suspects::{attempt, pass_over, suspects};

use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;
use crossbeam_channel::{Receiver, Sender};

use super::channel::{self, Channel, Channels, Extractor};
use super::clock::Clock;
use super::store::{Store, StoredDocument};
use crate::collection::Fault;
use crate::collection::images::{FileState, ImageCollection, ImageFolder};
use crate::events::{Event, OnEvent};
use crate::threads;

use files::Policy;
use groups::{DocumentResult, Groups};
use worker::{KnownImages, Worker};

/// The number of documents that are embedded and written together.
pub const GROUP: usize = 8;

/// The extractors that are available. A channel without an extractor is not computed; its stored evidence remains.
pub struct Extractors {
    /// All channels, including those without an extractor.
    channels: Channels,
    /// In the order of the channels.
    extractors: Vec<Option<Box<dyn Extractor>>>,
}

impl Extractors {
    /// Asks `find` for the extractor of each channel.
    ///
    /// # Errors
    /// Those of `find`.
    pub fn new(
        channels: Channels,
        mut find: impl FnMut(&'static dyn Channel) -> Result<Option<Box<dyn Extractor>>>,
    ) -> Result<Extractors> {
        let extractors = channels.iter().map(|channel| find(*channel));
        Ok(Extractors {
            channels,
            extractors: extractors.collect::<Result<_>>()?,
        })
    }

    /// The extractor of a channel, if it is available.
    pub fn extractor(&self, channel: &str) -> Option<&dyn Extractor> {
        let at = self.channels.iter().position(|c| c.name() == channel)?;
        self.extractors.get(at)?.as_deref()
    }

    /// Whether the channel can be computed.
    pub fn has(&self, channel: &str) -> bool {
        self.extractor(channel).is_some()
    }

    /// The extractor of a channel, if it is available and of this type. Rankings use the models of channels, too, and find them here.
    pub fn model<T: Extractor>(&self, channel: &str) -> Option<&T> {
        (self.extractor(channel)? as &dyn Any).downcast_ref()
    }

    /// The version of riposte, and the producers of all channels that can be computed.
    pub fn signature(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        format!("riposte {version}; {}", self.all_producers())
    }

    /// The producers of all channels that can be computed.
    pub fn all_producers(&self) -> String {
        let mut producers = BTreeMap::new();
        let mut texts = Vec::new();
        for channel in self.channels {
            if let Some(producer) = self.producer(*channel, &producers) {
                texts.push(format!("{}: {producer}", channel.name()));
                producers.insert(channel.name(), producer);
            }
        }
        texts.join("; ")
    }

    /// The producer of a channel, given the producers of the channels that it uses; `None` if its extractor is not available.
    fn producer(&self, channel: &dyn Channel, producers: &Producers) -> Option<String> {
        let own = self.extractor(channel.name())?.producer();
        let producer_of = |used| producers.get(used).map_or("no text", String::as_str);
        let used: Vec<&str> = channel.uses().iter().map(producer_of).collect();
        Some(match used.as_slice() {
            [] => own,
            _ => format!("{own}{MADE_FROM}{}", used.join(" and ")),
        })
    }
}

/// What separates a producer from the producers of its inputs.
const MADE_FROM: &str = " of ";

/// The producer without the producers of its inputs.
pub(crate) fn without_inputs(producer: &str) -> &str {
    producer
        .split_once(MADE_FROM)
        .map_or(producer, |(own, _)| own)
}

/// Producers, by the name of the channel.
type Producers = BTreeMap<&'static str, String>;

/// One of `count` parts of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1 to `count`.
    pub number: usize,
    pub count: usize,
}

impl Shard {
    /// The whole collection.
    pub const WHOLE: Shard = Shard {
        number: 1,
        count: 1,
    };

    fn has_group(self, group: usize) -> bool {
        group % self.count == self.number - 1
    }
}

/// The result of an extraction.
#[derive(Debug, Default)]
pub struct ExtractionSummary {
    /// The number of documents in the extent.
    pub documents: usize,
    /// The number of documents for which something was computed.
    pub computed: usize,
    /// The number of these documents whose picture was not read, because it has the same pixels as that of another document.
    pub copied: usize,
    /// Whether it was stopped before the end.
    pub stopped: bool,
    /// The faults of all documents in the extent, including those of earlier runs, sorted by document.
    pub faults: Vec<Fault>,
    /// Thread-seconds of each stage, in the order of the stages.
    pub seconds: Vec<(&'static str, f64)>,
    /// The share of the workers' time spent in the stages, in [0, 1]; the rest was spent waiting. 0 if no time has passed.
    pub busy: f64,
    /// The number of documents that have each channel.
    pub channels: BTreeMap<&'static str, usize>,
}

/// The documents for which evidence is computed, and the number of threads.
#[derive(Clone, Copy, Debug)]
pub struct ExtractionScope {
    pub shard: Shard,
    /// The maximum number of documents, taken from the first ids on; `None` for all.
    pub limit: Option<usize>,
    /// The number of worker threads; 0 counts as 1.
    pub threads: usize,
    /// Whether the contents of all files are compared with those of the last extraction, even if sizes, times and inodes are the same.
    pub rehash: bool,
}

/// The number of documents without new evidence whose file states are written in one transaction. If the process is killed, the files of at most this
/// many documents are read again.
const STATES_AT_ONCE: usize = 512;

/// The stored documents of a collection whose files are on another machine, at most `limit`, as the result of an extraction that computes nothing.
///
/// # Errors
/// The store cannot be read.
pub fn stored(
    collection: &ImageCollection,
    store: &Store,
    limit: Option<usize>,
) -> Result<ExtractionSummary> {
    let entries = first_entries(collection, limit);
    let mut summary = ExtractionSummary {
        documents: entries.len(),
        faults: faults_of(store, entries.iter())?,
        ..ExtractionSummary::default()
    };
    let known = store.stored_documents()?;
    let channels = entries.iter().filter_map(|entry| known.get(&entry.id.0));
    for name in channels.flat_map(|document| document.producers.keys()) {
        if let Some(channel) = channel::find(store.channels(), name) {
            *summary.channels.entry(channel.name()).or_default() += 1;
        }
    }
    Ok(summary)
}

fn first_entries(collection: &ImageCollection, limit: Option<usize>) -> &[ImageFolder] {
    let entries = &collection.entries;
    &entries[..limit.unwrap_or(usize::MAX).min(entries.len())]
}

/// The stored faults of some documents, sorted by document.
fn faults_of<'e>(
    store: &Store,
    entries: impl Iterator<Item = &'e ImageFolder>,
) -> Result<Vec<Fault>> {
    let ids: HashSet<&str> = entries.map(|entry| entry.id.0.as_str()).collect();
    let faults = store.faults()?.into_iter();
    let own = faults.filter(|(id, _)| ids.contains(id.0.as_str()));
    Ok(own.map(|(_, fault)| fault).collect())
}

/// Computes missing evidence for documents of the collection and writes it to the store. When `stop` is set, extraction ends after the documents that
/// the workers have begun. A document that [`pass_over`] has recorded becomes a fault if it has not changed since.
///
/// Errors: the store cannot be read or written, or a model fails. A broken document is not an error but a fault.
pub fn extract(
    collection: &ImageCollection,
    store: &mut Store,
    tools: &Extractors,
    extent: ExtractionScope,
    stop: &AtomicBool,
    on_event: &mut OnEvent,
) -> Result<ExtractionSummary> {
    let entries = first_entries(collection, extent.limit);
    let mine: Vec<usize> = (0..entries.len())
        .filter(|index| extent.shard.has_group(index / GROUP))
        .collect();
    let passed_over = suspects::passed_over(entries, &mine, store, tools)?;
    let job = ExtractionJob {
        entries,
        stored: store.stored_documents()?,
        passed_over: &passed_over,
        next: AtomicUsize::new(0),
        groups: Groups {
            documents: entries.len(),
            open: Mutex::default(),
        },
        mine: &mine,
        stop,
    };
    let clock = Clock::default();
    let known_images = KnownImages::default();
    let policy = Policy {
        is_read_only: store.is_read_only(),
        rehash: extent.rehash,
    };
    let place = store.place();
    let at_work = store.begin_work()?;
    let threads = extent.threads.max(1);
    // this queue holds finished groups while the disk is slow, so that workers need not wait
    let (sender, receiver) = crossbeam_channel::bounded(2 * threads);
    let mut writer = Writer {
        store,
        job: &job,
        known_images: &known_images,
        states: Vec::new(),
        left_out: Vec::new(),
        seconds: 0.0,
        summary: ExtractionSummary {
            documents: mine.len(),
            faults: collection.faults.clone(),
            ..ExtractionSummary::default()
        },
    };
    let start = Instant::now();
    let ended = std::thread::scope(|scope| -> Result<()> {
        for number in 0..threads {
            let sender = sender.clone();
            let notes = at_work.as_ref().map(|at_work| (at_work, number));
            let worker = Worker::new(tools, &clock, entries, &place, policy, &known_images, notes)?;
            let job = &job;
            threads::spawn(scope, move || job.work(worker, &sender))?;
        }
        drop(sender);
        writer.write_all(receiver, on_event)
    });
    if let Some(at_work) = at_work {
        // notes that cannot be removed only make the next extraction try their documents first
        let _ = at_work.end();
    }
    ended?;
    let worker_seconds = threads as f64 * start.elapsed().as_secs_f64();
    writer.finish(&clock, worker_seconds)
}

/// What the workers of an extraction share.
struct ExtractionJob<'a> {
    entries: &'a [ImageFolder],
    /// The indices of the documents in the extent.
    mine: &'a [usize],
    stored: HashMap<String, StoredDocument>,
    passed_over: &'a BTreeMap<usize, Fault>,
    /// The number of documents of `mine` that workers have taken.
    next: AtomicUsize,
    groups: Groups,
    stop: &'a AtomicBool,
}

/// The documents of a group, or the error that ends the extraction.
type Finished = Result<Vec<DocumentResult>>;

impl ExtractionJob<'_> {
    /// Takes documents until all are taken, the user stops, or a worker fails.
    fn work(&self, worker: Worker, sender: &Sender<Finished>) {
        while !self.stop.load(Ordering::Relaxed) {
            let Some(&index) = self.mine.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            let result = if self.passed_over.contains_key(&index) {
                Ok(DocumentResult {
                    index,
                    ..DocumentResult::default()
                })
            } else {
                worker.document(index, self.stored.get(&self.entries[index].id.0))
            };
            let done = result.and_then(|result| worker.finish(result, &self.groups));
            let failed = done.is_err();
            // sending fails only if the extraction has failed
            if let Some(group) = done.transpose()
                && (sender.send(group).is_err() || failed)
            {
                break;
            }
        }
    }
}

/// Writes the results of the workers.
struct Writer<'a> {
    store: &'a mut Store,
    job: &'a ExtractionJob<'a>,
    known_images: &'a KnownImages,
    /// The file states of documents without new evidence that have not been written yet.
    states: Vec<(String, FileState)>,
    /// The faults of documents that could not be read because of a temporary error.
    left_out: Vec<Fault>,
    /// The time that writing took.
    seconds: f64,
    summary: ExtractionSummary,
}

impl Writer<'_> {
    /// Writes groups until no worker is left. The receiver is dropped even after an error, so that no worker waits for it.
    fn write_all(&mut self, receiver: Receiver<Finished>, on_event: &mut OnEvent) -> Result<()> {
        let mut done = 0;
        let total = self.job.mine.len();
        for members in &receiver {
            let start = Instant::now();
            done += self.write(members?)?;
            self.seconds += start.elapsed().as_secs_f64();
            on_event(Event::progress(done, total));
        }
        if !self.states.is_empty() {
            self.store.write_file_states(&self.states)?;
        }
        self.summary.stopped = done < total;
        Ok(())
    }

    /// Writes a group. Returns the number of its documents.
    fn write(&mut self, members: Vec<DocumentResult>) -> Result<usize> {
        let count = members.len();
        let summary = &mut self.summary;
        let mut records = Vec::new();
        let mut digests = Vec::new();
        for mut member in members {
            for channel in member.producers.keys() {
                *summary.channels.entry(channel).or_default() += 1;
            }
            if let Some(record) = member.record.take() {
                summary.computed += 1;
                records.push(record);
            } else if let Some(files) = member.files.take() {
                let id = self.job.entries[member.index].id.0.clone();
                self.states.push((id, files));
            }
            self.left_out.append(&mut member.transient);
            summary.copied += usize::from(member.is_copied);
            digests.extend(
                member
                    .digests
                    .into_iter()
                    .map(|digest| (digest, member.index)),
            );
        }
        if !records.is_empty() {
            self.store.write(&records)?;
        }
        if self.states.len() >= STATES_AT_ONCE {
            self.store
                .write_file_states(&std::mem::take(&mut self.states))?;
        }
        let known = self.known_images.lock();
        known
            .unwrap_or_else(PoisonError::into_inner)
            .extend(digests);
        Ok(count)
    }

    /// Adds the faults and the times to the summary.
    fn finish(self, clock: &Clock, worker_seconds: f64) -> Result<ExtractionSummary> {
        let ExtractionJob { entries, mine, .. } = self.job;
        let mut summary = self.summary;
        let stored = faults_of(self.store, mine.iter().map(|&i| &entries[i]))?;
        let passed_over = self.job.passed_over.values().cloned();
        summary.faults.extend(stored.into_iter().chain(passed_over));
        summary.faults.extend(self.left_out);
        summary.seconds = clock.seconds();
        let worked: f64 = summary.seconds.iter().map(|(_, seconds)| seconds).sum();
        if worker_seconds > 0.0 {
            summary.busy = worked / worker_seconds;
        }
        summary.seconds.push(("write", self.seconds));
        Ok(summary)
    }
}
