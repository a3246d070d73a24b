//! Extraction: computes the evidence about an image collection with the installed models.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};

use super::{Event, OnEvent, Stage, models, run_stage};
use crate::collection::images::ImageCollection;
use crate::evidence::Channel;
use crate::evidence::extract::{self, Extent, Shard, Summary, Tools};
use crate::evidence::ocr::backend;
use crate::evidence::sentiment::{Afinn, Vader};
use crate::evidence::store::Store;
use crate::nn::conv::{Numeric, NumericMode};
use crate::nn::lazy::Lazy;
use crate::reading::pair::PairEncoder;
use crate::weights::{CheckedModel, Models, Role};

/// What a user chooses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExtractionOptions<'a> {
    /// The name of the OCR model; `None` for the first that is installed.
    pub ocr: Option<&'a str>,
    /// The name of the CLIP model; `None` for the first that is installed.
    pub clip: Option<&'a str>,
    /// Channels that must be on.
    pub required: &'a [Channel],
    /// How OCR computes.
    pub numeric: NumericMode,
}

/// The installed extractors and the evidence store.
pub(crate) struct Extraction {
    models: Models,
    tools: Tools,
    /// For each channel with a model, the model's name, or why there is none.
    model_status: BTreeMap<Channel, String>,
    pub store: Store,
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
        let tools = find_tools(&models, options, &mut model_status)?;
        for channel in options.required {
            if !tools.has(*channel) {
                let why = model_status.get(channel);
                let why = why.map_or("it is off", String::as_str);
                bail!("--require {channel}: {why}");
            }
        }
        for (channel, why) in &model_status {
            if !tools.has(*channel) {
                on_event(Event::Note(format!("{channel} is off: {why}")));
            }
        }
        let store = Store::open(&evidence()?)?;
        if options.numeric == NumericMode::Float
            && let Some(int8) = store.numerics(Channel::Ocr)?.get(&Some(Numeric::Int8))
        {
            on_event(Event::Note(format!(
                "--numeric float: stored text that was read in int8 is kept (images: {int8}); with another file as --evidence, all text is read in floats"
            )));
        }
        Ok(Extraction {
            models,
            tools,
            model_status,
            store,
        })
    }

    /// What computes the networks of OCR, if this run has loaded them, and the numbers of the stored evidence if they differ between
    /// images; empty if there is nothing to say.
    ///
    /// Errors: the store cannot be read.
    pub(crate) fn ocr_backend(&self) -> Result<String> {
        let mut text = String::new();
        if let Some(reader) = self.tools.ocr.as_ref().and_then(Lazy::loaded) {
            text = format!("; {}", backend::describe(reader.backends()));
        }
        let numerics = self.store.numerics(Channel::Ocr)?;
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
            Ok(model) => models::pair_encoder(&model)?,
            Err(why) => Err(format!(
                "the stance of texts goes by words and stored model outputs alone: {why}"
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

    /// Computes the evidence that the store lacks. When `stop` is set, the extraction ends after the images in progress.
    ///
    /// # Errors
    /// The store or a model fails.
    pub fn extract(
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
                    // fewer than above if the extent is a shard
                    total: progress.total,
                    outputs: 0,
                });
            };
            let (store, tools) = (&mut self.store, &self.tools);
            extract::extract(collection, store, tools, extent, stop, on_progress)
        })
    }
}

/// The extent of an extraction: `shard` of the first `limit` images, on `threads` threads, by default one for each core.
pub fn extent(shard: Shard, limit: Option<usize>, threads: Option<usize>) -> Extent {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Extent {
        shard,
        limit,
        threads: threads.unwrap_or_else(cores),
    }
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
    let ocr = ocr.map(|model| models::ocr(model, options.numeric));
    let clip = find(Channel::Clip, Role::Clip, options.clip)?;
    let clip = clip.as_ref().map(models::clip);
    let sentences = find(Channel::Sentence, Role::Sentence, None)?;
    let sentences = sentences.as_ref().map(models::sentences);
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

/// Copies the evidence and the model outputs of `shard` that `store` lacks. Returns the number of documents that were copied.
///
/// # Errors
/// One of the stores cannot be read or written.
pub fn merge(store: &mut Store, shard: &Path) -> Result<usize> {
    let documents = store.merge(shard)?;
    crate::reading::outputs::OutputStore::open(store.path())?.merge(shard)?;
    Ok(documents)
}
