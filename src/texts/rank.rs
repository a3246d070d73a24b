//! Ranks the documents of any text collection for queries.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use riposte_eval::explained::ExplainedText;
use riposte_eval::run::TextRunLine;
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, ObjectStance, TopicId};

use super::{Offsets, TextRanking, TextRankingSettings, TextRankingSources, rank};
use crate::events::{Event, OnEvent};
use crate::files::explanations::Explanations;
use crate::presence::JudgedTopics;
use crate::stopped::Stopped;

/// The rankings of all topics.
pub(crate) struct Ranked {
    /// In the order of the topics.
    pub lines: Vec<TextRunLine>,
    pub explained: Explanations<ExplainedText>,
    /// What was added to the scores of a topic's re-ranked documents.
    pub offsets: BTreeMap<TopicId, Offsets>,
    /// Which of the first documents are about their topic; empty if that was not judged.
    pub judged: JudgedTopics,
    /// The documents whose texts were not read to their ends, each with what was left out.
    pub cut_texts: BTreeMap<DocId, String>,
}

/// Ranks the documents for each topic. `stances` finds the stances of each topic's documents,
/// none if they have no stance, and can add to the explanations. `on_event` receives the number of finished topics, and the model outputs computed
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
    on_event: &mut OnEvent,
    mut stances: impl FnMut(
        &Topic,
        &mut TextRankingSources<'a, 'r>,
        &mut TextRanking,
        &mut OnEvent,
    ) -> Result<Vec<ObjectStance>>,
) -> Result<Ranked> {
    let mut ranked = Ranked {
        lines: Vec::new(),
        explained: Explanations::new(&settings.keep)?,
        offsets: BTreeMap::new(),
        judged: JudgedTopics::new(),
        cut_texts: BTreeMap::new(),
    };
    for (done, topic) in topics.iter().enumerate() {
        on_event(Event::progress(done, topics.len()));
        Stopped::Run.check(stop)?;
        let mut ranking = rank(topic, sources, settings, on_event)?;
        let mut stances = stances(topic, sources, &mut ranking, on_event)?.into_iter();
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
    ranked.cut_texts = std::mem::take(&mut sources.cut_texts);
    on_event(Event::progress(topics.len(), topics.len()));
    Ok(ranked)
}
