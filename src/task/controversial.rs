//! Task 1: for a controversial question, arguments that are relevant to it and well written.

use anyhow::Result;

use super::texts::{Settings, Sources, rank};
use crate::trec::explained::ExplainedText;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;

/// The run's lines, by topic in the order of the topics, and how the scores came about. `told` hears after each
/// topic how many are done, and in between how many vectors of a topic have been made.
pub fn run(
    topics: &[Topic],
    sources: &mut Sources,
    settings: &Settings,
    tag: &str,
    told: &mut dyn FnMut(usize, usize),
) -> Result<(Vec<TextRunLine>, Vec<ExplainedText>)> {
    let (mut lines, mut explained) = (Vec::new(), Vec::new());
    for (done, topic) in topics.iter().enumerate() {
        let ranked = rank(topic, sources, settings, &mut |made| told(done, made))?;
        for (rank, found) in (1..).zip(ranked.documents) {
            lines.push(TextRunLine {
                topic: topic.id.clone(),
                stance: None,
                doc: found.doc,
                rank,
                score: found.score,
                tag: tag.to_owned(),
            });
        }
        explained.extend(ranked.explained);
    }
    told(topics.len(), 0);
    Ok((lines, explained))
}
