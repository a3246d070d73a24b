//! A run of a text task: from a collection and topics to the lines of the run.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use super::text_approach::{Rerank, TextApproach};
use super::text_indexes::{TextIndexes, open_collection};
use super::texts::{Settings, Sources};
use super::{Event, OnEvent, Stage, comparative, controversial, models, stage};
use crate::index::corpus::Effort;
use crate::index::wordnet::WordNet;
use crate::nn::lazy::Lazy;
use crate::reading::cross::Cross;
use crate::reading::outputs::OutputStore;
use crate::reading::{self, Reader};
use crate::topic::question::TopicParts;
use crate::trec::TextTask;
use crate::trec::explained::ExplainedText;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;
use crate::weights::{Models, Role};

/// What a user asks for.
pub struct TextRequest<'a> {
    pub task: TextTask,
    pub input: &'a Path,
    pub topics: &'a [Topic],
    pub approach: TextApproach,
    pub parts: TopicParts,
    pub tag: &'a str,
    /// Whether scores are explained.
    pub explain: bool,
    /// Task 2: whether lines name the stance of passages.
    pub stances: bool,
    /// The path beside which the indexes and the model outputs are stored.
    pub base: PathBuf,
    pub models: &'a Models,
    pub effort: Effort,
    /// The directory for the run. It is created before the work begins, so that an error is found early.
    pub output: &'a Path,
}

/// A run, and what there is to say about it.
pub struct TextRun {
    pub lines: Vec<TextRunLine>,
    pub explained: Vec<ExplainedText>,
    pub indexes: TextIndexes,
    pub index_seconds: f64,
    pub rank_seconds: f64,
}

/// Opens or builds the indexes, and ranks the documents for each topic.
///
/// Errors: the collection, a model, the indexes or the store of outputs fails.
pub fn run(request: TextRequest, on_event: &mut OnEvent) -> Result<TextRun> {
    let TextRequest {
        task,
        input,
        topics,
        approach,
        parts,
        tag,
        explain,
        stances,
        base,
        models,
        effort,
        output,
    } = request;
    let wordnet = if approach.retrieval.iter().any(|r| r.synonyms.is_some()) {
        installed_wordnet(on_event)?
    } else {
        None
    };
    let (mut sentences, mut pairs) = (None, None);
    match models::find(models, Role::Sentence, None)? {
        Ok(model) => {
            sentences = Some(models::sentences(&model));
            match models::pair_encoder(&model)? {
                Ok(encoder) => pairs = Some(encoder),
                Err(note) => on_event(Event::Note(note)),
            }
        }
        Err(why) => on_event(Event::Note(format!(
            "sentence vectors are off but for those that are kept: {why}"
        ))),
    }
    let uses_cross = |rerank: &Rerank| rerank.weights.cross > 0.0;
    let cross = if approach.rerank.as_ref().is_some_and(uses_cross) {
        installed_cross(models, on_event)?
    } else {
        None
    };
    std::fs::create_dir_all(output)
        .with_context(|| format!("cannot make the output directory {}", output.display()))?;

    let start = Instant::now();
    let collection = open_collection(task, input)?;
    let indexes = TextIndexes::open(&collection, &base, &approach, effort, false, on_event)?;
    let index_seconds = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let outputs = OutputStore::open(&base.with_extension("vectors.sqlite"))?;
    let installed = reading::Models {
        clip: None,
        sentences: sentences.as_ref(),
        cross: cross.as_ref(),
        pairs: pairs.as_ref(),
    };
    let mut reader = Reader::new(installed, outputs)?;
    let settings = Settings {
        approach,
        parts,
        explain,
    };
    if task == TextTask::Comparative && stances {
        for topic in topics.iter().filter(|topic| topic.objects.is_none()) {
            on_event(Event::Note(format!(
                "topic {} names no two objects: its lines say Q0",
                topic.id
            )));
        }
    }
    let ranked = stage(Stage::Ranking, topics.len(), on_event, |on_event| {
        let mut sources = Sources {
            corpora: &indexes.by_retrieval(),
            reader: &mut reader,
            wordnet: wordnet.as_ref(),
        };
        let mut on_progress = |done, outputs| {
            on_event(Event::Progress {
                done,
                total: topics.len(),
                outputs,
            });
        };
        match task {
            TextTask::Controversial => {
                controversial::run(topics, &mut sources, &settings, tag, &mut on_progress)
            }
            TextTask::Comparative => comparative::run(
                topics,
                &mut sources,
                &settings,
                stances,
                tag,
                &mut on_progress,
            ),
        }
    });
    let (lines, explained) = ranked?;
    Ok(TextRun {
        lines,
        explained,
        indexes,
        index_seconds,
        rank_seconds: start.elapsed().as_secs_f64(),
    })
}

fn installed_cross(models: &Models, on_event: &mut OnEvent) -> Result<Option<Lazy<Cross>>> {
    match models::find(models, Role::Cross, None)? {
        Ok(model) => Ok(Some(models::cross(&model))),
        Err(why) => {
            on_event(Event::Note(format!(
                "the cross-encoder is off but for the scores that are kept: {why}"
            )));
            Ok(None)
        }
    }
}

fn installed_wordnet(on_event: &mut OnEvent) -> Result<Option<WordNet>> {
    let Some(dir) = WordNet::find() else {
        on_event(Event::Note(
            "synonyms are off: there is no WordNet here (WNSEARCHDIR names its directory)".into(),
        ));
        return Ok(None);
    };
    WordNet::open(&dir)
        .map(Some)
        .with_context(|| format!("cannot use the WordNet in {}", dir.display()))
}
