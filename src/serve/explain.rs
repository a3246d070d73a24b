//! Why a document has its score for a question.

use std::sync::atomic::AtomicBool;

use anyhow::Result;
use riposte_eval::explained::ExplainedImage;
use riposte_eval::run::written_score;
use riposte_eval::{DocId, Stance, objects};
use riposte_serve::answers::Explained;
use riposte_serve::questions::Explain;
use serde_json::json;

use super::opened::{OpenedPart, QuestionAsked};
use crate::api::Approach;
use crate::api::ask::one_topic;
use crate::collection::task::Task;
use crate::files::TopicSource;
use crate::images::ImageRanking;
use crate::ingest::extraction::ExtractionHost;
use crate::report::reason;
use crate::runs::finished::MadeRun;
use crate::runs::plan::Wishes;

/// The number of texts whose scores are explained, from the top of a ranking.
pub(super) const TEXTS: usize = crate::texts::EXPLAINED;

/// The explanation of a document's score; `None` if it is not among those that are explained.
///
/// # Errors
/// The ranking fails.
pub(super) fn score(
    asked: &Explain,
    question: &str,
    collection: &str,
    part: &OpenedPart,
    stop: &AtomicBool,
) -> Result<Option<Explained>> {
    let id = DocId(asked.id.clone());
    let approach = asked.approach.as_deref();
    let found = if part.task() == Task::Images {
        let asked = QuestionAsked {
            approach,
            ..QuestionAsked::first(question)
        };
        let answered = part.answer(&asked, stop, &mut |_| ())?;
        let MadeRun::Images(run) = answered.run else {
            return Ok(None);
        };
        of_image(&id, &run.ranking)?
    } else {
        of_text(&id, question, approach, part, stop)?
    };
    Ok(found.map(|(score, reason, explanation)| Explained {
        question: asked.question.clone(),
        collection: collection.to_owned(),
        id: asked.id.clone(),
        score,
        reason,
        explanation,
    }))
}

/// A score, the sentence about it, and the tree of numbers.
type Found = Option<(f64, Option<String>, serde_json::Value)>;

fn of_image(id: &DocId, ranking: &ImageRanking) -> Result<Found> {
    let all: Vec<&ExplainedImage> = ranking.explained.iter().collect();
    let Some(at) = all.iter().position(|one| one.image == *id) else {
        return Ok(None);
    };
    let image = all[at];
    let candidates = reason::image::CandidateFacts::new(all.iter().copied());
    let original = image.copy_of.as_ref();
    let original = original.and_then(|of| all.iter().find(|one| one.image == *of).copied());
    let sentence = reason::image::sentence(image, &candidates, at + 1, original);
    let stance = image
        .listed
        .first()
        .map_or(Stance::Pro, |entry| entry.stance);
    let score = image
        .score(stance)
        .or(image.pro.as_ref())
        .or(image.con.as_ref());
    let Some(score) = score else {
        return Ok(None);
    };
    Ok(Some((
        written_score(score.value())?,
        sentence,
        json!(image),
    )))
}

fn of_text(
    id: &DocId,
    question: &str,
    approach: Option<&str>,
    part: &OpenedPart,
    stop: &AtomicBool,
) -> Result<Found> {
    let approach = Approach::find(part.task(), approach.unwrap_or("riposte"))?;
    let request = part.collection.request(approach).wishes(Wishes {
        topics: TopicSource::Given(vec![one_topic(question)?.0]),
        explain: true,
        ..Wishes::default()
    });
    let plan = request.plan(None, &mut |_| ())?;
    let run = plan.run_one(&ExtractionHost::of_a_call(stop), &mut |_| ())?;
    let MadeRun::Searched(run) = run.made else {
        return Ok(None);
    };
    let mut explained = run.explained.iter();
    let Some(text) = explained.find(|text| text.document == *id) else {
        return Ok(None);
    };
    let objects = objects::from_title(question);
    let sentence = reason::text::sentence(text, objects.as_ref());
    Ok(Some((
        written_score(text.score.value())?,
        sentence,
        json!(text),
    )))
}
