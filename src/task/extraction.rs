//! Extraction: computes the evidence about an image collection with the installed models.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail, ensure};

use super::{Event, OnEvent, Stage, models, run_stage};
use crate::collection::images::ImageCollection;
use crate::disk;
use crate::evidence::Channel;
use crate::evidence::extract::{self, Extent, Shard, Summary, Tools};
use crate::evidence::ocr::{Script, backend};
use crate::evidence::sentiment::{Afinn, Vader};
use crate::evidence::store::{Merged, ShardFile, Store, is_damaged_record};
use crate::nn::conv::{Numeric, NumericMode};
use crate::nn::lazy::Lazy;
use crate::reading::pair::PairEncoder;
use crate::trec::DocId;
use crate::weights::{CheckedModel, Models, Role};
use crate::workspace::Outputs;

/// Number of damaged records that a note names.
const NAMED_RECORDS: usize = 5;

/// The options that a user can choose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExtractionOptions<'a> {
    /// The name of the OCR model; `None` for the first that is installed.
    pub ocr: Option<&'a str>,
    /// The name of the CLIP model; `None` for the first that is installed.
    pub clip: Option<&'a str>,
    /// Channels that must be on.
    pub required: &'a [Channel],
    /// The numbers that networks other than CLIP may be computed in.
    pub numeric: NumericMode,
    /// The numbers of CLIP.
    pub clip_numeric: Numeric,
    /// The script that OCR reads.
    pub script: Script,
}

/// The result of trying documents in separate processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trial {
    /// The documents in which a process died, and how it died.
    pub deaths: Vec<(DocId, String)>,
    /// Whether the user stopped the trial. Nothing is recorded in that case.
    pub interrupted: bool,
}

/// The installed extractors and the evidence store.
pub(crate) struct Extraction {
    models: Models,
    tools: Tools,
    /// For each channel with a model, the model's name, or why there is none.
    model_status: BTreeMap<Channel, String>,
    pub store: Store,
    /// The numbers that networks may be computed in.
    numeric: NumericMode,
}

impl Extraction {
    /// Finds the installed models, and then opens the evidence store at the path that `evidence` returns. Notes say which channels are off.
    ///
    /// # Errors
    /// A required channel is off, a model is damaged, or the store cannot be opened.
    pub fn prepare(
        models: Models,
        options: ExtractionOptions,
        evidence: &dyn Fn() -> Result<PathBuf>,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let mut model_status = BTreeMap::new();
        let tools = find_wanted_tools(&models, options, &mut model_status, on_event)?;
        let store = open_store_or_read(&evidence()?, on_event)?;
        if store.is_read_only() {
            on_event(Event::Note(format!(
                "{} cannot be written: stored evidence is used, and what models compute for this run is not kept",
                store.path().display()
            )));
        }
        if options.numeric == NumericMode::Float {
            for (channel, what) in [
                (Channel::Ocr, "text that was read in int8 is kept"),
                (
                    Channel::Sentence,
                    "sentence vectors that were computed in int8 are kept",
                ),
                (
                    Channel::Clip,
                    "CLIP vectors that were computed in int8 are kept",
                ),
            ] {
                if let Some(int8) = store.numerics(channel)?.get(&Some(Numeric::Int8)) {
                    on_event(Event::Note(format!(
                        "--numeric float: stored {what} (images: {int8}); to compute everything in floats, give another file as --evidence"
                    )));
                }
            }
        }
        Ok(Extraction {
            models,
            tools,
            model_status,
            store,
            numeric: options.numeric,
        })
    }

    /// For each stored channel, the producer of most of its values.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn producers(&self) -> Result<BTreeMap<String, String>> {
        let mut producers = BTreeMap::new();
        for channel in Channel::ALL {
            if let Some(producer) = self.store.producer(channel)? {
                producers.insert(channel.word().to_owned(), producer);
            }
        }
        Ok(producers)
    }

    /// Describes the runtime and the numbers (int8 or floats) of a channel's networks, if this run has loaded them, and the numbers of the stored
    /// evidence if they differ between images; empty otherwise.
    ///
    /// Errors: the store cannot be read.
    pub(crate) fn backend(&self, channel: Channel) -> Result<String> {
        let mut text = match channel {
            Channel::Ocr => {
                let reader = self.tools.ocr.as_ref().and_then(Lazy::loaded);
                reader.map(|reader| format!("; {}", backend::describe(reader.backends())))
            }
            Channel::Sentence => {
                let model = self.tools.sentences.as_ref().and_then(Lazy::loaded);
                model.map(|model| format!("; {}", model.numeric()))
            }
            Channel::Clip => {
                let model = self.tools.clip.as_ref().and_then(Lazy::loaded);
                model.map(|model| match model.agreement() {
                    Some(least) => format!(
                        "; {}, with a cosine of at least {least:.4} to floats on its examples",
                        model.numeric()
                    ),
                    None => format!("; {}", model.numeric()),
                })
            }
            _ => return Ok(String::new()),
        }
        .unwrap_or_default();
        let numerics = self.store.numerics(channel)?;
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

    /// The installed extractors.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The name of a channel's model, or why there is none; empty for channels without a model.
    pub(crate) fn model_status(&self, channel: Channel) -> &str {
        let status = self.model_status.get(&channel);
        status.map_or("", String::as_str)
    }

    /// The pair encoder. If there is none, a note says why.
    ///
    /// # Errors
    /// The sentence model is damaged.
    pub(crate) fn pair_encoder(&self, on_event: &mut OnEvent) -> Result<Option<Lazy<PairEncoder>>> {
        let found = match models::find(&self.models, Role::Sentence, None)? {
            Ok(model) => models::pair_encoder(&model, self.numeric)?,
            Err(why) => Err(format!(
                "the stance of texts depends only on words and stored model outputs: {why}"
            )),
        };
        Ok(match found {
            Ok(encoder) => Some(encoder),
            Err(note) => {
                on_event(Event::Note(note));
                None
            }
        })
    }

    /// Calls `try_apart` to try, in separate processes, the documents in which riposte may have died: those in progress when an earlier extraction
    /// was killed and, with `retry`, those that are passed over. A document in which a process dies is passed over from now on. Returns whether the
    /// user stopped the trial.
    ///
    /// # Errors
    /// The store cannot be read or written, or `try_apart` fails.
    pub fn try_suspects(
        &mut self,
        collection: &ImageCollection,
        retry: bool,
        try_apart: &mut dyn FnMut(&Path, &[DocId]) -> Result<Trial>,
        on_event: &mut OnEvent,
    ) -> Result<bool> {
        if self.store.is_read_only() || !collection.has_files() {
            return Ok(false);
        }
        let suspects = extract::suspects(collection, &self.store, retry)?;
        if suspects.is_empty() {
            return Ok(false);
        }
        on_event(Event::Note(format!(
            "riposte may have died in one of these documents; each is first tried in a separate process: {}",
            suspects.len()
        )));
        let trial = try_apart(self.store.path(), &suspects)?;
        if trial.interrupted {
            return Ok(true);
        }
        for suspect in &suspects {
            let death = trial.deaths.iter().find(|(died, _)| died == suspect);
            match death {
                Some((_, how)) => {
                    extract::pass_over(collection, &mut self.store, &self.tools, suspect, how)?;
                }
                None => self.store.forget_passed_over(suspect)?,
            }
        }
        Ok(false)
    }

    /// Computes the evidence that the store lacks. When `stop` is set, the extraction ends after the images in progress. If a damaged record is
    /// found, all damaged records are computed again.
    ///
    /// # Errors
    /// The store or a model fails, or evidence is missing and the store cannot be written.
    pub fn extract(
        &mut self,
        collection: &ImageCollection,
        extent: Extent,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
    ) -> Result<Summary> {
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
        let stored = self.store.channels()?;
        for record in &damaged {
            let mut channels = record.channels().into_iter();
            let is_lost = |channel: &Channel| stored.contains(channel) && !self.tools.has(*channel);
            if let Some(channel) = channels.find(is_lost) {
                bail!(
                    "{}: the record of {} in the table {} is damaged, and {channel} cannot be computed again: {}",
                    self.store.path().display(),
                    record.document,
                    record.table,
                    self.model_status(channel)
                );
            }
        }
        if !damaged.is_empty() {
            self.store.remove_damaged(&damaged)?;
            let named = damaged.iter().take(NAMED_RECORDS);
            let mut named: Vec<String> = named
                .map(|record| format!("{} ({})", record.document, record.table))
                .collect();
            if damaged.len() > NAMED_RECORDS {
                named.push("…".to_owned());
            }
            on_event(Event::Note(format!(
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
        extent: Extent,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
    ) -> Result<Summary> {
        let images = collection.entries().len();
        let total = extent.limit.unwrap_or(usize::MAX).min(images);
        run_stage(Stage::Extraction, total, on_event, |on_event| {
            let on_progress = &mut |progress: extract::Progress| {
                on_event(Event::Progress {
                    done: progress.done,
                    // smaller than `total` above if the extent is a shard
                    total: progress.total,
                    outputs: None,
                });
            };
            let (store, tools) = (&mut self.store, &self.tools);
            extract::extract(collection, store, tools, extent, stop, on_progress)
        })
    }
}

/// Computes the evidence of the documents that the store at `evidence` lacks, and stores nothing. `on_done` is called after each document.
///
/// # Errors
/// The store cannot be read, a model is damaged or fails, or `on_done` does.
pub(crate) fn attempt(
    collection: &ImageCollection,
    evidence: &Path,
    models: &Models,
    options: ExtractionOptions,
    documents: &[DocId],
    on_done: &mut dyn FnMut(&DocId) -> Result<()>,
) -> Result<()> {
    let tools = find_tools(models, options, &mut BTreeMap::new())?;
    extract::attempt(collection, evidence, &tools, documents, on_done)
}

/// The extent of an extraction: `shard` of the first `limit` images, on `threads` threads, by default one for each core. `rehash`: see
/// [`Extent`].
pub fn extent(shard: Shard, limit: Option<usize>, threads: Option<usize>, rehash: bool) -> Extent {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Extent {
        shard,
        limit,
        threads: threads.unwrap_or_else(cores),
        rehash,
    }
}

/// The images whose evidence is in a store, as a collection without files.
///
/// # Errors
/// The file is not an evidence store, or has no image.
pub(crate) fn stored_images(store: &Path) -> Result<ImageCollection> {
    let documents = Store::open_to_read(store)?.text_hashes()?;
    ensure!(
        !documents.is_empty(),
        "there is no evidence in {}",
        store.display()
    );
    let ids = documents.into_iter().map(|(id, _)| id);
    Ok(ImageCollection::without_files(store, ids))
}

/// Opens an evidence store for writing. While another process writes it, a note says so, and this one waits.
///
/// # Errors
/// As [`Store::open`].
pub(crate) fn open_store(path: &Path, on_event: &mut OnEvent) -> Result<Store> {
    open_when_free(path, Store::open, on_event)
}

/// As [`open_store`], but a store that cannot be written is opened for reading.
///
/// # Errors
/// As [`Store::open_or_read`].
pub(crate) fn open_store_or_read(path: &Path, on_event: &mut OnEvent) -> Result<Store> {
    open_when_free(path, Store::open_or_read, on_event)
}

fn open_when_free(
    path: &Path,
    open: fn(&Path) -> Result<Store>,
    on_event: &mut OnEvent,
) -> Result<Store> {
    disk::when_free(|| open(path), &mut || {
        on_event(Event::Note(format!(
            "another riposte is writing the evidence store {}: waiting for it",
            path.display()
        )));
    })
}

/// As [`find_tools`]. Notes say which channels are off.
///
/// # Errors
/// A required channel is off, or a model is damaged.
pub(super) fn find_wanted_tools(
    models: &Models,
    options: ExtractionOptions,
    model_status: &mut BTreeMap<Channel, String>,
    on_event: &mut OnEvent,
) -> Result<Tools> {
    let tools = find_tools(models, options, model_status)?;
    for channel in options.required {
        if !tools.has(*channel) {
            let why = model_status.get(channel);
            let why = why.map_or("it is off", String::as_str);
            bail!("--require {channel}: {why}");
        }
    }
    for (channel, why) in model_status {
        if !tools.has(*channel) {
            on_event(Event::Note(format!("{channel} is off: {why}")));
        }
    }
    Ok(tools)
}

fn find_tools(
    models: &Models,
    options: ExtractionOptions,
    status: &mut BTreeMap<Channel, String>,
) -> Result<Tools> {
    let mut find =
        |channel: Channel, role: Role, name: Option<&str>| -> Result<Option<CheckedModel>> {
            let found = models::find(models, role, name)?;
            let text = match &found {
                Ok(model) => model.name.clone(),
                Err(why) => why.clone(),
            };
            status.insert(channel, text);
            Ok(found.ok())
        };
    let ocr = find(Channel::Ocr, Role::Ocr, options.ocr)?;
    let ocr = ocr.map(|model| models::ocr(model, options.numeric, options.script));
    let ocr = ocr.transpose()?;
    let clip = find(Channel::Clip, Role::Clip, options.clip)?;
    let clip = clip.map(|model| models::clip(&model, options.clip_numeric));
    let sentences = find(Channel::Sentence, Role::Sentence, None)?;
    let sentences = sentences.map(|model| models::sentences(&model, options.numeric));
    let afinn = match find(Channel::Afinn, Role::Lexicon, None)? {
        Some(model) => Some((Afinn::load(&model.path("AFINN-en-165.txt"))?, model.sha256)),
        None => None,
    };
    Ok(Tools {
        ocr,
        clip,
        sentences,
        vader: Vader::new(),
        afinn,
    })
}

/// Copies the evidence and the model outputs of `shard` that `store` lacks. `shard` is an evidence store or a directory of Parquet files, which
/// contain no model outputs. It is not changed.
///
/// # Errors
/// One of the stores cannot be read or written.
pub fn merge(store: &mut Store, shard: &Path) -> Result<Merged> {
    if shard.is_dir() {
        let (from, into) = (shard.display(), store.path().display());
        let merging = format!("cannot merge {from} into {into}");
        return store.merge_parquet(shard).context(merging);
    }
    let file = ShardFile::new(shard, store.path())?;
    let merged = store.merge(file.path())?;
    let mut outputs = Outputs::open(store.path())?;
    match outputs.merge(file.path()) {
        // model outputs can be computed again
        Err(_) if merged.is_damaged => Ok(merged),
        copied => copied.map(|()| merged),
    }
}
