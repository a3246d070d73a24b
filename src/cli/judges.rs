//! `verify` and `evaluate`.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use flate2::read::MultiGzDecoder;
use rayon::prelude::*;
use serde::Serialize;

use super::{EvaluateArgs, Format, Task, VerifyArgs, say, texts};
use crate::collection::images::ImageCollection;
use crate::collection::read_topics;
use crate::judge::evaluate::{ImageEvaluation, evaluate_images};
use crate::judge::graded::TextRun;
use crate::judge::measure::{
    ANSWER_DEFAULTS, GRADED_DEFAULTS, IMAGE_DEFAULTS, Measure, STANCE_DEFAULTS, TOUCHE_LEVELS,
};
use crate::judge::verify::{
    AnswerRules, Finding, ImageRules, TextRules, TextTask, is_valid, verify_answers, verify_images,
    verify_texts,
};
use crate::judge::{Edition, Values, compare::Table, stances::Confusion};
use crate::task::text_approach;
use crate::trec::qrels::{self, Qrels};
use crate::trec::{DocId, LineError, TopicId, run};

/// Findings of a kind that are printed where not all are asked for.
const SHOWN: usize = 5;

/// Runs whose confusion matrices are printed beside the table.
const DETAILED_RUNS: usize = 3;

/// Exit code 0 if every run is valid, 1 if one is not.
pub fn verify(args: &VerifyArgs) -> Result<u8> {
    let rules = Rules::of(args)?;
    if args.prototext.is_some() {
        ensure!(
            matches!(rules, Rules::Images(_)) && args.runs.len() == 1,
            "--prototext is for one image run of 2022 or 2023"
        );
    }
    let mut all_valid = true;
    for run in &args.runs {
        let (path, bytes) = read_run(run)?;
        let findings = match &rules {
            Rules::Images(rules) => {
                let verdict = verify_images(&bytes, rules);
                if let Some(file) = &args.prototext {
                    write(file, &verdict.prototext())?;
                }
                verdict.findings
            }
            Rules::Texts(rules) => verify_texts(&bytes, rules),
            Rules::Answers(rules) => verify_answers(&bytes, rules),
        };
        all_valid &= is_valid(&findings);
        print_findings(&path, &findings, args.verbose)?;
    }
    Ok(u8::from(!all_valid))
}

fn print_findings(path: &Path, findings: &[Finding], all: bool) -> Result<()> {
    let path = path.display();
    let mut seen = BTreeMap::new();
    for finding in findings {
        let count = seen.entry((finding.severity, finding.rule)).or_insert(0);
        *count += 1;
        if all || *count <= SHOWN {
            say(&format_args!("{path}: {finding}\n"))?;
        }
    }
    let more: usize = seen.values().map(|n: &usize| n.saturating_sub(SHOWN)).sum();
    if more > 0 && !all {
        say(&format_args!(
            "{path}: {more} more of these kinds (--verbose prints all)\n"
        ))?;
    }
    let verdict = if is_valid(findings) {
        "valid"
    } else {
        "NOT valid"
    };
    say(&format_args!("{path}: {verdict}\n"))
}

/// What runs are held against.
enum Rules {
    Images(ImageRules),
    Texts(TextRules),
    Answers(AnswerRules),
}

impl Rules {
    fn of(args: &VerifyArgs) -> Result<Rules> {
        let mut topics = match &args.topics {
            Some(file) => Some(topic_ids(file)?),
            None => None,
        };
        let mut ids: Option<HashSet<DocId>> = match &args.ids {
            Some(file) => {
                let text = decode(read_bytes(file)?);
                let ids = text.split_whitespace().map(|id| DocId(id.to_owned()));
                Some(ids.collect())
            }
            None => None,
        };
        if let Some(dir) = &args.input {
            ids = Some(collection_ids(args.task, dir)?);
            let file = dir.join("topics.xml");
            if topics.is_none() && file.exists() {
                topics = Some(topic_ids(&file)?);
            }
        }
        Ok(match (args.task, args.edition) {
            (Task::Images, 2022 | 2023) => {
                let mut rules = ImageRules::edition(match args.edition {
                    2023 => Edition::Touche2023,
                    _ => Edition::Touche2022,
                });
                if let Some(topics) = topics {
                    rules = rules.with_topics(topics);
                }
                if let Some(ids) = ids {
                    rules = rules.with_images(ids);
                }
                Rules::Images(rules)
            }
            (Task::Images, 2025) => {
                let mut rules = AnswerRules::default();
                if let Some(topics) = topics {
                    rules = rules.with_arguments(topics);
                }
                if let Some(ids) = ids {
                    rules = rules.with_images(ids);
                }
                Rules::Answers(rules)
            }
            (Task::Controversial | Task::Comparative, year @ 2020..=2022) => {
                let task = match args.task {
                    Task::Comparative => TextTask::Comparative,
                    _ => TextTask::Controversial,
                };
                let mut rules = TextRules::edition(task, year);
                if let Some(topics) = topics {
                    rules = rules.with_topics(topics);
                }
                if let Some(ids) = ids {
                    rules = rules.with_docs(ids);
                }
                Rules::Texts(rules)
            }
            (Task::Images, year) => {
                bail!("there was no image task in {year}: it is 2022, 2023 or 2025")
            }
            (_, year) => bail!("the text tasks are those of 2020, 2021 and 2022, not {year}"),
        })
    }
}

fn topic_ids(file: &Path) -> Result<Vec<TopicId>> {
    Ok(read_topics(file)?.into_iter().map(|t| t.id).collect())
}

fn collection_ids(task: Task, dir: &Path) -> Result<HashSet<DocId>> {
    match task {
        Task::Images => {
            let collection = ImageCollection::open(dir)?;
            Ok(collection.entries().iter().map(|e| e.id.clone()).collect())
        }
        Task::Controversial => texts::ids(text_approach::TextTask::Controversial, dir),
        Task::Comparative => texts::ids(text_approach::TextTask::Comparative, dir),
    }
}

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
    let edition = match args.edition.as_str() {
        "2023" => Edition::Touche2023,
        _ => Edition::Touche2022,
    };
    let mut broken = 0;
    let mut judgements = Vec::new();
    for file in std::iter::once(&args.qrels).chain(&args.more_qrels) {
        let (judgement, errors) = read_judgements(file)?;
        broken += errors;
        judgements.push(judgement);
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
        write(file, &official_prototext(&judgements, &runs, edition)?)?;
    }
    print_runs(args, &judgements, runs, measures.is_empty())?;
    Ok(u8::from(broken > 0))
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

fn read_judgements(argument: &str) -> Result<(Judgements, usize)> {
    let named = argument
        .split_once('=')
        .filter(|_| !Path::new(argument).exists());
    let (name, path) = match named {
        Some((name, path)) => (name.to_owned(), Path::new(path)),
        None => {
            let path = Path::new(argument);
            let name = path.file_stem().unwrap_or_default();
            (name.to_string_lossy().into_owned(), path)
        }
    };
    let (qrels, errors) = qrels::read(&decode(read_bytes(path)?));
    for error in &errors {
        eprintln!("{}: {error}", path.display());
    }
    let is_empty = match &qrels {
        Qrels::Images(images) => images.is_empty(),
        Qrels::Graded(grades) | Qrels::Answers(grades) => grades.is_empty(),
        Qrels::Stances(stances) => stances.is_empty(),
    };
    ensure!(!is_empty, "there is no judgement in {}", path.display());
    if let Qrels::Graded(grades) = &qrels {
        let nothing: Vec<&str> = grades
            .iter()
            .filter(|(_, of)| of.values().all(|grade| *grade <= 0.0))
            .map(|(topic, _)| topic.0.as_str())
            .collect();
        if !nothing.is_empty() {
            eprintln!(
                "{}: nothing is relevant to topic {}: it counts as 0, but for the organisers' nDCG",
                path.display(),
                nothing.join(", ")
            );
        }
    }
    let judgements = Judgements {
        name,
        qrels,
        measures: Vec::new(),
    };
    Ok((judgements, errors.len()))
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
fn run_names(runs: &[PathBuf]) -> Vec<String> {
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

/// The run's file and its bytes. TIRA hands runs as a file, or as a directory that holds run.txt, or one that
/// holds such a directory named output; the organisers' scripts take the only .txt file of whatever name.
fn read_run(run: &Path) -> Result<(PathBuf, Vec<u8>)> {
    let path = if run.is_dir() {
        let names = ["run.txt", "run.txt.gz", "results.jsonl"];
        let known = [run.to_owned(), run.join("output")]
            .iter()
            .flat_map(|dir| names.map(|name| dir.join(name)))
            .find(|path| path.is_file());
        match known {
            Some(path) => path,
            None => only_text_file(run)?,
        }
    } else {
        run.to_owned()
    };
    let bytes = read_bytes(&path)?;
    Ok((path, bytes))
}

fn only_text_file(dir: &Path) -> Result<PathBuf> {
    let reading = || format!("cannot look for a run in {}", dir.display());
    let mut texts = Vec::new();
    for entry in fs::read_dir(dir).with_context(reading)? {
        let path = entry.with_context(reading)?.path();
        if path.extension().is_some_and(|e| e == "txt") {
            texts.push(path);
        }
    }
    match <[PathBuf; 1]>::try_from(texts) {
        Ok([path]) => Ok(path),
        Err(texts) => bail!(
            "there is no run.txt in {}, and {} other .txt files",
            dir.display(),
            texts.len()
        ),
    }
}

/// A file's bytes, unpacked if it is gzipped, whatever its name.
fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let reading = || format!("cannot read {}", path.display());
    let bytes = fs::read(path).with_context(reading)?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(bytes.as_slice())
        .read_to_end(&mut unpacked)
        .with_context(|| format!("cannot unpack {}", path.display()))?;
    Ok(unpacked)
}

fn decode(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
