//! `evaluate`: measures runs by judgements, and compares the runs.

mod typed;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use serde::Serialize;

use super::files::{
    JudgementsFile, check_distinct, check_writable, read_judgements, read_run, say_broken_lines,
};
use super::{print, terminal};
use crate::judge::compare::{Table, interval};
use crate::judge::evaluate::{ImageEvaluation, counted_lines, evaluate_images};
use crate::judge::graded::TextRun;
use crate::judge::measure::{ImageMeasure, Measure};
use crate::judge::verify::{Rules, verify};
use crate::judge::{Values, stances::Confusion};
use crate::trec::edition::Edition;
use crate::trec::qrels::{GradedQrels, Qrels, StanceQrels};
use crate::trec::run::ImageRunLine;
use crate::trec::{DocId, LineError, Stance, TopicId, escaped, escaped_lines, run};
use typed::{Format, NamedRun, Typed, TypedMeasure};

pub(super) use typed::EvaluateArgs;

/// Maximum number of runs whose confusion matrices are printed below the table.
const DETAILED_RUNS: usize = 3;

/// The meaning of the rows "at most" of a table.
const AT_MOST: &str = "at most: the best that a run can reach, because some topics have fewer relevant images than places";

/// Judgements, their name in tables, and the measures that are computed from them.
struct Judgements {
    name: String,
    qrels: Qrels,
    measures: Vec<Measure>,
}

/// A run and its evaluation.
struct EvaluatedRun {
    name: String,
    path: PathBuf,
    bytes: Vec<u8>,
    /// The values of each measure, in the order of the judgements and their measures.
    values: Vec<Values>,
    /// The highest value of each measure that the run can reach with the judgements; `None` if that is 1.
    attainable: Vec<Option<f64>>,
    details: Vec<Detail>,
    errors: Vec<LineError>,
    remarks: Vec<String>,
    /// Whether no line can be read.
    is_empty: bool,
}

/// Results that are printed in addition to the values of the measures.
enum Detail {
    Images(ImageEvaluation),
    Stances {
        qrels: String,
        /// Of all results.
        all: Confusion,
        /// Of the first five results of each topic.
        first: Confusion,
    },
}

/// `riposte evaluate`. The exit code is 1 if there are lines that cannot be read.
pub fn evaluate(args: &EvaluateArgs) -> Result<u8> {
    let edition = args.edition;
    let typed = Typed::read(args)?;
    let mut errors = 0;
    let mut judgements = Vec::new();
    for file in &typed.judgements {
        let read = read_judgements(file)?;
        errors += read.errors;
        let JudgementsFile { name, qrels, .. } = read;
        judgements.push(Judgements {
            name: escaped(&name).to_string(),
            qrels,
            measures: Vec::new(),
        });
    }
    choose_measures(&mut judgements, &typed.measures)?;
    let runs: Vec<PathBuf> = typed.runs.iter().map(|run| run.path.clone()).collect();
    if let Some(file) = &args.prototext {
        check_writable(file)?;
        let mut inputs: Vec<&Path> = runs.iter().map(PathBuf::as_path).collect();
        inputs.extend(typed.judgements.iter().map(Path::new));
        check_distinct(&[("--prototext", file)], &inputs)?;
    }

    let names = named(&typed.runs);
    let runs = runs
        .par_iter()
        .zip(names)
        .map(|(run, name)| EvaluatedRun::read(run, name, &judgements, edition))
        .collect::<Result<Vec<EvaluatedRun>>>()?;
    for run in &runs {
        say_broken_lines(&run.path, &run.errors);
        for remark in &run.remarks {
            say!(
                "{}: {}",
                escaped(&run.path.to_string_lossy()),
                escaped(remark)
            );
        }
        errors += run.errors.len();
    }
    if let Some(file) = &args.prototext {
        let prototext = official_prototext(&judgements, &runs, edition)?;
        std::fs::write(file, prototext)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let runs_empty = runs.iter().any(|run| run.is_empty);
    print_runs(args, &judgements, runs, typed.measures.is_empty())?;
    Ok(u8::from(errors > 0 || runs_empty))
}

/// The output of the organisers' evaluator for the lines that it accepts.
fn official_prototext(
    judgements: &[Judgements],
    runs: &[EvaluatedRun],
    edition: &'static Edition,
) -> Result<String> {
    let ([judgements], [run]) = (judgements, runs) else {
        bail!("--prototext needs a single run and a single file of image judgements");
    };
    let Qrels::Images(qrels) = &judgements.qrels else {
        bail!("--prototext needs image judgements");
    };
    let verdict = verify(&run.bytes, &Rules::of_evaluator(edition));
    Ok(evaluate_images(&verdict.accepted, qrels, edition).prototext())
}

/// Assigns to each of the judgements the measures that can be computed from them; without `chosen` ones, the default measures.
fn choose_measures(judgements: &mut [Judgements], chosen: &[TypedMeasure]) -> Result<()> {
    for measure in chosen {
        measure.check(judgements.iter().map(|j| &j.qrels))?;
    }
    for judgement in judgements {
        judgement.measures = if chosen.is_empty() {
            Measure::defaults(&judgement.qrels)?
        } else {
            let fitting = chosen.iter().flat_map(|m| m.with(&judgement.qrels));
            fitting.collect()
        };
    }
    Ok(())
}

/// The name of each run: the given one, or that of its file.
fn named(runs: &[NamedRun]) -> Vec<String> {
    let paths: Vec<PathBuf> = runs.iter().map(|run| run.path.clone()).collect();
    let names = runs.iter().zip(run_names(&paths));
    names
        .map(|(run, name)| run.name.clone().unwrap_or(name))
        .collect()
}

/// The file names of the runs, or the last components of their paths that make them distinct.
pub(super) fn run_names(runs: &[PathBuf]) -> Vec<String> {
    let depth = runs.iter().map(|run| run.components().count()).max();
    let last_components = |run: &PathBuf, count: usize| {
        let all: Vec<_> = run.components().collect();
        let last: PathBuf = all[all.len().saturating_sub(count)..].iter().collect();
        escaped(&last.to_string_lossy()).to_string()
    };
    for count in 1..depth.unwrap_or(1) {
        let names: Vec<String> = runs.iter().map(|run| last_components(run, count)).collect();
        if names.iter().collect::<HashSet<_>>().len() == names.len() {
            return names;
        }
    }
    runs.iter()
        .map(|run| escaped(&run.to_string_lossy()).to_string())
        .collect()
}

impl EvaluatedRun {
    /// Reads a run and computes the measures of all judgements.
    fn read(
        run: &Path,
        name: String,
        judgements: &[Judgements],
        edition: &'static Edition,
    ) -> Result<EvaluatedRun> {
        let (path, bytes) = read_run(run)?;
        let mut evaluated = EvaluatedRun {
            name,
            path,
            bytes: Vec::new(),
            values: Vec::new(),
            attainable: Vec::new(),
            details: Vec::new(),
            errors: Vec::new(),
            remarks: Vec::new(),
            is_empty: false,
        };
        let text = String::from_utf8_lossy(&bytes);
        let is_of_images = |j: &Judgements| matches!(j.qrels, Qrels::Images(_));
        let (mut images, mut texts) = (Vec::new(), Vec::new());
        if judgements.iter().any(is_of_images) {
            (images, evaluated.errors) = run::read_images(&text);
            evaluated
                .remarks
                .extend(left_out_by_organisers(&bytes, &images));
        }
        if !judgements.iter().all(is_of_images) {
            (texts, evaluated.errors) = run::read_texts(&text);
        }
        if images.is_empty() && texts.is_empty() {
            evaluated.is_empty = true;
            let what = "no line of a run can be read: everything counts as 0";
            evaluated.remarks.push(what.to_owned());
        }
        let texts = TextRun::new(&texts);
        if texts.repeated > 0 {
            evaluated.remarks.push(format!(
                "{} lines repeat a document of their topic: only its best rank counts",
                texts.repeated
            ));
        }
        for judgements in judgements {
            let unjudged = match &judgements.qrels {
                Qrels::Images(qrels) => {
                    let evaluation = evaluate_images(&images, qrels, edition);
                    evaluated.add_images(evaluation, judgements)
                }
                Qrels::Graded(qrels) | Qrels::Answers(qrels) => {
                    evaluated.add_graded(&texts, qrels, judgements)
                }
                Qrels::Stances(qrels) => evaluated.add_stances(&texts, qrels, judgements),
            };
            if unjudged > 0 {
                evaluated.remarks.push(format!(
                    "{} without judgements in {}",
                    terminal::counted(unjudged, "topic", "topics"),
                    judgements.name
                ));
            }
        }
        evaluated.bytes = bytes;
        Ok(evaluated)
    }

    /// Adds the values of the measures. Returns the number of topics without judgements, as do the next two methods.
    fn add_images(&mut self, evaluation: ImageEvaluation, judgements: &Judgements) -> usize {
        for measure in &judgements.measures {
            if let Measure::Image(measure) = measure {
                self.values.push(evaluation.measure(measure));
                let most = evaluation.attainable(measure).all();
                self.attainable.push((most < 1.0).then_some(most));
            }
        }
        let topics = evaluation.topics.values();
        let unjudged = topics.filter(|t| t.in_run && !t.is_judged).count();
        self.details.push(Detail::Images(evaluation));
        unjudged
    }

    fn add_graded(&mut self, run: &TextRun, qrels: &GradedQrels, judgements: &Judgements) -> usize {
        for measure in &judgements.measures {
            if let Measure::Graded(measure) = measure {
                self.values.push(run.measure(qrels, measure));
                self.attainable.push(None);
            }
        }
        run.unjudged_topics(|topic| qrels.contains_key(topic))
    }

    fn add_stances(
        &mut self,
        run: &TextRun,
        qrels: &StanceQrels,
        judgements: &Judgements,
    ) -> usize {
        for measure in &judgements.measures {
            if let Measure::Stance(measure) = measure {
                self.values.push(run.measure_stances(qrels, measure));
                self.attainable.push(None);
            }
        }
        let sum = |cutoff| {
            let topics = run.confusions(qrels, cutoff);
            let confusions = topics.values();
            confusions.fold(Confusion::default(), |sum, c| sum.and(c))
        };
        self.details.push(Detail::Stances {
            qrels: judgements.name.clone(),
            all: sum(None),
            first: sum(Some(5)),
        });
        run.unjudged_topics(|topic| qrels.contains_key(topic))
    }
}

/// A remark about the lines of an image run that count here, but that the organisers' evaluator leaves out because they break a rule of the task. No
/// topic or image is unknown, because the judgements can be of any collection.
fn left_out_by_organisers(bytes: &[u8], images: &[ImageRunLine]) -> Option<String> {
    fn key(line: &ImageRunLine) -> (&TopicId, Stance, &DocId, u32) {
        (&line.topic, line.stance, &line.image, line.rank)
    }
    let rules = Rules::of(Edition::first())
        .with_topics(images.iter().map(|line| line.topic.clone()))
        .with_documents(images.iter().map(|line| line.image.clone()));
    let accepted = verify(bytes, &rules).accepted;
    // of lines that say the same, some can be accepted and others not
    let mut left_out: HashMap<_, isize> = HashMap::new();
    for line in counted_lines(images) {
        *left_out.entry(key(line)).or_default() += 1;
    }
    for line in &accepted {
        left_out.entry(key(line)).and_modify(|count| *count -= 1);
    }
    let left_out: isize = left_out.into_values().filter(|count| *count > 0).sum();
    match left_out {
        0 => None,
        1 => Some(
            "a line counts here, but breaks a rule of the task (`riposte verify` names it): the organisers' evaluator leaves it out".into(),
        ),
        count => Some(format!(
            "{count} lines count here, but break a rule of the task (`riposte verify` names them): the organisers' evaluator leaves them out"
        )),
    }
}

/// A value in the formats `tsv` and `jsonl`.
#[derive(Serialize)]
struct Cell<'a> {
    run: &'a str,
    qrels: &'a str,
    measure: &'a str,
    topic: &'a str,
    value: f64,
}

fn print_runs(
    args: &EvaluateArgs,
    judgements: &[Judgements],
    runs: Vec<EvaluatedRun>,
    default_measures: bool,
) -> Result<()> {
    let columns: Vec<(&str, String)> = judgements
        .iter()
        .flat_map(|j| j.measures.iter().map(|m| (j.name.as_str(), m.to_string())))
        .collect();
    if args.format() != Format::Table {
        return print_cells(args, &columns, &runs);
    }
    let width = terminal::width();
    // a single image run is printed in the layout of the organisers' tables
    if let ([run], [_], true) = (runs.as_slice(), judgements, default_measures && !args.ci)
        && let [Detail::Images(evaluation)] = run.details.as_slice()
    {
        let path = run.path.to_string_lossy();
        print(&format_args!(
            "{}\n{}",
            escaped(&path),
            escaped_lines(&evaluation.to_string())
        ))?;
        if args.by_topic {
            let by_topic = evaluation.by_topic().to_string();
            print(&format_args!("\n{}", escaped_lines(&by_topic)))?;
        }
        return Ok(());
    }
    let several = judgements.len() > 1;
    let mut table = Table {
        columns: columns
            .iter()
            .map(|(qrels, measure)| {
                if several {
                    format!("{qrels}:{measure}")
                } else {
                    measure.clone()
                }
            })
            .collect(),
        rows: Vec::new(),
        attainable: Vec::new(),
    };
    let mut details = Vec::new();
    for run in runs {
        details.push(run.details);
        table.attainable.push(run.attainable);
        table.rows.push((run.name, run.values));
    }
    if default_measures {
        leave_out_repeated(&mut table, judgements);
    }
    let is_limited = table.attainable.iter().flatten().any(Option::is_some);
    if !is_limited {
        table.attainable.clear();
    }
    let show = |table: &dyn fmt::Display| match terminal::has_colours() {
        true => format!("{table:#width$}"),
        false => format!("{table:width$}"),
    };
    print(&show(&table))?;
    if is_limited {
        print(&terminal::wrapped(AT_MOST, 0))?;
    }
    if args.ci {
        print(&format_args!("\n{}", show(&table.intervals())))?;
    }
    if table.rows.len() > 1 {
        print(&format_args!("\n{}", show(&table.differences())))?;
    }
    let detailed = table.rows.len() <= DETAILED_RUNS;
    for ((name, _), details) in table.rows.iter().zip(details).filter(|_| detailed) {
        for detail in details {
            if let Detail::Stances { qrels, all, first } = detail {
                print(&format_args!("\n{name}, {qrels}, all results\n{all}"))?;
                print(&format_args!(
                    "\n{name}, {qrels}, first five results of each topic\n{first}"
                ))?;
            }
        }
    }
    if args.by_topic {
        for (row, (name, _)) in table.rows.iter().enumerate() {
            let by_topic = table.by_topic(row);
            print(&format_args!("\n{name}\n{}", show(&by_topic)))?;
        }
    }
    Ok(())
}

/// Leaves out the measures of images over all judged topics if the runs have all of these topics: then they equal the measures over the topics of the
/// runs.
fn leave_out_repeated(table: &mut Table, judgements: &[Judgements]) {
    let measures = judgements.iter().flat_map(|judgements| {
        let own = judgements.measures.iter();
        own.map(|measure| (&judgements.name, measure))
    });
    let measures: Vec<(&String, &Measure)> = measures.collect();
    let repeats = |at: usize| {
        let (name, Measure::Image(measure)) = measures[at] else {
            return false;
        };
        let of_run = Measure::Image(ImageMeasure {
            all_judged: false,
            ..*measure
        });
        let first = measures.iter().position(|m| *m == (name, &of_run));
        let same = |(_, values): &(String, Vec<Values>)| {
            first.is_some_and(|first| values[first].topics == values[at].topics)
        };
        measure.all_judged && table.rows.iter().all(same)
    };
    let kept: Vec<usize> = (0..measures.len()).filter(|at| !repeats(*at)).collect();
    table.columns = kept.iter().map(|at| table.columns[*at].clone()).collect();
    for (_, values) in &mut table.rows {
        *values = kept.iter().map(|at| values[*at].clone()).collect();
    }
    for attainable in &mut table.attainable {
        *attainable = kept.iter().map(|at| attainable[*at]).collect();
    }
}

fn print_cells(
    args: &EvaluateArgs,
    columns: &[(&str, String)],
    runs: &[EvaluatedRun],
) -> Result<()> {
    let print_cell = |cell: Cell| -> Result<()> {
        match args.format() {
            Format::Jsonl => print(&format_args!("{}\n", serde_json::to_string(&cell)?)),
            _ => {
                let Cell {
                    run,
                    qrels,
                    measure,
                    topic,
                    value,
                } = cell;
                let topic = escaped(topic);
                print(&format_args!(
                    "{run}\t{qrels}\t{measure}\t{topic}\t{value}\n"
                ))
            }
        }
    };
    if args.format() == Format::Tsv {
        print(&"run\tqrels\tmeasure\ttopic\tvalue\n")?;
    }
    for run in runs {
        for ((qrels, measure), values) in columns.iter().zip(&run.values) {
            let cell = |topic, value| Cell {
                run: &run.name,
                qrels,
                measure,
                topic,
                value,
            };
            if args.by_topic {
                for (topic, value) in &values.topics {
                    print_cell(cell(&topic.0, *value))?;
                }
            }
            print_cell(cell("all", values.all()))?;
            if args.ci {
                let (low, high) = interval(values);
                print_cell(cell("all.low", low))?;
                print_cell(cell("all.high", high))?;
            }
        }
    }
    Ok(())
}
