//! Ranks the documents of any text collection for queries.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use riposte_eval::explained::ExplainedText;
use riposte_eval::run::TextRunLine;
use riposte_eval::topic::Topic;
use riposte_eval::{ObjectStance, TopicId};

use super::{Offsets, TextRanking, TextRankingSettings, TextRankingSources, rank};
use crate::events::STOPPED;
use crate::files::explanations::Explanations;
use crate::presence::JudgedTopics;
use crate::reading::ranking_steps::{OnOutputs, OutputProgress};

/// The rankings of all topics.
pub(crate) struct Ranked {
    /// In the order of the topics.
    pub lines: Vec<TextRunLine>,
    pub explained: Explanations<ExplainedText>,
    /// What was added to the scores of a topic's re-ranked documents.
    pub offsets: BTreeMap<TopicId, Offsets>,
    /// Which of the first documents are about their topic; empty if that was not judged.
    pub judged: JudgedTopics,
}

/// Ranks the documents for each topic. `stances` finds the stances of each topic's documents,
/// none if they have no stance, and can add to the explanations. `on_progress` receives the number of finished topics, and the model outputs computed
/// for the next one. When `stop` is set, the ranking ends before the next topic or, if the reader
/// knows of it, before models read more.
///
/// # Errors
/// An index, the store of model outputs or a model fails, the ranking was stopped, or a field of the approach is not in the collection.
pub(crate) fn run<'a, 'r>(
    topics: &[Topic],
    sources: &mut TextRankingSources<'a, 'r>,
    settings: &TextRankingSettings,
    tag: &str,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(usize, Option<OutputProgress>),
    mut stances: impl FnMut(
        &Topic,
        &mut TextRankingSources<'a, 'r>,
        &mut TextRanking,
        &mut OnOutputs,
    ) -> Result<Vec<ObjectStance>>,
) -> Result<Ranked> {
    let mut ranked = Ranked {
        lines: Vec::new(),
        explained: Explanations::new(&settings.keep)?,
        offsets: BTreeMap::new(),
        judged: JudgedTopics::new(),
    };
    for (done, topic) in topics.iter().enumerate() {
        on_progress(done, None);
        if stop.load(Ordering::Relaxed) {
            bail!(STOPPED);
        }
        let on_outputs: &mut OnOutputs = &mut |outputs| on_progress(done, Some(outputs));
        let mut ranking = rank(topic, sources, settings, on_outputs)?;
        let mut stances = stances(topic, sources, &mut ranking, on_outputs)?.into_iter();
        for (rank, found) in (1..).zip(ranking.documents) {
            ranked.lines.push(TextRunLine {
                topic: topic.id.clone(),
                stance: stances.next(),
                doc: found.doc,
                rank,
                score: Some(found.score),
                tag: tag.to_owned(),
            });
        }
        ranked.explained.add(ranking.explained)?;
        if settings.judge {
            ranked.judged.insert(topic.id.clone(), ranking.judged);
        }
        let offsets = ranking.offsets.map(|of| (topic.id.clone(), of));
        ranked.offsets.extend(offsets);
    }
    on_progress(topics.len(), None);
    Ok(ranked)
}
