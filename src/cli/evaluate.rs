//! `evaluate`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;
use serde::Serialize;

use super::files::{read_judgements, read_run};
use super::{EvaluateArgs, Format, say};
use crate::judge::evaluate::{ImageEvaluation, evaluate_images};
use crate::judge::graded::TextRun;
use crate::judge::measure::{
    ANSWER_DEFAULTS, GRADED_DEFAULTS, IMAGE_DEFAULTS, Measure, STANCE_DEFAULTS, TOUCHE_LEVELS,
};
use crate::judge::verify::{ImageRules, verify_images};
use crate::judge::{Edition, Values, compare::Table, stances::Confusion};
use crate::trec::qrels::Qrels;
use crate::trec::{LineError, run};

/// Runs whose confusion matrices are printed beside the table.
const DETAILED_RUNS: usize = 3;

/// Judgements, and the name under which their measures are shown.
struct Judgements {
    name: String,
    qrels: Qrels,
    measures: Vec<Measure>,
}

/// A run as the judgements ask for it.
struct Measured {
    name: String,
    path: PathBuf,
    bytes: Vec<u8>,
    /// One for each of the judgements' measures, in their order.
    values: Vec<Values>,
    details: Vec<Detail>,
    errors: Vec<LineError>,
    remarks: Vec<String>,
}

enum Detail {
    Images(ImageEvaluation),
    Stances {
        qrels: String,
        all: Confusion,
        first: Confusion,
    },
}

/// Exit code 1 if there are lines that could not be read.
pub fn evaluate(args: &EvaluateArgs) -> Result<u8> {
    let edition = edition(&args.edition);
    let mut broken = 0;
    let mut judgements = Vec::new();
    for file in std::iter::once(&args.qrels).chain(&args.more_qrels) {
        let (name, qrels, errors) = read_judgements(file)?;
        broken += errors;
        judgements.push(Judgements {
            name,
            qrels,
            measures: Vec::new(),
        });
    }
    let (runs, measures) = runs_and_measures(args)?;
    choose_measures(&mut judgements, &measures)?;

    let names = run_names(&runs);
    let runs = runs
        .par_iter()
        .zip(names)
        .map(|(run, name)| read_and_measure(run, name, &judgements, edition))
        .collect::<Result<Vec<Measured>>>()?;
    for run in &runs {
        for error in &run.errors {
            eprintln!("{}: {error}", run.path.display());
        }
        for remark in &run.remarks {
            eprintln!("{}: {remark}", run.path.display());
        }
        broken += run.errors.len();
    }
    if let Some(file) = &args.prototext {
        let prototext = official_prototext(&judgements, &runs, edition)?;
        std::fs::write(file, prototext)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    print_runs(args, &judgements, runs, measures.is_empty())?;
    Ok(u8::from(broken > 0))
}

/// The edition of that year.
pub(super) fn edition(year: &str) -> Edition {
    match year {
        "2023" => Edition::Touche2023,
        _ => Edition::Touche2022,
    }
}

/// What the organisers' evaluator says of the run's lines that it takes.
fn official_prototext(
    judgements: &[Judgements],
    runs: &[Measured],
    edition: Edition,
) -> Result<String> {
    let ([judgements], [run]) = (judgements, runs) else {
        bail!("--prototext is for one run and one file of image judgements");
    };
    let Qrels::Images(qrels) = &judgements.qrels else {
        bail!("--prototext is for image judgements");
    };
    let verdict = verify_images(&run.bytes, &ImageRules::evaluator(edition));
    Ok(evaluate_images(&verdict.accepted, qrels, edition).prototext())
}

/// What is a file is a run, what has a measure's name is a measure.
fn runs_and_measures(args: &EvaluateArgs) -> Result<(Vec<PathBuf>, Vec<Measure>)> {
    let mut levels: Vec<(String, f64)> = args.levels.clone();
    levels.extend(TOUCHE_LEVELS.map(|(name, grade)| (name.to_owned(), grade)));
    let (mut runs, mut measures) = (Vec::new(), Vec::new());
    for argument in &args.runs_and_measures {
        let path = Path::new(argument);
        if path.exists() {
            runs.push(path.to_owned());
        } else {
            let missing = || format!("there is no file {argument}, and no measure of that name");
            measures.push(Measure::parse(argument, &levels).with_context(missing)?);
        }
    }
    ensure!(!runs.is_empty(), "there is no run to measure");
    Ok((runs, measures))
}

/// Gives each of the judgements those of the measures that fit them, or their own where none is asked for.
fn choose_measures(judgements: &mut [Judgements], asked: &[Measure]) -> Result<()> {
    let fits = |measure: &Measure, qrels: &Qrels| {
        matches!(
            (measure, qrels),
            (Measure::Graded(_), Qrels::Graded(_) | Qrels::Answers(_))
                | (Measure::Image(_), Qrels::Images(_))
                | (Measure::Stance(_), Qrels::Stances(_))
        )
    };
    for measure in asked {
        ensure!(
            judgements.iter().any(|j| fits(measure, &j.qrels)),
            "{measure} cannot be computed from these judgements"
        );
    }
    for judgement in judgements {
        if asked.is_empty() {
            let names = match &judgement.qrels {
                Qrels::Graded(_) => GRADED_DEFAULTS,
                Qrels::Images(_) => IMAGE_DEFAULTS,
                Qrels::Stances(_) => STANCE_DEFAULTS,
                Qrels::Answers(_) => ANSWER_DEFAULTS,
            };
            for name in names {
                judgement.measures.push(name.parse()?);
            }
        } else {
            let fitting = asked.iter().filter(|m| fits(m, &judgement.qrels));
            judgement.measures = fitting.cloned().collect();
        }
    }
    Ok(())
}

/// The runs' file names, or as much of their paths as tells them apart.
pub(super) fn run_names(runs: &[PathBuf]) -> Vec<String> {
    let depth = runs.iter().map(|run| run.components().count()).max();
    let end = |run: &PathBuf, parts: usize| {
        let parts_of: Vec<_> = run.components().collect();
        let end: PathBuf = parts_of[parts_of.len().saturating_sub(parts)..]
            .iter()
            .collect();
        end.display().to_string()
    };
    for parts in 1..depth.unwrap_or(1) {
        let names: Vec<String> = runs.iter().map(|run| end(run, parts)).collect();
        if names.iter().collect::<HashSet<_>>().len() == names.len() {
            return names;
        }
    }
    runs.iter().map(|run| run.display().to_string()).collect()
}

fn read_and_measure(
    run: &Path,
    name: String,
    judgements: &[Judgements],
    edition: Edition,
) -> Result<Measured> {
    let (path, bytes) = read_run(run)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut read = Measured {
        name,
        path,
        bytes: Vec::new(),
        values: Vec::new(),
        details: Vec::new(),
        errors: Vec::new(),
        remarks: Vec::new(),
    };
    let is_of_images = |j: &Judgements| matches!(j.qrels, Qrels::Images(_));
    let (mut images, mut texts) = (Vec::new(), Vec::new());
    if judgements.iter().any(is_of_images) {
        (images, read.errors) = run::read_images(&text);
    }
    if !judgements.iter().all(is_of_images) {
        (texts, read.errors) = run::read_texts(&text);
    }
    let ranked = TextRun::new(&texts);
    if ranked.repeated > 0 {
        let what = "lines repeat a document of their topic: only its best place counts";
        read.remarks.push(format!("{} {what}", ranked.repeated));
    }
    for judgement in judgements {
        let unjudged = match &judgement.qrels {
            Qrels::Images(qrels) => {
                let evaluation = evaluate_images(&images, qrels, edition);
                for measure in &judgement.measures {
                    if let Measure::Image(measure) = measure {
                        read.values.push(evaluation.measure(measure));
                    }
                }
                let topics = evaluation.topics.values();
                let unjudged = topics.filter(|t| t.in_run && !t.is_judged).count();
                read.details.push(Detail::Images(evaluation));
                unjudged
            }
            Qrels::Graded(qrels) | Qrels::Answers(qrels) => {
                for measure in &judgement.measures {
                    if let Measure::Graded(measure) = measure {
                        read.values.push(ranked.measure(qrels, measure));
                    }
                }
                ranked.unjudged_topics(|topic| qrels.contains_key(topic))
            }
            Qrels::Stances(qrels) => {
                for measure in &judgement.measures {
                    if let Measure::Stance(measure) = measure {
                        read.values.push(ranked.measure_stances(qrels, measure));
                    }
                }
                let sum = |cutoff| {
                    let topics = ranked.confusions(qrels, cutoff);
                    let confusions = topics.values();
                    confusions.fold(Confusion::default(), |sum, c| sum.and(c))
                };
                read.details.push(Detail::Stances {
                    qrels: judgement.name.clone(),
                    all: sum(None),
                    first: sum(Some(5)),
                });
                ranked.unjudged_topics(|topic| qrels.contains_key(topic))
            }
        };
        if unjudged > 0 {
            let what = format!("{unjudged} topics without judgements in {}", judgement.name);
            read.remarks.push(what);
        }
    }
    read.bytes = bytes;
    Ok(read)
}

/// A value of `--format tsv` and `jsonl`.
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
    runs: Vec<Measured>,
    by_default: bool,
) -> Result<()> {
    let columns: Vec<(&str, String)> = judgements
        .iter()
        .flat_map(|j| j.measures.iter().map(|m| (j.name.as_str(), m.to_string())))
        .collect();
    if args.format != Format::Table {
        return print_cells(args, &columns, &runs);
    }
    // One run of the image task has a table of its own, as the organisers' tables are laid out.
    if let ([run], [_], true) = (runs.as_slice(), judgements, by_default)
        && let [Detail::Images(evaluation)] = run.details.as_slice()
    {
        say(&format_args!("{}\n{evaluation}", run.path.display()))?;
        if args.by_topic {
            say(&format_args!("\n{}", evaluation.by_topic()))?;
        }
        return Ok(());
    }
    let several = judgements.len() > 1;
    let (mut rows, mut details) = (Vec::new(), Vec::new());
    for run in runs {
        details.push(run.details);
        rows.push((run.name, run.values));
    }
    let table = Table {
        columns: columns
            .iter()
            .map(|(qrels, measure)| match several {
                true => format!("{qrels}:{measure}"),
                false => measure.clone(),
            })
            .collect(),
        rows,
    };
    say(&table)?;
    if table.rows.len() > 1 {
        say(&format_args!("\n{}", table.differences()))?;
    }
    for ((name, _), details) in table.rows.iter().zip(details) {
        for detail in details {
            if let (Detail::Stances { qrels, all, first }, true) =
                (detail, table.rows.len() <= DETAILED_RUNS)
            {
                say(&format_args!("\n{name}, {qrels}, all results\n{all}"))?;
                say(&format_args!(
                    "\n{name}, {qrels}, first five of a topic\n{first}"
                ))?;
            }
        }
    }
    if args.by_topic {
        for (row, (name, _)) in table.rows.iter().enumerate() {
            say(&format_args!("\n{name}\n{}", table.by_topic(row)))?;
        }
    }
    Ok(())
}

fn print_cells(args: &EvaluateArgs, columns: &[(&str, String)], runs: &[Measured]) -> Result<()> {
    let print = |cell: Cell| -> Result<()> {
        match args.format {
            Format::Jsonl => say(&format_args!("{}\n", serde_json::to_string(&cell)?)),
            _ => {
                let Cell {
                    run,
                    qrels,
                    measure,
                    topic,
                    value,
                } = cell;
                say(&format_args!(
                    "{run}\t{qrels}\t{measure}\t{topic}\t{value}\n"
                ))
            }
        }
    };
    if args.format == Format::Tsv {
        say(&"run\tqrels\tmeasure\ttopic\tvalue\n")?;
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
                    print(cell(&topic.0, *value))?;
                }
            }
            print(cell("all", values.all()))?;
        }
    }
    Ok(())
}
