//! The pipeline of the image task: from a collection and topics to the lines of a run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Result, bail};

use super::approach::{RelevanceChannel, StanceRecipe};
use super::arguments::ArgumentSource;
use super::debate;
use super::extraction::{Extraction, extent};
use super::image_index;
use super::images::{self, ImageRanking, Settings};
use super::{Event, OnEvent, Stage, run_stage};
use crate::collection::images::ImageCollection;
use crate::evidence::extract::{self, Shard, Summary};
use crate::evidence::store::is_damaged_record;
use crate::index::corpus::{self, Effort};
use crate::index::images::ImageIndex;
use crate::reading::{self, Reader};
use crate::trec::TopicId;
use crate::trec::debate::DebateSheet;
use crate::trec::run::ImageRunLine;
use crate::trec::topic::Topic;
use crate::workspace::Outputs;

/// The user's request.
pub(crate) struct ImageRequest<'a> {
    pub collection: &'a ImageCollection,
    pub topics: &'a [Topic],
    /// The settings of each run; at least one.
    pub runs: &'a [Settings],
    pub arguments: Option<&'a ArgumentSource>,
    /// The number of arguments for each side of a debate sheet; `None` if no sheets are made. Sheets need `arguments`.
    pub debate: Option<usize>,
    /// Number of images to rank, the first ones by id; `None` for all.
    pub limit: Option<usize>,
    /// Number of extraction threads; `None` for one per core.
    pub threads: Option<usize>,
    /// Whether the contents of all files are compared with those of the last extraction, even if sizes and times are unchanged.
    pub rehash: bool,
    pub effort: Effort,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
}

/// The requested runs, and a summary of the extraction.
pub(crate) struct ImageRuns {
    pub runs: Vec<ImageRun>,
    pub summary: Summary,
}

/// A run, and figures about it.
pub(crate) struct ImageRun {
    pub ranking: ImageRanking,
    /// One for each topic, if sheets were requested; otherwise empty.
    pub sheets: Vec<DebateSheet>,
    pub verified: corpus::Verified,
    pub index_seconds: f64,
    pub rank_seconds: f64,
}

/// Whether the approach ranks images by their likeness to arguments.
pub(crate) fn uses_arguments(settings: &Settings) -> bool {
    let approach = &settings.approach;
    approach.stance == StanceRecipe::Beliefs
        || approach
            .relevance
            .channels
            .contains_key(&RelevanceChannel::Arguments)
}

/// Computes missing evidence, updates the indexes, and ranks the images for each topic, once for each run. If a damaged record is found, all damaged
/// records are computed again.
///
/// # Errors
/// A store, a model or the index fails, or the user has stopped the run. What was computed before is stored in every case.
pub fn run(
    extraction: &mut Extraction,
    request: ImageRequest,
    on_event: &mut OnEvent,
) -> Result<ImageRuns> {
    let mut summary = extract(extraction, &request, on_event)?;
    let mut runs = Vec::new();
    for settings in request.runs {
        let run = match rank_evidence(extraction, &request, settings, on_event) {
            Err(error)
                if is_damaged_record(&error)
                    && !extraction.store.is_read_only()
                    && request.collection.has_files() =>
            {
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
    if !request.collection.has_files() {
        return extract::stored(request.collection, &extraction.store, request.limit);
    }
    let extent = extent(Shard::WHOLE, request.limit, request.threads, request.rehash);
    let summary = extraction.extract(request.collection, extent, request.stop, on_event)?;
    if summary.stopped {
        bail!("stopped before the end, without a run; the same command continues from there");
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
        image_index::open(&mut extraction.store, analyzer, request.effort, on_event)?;
    let verified = corpus.verified();
    let limit = request.limit.unwrap_or(usize::MAX);
    let entries = request.collection.entries().iter().take(limit);
    let index = ImageIndex::new(corpus, entries.map(|entry| entry.id.clone()));
    let index_seconds = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let (ranking, sheets) = rank(extraction, &index, request, settings, on_event)?;
    Ok(ImageRun {
        ranking,
        sheets,
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
) -> Result<(ImageRanking, Vec<DebateSheet>)> {
    let pairs = match settings.approach.stance {
        StanceRecipe::Beliefs => extraction.pair_encoder(on_event)?,
        _ if request.debate.is_some() => extraction.pair_encoder(on_event)?,
        _ => None,
    };
    let tools = extraction.tools();
    let installed = reading::Models {
        clip: tools.clip.as_ref(),
        sentences: tools.sentences.as_ref(),
        cross: None,
        pairs: pairs.as_ref(),
    };
    let outputs = Outputs::open_or_read(extraction.store.path())?;
    let mut reader = Reader::new(installed, outputs)?;
    let arguments = request.arguments.filter(|_| uses_arguments(settings));
    let arguments = arguments.map(ArgumentSource::arguments).transpose()?;
    let total = request.topics.len();
    let ranking = run_stage(Stage::Ranking, total, on_event, |on_event| {
        let mut on_progress = |done| {
            on_event(Event::Progress {
                done,
                total,
                outputs: None,
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
    })?;
    let (Some(source), Some(per_side)) = (request.arguments, request.debate) else {
        return Ok((ranking, Vec::new()));
    };
    let corpus = source.arguments()?.corpus;
    let mut of_topic: HashMap<&TopicId, Vec<&ImageRunLine>> = HashMap::new();
    for line in &ranking.lines {
        of_topic.entry(&line.topic).or_default().push(line);
    }
    let sheets = run_stage(Stage::Debate, total, on_event, |on_event| {
        let mut sheets = Vec::with_capacity(total);
        for (done, topic) in request.topics.iter().enumerate() {
            if request.stop.load(Ordering::Relaxed) {
                bail!(
                    "stopped before the debate sheets were made, without a run; the same command continues from there"
                );
            }
            let on_progress = &mut |outputs| {
                on_event(Event::Progress {
                    done,
                    total,
                    outputs: Some(outputs),
                });
            };
            let arguments = source.rank(topic, &mut reader, on_progress)?;
            let images = debate::Images {
                store: &extraction.store,
                lines: of_topic.get(&topic.id).map_or(&[], Vec::as_slice),
            };
            let images = Some(images);
            sheets.push(debate::sheet(
                topic,
                corpus,
                &arguments,
                images,
                per_side,
                &mut reader,
            )?);
        }
        Ok(sheets)
    })?;
    Ok((ranking, sheets))
}
