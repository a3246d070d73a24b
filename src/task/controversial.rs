//! Task 1: for a controversial question, arguments that are relevant to it and well written.

use anyhow::Result;

use super::texts::{Settings, Sources, rank};
use crate::index::query;
use crate::score::text_stance::{Model, pieces};
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
        let mut ranked = rank(topic, sources, settings, &mut |made| told(done, made))?;
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
    told(topics.len(), 0);
    Ok((lines, explained))
}

/// What each explained argument says of the topic's claim, whichever conclusion it was written for.
fn open_stances(
    topic: &Topic,
    sources: &mut Sources,
    explained: &mut [ExplainedText],
) -> Result<()> {
    let Some(corpus) = sources.corpora.first() else {
        return Ok(());
    };
    let (claim, _) = query::claims(&topic.title);
    for text in explained {
        let premises = corpus.document(&text.document)?.texts.into_iter().next();
        let premises = premises.unwrap_or_default();
        let logits = sources
            .vectors
            .logits_of(&claim, &pieces(&premises), &mut |_| ())?;
        let name = "stance towards the topic";
        let opened = Model::committed().explain(name, &claim, &premises, logits.as_deref());
        text.stance = Some(opened);
    }
    Ok(())
}
