//! The pipeline of an approach that asks a search engine on the web: from topics to the lines of a run. There is no collection on this machine, so
//! nothing is re-ranked, and no stance is detected.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use riposte_eval::explained::ExplainedText;
use riposte_eval::run::{TextRunLine, unfit_field};
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Explanation};

use super::texts::TextRunSettings;
use crate::collection::FaultKind;
use crate::events::{Event, OnEvent, Stage, run_stage};
use crate::files::explanations::Explanations;
use crate::index::ScoredDoc;
use crate::recipes::services::{
    ChatNoir, ChatNoirAnswer, ChatNoirHit, ChatNoirQuery, ChatNoirResults, Engine, PageRequest,
};
use crate::score::select;
use crate::stopped::Stopped;
use crate::texts::{EXPLAINED, TextRankingSettings};
use crate::topic::question;
use crate::workspace::{self, Outputs};

/// The score from a service on the web. The parameter names it.
pub(crate) const SERVICE: &str = "service";

/// A search engine on the web, in the place of a collection.
pub(super) struct SearchEngine {
    /// Its indexes.
    index: Vec<String>,
    client: ChatNoir,
}

/// A run, and figures about it.
#[derive(Default)]
pub struct ServiceRun {
    pub lines: Vec<TextRunLine>,
    pub explained: Explanations<ExplainedText>,
    /// The workspace with the stored answers.
    pub workspace: PathBuf,
    /// Number of requests that were sent and answered.
    pub asked: usize,
    /// Number of requests whose answers were stored before.
    pub stored: usize,
    /// Number of results that could not be read.
    pub broken: usize,
    /// Number of results without an id that a run can contain.
    without_id: usize,
}

impl SearchEngine {
    /// The engine that a recipe names, with the user's key, which is in `key_file` or in the environment.
    ///
    /// # Errors
    /// The key cannot be read, or the address in the environment is wrong.
    pub fn new(engine: &Engine, key_file: Option<&Path>) -> Result<Self> {
        Ok(SearchEngine {
            index: engine.index.clone(),
            client: engine.client(key_file)?,
        })
    }

    /// Queries the engine for each topic, and ranks the results. Each answer is stored in the workspace as soon as it arrives. When `stop` is set, no
    /// more topics are asked for.
    ///
    /// # Errors
    /// The engine does not answer, or its answers cannot be stored.
    pub fn run(
        &self,
        topics: &[Topic],
        settings: &TextRunSettings,
        workspace: &Path,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
    ) -> Result<ServiceRun> {
        let mut stored = StoredAnswers::open(workspace, &self.client)?;
        let mut done = ServiceRun {
            workspace: workspace.to_owned(),
            ..ServiceRun::default()
        };
        let total = topics.len();
        run_stage(Stage::Asking, total, on_event, |on_event| {
            for (n, topic) in topics.iter().enumerate() {
                Stopped::Run.check(stop)?;
                let found = self.find(topic, &settings.ranking, &mut stored, &mut done, on_event);
                let found = found.with_context(|| {
                    format!(
                        "topic {} (earlier answers are stored, and the same command continues from there)",
                        topic.id
                    )
                })?;
                add(topic, found, settings, &mut done)?;
                on_event(Event::progress(n + 1, total));
            }
            anyhow::Ok(())
        })?;
        if done.broken > 0 {
            let what = format!("{} results could not be read", done.broken);
            on_event(Event::fault(FaultKind::Document, workspace, what));
        }
        if done.without_id > 0 {
            let left_out = done.without_id;
            on_event(Event::note(format!(
                "{left_out} results have no TREC id, and are left out"
            )));
        }
        if done.lines.is_empty() {
            on_event(Event::note("no page was found: the run is empty"));
        }
        Ok(done)
    }

    /// The results for a topic.
    fn find(
        &self,
        topic: &Topic,
        settings: &TextRankingSettings,
        stored: &mut StoredAnswers,
        done: &mut ServiceRun,
        on_event: &mut OnEvent,
    ) -> Result<ChatNoirResults> {
        let query = ChatNoirQuery {
            text: question::read(topic, settings.parts).words,
            index: self.index.clone(),
            most: settings.approach.depth,
        };
        ChatNoir::find(&query, |page| {
            if let Some(answer) = stored.get(page, on_event)? {
                done.stored += 1;
                return Ok(answer);
            }
            let answer = (self.client).ask(page, on_event)?;
            // checked before it is stored: an answer from other indexes is an error, and a stored one would be an error in every later run
            answer.check_indexes(&page.index)?;
            let answer = stored.put(page, &answer)?;
            done.asked += 1;
            Ok(answer)
        })
    }
}

/// The answers of a service that are stored in the workspace.
struct StoredAnswers {
    outputs: Outputs,
    producer: String,
}

impl StoredAnswers {
    fn open(workspace: &Path, client: &ChatNoir) -> Result<Self> {
        Ok(StoredAnswers {
            outputs: Outputs::open_or_read(workspace)?,
            producer: format!("chatnoir/1 {}", client.address),
        })
    }

    /// The stored answer to a request. `None` if there is none, or if it is damaged.
    fn get(
        &mut self,
        page: &PageRequest,
        on_event: &mut OnEvent,
    ) -> Result<Option<ChatNoirAnswer>> {
        let before = self.outputs.damaged;
        let stored = self.outputs.find(&self.producer, &key(page)?, true)?;
        if self.outputs.damaged > before {
            on_event(Event::note(format!(
                "a stored answer in {} is damaged: asking again",
                self.outputs.path().display()
            )));
        }
        Ok(stored.and_then(|json| serde_json::from_slice(&json).ok()))
    }

    /// Stores an answer. Returns it as later runs read it: the last digit of a score can differ from the one that the service sent.
    fn put(&mut self, page: &PageRequest, answer: &ChatNoirAnswer) -> Result<ChatNoirAnswer> {
        let json = serde_json::to_vec(answer)?;
        let as_stored = serde_json::from_slice(&json)?;
        self.outputs
            .put(&self.producer, "", &[(key(page)?, json)])?;
        Ok(as_stored)
    }
}

fn key(page: &PageRequest) -> Result<String> {
    Ok(workspace::key(&[&serde_json::to_string(page)?]))
}

/// Adds the lines and the explanations of a topic.
///
/// # Errors
/// The service gives a score that no run can have. The message names the document.
fn add(
    topic: &Topic,
    found: ChatNoirResults,
    settings: &TextRunSettings,
    done: &mut ServiceRun,
) -> Result<()> {
    let approach = &settings.ranking.approach;
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
    let documents = select::select_in_order(ranking, approach.depth)
        .with_context(|| format!("cannot use the answer for topic {}", topic.id))?;
    let stance = approach.stance.filter(|_| settings.stances);
    for (rank, found) in (1..).zip(documents) {
        if let Some((place, hit)) = hits.get(&found.doc).filter(|_| settings.ranking.explain)
            && rank as usize <= EXPLAINED
        {
            done.explained.add([ExplainedText {
                topic: topic.id.clone(),
                document: found.doc.clone(),
                rank: rank as usize,
                score: explain(hit, *place),
                stance: None,
                about: None,
            }])?;
        }
        done.lines.push(TextRunLine {
            topic: topic.id.clone(),
            stance,
            doc: found.doc,
            rank,
            score: Some(found.score),
            tag: settings.tag.clone(),
        });
    }
    Ok(())
}

/// The score of a result, which the service does not explain further.
fn explain(hit: &ChatNoirHit, place: usize) -> Explanation {
    let mut how = vec![format!("result {place} of the service")];
    how.extend(hit.index.as_ref().map(|index| format!("index {index}")));
    how.extend(Some(hit.plain_title()).filter(|title| !title.is_empty()));
    how.extend(hit.target_uri.clone());
    Explanation::new((SERVICE, "chatnoir"), hit.score).with_how(how.join(", "))
}
