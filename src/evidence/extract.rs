//! From a collection to its evidence: what is missing in the store is computed and written.
//!
//! Each worker thread takes one document at a time through all stages, on one core: nothing waits for a
//! slower stage, and no two pools of threads share a core. CLIP embeds the images of a group at once, on the
//! worker that has finished the last of them. A group of [`GROUP`] neighbouring documents is written in one
//! transaction, so that a resumed extraction embeds the same batches as an uninterrupted one, and stores the
//! same bytes.

mod worker;

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
use crate::collection::images::ImageCollection;
use crate::nn::lazy::Lazy;
use crate::trec::Fault;

use worker::{Clock, Groups, Outcome, Worker};

/// Documents embedded and written together.
pub const GROUP: usize = 8;

/// The extractors of this run. What is none computes nothing; what the store has of it stays.
pub struct Tools {
    pub ocr: Option<Lazy<Box<dyn TextReader>>>,
    pub clip: Option<Lazy<Clip>>,
    pub sentences: Option<Lazy<Sentences>>,
    pub vader: Vader,
    /// With the sha256 of its lexicon.
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

    /// What the channel is made by, given what the channels that it uses were made by; none if the
    /// tool is not here.
    fn producer(&self, channel: Channel, made: &BTreeMap<Channel, String>) -> Option<String> {
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
            .map(|used| made.get(used).map_or("no text", String::as_str))
            .collect();
        Some(match used.is_empty() {
            true => own,
            false => format!("{own} of {}", used.join(" and ")),
        })
    }
}

/// One of `count` parts of a collection, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
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

/// How far an extraction is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub done: usize,
    pub total: usize,
    /// Of those done, how many had something to compute.
    pub computed: usize,
}

/// What an extraction did.
#[derive(Debug, Default)]
pub struct Summary {
    pub documents: usize,
    pub computed: usize,
    /// It was asked to stop before the end.
    pub stopped: bool,
    /// Of all documents, those of earlier runs too, in document order.
    pub faults: Vec<Fault>,
    /// Thread-seconds a stage, in the order of the stages.
    pub seconds: Vec<(&'static str, f64)>,
    /// Share of the workers' time that they spent in the stages, in [0, 1], and not waiting; 0 if there was no time.
    pub busy: f64,
    /// How many documents have each channel.
    pub channels: BTreeMap<Channel, usize>,
}

/// Which documents, and on how many threads.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub shard: Shard,
    /// Only so many documents, the first by id.
    pub limit: Option<usize>,
    /// Documents at work at once; at least one is.
    pub threads: usize,
}

/// Computes what is missing for these documents of the collection and writes it to the store. `stop` ends
/// it after the documents at work.
///
/// Errors are about the store or a model; what is wrong with a document is a fault.
pub fn extract(
    collection: &ImageCollection,
    store: &mut Store,
    tools: &Tools,
    extent: Extent,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Summary> {
    let Extent {
        shard,
        limit,
        threads,
    } = extent;
    let entries = collection.entries();
    let entries = &entries[..limit.unwrap_or(entries.len()).min(entries.len())];
    let mine: Vec<usize> = (0..entries.len())
        .filter(|index| shard.has_group(index / GROUP))
        .collect();
    let held = store.held()?;
    let store_path = store.path().to_owned();
    let clock = Clock::default();
    let next = AtomicUsize::new(0);
    let threads = threads.max(1);
    // groups that wait to be written: a disk that is slow for a moment stops nobody
    let (sender, receiver) = crossbeam_channel::bounded::<Result<Vec<Outcome>>>(2 * threads);
    let groups = Groups::new(entries.len());
    let seen = Mutex::new(HashMap::new());

    let mut summary = Summary {
        documents: mine.len(),
        faults: collection.faults().to_vec(),
        ..Summary::default()
    };
    let mut write_seconds = 0.0;
    let start = Instant::now();
    std::thread::scope(|scope| -> Result<()> {
        for _ in 0..threads {
            let sender = sender.clone();
            let worker = Worker::new(tools, &clock, entries, &store_path, &seen)?;
            let (mine, held, next, groups) = (&mine, &held, &next, &groups);
            scope.spawn(move || {
                let mut worker = worker;
                while !stop.load(Ordering::Relaxed) {
                    let Some(&index) = mine.get(next.fetch_add(1, Ordering::Relaxed)) else {
                        break;
                    };
                    let done = worker.work(index, held.get(&entries[index].id.0), groups);
                    let failed = done.is_err();
                    // the receiver is gone only when the extraction failed
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
        // dropped before the scope ends, however it ends, so that no worker waits for a reader
        let receiver = receiver;
        for members in &receiver {
            let start = Instant::now();
            let mut records = Vec::new();
            let mut digests = Vec::new();
            for mut member in members? {
                done += 1;
                for channel in member.made.keys() {
                    *summary.channels.entry(*channel).or_default() += 1;
                }
                if let Some(record) = member.record.take() {
                    summary.computed += 1;
                    records.push(record);
                }
                digests.extend(member.digest.map(|digest| (digest, member.index)));
            }
            if !records.is_empty() {
                store.write(&records)?;
            }
            seen.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(digests);
            write_seconds += start.elapsed().as_secs_f64();
            progress(Progress {
                done,
                total: mine.len(),
                computed: summary.computed,
            });
        }
        summary.stopped = done < mine.len();
        Ok(())
    })?;
    let whole = threads as f64 * start.elapsed().as_secs_f64();
    let ids: HashSet<&str> = mine.iter().map(|&i| entries[i].id.0.as_str()).collect();
    let faults = store.faults()?;
    let faults = faults
        .into_iter()
        .filter(|(id, _)| ids.contains(id.0.as_str()));
    summary.faults.extend(faults.map(|(_, fault)| fault));
    summary.seconds = clock.seconds();
    let worked: f64 = summary.seconds.iter().map(|(_, seconds)| seconds).sum();
    summary.busy = if whole > 0.0 { worked / whole } else { 0.0 };
    summary.seconds.push(("write", write_seconds));
    Ok(summary)
}
