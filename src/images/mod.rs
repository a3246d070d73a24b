//! The ranking of images for arguments, from stored evidence and topics.
//!
//! For each topic, the weighted channels of the approach give the relevance of every image. The best hundred are the candidates. Each
//! candidate gets a probability that it is argumentative, and one for each stance. The two lists are those with the largest sum of scores. A
//! score is `relevance × (1 + argues + stance)`: if all three are probabilities, this is the expected number of the three official measures
//! for which the image counts.
//!
//! Published approaches can take all images as candidates, keep those of another stance out of a list, and compute scores differently
//! ([`ListRecipe`](crate::recipes::image_approach::ListRecipe)).

mod embeddings;
pub(crate) mod lists;
pub(crate) mod opinions;
mod query;
mod rationale;
mod signals;
mod systems;
pub(crate) mod texts;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use rayon::prelude::*;
use riposte_eval::candidates::RerankCandidates;
use riposte_eval::explained::ExplainedImage;
use riposte_eval::run::ImageRunLine;
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Explanation, Stance, TopicId};

use crate::events::{Event, OnEvent};
use crate::evidence::Channel;
use crate::evidence::clip::{ImageTextVectors, Slot};
use crate::evidence::ocr::Ocr;
use crate::evidence::page::Pages;
use crate::evidence::picture::PictureChannel;
use crate::evidence::sentence::SentenceVectors;
use crate::evidence::sentiment::{AfinnScores, VaderScores};
use crate::evidence::store::{Store, StoreFile};
use crate::files::explanations::{Explanations, KeepExplanations};
use crate::index::images::{ImageEvidence, ImageIndex};
use crate::language::other_language;
use crate::presence;
use crate::presence::JudgedTopics;
use crate::reading::Reader;
use crate::recipes::image_approach::{
    ArgumentRecipe, Cut, Eligible, ImageApproach, ListForm, Scale, StanceRecipe,
};
use crate::score::signal::SignalNeed;
use crate::score::{Opinion, RELEVANCE, explain_weighted_mean, weighted_mean};
use crate::texts::likeness::Arguments;
use crate::topic::question::{self, Question, TopicParts};
use embeddings::{Embeddings, TopicVectors};
use lists::{ScoredImage, score_candidates, select_lists};
use signals::{Cosines, CrawlRanks};
use systems::ClusterWeights;
use texts::PoolTexts;

/// Number of candidates for each topic or, if candidates are cut after their stances are estimated, for each of its stances. It is five times the
/// number of listed images: enough for a choice within each stance, but so few that no off-topic image is listed because of a strong stance.
const POOL: usize = 100;

/// Number of topics that are ranked together: enough for all threads, and few enough for their candidates to fit in memory.
const TOPICS_AT_ONCE: usize = 8;

/// Number of topics for which the vectors of all images are read once. Each topic takes some megabytes of memory, and each reading takes seconds.
const TOPICS_PER_READING: usize = 64;

/// The settings that a user chooses.
#[derive(Clone, Debug)]
pub struct ImageRankingSettings {
    pub approach: ImageApproach,
    pub parts: TopicParts,
    /// Whether an image may be in both lists of a topic.
    pub overlap: bool,
    pub tag: String,
    /// The number of images in the list of a claim, for approaches of [`ListForm::Claims`].
    pub claim_length: usize,
    /// The images that may be listed for each topic; `None` for all.
    pub candidates: Option<Arc<RerankCandidates>>,
    /// Where explanations are kept.
    pub keep: KeepExplanations,
}

impl ImageRankingSettings {
    fn uses_crawl(&self) -> bool {
        self.approach.stance == StanceRecipe::Crawl
            || self.approach.relevance.candidates == Eligible::Crawled
            || self
                .approach
                .relevance
                .uses(|need| matches!(need, SignalNeed::Crawl))
    }
}

/// A run, and the explanations of its scores.
#[derive(Debug, Default)]
pub struct ImageRanking {
    /// In the order of the topics, then PRO before CON, then by rank. The lines of a claim's single list have the stance PRO.
    pub lines: Vec<ImageRunLine>,
    /// By topic and image, why an image conveys a claim; empty for other runs.
    pub rationales: HashMap<(TopicId, DocId), String>,
    /// By topic and image, the side that each listed image takes; `None` if it is undecided.
    pub sides: HashMap<(TopicId, DocId), Option<Stance>>,
    /// One for each candidate: by topic, the most relevant first.
    pub explained: Explanations<ExplainedImage>,
    /// Which of the listed images are about their topic.
    pub judged: JudgedTopics,
}

/// Ranks the images for the topics. `on_event` receives notes (short lists, channels that are off), and the number of finished topics.
///
/// # Errors
/// A store or a model fails, or ranking was stopped. The model outputs that were computed before are stored in every case.
pub fn rank(
    index: &ImageIndex,
    store: &Store,
    reader: &mut Reader,
    arguments: Option<Arguments>,
    topics: &[Topic],
    settings: &ImageRankingSettings,
    on_event: &mut OnEvent,
) -> Result<ImageRanking> {
    let mut ranking = ImageRanking {
        explained: Explanations::new(&settings.keep)?,
        ..ImageRanking::default()
    };
    // a note that applies to every topic is shown once
    let mut seen = HashSet::new();
    let on_event: &mut OnEvent = &mut |event| match event {
        Event::Note(note) if !seen.insert(note.clone()) => {}
        other => on_event(other),
    };
    let questions = read_questions(topics, settings, on_event)?;
    let mut embeddings =
        Embeddings::of_questions(store, reader, topics, &questions, settings, on_event)?;
    if let Some(arguments) = arguments {
        embeddings.add_arguments(&arguments, &questions, store, reader, on_event)?;
    }
    let ranker = Ranker::new(index, store, settings, &embeddings)?;
    let tasks: Vec<TopicTask> = topics
        .iter()
        .zip(&questions)
        .zip(&embeddings.topics)
        .map(|((topic, question), vectors)| TopicTask {
            topic,
            question,
            vectors,
            is_foreign: other_language(&topic.title).is_some(),
        })
        .collect();
    let mut done = 0;
    for tasks in tasks.chunks(TOPICS_PER_READING) {
        let relevance = &settings.approach.relevance;
        let mut cosines = signals::read(store, index.ids(), tasks, relevance)?;
        let groups = tasks.chunks(TOPICS_AT_ONCE);
        for (group, cosines) in groups.zip(cosines.chunks_mut(TOPICS_AT_ONCE)) {
            on_event(Event::progress(done, topics.len()));
            reader.check_stopped()?;
            ranker.rank(group, cosines, reader, &mut ranking, on_event)?;
            done += group.len();
        }
    }
    on_event(Event::progress(topics.len(), topics.len()));
    (reader.note_of_damage().map(Event::note))
        .into_iter()
        .for_each(on_event);
    Ok(ranking)
}

/// Reads the topics as questions. Notes name topics without candidates, and open questions, for which no image can be PRO or CON.
fn read_questions(
    topics: &[Topic],
    settings: &ImageRankingSettings,
    on_event: &mut OnEvent,
) -> Result<Vec<Question>> {
    let mut questions: Vec<Question> = topics
        .iter()
        .map(|topic| question::read(topic, settings.parts))
        .collect();
    for (topic, question) in topics.iter().zip(&questions) {
        let candidates = settings.candidates.as_ref();
        if candidates.is_some_and(|all| all.of(&topic.id).is_none_or(BTreeSet::is_empty)) {
            on_event(Event::note(format!(
                "topic {} has no candidate to re-rank",
                topic.id
            )));
        }
        if settings.approach.form == ListForm::Stances && question.counter_claim.is_empty() {
            let text = format!(
                "topic {} ({:?}) is an open question: there is no claim that images could support or attack",
                topic.id, topic.title
            );
            on_event(Event::note(text));
        }
    }
    query::process(&mut questions, &settings.approach.query, on_event)?;
    Ok(questions)
}

/// A topic with its question and embeddings.
struct TopicTask<'a> {
    topic: &'a Topic,
    question: &'a Question,
    vectors: &'a TopicVectors,
    /// Whether the topic is in another language than English. What reads stances would assign sides at random.
    is_foreign: bool,
}

/// A value for each image; `None` for an image that lacks what the signal needs.
type SignalValues = Vec<Option<f64>>;

/// The values of one signal for all images.
struct Column {
    name: &'static str,
    weight: f64,
    values: SignalValues,
}

/// The opinions of all signals on the image with the number `at`.
fn opinions(columns: &[Column], at: usize) -> Vec<Opinion> {
    let opinion = |column: &Column| Opinion {
        name: column.name,
        weight: column.weight,
        value: column.values.get(at).copied().flatten(),
    };
    columns.iter().map(opinion).collect()
}

/// The candidates for a topic: the numbers of images and the explanations of their relevance, the most relevant first.
type Pool = Vec<(usize, Explanation)>;

/// What all topics share.
struct Ranker<'a> {
    index: &'a ImageIndex,
    /// The evidence store, which each thread opens for itself.
    store: StoreFile,
    settings: &'a ImageRankingSettings,
    embeddings: &'a Embeddings,
    /// Empty if the approach does not use it.
    crawl: CrawlRanks,
    /// The sentiment of every image, whose sign is the image's stance; `None` if the approach does not need it for all images.
    sentiment: Option<Vec<f64>>,
    /// `None` if the approach has no clusters of pictures.
    clusters: Option<ClusterWeights>,
}

impl<'a> Ranker<'a> {
    /// Reads what all topics share.
    ///
    /// # Errors
    /// The store cannot be read.
    fn new(
        index: &'a ImageIndex,
        store: &Store,
        settings: &'a ImageRankingSettings,
        embeddings: &'a Embeddings,
    ) -> Result<Self> {
        let ImageApproach {
            relevance,
            lists,
            stance,
            ..
        } = &settings.approach;
        Ok(Ranker {
            index,
            store: store.place(),
            settings,
            embeddings,
            crawl: if settings.uses_crawl() {
                CrawlRanks::read(store, index.ids())?
            } else {
                CrawlRanks::default()
            },
            sentiment: match (lists.cut, *stance) {
                (Cut::AfterStance, StanceRecipe::Sign { signal }) => {
                    Some(signals::read_sentiment(store, index.ids(), signal)?)
                }
                _ => None,
            },
            clusters: (relevance.clusters)
                .map(|recipe| ClusterWeights::read(store, index, recipe))
                .transpose()?,
        })
    }

    /// Ranks the images for a group of topics.
    fn rank(
        &self,
        tasks: &[TopicTask],
        cosines: &mut [Cosines],
        reader: &mut Reader,
        ranking: &mut ImageRanking,
        on_event: &mut OnEvent,
    ) -> Result<()> {
        let store = self.store.open_to_read()?;
        if self.settings.approach.stance == StanceRecipe::Crawl {
            for task in tasks {
                let topic = task.topic;
                let members = self.members(topic);
                let ids = self.index.ids();
                let scored = lists::crawl_scores(&self.crawl, topic, ids, &members);
                self.select(task, scored, &store, ranking, on_event)?;
            }
            return Ok(());
        }
        let pools = tasks
            .par_iter()
            .zip(cosines)
            .map(|(task, cosines)| {
                let members = self.members(task.topic);
                let columns = self.columns(task, &members, std::mem::take(cosines))?;
                Ok(self.pool(&columns, &members))
            })
            .collect::<Result<Vec<Pool>>>()?;
        for (task, scored) in tasks.iter().zip(self.score(tasks, pools, reader)?) {
            self.select(task, scored, &store, ranking, on_event)?;
        }
        Ok(())
    }

    /// Selects the lists of a topic, and judges which of their images are about it.
    fn select(
        &self,
        task: &TopicTask,
        scored: Vec<ScoredImage>,
        store: &Store,
        ranking: &mut ImageRanking,
        on_event: &mut OnEvent,
    ) -> Result<()> {
        let topic = task.topic;
        let vector = task.vectors.words.as_deref();
        let vector = vector.zip(self.embeddings.sentences.as_deref());
        let judge = |listed: &mut dyn Iterator<Item = &DocId>| {
            presence::of_images(topic, listed, store, vector)
        };
        select_lists(task, scored, self.settings, ranking, on_event, judge)
    }

    /// Scores the candidates of a group of topics.
    fn score(
        &self,
        tasks: &[TopicTask],
        pools: Vec<Pool>,
        reader: &mut Reader,
    ) -> Result<Vec<Vec<ScoredImage>>> {
        let images = self.candidates(&pools)?;
        let with_image = |(at, relevance)| Some((images.get(&at)?, relevance));
        let pools: Vec<Vec<(&ImageEvidence, Explanation)>> = pools
            .into_iter()
            .map(|pool| pool.into_iter().filter_map(with_image).collect())
            .collect();
        let mut texts = Vec::new();
        for (task, pool) in tasks.iter().zip(&pools) {
            // the baselines do not use the stance encoder
            let reads = self.settings.approach.stance.reads_texts() && !task.is_foreign;
            let read = || PoolTexts::read(pool, task.question, reader);
            texts.push(reads.then(read).transpose()?);
        }
        Ok(tasks
            .par_iter()
            .zip(pools)
            .zip(texts)
            .map(|((task, pool), texts)| {
                score_candidates(pool, task, &self.embeddings.kinds, texts, self.settings)
            })
            .collect())
    }

    /// The numbers of the images that can be candidates for a topic, in ascending order.
    fn members(&self, topic: &Topic) -> Vec<usize> {
        let mut members: Vec<usize> = match self.settings.approach.relevance.candidates {
            Eligible::Crawled => self.crawl.best(&topic.id, &[""]).into_keys().collect(),
            Eligible::Matching | Eligible::All => (0..self.index.ids().len()).collect(),
        };
        if let Some(candidates) = &self.settings.candidates {
            let of_topic = candidates.of(&topic.id);
            let ids = self.index.ids();
            members.retain(|at| {
                let id = ids.get(*at);
                of_topic.is_some_and(|of_topic| id.is_some_and(|id| of_topic.contains(id)))
            });
        }
        members
    }

    /// The values of all signals of the approach for every image.
    ///
    /// # Errors
    /// The index cannot be read, or all signals are off.
    fn columns(
        &self,
        task: &TopicTask,
        members: &[usize],
        mut cosines: Cosines,
    ) -> Result<Vec<Column>> {
        let approach = &self.settings.approach;
        let recipe = &approach.relevance;
        let mut columns = Vec::new();
        for (key, weight) in &recipe.channels {
            let signal = key.signal();
            let stored = cosines.remove(key);
            // a signal that is off has no column
            let Some(mut values) = self.values(signal.need, task, members, stored)? else {
                continue;
            };
            if recipe.scale == Scale::Unit {
                // the range of an image-text model's cosines depends on how the model was trained
                let model = signal.need.image_text();
                let likeness = model.map(|model| self.embeddings.likeness(model));
                for value in values.iter_mut().flatten() {
                    *value = match likeness {
                        Some(likeness) => likeness.to_unit(*value),
                        None => value.clamp(0.0, 1.0),
                    };
                }
            }
            columns.push(Column {
                name: signal.name,
                weight: *weight,
                values,
            });
        }
        ensure!(
            approach.form == ListForm::Stances || !columns.is_empty(),
            "all channels of the approach {} are off: there is nothing to rank with (riposte models list shows what is missing)",
            approach.name
        );
        Ok(columns)
    }

    /// The values of a signal; `None` if it is off. `stored` has what was computed for all topics at once. BM25 scores are divided by the topic's best
    /// score in the field if the recipe scales values.
    ///
    /// # Errors
    /// The index cannot be read, or the recipe has no prior.
    fn values(
        &self,
        need: SignalNeed,
        task: &TopicTask,
        members: &[usize],
        stored: Option<Vec<f64>>,
    ) -> Result<Option<SignalValues>> {
        let words = &task.question.words;
        let relevance = &self.settings.approach.relevance;
        let mut values = vec![None; self.index.ids().len()];
        match need {
            SignalNeed::Words(field) => {
                let scores = self.index.bm25(field, words)?;
                let best = scores.iter().copied().fold(0.0, f64::max);
                let is_divided = relevance.scale == Scale::Unit && best > 0.0;
                let divisor = if is_divided { best } else { 1.0 };
                let value = |score: f64| (score > 0.0).then(|| score / divisor);
                values = scores.into_iter().map(value).collect();
            }
            SignalNeed::QueryLikelihood(field) => {
                let mu = relevance.mu.context("a Dirichlet prior needs mu")?;
                let scores = self.index.dirichlet(field, words, mu, members)?;
                for (at, score) in members.iter().zip(scores) {
                    values[*at] = Some(score);
                }
            }
            SignalNeed::Crawl => {
                for (at, (rank, _)) in self.crawl.best(&task.topic.id, &[""]) {
                    values[at] = Some(1.0 / f64::from(rank));
                }
            }
            SignalNeed::Sentence(_)
            | SignalNeed::About(_)
            | SignalNeed::Title(_)
            | SignalNeed::Arguments
            | SignalNeed::Channel(_) => {
                let value = |value: f64| (!value.is_nan()).then_some(value);
                return Ok(stored.map(|stored| stored.into_iter().map(value).collect()));
            }
        }
        Ok(Some(values))
    }

    /// The candidates with their relevance, the best first.
    fn pool(&self, columns: &[Column], members: &[usize]) -> Pool {
        let recipe = &self.settings.approach;
        let needs_match = recipe.relevance.candidates == Eligible::Matching;
        let mut order: Vec<(f64, usize)> = members
            .iter()
            .map(|at| {
                let mean = weighted_mean(&opinions(columns, *at));
                let clusters = self.clusters.as_ref();
                (clusters.map_or(mean, |c| mean * c.weight(*at)), *at)
            })
            .filter(|(value, _)| !needs_match || *value > 0.0)
            .collect();
        if recipe.form == ListForm::Claims && order.len() < self.settings.claim_length {
            // each claim gets a full list, if necessary with images that have nothing in common with it
            let known: HashSet<usize> = order.iter().map(|(_, at)| *at).collect();
            let others = members.iter().filter(|at| !known.contains(*at));
            let missing = self.settings.claim_length - order.len();
            order.extend(others.take(missing).map(|at| (0.0, *at)));
        }
        // ties are broken by id: images are numbered in the order of their ids
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        match (recipe.lists.cut, &self.sentiment) {
            (Cut::BeforeStance, _) => order.truncate(recipe.lists.pool.unwrap_or(POOL)),
            // only relevance decides the order, so images beyond the first of each stance cannot be listed
            (Cut::AfterStance, Some(values)) if recipe.argument == ArgumentRecipe::None => {
                let (mut pro, mut con) = (POOL, POOL);
                order.retain(|(_, at)| match values.get(*at) {
                    Some(value) if *value > 0.0 => take_one(&mut pro),
                    Some(value) if *value < 0.0 => take_one(&mut con),
                    _ => false,
                });
            }
            (Cut::AfterStance, _) => {}
        }
        order
            .into_iter()
            .map(|(_, at)| {
                let mean = explain_weighted_mean(RELEVANCE, &opinions(columns, at));
                let explained = match &self.clusters {
                    Some(clusters) => clusters.explain(at, mean),
                    None => mean,
                };
                (at, explained)
            })
            .collect()
    }

    /// The evidence about the images in these pools, by the number of the image. Only what the approach uses is read.
    fn candidates(&self, pools: &[Pool]) -> Result<HashMap<usize, ImageEvidence>> {
        let mut numbers: Vec<usize> = pools.iter().flatten().map(|(at, _)| *at).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let recipe = &self.settings.approach;
        let topics = &self.embeddings.topics;
        let needs_clip =
            !self.embeddings.kinds.is_empty() || topics.iter().any(|t| t.prompts[0].is_some());
        let needs_sentiment = matches!(
            recipe.argument,
            ArgumentRecipe::Aramis { .. } | ArgumentRecipe::AramisNeural
        ) || recipe.stance.is_by_sign();
        let mut channels: Vec<&dyn Channel> = vec![&Pages, &Ocr, &PictureChannel];
        if needs_clip {
            channels.push(&ImageTextVectors(Slot::First));
        }
        if topics.iter().any(|topic| topic.arguments.is_some()) {
            channels.push(&SentenceVectors);
        }
        if needs_sentiment {
            channels.extend([&VaderScores as &dyn Channel, &AfinnScores]);
        }
        let read =
            |store: &mut Result<Store>, at: &usize| -> Result<Option<(usize, ImageEvidence)>> {
                let store = store.as_ref().map_err(|error| anyhow!("{error:#}"))?;
                let id = self.index.ids().get(*at).context("no such image")?;
                Ok(ImageEvidence::read(store, id, &channels)?.map(|image| (*at, image)))
            };
        numbers
            .par_iter()
            .with_min_len(32)
            .map_init(|| self.store.open_to_read(), read)
            .filter_map(Result::transpose)
            .collect()
    }
}

/// Takes one place if there is room, and returns whether there was.
fn take_one(room: &mut usize) -> bool {
    let is_free = *room > 0;
    *room = room.saturating_sub(1);
    is_free
}

#[cfg(test)]
mod tests;
