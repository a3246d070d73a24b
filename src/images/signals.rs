//! Evidence for the relevance of every image to each topic: cosines of vectors, and ranks in the crawl. The vectors of all images are read
//! once for many topics, and none of them stays in memory.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, anyhow};
use rayon::prelude::*;
use riposte_eval::{DocId, TopicId};

use super::TopicTask;
use super::embeddings::TopicVectors;
use super::opinions::sentiment_of;
use crate::evidence::sentiment::{AfinnScores, VaderScores};
use crate::evidence::store::Store;
use crate::evidence::{Channel, Evidence, SentenceVector, TextPart};
use crate::index::images::position;
use crate::index::vector;
use crate::recipes::channels::{CHANNELS, SignalKey};
use crate::recipes::image_approach::{RelevanceRecipe, Sentiment};
use crate::score::signal::SignalNeed;
use crate::texts::likeness::{ArgumentVectors, SideLikeness};

/// Number of images whose vectors a thread reads at once.
const CHUNK: usize = 128;

/// The cosines for one topic: for each signal that is on, one value for each image, which is NaN if the image has nothing to compare.
pub(super) type Cosines = BTreeMap<SignalKey, Vec<f64>>;

/// Reads the cosines that the approach uses, and the other values that it computes from the evidence of a channel, for each topic.
///
/// # Errors
/// The store cannot be read.
pub(super) fn read(
    store: &Store,
    ids: &[DocId],
    tasks: &[TopicTask],
    relevance: &RelevanceRecipe,
) -> Result<Vec<Cosines>> {
    let mut cosines = vec![Cosines::new(); tasks.len()];
    let place = store.place();
    let topics: Vec<&TopicVectors> = tasks.iter().map(|task| task.vectors).collect();
    for channel in CHANNELS {
        let used = relevance.channels.keys();
        let used = used.map(|key| (*key, key.signal().need));
        let used = used.filter(|(_, need)| need.channel() == Some(channel.name()));
        let signals = used.map(|(key, need)| Compared {
            key,
            need,
            wanted: Wanted::by(need, &topics),
        });
        let signals: Vec<Compared> = signals.collect();
        // a signal is off if the store has no evidence for it
        if signals.is_empty() || store.producer(channel.name())?.is_none() {
            continue;
        }
        let read = |store: &mut Result<Store>, ids: &[DocId]| {
            let store = store.as_ref().map_err(|error| anyhow!("{error:#}"))?;
            let mut values: Columns =
                vec![vec![vec![f64::NAN; ids.len()]; tasks.len()]; signals.len()];
            store.each(ids, &[*channel], |at, evidence| {
                for (signal, columns) in signals.iter().zip(&mut values) {
                    signal.compare(tasks, evidence, columns, at);
                }
            })?;
            Ok(values)
        };
        let chunks = ids
            .par_chunks(CHUNK)
            .map_init(|| place.open_to_read(), read);
        for chunk in chunks.collect::<Result<Vec<Columns>>>()? {
            for (signal, of_signal) in signals.iter().zip(chunk) {
                for ((topic, cosines), column) in topics.iter().zip(&mut cosines).zip(of_signal) {
                    if signal.is_on(topic) {
                        cosines.entry(signal.key).or_default().extend(column);
                    }
                }
            }
        }
    }
    Ok(cosines)
}

/// A signal that is computed from the evidence of a channel.
struct Compared {
    key: SignalKey,
    need: SignalNeed,
    wanted: Wanted,
}

impl Compared {
    /// Whether the topic has the vectors that the signal compares.
    fn is_on(&self, topic: &TopicVectors) -> bool {
        match self.need {
            SignalNeed::Arguments => topic.arguments.is_some(),
            SignalNeed::About(model) | SignalNeed::Title(model) => {
                topic.prompts[model as usize].is_some()
            }
            SignalNeed::Channel(_) => true,
            _ => topic.words.is_some(),
        }
    }

    /// Sets the values of image `at` for each topic.
    fn compare(
        &self,
        tasks: &[TopicTask],
        evidence: &Evidence,
        columns: &mut [Vec<f64>],
        at: usize,
    ) {
        match self.need {
            SignalNeed::Sentence(part) => {
                for SentenceVector(vector) in evidence.of_part(part) {
                    self.wanted.keep_larger_cosines(columns, at, vector);
                }
            }
            SignalNeed::About(model) | SignalNeed::Title(model) => {
                if let Some(vector) = evidence.image_vector(model) {
                    self.wanted.keep_larger_cosines(columns, at, vector);
                }
            }
            SignalNeed::Arguments => {
                for (task, column) in tasks.iter().zip(columns) {
                    let arguments = task.vectors.arguments.as_ref();
                    let likeness = arguments.and_then(|of| likeness(of, evidence));
                    column[at] = likeness.unwrap_or(f64::NAN);
                }
            }
            SignalNeed::Channel(of) => {
                for (task, column) in tasks.iter().zip(columns) {
                    column[at] = (of.value)(task.question, evidence).unwrap_or(f64::NAN);
                }
            }
            SignalNeed::Words(_) | SignalNeed::QueryLikelihood(_) | SignalNeed::Crawl => {}
        }
    }
}

/// The likeness to arguments of the text in the image or of the words around it, whichever is larger. Each is compared with the arguments of its more
/// similar side.
fn likeness(arguments: &ArgumentVectors, evidence: &Evidence) -> Option<f64> {
    let likeness_of = |part: TextPart| {
        let of_part = evidence.of_part(part);
        arguments.likeness(of_part.map(|SentenceVector(vector)| vector.as_slice()))
    };
    let both = [likeness_of(TextPart::Ocr), likeness_of(TextPart::Near)];
    both.iter()
        .flatten()
        .map(SideLikeness::best)
        .reduce(f64::max)
}

/// Values by signal, topic and image.
type Columns = Vec<Vec<Vec<f64>>>;

/// The vectors with which a signal compares those of images, one after another.
#[derive(Default)]
struct Wanted {
    /// The number of a topic, and its vector's length.
    topics: Vec<(usize, usize)>,
    rows: Vec<f32>,
}

impl Wanted {
    /// The vectors that a signal compares; none if it does not compare single vectors.
    fn by(need: SignalNeed, topics: &[&TopicVectors]) -> Wanted {
        let mut wanted = Wanted::default();
        for (at, topic) in topics.iter().enumerate() {
            let vector = match need {
                SignalNeed::Sentence(_) => topic.words.as_ref(),
                SignalNeed::Title(model) => topic.prompts[model as usize]
                    .as_ref()
                    .map(|prompts| &prompts.title),
                SignalNeed::About(model) => topic.prompts[model as usize]
                    .as_ref()
                    .map(|prompts| &prompts.about),
                _ => None,
            };
            if let Some(vector) = vector {
                wanted.topics.push((at, vector.len()));
                wanted.rows.extend_from_slice(vector);
            }
        }
        wanted
    }

    /// Sets the value of image `at` to its cosine with each topic's vector, where that is larger. Vectors of different lengths are from different models and
    /// are not compared.
    fn keep_larger_cosines(&self, columns: &mut [Vec<f64>], at: usize, image: &[f32]) {
        let mut products = Vec::new();
        let mut rest = self.rows.as_slice();
        // topics whose vectors have the same length
        for topics in self.topics.chunk_by(|a, b| a.1 == b.1) {
            let width = topics.first().map_or(0, |(_, width)| *width);
            let (rows, others) = rest.split_at((topics.len() * width).min(rest.len()));
            rest = others;
            if width != image.len() {
                continue;
            }
            vector::dots(rows, image, &mut products);
            for ((topic, _), product) in topics.iter().zip(&products) {
                if let Some(slot) = columns.get_mut(*topic).and_then(|c| c.get_mut(at)) {
                    // `max` prefers any number to NaN
                    *slot = slot.max(f64::from(*product));
                }
            }
        }
    }
}

/// The sentiment of every image ([`sentiment_of`]).
///
/// # Errors
/// The store cannot be read.
pub(super) fn read_sentiment(store: &Store, ids: &[DocId], which: Sentiment) -> Result<Vec<f64>> {
    let mut values = Vec::new();
    let channels: [&dyn Channel; 2] = [&VaderScores, &AfinnScores];
    store.each(ids, &channels, |_, evidence| {
        values.push(sentiment_of(evidence, which).1);
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

    /// By image, the smallest rank for those queries of the topic that have one of these endings, and the position of that ending. Of
    /// equal ranks the first that was read counts: ranks are read by page, and in the order of the page's file.
    pub fn best(&self, topic: &TopicId, endings: &[&str]) -> BTreeMap<usize, (u32, usize)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_cosine_with_each_topic_is_kept() {
        let topic = |words: Option<&[f32]>| TopicVectors {
            words: words.map(<[f32]>::to_vec),
            ..TopicVectors::default()
        };
        // the third is of another model
        let topics = [
            topic(Some(&[1.0, 0.0])),
            topic(None),
            topic(Some(&[1.0, 0.0, 0.0])),
            topic(Some(&[0.0, 1.0])),
        ];
        let topics: Vec<&TopicVectors> = topics.iter().collect();
        let wanted = Wanted::by(SignalNeed::Sentence(TextPart::Near), &topics);
        let mut columns = vec![vec![f64::NAN; 2]; topics.len()];
        for vector in [[0.5, 0.25], [0.75, 0.125]] {
            wanted.keep_larger_cosines(&mut columns, 1, &vector);
        }
        let kept: Vec<f64> = columns.iter().map(|column| column[1]).collect();
        assert_eq!((kept[0], kept[3]), (0.75, 0.25));
        assert!(kept[1].is_nan() && kept[2].is_nan());
        assert!(columns.iter().all(|column| column[0].is_nan()));
        assert!(Wanted::by(SignalNeed::Crawl, &topics).topics.is_empty());
    }
}
