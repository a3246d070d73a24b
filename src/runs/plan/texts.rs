//! A plan to rank texts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, ensure};
use riposte_eval::TextTask;

use super::{OnRun, Resolved, RunTarget};
use crate::events::{OnEvent, of_approach};
use crate::files::RUN_FILE;
use crate::index::inverted::InvertedIndex;
use crate::recipes::NamedApproach;
use crate::recipes::text_approach::TextApproach;
use crate::runs::description::{RunDescription, described};
use crate::runs::finished::MadeRun;
use crate::runs::open_collection::TextsKey;
use crate::runs::run_files::OutputSettings;
use crate::runs::service::SearchEngine;
use crate::runs::texts::{FinishedTextRun, OpenTexts, TextRunSettings};
use crate::session::CollectionSource;
use crate::texts::TextRankingSettings;

/// The texts that are ranked, and the approaches, in a plan.
pub(super) struct PlannedTexts<'a> {
    task: TextTask,
    /// The workspace of the collection.
    base: PathBuf,
    runs: Vec<(TextApproach, TextsToRank, RunTarget<'a>)>,
}

/// What answers an approach.
enum TextsToRank {
    /// The collection, whose indexes and models are opened when the approach has its turn.
    Stored,
    /// The collection, which is open.
    Open(Arc<OpenTexts>),
    /// A search engine on the web. There is no collection on this machine.
    SearchEngine(SearchEngine),
}

/// Checks that these approaches can be used together for a task.
///
/// # Errors
/// An approach that asks a service is used with others or for another task, or a key is given and no approach asks a service.
fn check_services(task: TextTask, found: &[&TextApproach], key_file: Option<&Path>) -> Result<()> {
    match found.iter().find(|approach| approach.service.is_some()) {
        Some(asking) => {
            ensure!(
                task == TextTask::Comparative,
                "{} asks a search engine for web pages, and only `comparative` can do that",
                asking.name
            );
            ensure!(
                found.len() == 1,
                "{} asks a search engine and searches no collection: run it without other approaches",
                asking.name
            );
        }
        None => ensure!(
            key_file.is_none(),
            "--key-file is for approaches that ask a service, such as chatnoir"
        ),
    }
    Ok(())
}

impl<'a> PlannedTexts<'a> {
    /// Reads the topics, and finds what is open.
    ///
    /// # Errors
    /// A file cannot be read or written, or the approaches do not fit each other.
    pub fn plan(
        resolved: &mut Resolved<'a>,
        task: TextTask,
        approaches: &[&TextApproach],
        output: Option<&'a OutputSettings>,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let (wishes, source) = (resolved.wishes, &resolved.source);
        check_services(task, approaches, wishes.key_file.as_deref())?;
        resolved.topics = wishes.read_topics(&source.input, on_event)?;
        let names: Vec<NamedApproach> =
            approaches.iter().map(|approach| approach.named()).collect();
        let targets = wishes.targets(RUN_FILE, &names, output)?;
        let mut documents = Vec::with_capacity(approaches.len());
        for approach in approaches {
            let key = texts_key(source, task, approach);
            let open = resolved.kept.and_then(|kept| kept.texts.find(&key));
            documents.push(match (&approach.service, open) {
                (Some(engine), _) => TextsToRank::SearchEngine(SearchEngine::new(
                    engine,
                    wishes.key_file.as_deref(),
                )?),
                (None, Some(open)) => TextsToRank::Open(open),
                (None, None) => TextsToRank::Stored,
            });
        }
        let open = documents.iter().find_map(|documents| match documents {
            TextsToRank::Open(open) => Some(open.base.clone()),
            _ => None,
        });
        let find = || source.session.places.texts(&source.input, on_event);
        let base = open.map_or_else(find, Ok)?;
        let runs = approaches.iter().zip(documents).zip(targets);
        let runs = runs.map(|((approach, texts), target)| ((*approach).clone(), texts, target));
        Ok(PlannedTexts {
            task,
            base,
            runs: runs.collect(),
        })
    }

    /// Makes one run with each approach. The first ranking opens or builds the indexes.
    ///
    /// # Errors
    /// The collection, a model, an index, a store or a service fails, or the user has stopped the run.
    pub fn run(
        self,
        resolved: &Resolved,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
        on_run: &mut OnRun,
    ) -> Result<()> {
        let (source, wishes) = (&resolved.source, resolved.wishes);
        let (task, base, topics) = (self.task, &self.base, &resolved.topics);
        let several = self.runs.len() > 1;
        for (n, (approach, texts, target)) in self.runs.into_iter().enumerate() {
            // the first run reads the collection, and reports its faults
            let (is_first, RunTarget { tag, files }) = (n == 0, target);
            let name = approach.name.clone();
            let keep = files.as_ref().map(|files| files.keep(topics.len()));
            let settings = TextRunSettings {
                // reading the first documents of many topics would take as long as a search that does nothing else
                ranking: TextRankingSettings {
                    parts: wishes.parts,
                    explain: wishes.explain,
                    judge: wishes.explain || approach.rerank.is_some() || topics.len() == 1,
                    keep: keep.unwrap_or_default(),
                    approach,
                },
                tag,
                debate: wishes.debate,
                stances: !wishes.without_stances,
            };
            of_approach(several, &name, on_event, |on_event| {
                let mut description = described(task, &source.input, topics, &settings);
                let approach = &settings.ranking.approach;
                let open = |on_event: &mut OnEvent| {
                    let rehash = source.rehash && is_first;
                    OpenTexts::open(source, task, approach, base, rehash, on_event)
                };
                let made = match (texts, resolved.kept) {
                    (TextsToRank::SearchEngine(engine), _) => {
                        let run = engine.run(topics, &settings, base, stop, on_event)?;
                        MadeRun::Asked(Box::new(run))
                    }
                    (texts, kept) => {
                        let open = match (texts, kept) {
                            (TextsToRank::Open(open), _) => open,
                            (_, Some(kept)) => kept
                                .texts
                                .get(texts_key(source, task, approach), || open(on_event))?,
                            (_, None) => Arc::new(open(on_event)?),
                        };
                        let run = open.rank(topics, &settings, stop, on_event)?;
                        if is_first {
                            run.indexes.report_faults(on_event)?;
                        }
                        describe(&run, &mut description);
                        MadeRun::Searched(Box::new(run))
                    }
                };
                resolved.finish(made, description, files.as_ref(), on_event, on_run)
            })?;
        }
        Ok(())
    }
}

/// All that decides what is open for an approach.
fn texts_key(source: &CollectionSource, task: TextTask, approach: &TextApproach) -> TextsKey {
    TextsKey {
        source: source.clone(),
        task,
        recipe: approach.text.clone(),
    }
}

/// Adds what is known of a run when it is finished.
fn describe(run: &FinishedTextRun, description: &mut RunDescription) {
    let documents = run.indexes.first().map_or(0, InvertedIndex::documents);
    description.documents = documents as usize;
    description.models.clone_from(&run.models);
    description.offsets.clone_from(&run.offsets);
}
