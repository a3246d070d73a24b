//! Task 2: for a comparative question, passages that help to decide, and what each says of the two objects.

use anyhow::Result;

use super::texts::{Settings, Sources, rank};
use crate::evidence::vectors::TextVectors;
use crate::index::corpus::Corpus;
use crate::score::object_stance::{MaskedLogits, Model, Objects, PREFERENCE};
use crate::trec::explained::ExplainedText;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, ObjectStance};

/// Passages whose sentences the pair encoder reads: those of a thousand would take as long as all the rest.
const READ: usize = 50;

/// The run's lines, by topic in the order of the topics, and how the scores came about; `told` as for
/// [`super::controversial::run`]. Without `stances`, and for topics whose objects are not known, lines say Q0.
pub fn run(
    topics: &[Topic],
    sources: &mut Sources,
    settings: &Settings,
    stances: bool,
    tag: &str,
    told: &mut dyn FnMut(usize, usize),
) -> Result<(Vec<TextRunLine>, Vec<ExplainedText>)> {
    let (mut lines, mut explained) = (Vec::new(), Vec::new());
    for (done, topic) in topics.iter().enumerate() {
        let mut ranked = rank(topic, sources, settings, &mut |made| told(done, made))?;
        let objects = topic.objects.as_ref().filter(|_| stances);
        let objects = objects.map(|[first, second]| Objects::new(first, second));
        for (rank, found) in (1..).zip(&ranked.documents) {
            let stance = match (&objects, sources.corpora.first()) {
                (Some(objects), Some(corpus)) => {
                    let vectors = (rank as usize <= READ).then_some(&mut *sources.vectors);
                    let open = ranked.explained.get_mut(rank as usize - 1);
                    let (stance, opened) =
                        stance_of(objects, corpus, &found.doc, vectors, open.is_some())?;
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
    told(topics.len(), 0);
    Ok((lines, explained))
}

/// What a passage says of the objects, opened if asked for.
fn stance_of(
    objects: &Objects,
    corpus: &Corpus,
    doc: &DocId,
    vectors: Option<&mut TextVectors>,
    open: bool,
) -> Result<(ObjectStance, Option<Explanation>)> {
    let passage = corpus.document(doc)?.texts.into_iter().next();
    let passage = passage.unwrap_or_default();
    let logits = match vectors {
        Some(vectors) => masked_logits(objects, &passage, vectors)?,
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
    vectors: &mut TextVectors,
) -> Result<Option<Vec<MaskedLogits>>> {
    let masked = objects.masked(passage);
    let texts: Vec<&str> = masked.iter().flatten().map(String::as_str).collect();
    let Some(found) = vectors.logits_of(PREFERENCE, &texts, &mut |_| ())? else {
        return Ok(None);
    };
    let (pairs, _) = found.as_chunks::<2>();
    Ok(Some(pairs.to_vec()))
}
