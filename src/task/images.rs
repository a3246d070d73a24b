//! Image retrieval for arguments: from stored evidence and topics to a run.
//!
//! For each topic: every image's relevance from all channels, the best hundred as candidates, for
//! each of them whether it argues and for which side, and of these the lists whose expected measure
//! is the largest. A score is `relevance × (1 + argues + stance)`: with probabilities, the expected
//! number of the three official measures to which the image would count.

mod asked;
mod opinions;

use std::collections::{BTreeMap, HashSet};

use anyhow::{Result, ensure};
use rayon::prelude::*;

use super::approach::{ImageApproach, RelevanceChannel as R, Scale, StanceRecipe};
use super::likeness::{Arguments, Likeness, Sides};
use super::reading::Reader;
use crate::evidence::Part;
use crate::evidence::clip::Clip;
use crate::evidence::pair::PairEncoder;
use crate::evidence::sentence::Sentences;
use crate::evidence::store::Store;
use crate::index::images::{Field, Image, ImageIndex};
use crate::index::query::{self, Query, TopicParts};
use crate::score::select::{self, Candidate, LIST_LENGTH};
use crate::score::{Opinion, weighted_mean, weighted_mean_opened};
use crate::trec::explained::{ExplainedImage, Listed};
use crate::trec::run::ImageRunLine;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, Stance, TopicId};
use asked::{Asked, TopicVectors};
use opinions::{TextsRead, TextsSay, argues, sides};

/// Candidates a topic: five times as many as are listed, so that stance has a choice, few enough
/// that it cannot lift what is off topic.
const POOL: usize = 100;

/// Topics that are ranked at once: enough for the threads, few enough for their columns to fit in memory.
const TOGETHER: usize = 8;

/// What a user sets.
#[derive(Clone, Debug)]
pub struct Settings {
    pub approach: ImageApproach,
    pub parts: TopicParts,
    /// Images may stand in both lists of a topic.
    pub overlap: bool,
    pub tag: String,
}

/// The models that embed topics, where they are here.
#[derive(Clone, Copy, Default)]
pub struct Encoders<'a> {
    pub clip: Option<&'a Clip>,
    pub sentences: Option<&'a Sentences>,
    pub pairs: Option<&'a PairEncoder>,
}

/// A run, and how it came about.
#[derive(Debug)]
pub struct ImageRanking {
    /// By topic in the order of the topics, PRO then CON, by rank.
    pub lines: Vec<ImageRunLine>,
    /// One a candidate: by topic, best first.
    pub explained: Vec<ExplainedImage>,
    /// What a user should know: lists that are short, channels that are off.
    pub notes: Vec<String>,
}

/// Ranks the images for the topics. `told` hears after each topic how many are done, and says whether to go on.
///
/// Errors are about the store or a model; or it was told to stop, and what has been read is kept.
pub fn rank(
    index: &ImageIndex,
    store: &mut Store,
    encoders: Encoders,
    arguments: Option<Arguments>,
    topics: &[Topic],
    settings: &Settings,
    told: &mut dyn FnMut(usize) -> bool,
) -> Result<ImageRanking> {
    let queries: Vec<Query> = topics
        .iter()
        .map(|topic| query::read(topic, settings.parts))
        .collect();
    let mut ranking = ImageRanking {
        lines: Vec::new(),
        explained: Vec::new(),
        notes: Vec::new(),
    };
    let mut asked = Asked::embed(
        store,
        encoders,
        topics,
        &queries,
        settings,
        &mut ranking.notes,
    )?;
    let reader = Reader::new(encoders.pairs, store)?;
    if let Some(arguments) = arguments {
        let notes = &mut ranking.notes;
        let reading = (&reader, &mut *store);
        asked.hear(&arguments, &queries, reading, encoders, notes, told)?;
    }
    let reader = &reader;
    let asked_for: Vec<_> = topics.iter().zip(&queries).zip(&asked.topics).collect();
    let mut done = 0;
    for some in asked_for.chunks(TOGETHER) {
        let pools = pools(index, some, settings)?;
        let mut said = Vec::new();
        for (((_, query), _), pool) in some.iter().zip(&pools) {
            ensure!(
                told(done),
                "stopped before the end: what has been read is kept"
            );
            done += 1;
            // the baselines read no text so
            said.push(match settings.approach.stance {
                StanceRecipe::Beliefs => Some(TextsRead::of(pool, query, reader, store)?),
                _ => None,
            });
        }
        let judged: Vec<Vec<Judged>> = some
            .par_iter()
            .zip(pools)
            .zip(said)
            .map(|((((topic, query), vectors), pool), said)| {
                if settings.approach.stance == StanceRecipe::Crawl {
                    return crawl_lists(index, topic);
                }
                judge(pool, (query, vectors), &asked.kinds, said, settings)
            })
            .collect();
        for (((topic, _), _), judged) in some.iter().zip(judged) {
            list(topic, judged, settings, &mut ranking);
        }
    }
    told(topics.len());
    // what holds for every topic is said once
    let mut said = HashSet::new();
    ranking.notes.retain(|note| said.insert(note.clone()));
    Ok(ranking)
}

/// All opinions on the relevance of all images: for each channel its weight, and a value an image.
struct Relevance {
    columns: Vec<(R, f64, Vec<Option<f64>>)>,
}

impl Relevance {
    /// The opinions on the image of that number.
    fn opinions(&self, at: usize) -> Vec<Opinion> {
        self.columns
            .iter()
            .map(|(channel, weight, column)| Opinion {
                name: channel.word(),
                weight: *weight,
                value: column.get(at).copied().flatten(),
            })
            .collect()
    }
}

/// A topic, what it asks, and that as vectors.
type AskedFor<'a> = ((&'a Topic, &'a Query), &'a TopicVectors);

/// The best images for each of the topics, the best first, with their relevance.
fn pools<'a>(
    index: &'a ImageIndex,
    topics: &[AskedFor],
    settings: &Settings,
) -> Result<Vec<Vec<(&'a Image, Explanation)>>> {
    let likeness = sentence_columns(index, topics, settings);
    topics
        .par_iter()
        .zip(likeness)
        .map(|(((topic, query), vectors), likeness)| {
            if settings.approach.stance == StanceRecipe::Crawl {
                return Ok(Vec::new());
            }
            let relevance = relevance(index, topic, query, vectors, likeness, settings)?;
            Ok(pool(index, &relevance))
        })
        .collect()
}

/// For each topic, by channel, the likeness of its words to one of the texts of every image. An image's vectors are held
/// against all topics while they are at hand: to fetch them from memory takes longer.
fn sentence_columns(
    index: &ImageIndex,
    topics: &[AskedFor],
    settings: &Settings,
) -> Vec<BTreeMap<R, Vec<Option<f64>>>> {
    let mut columns: Vec<BTreeMap<R, Vec<Option<f64>>>> = vec![BTreeMap::new(); topics.len()];
    for (channel, part) in [
        (R::SentenceOcr, Part::Ocr),
        (R::SentenceTitle, Part::Title),
        (R::SentenceNear, Part::Near),
    ] {
        if !settings.approach.relevance.channels.contains_key(&channel) {
            continue;
        }
        let rows: Vec<Vec<Option<f64>>> = index
            .images
            .par_iter()
            .map(|image| {
                let likeness =
                    |(_, vectors): &AskedFor| image.likeness(part, vectors.words.as_deref()?);
                topics.iter().map(likeness).collect()
            })
            .collect();
        for (at, ((_, vectors), columns)) in topics.iter().zip(&mut columns).enumerate() {
            if vectors.words.is_some() {
                let column = rows.iter().map(|row| row.get(at).copied().flatten());
                columns.insert(channel, column.collect());
            }
        }
    }
    columns
}

/// What each channel of the approach says of every image; what the sentence vectors say is known already.
fn relevance(
    index: &ImageIndex,
    topic: &Topic,
    query: &Query,
    vectors: &TopicVectors,
    mut likeness: BTreeMap<R, Vec<Option<f64>>>,
    settings: &Settings,
) -> Result<Relevance> {
    let recipe = &settings.approach.relevance;
    let mut columns: Vec<(R, f64, Vec<Option<f64>>)> = Vec::new();
    for channel in R::ALL {
        let Some(&weight) = recipe.channels.get(&channel) else {
            continue;
        };
        let column = match channel {
            R::Bm25Ocr => Some(bm25(index, Field::Ocr, query, recipe.scale)?),
            R::Bm25Title => Some(bm25(index, Field::Title, query, recipe.scale)?),
            R::Bm25Near => Some(bm25(index, Field::Near, query, recipe.scale)?),
            R::Bm25Main => Some(bm25(index, Field::Main, query, recipe.scale)?),
            R::SentenceOcr | R::SentenceTitle | R::SentenceNear => likeness.remove(&channel),
            R::ClipTopic => vectors.clip.as_ref().map(|clip| {
                index
                    .images
                    .iter()
                    .map(|i| i.clip_likeness(&clip[0]))
                    .collect()
            }),
            R::Arguments => vectors.sides.as_ref().map(|sides| {
                let images = index.images.iter();
                images.map(|image| argued(image, sides)).collect()
            }),
            R::Crawl => Some(
                index
                    .images
                    .iter()
                    .map(|i| best_crawl_rank(i, &topic.id, "").map(|rank| 1.0 / f64::from(rank)))
                    .collect(),
            ),
        };
        if let Some(mut column) = column {
            if recipe.scale == Scale::Unit {
                for value in column.iter_mut().flatten() {
                    *value = to_unit(channel, *value);
                }
            }
            columns.push((channel, weight, column));
        }
    }
    Ok(Relevance { columns })
}

/// Likeness of an image's texts to what was said about the topic, for it or against it.
fn argued(image: &Image, sides: &Sides) -> Option<f64> {
    let parts = [Part::Ocr, Part::Near];
    let likeness = parts.map(|part| sides.likeness(image.vectors_of(part)));
    likeness
        .iter()
        .flatten()
        .map(Likeness::best)
        .reduce(f64::max)
}

fn bm25(index: &ImageIndex, field: Field, query: &Query, scale: Scale) -> Result<Vec<Option<f64>>> {
    let scores = index.bm25(field, &query.words)?;
    let best = scores.iter().copied().fold(0f32, f32::max);
    let divisor = match scale {
        Scale::Unit if best > 0.0 => f64::from(best),
        _ => 1.0,
    };
    Ok(scores
        .into_iter()
        .map(|score| (score > 0.0).then(|| f64::from(score) / divisor))
        .collect())
}

/// Cosines brought to [0, 1]. Those of CLIP's image and text vectors lie between about 0.15 (nothing
/// to do with each other) and 0.35.
fn to_unit(channel: R, value: f64) -> f64 {
    match channel {
        R::ClipTopic => ((value - 0.15) / 0.2).clamp(0.0, 1.0),
        _ => value.clamp(0.0, 1.0),
    }
}

/// The best rank at which the crawl found the image by one of the topic's queries with that ending.
fn best_crawl_rank(image: &Image, topic: &TopicId, ending: &str) -> Option<u32> {
    image
        .rankings
        .iter()
        .filter(|r| r.topic == topic.0 && r.query.ends_with(ending))
        .map(|r| r.rank.max(1))
        .min()
}

/// A candidate and what its worth as PRO and as CON is made of.
struct Judged {
    id: DocId,
    phash: Option<u64>,
    pro: Option<Explanation>,
    con: Option<Explanation>,
}

/// The best hundred images, the best first, with their relevance.
fn pool<'a>(index: &'a ImageIndex, relevance: &Relevance) -> Vec<(&'a Image, Explanation)> {
    let mut order: Vec<(f64, usize)> = (0..index.images.len())
        .map(|at| (weighted_mean(&relevance.opinions(at)), at))
        .filter(|(value, _)| *value > 0.0)
        .collect();
    // images are numbered by id
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    order.truncate(POOL);
    order
        .into_iter()
        .map(|(_, at)| {
            let opened = weighted_mean_opened("relevance", &relevance.opinions(at));
            (&index.images[at], opened)
        })
        .collect()
}

/// Whether the candidates argue, and for which side.
fn judge(
    pool: Vec<(&Image, Explanation)>,
    (query, vectors): (&Query, &TopicVectors),
    kinds: &[(bool, Vec<f32>)],
    read: Option<TextsRead>,
    settings: &Settings,
) -> Vec<Judged> {
    let said = match read {
        Some(read) => read.say(query),
        None => vec![TextsSay::default(); pool.len()],
    };
    let argues = argues(&pool, kinds, &said, settings.approach.argument);
    let sides = sides(&pool, query, vectors, &said, settings.approach.stance);
    pool.into_iter()
        .zip(argues)
        .zip(sides)
        .map(|(((image, relevance), argues), sides)| {
            let worth = |stance: Option<Explanation>| {
                stance.map(|stance| worth(&relevance, &argues, stance))
            };
            Judged {
                id: image.id.clone(),
                phash: image.picture.as_ref().map(|p| p.phash),
                pro: worth(sides.0),
                con: worth(sides.1),
            }
        })
        .collect()
}

fn worth(
    relevance: &Explanation,
    argues: &Option<Explanation>,
    stance: Explanation,
) -> Explanation {
    let mut factor = 1.0 + stance.value;
    let mut parts = vec![relevance.clone()];
    if let Some(argues) = argues {
        factor += argues.value;
        parts.push(argues.clone());
    }
    let names = match argues {
        Some(_) => "relevance × (1 + argues + stance)",
        None => "relevance × (1 + stance)",
    };
    parts.push(stance);
    Explanation {
        name: "worth".into(),
        value: relevance.value * factor,
        how: names.into(),
        parts,
    }
}

/// The Minsc baseline: the image search was asked for "… good" and "… anti", and its ranks are the lists.
fn crawl_lists(index: &ImageIndex, topic: &Topic) -> Vec<Judged> {
    let side = |image: &Image, ending: &str| {
        best_crawl_rank(image, &topic.id, ending).map(|rank| Explanation {
            name: format!("1 / best crawl rank of \"…{ending}\""),
            value: 1.0 / f64::from(rank),
            how: format!("rank {rank}"),
            parts: Vec::new(),
        })
    };
    index
        .images
        .iter()
        .map(|image| Judged {
            id: image.id.clone(),
            phash: None,
            pro: side(image, " good"),
            con: side(image, " anti"),
        })
        .filter(|judged| judged.pro.is_some() || judged.con.is_some())
        .collect()
}

/// Selects, and writes the topic's lines and explanations.
fn list(topic: &Topic, judged: Vec<Judged>, settings: &Settings, ranking: &mut ImageRanking) {
    let value = |e: &Option<Explanation>| e.as_ref().map(|e| e.value);
    let candidates: Vec<Candidate> = judged
        .iter()
        .map(|j| Candidate {
            doc: j.id.clone(),
            pro: value(&j.pro),
            con: value(&j.con),
            phash: j.phash,
        })
        .collect();
    let selected = select::select(&candidates, settings.overlap);
    for stance in Stance::BOTH {
        let count = selected.iter().filter(|s| s.stance == stance).count();
        if count < LIST_LENGTH {
            ranking.notes.push(format!(
                "topic {}: only {count} of {LIST_LENGTH} images for {stance}",
                topic.id
            ));
        }
    }
    let mut listed: BTreeMap<DocId, Vec<Listed>> = BTreeMap::new();
    for s in selected {
        listed.entry(s.doc.clone()).or_default().push(Listed {
            stance: s.stance,
            rank: s.rank,
            score: s.score,
        });
        ranking.lines.push(ImageRunLine {
            topic: topic.id.clone(),
            stance: s.stance,
            image: s.doc,
            rank: s.rank,
            score: s.score,
            tag: settings.tag.clone(),
        });
    }
    ranking
        .explained
        .extend(judged.into_iter().map(|j| ExplainedImage {
            topic: topic.id.clone(),
            listed: listed.remove(&j.id).unwrap_or_default(),
            image: j.id,
            pro: j.pro,
            con: j.con,
        }));
}
