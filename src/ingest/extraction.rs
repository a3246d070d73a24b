//! Extraction: computes the evidence about an image collection with the installed models.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail, ensure};
use riposte_eval::DocId;
use riposte_nn::conv::{Numeric, NumericMode};

use crate::collection::images::ImageCollection;
use crate::disk::{self, regular};
use crate::events::{Event, OnEvent, Stage, run_stage};
use crate::evidence::channel::Extractor;
use crate::evidence::extract::{self, ExtractionScope, ExtractionSummary, Extractors, Shard};
use crate::evidence::store::{MergeResult, ShardFile, Store, is_damaged_record};
use crate::evidence::{Channel, Channels};
use crate::lazy::Lazy;
use crate::models;
use crate::reading::stance_encoder::StanceEncoder;
use crate::recipes::channels::CHANNELS;
use crate::session::{CollectionSource, Session};
use crate::stopped::Stopped;
use crate::threads::check_threads;
use crate::workspace::Outputs;

/// Number of damaged records that a note names.
const NAMED_RECORDS: usize = 5;

/// What the program that runs a task must provide.
#[derive(Clone, Copy)]
pub struct ExtractionHost<'a> {
    /// Begins to watch for the user's wish to stop. It is called only when all locks are held, so that Ctrl-C still ends a process that waits for
    /// another one.
    pub watch: &'a dyn Fn() -> Result<()>,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
    /// Tries documents in separate processes, whose evidence is not stored. The path is that of the evidence store.
    pub try_apart: &'a TryApart<'a>,
}

impl<'a> ExtractionHost<'a> {
    /// Of a program that calls the library. It cannot start itself again to try the documents in which it may have died, so they are tried in this
    /// process.
    pub fn of_a_call(stop: &'a AtomicBool) -> ExtractionHost<'a> {
        ExtractionHost {
            watch: &|| Ok(()),
            stop,
            try_apart: &|_: &CollectionSource, _, _| Ok(Trial::default()),
        }
    }
}

type TryApart<'a> = dyn Fn(&CollectionSource, &Path, &[DocId]) -> Result<Trial> + 'a;

impl CollectionSource {
    /// Opens the collection.
    ///
    /// # Errors
    /// There is no image.
    pub fn open(&self) -> Result<ImageCollection> {
        ensure!(self.limit != Some(0), "--limit must be at least 1");
        let collection = ImageCollection::open(&self.input)?;
        ensure!(
            !collection.entries.is_empty(),
            "there is no image in {}",
            self.input.join("images").display()
        );
        Ok(collection)
    }

    /// Opens the collection, which can be an evidence store.
    ///
    /// # Errors
    /// There is no image.
    pub(crate) fn open_or_stored(&self) -> Result<ImageCollection> {
        if !regular::is_file(&self.input)? {
            return self.open();
        }
        ensure!(self.limit != Some(0), "--limit must be at least 1");
        ensure!(
            self.session.places.evidence.is_none(),
            "--evidence: {} is an evidence store itself",
            self.input.display()
        );
        let documents = Store::open_to_read(&self.input, CHANNELS)?.text_hashes()?;
        ensure!(
            !documents.is_empty(),
            "there is no evidence in {}",
            self.input.display()
        );
        let ids = documents.into_iter().map(|(id, _)| id);
        Ok(ImageCollection::without_files(&self.input, ids))
    }

    fn evidence(&self, on_event: &mut OnEvent) -> Result<PathBuf> {
        // the collection can itself be an evidence store
        if regular::is_file(&self.input)? && self.session.places.evidence.is_none() {
            return Ok(self.input.clone());
        }
        self.session.places.evidence(&self.input, on_event)
    }

    /// The part of the collection that is extracted.
    ///
    /// # Errors
    /// The number of threads is 0, or too large.
    pub(crate) fn extent(&self, shard: Shard) -> Result<ExtractionScope> {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(ExtractionScope {
            shard,
            limit: self.limit,
            threads: self
                .session
                .threads
                .map_or_else(|| Ok(cores()), check_threads)?,
            rehash: self.rehash,
        })
    }
}

/// The result of trying documents in separate processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trial {
    /// The documents in which a process died, and how it died.
    pub deaths: Vec<(DocId, String)>,
    /// Whether the user stopped the trial. Nothing is recorded in that case.
    pub interrupted: bool,
}

/// The installed extractors and the evidence store.
pub struct Extraction {
    session: Session,
    /// The installed extractors.
    pub tools: Extractors,
    /// For each channel with a model, the model's name, or why there is none.
    model_status: BTreeMap<&'static str, String>,
    pub store: Store,
}

impl Extraction {
    /// Finds the installed models, and then opens the evidence store. Notes say which channels are off.
    ///
    /// # Errors
    /// A required channel is off, a model is damaged, or the store cannot be opened.
    pub fn prepare(source: &CollectionSource, on_event: &mut OnEvent) -> Result<Self> {
        let mut model_status = BTreeMap::new();
        let tools = find_wanted_tools(&source.session, &mut model_status, on_event)?;
        let evidence = source.evidence(on_event)?;
        let store = open_store(&evidence, Store::open_or_read, on_event)?;
        if store.is_read_only() {
            on_event(Event::note(format!(
                "{} cannot be written: stored evidence is used, and what models compute for this run is not kept",
                store.path().display()
            )));
        }
        if source.session.compute().numeric == NumericMode::Float {
            for channel in CHANNELS {
                let Some(what) = channel.values_in_int8() else {
                    continue;
                };
                if let Some(int8) = store.numerics(channel.name())?.get(&Some(Numeric::Int8)) {
                    on_event(Event::note(format!(
                        "--numeric float: stored {what} (images: {int8}); to compute everything in floats, give another file as --evidence"
                    )));
                }
            }
        }
        Ok(Extraction {
            session: source.session.clone(),
            tools,
            model_status,
            store,
        })
    }

    /// For each stored channel, the producer of most of its values.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn producers(&self) -> Result<BTreeMap<String, String>> {
        let mut producers = BTreeMap::new();
        for channel in CHANNELS {
            if let Some(producer) = self.store.producer(channel.name())? {
                producers.insert(channel.name().to_owned(), producer);
            }
        }
        Ok(producers)
    }

    /// Describes the runtime and the numbers (int8 or floats) of a channel's networks, if this run has loaded them, and the numbers of the stored
    /// evidence if they differ between images; empty otherwise.
    ///
    /// Errors: the store cannot be read.
    pub fn backend(&self, channel: &dyn Channel) -> Result<String> {
        if channel.values_in_int8().is_none() {
            return Ok(String::new());
        }
        let extractor = self.tools.extractor(channel.name());
        let mut text = match extractor.and_then(Extractor::describe) {
            Some(described) => format!("; {described}"),
            None => String::new(),
        };
        let numerics = self.store.numerics(channel.name())?;
        if numerics.len() > 1 {
            let counts = numerics.into_iter().map(|(numeric, count)| {
                let word = numeric.map_or("unknown numbers", Numeric::word);
                format!("{count} in {word}")
            });
            let counts: Vec<String> = counts.collect();
            text.push_str(&format!("; stored: {}", counts.join(", ")));
        }
        Ok(text)
    }

    /// The name of a channel's model, or why there is none; empty for channels without a model.
    pub fn model_status(&self, channel: &str) -> &str {
        let status = self.model_status.get(channel);
        status.map_or("", String::as_str)
    }

    /// The stance encoder. If there is none, a note says why.
    ///
    /// # Errors
    /// The sentence model is damaged.
    pub(crate) fn stance_encoder(
        &self,
        on_event: &mut OnEvent,
    ) -> Result<Option<Arc<Lazy<StanceEncoder>>>> {
        models::installed_stance_encoder(
            &self.session.models,
            self.session.compute(),
            "the stance of texts depends only on words and stored model outputs",
            on_event,
        )
    }

    /// Lets the host watch for the user's wish to stop. Then lets it try, in separate processes, the documents in which riposte may have died: those
    /// that were in progress when an earlier extraction was killed and, with `retry`, those that have been passed over since. A document in which a
    /// process dies is passed over from now on.
    ///
    /// # Errors
    /// The store cannot be read or written, the host fails, or the user has stopped the trial.
    pub(crate) fn try_suspects(
        &mut self,
        collection: &ImageCollection,
        source: &CollectionSource,
        host: &ExtractionHost,
        on_event: &mut OnEvent,
    ) -> Result<()> {
        (host.watch)()?;
        if self.store.is_read_only() || !collection.has_files {
            return Ok(());
        }
        let suspects = extract::suspects(collection, &self.store, source.retry)?;
        if suspects.is_empty() {
            return Ok(());
        }
        on_event(Event::note(format!(
            "riposte may have died in one of these documents; each is first tried in a separate process: {}",
            suspects.len()
        )));
        let trial = (host.try_apart)(source, self.store.path(), &suspects)?;
        ensure!(!trial.interrupted, Stopped::Extraction);
        for suspect in &suspects {
            let death = trial.deaths.iter().find(|(died, _)| died == suspect);
            match death {
                Some((_, how)) => {
                    extract::pass_over(collection, &mut self.store, &self.tools, suspect, how)?;
                }
                None => self.store.forget_passed_over(suspect)?,
            }
        }
        Ok(())
    }

    /// Computes the evidence that the store lacks. When `stop` is set, the extraction ends after the images in progress. If a damaged record is
    /// found, all damaged records are computed again.
    ///
    /// # Errors
    /// The store or a model fails, or evidence is missing and the store cannot be written.
    pub fn extract(
        &mut self,
        collection: &ImageCollection,
        extent: ExtractionScope,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
    ) -> Result<ExtractionSummary> {
        if !self.store.is_read_only() {
            self.store.add_checksums()?;
        }
        match self.extract_once(collection, extent, stop, on_event) {
            Err(error) if is_damaged_record(&error) && !self.store.is_read_only() => {
                self.remove_damaged(on_event)?;
                self.extract_once(collection, extent, stop, on_event)
            }
            done => done,
        }
    }

    /// Removes the damaged records of all documents, so that [`Extraction::extract`] computes them again. A note names them.
    ///
    /// # Errors
    /// The store cannot be read or written, or is damaged beyond single records, or a model that must compute a record again is missing. In the last
    /// case, nothing is removed.
    pub(crate) fn remove_damaged(&mut self, on_event: &mut OnEvent) -> Result<()> {
        let damaged = self.store.damaged_records()?;
        let stored = self.store.stored_channels()?;
        for record in &damaged {
            let channels = record.channels(CHANNELS).into_iter();
            let mut names = channels.map(Channel::name);
            let is_lost = |name: &&str| stored.contains(*name) && !self.tools.has(name);
            if let Some(channel) = names.find(is_lost) {
                bail!(
                    "{}: the record of {} in the table {} is damaged, and {channel} cannot be computed again: {}",
                    self.store.path().display(),
                    record.document,
                    record.table,
                    self.model_status(channel)
                );
            }
        }
        self.store.remove_misfits()?;
        if !damaged.is_empty() {
            self.store.remove_damaged(&damaged)?;
            let named = damaged.iter().take(NAMED_RECORDS);
            let mut named: Vec<String> = named
                .map(|record| format!("{} ({})", record.document, record.table))
                .collect();
            named.extend((damaged.len() > NAMED_RECORDS).then(|| "…".to_owned()));
            on_event(Event::note(format!(
                "damaged records in {} are computed again: {}, {}",
                self.store.path().display(),
                damaged.len(),
                named.join(", ")
            )));
        }
        Ok(())
    }

    fn extract_once(
        &mut self,
        collection: &ImageCollection,
        extent: ExtractionScope,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
    ) -> Result<ExtractionSummary> {
        let images = collection.entries.len();
        let total = extent.limit.unwrap_or(usize::MAX).min(images);
        run_stage(Stage::Extraction, total, on_event, |on_event| {
            let (store, tools) = (&mut self.store, &self.tools);
            extract::extract(collection, store, tools, extent, stop, on_event)
        })
    }
}

/// Computes the evidence of the documents that the store at `evidence` lacks, and stores nothing. `on_done` is called after each document.
///
/// # Errors
/// The store cannot be read, a model is damaged or fails, or `on_done` does.
pub fn attempt(
    collection: &ImageCollection,
    evidence: &Path,
    session: &Session,
    documents: &[DocId],
    on_done: &mut dyn FnMut(&DocId) -> Result<()>,
) -> Result<()> {
    let tools = find_tools(session, &mut BTreeMap::new())?;
    extract::attempt(collection, evidence, &tools, documents, on_done)
}

/// Computes the evidence of a collection, or of a shard of it. Returns the extraction with the store, and a summary.
///
/// # Errors
/// The store or a model fails, or the user has stopped the extraction. What was computed before is stored in every case.
pub fn run(
    source: &CollectionSource,
    shard: Shard,
    host: &ExtractionHost,
    on_event: &mut OnEvent,
) -> Result<(Extraction, ExtractionSummary)> {
    let collection = source.open()?;
    let mut extraction = Extraction::prepare(source, on_event)?;
    extraction.try_suspects(&collection, source, host, on_event)?;
    if !extraction.store.is_read_only() {
        extraction.remove_damaged(on_event)?;
    }
    let extent = source.extent(shard)?;
    let summary = extraction.extract(&collection, extent, host.stop, on_event)?;
    ensure!(!summary.stopped, Stopped::Extraction);
    report_faults(&summary, on_event);
    Ok((extraction, summary))
}

/// Reports the faults of the documents of an extraction.
pub(crate) fn report_faults(summary: &ExtractionSummary, on_event: &mut OnEvent) {
    for fault in &summary.faults {
        on_event(Event::Fault(fault.clone()));
    }
}

/// Opens an evidence store with [`Store::open`] or [`Store::open_or_read`]. While another process writes it, a note says so, and this one waits.
///
/// # Errors
/// Those of `open`.
pub fn open_store(
    path: &Path,
    open: fn(&Path, Channels) -> Result<Store>,
    on_event: &mut OnEvent,
) -> Result<Store> {
    disk::when_free(|| open(path, CHANNELS), &mut || {
        on_event(Event::note(format!(
            "another riposte is writing the evidence store {}: waiting for it",
            path.display()
        )));
    })
}

/// As [`find_tools`]. Notes say which channels are off.
///
/// # Errors
/// A required channel is off, or a model is damaged.
pub(crate) fn find_wanted_tools(
    session: &Session,
    model_status: &mut BTreeMap<&'static str, String>,
    on_event: &mut OnEvent,
) -> Result<Extractors> {
    let tools = find_tools(session, model_status)?;
    for channel in &session.options.required {
        if !tools.has(channel) {
            let why = model_status.get(channel.as_str());
            match why {
                Some(why) => bail!("--require {channel}: {why}"),
                None => bail!("--require {channel}: --{channel} must name its model"),
            }
        }
    }
    for channel in CHANNELS.iter().map(|channel| channel.name()) {
        if let (Some(why), false) = (model_status.get(channel), tools.has(channel)) {
            on_event(Event::note(format!("{channel} is off: {why}")));
        }
    }
    Ok(tools)
}

fn find_tools(
    session: &Session,
    status: &mut BTreeMap<&'static str, String>,
) -> Result<Extractors> {
    let Session {
        models, options, ..
    } = session;
    Extractors::new(CHANNELS, |channel| {
        let mut model = None;
        if let Some(role) = channel.role() {
            let chosen = options.chosen.get(channel.name()).map(String::as_str);
            if chosen.is_none() && channel.only_if_named() {
                return Ok(None);
            }
            let found = models::find(models, role, chosen)?;
            let status_of = found
                .as_ref()
                .map_or_else(String::clone, |model| model.name.clone());
            status.insert(channel.name(), status_of);
            model = found.ok();
            if model.is_none() {
                return Ok(None);
            }
        }
        channel.extractor(model, options.precision).map(Some)
    })
}

/// Copies the evidence and the model outputs of `shard` that `store` lacks. `shard` is an evidence store or a directory of Parquet files, which
/// contain no model outputs. It is not changed.
///
/// # Errors
/// One of the stores cannot be read or written.
pub fn merge(store: &mut Store, shard: &Path) -> Result<MergeResult> {
    if shard.is_dir() {
        let (from, into) = (shard.display(), store.path().display());
        let merging = format!("cannot merge {from} into {into}");
        return store.merge_parquet(shard).context(merging);
    }
    let file = ShardFile::new(shard, store)?;
    let merged = store.merge(file.path())?;
    let mut outputs = Outputs::open(store.path())?;
    match outputs.merge(file.path()) {
        // model outputs can be computed again
        Err(_) if merged.is_damaged => Ok(merged),
        copied => copied.map(|()| merged),
    }
}
