//! `inspect`.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::de::DeserializeOwned;

use super::evaluate::{edition, run_names};
use super::files::{decode, default_store, default_topics, read_judgements, read_run, write_whole};
use super::progress::{Counted, Printer};
use super::texts::{base, effort, print_all_verified};
use super::{InspectArgs, Task, say};
use crate::collection::images::ImageCollection;
use crate::collection::{read_bytes, read_topics};
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
use crate::task::text_indexes::{TextIndexes, open_collection, task_of};
use crate::trec::explained::{self, ExplainedImage, ExplainedText};
use crate::trec::qrels::{ImageQrels, Qrels};
use crate::trec::run::{self, ImageRunLine, TextRunLine};
use crate::trec::topic::Topic;
use crate::trec::{DocId, LineError, Stance, TextTask, TopicId};

/// Exit code 1 if there are lines that could not be read.
pub fn inspect(args: &InspectArgs) -> Result<u8> {
    match task(args)? {
        Task::Images => of_images(args),
        Task::Controversial => of_texts(args, TextTask::Controversial),
        Task::Comparative => of_texts(args, TextTask::Comparative),
    }
}

/// The task that was asked for, or the one to which the collection belongs.
fn task(args: &InspectArgs) -> Result<Task> {
    let input = &args.input;
    Ok(match args.task {
        Some(task) => task,
        None if input.join("images").is_dir() => Task::Images,
        None => match task_of(input) {
            Some(TextTask::Controversial) => Task::Controversial,
            Some(TextTask::Comparative) => Task::Comparative,
            None => bail!(
                "{} holds no images/, no arguments and no passages: --task says what to look for",
                input.display()
            ),
        },
    })
}

/// What reports of all tasks are made from.
struct Common<T, E> {
    topics: Vec<Topic>,
    lines: Vec<T>,
    against: Option<Vec<T>>,
    /// The names of this run and of the other.
    names: Vec<String>,
    explained: Vec<E>,
    notes: Vec<String>,
    /// Lines that could not be read.
    broken: usize,
    form: Form,
    output: PathBuf,
}

/// The runs' lines, and what one of them is called.
trait RunLine: Sized {
    fn read(text: &str) -> (Vec<Self>, Vec<LineError>);
    fn tag(&self) -> &str;
}

impl RunLine for ImageRunLine {
    fn read(text: &str) -> (Vec<Self>, Vec<LineError>) {
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

impl<T: RunLine, E: DeserializeOwned> Common<T, E> {
    fn read(args: &InspectArgs, is_of: impl Fn(&[E], &[T]) -> bool) -> Result<Self> {
        let topics_file = match &args.topics {
            Some(file) => file.clone(),
            None => default_topics(&args.input),
        };
        let topics = read_topics(&topics_file)?;
        let (path, lines, mut broken) = read_lines::<T>(&args.run)?;
        let mut names = vec![name(&lines)];
        let mut against = None;
        if let Some(other) = &args.against {
            let (_, others, errors) = read_lines::<T>(other)?;
            broken += errors;
            names.push(name(&others));
            if names[0] == names[1] {
                names = run_names(&[args.run.clone(), other.clone()]);
            }
            against = Some(others);
        }
        let mut notes = Vec::new();
        let explained = explanations(args, &path, |explained: &[E]| is_of(explained, &lines))?;
        let explained = explained.unwrap_or_else(|why| {
            notes.push(format!("{why}, so scores cannot be opened."));
            Vec::new()
        });
        let (form, output) = match args.single_file {
            true => (Form::SingleFile, html_file(&args.output)),
            false => (Form::Directory, args.output.clone()),
        };
        Ok(Common {
            topics,
            lines,
            against,
            names,
            explained,
            notes,
            broken,
            form,
            output,
        })
    }

    /// A draft of the directory, where the report is one.
    fn begin(&self) -> Result<Option<ReportWriter<'_>>> {
        match self.form {
            Form::Directory => ReportWriter::begin(&self.output).map(Some),
            Form::SingleFile => Ok(None),
        }
    }

    /// Writes the report and says where it is.
    fn finish(
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
                if let Some(dir) = self
                    .output
                    .parent()
                    .filter(|dir| !dir.as_os_str().is_empty())
                {
                    std::fs::create_dir_all(dir)
                        .with_context(|| format!("cannot make {}", dir.display()))?;
                }
                write_whole(&self.output, report.single_page()?.as_bytes())?;
                self.output.clone()
            }
        };
        match args.kept.quiet {
            true => Ok(()),
            false => say(&format_args!("{}\n", page.display())),
        }
    }

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
        facts.insert(0, format!("{} topics", self.topics.len()));
        Head {
            task,
            run: self.names[0].clone(),
            against: self.names.get(1).cloned(),
            facts,
            notes: self.notes.clone(),
            measures,
        }
    }
}

fn read_lines<T: RunLine>(run: &Path) -> Result<(PathBuf, Vec<T>, usize)> {
    let (path, bytes) = read_run(run)?;
    let (lines, errors) = T::read(&decode(bytes));
    for error in &errors {
        eprintln!("{}: {error}", path.display());
    }
    ensure!(
        !lines.is_empty(),
        "there is no line of this task's run in {}",
        path.display()
    );
    Ok((path, lines, errors.len()))
}

fn name<T: RunLine>(lines: &[T]) -> String {
    lines.first().map_or("", T::tag).to_owned()
}

/// `-o` names the file, with or without its ending.
fn html_file(output: &Path) -> PathBuf {
    match output.extension() {
        Some(ending) if ending.eq_ignore_ascii_case("html") => output.to_owned(),
        _ => {
            let mut name = output.as_os_str().to_owned();
            name.push(".html");
            name.into()
        }
    }
}

/// The run's explanations, or why there are none. Errors: those that are asked for by name are of another run, or none.
fn explanations<E: DeserializeOwned>(
    args: &InspectArgs,
    run: &Path,
    is_of_run: impl Fn(&[E]) -> bool,
) -> Result<Result<Vec<E>, String>> {
    let beside = run.with_file_name("explain.jsonl");
    let path = match &args.explain {
        Some(path) => path,
        None if beside.is_file() => &beside,
        None => {
            return Ok(Err(
                "There are no explanations beside the run (--explain writes them)".into(),
            ));
        }
    };
    let read = explained::read(&decode(read_bytes(path)?));
    let problem = match read {
        Ok(explained) if is_of_run(&explained) => return Ok(Ok(explained)),
        Ok(_) => "these are the explanations of another run".to_owned(),
        Err(error) => error.to_string(),
    };
    let problem = format!("{}: {problem}", path.display());
    match args.explain {
        Some(_) => bail!(problem),
        None => {
            eprintln!("note: {problem}");
            Ok(Err(
                "The explanations beside the run are not of this run".into()
            ))
        }
    }
}

/// Each line of the run is where its explanation says; scores are compared as the run writes them.
fn explains_images(explained: &[ExplainedImage], lines: &[ImageRunLine]) -> bool {
    let mut places: HashMap<(&TopicId, &DocId, Stance), (u32, f64)> = HashMap::new();
    for image in explained {
        for listed in &image.listed {
            let key = (&image.topic, &image.image, listed.stance);
            places.insert(key, (listed.rank, listed.score));
        }
    }
    places.len() == lines.len()
        && lines.iter().all(|line| {
            let place = places.get(&(&line.topic, &line.image, line.stance));
            place.is_some_and(|(rank, score)| {
                *rank == line.rank && (score - line.score).abs() < 1e-5
            })
        })
}

/// The run has each explained text at the rank that the explanation says.
fn explains_texts(explained: &[ExplainedText], lines: &[TextRunLine]) -> bool {
    let places: HashSet<(&TopicId, &DocId, usize)> = lines
        .iter()
        .map(|line| (&line.topic, &line.doc, line.rank as usize))
        .collect();
    !explained.is_empty()
        && explained
            .iter()
            .all(|text| places.contains(&(&text.topic, &text.document, text.rank)))
}

fn of_images(args: &InspectArgs) -> Result<u8> {
    let mut common = Common::read(args, explains_images)?;
    let (qrels, broken) = image_qrels(&args.qrels)?;
    let edition = edition(&args.edition);
    let collection = ImageCollection::open(&args.input)?;
    let evidence = match &args.evidence {
        Some(file) => file.clone(),
        None => default_store(&args.input, "--evidence")?,
    };
    let store = match evidence.is_file() || args.evidence.is_some() {
        true => Some(Store::open_to_read(&evidence)?),
        false => {
            common.notes.push(
                "No evidence is stored for this collection (riposte extract computes it), so words and text boxes are missing.".into(),
            );
            None
        }
    };
    let evaluate = |lines: &[ImageRunLine], qrels| evaluate_images(lines, qrels, edition);
    let evaluation = qrels.as_ref().map(|qrels| evaluate(&common.lines, qrels));
    let other = qrels.as_ref().zip(common.against.as_ref());
    let other = other.map(|(qrels, lines)| evaluate(lines, qrels));
    let measures = match &evaluation {
        Some(evaluation) => image_measures(evaluation, other.as_ref())?,
        None => Vec::new(),
    };
    let sources = images::Sources {
        collection: &collection,
        store: store.as_ref(),
        topics: &common.topics,
        run: &common.lines,
        against: common.against(),
        explained: &common.explained,
        judged: qrels
            .as_ref()
            .zip(evaluation.as_ref())
            .map(|(qrels, evaluation)| images::Judgements {
                qrels,
                edition,
                evaluation,
            }),
        depth: args.depth.unwrap_or(10) as usize,
        form: common.form,
    };
    let (plans, copies) = images::plan(&sources)?;
    let wanted = images::picture_list(&plans, &copies);
    let mut facts = vec![format!("{} images", collection.entries().len())];
    facts.extend(
        qrels
            .as_ref()
            .map(|qrels| judged_fact(&common.topics, qrels.keys())),
    );
    let head = common.head("Image retrieval for arguments", facts, measures);
    let draft = common.begin()?;
    let dir = draft.as_ref().map(|draft| draft.path().join(PICTURES));
    let place = dir
        .as_deref()
        .map_or(Destination::Inline, Destination::Files);
    let mut shown = Counted::new("pictures", wanted.images(), args.kept.quiet);
    let mut done = |count| shown.show(count, 0, "");
    let pictures = images::make_pictures(&sources, &wanted, place, &mut done)?;
    shown.end();
    let topics = images::topics(&sources, &plans, &copies, &pictures)?;
    common.finish(args, draft, &Report { head, topics })?;
    Ok(u8::from(common.broken + broken > 0))
}

fn of_texts(args: &InspectArgs, task: TextTask) -> Result<u8> {
    let common = Common::read(args, explains_texts)?;
    let mut broken = common.broken;
    let mut judged = Vec::new();
    for file in &args.qrels {
        let (name, qrels, errors) = read_judgements(file)?;
        ensure!(
            matches!(qrels, Qrels::Graded(_) | Qrels::Stances(_)),
            "{file}: these are no judgements of a text task"
        );
        broken += errors;
        judged.push((name, qrels));
    }
    let draft = common.begin()?;
    let approach = TextApproach::find(task, "riposte")?;
    let kept = &args.kept;
    let collection = open_collection(task, &args.input)?;
    let base = base(&args.input, kept)?;
    let mut printer = Printer::new(kept.quiet);
    let on_event = &mut |event| printer.print(event);
    let effort = effort(kept.threads)?;
    let indexes = TextIndexes::open(&collection, &base, &approach, effort, false, on_event)?;
    if kept.verbose {
        print_all_verified(&indexes);
    }
    let corpus = indexes
        .first()
        .context("the default approach has no retrieval")?;
    let measures = text_measures(&judged, &common.lines, common.against.as_deref())?;
    let topics: Vec<TopicReport> = texts::topics(&texts::Sources {
        task,
        corpus,
        topics: &common.topics,
        run: &common.lines,
        against: common.against(),
        explained: &common.explained,
        judged: &judged,
        depth: args.depth.unwrap_or(20) as usize,
        form: common.form,
    })?;
    let (title, what) = match task {
        TextTask::Controversial => ("Arguments for controversial questions", "arguments"),
        TextTask::Comparative => ("Passages for comparative questions", "passages"),
    };
    let mut facts = vec![format!("{} {what}", corpus.documents())];
    facts.extend(judged.iter().filter_map(|(name, qrels)| match qrels {
        Qrels::Graded(of) => Some(format!("{name} {}", judged_fact(&common.topics, of.keys()))),
        Qrels::Stances(of) => Some(format!("{name} {}", judged_fact(&common.topics, of.keys()))),
        _ => None,
    }));
    let report = Report {
        head: common.head(title, facts, measures),
        topics,
    };
    common.finish(args, draft, &report)?;
    Ok(u8::from(broken > 0))
}

fn judged_fact<'a>(topics: &[Topic], judged: impl Iterator<Item = &'a TopicId>) -> String {
    let of_these: HashSet<&TopicId> = topics.iter().map(|topic| &topic.id).collect();
    let judged = judged.filter(|id| of_these.contains(id)).count();
    format!("judged for {judged} of the topics")
}

fn image_qrels(files: &[String]) -> Result<(Option<ImageQrels>, usize)> {
    let [file] = files else {
        ensure!(
            files.is_empty(),
            "the image task has one file of judgements"
        );
        return Ok((None, 0));
    };
    match read_judgements(file)? {
        (_, Qrels::Images(qrels), errors) => Ok((Some(qrels), errors)),
        _ => bail!("{file}: these are no judgements of the image task"),
    }
}

fn image_measures(
    own: &ImageEvaluation,
    other: Option<&ImageEvaluation>,
) -> Result<Vec<MeasureColumn>> {
    let named = [
        ("on topic", "topicRelevanceP@10"),
        ("argumentative", "argumentativenessP@10"),
        ("on stance", "stanceRelevanceP@10"),
    ];
    let mut measures = Vec::new();
    for (name, measure) in named {
        let Measure::Image(image) = measure.parse()? else {
            continue;
        };
        measures.push(MeasureColumn {
            name: name.into(),
            unit: "P@10",
            measure: measure.into(),
            values: own.measure(&image),
            against: other.map(|other| other.measure(&image)),
        });
    }
    Ok(measures)
}

fn text_measures(
    judged: &[(String, Qrels)],
    own: &[TextRunLine],
    other: Option<&[TextRunLine]>,
) -> Result<Vec<MeasureColumn>> {
    let own = TextRun::new(own);
    let other = other.map(TextRun::new);
    let mut measures = Vec::new();
    for (name, qrels) in judged {
        let measure = match qrels {
            Qrels::Stances(_) => "StanceF1",
            _ => "nDCG@5",
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
        if let Some(of_run) = values(&own) {
            measures.push(MeasureColumn {
                name: name.clone(),
                unit: measure,
                measure: format!("{measure}, {name}"),
                values: of_run,
                against: other.as_ref().and_then(values),
            });
        }
    }
    Ok(measures)
}
