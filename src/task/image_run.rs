//! The pipeline of the image task: from a collection and topics to the lines of a run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::approach::{RelevanceChannel, StanceRecipe};
use super::extraction::{Extraction, extent};
use super::images::{self, ImageRanking, Settings};
use super::likeness::Arguments;
use super::text_approach::TextApproach;
use super::text_indexes::{TextIndexes, open_collection};
use super::{Event, OnEvent, Stage, run_stage};
use crate::collection::images::ImageCollection;
use crate::disk::TemporaryDir;
use crate::evidence::extract::{Shard, Summary};
use crate::evidence::store::{Store, is_damaged_record};
use crate::index;
use crate::index::analyzer::Analyzer;
use crate::index::corpus::{self, Corpus, Effort, Kind};
use crate::index::images::{ImageIndex, Updated};
use crate::reading::outputs::OutputStore;
use crate::reading::{self, Reader};
use crate::trec::TextTask;
use crate::trec::topic::Topic;

/// Arguments to which images are compared. They are searched with the default approach of Task 1.
pub(crate) struct ArgumentSource {
    pub indexes: TextIndexes,
    approach: TextApproach,
}

impl ArgumentSource {
    /// Opens or builds the index of the arguments in `file`, beside `base`.
    ///
    /// # Errors
    /// The file contains no arguments, or as [`TextIndexes::open`].
    pub fn open(file: &Path, base: &Path, effort: Effort, on_event: &mut OnEvent) -> Result<Self> {
        let approach = TextApproach::find(TextTask::Controversial, "riposte")?;
        let opening = || format!("cannot use the arguments in {}", file.display());
        let collection = open_collection(TextTask::Controversial, file).with_context(opening)?;
        let indexes = TextIndexes::open(&collection, base, &approach, effort, false, on_event)
            .with_context(opening)?;
        Ok(ArgumentSource { indexes, approach })
    }

    fn arguments(&self) -> Result<Arguments<'_>> {
        let corpus = self
            .indexes
            .first()
            .context("the arguments have no index")?;
        let retrieval = self
            .approach
            .retrieval
            .first()
            .context("the default approach has no retrieval")?;
        Ok(Arguments { corpus, retrieval })
    }
}

/// What a user asks for.
pub(crate) struct ImageRequest<'a> {
    pub collection: &'a ImageCollection,
    pub topics: &'a [Topic],
    /// The settings of each run; at least one.
    pub runs: &'a [Settings],
    pub arguments: Option<&'a ArgumentSource>,
    /// Number of images to rank, the first ones by id; `None` for all.
    pub limit: Option<usize>,
    /// Number of extraction threads; `None` for one per core.
    pub threads: Option<usize>,
    /// Whether the contents of all files are compared with those of last time, even if sizes and times are the same.
    pub rehash: bool,
    pub effort: Effort,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
}

/// The runs that were asked for, and what is known of the evidence.
pub(crate) struct ImageRuns {
    pub runs: Vec<ImageRun>,
    pub summary: Summary,
}

/// A run, and figures about it.
pub(crate) struct ImageRun {
    pub ranking: ImageRanking,
    pub verified: corpus::Verified,
    pub index_seconds: f64,
    pub rank_seconds: f64,
}

/// Checks that the approach uses arguments.
///
/// # Errors
/// It does not.
pub(crate) fn check_arguments(settings: &Settings) -> Result<()> {
    let approach = &settings.approach;
    let channels = &approach.relevance.channels;
    if approach.stance != StanceRecipe::Beliefs
        && !channels.contains_key(&RelevanceChannel::Arguments)
    {
        bail!("the approach {} does not use --arguments", approach.name);
    }
    Ok(())
}

/// Computes missing evidence, brings the indexes up to date, and ranks the images for each topic, once for each run. Damaged records that
/// are met are computed anew.
///
/// # Errors
/// A store, a model or the index fails, or the user has stopped the run. Evidence and model outputs are stored in either case.
pub fn run(
    extraction: &mut Extraction,
    request: ImageRequest,
    on_event: &mut OnEvent,
) -> Result<ImageRuns> {
    let mut summary = extract(extraction, &request, on_event)?;
    let mut runs = Vec::new();
    for settings in request.runs {
        let run = match rank_evidence(extraction, &request, settings, on_event) {
            Err(error) if is_damaged_record(&error) && !extraction.store.is_read_only() => {
                extraction.remove_damaged(on_event)?;
                summary = extract(extraction, &request, on_event)?;
                rank_evidence(extraction, &request, settings, on_event)
            }
            done => done,
        };
        runs.push(run?);
    }
    Ok(ImageRuns { runs, summary })
}

fn extract(
    extraction: &mut Extraction,
    request: &ImageRequest,
    on_event: &mut OnEvent,
) -> Result<Summary> {
    let extent = extent(Shard::WHOLE, request.limit, request.threads, request.rehash);
    let summary = extraction.extract(request.collection, extent, request.stop, on_event)?;
    if summary.stopped {
        bail!("stopped before the end, without a run; the same command goes on where it was");
    }
    Ok(summary)
}

fn rank_evidence(
    extraction: &mut Extraction,
    request: &ImageRequest,
    settings: &Settings,
    on_event: &mut OnEvent,
) -> Result<ImageRun> {
    let start = Instant::now();
    let analyzer = &settings.approach.relevance.analyzer;
    let (corpus, _, _temporary) =
        open_index(&mut extraction.store, analyzer, request.effort, on_event)?;
    let verified = corpus.verified();
    let limit = request.limit.unwrap_or(usize::MAX);
    let entries = request.collection.entries().iter().take(limit);
    let index = ImageIndex::new(corpus, entries.map(|entry| entry.id.clone()));
    let index_seconds = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let ranking = rank(extraction, &index, request, settings, on_event)?;
    Ok(ImageRun {
        ranking,
        verified,
        index_seconds,
        rank_seconds: start.elapsed().as_secs_f64(),
    })
}

fn rank(
    extraction: &Extraction,
    index: &ImageIndex,
    request: &ImageRequest,
    settings: &Settings,
    on_event: &mut OnEvent,
) -> Result<ImageRanking> {
    let pairs = match settings.approach.stance {
        StanceRecipe::Beliefs => extraction.pair_encoder(on_event)?,
        _ => None,
    };
    let tools = extraction.tools();
    let installed = reading::Models {
        clip: tools.clip.as_ref(),
        sentences: tools.sentences.as_ref(),
        cross: None,
        pairs: pairs.as_ref(),
    };
    let path = extraction.store.path();
    let outputs = if extraction.store.is_read_only() {
        OutputStore::open_to_read(path)?
    } else {
        OutputStore::open(path)?
    };
    let mut reader = Reader::new(installed, outputs)?;
    let arguments = request.arguments.map(ArgumentSource::arguments);
    let arguments = arguments.transpose()?;
    let total = request.topics.len();
    run_stage(Stage::Ranking, total, on_event, |on_event| {
        let mut on_progress = |done| {
            on_event(Event::Progress {
                done,
                total,
                outputs: 0,
            });
            !request.stop.load(Ordering::Relaxed)
        };
        images::rank(
            index,
            &extraction.store,
            &mut reader,
            arguments,
            request.topics,
            settings,
            &mut on_progress,
        )
    })
}

/// The directory of the index with that analyzer that belongs to an evidence file.
pub(crate) fn index_directory(evidence: &Path, analyzer: &Analyzer) -> PathBuf {
    corpus::directory(evidence, Kind::Images, analyzer)
}

/// Brings the index of the images up to date with the evidence, and opens it. If the evidence cannot be written, an index that is not up to
/// date stays as it is, and another one is built in a temporary directory, which has to exist as long as the index is used.
///
/// # Errors
/// As [`index::images::open`].
pub fn open_index(
    store: &mut Store,
    analyzer: &Analyzer,
    effort: Effort,
    on_event: &mut OnEvent,
) -> Result<(Corpus, Updated, Option<TemporaryDir>)> {
    let dir = index_directory(store.path(), analyzer);
    run_stage(Stage::Indexing, 0, on_event, |on_event| {
        let mut dir = dir;
        let mut temporary = None;
        if store.is_read_only() {
            let why = match index::images::open_current_analyzed(store, &dir, analyzer) {
                Ok(Some(corpus)) => return Ok((corpus, Updated::default(), None)),
                Ok(None) => "there is no index of this evidence".to_owned(),
                Err(error) if is_damaged_record(&error) => return Err(error),
                Err(error) => format!("{error:#}"),
            };
            on_event(Event::Note(format!(
                "{why}; since {} cannot be written, an index is built for this run in a temporary directory",
                store.path().display()
            )));
            let place = TemporaryDir::new(&std::env::temp_dir());
            let place = place.context("cannot create a temporary directory for the index")?;
            dir = place.path().join("images.index");
            temporary = Some(place);
        }
        let (corpus, updated) =
            index::images::open_analyzed(store, &dir, analyzer, effort, &mut |event| {
                on_event(Event::Index(event));
            })?;
        Ok((corpus, updated, temporary))
    })
}
