//! Task 2: ranks passages for comparative questions, and detects the stance of each towards the two objects.

use anyhow::Result;
use rayon::prelude::*;
use riposte_eval::ObjectStance;
use riposte_eval::topic::Topic;

use super::{TextRanking, TextRankingSources};
use crate::events::{OnEvent, RankingStep};
use crate::index::ScoredDoc;
use crate::language::other_language;
use crate::reading::Reader;
use crate::reading::pieces::truncate;
use crate::recipes::text_approach::TextApproach;
use crate::score::object_stance::{MaskedLogits, ObjectStanceModel, Objects, PREFERENCE};

/// Detects the stance of each passage of a ranking, and explains those of the explained ones. None for a topic that does not name two objects, and for one
/// in another language than English, whose passages would get stances at random.
///
/// # Errors
/// The index, the store of model outputs or the stance encoder fails.
pub(crate) fn stances(
    topic: &Topic,
    sources: &mut TextRankingSources,
    approach: &TextApproach,
    ranking: &mut TextRanking,
    on_event: &mut OnEvent,
) -> Result<Vec<ObjectStance>> {
    sources.reader.enter(RankingStep::Stance);
    if let Some(fixed) = approach.stance {
        return Ok(vec![fixed; ranking.documents.len()]);
    }
    if other_language(&topic.title).is_some() {
        return Ok(Vec::new());
    }
    let (Some([first, second]), Some(index)) = (&topic.objects, sources.corpora.first()) else {
        return Ok(Vec::new());
    };
    let objects = Objects::new(first, second);
    let passage = |found: &ScoredDoc| {
        let text = index.document(&found.doc)?.texts.into_iter().next();
        let mut text = text.unwrap_or_default();
        Ok(Passage {
            cuts: truncate(&mut text),
            text,
            logits: None,
        })
    };
    let mut passages: Vec<Passage> = (ranking.documents.par_iter())
        .map(passage)
        .collect::<Result<_>>()?;
    let depth = approach.stance_depth.min(passages.len());
    encode(&mut passages[..depth], &objects, sources.reader, on_event)?;
    let model = ObjectStanceModel::committed();
    let explained = ranking.explained.len();
    let detected: Vec<_> = (passages.par_iter().enumerate())
        .map(|(at, passage)| {
            let (text, logits) = (&passage.text, passage.logits.as_deref());
            let explanation = (at < explained).then(|| {
                let mut explanation = model.explain(&objects, text, logits);
                passage
                    .cuts
                    .iter()
                    .for_each(|cut| explanation.add_note(cut));
                explanation
            });
            let stance = model.belief(&objects, text, logits).decision;
            (stance, explanation)
        })
        .collect();
    for (found, passage) in ranking.documents.iter().zip(&passages) {
        sources.note_cuts(&found.doc, &passage.cuts);
    }
    let (stances, explanations): (Vec<_>, Vec<_>) = detected.into_iter().unzip();
    for (explained, explanation) in ranking.explained.iter_mut().zip(explanations) {
        explained.stance = explanation;
    }
    Ok(stances)
}

/// A passage of a ranking.
struct Passage {
    /// The part that is read.
    text: String,
    /// Notes about text that was left out.
    cuts: Vec<String>,
    /// The stance encoder's logits of the sentences that name an object, with the objects masked. `None` if it has not read the passage.
    logits: Option<Vec<MaskedLogits>>,
}

/// Lets the stance encoder read passages in one call: passages read one by one would use a single core, and each would be stored in a separate
/// transaction. Without an encoder nothing happens.
fn encode(
    passages: &mut [Passage],
    objects: &Objects,
    reader: &mut Reader,
    on_event: &mut OnEvent,
) -> Result<()> {
    let read = passages.par_iter().map(|passage| {
        let text = &passage.text;
        (objects.masked(text), objects.unread(text))
    });
    let (masked, unread): (Vec<Vec<[String; 2]>>, Vec<_>) = read.unzip();
    // each sentence is read twice, the second time with the objects swapped
    let texts = masked.iter().flatten().flatten();
    let pairs: Vec<(&str, &str)> = texts.map(|text| (PREFERENCE, text.as_str())).collect();
    let Some(logits) = reader.pair_logits(&pairs, on_event)? else {
        return Ok(());
    };
    let mut logits = logits.as_chunks::<2>().0.iter().copied();
    for ((passage, masked), unread) in passages.iter_mut().zip(&masked).zip(unread) {
        passage.logits = Some(logits.by_ref().take(masked.len()).collect());
        passage.cuts.extend(unread);
    }
    Ok(())
}
