//! What the evidence says of every image and each topic: likeness of vectors, and ranks in the crawl. The vectors of all images
//! are read once for many topics, and none of them is kept.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, anyhow};
use rayon::prelude::*;

use super::super::approach::RelevanceChannel as R;
use super::super::likeness::{Likeness, Sides};
use super::embeddings::TopicVectors;
use crate::evidence::Part;
use crate::evidence::store::Store;
use crate::index::vector;
use crate::trec::{DocId, TopicId};

/// Images whose vectors are read at once by one thread.
const TOGETHER: usize = 128;

/// The channels that compare sentence vectors, and the texts that they compare.
const SENTENCES: [(R, Part); 3] = [
    (R::SentenceOcr, Part::Ocr),
    (R::SentenceTitle, Part::Title),
    (R::SentenceNear, Part::Near),
];

/// For one topic, by channel, a number for each image; NaN where there is nothing to compare. A channel that is off is not there.
pub(super) type Signals = BTreeMap<R, Vec<f64>>;

/// The signals of these channels for each of the topics.
///
/// Errors: the store cannot be read.
pub(super) fn read(
    store: &Store,
    ids: &[DocId],
    topics: &[&TopicVectors],
    wanted: &dyn Fn(R) -> bool,
) -> Result<Vec<Signals>> {
    let mut signals = vec![Signals::new(); topics.len()];
    let compared: Vec<R> = SENTENCES
        .iter()
        .map(|(channel, _)| *channel)
        .chain([R::Arguments])
        .filter(|channel| wanted(*channel))
        .collect();
    if !compared.is_empty() {
        let said = over_parts(store, ids, topics, &compared, sentence_part)?;
        let is_on = |channel, topic: &TopicVectors| match channel {
            R::Arguments => topic.sides.is_some(),
            _ => topic.words.is_some(),
        };
        spread(said, &compared, topics, is_on, &mut signals);
    }
    if wanted(R::ClipTopic) {
        let said = over_parts(store, ids, topics, &[R::ClipTopic], clip_part)?;
        let is_on = |_, topic: &TopicVectors| topic.clip.is_some();
        spread(said, &[R::ClipTopic], topics, is_on, &mut signals);
    }
    Ok(signals)
}

/// Numbers by channel, topic and image.
type Columns = Vec<Vec<Vec<f64>>>;

/// Reads one part of the images: what to compare, the images, the columns to fill.
type ReadPart = fn(&Store, &[DocId], &[&TopicVectors], &[R], &mut Columns) -> Result<()>;

fn over_parts(
    store: &Store,
    ids: &[DocId],
    topics: &[&TopicVectors],
    channels: &[R],
    read: ReadPart,
) -> Result<Vec<Columns>> {
    let path = store.path();
    ids.par_chunks(TOGETHER)
        .map_init(
            || Store::open_to_read(path),
            |own, part| {
                let own = own.as_ref().map_err(|error| anyhow!("{error:#}"))?;
                let mut columns =
                    vec![vec![vec![f64::NAN; part.len()]; topics.len()]; channels.len()];
                read(own, part, topics, channels, &mut columns)?;
                Ok(columns)
            },
        )
        .collect()
}

/// Puts the parts together, as far as their channels are on.
fn spread(
    parts: Vec<Columns>,
    channels: &[R],
    topics: &[&TopicVectors],
    is_on: impl Fn(R, &TopicVectors) -> bool,
    signals: &mut [Signals],
) {
    for part in parts {
        for (channel, of_channel) in channels.iter().zip(part) {
            for ((topic, signals), column) in topics.iter().zip(&mut *signals).zip(of_channel) {
                if is_on(*channel, topic) {
                    signals.entry(*channel).or_default().extend(column);
                }
            }
        }
    }
}

/// The larger number; NaN only if both are.
fn keep_larger(slot: &mut f64, value: f64) {
    *slot = slot.max(value);
}

fn clip_part(
    store: &Store,
    ids: &[DocId],
    topics: &[&TopicVectors],
    _: &[R],
    columns: &mut Columns,
) -> Result<()> {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
        return Ok(());
    };
    store.each_clip_vector(first, last, |document, own| {
        let Some(at) = place(ids, document) else {
            return;
        };
        for (topic, column) in topics.iter().zip(&mut columns[0]) {
            let asked = topic.clip.as_ref().map(|[about, _, _]| about);
            if let Some(asked) = asked.filter(|asked| asked.len() == own.len()) {
                keep_larger(&mut column[at], f64::from(vector::dot(own, asked)));
            }
        }
    })
}

fn sentence_part(
    store: &Store,
    ids: &[DocId],
    topics: &[&TopicVectors],
    channels: &[R],
    columns: &mut Columns,
) -> Result<()> {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
        return Ok(());
    };
    let arguments = channels.iter().position(|channel| *channel == R::Arguments);
    // of the image at hand: what arguments are compared with needs all of its vectors
    let mut at_hand: (Option<usize>, Vec<(Part, Vec<f32>)>) = (None, Vec::new());
    store.each_sentence_vector(first, last, |document, part, own| {
        let Some(at) = place(ids, document) else {
            return;
        };
        let channel = SENTENCES.iter().find(|(_, of)| *of == part);
        let channel = channel.and_then(|(channel, _)| channels.iter().position(|c| c == channel));
        if let Some(columns) = channel.and_then(|channel| columns.get_mut(channel)) {
            for (topic, column) in topics.iter().zip(columns) {
                let asked = topic.words.as_ref();
                if let Some(asked) = asked.filter(|asked| asked.len() == own.len()) {
                    keep_larger(&mut column[at], f64::from(vector::dot(own, asked)));
                }
            }
        }
        if let Some(arguments) = arguments {
            if at_hand.0 != Some(at) {
                argue(&mut at_hand, topics, &mut columns[arguments]);
                at_hand.0 = Some(at);
            }
            at_hand.1.push((part, own.to_vec()));
        }
    })?;
    if let Some(arguments) = arguments {
        argue(&mut at_hand, topics, &mut columns[arguments]);
    }
    Ok(())
}

/// Likeness of the image at hand to what was said about each topic, for it or against it.
fn argue(
    at_hand: &mut (Option<usize>, Vec<(Part, Vec<f32>)>),
    topics: &[&TopicVectors],
    columns: &mut [Vec<f64>],
) {
    if let Some(at) = at_hand.0 {
        for (topic, column) in topics.iter().zip(columns) {
            let best = topic.sides.as_ref().and_then(|s| likeness(&at_hand.1, s));
            column[at] = best.unwrap_or(f64::NAN);
        }
    }
    at_hand.1.clear();
}

fn likeness(vectors: &[(Part, Vec<f32>)], sides: &Sides) -> Option<f64> {
    let of = |wanted: Part| {
        let of_part = vectors.iter().filter(move |(part, _)| *part == wanted);
        sides.likeness(of_part.map(|(_, vector)| vector.as_slice()))
    };
    let both = [of(Part::Ocr), of(Part::Near)];
    both.iter().flatten().map(Likeness::best).reduce(f64::max)
}

/// The place of an image among these, which are in order.
fn place(ids: &[DocId], document: &str) -> Option<usize> {
    ids.binary_search_by(|id| id.0.as_str().cmp(document)).ok()
}

/// The ranks at which the crawl found the images for each topic.
#[derive(Default)]
pub(super) struct CrawlRanks {
    by_topic: HashMap<String, Vec<(usize, String, u32)>>,
}

impl CrawlRanks {
    /// Errors: the store cannot be read.
    pub fn read(store: &Store, ids: &[DocId]) -> Result<Self> {
        let mut ranks = CrawlRanks::default();
        store.each_crawl_rank(|document, found| {
            if let Some(at) = place(ids, document) {
                let of_topic = ranks.by_topic.entry(found.topic.clone()).or_default();
                of_topic.push((at, found.query.clone(), found.rank.max(1)));
            }
        })?;
        Ok(ranks)
    }

    /// By image the best rank for the topic's queries with that ending.
    pub fn best(&self, topic: &TopicId, ending: &str) -> BTreeMap<usize, u32> {
        let mut best: BTreeMap<usize, u32> = BTreeMap::new();
        for (at, query, rank) in self.by_topic.get(&topic.0).into_iter().flatten() {
            if query.ends_with(ending) {
                let known = best.entry(*at).or_insert(*rank);
                *known = (*known).min(*rank);
            }
        }
        best
    }
}
