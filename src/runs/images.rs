//! The pipeline of the image task: from a collection and topics to the lines of a run.

mod open;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use riposte_eval::DocId;
use riposte_eval::candidates::RerankCandidates;
use riposte_eval::edition::Edition;
use riposte_eval::run::{self, AnswerLine, ImageRunLine};
use riposte_eval::topic::Topic;

pub(crate) use self::open::ImageRequest;
pub use self::open::{Extracted, OpenImages};
use super::description::RunDescription;
use super::resources::{Meter, Used};
use super::shelf::Shelf;
use crate::collection::images::ImageCollection;
use crate::collection::{FaultKind, read_bytes};
use crate::debate::sheet::DebateSheet;
use crate::disk::regular;
use crate::events::{Event, OnEvent, of_approach};
use crate::files::explanations::KeepExplanations;
use crate::files::{TopicSource, decode, own_topics, read_topics, report_broken_lines};
use crate::images::{ImageRanking, ImageRankingSettings};
use crate::index::inverted::VerifiedFiles;
use crate::ingest::extraction::{ExtractionHost, report_faults};
use crate::ingest::extraction_settings::ExtractionSettings;
use crate::limits::MAX_RUN_BYTES;
use crate::recipes::NamedApproach;
use crate::recipes::channels::CHANNELS;
use crate::recipes::image_approach::{ImageApproach, ListForm, StanceRecipe};
use crate::recipes::settings::Setting;
use crate::score::signal::SignalNeed;
use crate::topic::question::TopicParts;
use crate::weights::ModelRole;

/// What is ranked, and how.
pub(crate) struct ImageSettings {
    pub extraction: ExtractionSettings,
    pub topics: TopicSource,
    /// A rerank.jsonl of TIREx, which names the images that can be listed; `None` for the collection's own, if it has one.
    pub candidates: Option<PathBuf>,
    /// The year of the task; `None` to infer it from the topics.
    pub edition: Option<u32>,
    pub parts: TopicParts,
    /// Empty for the default approach of the edition.
    pub approaches: Vec<ImageApproach>,
    /// The settings of the default approach.
    pub set: Vec<Setting>,
    /// Whether an image may be in both lists of a topic.
    pub overlap: bool,
    /// A collection of arguments, with which images are compared.
    pub arguments: Option<PathBuf>,
    /// Whether debate sheets are made. They need arguments.
    pub debate: bool,
    /// What stays open between requests; `None` if nothing does.
    pub kept: Option<Arc<Shelf<OpenImages>>>,
}

/// A collection and its topics, before the images are ranked.
pub(crate) struct PreparedImages<'s> {
    settings: &'s ImageSettings,
    /// With the models that the approaches name.
    extraction: ExtractionSettings,
    /// `None` if it can be open already.
    collection: Option<ImageCollection>,
    pub topics: Vec<Topic>,
    pub edition: &'static Edition,
    approaches: Vec<ImageApproach>,
    /// `None` for all images.
    candidates: Option<Arc<RerankCandidates>>,
    /// Runs since before the collection was opened.
    meter: Meter,
}

/// The requested runs, and what they were made from.
pub struct ImageRuns {
    /// One for each approach.
    pub runs: Vec<ImageRun>,
    pub topics: Vec<Topic>,
    pub edition: &'static Edition,
    pub images: Arc<OpenImages>,
    /// What reading, extraction and all runs took together.
    pub resources: Used,
}

/// A run, and figures about it.
pub struct ImageRun {
    pub settings: ImageRankingSettings,
    pub ranking: ImageRanking,
    /// One for each topic, if sheets were requested; otherwise empty.
    pub sheets: Vec<DebateSheet>,
    pub verified: VerifiedFiles,
    pub index_seconds: f64,
    pub rank_seconds: f64,
}

/// Whether the approach ranks images by their likeness to arguments.
fn uses_arguments(approach: &ImageApproach) -> bool {
    approach.stance == StanceRecipe::Beliefs
        || approach
            .relevance
            .uses(|need| matches!(need, SignalNeed::Arguments))
}

impl<'s> PreparedImages<'s> {
    /// Opens the collection, and reads the topics and candidates.
    ///
    /// # Errors
    /// A file cannot be read or has nothing to rank, an approach is unknown, or settings do not fit the edition.
    pub fn read(settings: &'s ImageSettings, on_event: &mut OnEvent) -> Result<Self> {
        let meter = Meter::start();
        // candidates of a file leave some of the images out
        let is_kept = settings.kept.is_some() && matches!(settings.topics, TopicSource::Given(_));
        let open = || settings.extraction.open_or_stored();
        let mut collection = (!is_kept).then(open).transpose()?;
        let (topics, mut candidates) = settings.read_topics(on_event)?;
        let named_edition = settings.edition.and_then(|year| Edition::find(None, year));
        let edition = named_edition.unwrap_or_else(|| Edition::of_topics(&topics));
        for (option, is_given) in [
            ("--overlap", settings.overlap),
            ("--debate", settings.debate),
        ] {
            ensure!(
                !is_given || edition.has_stances(),
                "{option} is for lists for and against a claim (--edition {})",
                Edition::years_with_stances()
            );
        }
        let approaches = approaches(edition, &settings.approaches, &settings.set)?;
        if let (Some(candidates), Some(collection)) = (&mut candidates, &mut collection) {
            restrict(collection, candidates, on_event)?;
        }
        if settings.arguments.is_some() && !settings.debate {
            let mut named = approaches.iter();
            if let Some(ImageApproach { name, .. }) = named.find(|named| !uses_arguments(named)) {
                bail!("the approach {name} does not use --arguments");
            }
        }
        let extraction = with_named_models(&settings.extraction, &approaches)?;
        Ok(PreparedImages {
            settings,
            extraction,
            collection,
            topics,
            edition,
            approaches,
            candidates: candidates.map(Arc::new),
            meter,
        })
    }

    /// The names of the approaches, and their settings.
    pub fn names(&self) -> Vec<NamedApproach<'_>> {
        let approaches = self.approaches.iter();
        approaches.map(ImageApproach::named).collect()
    }

    /// Computes missing evidence, updates the indexes, and makes one run with each approach. `tags` has the tags of the runs, in the order of the
    /// approaches. `keep` says what becomes of their explanations.
    ///
    /// # Errors
    /// A store, a model or the index fails, or the user has stopped the run. What was computed before is stored in every case.
    pub fn run(
        self,
        tags: &[&str],
        keep: &KeepExplanations,
        host: &ExtractionHost,
        on_event: &mut OnEvent,
    ) -> Result<ImageRuns> {
        let (settings, extraction) = (self.settings, self.extraction);
        let arguments = settings.arguments.as_deref();
        let images = match (self.collection, &settings.kept) {
            (None, Some(kept)) => {
                // what else there is in the settings is the same for all requests of a collection
                let sentence = extraction.models.chosen(ModelRole::Sentence);
                let key = format!("{:?} {sentence:?} {arguments:?}", extraction.options);
                kept.get(key, || {
                    let collection = extraction.open_or_stored()?;
                    OpenImages::open(collection, extraction, arguments, host, on_event)
                })?
            }
            (collection, _) => {
                let collection = collection.map_or_else(|| extraction.open_or_stored(), Ok)?;
                let open = OpenImages::open(collection, extraction, arguments, host, on_event);
                Arc::new(open?)
            }
        };
        let mut runs = Vec::new();
        let several = self.approaches.len() > 1;
        for (approach, tag) in self.approaches.into_iter().zip(tags) {
            let name = approach.name.clone();
            let request = ImageRequest {
                topics: &self.topics,
                settings: ImageRankingSettings {
                    approach,
                    parts: settings.parts,
                    overlap: settings.overlap,
                    tag: (*tag).to_owned(),
                    claim_length: self.edition.length as usize,
                    candidates: self.candidates.clone(),
                    keep: keep.clone(),
                },
                debate: settings.debate,
            };
            let run = of_approach(several, &name, on_event, |on_event| {
                images.rank(&request, host, on_event)
            });
            if settings.kept.is_some() {
                images.unlock();
            }
            runs.push(run?);
        }
        report_faults(&images.extracted().summary, on_event);
        Ok(ImageRuns {
            runs,
            topics: self.topics,
            edition: self.edition,
            images,
            resources: self.meter.used(),
        })
    }
}

impl ImageSettings {
    /// The topics, and the candidates if there are any.
    fn read_topics(
        &self,
        on_event: &mut OnEvent,
    ) -> Result<(Vec<Topic>, Option<RerankCandidates>)> {
        let input = &self.extraction.input;
        let file = match &self.topics {
            // the candidates of a collection are for its own topics
            TopicSource::Given(topics) => return Ok((topics.clone(), None)),
            TopicSource::File(file) => Some(file.as_path()),
            TopicSource::Collection => None,
        };
        let names = ["rerank.jsonl", "rerank.jsonl.gz"];
        let own = || regular::first_of(names.map(|name| input.join(name)));
        let mut candidates = None;
        let candidates_file = match self.candidates.clone() {
            None => own()?,
            given => given,
        };
        if let Some(file) = candidates_file {
            let (read, faults) = RerankCandidates::read(&decode(read_bytes(&file, MAX_RUN_BYTES)?));
            report_broken_lines(FaultKind::Candidate, &file, &faults, on_event);
            candidates = Some(read);
        }
        let of_candidates = candidates
            .as_ref()
            .map_or(&[][..], RerankCandidates::topics);
        if file.is_none() && own_topics(input)?.is_none() && !of_candidates.is_empty() {
            return Ok((of_candidates.to_vec(), candidates));
        }
        Ok((read_topics(file, input, on_event)?, candidates))
    }
}

/// The named approaches, or the default approach of the edition with these settings.
///
/// # Errors
/// An approach makes lists in a form that this edition does not accept, or a setting is wrong.
fn approaches(
    edition: &Edition,
    named: &[ImageApproach],
    set: &[Setting],
) -> Result<Vec<ImageApproach>> {
    let (form, default, theirs) = if edition.has_stances() {
        let theirs = "one list for each claim, and this year needs lists for and against it";
        (ListForm::Stances, "riposte", theirs)
    } else {
        let theirs = "lists for and against a claim, and this year needs a single list";
        (ListForm::Claims, "riposte-claims", theirs)
    };
    if named.is_empty() {
        return Ok(vec![ImageApproach::find_with(default, set)?]);
    }
    let other = named.iter().find(|approach| approach.form != form);
    if let Some(ImageApproach { name, .. }) = other {
        bail!("the approach {name} makes {theirs} (--edition {edition}): {default} makes these");
    }
    Ok(named.to_vec())
}

/// The settings with the models that the approaches name, where the user has chosen none.
///
/// # Errors
/// Approaches name different models: all of them rank by the same evidence.
fn with_named_models(
    settings: &ExtractionSettings,
    approaches: &[ImageApproach],
) -> Result<ExtractionSettings> {
    let mut settings = settings.clone();
    for channel in CHANNELS {
        let (name, Some(role)) = (channel.name(), channel.role()) else {
            continue;
        };
        let is_chosen = settings.models.chosen(role).is_some();
        if is_chosen || settings.options.chosen.contains_key(name) {
            continue;
        }
        match model_of_all(name, approaches)? {
            // texts are embedded by it, too
            model if role == ModelRole::Sentence => {
                settings.models = settings.models.with_sentence(model);
            }
            Some(model) => drop(settings.options.chosen.insert(name, model)),
            None => {}
        }
    }
    Ok(settings)
}

/// The model of a channel that all approaches name; `None` if they name none.
fn model_of_all(channel: &str, approaches: &[ImageApproach]) -> Result<Option<String>> {
    let Some((first, others)) = approaches.split_first() else {
        return Ok(None);
    };
    let of = |approach: &ImageApproach| approach.model(channel).map(str::to_owned);
    if let Some(other) = others.iter().find(|other| of(other) != of(first)) {
        let named = |of: Option<String>| of.unwrap_or_else(|| "none".to_owned());
        bail!(
            "the approaches {} and {} name different models ({channel}: {} and {}), but all approaches of a run rank by the same evidence: rank with them one after the other, or choose one model for all with --{channel}",
            first.name,
            other.name,
            named(of(first)),
            named(of(other))
        );
    }
    Ok(of(first))
}

/// Leaves in the collection only the images that are candidates for some topic.
///
/// # Errors
/// The collection has none of them.
fn restrict(
    collection: &mut ImageCollection,
    candidates: &mut RerankCandidates,
    on_event: &mut OnEvent,
) -> Result<()> {
    let known: Vec<&DocId> = collection.entries.iter().map(|entry| &entry.id).collect();
    let missing = candidates.resolve(&known);
    let wanted: Vec<DocId> = candidates.documents().into_iter().cloned().collect();
    ensure!(
        !wanted.is_empty(),
        "the collection has none of the candidates (the images to re-rank)"
    );
    let count = wanted.len();
    on_event(Event::note(format!(
        "only the {count} candidates are ranked"
    )));
    if missing > 0 {
        on_event(Event::note(format!(
            "{missing} more candidates are not in the collection"
        )));
    }
    collection.retain(&wanted);
    Ok(())
}

/// The text of a run's file, in the format of the edition.
///
/// # Errors
/// A field of a line cannot be written.
pub(crate) fn text(edition: &Edition, ranking: &ImageRanking) -> Result<String> {
    if edition.has_stances() {
        return Ok(run::write_images(&ranking.lines)?);
    }
    let answer = |line: &ImageRunLine| {
        let key = (line.topic.clone(), line.image.clone());
        let rationale = ranking.rationales.get(&key);
        AnswerLine {
            rationale: rationale.filter(|_| edition.has_premises()).cloned(),
            argument: key.0,
            image: key.1,
            rank: line.rank,
            tag: line.tag.clone(),
        }
    };
    let lines: Vec<AnswerLine> = ranking.lines.iter().map(answer).collect();
    Ok(run::write_answers(&lines)?)
}

impl ImageRuns {
    /// The metadata of a run.
    ///
    /// # Errors
    /// The evidence cannot be read.
    pub fn describe(&self, run: &ImageRun) -> Result<RunDescription> {
        let edition = self.edition;
        let approach = &run.settings.approach;
        let extracted = self.images.extracted();
        Ok(RunDescription {
            tag: run.settings.tag.clone(),
            task: "image retrieval for arguments".to_owned(),
            year: Some(edition.year),
            test_collection: format!("Touché {edition}, image retrieval for arguments"),
            parts: run.settings.parts,
            approach: approach.name.clone(),
            source: approach.source.clone(),
            unknown: approach.unknown.clone(),
            recipe: approach.text.clone(),
            set: approach.set.clone(),
            documents: extracted.summary.documents,
            topics: self.topics.len(),
            models: extracted.extraction.producers()?,
            offsets: BTreeMap::new(),
            collection: self.images.collection.dir.clone(),
            resources: self.resources,
        })
    }
}
