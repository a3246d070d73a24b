//! A run of the image task: from a collection and topics to the lines of the run.

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
use super::{Event, OnEvent, Stage, stage};
use crate::collection::images::ImageCollection;
use crate::evidence::extract::{Shard, Summary};
use crate::evidence::store::Store;
use crate::index;
use crate::index::corpus::{self, Corpus, Effort, Kind};
use crate::index::images::{ImageIndex, Updated};
use crate::reading::outputs::OutputStore;
use crate::reading::{self, Reader};
use crate::trec::TextTask;
use crate::trec::topic::Topic;

/// Arguments to which images are compared, and how they are searched: as Task 1 does by default.
pub struct ArgumentSource {
    pub indexes: TextIndexes,
    approach: TextApproach,
}

impl ArgumentSource {
    /// Opens or builds the index of the arguments in `file`, beside `base`.
    ///
    /// Errors: as [`TextIndexes::open`].
    pub fn open(file: &Path, base: &Path, effort: Effort, on_event: &mut OnEvent) -> Result<Self> {
        let approach = TextApproach::find(TextTask::Controversial, "riposte")?;
        let opening = || format!("cannot use the arguments in {}", file.display());
        let collection = open_collection(TextTask::Controversial, file).with_context(opening)?;
        let indexes = TextIndexes::open(&collection, base, &approach, effort, false, on_event)
            .with_context(opening)?;
        Ok(ArgumentSource { indexes, approach })
    }

    fn arguments(&self) -> Result<Arguments<'_>> {
        let corpus = self.indexes.first().context("no index of the arguments")?;
        let retrieval = self.approach.retrieval.first().context("no retrieval")?;
        Ok(Arguments { corpus, retrieval })
    }
}

/// What a user asks for.
pub struct ImageRequest<'a> {
    pub collection: &'a ImageCollection,
    pub topics: &'a [Topic],
    pub settings: &'a Settings,
    pub arguments: Option<&'a ArgumentSource>,
    /// Only the first images, by id.
    pub limit: Option<usize>,
    pub threads: Option<usize>,
    pub effort: Effort,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
}

/// A run, and what there is to say about it.
pub struct ImageRun {
    pub ranking: ImageRanking,
    pub summary: Summary,
    pub verified: corpus::Verified,
    pub index_seconds: f64,
    pub rank_seconds: f64,
}

/// Errors: `--arguments` is given, and the approach uses no arguments.
pub fn check_arguments(settings: &Settings) -> Result<()> {
    let approach = &settings.approach;
    let channels = &approach.relevance.channels;
    if approach.stance != StanceRecipe::Beliefs
        && !channels.contains_key(&RelevanceChannel::Arguments)
    {
        bail!(
            "--arguments: the approach {} does not use any",
            approach.name
        );
    }
    Ok(())
}

/// Computes missing evidence, brings the index up to date, and ranks the images for each topic.
///
/// Errors: a store, a model or the index fails, or the user has stopped it. Evidence and model outputs are stored in either case.
pub fn run(
    extraction: &mut Extraction,
    request: ImageRequest,
    on_event: &mut OnEvent,
) -> Result<ImageRun> {
    let ImageRequest {
        collection,
        topics,
        settings,
        arguments,
        limit,
        threads,
        effort,
        stop,
    } = request;
    let extent = extent(Shard::WHOLE, limit, threads);
    let summary = extraction.extract(collection, extent, stop, on_event)?;
    if summary.stopped {
        bail!("stopped before the end: the same command goes on where it was; no run was written");
    }

    let start = Instant::now();
    let (corpus, _) = open_index(&mut extraction.store, effort, on_event)?;
    let verified = corpus.verified();
    let entries = collection
        .entries()
        .iter()
        .take(limit.unwrap_or(usize::MAX));
    let index = ImageIndex::new(corpus, entries.map(|entry| entry.id.clone()));
    let index_seconds = start.elapsed().as_secs_f64();

    let start = Instant::now();
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
    let outputs = OutputStore::open(extraction.store.path())?;
    let mut reader = Reader::new(installed, outputs)?;
    let arguments = arguments.map(ArgumentSource::arguments).transpose()?;
    let ranking = stage(Stage::Ranking, topics.len(), on_event, |on_event| {
        let mut on_progress = |done| {
            on_event(Event::Progress {
                done,
                total: topics.len(),
                outputs: 0,
            });
            !stop.load(Ordering::Relaxed)
        };
        images::rank(
            &index,
            &extraction.store,
            &mut reader,
            arguments,
            topics,
            settings,
            &mut on_progress,
        )
    })?;
    Ok(ImageRun {
        ranking,
        summary,
        verified,
        index_seconds,
        rank_seconds: start.elapsed().as_secs_f64(),
    })
}

/// The directory of the index that belongs to an evidence file.
pub fn index_directory(evidence: &Path) -> PathBuf {
    corpus::directory(evidence, Kind::Images, &index::images::analyzer())
}

/// Brings the index of the images up to date with the evidence, and opens it.
///
/// Errors: as [`index::images::open`].
pub fn open_index(
    store: &mut Store,
    effort: Effort,
    on_event: &mut OnEvent,
) -> Result<(Corpus, Updated)> {
    let dir = index_directory(store.path());
    stage(Stage::Indexing, 0, on_event, |on_event| {
        index::images::open(store, &dir, effort, &mut |event| {
            on_event(Event::Index(event));
        })
    })
}
