//! The pipeline of an approach that asks a search engine on the web: from topics to the lines of a run. There is no collection on this machine, so
//! nothing is re-ranked, and no stance is detected.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};

use super::text_approach::{DEPTH, TextApproach};
use super::texts::EXPLAINED;
use super::{Event, OnEvent, Stage, run_stage};
use crate::score::select;
use crate::service::chatnoir::{ChatNoir, Found, Hit, Key, Limits, Query};
use crate::service::stored::StoredAnswers;
use crate::service::{Engine, EngineName};
use crate::topic::question::{self, TopicParts};
use crate::trec::escape::unfit_field;
use crate::trec::explained::ExplainedText;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, NumberId, ScoredDoc};

/// The user's request.
pub(crate) struct ServiceRequest<'a> {
    pub topics: &'a [Topic],
    /// The approach. It names a service.
    pub approach: &'a TextApproach,
    pub parts: TopicParts,
    pub tag: &'a str,
    /// Whether scores are explained.
    pub explain: bool,
    /// Whether the lines contain the stance that the approach gives, if it gives one.
    pub stances: bool,
    /// The file with the user's key, if it is not in the environment.
    pub key_file: Option<&'a Path>,
    /// The directory of the stored answers.
    pub answers: &'a Path,
}

/// A run, and figures about it.
#[derive(Default)]
pub(crate) struct ServiceRun {
    pub lines: Vec<TextRunLine>,
    pub explained: Vec<ExplainedText>,
    /// Number of requests that were sent and answered.
    pub asked: usize,
    /// Number of requests whose answers were stored before.
    pub stored: usize,
    /// Number of results that could not be read.
    pub broken: usize,
    /// Number of results without an id that a run can contain.
    without_id: usize,
}

/// Queries the service for each topic, and ranks the results. Each answer is stored as soon as it arrives.
///
/// # Errors
/// The service does not answer, or its answers cannot be stored.
pub(crate) fn run(request: &ServiceRequest, on_event: &mut OnEvent) -> Result<ServiceRun> {
    let service = request.approach.service.as_ref();
    let engine = service.context("the approach asks no service")?;
    let client = match engine.name {
        EngineName::ChatNoir => {
            let key = Key::find(request.key_file)?;
            ChatNoir::new(&ChatNoir::default_address()?, key, Limits::default())?
        }
    };
    let stored = StoredAnswers::open(request.answers)?;
    let mut done = ServiceRun::default();
    let total = request.topics.len();
    run_stage(Stage::Asking, total, on_event, |on_event| {
        for (n, topic) in request.topics.iter().enumerate() {
            let found = find(topic, engine, request, &client, &stored, &mut done, on_event)
                .with_context(|| {
                    format!(
                        "topic {} (earlier answers are stored, and the same command continues from there)",
                        topic.id
                    )
                })?;
            add(topic, found, request, &mut done);
            on_event(Event::Progress {
                done: n + 1,
                total,
                outputs: None,
            });
        }
        anyhow::Ok(())
    })?;
    for (count, what) in [
        (done.broken, "could not be read"),
        (done.without_id, "have no TREC id, and are left out"),
    ] {
        if count > 0 {
            on_event(Event::Note(format!("{count} results {what}")));
        }
    }
    if done.lines.is_empty() {
        on_event(Event::Note("no page was found: the run is empty".into()));
    }
    Ok(done)
}

/// The results of the service for a topic.
fn find(
    topic: &Topic,
    engine: &Engine,
    request: &ServiceRequest,
    client: &ChatNoir,
    stored: &StoredAnswers,
    done: &mut ServiceRun,
    on_event: &mut OnEvent,
) -> Result<Found> {
    let query = Query {
        text: question::read(topic, request.parts).words,
        index: engine.index.clone(),
        most: request.approach.depth.min(DEPTH),
    };
    ChatNoir::find(&query, |page| {
        match stored.get(client.address(), page) {
            Ok(Some(answer)) => {
                done.stored += 1;
                return Ok(answer);
            }
            Ok(None) => {}
            Err(error) => on_event(Event::Note(format!("{error:#}: asking again"))),
        }
        let answer = client.ask(page, &mut |retry| on_event(Event::Note(retry)))?;
        // checked before it is stored: an answer from other indexes is an error, and a stored one would be an error in every later run
        answer.check_indexes(&page.index)?;
        stored.put(client.address(), page, &answer)?;
        done.asked += 1;
        Ok(answer)
    })
}

/// Adds the lines and the explanations of a topic.
fn add(topic: &Topic, found: Found, request: &ServiceRequest, done: &mut ServiceRun) {
    done.broken += found.broken;
    let (mut ranking, mut hits) = (Vec::new(), HashMap::new());
    for (place, hit) in (1..).zip(&found.hits) {
        let id = hit.trec_id.clone().filter(|id| unfit_field(id).is_none());
        let Some(doc) = id.map(DocId) else {
            done.without_id += 1;
            continue;
        };
        hits.insert(doc.clone(), (place, hit));
        let score = hit.score;
        ranking.push(ScoredDoc { doc, score });
    }
    let documents = select::select_in_order(ranking, request.approach.depth.min(DEPTH));
    let stance = request.approach.stance.filter(|_| request.stances);
    for (rank, found) in (1..).zip(documents) {
        if let Some((place, hit)) = hits.get(&found.doc).filter(|_| request.explain)
            && rank as usize <= EXPLAINED
        {
            done.explained.push(ExplainedText {
                topic: topic.id.clone(),
                document: found.doc.clone(),
                rank: rank as usize,
                score: explain(hit, *place),
                stance: None,
            });
        }
        done.lines.push(TextRunLine {
            topic: topic.id.clone(),
            stance,
            doc: found.doc,
            rank,
            score: found.score,
            tag: request.tag.to_owned(),
        });
    }
}

/// The score of a result, which the service does not explain further.
fn explain(hit: &Hit, place: usize) -> Explanation {
    let mut how = vec![format!("result {place} of the service")];
    how.extend(hit.index.as_ref().map(|index| format!("index {index}")));
    how.extend(Some(hit.plain_title()).filter(|title| !title.is_empty()));
    how.extend(hit.target_uri.clone());
    Explanation::new(NumberId::Service("chatnoir".into()), hit.score).with_how(how.join(", "))
}
