//! Task 2: ranks passages for comparative questions, and detects the stance of each towards the two objects.

use anyhow::Result;
use rayon::prelude::*;

use super::texts::{Settings, Sources, rank};
use crate::index::inverted::InvertedIndex;
use crate::reading::Reader;
use crate::reading::pieces::used_part;
use crate::reading::steps::{OnOutputs, Outputs, Step};
use crate::score::object_stance::{MaskedLogits, Model, Objects, PREFERENCE};
use crate::trec::explained::ExplainedText;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, ObjectStance};

/// Returns the lines of the run, in the order of the topics, and the explanations of the scores. Without `stances`, and for topics that do not name
/// two objects, lines have Q0 instead of a stance. `on_progress` and errors are as for [`super::rank::run`].
pub fn run(
    topics: &[Topic],
    sources: &mut Sources,
    settings: &Settings,
    stances: bool,
    tag: &str,
    on_progress: &mut dyn FnMut(usize, Option<Outputs>),
) -> Result<(Vec<TextRunLine>, Vec<ExplainedText>)> {
    let (mut lines, mut explained) = (Vec::new(), Vec::new());
    for (done, topic) in topics.iter().enumerate() {
        let mut ranking = rank(topic, sources, settings, &mut |outputs| {
            on_progress(done, Some(outputs));
        })?;
        let fixed = settings.approach.stance.filter(|_| stances);
        let objects = topic.objects.as_ref().filter(|_| stances);
        let objects = objects.map(|[first, second]| Objects::new(first, second));
        let mut detected = Vec::new();
        sources.reader.enter(Step::Stance);
        if let (None, Some(objects), Some(&index)) = (fixed, &objects, sources.corpora.first()) {
            let documents = ranking.documents.iter().map(|found| &found.doc);
            let mut passages = Passages::read(index, documents)?;
            let depth = settings.approach.stance_depth;
            passages.encode(objects, depth, sources.reader, &mut |outputs| {
                on_progress(done, Some(outputs));
            })?;
            detected = passages.stances(objects, ranking.explained.len());
            passages.note_cuts(sources.reader);
        }
        let mut detected = detected.into_iter();
        for (rank, found) in (1..).zip(&ranking.documents) {
            let detected = detected.next();
            if let Some(explained) = ranking.explained.get_mut(rank as usize - 1) {
                explained.stance = detected.as_ref().and_then(|d| d.explanation.clone());
            }
            lines.push(TextRunLine {
                topic: topic.id.clone(),
                stance: fixed.or(detected.map(|detected| detected.stance)),
                doc: found.doc.clone(),
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

/// The passages of a ranking, the best first.
struct Passages<'a>(Vec<Passage<'a>>);

struct Passage<'a> {
    id: &'a DocId,
    /// The part that is read.
    text: String,
    /// Notes about text that was left out.
    cuts: Vec<String>,
    /// The stance encoder's logits of the sentences that name an object, with the objects masked. `None` if it has not read the passage.
    logits: Option<Vec<MaskedLogits>>,
}

/// The stance of a passage, and why.
struct Detected {
    stance: ObjectStance,
    explanation: Option<Explanation>,
}

impl<'a> Passages<'a> {
    fn read(index: &InvertedIndex, documents: impl Iterator<Item = &'a DocId>) -> Result<Self> {
        let passage = |id: &'a DocId| {
            let text = index.document(id)?.texts.into_iter().next();
            let mut text = text.unwrap_or_default();
            let (used, cut) = used_part(&text);
            let (length, cuts) = (used.len(), Vec::from_iter(cut));
            text.truncate(length);
            Ok(Passage {
                id,
                text,
                cuts,
                logits: None,
            })
        };
        documents.map(passage).collect::<Result<_>>().map(Passages)
    }

    /// Lets the stance encoder read the first `depth` passages in one call: passages read one by one would use a single core, and each would be stored
    /// in a separate transaction. Without an encoder nothing happens.
    fn encode(
        &mut self,
        objects: &Objects,
        depth: usize,
        reader: &mut Reader,
        on_progress: &mut OnOutputs,
    ) -> Result<()> {
        let depth = depth.min(self.0.len());
        let first = &mut self.0[..depth];
        let masked: Vec<Vec<[String; 2]>> = first
            .iter()
            .map(|passage| objects.masked(&passage.text))
            .collect();
        // each sentence is read twice, the second time with the objects swapped
        let pairs: Vec<(&str, &str)> = masked
            .iter()
            .flatten()
            .flatten()
            .map(|text| (PREFERENCE, text.as_str()))
            .collect();
        let Some(logits) = reader.pair_logits(&pairs, on_progress)? else {
            return Ok(());
        };
        let mut logits = logits.as_chunks::<2>().0.iter().copied();
        for (passage, masked) in first.iter_mut().zip(&masked) {
            passage.logits = Some(logits.by_ref().take(masked.len()).collect());
            passage.cuts.extend(objects.unread(&passage.text));
        }
        Ok(())
    }

    /// The stance of each passage towards the objects; the first `explained` are explained.
    fn stances(&self, objects: &Objects, explained: usize) -> Vec<Detected> {
        let model = Model::committed();
        let detect = |(at, passage): (usize, &Passage)| {
            let (text, logits) = (&passage.text, passage.logits.as_deref());
            let explanation = (at < explained).then(|| {
                let mut explanation = model.explain(objects, text, logits);
                explanation.add_cuts(&passage.cuts);
                explanation
            });
            Detected {
                stance: model.belief(objects, text, logits).decision,
                explanation,
            }
        };
        self.0.par_iter().enumerate().map(detect).collect()
    }

    fn note_cuts(&self, reader: &mut Reader) {
        for passage in &self.0 {
            reader.note_cuts(passage.id, &passage.cuts);
        }
    }
}
