//! The pipeline of the text tasks: from a collection and topics to the lines of a run.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use super::text_approach::{Rerank, TextApproach};
use super::text_indexes::{TextIndexes, open_collection};
use super::texts::{Settings, Sources};
use super::{Event, OnEvent, Stage, comparative, controversial, models, run_stage};
use crate::evidence::sentence::Sentences;
use crate::index::corpus::Effort;
use crate::index::wordnet::WordNet;
use crate::nn::lazy::Lazy;
use crate::reading::cross::Cross;
use crate::reading::outputs::OutputStore;
use crate::reading::pair::PairEncoder;
use crate::reading::{self, Reader};
use crate::topic::question::TopicParts;
use crate::trec::TextTask;
use crate::trec::explained::ExplainedText;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;
use crate::weights::{Models, Role};

/// What a user asks for.
pub(crate) struct TextRequest<'a> {
    pub task: TextTask,
    pub input: &'a Path,
    pub topics: &'a [Topic],
    pub approach: TextApproach,
    pub parts: TopicParts,
    pub tag: &'a str,
    /// Whether scores are explained.
    pub explain: bool,
    /// Task 2: whether the lines contain the stances of the passages.
    pub stances: bool,
    /// The path beside which the indexes and the model outputs are stored.
    pub base: PathBuf,
    pub models: &'a Models,
    pub effort: Effort,
    /// The directory for the run. It is created before the work begins, so that an error appears early.
    pub output: &'a Path,
}

/// A run, and figures about it.
pub struct TextRun {
    pub lines: Vec<TextRunLine>,
    pub explained: Vec<ExplainedText>,
    pub indexes: TextIndexes,
    pub index_seconds: f64,
    pub rank_seconds: f64,
}

/// Opens or builds the indexes, and ranks the documents for each topic.
///
/// # Errors
/// The collection, a model, an index or the store of model outputs fails.
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
    let resources = Resources::find(&approach, models, on_event)?;
    std::fs::create_dir_all(output)
        .with_context(|| format!("cannot create the output directory {}", output.display()))?;

    let start = Instant::now();
    let collection = open_collection(task, input)?;
    let indexes = TextIndexes::open(&collection, &base, &approach, effort, false, on_event)?;
    let index_seconds = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let outputs = OutputStore::open(&base.with_extension("vectors.sqlite"))?;
    let mut reader = Reader::new(resources.models(), outputs)?;
    let settings = Settings {
        approach,
        parts,
        explain,
    };
    if task == TextTask::Comparative && stances {
        for topic in topics.iter().filter(|topic| topic.objects.is_none()) {
            on_event(Event::Note(format!(
                "topic {} does not name two objects: its lines have Q0 instead of a stance",
                topic.id
            )));
        }
    }
    let total = topics.len();
    let ranked = run_stage(Stage::Ranking, total, on_event, |on_event| {
        let sources = &mut Sources {
            corpora: &indexes.by_retrieval(),
            reader: &mut reader,
            wordnet: resources.wordnet.as_ref(),
        };
        let on_progress = &mut |done, outputs| {
            on_event(Event::Progress {
                done,
                total,
                outputs,
            });
        };
        match task {
            TextTask::Controversial => {
                controversial::run(topics, sources, &settings, tag, on_progress)
            }
            TextTask::Comparative => {
                comparative::run(topics, sources, &settings, stances, tag, on_progress)
            }
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

/// The installed models and WordNet, as far as the approach uses them.
#[derive(Default)]
struct Resources {
    sentences: Option<Lazy<Sentences>>,
    pairs: Option<Lazy<PairEncoder>>,
    cross: Option<Lazy<Cross>>,
    wordnet: Option<WordNet>,
}

impl Resources {
    /// Finds them. Notes say what is off.
    fn find(approach: &TextApproach, models: &Models, on_event: &mut OnEvent) -> Result<Self> {
        let mut found = Resources::default();
        if approach.retrieval.iter().any(|r| r.synonyms.is_some()) {
            found.wordnet = installed_wordnet(on_event)?;
        }
        match models::find(models, Role::Sentence, None)? {
            Ok(model) => {
                found.sentences = Some(models::sentences(&model));
                match models::pair_encoder(&model)? {
                    Ok(encoder) => found.pairs = Some(encoder),
                    Err(note) => on_event(Event::Note(note)),
                }
            }
            Err(why) => on_event(Event::Note(format!(
                "sentence vectors are off, except for stored ones: {why}"
            ))),
        }
        let uses_cross = |rerank: &Rerank| rerank.weights.cross > 0.0;
        if approach.rerank.as_ref().is_some_and(uses_cross) {
            match models::find(models, Role::Cross, None)? {
                Ok(model) => found.cross = Some(models::cross(&model)),
                Err(why) => on_event(Event::Note(format!(
                    "the cross-encoder is off, except for stored scores: {why}"
                ))),
            }
        }
        Ok(found)
    }

    fn models(&self) -> reading::Models<'_> {
        reading::Models {
            clip: None,
            sentences: self.sentences.as_ref(),
            cross: self.cross.as_ref(),
            pairs: self.pairs.as_ref(),
        }
    }
}

fn installed_wordnet(on_event: &mut OnEvent) -> Result<Option<WordNet>> {
    let Some(dir) = WordNet::find() else {
        on_event(Event::Note(
            "synonyms are off: WordNet is not installed (set WNSEARCHDIR to its directory)".into(),
        ));
        return Ok(None);
    };
    WordNet::open(&dir)
        .map(Some)
        .with_context(|| format!("cannot read WordNet in {}", dir.display()))
}
