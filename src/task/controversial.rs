//! Task 1: for a controversial question, arguments that are relevant to it and well written.

use anyhow::Result;

use super::texts::{Settings, Sources, rank};
use crate::reading::pieces::pieces;
use crate::score::text_stance::Model;
use crate::topic::question;
use crate::trec::explained::ExplainedText;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;

/// The lines of the run, by topic in the order of the topics, and the explanations of the scores. `on_progress` receives the number of
/// finished topics and, within a topic, the number of computed model outputs.
pub fn run(
    topics: &[Topic],
    sources: &mut Sources,
    settings: &Settings,
    tag: &str,
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<(Vec<TextRunLine>, Vec<ExplainedText>)> {
    let (mut lines, mut explained) = (Vec::new(), Vec::new());
    for (done, topic) in topics.iter().enumerate() {
        let mut ranked = rank(topic, sources, settings, &mut |made| {
            on_progress(done, made)
        })?;
        open_stances(topic, sources, &mut ranked.explained)?;
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
    on_progress(topics.len(), 0);
    Ok((lines, explained))
}

/// Explains the stance of each explained argument towards the topic's claim; it was written for another conclusion.
fn open_stances(
    topic: &Topic,
    sources: &mut Sources,
    explained: &mut [ExplainedText],
) -> Result<()> {
    let Some(corpus) = sources.corpora.first() else {
        return Ok(());
    };
    let (claim, _) = question::claims(&topic.title);
    for text in explained {
        let premises = corpus.document(&text.document)?.texts.into_iter().next();
        let premises = premises.unwrap_or_default();
        let pieces = pieces(&premises).into_iter();
        let pairs: Vec<(&str, &str)> = pieces.map(|piece| (claim.as_str(), piece)).collect();
        let logits = sources.reader.pair_logits(&pairs, &mut |_| ())?;
        let name = "stance towards the topic";
        let opened = Model::committed().explain(name, &claim, &premises, logits.as_deref());
        text.stance = Some(opened);
    }
    Ok(())
}
