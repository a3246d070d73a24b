//! Ranks the documents of any text collection for queries. Documents have no stance.

use anyhow::Result;

use super::texts::{Settings, Sources, TextRanking, rank};
use crate::reading::steps::{OnOutputs, Outputs};
use crate::trec::explained::ExplainedText;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;

/// Returns the lines of the run, in the order of the topics, and the explanations of the scores. `on_progress` receives the number of finished
/// topics, and the model outputs computed for the next one.
///
/// # Errors
/// An index, the store of model outputs or a model fails, or a field of the approach is not in the collection.
pub fn run(
    topics: &[Topic],
    sources: &mut Sources,
    settings: &Settings,
    tag: &str,
    on_progress: &mut dyn FnMut(usize, Option<Outputs>),
) -> Result<(Vec<TextRunLine>, Vec<ExplainedText>)> {
    run_with(topics, sources, settings, tag, on_progress, |_, _, _, _| {
        Ok(())
    })
}

/// As [`run`]. `explain` can add to the explanations of each topic's ranking.
pub(super) fn run_with<'a, 'r>(
    topics: &[Topic],
    sources: &mut Sources<'a, 'r>,
    settings: &Settings,
    tag: &str,
    on_progress: &mut dyn FnMut(usize, Option<Outputs>),
    mut explain: impl FnMut(
        &Topic,
        &mut Sources<'a, 'r>,
        &mut TextRanking,
        &mut OnOutputs,
    ) -> Result<()>,
) -> Result<(Vec<TextRunLine>, Vec<ExplainedText>)> {
    let (mut lines, mut explained) = (Vec::new(), Vec::new());
    for (done, topic) in topics.iter().enumerate() {
        let on_outputs: &mut OnOutputs = &mut |outputs| on_progress(done, Some(outputs));
        let mut ranking = rank(topic, sources, settings, on_outputs)?;
        explain(topic, sources, &mut ranking, on_outputs)?;
        for (rank, found) in (1..).zip(ranking.documents) {
            lines.push(TextRunLine {
                topic: topic.id.clone(),
                stance: None,
                doc: found.doc,
                rank,
                score: Some(found.score),
                tag: tag.to_owned(),
            });
        }
        explained.extend(ranking.explained);
    }
    on_progress(topics.len(), None);
    Ok((lines, explained))
}
