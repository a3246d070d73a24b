//! Image retrieval for arguments: from stored evidence and topics to a run.
//!
//! For each topic: every image's relevance from all channels, the best hundred as candidates, for
//! each of them whether it argues and for which side, and of these the lists whose expected measure
//! is the largest. A score is `relevance × (1 + argues + stance)`: with probabilities, the expected
//! number of the three official measures to which the image would count.

mod asked;
mod opinions;
mod signals;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use anyhow::{Context, Result, anyhow, ensure};
use rayon::prelude::*;

use super::approach::{ArgumentRecipe, ImageApproach, RelevanceChannel as R, Scale, StanceRecipe};
use super::likeness::Arguments;
use super::reading::Reader;
use crate::evidence::clip::Clip;
use crate::evidence::lazy::Lazy;
use crate::evidence::pair::PairEncoder;
use crate::evidence::sentence::Sentences;
use crate::evidence::store::{Store, Wanted};
use crate::index::images::{Field, Image, ImageIndex};
use crate::index::query::{self, Query, TopicParts};
use crate::score::select::{self, Candidate, LIST_LENGTH};
use crate::score::{Opinion, weighted_mean, weighted_mean_opened};
use crate::trec::explained::{ExplainedImage, Listed};
use crate::trec::run::ImageRunLine;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, Stance};
use asked::{Asked, TopicVectors};
use opinions::{TextsRead, TextsSay, argues, sides};
use signals::{CrawlRanks, Signals};

/// Candidates a topic: five times as many as are listed, so that stance has a choice, few enough
/// that it cannot lift what is off topic.
const POOL: usize = 100;

/// Topics that are ranked at once: enough for the threads, few enough for their candidates to fit in memory.
const TOGETHER: usize = 8;

/// Topics for which the vectors of all images are read at once: each takes some megabytes, each reading seconds.
const READ_TOGETHER: usize = 64;

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
    pub clip: Option<&'a Lazy<Clip>>,
    pub sentences: Option<&'a Lazy<Sentences>>,
    pub pairs: Option<&'a Lazy<PairEncoder>>,
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
    let run = Run {
        index,
        settings,
        asked: &asked,
        crawl: match settings.uses_crawl() {
            true => CrawlRanks::read(store, index.ids())?,
            false => CrawlRanks::default(),
        },
    };
    let asked_for: Vec<_> = topics.iter().zip(&queries).zip(&asked.topics).collect();
    let mut done = 0;
    for many in asked_for.chunks(READ_TOGETHER) {
        let vectors: Vec<&TopicVectors> = many.iter().map(|(_, vectors)| *vectors).collect();
        let is_wanted = |channel| settings.approach.relevance.channels.contains_key(&channel);
        let mut signals = signals::read(store, index.ids(), &vectors, &is_wanted)?;
        for (some, signals) in many.chunks(TOGETHER).zip(signals.chunks_mut(TOGETHER)) {
            ensure!(
                told(done),
                "stopped before the end: what has been read is kept"
            );
            run.rank(some, signals, &reader, store, &mut ranking)?;
            done += some.len();
        }
    }
    told(topics.len());
    // what holds for every topic is said once
    let mut said = HashSet::new();
    ranking.notes.retain(|note| said.insert(note.clone()));
    Ok(ranking)
}

/// All opinions on the relevance of all images: for each channel its weight, and a value for each image.
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

impl Settings {
    fn uses_crawl(&self) -> bool {
        let channels = &self.approach.relevance.channels;
        self.approach.stance == StanceRecipe::Crawl || channels.contains_key(&R::Crawl)
    }
}

/// A topic, what it asks, and that as vectors.
type AskedFor<'a> = ((&'a Topic, &'a Query), &'a TopicVectors);

/// The best images for a topic by their numbers, the best first, with their relevance.
type Pool = Vec<(usize, Explanation)>;

/// What stays the same for all topics.
struct Run<'a> {
    index: &'a ImageIndex,
    settings: &'a Settings,
    asked: &'a Asked,
    /// Empty where the approach does not use it.
    crawl: CrawlRanks,
}

impl Run<'_> {
    /// Ranks the images for some topics.
    fn rank(
        &self,
        topics: &[AskedFor],
        signals: &mut [Signals],
        reader: &Reader,
        store: &mut Store,
        ranking: &mut ImageRanking,
    ) -> Result<()> {
        let stance = self.settings.approach.stance;
        if stance == StanceRecipe::Crawl {
            for ((topic, _), _) in topics {
                list(topic, self.crawl_lists(topic), self.settings, ranking);
            }
            return Ok(());
        }
        let pools = topics
            .par_iter()
            .zip(signals)
            .map(|(((topic, query), _), signals)| {
                let relevance = self.relevance(topic, query, std::mem::take(signals))?;
                Ok(self.pool(&relevance))
            })
            .collect::<Result<Vec<Pool>>>()?;
        let images = self.candidates(store, &pools)?;
        let pools: Vec<Vec<(&Image, Explanation)>> = pools
            .into_iter()
            .map(|pool| {
                let known = pool.into_iter();
                known
                    .filter_map(|(at, relevance)| Some((images.get(&at)?, relevance)))
                    .collect()
            })
            .collect();
        let mut said = Vec::new();
        for (((_, query), _), pool) in topics.iter().zip(&pools) {
            // the baselines do not use the pair encoder
            said.push(match stance {
                StanceRecipe::Beliefs => Some(TextsRead::of(pool, query, reader, store)?),
                _ => None,
            });
        }
        let judged: Vec<Vec<Judged>> = topics
            .par_iter()
            .zip(pools)
            .zip(said)
            .map(|((((_, query), vectors), pool), said)| {
                judge(
                    pool,
                    (query, vectors),
                    &self.asked.kinds,
                    said,
                    self.settings,
                )
            })
            .collect();
        for (((topic, _), _), judged) in topics.iter().zip(judged) {
            list(topic, judged, self.settings, ranking);
        }
        Ok(())
    }

    /// What each channel of the approach says of every image.
    fn relevance(&self, topic: &Topic, query: &Query, mut signals: Signals) -> Result<Relevance> {
        let recipe = &self.settings.approach.relevance;
        let mut columns: Vec<(R, f64, Vec<Option<f64>>)> = Vec::new();
        for channel in R::ALL {
            let Some(&weight) = recipe.channels.get(&channel) else {
                continue;
            };
            let bm25 = |field| self.bm25(field, query, recipe.scale).map(Some);
            let column = match channel {
                R::Bm25Ocr => bm25(Field::Ocr)?,
                R::Bm25Title => bm25(Field::Title)?,
                R::Bm25Near => bm25(Field::Near)?,
                R::Bm25Main => bm25(Field::Main)?,
                R::Bm25Caption => bm25(Field::Caption)?,
                R::SentenceOcr
                | R::SentenceTitle
                | R::SentenceNear
                | R::ClipTopic
                | R::Arguments => signals.remove(&channel).map(|column| {
                    let said = column.into_iter();
                    said.map(|value| (!value.is_nan()).then_some(value))
                        .collect()
                }),
                R::Crawl => {
                    let best = self.crawl.best(&topic.id, "");
                    let value = |at: usize| Some(1.0 / f64::from(*best.get(&at)?));
                    Some((0..self.index.ids().len()).map(value).collect())
                }
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

    fn bm25(&self, field: Field, query: &Query, scale: Scale) -> Result<Vec<Option<f64>>> {
        let scores = self.index.bm25(field, &query.words)?;
        let best = scores.iter().copied().fold(0.0, f64::max);
        let divisor = match scale {
            Scale::Unit if best > 0.0 => best,
            _ => 1.0,
        };
        Ok(scores
            .into_iter()
            .map(|score| (score > 0.0).then(|| score / divisor))
            .collect())
    }

    /// The best hundred images, the best first, with their relevance.
    fn pool(&self, relevance: &Relevance) -> Pool {
        let mut order: Vec<(f64, usize)> = (0..self.index.ids().len())
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
                (at, opened)
            })
            .collect()
    }

    /// What is known of the images in these pools.
    fn candidates(&self, store: &Store, pools: &[Pool]) -> Result<HashMap<usize, Image>> {
        let mut places: Vec<usize> = pools.iter().flatten().map(|(at, _)| *at).collect();
        places.sort_unstable();
        places.dedup();
        let topics = &self.asked.topics;
        let recipe = &self.settings.approach;
        let wanted = Wanted {
            rankings: false,
            clip: !self.asked.kinds.is_empty() || topics.iter().any(|t| t.clip.is_some()),
            sentences: topics.iter().any(|topic| topic.sides.is_some()),
            sentiment: recipe.argument == ArgumentRecipe::Aramis
                || matches!(
                    recipe.stance,
                    StanceRecipe::Sign { .. } | StanceRecipe::Aramis
                ),
        };
        let path = store.path();
        let read = |own: &mut Result<Store>, at: &usize| -> Result<Option<(usize, Image)>> {
            let own = own.as_ref().map_err(|error| anyhow!("{error:#}"))?;
            let id = self.index.ids().get(*at).context("no such image")?;
            Ok(Image::read(own, id, wanted)?.map(|image| (*at, image)))
        };
        places
            .par_iter()
            .with_min_len(32)
            .map_init(|| Store::open_to_read(path), read)
            .filter_map(Result::transpose)
            .collect()
    }

    /// The Minsc baseline: the image search was asked for "… good" and "… anti", and its ranks are the lists.
    fn crawl_lists(&self, topic: &Topic) -> Vec<Judged> {
        let [good, anti] = [" good", " anti"].map(|ending| self.crawl.best(&topic.id, ending));
        let side = |best: &BTreeMap<usize, u32>, at: usize, ending: &str| {
            best.get(&at).map(|rank| Explanation {
                name: format!("1 / best crawl rank of \"…{ending}\""),
                value: 1.0 / f64::from(*rank),
                how: format!("rank {rank}"),
                parts: Vec::new(),
            })
        };
        let found: BTreeSet<usize> = good.keys().chain(anti.keys()).copied().collect();
        found
            .into_iter()
            .filter_map(|at| {
                Some(Judged {
                    id: self.index.ids().get(at)?.clone(),
                    phash: None,
                    pro: side(&good, at, " good"),
                    con: side(&anti, at, " anti"),
                })
            })
            .collect()
    }
}

/// Cosines brought to [0, 1]. Those of CLIP's image and text vectors lie between about 0.15 (nothing
/// to do with each other) and 0.35.
fn to_unit(channel: R, value: f64) -> f64 {
    match channel {
        R::ClipTopic => ((value - 0.15) / 0.2).clamp(0.0, 1.0),
        _ => value.clamp(0.0, 1.0),
    }
}

/// A candidate and what its worth as PRO and as CON is made of.
struct Judged {
    id: DocId,
    phash: Option<u64>,
    pro: Option<Explanation>,
    con: Option<Explanation>,
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
