//! Evidence for the relevance of every image to each topic: cosines of vectors, and ranks in the crawl. The vectors of all images are read
//! once for many topics, and none of them stays in memory.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, anyhow};
use rayon::prelude::*;

use super::super::approach::{Relevance, Sentiment};
use super::super::channels::SignalKey;
use super::super::likeness::{ArgumentVectors, Likeness};
use super::embeddings::TopicVectors;
use crate::evidence::store::Store;
use crate::evidence::{TextPart, sentiment};
use crate::index::images::position;
use crate::index::vector;
use crate::score::signal::{Need, Values};
use crate::trec::{DocId, TopicId};

/// Number of images whose vectors a thread reads at once.
const CHUNK: usize = 128;

/// The cosines for one topic: for each signal that is on, one value for each image, which is NaN if the image has nothing to compare.
pub(super) type Cosines = BTreeMap<SignalKey, Vec<f64>>;

/// Reads the cosines that the approach uses, for each topic.
///
/// # Errors
/// The store cannot be read.
pub(super) fn read(
    store: &Store,
    ids: &[DocId],
    topics: &[&TopicVectors],
    relevance: &Relevance,
) -> Result<Vec<Cosines>> {
    let mut signals = vec![Cosines::new(); topics.len()];
    let used = |is_meant: fn(Need) -> bool| -> Vec<Compared> {
        let used = relevance.channels.keys().map(|key| Compared {
            key: *key,
            need: key.signal().need(),
        });
        used.filter(|compared| is_meant(compared.need)).collect()
    };
    let sentences = used(Need::is_of_sentences);
    if !sentences.is_empty() {
        let chunks = read_chunks(store, ids, topics, &sentences, read_sentences)?;
        let is_on = |need, topic: &TopicVectors| match need {
            Need::Arguments => topic.arguments.is_some(),
            _ => topic.words.is_some(),
        };
        append_chunks(chunks, &sentences, topics, is_on, &mut signals);
    }
    let clip = used(Need::is_of_clip);
    if !clip.is_empty() {
        let chunks = read_chunks(store, ids, topics, &clip, read_clip)?;
        let is_on = |_, topic: &TopicVectors| topic.clip.is_some();
        append_chunks(chunks, &clip, topics, is_on, &mut signals);
    }
    Ok(signals)
}

/// A signal that compares vectors.
#[derive(Clone, Copy)]
struct Compared {
    key: SignalKey,
    need: Need,
}

/// Values by signal, topic and image.
type Columns = Vec<Vec<Vec<f64>>>;

/// A function that fills the columns of a chunk of images; all values are NaN before. Its arguments are the store, the ids of the images, the topics,
/// the signals and the columns.
type ReadChunk = fn(&Store, &[DocId], &[&TopicVectors], &[Compared], &mut Columns) -> Result<()>;

/// The columns of all images, chunk by chunk.
fn read_chunks(
    store: &Store,
    ids: &[DocId],
    topics: &[&TopicVectors],
    channels: &[Compared],
    read: ReadChunk,
) -> Result<Vec<Columns>> {
    let place = store.place();
    ids.par_chunks(CHUNK)
        .map_init(
            || place.open_to_read(),
            |store, ids| {
                let store = store.as_ref().map_err(|error| anyhow!("{error:#}"))?;
                let mut columns =
                    vec![vec![vec![f64::NAN; ids.len()]; topics.len()]; channels.len()];
                read(store, ids, topics, channels, &mut columns)?;
                Ok(columns)
            },
        )
        .collect()
}

/// Appends the columns of all chunks to the signals of each topic, if the signal is on for this topic.
fn append_chunks(
    chunks: Vec<Columns>,
    channels: &[Compared],
    topics: &[&TopicVectors],
    is_on: impl Fn(Need, &TopicVectors) -> bool,
    signals: &mut [Cosines],
) {
    for chunk in chunks {
        for (channel, of_channel) in channels.iter().zip(chunk) {
            for ((topic, signals), column) in topics.iter().zip(&mut *signals).zip(of_channel) {
                if is_on(channel.need, topic) {
                    signals.entry(channel.key).or_default().extend(column);
                }
            }
        }
    }
}

/// Sets `slot` to the cosine of the vectors if that is larger. Vectors of different lengths are from different models and are not compared.
fn keep_larger_cosine(slot: &mut f64, image: &[f32], topic: &[f32]) {
    if image.len() == topic.len() {
        // `max` prefers any number to NaN
        *slot = slot.max(f64::from(vector::dot(image, topic)));
    }
}

fn read_clip(
    store: &Store,
    ids: &[DocId],
    topics: &[&TopicVectors],
    channels: &[Compared],
    columns: &mut Columns,
) -> Result<()> {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
        return Ok(());
    };
    store.each_clip_vector(first, last, |document, vector| {
        let Some(at) = position(ids, document) else {
            return;
        };
        for (channel, columns) in channels.iter().zip(&mut *columns) {
            for (topic, column) in topics.iter().zip(columns) {
                let vectors = topic.clip.as_ref();
                let wanted = vectors.map(|of_topic| match channel.need {
                    Need::ClipTitle => &of_topic.title,
                    _ => &of_topic.about,
                });
                if let Some(wanted) = wanted {
                    keep_larger_cosine(&mut column[at], vector, wanted);
                }
            }
        }
    })
}

fn read_sentences(
    store: &Store,
    ids: &[DocId],
    topics: &[&TopicVectors],
    channels: &[Compared],
    columns: &mut Columns,
) -> Result<()> {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
        return Ok(());
    };
    let index_of = |wanted| channels.iter().position(|channel| channel.need == wanted);
    let arguments = index_of(Need::Arguments);
    let mut current = CurrentImage::default();
    store.each_sentence_vector(first, last, |document, part, vector| {
        let Some(at) = position(ids, document) else {
            return;
        };
        let channel = index_of(Need::Sentence(part));
        if let Some(columns) = channel.and_then(|channel| columns.get_mut(channel)) {
            for (topic, column) in topics.iter().zip(columns) {
                if let Some(words) = &topic.words {
                    keep_larger_cosine(&mut column[at], vector, words);
                }
            }
        }
        if let Some(arguments) = arguments {
            if current.at != Some(at) {
                current.compare_with_arguments(topics, &mut columns[arguments]);
                current.at = Some(at);
            }
            current.vectors.push((part, vector.to_vec()));
        }
    })?;
    if let Some(arguments) = arguments {
        current.compare_with_arguments(topics, &mut columns[arguments]);
    }
    Ok(())
}

/// The image whose vectors are being read. All of them are collected, because its likeness to arguments depends on all.
#[derive(Default)]
struct CurrentImage {
    at: Option<usize>,
    vectors: Vec<(TextPart, Vec<f32>)>,
}

impl CurrentImage {
    /// Sets the image's likeness to the arguments about each topic, and forgets its vectors.
    fn compare_with_arguments(&mut self, topics: &[&TopicVectors], columns: &mut [Vec<f64>]) {
        if let Some(at) = self.at {
            for (topic, column) in topics.iter().zip(columns) {
                let arguments = topic.arguments.as_ref();
                let likeness = arguments.and_then(|arguments| self.likeness(arguments));
                column[at] = likeness.unwrap_or(f64::NAN);
            }
        }
        self.vectors.clear();
    }

    /// The likeness to arguments of the text in the image or of the words around it, whichever is larger. Each is compared with the arguments of its
    /// more similar side.
    fn likeness(&self, arguments: &ArgumentVectors) -> Option<f64> {
        let likeness_of = |wanted: TextPart| {
            let of_part = self.vectors.iter().filter(|(part, _)| *part == wanted);
            arguments.likeness(of_part.map(|(_, vector)| vector.as_slice()))
        };
        let both = [likeness_of(TextPart::Ocr), likeness_of(TextPart::Near)];
        both.iter().flatten().map(Likeness::best).reduce(f64::max)
    }
}

/// Reads the stored numbers that the signals of the approach need: for each signal, one value for each image. A signal without any value is off, and
/// is left out.
///
/// # Errors
/// The store cannot be read.
pub(super) fn read_numbers(
    store: &Store,
    ids: &[DocId],
    relevance: &Relevance,
) -> Result<BTreeMap<SignalKey, Values>> {
    let mut all = BTreeMap::new();
    for key in relevance.channels.keys() {
        let Need::Number { table, column } = key.signal().need() else {
            continue;
        };
        let mut values = vec![None; ids.len()];
        store.each_number(table, column, |document, value| {
            if let Some(slot) = position(ids, document).and_then(|at| values.get_mut(at)) {
                *slot = Some(value);
            }
        })?;
        if values.iter().any(Option::is_some) {
            all.insert(*key, values);
        }
    }
    Ok(all)
}

/// The sentiment of every image: the sum over its pages of the values that [`Sentiment`] names; 0 without a text.
///
/// # Errors
/// The store cannot be read.
pub(super) fn read_sentiment(store: &Store, ids: &[DocId], which: Sentiment) -> Result<Vec<f64>> {
    let mut values = vec![0.0; ids.len()];
    let (table, wanted): (_, &[TextPart]) = match which {
        Sentiment::AfinnMain => (&sentiment::AFINN, &[TextPart::Main]),
        Sentiment::VaderTitle => (&sentiment::VADER, &[TextPart::Title]),
        Sentiment::VaderMainAndOcr => (&sentiment::VADER, &[TextPart::Main, TextPart::Ocr]),
    };
    store.each_valence(table, |document, part, value| {
        let slot = wanted.contains(&part).then(|| position(ids, document));
        if let Some(slot) = slot.flatten().and_then(|at| values.get_mut(at)) {
            *slot += value;
        }
    })?;
    Ok(values)
}

/// A rank at which the crawl found an image.
struct CrawledImage {
    /// The number of the image.
    at: usize,
    query: String,
    /// The rank, from 1.
    rank: u32,
}

/// The ranks at which the crawl found the images for each topic.
#[derive(Default)]
pub(super) struct CrawlRanks {
    by_topic: HashMap<String, Vec<CrawledImage>>,
}

impl CrawlRanks {
    /// # Errors
    /// The store cannot be read.
    pub fn read(store: &Store, ids: &[DocId]) -> Result<Self> {
        let mut ranks = CrawlRanks::default();
        store.each_crawl_rank(|document, found| {
            if let Some(at) = position(ids, document) {
                let of_topic = ranks.by_topic.entry(found.topic.clone()).or_default();
                of_topic.push(CrawledImage {
                    at,
                    query: found.query.clone(),
                    rank: found.rank.max(1),
                });
            }
        })?;
        Ok(ranks)
    }

    /// By image, the best rank for those queries of the topic that have this ending.
    pub fn best(&self, topic: &TopicId, ending: &str) -> BTreeMap<usize, u32> {
        let mut best: BTreeMap<usize, u32> = BTreeMap::new();
        for found in self.by_topic.get(&topic.0).into_iter().flatten() {
            if found.query.ends_with(ending) {
                let rank = best.entry(found.at).or_insert(found.rank);
                *rank = (*rank).min(found.rank);
            }
        }
        best
    }

    /// By image, the smallest rank for those queries of the topic that have one of these endings, and the position of that ending. Of
    /// equal ranks the first that was read counts: ranks are read by page, and in the order of the page's file.
    pub fn best_ending(&self, topic: &TopicId, endings: &[&str]) -> BTreeMap<usize, (u32, usize)> {
        let mut best: BTreeMap<usize, (u32, usize)> = BTreeMap::new();
        for found in self.by_topic.get(&topic.0).into_iter().flatten() {
            let ending = endings.iter().position(|e| found.query.ends_with(e));
            if let Some(ending) = ending {
                let known = best.entry(found.at).or_insert((found.rank, ending));
                if found.rank < known.0 {
                    *known = (found.rank, ending);
                }
            }
        }
        best
    }
}
