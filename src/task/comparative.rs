//! Task 2: for a comparative question, passages that help to decide, and the stance of each towards the two objects.

use anyhow::Result;

use super::texts::{Settings, Sources, rank};
use crate::index::corpus::Corpus;
use crate::reading::Reader;
use crate::score::object_stance::{MaskedLogits, Model, Objects, PREFERENCE};
use crate::trec::explained::ExplainedText;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, ObjectStance};

/// The pair encoder reads this many passages for each topic. Reading all thousand would take as long as everything else together.
const READ_PASSAGES: usize = 50;

/// The lines of the run, by topic in the order of the topics, and the explanations of the scores. `on_progress`: as for
/// [`super::controversial::run`]. Without `stances`, and for topics whose objects are unknown, lines have Q0 instead of a stance.
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
        let mut ranked = rank(topic, sources, settings, &mut |made| {
            on_progress(done, made)
        })?;
        let objects = topic.objects.as_ref().filter(|_| stances);
        let objects = objects.map(|[first, second]| Objects::new(first, second));
        for (rank, found) in (1..).zip(&ranked.documents) {
            let stance = match (&objects, sources.corpora.first()) {
                (Some(objects), Some(corpus)) => {
                    let reader = (rank as usize <= READ_PASSAGES).then_some(&mut *sources.reader);
                    let open = ranked.explained.get_mut(rank as usize - 1);
                    let (stance, opened) =
                        stance_of(objects, corpus, &found.doc, reader, open.is_some())?;
                    if let (Some(open), Some(opened)) = (open, opened) {
                        open.stance = Some(opened);
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
        explained.extend(ranked.explained);
    }
    on_progress(topics.len(), 0);
    Ok((lines, explained))
}

/// The stance of a passage towards the objects, and its explanation if `open` is set.
fn stance_of(
    objects: &Objects,
    corpus: &Corpus,
    doc: &DocId,
    reader: Option<&mut Reader>,
    open: bool,
) -> Result<(ObjectStance, Option<Explanation>)> {
    let passage = corpus.document(doc)?.texts.into_iter().next();
    let passage = passage.unwrap_or_default();
    let logits = match reader {
        Some(reader) => masked_logits(objects, &passage, reader)?,
        None => None,
    };
    let model = Model::committed();
    let belief = model.belief(objects, &passage, logits.as_deref());
    let opened = open.then(|| model.explain(objects, &passage, logits.as_deref()));
    Ok((belief.decision, opened))
}

fn masked_logits(
    objects: &Objects,
    passage: &str,
    reader: &mut Reader,
) -> Result<Option<Vec<MaskedLogits>>> {
    let masked = objects.masked(passage);
    let texts = masked.iter().flatten();
    let pairs: Vec<(&str, &str)> = texts.map(|text| (PREFERENCE, text.as_str())).collect();
    let Some(found) = reader.pair_logits(&pairs, &mut |_| ())? else {
        return Ok(None);
    };
    let (pairs, _) = found.as_chunks::<2>();
    Ok(Some(pairs.to_vec()))
}
