//! The report of a run, which is read from files or was just made.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::de::DeserializeOwned;

use super::pictures::Destination;
use super::{
    Form, Head, MeasureColumn, PICTURES, Report, ReportWriter, TopicReport, images, texts,
};
use crate::collection::images::ImageCollection;
use crate::collection::{ReadTopics, read_bytes};
use crate::evidence::store::Store;
use crate::index::inverted::{Effort, InvertedIndex, Verified};
use crate::judge::Values;
use crate::judge::evaluate::{ImageEvaluation, evaluate_images};
use crate::judge::graded::TextRun;
use crate::judge::measure::Measure;
use crate::task::channels::CHANNELS;
use crate::task::files::{
    check_distinct, check_writable, decode, named_run, read_judgements, read_run, read_topics,
    report_broken_lines, run_names, write_atomically,
};
use crate::task::places::Places;
use crate::task::run_files::{DEBATE, EXPLANATIONS};
use crate::task::text_approach::TextApproach;
use crate::task::text_indexes::{TextIndexes, open_collection};
use crate::task::{Event, OnEvent, Stage, Task, counted};
use crate::trec::debate::{self, DebateSheet};
use crate::trec::edition::Edition;
use crate::trec::explained::{self, ExplainedImage, ExplainedText};
use crate::trec::qrels::{ImageQrels, Qrels};
use crate::trec::run::{self, ImageRunLine, TextRunLine};
use crate::trec::topic::Topic;
use crate::trec::{DocId, LineError, Stance, TextTask, TopicId};

/// A receiver of events that any thread can call, because several threads make pictures.
pub(crate) type OnThreadEvent<'a> = dyn FnMut(Event) + Send + 'a;

/// The files of a run that is shown, and what it is compared with.
pub(crate) struct InspectSettings {
    /// The task of the run; `None` to infer it from the collection and the run.
    pub task: Option<Task>,
    /// The run, as PATH or NAME=PATH ([`named_run`]).
    pub run: PathBuf,
    /// Another run to compare with.
    pub against: Option<PathBuf>,
    /// The explanations of the run; `None` for those beside it.
    pub explain: Option<PathBuf>,
    /// The collection that was searched.
    pub input: PathBuf,
    /// The topics; `None` for those of the collection.
    pub topics: Option<PathBuf>,
    /// Files of judgements, with NAME= if a name was given.
    pub qrels: Vec<String>,
    /// Where evidence and indexes are.
    pub places: Places,
    pub effort: Effort,
    pub place: ReportPlace,
}

/// Where a report is written, and how.
pub(crate) struct ReportPlace {
    /// The directory of the report, or its file.
    pub output: PathBuf,
    pub form: Form,
    /// Number of documents that are shown of each list; `None` for the number that fits the task.
    pub depth: Option<usize>,
    /// Decides which grades of images count as relevant.
    pub edition: &'static Edition,
}

/// A report that was written.
pub(crate) struct Written {
    /// Its first page.
    pub page: PathBuf,
    /// How much of each index was verified.
    pub verified: Vec<Verified>,
    /// Whether a line of a file cannot be read.
    pub has_faults: bool,
}

/// A run that is shown: `T` is a line, `E` the explanation of a document.
pub(crate) struct ShownRun<T, E> {
    pub topics: Vec<Topic>,
    pub lines: Vec<T>,
    /// The lines of the run that this one is compared with.
    pub against: Option<Vec<T>>,
    /// The name of this run, and of the other if there is one.
    pub names: Vec<String>,
    pub explained: Vec<E>,
    pub debate: Vec<DebateSheet>,
    pub notes: Vec<String>,
}

/// Maximum size of a file of explanations, after decompression. A topic has a hundred candidates of 5 kB each without models, and of several times as
/// much with models.
const MAX_EXPLANATION_BYTES: u64 = 512 << 20;

/// Maximum size of a file of debate sheets, after decompression. A sheet of the sample has 10 kB.
const MAX_SHEET_BYTES: u64 = 64 << 20;

/// A note in a report whose explanations have no ids.
const WITHOUT_IDS: &str = "The explanations beside the run are of an earlier riposte. The report shows their numbers, but it cannot say in a sentence or a \
                           bar what they mean. Rank again to see it.";

/// Reads a run with all that belongs to it, and writes its report.
///
/// # Errors
/// A file cannot be read, has nothing of this task, or the report cannot be written.
pub(crate) fn inspect(settings: &InspectSettings, on_event: &mut OnThreadEvent) -> Result<Written> {
    let (_, run) = read_run(&settings.run)?;
    let task = match settings.task {
        Some(task) => task,
        None => Task::of_run(&settings.input, &run)?,
    };
    match task {
        Task::Images => inspect_images(settings, on_event),
        Task::Texts(task) => inspect_texts(settings, task, on_event),
    }
}

fn inspect_images(settings: &InspectSettings, on_event: &mut OnThreadEvent) -> Result<Written> {
    let (mut run, errors) = ShownRun::read(settings, explains_images, are_of_images, on_event)?;
    if !run.explained.iter().all(ExplainedImage::has_ids) {
        run.notes.push(WITHOUT_IDS.to_owned());
    }
    let (qrels, qrels_errors) = image_qrels(&settings.qrels, on_event)?;
    let collection = ImageCollection::open(&settings.input)?;
    let store = open_evidence(settings, &mut run.notes, on_event)?;
    if run.topics.iter().any(|topic| topic.argument.is_some()) {
        let note = "The run has one list for each claim. It is shown as PRO.";
        run.notes.push(note.to_owned());
    }
    let (store, qrels) = (store.as_ref(), qrels.as_ref());
    let page = write_images(&run, &collection, store, qrels, &settings.place, on_event)?;
    Ok(Written {
        page,
        verified: Vec::new(),
        has_faults: errors + qrels_errors > 0,
    })
}

fn inspect_texts(
    settings: &InspectSettings,
    task: TextTask,
    on_event: &mut OnEvent,
) -> Result<Written> {
    let (mut run, errors) = ShownRun::read(settings, explains_texts, are_of_arguments, on_event)?;
    if !run.explained.iter().all(ExplainedText::has_ids) {
        run.notes.push(WITHOUT_IDS.to_owned());
    }
    let (judged, qrels_errors) = text_qrels(&settings.qrels, on_event)?;
    // texts are read from the indexes of the default approach
    let approach = TextApproach::find(task, "riposte")?;
    let collection = open_collection(task, &settings.input)?;
    let base = settings.places.texts(&settings.input, on_event)?;
    let effort = settings.effort;
    let indexes = TextIndexes::open(&collection, &base, &approach, effort, false, on_event)?;
    let index = indexes.first();
    let index = index.context("the default approach has no retrieval")?;
    Ok(Written {
        page: write_texts(&run, task, index, &judged, &settings.place)?,
        verified: indexes.all().iter().map(InvertedIndex::verified).collect(),
        has_faults: errors + qrels_errors > 0,
    })
}

/// Writes the report of an image run. Returns the path of its first page.
///
/// # Errors
/// The evidence or an image cannot be read, or the report cannot be written.
pub(crate) fn write_images(
    run: &ShownRun<ImageRunLine, ExplainedImage>,
    collection: &ImageCollection,
    store: Option<&Store>,
    qrels: Option<&ImageQrels>,
    place: &ReportPlace,
    on_event: &mut OnThreadEvent,
) -> Result<PathBuf> {
    let edition = place.edition;
    let evaluate = |lines: &[ImageRunLine], qrels| evaluate_images(lines, qrels, edition);
    let evaluation = qrels.map(|qrels| evaluate(&run.lines, qrels));
    let other = qrels.zip(run.against.as_ref());
    let other = other.map(|(qrels, lines)| evaluate(lines, qrels));
    let measures = match &evaluation {
        Some(evaluation) => image_measures(evaluation, other.as_ref())?,
        None => Vec::new(),
    };
    let judged = qrels.zip(evaluation.as_ref());
    let sources = images::Sources {
        collection,
        store,
        topics: &run.topics,
        run: &run.lines,
        against: run.against(),
        explained: &run.explained,
        debate: &run.debate,
        judged: judged.map(|(qrels, evaluation)| images::Judgements {
            qrels,
            edition,
            evaluation,
        }),
        depth: place.depth.unwrap_or(10),
        form: place.form,
    };
    let (plans, look_alikes) = images::plan(&sources)?;
    let wanted = images::picture_list(&plans, &look_alikes);
    let mut facts = vec![format!("{} images", collection.entries().len())];
    facts.extend(qrels.map(|qrels| judged_fact(&run.topics, qrels.keys())));
    let head = run.head("Image retrieval for arguments", facts, measures);
    let draft = place.start_draft()?;
    let dir = draft.as_ref().map(|draft| draft.path().join(PICTURES));
    let destination = dir
        .as_deref()
        .map_or(Destination::Inline, Destination::Files);
    let total = wanted.images();
    let stage = Stage::Pictures;
    on_event(Event::Started { stage, total });
    let on_progress = &mut |done| {
        on_event(Event::Progress {
            done,
            total,
            outputs: None,
        });
    };
    let pictures = images::make_pictures(&sources, &wanted, destination, on_progress);
    on_event(Event::Ended);
    let pictures = pictures?;
    let topics = images::topics(&sources, &plans, &look_alikes, &pictures)?;
    place.write(draft, &Report { head, topics })
}

/// Writes the report of a text run, with judgements and their names. Returns the path of its first page.
///
/// # Errors
/// The index cannot be read, or the report cannot be written.
pub(crate) fn write_texts(
    run: &ShownRun<TextRunLine, ExplainedText>,
    task: TextTask,
    index: &InvertedIndex,
    judged: &[(String, Qrels)],
    place: &ReportPlace,
) -> Result<PathBuf> {
    let draft = place.start_draft()?;
    let measures = text_measures(task, judged, &run.lines, run.against.as_deref())?;
    let topics: Vec<TopicReport> = texts::topics(&texts::Sources {
        task,
        index,
        topics: &run.topics,
        run: &run.lines,
        against: run.against(),
        explained: &run.explained,
        debate: &run.debate,
        judged,
        depth: place.depth.unwrap_or(20),
        form: place.form,
    })?;
    let title = match task {
        TextTask::Controversial => "Arguments for controversial questions",
        TextTask::Comparative => "Passages for comparative questions",
        TextTask::Rank => "Documents for queries",
    };
    let documents = index.meta().kind.word();
    let mut facts = vec![format!("{} {documents}", index.documents())];
    for (name, qrels) in judged {
        let fact = match qrels {
            Qrels::Graded(qrels) => judged_fact(&run.topics, qrels.keys()),
            Qrels::Stances(qrels) => judged_fact(&run.topics, qrels.keys()),
            _ => continue,
        };
        facts.push(format!("{name} {fact}"));
    }
    let head = run.head(title, facts, measures);
    place.write(draft, &Report { head, topics })
}

/// A line of a run.
pub(crate) trait RunLine: Sized {
    fn read(text: &str) -> (Vec<Self>, Vec<LineError>);
    fn tag(&self) -> &str;
}

impl RunLine for ImageRunLine {
    fn read(text: &str) -> (Vec<Self>, Vec<LineError>) {
        if run::is_json(text) {
            return run::read_claims(text);
        }
        run::read_images(text)
    }

    fn tag(&self) -> &str {
        &self.tag
    }
}

impl RunLine for TextRunLine {
    fn read(text: &str) -> (Vec<Self>, Vec<LineError>) {
        run::read_texts(text)
    }

    fn tag(&self) -> &str {
        &self.tag
    }
}

impl<T: RunLine, E: DeserializeOwned> ShownRun<T, E> {
    /// Reads a run, and the number of lines that cannot be read. `explains` says whether explanations belong to the run, and `is_debated` whether
    /// debate sheets do.
    fn read(
        settings: &InspectSettings,
        explains: fn(&[E], &[T]) -> bool,
        is_debated: fn(&[DebateSheet], &[T]) -> bool,
        on_event: &mut OnEvent,
    ) -> Result<(Self, usize)> {
        settings.check_output()?;
        let input = &settings.input;
        let ReadTopics { topics, faults } =
            read_topics(settings.topics.as_deref(), input, on_event)?;
        let (path, lines, mut errors) = read_lines::<T>(&settings.run, on_event)?;
        errors += faults.len();
        let mut names = vec![name_of(&settings.run, &lines)];
        let mut against = None;
        if let Some(other) = &settings.against {
            let (_, other_lines, other_errors) = read_lines::<T>(other, on_event)?;
            errors += other_errors;
            names.push(name_of(other, &other_lines));
            if names[0] == names[1] {
                let runs = [&settings.run, other];
                names = run_names(&runs.map(|run| named_run(run).1.to_owned()));
            }
            against = Some(other_lines);
        }
        let mut run = ShownRun {
            topics,
            lines,
            against,
            names,
            explained: Vec::new(),
            debate: Vec::new(),
            notes: Vec::new(),
        };
        match read_explanations(settings, &path, |all| explains(all, &run.lines), on_event)? {
            Ok(explained) => run.explained = explained,
            Err(why) => run
                .notes
                .push(format!("{why}, so the report does not explain the scores.")),
        }
        match read_sheets(&path, |all| is_debated(all, &run.lines), on_event)? {
            Ok(sheets) => run.debate = sheets,
            Err(note) => run.notes.push(note.to_owned()),
        }
        Ok((run, errors))
    }
}

impl<T, E> ShownRun<T, E> {
    /// The name and the lines of the other run.
    fn against(&self) -> Option<(&str, &[T])> {
        let name = self.names.get(1)?;
        Some((name, self.against.as_deref()?))
    }

    fn head(
        &self,
        task: &'static str,
        mut facts: Vec<String>,
        measures: Vec<MeasureColumn>,
    ) -> Head {
        facts.insert(0, counted(self.topics.len(), "topic", "topics"));
        Head {
            task,
            run: self.names.first().cloned().unwrap_or_default(),
            against: self.names.get(1).cloned(),
            facts,
            notes: self.notes.clone(),
            measures,
        }
    }
}

impl ReportPlace {
    /// A place for the report at `output`; the name of a single file may lack its extension.
    pub fn new(
        output: &Path,
        single_file: bool,
        depth: Option<usize>,
        edition: &'static Edition,
    ) -> Self {
        let (form, output) = match single_file {
            true => (Form::SingleFile, html_file(output)),
            false => (Form::Directory, output.to_owned()),
        };
        ReportPlace {
            output,
            form,
            depth,
            edition,
        }
    }

    /// Starts a report that is a directory; `None` for a single file.
    fn start_draft(&self) -> Result<Option<ReportWriter<'_>>> {
        match self.form {
            Form::Directory => ReportWriter::begin(&self.output).map(Some),
            Form::SingleFile => Ok(None),
        }
    }

    /// Writes the report. Returns the path of its first page.
    fn write(&self, draft: Option<ReportWriter>, report: &Report) -> Result<PathBuf> {
        if let Some(draft) = draft {
            draft.finish(report)?;
            return Ok(self.output.join("index.html"));
        }
        let dir = self.output.parent();
        if let Some(dir) = dir.filter(|dir| !dir.as_os_str().is_empty()) {
            std::fs::create_dir_all(dir)
                .with_context(|| format!("cannot create {}", dir.display()))?;
        }
        write_atomically(&self.output, report.single_page()?.as_bytes())?;
        Ok(self.output.clone())
    }
}

impl InspectSettings {
    /// Checks that the report can be written, before any work is done.
    fn check_output(&self) -> Result<()> {
        let output = &self.place.output;
        if self.place.form == Form::Directory {
            // only a check: the report is begun when its inputs have been read
            return ReportWriter::begin(output).map(drop);
        }
        check_writable(output)?;
        let mut inputs = vec![named_run(&self.run).1];
        inputs.extend(self.against.iter().map(|run| named_run(run).1));
        let files = [&self.explain, &self.topics];
        inputs.extend(files.into_iter().flatten().map(PathBuf::as_path));
        inputs.extend(self.qrels.iter().map(Path::new));
        check_distinct(&[("--output", output)], &inputs)
    }
}

/// Reads a run: its path, its lines, and the number of lines that cannot be read, which are reported.
fn read_lines<T: RunLine>(run: &Path, on_event: &mut OnEvent) -> Result<(PathBuf, Vec<T>, usize)> {
    let (path, bytes) = read_run(run)?;
    let (lines, errors) = T::read(&decode(bytes));
    report_broken_lines(&path, &errors, on_event);
    ensure!(
        !lines.is_empty(),
        "there is no line of a run of this task in {}",
        path.display()
    );
    Ok((path, lines, errors.len()))
}

/// The name that was given to the run, or else its tag.
fn name_of<T: RunLine>(run: &Path, lines: &[T]) -> String {
    let tag = || lines.first().map_or("", T::tag);
    named_run(run).0.unwrap_or_else(tag).to_owned()
}

/// The path with the extension .html, which the user may leave out.
fn html_file(output: &Path) -> PathBuf {
    match output.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("html") => output.to_owned(),
        _ => {
            let mut name = output.as_os_str().to_owned();
            name.push(".html");
            name.into()
        }
    }
}

/// The explanations of the run, or why there are none. `explains_run` says whether they belong to it.
///
/// # Errors
/// The file that the user names belongs to another run, or cannot be read.
fn read_explanations<E: DeserializeOwned>(
    settings: &InspectSettings,
    run: &Path,
    explains_run: impl Fn(&[E]) -> bool,
    on_event: &mut OnEvent,
) -> Result<Result<Vec<E>, &'static str>> {
    let beside = run.with_file_name(EXPLANATIONS);
    let path = match &settings.explain {
        Some(path) => path,
        None if beside.is_file() => &beside,
        None => {
            return Ok(Err(
                "There are no explanations beside the run (--explain writes them)",
            ));
        }
    };
    let read = explained::read(&decode(read_bytes(path, MAX_EXPLANATION_BYTES)?));
    let problem = match read {
        Ok(explained) if explains_run(&explained) => return Ok(Ok(explained)),
        Ok(_) => "these explanations belong to another run".to_owned(),
        Err(error) => error.to_string(),
    };
    let problem = format!("{}: {problem}", path.display());
    ensure!(settings.explain.is_none(), problem);
    on_event(Event::Note(problem));
    Ok(Err("The explanations beside the run are not of this run"))
}

/// The debate sheets beside a run; none if there is no such file. Sheets of another run are not shown, and the inner error says so to a reader.
///
/// # Errors
/// The file cannot be read.
fn read_sheets(
    run: &Path,
    is_of_run: impl Fn(&[DebateSheet]) -> bool,
    on_event: &mut OnEvent,
) -> Result<Result<Vec<DebateSheet>, &'static str>> {
    let path = run.with_file_name(DEBATE);
    if !path.is_file() {
        return Ok(Ok(Vec::new()));
    }
    let problem = match debate::read(&decode(read_bytes(&path, MAX_SHEET_BYTES)?)) {
        Ok(sheets) if is_of_run(&sheets) => return Ok(Ok(sheets)),
        Ok(_) => "these debate sheets belong to another run".to_owned(),
        Err(error) => error.to_string(),
    };
    on_event(Event::Note(format!("{}: {problem}", path.display())));
    Ok(Err("The debate sheets beside the run are not of this run."))
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
    if evidence.is_file() {
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

/// Whether each line of the run has the rank and the score of its explanation. The scores in a run are rounded.
fn explains_images(explained: &[ExplainedImage], lines: &[ImageRunLine]) -> bool {
    let mut ranks: HashMap<(&TopicId, &DocId, Stance), (u32, f64)> = HashMap::new();
    for image in explained {
        for listed in &image.listed {
            let key = (&image.topic, &image.image, listed.stance);
            ranks.insert(key, (listed.rank, listed.score));
        }
    }
    ranks.len() == lines.len()
        && lines.iter().all(|line| {
            let explained = ranks.get(&(&line.topic, &line.image, line.stance));
            explained.is_some_and(|(rank, score)| {
                let is_near = |of_line: f64| (score - of_line).abs() < 1e-5;
                *rank == line.rank && line.score.is_none_or(is_near)
            })
        })
}

/// Whether each explained text has the same rank in the run.
fn explains_texts(explained: &[ExplainedText], lines: &[TextRunLine]) -> bool {
    let ranked: HashSet<(&TopicId, &DocId, usize)> = lines
        .iter()
        .map(|line| (&line.topic, &line.doc, line.rank as usize))
        .collect();
    !explained.is_empty()
        && explained
            .iter()
            .all(|text| ranked.contains(&(&text.topic, &text.document, text.rank)))
}

/// Whether the sheets have exactly the images of the run's lists.
fn are_of_images(sheets: &[DebateSheet], lines: &[ImageRunLine]) -> bool {
    let listed: HashSet<(&TopicId, &DocId, Stance, u32)> = lines
        .iter()
        .map(|line| (&line.topic, &line.image, line.stance, line.rank))
        .collect();
    let mut images = sheets.iter().flat_map(|sheet| {
        let images = sheet.images.iter();
        images.map(|image| (&sheet.topic, &image.image, image.side, image.rank))
    });
    let count = sheets.iter().map(|sheet| sheet.images.len()).sum::<usize>();
    count == lines.len() && images.all(|image| listed.contains(&image))
}

/// Whether the sheets have no images, and the run has their arguments at the same ranks.
fn are_of_arguments(sheets: &[DebateSheet], lines: &[TextRunLine]) -> bool {
    let ranked: HashSet<(&TopicId, &DocId, usize)> = lines
        .iter()
        .map(|line| (&line.topic, &line.doc, line.rank as usize))
        .collect();
    sheets.iter().all(|sheet| {
        let mut arguments = sheet.arguments.iter();
        sheet.images.is_empty()
            && arguments.all(|a| ranked.contains(&(&sheet.topic, &a.argument, a.rank)))
    })
}

/// Judgements by name, and the number of lines that cannot be read.
fn text_qrels(files: &[String], on_event: &mut OnEvent) -> Result<(Vec<(String, Qrels)>, usize)> {
    let mut judged = Vec::new();
    let mut errors = 0;
    for file in files {
        let read = read_judgements(file, on_event)?;
        ensure!(
            matches!(read.qrels, Qrels::Graded(_) | Qrels::Stances(_)),
            "{file} contains no judgements of a text task"
        );
        errors += read.errors;
        judged.push((read.name, read.qrels));
    }
    Ok((judged, errors))
}

fn judged_fact<'a>(topics: &[Topic], judged: impl Iterator<Item = &'a TopicId>) -> String {
    let known: HashSet<&TopicId> = topics.iter().map(|topic| &topic.id).collect();
    let judged = judged.filter(|id| known.contains(id)).count();
    format!("judged for {judged} of the topics")
}

/// The judgements, if there are any, and the number of lines that cannot be read.
fn image_qrels(files: &[String], on_event: &mut OnEvent) -> Result<(Option<ImageQrels>, usize)> {
    let [file] = files else {
        ensure!(
            files.is_empty(),
            "the image task takes a single file of judgements"
        );
        return Ok((None, 0));
    };
    let read = read_judgements(file, on_event)?;
    match read.qrels {
        Qrels::Images(qrels) => Ok((Some(qrels), read.errors)),
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
    let own = TextRun::new(own);
    let other = other.map(TextRun::new);
    let mut measures = Vec::new();
    for (name, qrels) in judged {
        let measure = match (qrels, task) {
            (Qrels::Stances(_), _) => "StanceF1",
            (_, TextTask::Rank) => "nDCG@10",
            (_, _) => "nDCG@5",
        };
        let parsed: Measure = measure.parse()?;
        let values = |run: &TextRun| -> Option<Values> {
            Some(match (&parsed, qrels) {
                (Measure::Graded(measure), Qrels::Graded(qrels)) => run.measure(qrels, measure),
                (Measure::Stance(measure), Qrels::Stances(qrels)) => {
                    run.measure_stances(qrels, measure)
                }
                _ => return None,
            })
        };
        if let Some(own_values) = values(&own) {
            measures.push(MeasureColumn {
                name: name.clone(),
                unit: measure,
                measure: format!("{measure}, {name}"),
                values: own_values,
                attainable: None,
                against: other.as_ref().and_then(values),
            });
        }
    }
    Ok(measures)
}
