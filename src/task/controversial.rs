//! Task 1: ranks arguments for controversial questions, the relevant and well-written ones first.

use anyhow::Result;

use super::rank;
use super::texts::{Settings, Sources, TextRanking};
use crate::reading::steps::{OnOutputs, Outputs, Step};
use crate::score::text_stance::Model;
use crate::topic::question;
use crate::trec::explained::ExplainedText;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;

/// Returns the lines of the run and the explanations of the scores, as [`rank::run`] does, with the stance of each explained argument.
///
/// # Errors
/// As for [`rank::run`].
pub fn run(
    topics: &[Topic],
    sources: &mut Sources,
    settings: &Settings,
    tag: &str,
    on_progress: &mut dyn FnMut(usize, Option<Outputs>),
) -> Result<(Vec<TextRunLine>, Vec<ExplainedText>)> {
    let explain =
        |topic: &Topic, sources: &mut _, ranking: &mut TextRanking, on_progress: &mut OnOutputs| {
            explain_stances(topic, sources, &mut ranking.explained, on_progress)
        };
    rank::run_with(topics, sources, settings, tag, on_progress, explain)
}

/// Adds to each explained argument the explanation of its stance towards the topic's claim. The argument's own conclusion may be a different claim.
fn explain_stances(
    topic: &Topic,
    sources: &mut Sources,
    explained: &mut [ExplainedText],
    on_progress: &mut OnOutputs,
) -> Result<()> {
    let Some(index) = sources.corpora.first() else {
        return Ok(());
    };
    sources.reader.enter(Step::Stance);
    let (claim, _) = question::claims(&topic.title);
    let premises = |text: &ExplainedText| {
        let texts = index.document(&text.document)?.texts;
        Ok(texts.into_iter().next().unwrap_or_default())
    };
    let premises: Vec<String> = explained.iter().map(premises).collect::<Result<_>>()?;
    let pairs: Vec<(&str, &str)> = premises
        .iter()
        .map(|text| (claim.as_str(), text.as_str()))
        .collect();
    let logits = sources.reader.piece_logits(&pairs, on_progress)?;
    for (at, (text, premises)) in explained.iter_mut().zip(&premises).enumerate() {
        let logits = logits.as_ref().and_then(|all| all.get(at));
        let logits = logits.map(Vec::as_slice);
        let stance = Model::committed().explain(&claim, premises, logits);
        text.stance = Some(stance.named("stance towards the topic"));
    }
    Ok(())
}
