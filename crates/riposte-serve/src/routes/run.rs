//! A ranking as a run, for the programs that evaluate runs.

use axum::extract::State;
use riposte_eval::run::{ImageRunLine, TextRunLine, write_images, write_texts};
use riposte_eval::{DocId, TopicId};

use super::{Answered, QueryString, ServerState, answered};
use crate::answers::{SearchAnswer, SearchHit, Stance};
use crate::questions::{DocumentKind, Search};
use crate::refusal::Refusal;
use crate::respond::Failures;
use crate::server::{Lane, encoded};

/// The topic, if a request names none.
const TOPIC: &str = "1";

/// The ranking of a question as a run in the format of TREC: a line `qid Q0 id rank score tag` for each result, or of images `qid PRO id rank score tag`
/// and `qid CON id rank score tag`.
#[utoipa::path(
    get,
    path = "/run",
    params(
        ("q" = String, Query, description = "the question, at most 1,000 characters"),
        ("qid" = Option<String>, Query, description = "the number of the topic in the run, by default 1"),
        ("collection" = Option<String>, Query, description = "by default the only collection, or the first"),
        ("kind" = Option<DocumentKind>, Query, description = "what to find; by default what the collection has"),
        ("hits" = Option<usize>, Query, minimum = 1, maximum = 10_000, description = "the number of results, by default 10"),
        ("approach" = Option<String>, Query, description = "the name of an approach"),
        ("claim" = Option<String>, Query, description = "what the question shall be understood as"),
        ("side" = Option<String>, Query, description = "pro, con or undecided: only results of this side"),
        ("portal" = Option<String>, Query, description = "only arguments of this portal"),
        ("minimum" = Option<f64>, Query, minimum = 0, maximum = 1, description = "only results with at least this |P(pro) - P(con)|"),
    ),
    responses((status = 200, body = String, content_type = "text/plain"), Failures)
)]
pub(super) async fn run(
    State(server): ServerState,
    QueryString(mut fields): QueryString,
) -> Answered {
    let topic = fields.name("qid")?.unwrap_or_else(|| TOPIC.to_owned());
    let search = Search::read(fields, "q")?;
    let request = (search, topic);
    answered(
        &server,
        Lane::Models,
        "run",
        request,
        |desk, request, call| {
            let (search, topic) = request;
            let found = desk.search(search, call)?;
            encoded("text/plain; charset=utf-8", lines(topic, &found)?.into())
        },
    )
    .await
}

/// # Errors
/// A field cannot be a part of a line, or a score is not finite.
fn lines(topic: &str, found: &SearchAnswer) -> Result<String, Refusal> {
    let (topic, tag) = (TopicId(topic.to_owned()), found.approach.clone());
    // an image without a list is in a run whose lists have no sides
    let lists: Option<Vec<(&SearchHit, Stance)>> = match found.kind {
        DocumentKind::Images => found
            .results
            .iter()
            .map(|hit| Some((hit, hit.list?)))
            .collect(),
        DocumentKind::Arguments | DocumentKind::Passages | DocumentKind::Documents => None,
    };
    let lines = match lists {
        Some(hits) => {
            let line = |(hit, list): (&SearchHit, Stance)| ImageRunLine {
                topic: topic.clone(),
                stance: list,
                image: DocId(hit.id.clone()),
                rank: hit.rank,
                score: Some(hit.score),
                tag: tag.clone(),
            };
            write_images(&hits.into_iter().map(line).collect::<Vec<_>>())
        }
        None => {
            let line = |hit: &SearchHit| TextRunLine {
                topic: topic.clone(),
                stance: None,
                doc: DocId(hit.id.clone()),
                rank: hit.rank,
                score: Some(hit.score),
                tag: tag.clone(),
            };
            write_texts(&found.results.iter().map(line).collect::<Vec<_>>())
        }
    };
    lines.map_err(|error| Refusal::Unanswerable(format!("this cannot be a run: {error}")))
}
