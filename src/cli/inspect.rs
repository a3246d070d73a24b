//! `inspect`: writes a report of a run.

mod sheets;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::de::DeserializeOwned;

use super::args::InspectArgs;
use super::evaluate::run_names;
use super::files::{
    check_distinct, check_writable, decode, evidence_store, named_run, read_judgements, read_run,
    read_topics, say_broken_lines, write_atomically,
};
use super::progress::{EventPrinter, StageProgress};
use super::texts::{effort, index_base, print_all_verified};
use super::{print, task_of_run, terminal};
use crate::collection::images::ImageCollection;
use crate::collection::{ReadTopics, read_bytes};
use crate::evidence::store::Store;
use crate::judge::Values;
use crate::judge::evaluate::{ImageEvaluation, evaluate_images};
use crate::judge::graded::TextRun;
use crate::judge::measure::Measure;
use crate::report::pictures::Destination;
use crate::report::{
    Form, Head, MeasureColumn, PICTURES, Report, ReportWriter, TopicReport, images, texts,
};
use crate::task::text_approach::TextApproach;
use crate::task::text_indexes::{TextIndexes, open_collection};
use crate::trec::debate::DebateSheet;
use crate::trec::explained::{self, ExplainedImage, ExplainedText};
use crate::trec::qrels::{ImageQrels, Qrels};
use crate::trec::run::{self, ImageRunLine, TextRunLine};
use crate::trec::topic::Topic;
use crate::trec::{DocId, LineError, Stance, TextTask, TopicId, escaped};

pub(super) use sheets::DEBATE_FILE;

/// Maximum size of a file of explanations, after decompression. A topic has a hundred candidates of 5 kB each without models, and of several times as
/// much with models.
const MAX_EXPLANATION_BYTES: u64 = 512 << 20;

/// The name of the file of explanations beside a run.
pub(super) const EXPLANATIONS: &str = "explain.jsonl";

/// `riposte inspect`. The exit code is 1 if there are lines that cannot be read.
pub fn inspect(args: &InspectArgs) -> Result<u8> {
    let (_, run) = read_run(&args.run)?;
    match task_of_run(args.task, &args.input, &run)?.text() {
        None => inspect_images(args),
        Some(task) => inspect_texts(args, task),
    }
}

/// The inputs of a report of any task: `T` is a line of the run, `E` the explanation of a document.
struct ReportInputs<T, E> {
    topics: Vec<Topic>,
    /// The file of the run.
    path: PathBuf,
    lines: Vec<T>,
    /// The lines of the run that this one is compared with.
    against: Option<Vec<T>>,
    /// The name of this run, and of the other if there is one.
    names: Vec<String>,
    explained: Vec<E>,
    notes: Vec<String>,
    /// Number of lines that cannot be read.
    errors: usize,
    form: Form,
    output: PathBuf,
}

/// A line of a run.
trait RunLine: Sized {
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

impl<T: RunLine, E: DeserializeOwned> ReportInputs<T, E> {
    /// Reads the inputs. `explains` says whether explanations belong to a run.
    fn read(args: &InspectArgs, explains: impl Fn(&[E], &[T]) -> bool) -> Result<Self> {
        let (form, output) = check_output(args)?;
        let ReadTopics { topics, faults } = read_topics(args.topics.as_deref(), &args.input)?;
        let (path, lines, mut errors) = read_lines::<T>(&args.run)?;
        errors += faults.len();
        let mut names = vec![name_of(&args.run, &lines)];
        let mut against = None;
        if let Some(other) = &args.against {
            let (_, other_lines, other_errors) = read_lines::<T>(other)?;
            errors += other_errors;
            names.push(name_of(other, &other_lines));
            if names[0] == names[1] {
                names = run_names(&[&args.run, other].map(|run| named_run(run).1.to_owned()));
            }
            against = Some(other_lines);
        }
        let mut notes = Vec::new();
        let explained =
            read_explanations(args, &path, |explained: &[E]| explains(explained, &lines))?;
        let explained = explained.unwrap_or_else(|why| {
            notes.push(format!("{why}, so the report does not explain the scores."));
            Vec::new()
        });
        Ok(ReportInputs {
            topics,
            path,
            lines,
            against,
            names,
            explained,
            notes,
            errors,
            form,
            output,
        })
    }

    /// Starts a report that is a directory; `None` for a single file.
    fn start_draft(&self) -> Result<Option<ReportWriter<'_>>> {
        match self.form {
            Form::Directory => ReportWriter::begin(&self.output).map(Some),
            Form::SingleFile => Ok(None),
        }
    }

    /// Writes the report and prints the path of its first page.
    fn write(
        &self,
        args: &InspectArgs,
        draft: Option<ReportWriter>,
        report: &Report,
    ) -> Result<()> {
        let page = match draft {
            Some(draft) => {
                draft.finish(report)?;
                self.output.join("index.html")
            }
            None => {
                let dir = self.output.parent();
                if let Some(dir) = dir.filter(|dir| !dir.as_os_str().is_empty()) {
                    std::fs::create_dir_all(dir)
                        .with_context(|| format!("cannot create {}", dir.display()))?;
                }
                write_atomically(&self.output, report.single_page()?.as_bytes())?;
                self.output.clone()
            }
        };
        if args.indexing.quiet {
            return Ok(());
        }
        print(&format_args!("{}\n", page.display()))
    }

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
        facts.insert(0, terminal::counted(self.topics.len(), "topic", "topics"));
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

/// The form and the path of the report. Checks before the work that it can be written.
fn check_output(args: &InspectArgs) -> Result<(Form, PathBuf)> {
    if !args.single_file {
        // only a check: the report is begun when its inputs have been read
        ReportWriter::begin(&args.output)?;
        return Ok((Form::Directory, args.output.clone()));
    }
    let output = html_file(&args.output);
    check_writable(&output)?;
    let mut inputs = vec![named_run(&args.run).1];
    inputs.extend(args.against.iter().map(|run| named_run(run).1));
    let files = [&args.explain, &args.topics];
    inputs.extend(files.into_iter().flatten().map(PathBuf::as_path));
    inputs.extend(args.qrels.iter().map(Path::new));
    check_distinct(&[("--output", &output)], &inputs)?;
    Ok((Form::SingleFile, output))
}

/// Reads a run: its path, its lines, and the number of lines that cannot be read, which are printed.
fn read_lines<T: RunLine>(run: &Path) -> Result<(PathBuf, Vec<T>, usize)> {
    let (path, bytes) = read_run(run)?;
    let (lines, errors) = T::read(&decode(bytes));
    say_broken_lines(&path, &errors);
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
/// The file that `--explain` names belongs to another run, or cannot be read.
fn read_explanations<E: DeserializeOwned>(
    args: &InspectArgs,
    run: &Path,
    explains_run: impl Fn(&[E]) -> bool,
) -> Result<Result<Vec<E>, String>> {
    let beside = run.with_file_name(EXPLANATIONS);
    let path = match &args.explain {
        Some(path) => path,
        None if beside.is_file() => &beside,
        None => {
            return Ok(Err(
                "There are no explanations beside the run (--explain writes them)".into(),
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
    match args.explain {
        Some(_) => bail!(problem),
        None => {
            say!("note: {}", escaped(&problem));
            Ok(Err(
                "The explanations beside the run are not of this run".into()
            ))
        }
    }
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

/// What a report lacks if its explanations have no ids.
const WITHOUT_IDS: &str = "The explanations beside the run are of an earlier riposte. The report shows their numbers, but it cannot say in a sentence or a \
                           bar what they mean. Rank again to see it.";

fn inspect_images(args: &InspectArgs) -> Result<u8> {
    let mut inputs = ReportInputs::read(args, explains_images)?;
    if !inputs.explained.iter().all(ExplainedImage::has_ids) {
        inputs.notes.push(WITHOUT_IDS.to_owned());
    }
    let (qrels, qrels_errors) = image_qrels(&args.qrels)?;
    let edition = args.edition;
    let collection = ImageCollection::open(&args.input)?;
    let store = open_evidence(args, &mut inputs.notes)?;
    let is_of_run = |sheets: &[DebateSheet]| sheets::are_of_images(sheets, &inputs.lines);
    let debate = sheets::beside(&inputs.path, is_of_run, &mut inputs.notes)?;
    if inputs.topics.iter().any(|topic| topic.argument.is_some()) {
        let note = "The run has one list for each claim. It is shown as PRO.";
        inputs.notes.push(note.to_owned());
    }
    let evaluate = |lines: &[ImageRunLine], qrels| evaluate_images(lines, qrels, edition);
    let evaluation = qrels.as_ref().map(|qrels| evaluate(&inputs.lines, qrels));
    let other = qrels.as_ref().zip(inputs.against.as_ref());
    let other = other.map(|(qrels, lines)| evaluate(lines, qrels));
    let measures = match &evaluation {
        Some(evaluation) => image_measures(evaluation, other.as_ref())?,
        None => Vec::new(),
    };
    let judged = qrels.as_ref().zip(evaluation.as_ref());
    let sources = images::Sources {
        collection: &collection,
        store: store.as_ref(),
        topics: &inputs.topics,
        run: &inputs.lines,
        against: inputs.against(),
        explained: &inputs.explained,
        debate: &debate,
        judged: judged.map(|(qrels, evaluation)| images::Judgements {
            qrels,
            edition,
            evaluation,
        }),
        depth: args.depth.unwrap_or(10) as usize,
        form: inputs.form,
    };
    let (plans, look_alikes) = images::plan(&sources)?;
    let wanted = images::picture_list(&plans, &look_alikes);
    let mut facts = vec![format!("{} images", collection.entries().len())];
    if let Some(qrels) = &qrels {
        facts.push(judged_fact(&inputs.topics, qrels.keys()));
    }
    let head = inputs.head("Image retrieval for arguments", facts, measures);
    let draft = inputs.start_draft()?;
    let dir = draft.as_ref().map(|draft| draft.path().join(PICTURES));
    let destination = dir
        .as_deref()
        .map_or(Destination::Inline, Destination::Files);
    let mut progress = StageProgress::new("pictures scaled", wanted.images(), args.indexing.quiet);
    let on_progress = &mut |count| progress.show(count, String::new());
    let pictures = images::make_pictures(&sources, &wanted, destination, on_progress)?;
    progress.end();
    let topics = images::topics(&sources, &plans, &look_alikes, &pictures)?;
    inputs.write(args, draft, &Report { head, topics })?;
    Ok(u8::from(inputs.errors + qrels_errors > 0))
}

/// Opens the evidence store. Without one, a note says what is missing in the report.
///
/// # Errors
/// The chosen store does not exist, or a store cannot be opened.
fn open_evidence(args: &InspectArgs, notes: &mut Vec<String>) -> Result<Option<Store>> {
    let evidence = evidence_store(args.evidence.as_deref(), &args.input, &args.indexing.cache)?;
    if evidence.is_file() {
        return Store::open_to_read(&evidence).map(Some);
    }
    ensure!(
        args.evidence.is_none(),
        "there is no evidence store {}: run `riposte extract` to compute the evidence",
        evidence.display()
    );
    notes.push(
        "No evidence is stored for this collection (riposte extract computes it), so words and text boxes are missing.".into(),
    );
    Ok(None)
}

fn inspect_texts(args: &InspectArgs, task: TextTask) -> Result<u8> {
    let mut inputs = ReportInputs::read(args, explains_texts)?;
    if !inputs.explained.iter().all(ExplainedText::has_ids) {
        inputs.notes.push(WITHOUT_IDS.to_owned());
    }
    let is_of_run = |sheets: &[DebateSheet]| sheets::are_of_arguments(sheets, &inputs.lines);
    let debate = sheets::beside(&inputs.path, is_of_run, &mut inputs.notes)?;
    let (judged, qrels_errors) = text_qrels(&args.qrels)?;
    let draft = inputs.start_draft()?;
    let indexes = open_indexes(args, task)?;
    let corpus = indexes
        .first()
        .context("the default approach has no retrieval")?;
    let measures = text_measures(task, &judged, &inputs.lines, inputs.against.as_deref())?;
    let topics: Vec<TopicReport> = texts::topics(&texts::Sources {
        task,
        corpus,
        topics: &inputs.topics,
        run: &inputs.lines,
        against: inputs.against(),
        explained: &inputs.explained,
        debate: &debate,
        judged: &judged,
        depth: args.depth.unwrap_or(20) as usize,
        form: inputs.form,
    })?;
    let title = match task {
        TextTask::Controversial => "Arguments for controversial questions",
        TextTask::Comparative => "Passages for comparative questions",
        TextTask::Rank => "Documents for queries",
    };
    let documents = corpus.meta().kind.word();
    let mut facts = vec![format!("{} {documents}", corpus.documents())];
    for (name, qrels) in &judged {
        let fact = match qrels {
            Qrels::Graded(qrels) => judged_fact(&inputs.topics, qrels.keys()),
            Qrels::Stances(qrels) => judged_fact(&inputs.topics, qrels.keys()),
            _ => continue,
        };
        facts.push(format!("{name} {fact}"));
    }
    let report = Report {
        head: inputs.head(title, facts, measures),
        topics,
    };
    inputs.write(args, draft, &report)?;
    Ok(u8::from(inputs.errors + qrels_errors > 0))
}

/// The indexes of the default approach, from which the texts of documents are read.
fn open_indexes(args: &InspectArgs, task: TextTask) -> Result<TextIndexes> {
    let indexing = &args.indexing;
    let approach = TextApproach::find(task, "riposte")?;
    let collection = open_collection(task, &args.input)?;
    let base = index_base(&args.input, indexing.index.as_deref(), &indexing.cache)?;
    let mut printer = EventPrinter::new(indexing.quiet);
    let on_event = &mut |event| printer.print(event);
    let effort = effort(indexing.threads)?;
    let indexes = TextIndexes::open(&collection, &base, &approach, effort, false, on_event)?;
    if indexing.verbose {
        print_all_verified(&indexes);
    }
    Ok(indexes)
}

/// Judgements by name, and the number of lines that cannot be read.
fn text_qrels(files: &[String]) -> Result<(Vec<(String, Qrels)>, usize)> {
    let mut judged = Vec::new();
    let mut errors = 0;
    for file in files {
        let read = read_judgements(file)?;
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
fn image_qrels(files: &[String]) -> Result<(Option<ImageQrels>, usize)> {
    let [file] = files else {
        ensure!(
            files.is_empty(),
            "the image task takes a single file of judgements"
        );
        return Ok((None, 0));
    };
    let read = read_judgements(file)?;
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
