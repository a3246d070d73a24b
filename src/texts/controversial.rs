//! Task 1: ranks arguments for controversial questions, the relevant and well-written ones first.

use anyhow::Result;
use riposte_claims::claims;
use riposte_eval::explained::ExplainedText;
use riposte_eval::topic::Topic;

use super::TextRankingSources;
use crate::events::{OnEvent, RankingStep};
use crate::language::other_language;
use crate::score::text_stance::TextStanceModel;

/// Adds to each explained argument the explanation of its stance towards the topic's claim. The argument's own conclusion may be a different claim. No
/// stance is read towards a topic in another language than English.
///
/// # Errors
/// The index, the store of model outputs or the stance encoder fails.
pub(crate) fn explain_stances(
    topic: &Topic,
    sources: &mut TextRankingSources,
    explained: &mut [ExplainedText],
    on_event: &mut OnEvent,
) -> Result<()> {
    let Some(index) = sources.corpora.first() else {
        return Ok(());
    };
    // what reads English would assign sides at random
    if other_language(&topic.title).is_some() {
        return Ok(());
    }
    sources.reader.enter(RankingStep::Stance);
    let (claim, _) = claims(&topic.title);
    let premises = |text: &ExplainedText| {
        let texts = index.document(&text.document)?.texts;
        Ok(texts.into_iter().next().unwrap_or_default())
    };
    let premises: Vec<String> = explained.iter().map(premises).collect::<Result<_>>()?;
    let pairs: Vec<(&str, &str)> = premises
        .iter()
        .map(|text| (claim.as_str(), text.as_str()))
        .collect();
    let logits = sources.reader.piece_logits(&pairs, on_event)?;
    for (at, (text, premises)) in explained.iter_mut().zip(&premises).enumerate() {
        let logits = logits.as_ref().and_then(|all| all.get(at));
        let logits = logits.map(Vec::as_slice);
        let stance = TextStanceModel::committed().explain(&claim, premises, logits);
        text.stance = Some(stance.named("stance towards the topic"));
    }
    Ok(())
}
