//! Task 2: ranks passages for comparative questions, and detects the stance of each towards the two objects.

use anyhow::Result;

use super::texts::{Settings, Sources, rank};
use crate::index::corpus::Corpus;
use crate::reading::Reader;
use crate::reading::pieces::used_part;
use crate::score::object_stance::{MaskedLogits, Model, Objects, PREFERENCE};
use crate::trec::explained::ExplainedText;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, ObjectStance};

/// Number of passages of each topic that the pair encoder reads. To read all thousand would take as long as everything else together.
const READ_PASSAGES: usize = 50;

/// The lines of the run, by topic in the order of the topics, and the explanations of the scores. Without `stances`, and for topics that
/// do not name two objects, lines have Q0 instead of a stance. `on_progress` and errors are as for [`super::controversial::run`].
pub fn run(
    topics: &[Topic],
    sources: &mut Sources,
    settings: &Settings,
    stances: bool,
    tag: &str,
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<(Vec<TextRunLine>, Vec<ExplainedText>)> {
    let (mut lines, mut explained) = (Vec::new(), Vec::new());
    for (done, topic) in topics.iter().enumerate() {
        let mut ranking = rank(topic, sources, settings, &mut |outputs| {
            on_progress(done, outputs);
        })?;
        let objects = topic.objects.as_ref().filter(|_| stances);
        let objects = objects.map(|[first, second]| Objects::new(first, second));
        for (rank, found) in (1..).zip(&ranking.documents) {
            let fixed = settings.approach.stance.filter(|_| stances);
            let stance = match (fixed, &objects, sources.corpora.first()) {
                (Some(fixed), ..) => Some(fixed),
                (None, Some(objects), Some(corpus)) => {
                    let encodes = rank as usize <= READ_PASSAGES;
                    let explained = ranking.explained.get_mut(rank as usize - 1);
                    let explain = explained.is_some();
                    let reader = &mut *sources.reader;
                    let (stance, explanation) =
                        detect_stance(objects, corpus, &found.doc, reader, encodes, explain)?;
                    if let Some(explained) = explained {
                        explained.stance = explanation;
                    }
                    Some(stance)
                }
                _ => None,
            };
            lines.push(TextRunLine {
                topic: topic.id.clone(),
                stance,
                doc: found.doc.clone(),
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

/// The stance of a passage towards the objects, and its explanation if `explain` is set. The pair encoder reads it if `encodes` is set.
fn detect_stance(
    objects: &Objects,
    corpus: &Corpus,
    doc: &DocId,
    reader: &mut Reader,
    encodes: bool,
    explain: bool,
) -> Result<(ObjectStance, Option<Explanation>)> {
    let passage = corpus.document(doc)?.texts.into_iter().next();
    let passage = passage.unwrap_or_default();
    let (passage, cut) = used_part(&passage);
    let mut cuts: Vec<String> = cut.into_iter().collect();
    let mut logits = None;
    if encodes {
        logits = masked_logits(objects, passage, reader)?;
        cuts.extend(logits.as_ref().and_then(|_| objects.unread(passage)));
    }
    reader.note_cuts(doc, &cuts);
    let model = Model::committed();
    let belief = model.belief(objects, passage, logits.as_deref());
    let explanation = explain.then(|| {
        let mut explanation = model.explain(objects, passage, logits.as_deref());
        explanation.add_cuts(&cuts);
        explanation
    });
    Ok((belief.decision, explanation))
}

/// The pair encoder's logits of the sentences that name an object, with the objects masked. `None` without an encoder.
fn masked_logits(
    objects: &Objects,
    passage: &str,
    reader: &mut Reader,
) -> Result<Option<Vec<MaskedLogits>>> {
    let masked = objects.masked(passage);
    let texts = masked.iter().flatten();
    let pairs: Vec<(&str, &str)> = texts.map(|text| (PREFERENCE, text.as_str())).collect();
    let logits = reader.pair_logits(&pairs, &mut |_| ())?;
    // each sentence is read twice, the second time with the objects swapped
    Ok(logits.map(|logits| logits.as_chunks::<2>().0.to_vec()))
}
