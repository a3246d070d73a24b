//! The pipeline of the image task: from a collection and topics to the lines of a run.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use riposte_eval::candidates::Candidates;
use riposte_eval::edition::Edition;
use riposte_eval::run::{self, AnswerLine, ImageRunLine};
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, TopicId};

use super::approach::{Form, ImageApproach, StanceRecipe};
use super::arguments::ArgumentSource;
use super::debate::{self, PER_SIDE};
use super::description::Description;
use super::explanations::Keep;
use super::extraction::{Extraction, ExtractionSettings, Host, report_faults};
use super::files::{
    MAX_RUN_BYTES, TopicSource, decode, own_topics, read_topics, report_broken_lines,
};
use super::image_index;
use super::images::{self, ImageRanking, Settings};
use super::presence;
use super::recipe::settings::Setting;
use super::resources::{Meter, Used};
use super::text_run::ensure_documents;
use super::{Event, Named, OnEvent, STOPPED, Stage, languages, run_stage};
use crate::collection::images::ImageCollection;
use crate::collection::{FaultKind, read_bytes};
use crate::disk::regular;
use crate::evidence::clip::{ImageTextModel, Slot};
use crate::evidence::extract::{self, Shard, Summary};
use crate::evidence::store::is_damaged_record;
use crate::index::images::ImageIndex;
use crate::index::inverted::{self, Effort};
use crate::reading::{self, Reader};
use crate::score::signal::Need;
use crate::task::debate::sheet::DebateSheet;
use crate::topic::question::TopicParts;
use crate::weights::Role;
use crate::workspace::Outputs;

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
}

/// A collection and its topics, before the images are ranked.
pub(crate) struct PreparedImages<'s> {
    settings: &'s ImageSettings,
    /// With the models that the approaches name.
    extraction: ExtractionSettings,
    collection: ImageCollection,
    pub topics: Vec<Topic>,
    pub edition: &'static Edition,
    approaches: Vec<ImageApproach>,
    /// `None` for all images.
    candidates: Option<Arc<Candidates>>,
    /// Runs since before the collection was opened.
    meter: Meter,
}

/// The requested runs, and what they were made from.
pub struct ImageRuns {
    /// One for each approach.
    pub runs: Vec<ImageRun>,
    pub summary: Summary,
    pub collection: ImageCollection,
    pub topics: Vec<Topic>,
    pub edition: &'static Edition,
    pub extraction: Extraction,
    pub arguments: Option<ArgumentSource>,
    /// What reading, extraction and all runs took together.
    pub resources: Used,
}

/// A run, and figures about it.
pub struct ImageRun {
    pub settings: Settings,
    pub ranking: ImageRanking,
    /// One for each topic, if sheets were requested; otherwise empty.
    pub sheets: Vec<DebateSheet>,
    pub verified: inverted::Verified,
    pub index_seconds: f64,
    pub rank_seconds: f64,
}

/// Whether the approach ranks images by their likeness to arguments.
fn uses_arguments(approach: &ImageApproach) -> bool {
    approach.stance == StanceRecipe::Beliefs
        || approach.relevance.uses(|need| need == Need::Arguments)
}

impl<'s> PreparedImages<'s> {
    /// Opens the collection, and reads the topics and candidates.
    ///
    /// # Errors
    /// A file cannot be read or has nothing to rank, an approach is unknown, or settings do not fit the edition.
    pub fn read(settings: &'s ImageSettings, on_event: &mut OnEvent) -> Result<Self> {
        let meter = Meter::start();
        let mut collection = settings.extraction.open_or_stored()?;
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
        if let Some(candidates) = &mut candidates {
            restrict(&mut collection, candidates, on_event)?;
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
    pub fn names(&self) -> Vec<Named<'_>> {
        let approaches = self.approaches.iter();
        approaches.map(ImageApproach::named).collect()
    }

    /// Computes missing evidence, updates the indexes, and makes one run with each approach. `tags` has the tags of the runs, in the order of the
    /// approaches. `keep` says what becomes of their explanations.
    /// If a damaged record is found, all damaged records are computed again.
    ///
    /// # Errors
    /// A store, a model or the index fails, or the user has stopped the run. What was computed before is stored in every case.
    pub fn run(
        self,
        tags: &[&str],
        keep: &Keep,
        host: &Host,
        on_event: &mut OnEvent,
    ) -> Result<ImageRuns> {
        let settings = &self.extraction;
        let effort = super::effort(settings.threads)?;
        // opened before the extraction, which can take hours, so that errors are found early
        let file = self.settings.arguments.as_ref();
        let arguments = file.map(|file| open_arguments(file, settings, effort, on_event));
        let arguments = arguments.transpose()?;
        let mut extraction = Extraction::prepare(settings, on_event)?;
        extraction.try_suspects(&self.collection, settings, host, on_event)?;
        let mut summary = self.extract(&mut extraction, host, on_event)?;
        let mut runs = Vec::new();
        for (approach, tag) in self.approaches.iter().zip(tags) {
            if let Some(note) = languages::note_on_images(approach, &self.topics) {
                on_event(Event::Note(note));
            }
            let ranked = Ranked {
                prepared: &self,
                settings: Settings {
                    approach: approach.clone(),
                    parts: self.settings.parts,
                    overlap: self.settings.overlap,
                    tag: (*tag).to_owned(),
                    claim_length: self.edition.length as usize,
                    candidates: self.candidates.clone(),
                    keep: keep.clone(),
                },
                arguments: arguments.as_ref(),
                host,
            };
            let run = match ranked.rank(&mut extraction, effort, on_event) {
                Err(error)
                    if is_damaged_record(&error)
                        && !extraction.store.is_read_only()
                        && self.collection.has_files =>
                {
                    extraction.remove_damaged(on_event)?;
                    summary = self.extract(&mut extraction, host, on_event)?;
                    ranked.rank(&mut extraction, effort, on_event)
                }
                done => done,
            };
            runs.push(run?);
        }
        report_faults(&summary, on_event);
        Ok(ImageRuns {
            runs,
            summary,
            collection: self.collection,
            topics: self.topics,
            edition: self.edition,
            extraction,
            arguments,
            resources: self.meter.used(),
        })
    }

    fn extract(
        &self,
        extraction: &mut Extraction,
        host: &Host,
        on_event: &mut OnEvent,
    ) -> Result<Summary> {
        let settings = &self.extraction;
        if !self.collection.has_files {
            return extract::stored(&self.collection, &extraction.store, settings.limit);
        }
        let extent = settings.extent(Shard::WHOLE)?;
        let summary = extraction.extract(&self.collection, extent, host.stop, on_event)?;
        if summary.stopped {
            bail!(STOPPED);
        }
        Ok(summary)
    }
}

impl ImageSettings {
    /// The topics, and the candidates if there are any.
    fn read_topics(&self, on_event: &mut OnEvent) -> Result<(Vec<Topic>, Option<Candidates>)> {
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
            let (read, faults) = Candidates::read(&decode(read_bytes(&file, MAX_RUN_BYTES)?));
            report_broken_lines(FaultKind::Candidate, &file, &faults, on_event);
            candidates = Some(read);
        }
        let of_candidates = candidates.as_ref().map_or(&[][..], Candidates::topics);
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
        (Form::Stances, "riposte", theirs)
    } else {
        let theirs = "lists for and against a claim, and this year needs a single list";
        (Form::Claims, "riposte-claims", theirs)
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
    if settings.options.clip.is_none() {
        settings.options.clip = model_of_all("clip", approaches, |of| of.clip.clone())?;
    }
    if settings.options.image_text.is_none() {
        let of = |of: &ImageApproach| of.image_text.clone();
        settings.options.image_text = model_of_all("image-text", approaches, of)?;
    }
    if settings.models.chosen(Role::Sentence).is_none() {
        let name = model_of_all("sentence", approaches, |of| of.sentence.clone())?;
        settings.models = settings.models.with_sentence(name);
    }
    Ok(settings)
}

/// The model of a kind that all approaches name; `None` if they name none.
fn model_of_all(
    kind: &str,
    approaches: &[ImageApproach],
    of: impl Fn(&ImageApproach) -> Option<String>,
) -> Result<Option<String>> {
    let Some((first, others)) = approaches.split_first() else {
        return Ok(None);
    };
    if let Some(other) = others.iter().find(|other| of(other) != of(first)) {
        let named = |of: Option<String>| of.unwrap_or_else(|| "none".to_owned());
        bail!(
            "the approaches {} and {} name different models ({kind}: {} and {}), but all approaches of a run rank by the same evidence: rank with them one after the other, or choose one model for all with --{kind}",
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
    candidates: &mut Candidates,
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
    on_event(Event::Note(format!(
        "only the {count} candidates are ranked"
    )));
    if missing > 0 {
        on_event(Event::Note(format!(
            "{missing} more candidates are not in the collection"
        )));
    }
    collection.retain(&wanted);
    Ok(())
}

/// Opens a collection of arguments.
///
/// # Errors
/// None of them can be read.
fn open_arguments(
    file: &Path,
    settings: &ExtractionSettings,
    effort: Effort,
    on_event: &mut OnEvent,
) -> Result<ArgumentSource> {
    let base = settings.places.texts(file, on_event)?;
    let arguments = ArgumentSource::open(file, &base, effort, on_event)?;
    if let Some(index) = arguments.indexes.first() {
        ensure_documents(index, file).context("--arguments")?;
    }
    arguments.indexes.report_faults(on_event)?;
    Ok(arguments)
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
    pub fn describe(&self, run: &ImageRun) -> Result<Description> {
        let edition = self.edition;
        let approach = &run.settings.approach;
        Ok(Description {
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
            documents: self.summary.documents,
            topics: self.topics.len(),
            models: self.extraction.producers()?,
            offsets: BTreeMap::new(),
            collection: self.collection.dir.clone(),
            resources: self.resources,
        })
    }
}

/// A run in the making.
struct Ranked<'a> {
    prepared: &'a PreparedImages<'a>,
    settings: Settings,
    arguments: Option<&'a ArgumentSource>,
    host: &'a Host<'a>,
}

impl Ranked<'_> {
    fn rank(
        &self,
        extraction: &mut Extraction,
        effort: Effort,
        on_event: &mut OnEvent,
    ) -> Result<ImageRun> {
        let start = Instant::now();
        let analyzer = &self.settings.approach.relevance.analyzer;
        let (inverted, _, _temporary) =
            image_index::open(&mut extraction.store, analyzer, effort, on_event)?;
        let verified = inverted.verified();
        let limit = self.prepared.extraction.limit;
        let entries = self.prepared.collection.entries.iter();
        let entries = entries.take(limit.unwrap_or(usize::MAX));
        let index = ImageIndex::new(inverted, entries.map(|entry| entry.id.clone()));
        let index_seconds = start.elapsed().as_secs_f64();

        let start = Instant::now();
        let (ranking, sheets) = self.rank_index(extraction, &index, on_event)?;
        for note in &ranking.notes {
            on_event(Event::Note(note.clone()));
        }
        presence::note_nothing(&self.prepared.topics, &ranking.judged, on_event);
        if ranking.lines.is_empty() {
            on_event(Event::Note(
                "no image is relevant to a topic: the run is empty".into(),
            ));
        }
        Ok(ImageRun {
            settings: self.settings.clone(),
            ranking,
            sheets,
            verified,
            index_seconds,
            rank_seconds: start.elapsed().as_secs_f64(),
        })
    }

    fn rank_index(
        &self,
        extraction: &Extraction,
        index: &ImageIndex,
        on_event: &mut OnEvent,
    ) -> Result<(ImageRanking, Vec<DebateSheet>)> {
        let approach = &self.settings.approach;
        let debates = self.prepared.settings.debate;
        let mut pairs = None;
        if debates || approach.stance == StanceRecipe::Beliefs {
            pairs = extraction.stance_encoder(on_event)?;
        }
        let tools = &extraction.tools;
        let image_text = |slot: Slot| {
            let model = tools.model::<ImageTextModel>(slot.channel());
            model.map(|found| &found.model)
        };
        let installed = reading::Models {
            clip: image_text(Slot::First),
            image_text: image_text(Slot::Second),
            sentences: tools.model("sentence"),
            cross: None,
            pairs: pairs.as_ref(),
        };
        let outputs = Outputs::open_or_read(extraction.store.path())?;
        let mut reader = Reader::new(installed, outputs)?;
        let arguments = self.arguments.filter(|_| uses_arguments(approach));
        let arguments = arguments.map(ArgumentSource::arguments).transpose()?;
        let topics = &self.prepared.topics;
        let total = topics.len();
        let ranking = run_stage(Stage::Ranking, total, on_event, |on_event| {
            let mut on_progress = |done| {
                on_event(Event::Progress {
                    done,
                    total,
                    outputs: None,
                });
                !self.host.stop.load(Ordering::Relaxed)
            };
            images::rank(
                index,
                &extraction.store,
                &mut reader,
                arguments,
                topics,
                &self.settings,
                &mut on_progress,
            )
        })?;
        let sheets = match self.arguments {
            Some(source) if debates => run_stage(Stage::Debate, total, on_event, |on_event| {
                self.sheets(extraction, source, &ranking, &mut reader, on_event)
            })?,
            _ => Vec::new(),
        };
        Ok((ranking, sheets))
    }

    /// The debate sheets of the topics.
    fn sheets(
        &self,
        extraction: &Extraction,
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
        let topics = &self.prepared.topics;
        let mut sheets = Vec::with_capacity(topics.len());
        for (done, topic) in topics.iter().enumerate() {
            if self.host.stop.load(Ordering::Relaxed) {
                bail!(
                    "stopped before the debate sheets were made, without a run; the same command continues from there"
                );
            }
            let on_progress = &mut |outputs| {
                on_event(Event::Progress {
                    done,
                    total: topics.len(),
                    outputs: Some(outputs),
                });
            };
            let arguments = source.rank(topic, reader, on_progress)?;
            let images = debate::Images {
                store: &extraction.store,
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
