//! Task 1: ranks arguments for controversial questions, the relevant and well-written ones first.

use anyhow::Result;

use super::texts::{Settings, Sources, rank};
use crate::score::text_stance::Model;
use crate::topic::question;
use crate::trec::explained::ExplainedText;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;

/// The lines of the run, by topic in the order of the topics, and the explanations of the scores. `on_progress` receives the number of
/// finished topics, and the number of model outputs computed for the next one.
///
/// # Errors
/// An index, the store of model outputs or a model fails, or a field of the approach is not in the collection.
pub fn run(
    topics: &[Topic],
    sources: &mut Sources,
    settings: &Settings,
    tag: &str,
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<(Vec<TextRunLine>, Vec<ExplainedText>)> {
    let (mut lines, mut explained) = (Vec::new(), Vec::new());
    for (done, topic) in topics.iter().enumerate() {
        let mut ranking = rank(topic, sources, settings, &mut |outputs| {
            on_progress(done, outputs);
        })?;
        explain_stances(topic, sources, &mut ranking.explained)?;
        for (rank, found) in (1..).zip(ranking.documents) {
            lines.push(TextRunLine {
                topic: topic.id.clone(),
                stance: None,
                doc: found.doc,
                rank,
                score: found.score,
                tag: tag.to_owned(),
            });
        }
        explained.extend(ranking.explained);
    }
    on_progress(topics.len(), 0);
    Ok((lines, explained))
}

/// Adds to each explained argument the explanation of its stance towards the topic's claim, which differs from its own conclusion.
fn explain_stances(
    topic: &Topic,
    sources: &mut Sources,
    explained: &mut [ExplainedText],
) -> Result<()> {
    let Some(corpus) = sources.corpora.first() else {
        return Ok(());
    };
    let (claim, _) = question::claims(&topic.title);
    let premises = |text: &ExplainedText| {
        let texts = corpus.document(&text.document)?.texts;
        Ok(texts.into_iter().next().unwrap_or_default())
    };
    let premises: Vec<String> = explained.iter().map(premises).collect::<Result<_>>()?;
    let pairs: Vec<(&str, &str)> = premises
        .iter()
        .map(|text| (claim.as_str(), text.as_str()))
        .collect();
    let logits = sources.reader.piece_logits(&pairs)?;
    for (at, (text, premises)) in explained.iter_mut().zip(&premises).enumerate() {
        let logits = logits.as_ref().and_then(|all| all.get(at));
        let name = "stance towards the topic";
        let logits = logits.map(Vec::as_slice);
        let stance = Model::committed().explain(name, &claim, premises, logits);
        text.stance = Some(stance);
    }
    Ok(())
}
