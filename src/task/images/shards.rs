//! The ranking of images that are divided among machines: what is asked of the shards, and what a shard finds.

use anyhow::Result;

use super::super::approach::{ArgumentRecipe, Cut, Eligible, RelevanceChannel, StanceRecipe};
use super::{POOL, Pool, Ranker, Settings, TopicTask};
use crate::index::corpus::{IMAGE_FIELDS, Unanswered};
use crate::index::image_part::{BestScore, ImagePart};
use crate::index::images::{Field, ImageIndex};
use crate::topic::question::Question;
use crate::trec::DocId;

/// An image that a shard has found. Of all shards' images for a request, the first `k` by score and id are candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundImage {
    pub request: String,
    pub k: u32,
    pub id: DocId,
    pub score: f64,
}

/// The field that a channel searches, and whether it is scored by BM25.
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

/// Asks the shards for what a ranking needs, if the index has only what they have found.
///
/// # Errors
/// [`Unanswered`], or the index cannot be read.
pub(super) fn ask(index: &ImageIndex, questions: &[Question], settings: &Settings) -> Result<()> {
    if !matches!(index.part(), Some(ImagePart::Found(_))) {
        return Ok(());
    }
    let channels = settings.approach.relevance.channels.keys();
    let fields: Vec<(Field, bool)> = channels.filter_map(|channel| searched(*channel)).collect();
    let mut asked = Ok(());
    for question in questions {
        for (field, _) in &fields {
            // all are asked for before the first error counts
            asked = index.ask_for_best(*field, &question.words).and(asked);
        }
    }
    match asked {
        // the candidates need the best scores
        Err(error) if error.is::<Unanswered>() => return Err(error),
        asked => asked?,
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
    /// What a shard has found for a topic: its candidates, or all images of which the whole collection's candidates cannot be told here.
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
        // of the crawl's images, the scores of some depend on all others
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
            found(request, k, *at, relevance.value)
        });
        found.collect()
    }
}
