//! The report of a run, which is read from files or was just made.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use riposte_eval::graded::SortedTextRun;
use riposte_eval::images::{ImageEvaluation, evaluate_images};
use riposte_eval::measure::Measure;
use riposte_eval::qrels::{ImageQrels, Qrels};
use riposte_eval::run::{ImageRunLine, TextRunLine};
use riposte_eval::topic::Topic;
use riposte_eval::{TextTask, TopicId};

use super::overview::RunRow;
use super::pictures::Destination;
use super::place::{PICTURES, ReportPlace};
use super::shown::{InspectSettings, ShownRun};
use super::{MeasureColumn, ReportHead, RunReport, images, texts};
use crate::collection::images::ImageCollection;
use crate::collection::task::Task;
use crate::collection::texts::open_collection;
use crate::disk::regular;
use crate::events::{Event, OnEvent, OnThreadEvent, Progress, Stage};
use crate::evidence::store::Store;
use crate::files::{check_once, read_judgements, read_run};
use crate::index::inverted::{InvertedIndex, VerifiedFiles};
use crate::recipes::channels::CHANNELS;
use crate::recipes::text_approach::TextApproach;
use crate::texts::indexes::TextIndexes;

/// A report that was written.
pub struct WrittenReport {
    /// Its first page.
    pub page: PathBuf,
    /// How much of each index was verified.
    pub verified: Vec<VerifiedFiles>,
}

/// Reads a run with all that belongs to it, and writes its report.
///
/// # Errors
/// A file cannot be read, has nothing of this task, or the report cannot be written.
pub fn inspect(settings: &InspectSettings, on_event: &mut OnThreadEvent) -> Result<WrittenReport> {
    let judgements = settings.qrels.iter().map(Path::new);
    let runs = [&settings.run].into_iter().chain(&settings.against);
    check_once(judgements.chain(runs.map(PathBuf::as_path)))?;
    let (_, run) = read_run(&settings.run, &settings.stdin)?;
    let task = match settings.task {
        Some(task) => task,
        None => Task::of_run(&settings.input, &run)?,
    };
    match task {
        Task::Images => inspect_images(settings, on_event),
        Task::Texts(task) => inspect_texts(settings, task, on_event),
    }
}

fn inspect_images(
    settings: &InspectSettings,
    on_event: &mut OnThreadEvent,
) -> Result<WrittenReport> {
    let mut run = ShownRun::read(settings, on_event)?;
    let qrels = image_qrels(settings, on_event)?;
    let collection = ImageCollection::open(&settings.input)?;
    let store = open_evidence(settings, &mut run.notes, on_event)?;
    if run.topics.iter().any(|topic| topic.argument.is_some()) {
        let note = "The run has one list for each claim. It is shown as PRO.";
        run.notes.push(note.to_owned());
    }
    let (store, qrels) = (store.as_ref(), qrels.as_ref());
    let page = write_images(&run, &collection, store, qrels, &settings.place, on_event)?;
    Ok(WrittenReport {
        page,
        verified: Vec::new(),
    })
}

fn inspect_texts(
    settings: &InspectSettings,
    task: TextTask,
    on_event: &mut OnEvent,
) -> Result<WrittenReport> {
    let run = ShownRun::read(settings, on_event)?;
    let judged = text_qrels(settings, on_event)?;
    // texts are read from the indexes of the default approach
    let approach = TextApproach::find(task, "riposte")?;
    let collection = open_collection(task, &settings.input)?;
    let base = settings.places.texts(&settings.input, on_event)?;
    let effort = settings.effort;
    let indexes = TextIndexes::open(&collection, &base, &approach, effort, false, on_event)?;
    let index = indexes.first();
    let index = index.context("the default approach has no retrieval")?;
    Ok(WrittenReport {
        page: write_texts(&run, task, index, &judged, &settings.place)?,
        verified: indexes.all().iter().map(|index| index.verified).collect(),
    })
}

/// Writes the report of an image run. Returns the path of its first page.
///
/// # Errors
/// The evidence or an image cannot be read, or the report cannot be written.
pub(crate) fn write_images(
    run: &ShownRun<ImageRunLine>,
    collection: &ImageCollection,
    store: Option<&Store>,
    qrels: Option<&ImageQrels>,
    place: &ReportPlace,
    on_event: &mut OnThreadEvent,
) -> Result<PathBuf> {
    let evaluate = |lines: &[_]| Some(evaluate_images(lines, qrels?, place.edition));
    let evaluation = evaluate(&run.lines);
    let other = run.against.as_deref().and_then(evaluate);
    let measures_of = |of: Option<&ImageEvaluation>, other| match of {
        Some(evaluation) => image_measures(evaluation, other),
        None => Ok(Vec::new()),
    };
    let measures = measures_of(evaluation.as_ref(), other.as_ref())?;
    let runs = RunRow::of_all(run, |lines| measures_of(evaluate(lines).as_ref(), None))?;
    let sources = images::ImageReportData {
        collection,
        store,
        run,
        judged: qrels.zip(evaluation.as_ref()),
        place,
    };
    let (plans, look_alikes) = images::plan(&sources)?;
    let wanted = images::picture_list(&plans, &look_alikes);
    let mut facts = vec![format!("{} images", collection.entries.len())];
    facts.extend(qrels.map(|qrels| judged_fact(&run.topics, qrels.keys())));
    let head = ReportHead {
        runs,
        ..run.head("Image retrieval for arguments", facts, measures)
    };
    let draft = place.start_draft()?;
    let dir = draft.as_ref().map(|draft| draft.path().join(PICTURES));
    let destination = dir
        .as_deref()
        .map_or(Destination::Inline, Destination::Files);
    on_event(Event::started(Stage::Pictures, wanted.images()));
    let pictures = images::make_pictures(&sources, &wanted, destination, on_event);
    on_event(Event::Progress(Progress::Ended));
    let pictures = pictures?;
    // a collection that is only stored evidence has no files
    if collection.has_files {
        let faults = pictures.values().filter_map(|made| made.fault.clone());
        faults.for_each(|fault| on_event(Event::Fault(fault)));
    }
    let topics = images::topics(&sources, &plans, &look_alikes, &pictures)?;
    place.write(draft, &RunReport { head, topics })
}

/// Writes the report of a text run, with judgements and their names. Returns the path of its first page.
///
/// # Errors
/// The index cannot be read, or the report cannot be written.
pub(crate) fn write_texts(
    run: &ShownRun<TextRunLine>,
    task: TextTask,
    index: &InvertedIndex,
    judged: &[(String, Qrels)],
    place: &ReportPlace,
) -> Result<PathBuf> {
    let draft = place.start_draft()?;
    let measures = text_measures(task, judged, &run.lines, run.against.as_deref())?;
    let runs = RunRow::of_all(run, |lines| text_measures(task, judged, lines, None))?;
    let topics = texts::topics(&texts::TextReportData {
        task,
        index,
        run,
        judged,
        place,
    })?;
    let title = match task {
        TextTask::Controversial => "Arguments for controversial questions",
        TextTask::Comparative => "Passages for comparative questions",
        TextTask::Rank => "Documents for queries",
    };
    let mut facts = vec![format!("{} {}", index.documents(), index.meta().kind)];
    for (name, qrels) in judged {
        let fact = match qrels {
            Qrels::Stances(qrels) => judged_fact(&run.topics, qrels.keys()),
            graded => match graded.grades() {
                Some(grades) => judged_fact(&run.topics, grades.keys()),
                None => continue,
            },
        };
        facts.push(format!("{name} {fact}"));
    }
    let head = ReportHead {
        runs,
        ..run.head(title, facts, measures)
    };
    place.write(draft, &RunReport { head, topics })
}

/// Opens the evidence store. Without one, a note says what is missing in the report.
///
/// # Errors
/// The chosen store does not exist, or a store cannot be opened.
fn open_evidence(
    settings: &InspectSettings,
    notes: &mut Vec<String>,
    on_event: &mut OnEvent,
) -> Result<Option<Store>> {
    let evidence = settings.places.evidence(&settings.input, on_event)?;
    if regular::is_file(&evidence)? {
        return Store::open_to_read(&evidence, CHANNELS).map(Some);
    }
    ensure!(
        settings.places.evidence.is_none(),
        "there is no evidence store {}: run `riposte extract` to compute the evidence",
        evidence.display()
    );
    notes.push(
        "No evidence is stored for this collection (riposte extract computes it), so words and text boxes are missing.".into(),
    );
    Ok(None)
}

/// Judgements by name.
fn text_qrels(settings: &InspectSettings, on_event: &mut OnEvent) -> Result<Vec<(String, Qrels)>> {
    let mut judged = Vec::new();
    for file in &settings.qrels {
        let read = read_judgements(file, &settings.stdin, on_event)?;
        ensure!(
            !matches!(read.qrels, Qrels::Images(_) | Qrels::Answers(_)),
            "{file} contains no judgements of a text task"
        );
        judged.push((read.name, read.qrels));
    }
    Ok(judged)
}

fn judged_fact<'a>(topics: &[Topic], judged: impl Iterator<Item = &'a TopicId>) -> String {
    let known: HashSet<&TopicId> = topics.iter().map(|topic| &topic.id).collect();
    let judged = judged.filter(|id| known.contains(id)).count();
    format!("judged for {judged} of the topics")
}

/// The judgements, if there are any.
fn image_qrels(settings: &InspectSettings, on_event: &mut OnEvent) -> Result<Option<ImageQrels>> {
    let [file] = &*settings.qrels else {
        ensure!(
            settings.qrels.is_empty(),
            "the image task takes a single file of judgements"
        );
        return Ok(None);
    };
    let read = read_judgements(file, &settings.stdin, on_event)?;
    match read.qrels {
        Qrels::Images(qrels) => Ok(Some(qrels)),
        _ => bail!("{file} contains no judgements of the image task"),
    }
}

fn image_measures(
    own: &ImageEvaluation,
    other: Option<&ImageEvaluation>,
) -> Result<Vec<MeasureColumn>> {
    let names = [
        ("on topic", "topicRelevanceP@10"),
        ("argumentative", "argumentativenessP@10"),
        ("on stance", "stanceRelevanceP@10"),
    ];
    let mut measures = Vec::new();
    for (name, measure) in names {
        let Measure::Image(image) = measure.parse()? else {
            continue;
        };
        measures.push(MeasureColumn {
            name: name.into(),
            unit: "P@10",
            measure: measure.into(),
            values: own.measure(&image),
            attainable: Some(own.attainable(&image)),
            against: other.map(|other| other.measure(&image)),
        });
    }
    Ok(measures)
}

fn text_measures(
    task: TextTask,
    judged: &[(String, Qrels)],
    own: &[TextRunLine],
    other: Option<&[TextRunLine]>,
) -> Result<Vec<MeasureColumn>> {
    let own = SortedTextRun::new(own);
    let other = other.map(SortedTextRun::new);
    let mut measures = Vec::new();
    for (name, qrels) in judged {
        let measure = match (qrels, task) {
            (Qrels::Stances(_), _) => "StanceF1",
            (_, TextTask::Rank) => "nDCG@10",
            (_, _) => "nDCG@5",
        };
        let parsed: Measure = measure.parse()?;
        let values = |run: &SortedTextRun| run.measure_by(qrels, &parsed);
        measures.extend(values(&own).map(|own| MeasureColumn {
            name: name.clone(),
            unit: measure,
            measure: format!("{measure}, {name}"),
            values: own,
            attainable: None,
            against: other.as_ref().and_then(values),
        }));
    }
    Ok(measures)
}
