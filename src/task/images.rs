//! Image retrieval for arguments: from stored evidence and topics to a run.
//!
//! For each topic, all channels together give the relevance of every image. The best hundred are the candidates. Each candidate gets
//! a probability that it is an argument, and one for each stance. The two lists are those with the largest expected measure. A score is
//! `relevance × (1 + argues + stance)`: with probabilities, the expected number of the three official measures for which the image counts.

mod embeddings;
mod opinions;
mod signals;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use anyhow::{Context, Result, anyhow, ensure};
use rayon::prelude::*;

use super::approach::{ArgumentRecipe, ImageApproach, RelevanceChannel as R, Scale, StanceRecipe};
use super::likeness::Arguments;
use crate::evidence::store::{Store, Wanted};
use crate::index::images::{Field, Image, ImageIndex};
use crate::reading::Reader;
use crate::score::select::{self, Candidate, LIST_LENGTH};
use crate::score::{Opinion, explain_weighted_mean, weighted_mean};
use crate::topic::question::{self, Question, TopicParts};
use crate::trec::explained::{ExplainedImage, Listed};
use crate::trec::run::ImageRunLine;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, Stance};
use embeddings::{Embeddings, TopicVectors};
use opinions::{TextsRead, TextsSay, argues, sides};
use signals::{CrawlRanks, Signals};

/// Candidates for each topic: five times as many as are listed, so that the stance has a choice, but so few that a strong stance cannot
/// lift an image that is off topic.
const POOL: usize = 100;

/// Topics that are ranked at once: enough for all threads, and few enough for their candidates to fit in memory.
const TOPICS_AT_ONCE: usize = 8;

/// Topics for which the vectors of all images are read once. Each topic takes some megabytes, and each reading takes seconds.
const TOPICS_PER_READING: usize = 64;

/// What a user sets.
#[derive(Clone, Debug)]
pub struct Settings {
    pub approach: ImageApproach,
    pub parts: TopicParts,
    /// Whether an image may be in both lists of a topic.
    pub overlap: bool,
    pub tag: String,
}

/// A run, and how it came about.
#[derive(Debug)]
pub struct ImageRanking {
    /// By topic in the order of the topics, PRO then CON, by rank.
    pub lines: Vec<ImageRunLine>,
    /// One for each candidate: by topic, the best first.
    pub explained: Vec<ExplainedImage>,
    /// Notes for the user: short lists, channels that are off.
    pub notes: Vec<String>,
}

/// Ranks the images for the topics. `on_progress` receives the number of finished topics after each group of topics; if it returns
/// `false`, ranking stops with an error.
///
/// Errors: a store or a model fails, or ranking was stopped. The outputs of models are stored in either case.
pub fn rank(
    index: &ImageIndex,
    store: &Store,
    reader: &mut Reader,
    arguments: Option<Arguments>,
    topics: &[Topic],
    settings: &Settings,
    on_progress: &mut dyn FnMut(usize) -> bool,
) -> Result<ImageRanking> {
    let questions: Vec<Question> = topics
        .iter()
        .map(|topic| question::read(topic, settings.parts))
        .collect();
    let mut ranking = ImageRanking {
        lines: Vec::new(),
        explained: Vec::new(),
        notes: Vec::new(),
    };
    let notes = &mut ranking.notes;
    let mut embeddings =
        Embeddings::of_questions(store, reader, topics, &questions, settings, notes)?;
    if let Some(arguments) = arguments {
        embeddings.add_arguments(&arguments, &questions, store, reader, notes, on_progress)?;
    }
    let run = Run {
        index,
        settings,
        embeddings: &embeddings,
        crawl: if settings.uses_crawl() {
            CrawlRanks::read(store, index.ids())?
        } else {
            CrawlRanks::default()
        },
    };
    let tasks: Vec<TopicTask> = topics
        .iter()
        .zip(&questions)
        .zip(&embeddings.topics)
        .map(|((topic, question), vectors)| TopicTask {
            topic,
            question,
            vectors,
        })
        .collect();
    let mut done = 0;
    for tasks in tasks.chunks(TOPICS_PER_READING) {
        let vectors: Vec<&TopicVectors> = tasks.iter().map(|task| task.vectors).collect();
        let is_wanted = |channel| settings.approach.relevance.channels.contains_key(&channel);
        let mut signals = signals::read(store, index.ids(), &vectors, &is_wanted)?;
        let groups = tasks.chunks(TOPICS_AT_ONCE);
        for (group, signals) in groups.zip(signals.chunks_mut(TOPICS_AT_ONCE)) {
            ensure!(
                on_progress(done),
                "stopped before the end: what has been read is kept"
            );
            run.rank(group, signals, reader, store, &mut ranking)?;
            done += group.len();
        }
    }
    on_progress(topics.len());
    // a note that holds for every topic is printed once
    let mut seen = HashSet::new();
    ranking.notes.retain(|note| seen.insert(note.clone()));
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

/// A topic with its question and embeddings.
struct TopicTask<'a> {
    topic: &'a Topic,
    question: &'a Question,
    vectors: &'a TopicVectors,
}

/// The candidates for a topic: the numbers of images and their relevance, the best first.
type Pool = Vec<(usize, Explanation)>;

/// What is the same for all topics.
struct Run<'a> {
    index: &'a ImageIndex,
    settings: &'a Settings,
    embeddings: &'a Embeddings,
    /// Empty if the approach does not use it.
    crawl: CrawlRanks,
}

impl Run<'_> {
    /// Ranks the images for some topics.
    fn rank(
        &self,
        tasks: &[TopicTask],
        signals: &mut [Signals],
        reader: &mut Reader,
        store: &Store,
        ranking: &mut ImageRanking,
    ) -> Result<()> {
        let stance = self.settings.approach.stance;
        if stance == StanceRecipe::Crawl {
            for task in tasks {
                list(
                    task.topic,
                    self.crawl_lists(task.topic),
                    self.settings,
                    ranking,
                );
            }
            return Ok(());
        }
        let pools = tasks
            .par_iter()
            .zip(signals)
            .map(|(task, signals)| {
                let signals = std::mem::take(signals);
                let relevance = self.relevance(task.topic, task.question, signals)?;
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
        for (task, pool) in tasks.iter().zip(&pools) {
            // the baselines do not use the pair encoder
            said.push(match stance {
                StanceRecipe::Beliefs => Some(TextsRead::of(pool, task.question, reader)?),
                _ => None,
            });
        }
        let judged: Vec<Vec<Judged>> = tasks
            .par_iter()
            .zip(pools)
            .zip(said)
            .map(|((task, pool), said)| {
                judge(pool, task, &self.embeddings.kinds, said, self.settings)
            })
            .collect();
        for (TopicTask { topic, .. }, judged) in tasks.iter().zip(judged) {
            list(topic, judged, self.settings, ranking);
        }
        Ok(())
    }

    /// What each channel of the approach says of every image.
    fn relevance(
        &self,
        topic: &Topic,
        question: &Question,
        mut signals: Signals,
    ) -> Result<Relevance> {
        let recipe = &self.settings.approach.relevance;
        let mut columns: Vec<(R, f64, Vec<Option<f64>>)> = Vec::new();
        for channel in R::ALL {
            let Some(&weight) = recipe.channels.get(&channel) else {
                continue;
            };
            let bm25 = |field| self.bm25(field, question, recipe.scale).map(Some);
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

    fn bm25(&self, field: Field, question: &Question, scale: Scale) -> Result<Vec<Option<f64>>> {
        let scores = self.index.bm25(field, &question.words)?;
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
                let opened = explain_weighted_mean("relevance", &relevance.opinions(at));
                (at, opened)
            })
            .collect()
    }

    /// What is known of the images in these pools.
    fn candidates(&self, store: &Store, pools: &[Pool]) -> Result<HashMap<usize, Image>> {
        let mut places: Vec<usize> = pools.iter().flatten().map(|(at, _)| *at).collect();
        places.sort_unstable();
        places.dedup();
        let recipe = &self.settings.approach;
        let topics = &self.embeddings.topics;
        let wanted = Wanted {
            rankings: false,
            clip: !self.embeddings.kinds.is_empty() || topics.iter().any(|t| t.clip.is_some()),
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
    TopicTask {
        question, vectors, ..
    }: &TopicTask,
    kinds: &[(bool, Vec<f32>)],
    read: Option<TextsRead>,
    settings: &Settings,
) -> Vec<Judged> {
    let said = match read {
        Some(read) => read.say(question),
        None => vec![TextsSay::default(); pool.len()],
    };
    let argues = argues(&pool, kinds, &said, settings.approach.argument);
    let sides = sides(&pool, question, vectors, &said, settings.approach.stance);
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
