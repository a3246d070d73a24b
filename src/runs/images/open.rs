//! Images that are open for ranking.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use riposte_eval::TopicId;
use riposte_eval::edition::Edition;
use riposte_eval::run::ImageRunLine;
use riposte_eval::topic::Topic;

use super::{ImageRun, uses_arguments};
use crate::collection::images::ImageCollection;
use crate::debate::PER_SIDE;
use crate::debate::sheet::DebateSheet;
use crate::disk::{self, TemporaryDir};
use crate::events::{Event, OnEvent, Stage, run_stage};
use crate::evidence::clip::{ImageTextModel, Slot};
use crate::evidence::extract::{self, ExtractionSummary, Shard};
use crate::evidence::store::{Store, is_damaged_record};
use crate::images::{ImageRanking, ImageRankingSettings};
use crate::index::analyzer::Analyzer;
use crate::index::images::ImageIndex;
use crate::index::inverted::{IndexingBudget, VerifiedFiles};
use crate::ingest::extraction::{Extraction, ExtractionHost};
use crate::ingest::image_index;
use crate::lazy::Lazy;
use crate::reading::stance_encoder::StanceEncoder;
use crate::reading::{self, Reader};
use crate::recipes::english;
use crate::recipes::image_approach::StanceRecipe;
use crate::session::CollectionSource;
use crate::stopped::Stopped;
use crate::texts::arguments::ArgumentSource;
use crate::texts::indexes::ensure_documents;
use crate::workspace::Outputs;
use crate::{debate, images, presence};

/// Images whose evidence is complete. The models, which are loaded when they are first used, and the indexes stay open, so one request after the
/// other can be ranked.
pub struct OpenImages {
    pub collection: ImageCollection,
    pub arguments: Option<ArgumentSource>,
    source: CollectionSource,
    effort: IndexingBudget,
    /// One request uses it at a time.
    extracted: Mutex<Extracted>,
}

/// The evidence about images, and what ranks by it.
pub struct Extracted {
    pub extraction: Extraction,
    pub summary: ExtractionSummary,
    /// One for each analyzer.
    indexes: Vec<OpenIndex>,
    /// `None` until an approach reads stances, or if the encoder is not installed.
    pairs: Option<Arc<Lazy<StanceEncoder>>>,
}

/// An index of the words of images.
struct OpenIndex {
    analyzer: Analyzer,
    index: ImageIndex,
    verified: VerifiedFiles,
    /// The directory of an index that is made for this process.
    _temporary: Option<TemporaryDir>,
}

/// What is ranked, and how.
pub(crate) struct ImageRequest<'a> {
    pub topics: &'a [Topic],
    pub edition: &'static Edition,
    pub settings: ImageRankingSettings,
    /// Whether debate sheets are made.
    pub debate: bool,
}

impl OpenImages {
    /// Computes missing evidence. `arguments` is a collection of arguments, with which images are compared.
    ///
    /// # Errors
    /// The store or a model fails, the arguments cannot be read, or the user has stopped the work. What was computed before is stored in every case.
    pub fn open(
        collection: ImageCollection,
        source: CollectionSource,
        arguments: Option<&Path>,
        host: &ExtractionHost,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let effort = source.session.indexing_budget()?;
        // opened before the extraction, which can take hours, so that errors are found early
        let arguments = arguments.map(|file| open_arguments(file, &source, effort, on_event));
        let arguments = arguments.transpose()?;
        let mut extraction = Extraction::prepare(&source, on_event)?;
        extraction.try_suspects(&collection, &source, host, on_event)?;
        let summary = extract(&mut extraction, &collection, &source, host, on_event)?;
        Ok(OpenImages {
            collection,
            arguments,
            source,
            effort,
            extracted: Mutex::new(Extracted {
                extraction,
                summary,
                indexes: Vec::new(),
                pairs: None,
            }),
        })
    }

    /// The evidence. Others wait until the guard is dropped.
    pub fn extracted(&self) -> MutexGuard<'_, Extracted> {
        self.extracted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets other processes write the evidence until the next request that has to. What they change is not noticed.
    pub fn unlock(&self) {
        self.extracted().extraction.store.unlock();
    }

    /// Ranks the images for each topic. If a damaged record is found, all damaged records are computed again.
    ///
    /// # Errors
    /// A store, a model or the index fails, or the user has stopped the run.
    pub(crate) fn rank(
        self: &Arc<Self>,
        request: &ImageRequest,
        host: &ExtractionHost,
        on_event: &mut OnEvent,
    ) -> Result<ImageRun> {
        if let Some(note) = english::note_on_images(&request.settings.approach, request.topics) {
            on_event(Event::note(note));
        }
        let mut extracted = self.extracted();
        let extracted = &mut *extracted;
        match self.ranked(extracted, request, host, on_event) {
            Err(error)
                if is_damaged_record(&error)
                    && !extracted.extraction.store.is_read_only()
                    && self.collection.has_files =>
            {
                let Extracted {
                    extraction,
                    summary,
                    indexes,
                    ..
                } = extracted;
                lock_again(&mut extraction.store)?;
                indexes.clear();
                extraction.remove_damaged(on_event)?;
                *summary = extract(extraction, &self.collection, &self.source, host, on_event)?;
                self.ranked(extracted, request, host, on_event)
            }
            done => done,
        }
    }

    fn ranked(
        self: &Arc<Self>,
        extracted: &mut Extracted,
        request: &ImageRequest,
        host: &ExtractionHost,
        on_event: &mut OnEvent,
    ) -> Result<ImageRun> {
        let start = Instant::now();
        let ImageRequest {
            topics,
            edition,
            settings,
            debate,
        } = request;
        let analyzer = &settings.approach.relevance.analyzer;
        let at = self.open_index(extracted, analyzer, on_event)?;
        let index_seconds = start.elapsed().as_secs_f64();

        let start = Instant::now();
        let reads_pairs = *debate || settings.approach.stance == StanceRecipe::Beliefs;
        if reads_pairs && extracted.pairs.is_none() {
            extracted.pairs = extracted.extraction.stance_encoder(on_event)?;
        }
        let open = extracted.indexes.get(at).context("the index is closed")?;
        let ranking = Ranking {
            extraction: &extracted.extraction,
            index: &open.index,
            arguments: self.arguments.as_ref(),
            pairs: extracted.pairs.as_deref().filter(|_| reads_pairs),
            request,
            host,
        };
        let (ranking, sheets) = ranking.rank(on_event)?;
        presence::note_nothing(topics, &ranking.judged, on_event);
        if ranking.lines.is_empty() {
            on_event(Event::note(
                "no image is relevant to a topic: the run is empty",
            ));
        }
        Ok(ImageRun {
            images: Arc::clone(self),
            edition,
            settings: settings.clone(),
            ranking,
            sheets,
            verified: open.verified,
            index_seconds,
            rank_seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// The place in `indexes` of the index with this analyzer, which is brought up to date when it is first used.
    fn open_index(
        &self,
        extracted: &mut Extracted,
        analyzer: &Analyzer,
        on_event: &mut OnEvent,
    ) -> Result<usize> {
        let indexes = &mut extracted.indexes;
        let mut open = indexes.iter();
        if let Some(at) = open.position(|open| open.analyzer == *analyzer) {
            return Ok(at);
        }
        let store = &mut extracted.extraction.store;
        lock_again(store)?;
        let (inverted, _, temporary) = image_index::open(store, analyzer, self.effort, on_event)?;
        let entries = self.collection.entries.iter();
        let entries = entries.take(self.source.limit.unwrap_or(usize::MAX));
        indexes.push(OpenIndex {
            analyzer: analyzer.clone(),
            verified: inverted.verified,
            index: ImageIndex::new(inverted, entries.map(|entry| entry.id.clone())),
            _temporary: temporary,
        });
        Ok(indexes.len() - 1)
    }
}

/// Locks a store that was unlocked, and waits while another process writes it.
fn lock_again(store: &mut Store) -> Result<()> {
    let store = RefCell::new(store);
    disk::when_free(|| store.borrow_mut().lock_again(), &mut || ())
}

/// Computes missing evidence.
fn extract(
    extraction: &mut Extraction,
    collection: &ImageCollection,
    source: &CollectionSource,
    host: &ExtractionHost,
    on_event: &mut OnEvent,
) -> Result<ExtractionSummary> {
    if !collection.has_files {
        return extract::stored(collection, &extraction.store, source.limit);
    }
    let extent = source.extent(Shard::WHOLE)?;
    let summary = extraction.extract(collection, extent, host.stop, on_event)?;
    ensure!(!summary.stopped, Stopped::Run);
    Ok(summary)
}

/// A ranking in the making.
struct Ranking<'a> {
    extraction: &'a Extraction,
    index: &'a ImageIndex,
    arguments: Option<&'a ArgumentSource>,
    pairs: Option<&'a Lazy<StanceEncoder>>,
    request: &'a ImageRequest<'a>,
    host: &'a ExtractionHost<'a>,
}

impl Ranking<'_> {
    fn rank(&self, on_event: &mut OnEvent) -> Result<(ImageRanking, Vec<DebateSheet>)> {
        let extraction = self.extraction;
        let approach = &self.request.settings.approach;
        let tools = &extraction.tools;
        let installed = reading::ReadingModels {
            image_text: Slot::ALL.map(|slot| {
                let model = tools.model::<ImageTextModel>(slot.channel());
                model.map(|found| &found.model)
            }),
            sentences: tools.model("sentence"),
            cross: None,
            stance_encoder: self.pairs,
        };
        let outputs = Outputs::open_or_read(extraction.store.path())?;
        let mut reader = Reader::new(installed, outputs)?.until(self.host.stop);
        let arguments = self.arguments.filter(|_| uses_arguments(approach));
        let arguments = arguments.map(ArgumentSource::arguments).transpose()?;
        let topics = self.request.topics;
        let total = topics.len();
        let ranking = run_stage(Stage::Ranking, total, on_event, |on_event| {
            images::rank(
                self.index,
                &extraction.store,
                &mut reader,
                arguments,
                topics,
                &self.request.settings,
                on_event,
            )
        })?;
        let sheets = match self.arguments {
            Some(source) if self.request.debate => {
                run_stage(Stage::Debate, total, on_event, |on_event| {
                    self.sheets(source, &ranking, &mut reader, on_event)
                })?
            }
            _ => Vec::new(),
        };
        Ok((ranking, sheets))
    }

    /// The debate sheets of the topics.
    fn sheets(
        &self,
        source: &ArgumentSource,
        ranking: &ImageRanking,
        reader: &mut Reader,
        on_event: &mut OnEvent,
    ) -> Result<Vec<DebateSheet>> {
        let index = source.arguments()?.index;
        let mut of_topic: HashMap<&TopicId, Vec<&ImageRunLine>> = HashMap::new();
        for line in &ranking.lines {
            of_topic.entry(&line.topic).or_default().push(line);
        }
        let topics = self.request.topics;
        let mut sheets = Vec::with_capacity(topics.len());
        for (done, topic) in topics.iter().enumerate() {
            Stopped::DebateSheets.check(self.host.stop)?;
            on_event(Event::progress(done, topics.len()));
            let arguments = source.rank(topic, reader, on_event)?;
            let images = debate::Images {
                store: &self.extraction.store,
                lines: of_topic.get(&topic.id).map_or(&[], Vec::as_slice),
                sides: &ranking.sides,
            };
            sheets.push(debate::illustrated(
                topic, index, &arguments, images, PER_SIDE, reader,
            )?);
        }
        Ok(sheets)
    }
}
/// Opens a collection of arguments.
///
/// # Errors
/// None of them can be read.
fn open_arguments(
    file: &Path,
    source: &CollectionSource,
    effort: IndexingBudget,
    on_event: &mut OnEvent,
) -> Result<ArgumentSource> {
    let base = source.session.places.texts(file, on_event)?;
    let arguments = ArgumentSource::open(file, &base, effort, on_event)?;
    if let Some(index) = arguments.indexes.first() {
        ensure_documents(index, file).context("--arguments")?;
    }
    arguments.indexes.report_faults(on_event)?;
    Ok(arguments)
}
