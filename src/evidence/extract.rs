//! Computes the evidence of a collection that the store lacks.
//!
//! Each worker thread takes one document at a time through all stages, on one core. So no stage waits for a slower one, and no two thread pools share
//! a core. CLIP embeds the images of a group of [`GROUP`] neighbouring documents in one batch, on the worker that finishes the group's last document,
//! and the group is written in one transaction. So a resumed extraction embeds the same batches as an uninterrupted one, and stores the same bytes.

mod clock;
mod files;
mod groups;
mod single;
mod suspects;
mod worker;

pub use single::{Single, single};
pub use suspects::{attempt, pass_over, suspects};

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;

use super::clip::Clip;
use super::ocr::TextReader;
use super::sentence::Sentences;
use super::sentiment::{Afinn, Vader};
use super::store::Store;
use super::{Channel, page, picture};
use crate::collection::images::{Entry, ImageCollection};
use crate::nn::lazy::Lazy;
use crate::trec::Fault;

use clock::Clock;
use files::Policy;
use groups::{DocumentResult, Groups};
use worker::Worker;

/// The number of documents that are embedded and written together.
pub const GROUP: usize = 8;

/// The extractors that are available. A channel without an extractor is not computed; its stored evidence remains.
pub struct Tools {
    pub ocr: Option<Lazy<Box<dyn TextReader>>>,
    pub clip: Option<Lazy<Clip>>,
    pub sentences: Option<Lazy<Sentences>>,
    pub vader: Vader,
    /// The lexicon and its sha256.
    pub afinn: Option<(Afinn, String)>,
}

impl Tools {
    /// Whether the channel can be computed.
    pub fn has(&self, channel: Channel) -> bool {
        match channel {
            Channel::Page | Channel::Picture | Channel::Vader => true,
            Channel::Ocr => self.ocr.is_some(),
            Channel::Clip => self.clip.is_some(),
            Channel::Sentence => self.sentences.is_some(),
            Channel::Afinn => self.afinn.is_some(),
        }
    }

    /// The version of riposte, and the producers of all channels that can be computed.
    pub fn signature(&self) -> String {
        format!(
            "riposte {}; {}",
            env!("CARGO_PKG_VERSION"),
            self.all_producers()
        )
    }

    /// The producers of all channels that can be computed.
    pub fn all_producers(&self) -> String {
        let mut producers = BTreeMap::new();
        let mut texts = Vec::new();
        for channel in Channel::ALL {
            if let Some(producer) = self.producer(channel, &producers) {
                texts.push(format!("{channel}: {producer}"));
                producers.insert(channel, producer);
            }
        }
        texts.join("; ")
    }

    /// The producer of a channel, given the producers of the channels that it uses; `None` if its extractor is not available.
    fn producer(&self, channel: Channel, producers: &BTreeMap<Channel, String>) -> Option<String> {
        let own = match channel {
            Channel::Page => page::PRODUCER.to_owned(),
            Channel::Picture => picture::PRODUCER.to_owned(),
            Channel::Vader => super::sentiment::PRODUCER.to_owned(),
            Channel::Ocr => self.ocr.as_ref()?.producer().to_owned(),
            Channel::Clip => self.clip.as_ref()?.producer().to_owned(),
            Channel::Sentence => self.sentences.as_ref()?.producer().to_owned(),
            Channel::Afinn => {
                let (_, sha256) = self.afinn.as_ref()?;
                format!("afinn/1 {sha256}")
            }
        };
        let used: Vec<&str> = channel
            .uses()
            .iter()
            .map(|used| producers.get(used).map_or("no text", String::as_str))
            .collect();
        Some(if used.is_empty() {
            own
        } else {
            format!("{own} of {}", used.join(" and "))
        })
    }
}

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

/// The progress of an extraction, in documents.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub done: usize,
    pub total: usize,
    /// The number of documents done for which something was computed.
    pub computed: usize,
}

/// The result of an extraction.
#[derive(Debug, Default)]
pub struct Summary {
    /// The number of documents in the extent.
    pub documents: usize,
    /// The number of documents for which something was computed.
    pub computed: usize,
    /// Whether it was stopped before the end.
    pub stopped: bool,
    /// The faults of all documents in the extent, including those of earlier runs, sorted by document.
    pub faults: Vec<Fault>,
    /// Thread-seconds of each stage, in the order of the stages.
    pub seconds: Vec<(&'static str, f64)>,
    /// The share of the workers' time spent in the stages, in [0, 1]; the rest was spent waiting. 0 if no time has passed.
    pub busy: f64,
    /// The number of documents that have each channel.
    pub channels: BTreeMap<Channel, usize>,
}

/// The documents for which evidence is computed, and the number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
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

/// What the store has about the first `limit` documents of a collection whose files are elsewhere: the result of an extraction that computes nothing.
///
/// # Errors
/// The store cannot be read.
pub fn stored(
    collection: &ImageCollection,
    store: &Store,
    limit: Option<usize>,
) -> Result<Summary> {
    let entries = || {
        let entries = collection.entries().iter();
        entries.take(limit.unwrap_or(usize::MAX))
    };
    let mut summary = Summary {
        documents: entries().count(),
        faults: faults_of(store, entries())?,
        ..Summary::default()
    };
    let known = store.stored_documents()?;
    let channels = entries().filter_map(|entry| known.get(&entry.id.0));
    for channel in channels.flat_map(|document| document.producers.keys()) {
        *summary.channels.entry(*channel).or_default() += 1;
    }
    Ok(summary)
}

/// The stored faults of some documents, sorted by document.
fn faults_of<'e>(store: &Store, entries: impl Iterator<Item = &'e Entry>) -> Result<Vec<Fault>> {
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
    tools: &Tools,
    extent: Extent,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Summary> {
    let Extent {
        shard,
        limit,
        threads,
        rehash,
    } = extent;
    let entries = collection.entries();
    let entries = &entries[..limit.unwrap_or(entries.len()).min(entries.len())];
    let mine: Vec<usize> = (0..entries.len())
        .filter(|index| shard.has_group(index / GROUP))
        .collect();
    let stored = store.stored_documents()?;
    let store_path = store.path().to_owned();
    let policy = Policy {
        is_read_only: store.is_read_only(),
        rehash,
    };
    let clock = Clock::default();
    let next = AtomicUsize::new(0);
    let threads = threads.max(1);
    // the channel holds finished groups while the disk is slow, so that workers need not wait
    let (sender, receiver) = crossbeam_channel::bounded::<Result<Vec<DocumentResult>>>(2 * threads);
    let groups = Groups::new(entries.len());
    let known_images = Mutex::new(HashMap::new());
    let passed_over = suspects::passed_over(entries, &mine, store, tools)?;
    let at_work = store.begin_work()?;

    let mut summary = Summary {
        documents: mine.len(),
        faults: collection.faults().to_vec(),
        ..Summary::default()
    };
    let mut write_seconds = 0.0;
    let start = Instant::now();
    let ended = std::thread::scope(|scope| -> Result<()> {
        for number in 0..threads {
            let sender = sender.clone();
            let worker = Worker::new(tools, &clock, entries, &store_path, policy, &known_images)?
                .noting(at_work.as_ref(), number);
            let (mine, stored, next, groups) = (&mine, &stored, &next, &groups);
            let passed_over = &passed_over;
            scope.spawn(move || {
                let mut worker = worker;
                while !stop.load(Ordering::Relaxed) {
                    let Some(&index) = mine.get(next.fetch_add(1, Ordering::Relaxed)) else {
                        break;
                    };
                    let done = if passed_over.contains_key(&index) {
                        worker.pass_over(index, groups)
                    } else {
                        worker.work(index, stored.get(&entries[index].id.0), groups)
                    };
                    let failed = done.is_err();
                    // sending fails only if the extraction has failed
                    if let Some(group) = done.transpose()
                        && (sender.send(group).is_err() || failed)
                    {
                        break;
                    }
                }
            });
        }
        drop(sender);

        let mut done = 0;
        let mut states = Vec::new();
        // dropped at the end of this scope, even after an error, so that no worker waits for this receiver
        let receiver = receiver;
        for members in &receiver {
            let start = Instant::now();
            let mut records = Vec::new();
            let mut digests = Vec::new();
            for mut member in members? {
                done += 1;
                for channel in member.producers.keys() {
                    *summary.channels.entry(*channel).or_default() += 1;
                }
                if let Some(record) = member.record.take() {
                    summary.computed += 1;
                    records.push(record);
                } else if let Some(files) = member.files.take() {
                    states.push((entries[member.index].id.0.clone(), files));
                }
                digests.extend(member.digest.map(|digest| (digest, member.index)));
            }
            if !records.is_empty() {
                store.write(&records)?;
            }
            if states.len() >= STATES_AT_ONCE {
                store.write_file_states(&std::mem::take(&mut states))?;
            }
            known_images
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(digests);
            write_seconds += start.elapsed().as_secs_f64();
            on_progress(Progress {
                done,
                total: mine.len(),
                computed: summary.computed,
            });
        }
        if !states.is_empty() {
            store.write_file_states(&states)?;
        }
        summary.stopped = done < mine.len();
        Ok(())
    });
    if let Some(at_work) = at_work {
        // notes that cannot be removed only make the next extraction try their documents first
        let _ = at_work.end();
    }
    ended?;
    let worker_seconds = threads as f64 * start.elapsed().as_secs_f64();
    summary.faults = faults_of(store, mine.iter().filter_map(|&i| entries.get(i)))?;
    summary.faults.extend(passed_over.into_values());
    summary.seconds = clock.seconds();
    let worked: f64 = summary.seconds.iter().map(|(_, seconds)| seconds).sum();
    summary.busy = if worker_seconds > 0.0 {
        worked / worker_seconds
    } else {
        0.0
    };
    summary.seconds.push(("write", write_seconds));
    Ok(summary)
}
