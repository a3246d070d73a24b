//! The ranking of images that are divided among machines: what the shards are asked to compute, and what a shard finds.

use anyhow::Result;

use super::super::approach::{ArgumentRecipe, Cut, Eligible, RelevanceChannel, StanceRecipe};
use super::{POOL, Pool, Ranker, Settings, TopicTask};
use crate::index::corpus::{IMAGE_FIELDS, Unanswered};
use crate::index::image_part::{BestScore, ImagePart};
use crate::index::images::{Field, ImageIndex};
use crate::topic::question::Question;
use crate::trec::DocId;

/// An image that a shard has found. The candidates for a request are the first `k` images of all shards together, by score and id.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundImage {
    pub request: String,
    pub k: u32,
    pub id: DocId,
    pub score: f64,
}

/// The field that a channel searches, and whether it is scored by BM25; `None` for channels that do not search.
fn searched(channel: RelevanceChannel) -> Option<(Field, bool)> {
    use RelevanceChannel as R;
    Some(match channel {
        R::Bm25Ocr => (Field::Ocr, true),
        R::Bm25Title => (Field::Title, true),
        R::Bm25Near => (Field::Near, true),
        R::Bm25Main => (Field::Main, true),
        R::Bm25Caption => (Field::Caption, true),
        R::Bm25GivenCaption => (Field::GivenCaption, true),
        R::Bm25GivenText => (Field::GivenText, true),
        R::DirichletMain => (Field::Main, false),
        _ => return None,
    })
}

/// If the index has only what shards have found, asks the shards to compute what the ranking needs.
///
/// # Errors
/// [`Unanswered`], or the index cannot be read.
pub(super) fn ask(index: &ImageIndex, questions: &[Question], settings: &Settings) -> Result<()> {
    if !matches!(index.part(), Some(ImagePart::Found(_))) {
        return Ok(());
    }
    let channels = settings.approach.relevance.channels.keys();
    let fields: Vec<(Field, bool)> = channels.filter_map(|channel| searched(*channel)).collect();
    let mut unanswered = None;
    for question in questions {
        for (field, _) in &fields {
            match index.ask_for_best(*field, &question.words) {
                // all questions are recorded first, so that the shards get them in one round
                Err(error) if error.is::<Unanswered>() => unanswered = Some(error),
                asked => asked?,
            }
        }
    }
    // the requests for candidates contain the best scores, so they must wait for these
    if let Some(error) = unanswered {
        return Err(error);
    }
    let mut bests = Vec::new();
    for question in questions {
        for (field, _) in fields.iter().filter(|(_, is_bm25)| *is_bm25) {
            let scores = index.bm25(*field, &question.words)?;
            bests.push(BestScore {
                field: IMAGE_FIELDS[*field as usize].to_owned(),
                words: question.words.clone(),
                best: index.best(*field, &question.words, &scores),
            });
        }
    }
    index.ask_for_pools(bests)
}

impl Ranker<'_> {
    /// What a shard has found for a topic: its candidates, or all images that may be candidates, if a shard cannot decide alone which of them are.
    pub(super) fn found(
        &self,
        task: &TopicTask,
        pool: &Pool,
        members: &[usize],
    ) -> Vec<FoundImage> {
        let recipe = &self.settings.approach;
        let topic = &task.topic.id;
        let found = |request: String, k: usize, at: usize, score: f64| {
            Some(FoundImage {
                request,
                k: u32::try_from(k).unwrap_or(u32::MAX),
                id: self.index.ids().get(at)?.clone(),
                score,
            })
        };
        let all = || format!("all {topic}");
        // the scores of images that the crawl found can depend on images of other shards
        if recipe.stance == StanceRecipe::Crawl || recipe.relevance.candidates == Eligible::Crawled
        {
            let members = members.iter();
            return members
                .filter_map(|at| found(all(), usize::MAX, *at, 0.0))
                .collect();
        }
        let candidates = pool.iter();
        let found = candidates.filter_map(|(at, relevance)| {
            let (request, k) = match (recipe.lists.cut, &self.sentiment) {
                (Cut::BeforeStance, _) => (all(), recipe.lists.pool.unwrap_or(POOL)),
                (Cut::AfterStance, Some(values)) if recipe.argument == ArgumentRecipe::None => {
                    let value = values.get(*at).copied().unwrap_or_default();
                    let side = if value > 0.0 { "PRO" } else { "CON" };
                    (format!("{side} {topic}"), POOL)
                }
                (Cut::AfterStance, _) => (all(), usize::MAX),
            };
            found(request, k, *at, relevance.value())
        });
        found.collect()
    }
}
