//! Evaluates runs with judgements.

mod organisers;

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use rayon::prelude::*;
use riposte_eval::edition::Edition;
use riposte_eval::lines::decoded;
use riposte_eval::measure::{self, Measure};
use riposte_eval::qrels::Qrels;
use riposte_eval::verify::RunKind;
use riposte_eval::{
    Error, JudgedBy, LineError, MeasureValues, TextTask, escaped, evaluate_by, run,
};

use crate::collection::FaultKind;
use crate::events::{Event, OnEvent};
use crate::files::stdin::Stdin;
use crate::files::{NamedRun, names_of_runs, read_judgements, read_run, report_broken_lines};
use crate::wording::nearest;

pub use riposte_eval::Detail;

/// What is evaluated, and how.
pub struct EvaluationSettings {
    /// Decides which grades count as relevant for images.
    pub edition: &'static Edition,
    /// Files of judgements, each as FILE or NAME=FILE.
    pub judgements: Vec<String>,
    /// At least one.
    pub runs: Vec<NamedRun>,
    /// Empty for the default measures of the judgements.
    pub measures: Vec<ChosenMeasure>,
    /// Where a run or judgements that are named `-` are.
    pub stdin: Stdin,
}

/// Runs, and the values of the measures for each.
pub struct EvaluatedRuns {
    pub judgements: Vec<Judgements>,
    pub runs: Vec<EvaluatedRun>,
    /// Whether a line of a file cannot be read, a run repeats a document, or a run has no line or none that is judged.
    pub has_faults: bool,
}

/// Judgements, their name in tables, and the measures that are computed from them.
pub struct Judgements {
    pub name: String,
    pub qrels: Qrels,
    pub measures: Vec<Measure>,
}

/// A run and its evaluation.
#[derive(Default)]
pub struct EvaluatedRun {
    pub name: String,
    pub path: PathBuf,
    bytes: Vec<u8>,
    /// The values of each measure, in the order of the judgements and their measures.
    pub values: Vec<MeasureValues>,
    /// The highest value of each measure that the run can reach with the judgements; `None` if that is 1.
    pub attainable: Vec<Option<f64>>,
    pub details: Vec<Detail>,
    errors: Vec<LineError>,
    remarks: Vec<String>,
    /// How the figures differ from those of the organisers' evaluator of image runs.
    from_organisers: Option<String>,
    /// Whether no line can be read, or none is judged.
    is_empty: bool,
}

/// A measure. The same word can mean one measure of texts and several of images.
pub struct ChosenMeasure {
    word: String,
    of_texts: Result<Measure, String>,
    of_images: Result<Vec<Measure>, String>,
}

/// Checks that a run of texts is not evaluated by judgements of images: none of its lines could be read.
fn check_kind(run: &Path, bytes: &[u8], judgements: &[Judgements]) -> Result<()> {
    let mut judgements = judgements.iter();
    let of_images = judgements.find(|j| matches!(j.qrels, Qrels::Images(_)));
    if let Some(judgements) = of_images
        && let Some(task) = RunKind::of_run(bytes).task
    {
        let documents = match task {
            TextTask::Controversial => "arguments",
            TextTask::Comparative => "passages",
            TextTask::Rank => "documents",
        };
        bail!(
            "{} is a run of {documents}, and the judgements {} are of images: give judgements of {documents}",
            run.display(),
            judgements.name
        );
    }
    Ok(())
}

/// Evaluates the runs. Reports lines that cannot be read, and what else affects the values, such as topics without judgements.
/// [`EvaluatedRuns::report_differences`] reports where image runs have other values by the organisers' evaluator.
///
/// # Errors
/// A file cannot be read or has no judgement, or a measure cannot be computed from the judgements.
pub fn evaluate(settings: &EvaluationSettings, on_event: &mut OnEvent) -> Result<EvaluatedRuns> {
    let mut has_faults = false;
    let mut judgements = Vec::new();
    for file in &settings.judgements {
        let read = read_judgements(file, &settings.stdin, on_event)?;
        has_faults |= read.errors > 0;
        judgements.push(Judgements {
            name: escaped(&read.name).to_string(),
            measures: measures_of(&read.qrels, read.are_of_touche, &settings.measures)?,
            qrels: read.qrels,
        });
    }
    for measure in &settings.measures {
        measure.check(judgements.iter().map(|j| &j.qrels))?;
    }
    let runs = settings.runs.par_iter().zip(names_of_runs(&settings.runs));
    let runs = runs
        .map(|(run, name)| EvaluatedRun::read(&run.path, name, &judgements, settings))
        .collect::<Result<Vec<EvaluatedRun>>>()?;
    for run in &runs {
        report_broken_lines(FaultKind::Run, &run.path, &run.errors, on_event);
        for remark in &run.remarks {
            on_event(Event::note(format!("{}: {remark}", run.path.display())));
        }
        let has_errors = run.errors.iter().any(|error| !error.is_read);
        has_faults |= run.is_empty || has_errors;
    }
    Ok(EvaluatedRuns {
        judgements,
        runs,
        has_faults,
    })
}

/// The measures that can be computed from judgements: of the `chosen` ones or, if there are none, of the default ones.
fn measures_of(
    qrels: &Qrels,
    are_of_touche: bool,
    chosen: &[ChosenMeasure],
) -> Result<Vec<Measure>> {
    Ok(match chosen {
        [] => Measure::defaults(qrels, are_of_touche)?,
        _ => chosen.iter().flat_map(|m| m.with(qrels)).collect(),
    })
}

impl EvaluatedRun {
    /// Reads a run and computes the measures of all judgements.
    fn read(
        run: &Path,
        name: String,
        judgements: &[Judgements],
        settings: &EvaluationSettings,
    ) -> Result<EvaluatedRun> {
        let (path, bytes) = read_run(run, &settings.stdin)?;
        check_kind(&path, &bytes, judgements)?;
        let text = decoded(&bytes);
        let judged_by = judgements.iter().map(|judgements| JudgedBy {
            name: &judgements.name,
            qrels: &judgements.qrels,
            measures: &judgements.measures,
        });
        let edition = settings.edition;
        let evaluation = evaluate_by(&text, &judged_by.collect::<Vec<_>>(), edition);
        let mut evaluated = EvaluatedRun {
            name,
            path,
            values: evaluation.values,
            attainable: evaluation.attainable,
            details: evaluation.details,
            errors: evaluation.errors,
            remarks: evaluation.remarks,
            is_empty: !evaluation.is_judged,
            ..EvaluatedRun::default()
        };
        if (judgements.iter()).any(|j| matches!(j.qrels, Qrels::Images(_))) {
            let (images, _) = run::read_images(&text);
            if !images.is_empty() {
                let differences = evaluated.differences(&bytes, &images, judgements, edition);
                evaluated.from_organisers = differences;
            }
        }
        evaluated.bytes = bytes;
        Ok(evaluated)
    }
}

impl ChosenMeasure {
    /// # Errors
    /// The word is a measure neither of texts nor of images.
    pub fn parse(word: &str, levels: &[(String, f64)]) -> Result<ChosenMeasure> {
        let of_texts = Measure::parse(word, levels).map_err(|error| error.to_string());
        let [_, _, names, _] = measure::NAMES;
        let of_images = match &of_texts {
            Ok(measure @ Measure::Image(_)) => Ok(vec![measure.clone()]),
            // P@10, and P(list=PRO)@10
            _ if word.starts_with("P@") || word.starts_with("P(") => names
                .iter()
                .map(|name| Measure::parse(&word.replacen('P', name, 1), levels))
                .collect::<Result<_, Error>>()
                .map_err(|error| match error {
                    Error::Measure { why, .. } => why,
                    other => other.to_string(),
                }),
            _ => Err(String::new()),
        };
        if let (Err(why), Err(_)) = (&of_texts, &of_images) {
            return Err(unknown(word, why));
        }
        Ok(ChosenMeasure {
            word: word.to_owned(),
            of_texts,
            of_images,
        })
    }

    /// The measures that the word means for these judgements; none if they are of another kind.
    fn with(&self, qrels: &Qrels) -> Vec<Measure> {
        let of_texts = self.of_texts.iter().filter(|measure| measure.fits(qrels));
        match qrels {
            Qrels::Images(_) => self.of_images.clone().unwrap_or_default(),
            _ => of_texts.cloned().collect(),
        }
    }

    /// Checks that the measure can be computed from one of the judgements.
    ///
    /// # Errors
    /// It cannot.
    fn check<'q>(&self, mut all: impl Iterator<Item = &'q Qrels> + Clone) -> Result<()> {
        for qrels in all.clone() {
            if let Some(grades) = qrels.grades() {
                let too_large = self
                    .with(qrels)
                    .into_iter()
                    .find_map(|measure| match measure {
                        Measure::Graded(measure) => measure.too_large(grades),
                        _ => None,
                    });
                if let Some((topic, doc, grade)) = too_large {
                    bail!(
                        "{} cannot be computed: the grade {grade} of {doc} for topic {topic} is too large",
                        self.word
                    );
                }
            }
        }
        if all.clone().any(|qrels| !self.with(qrels).is_empty()) {
            return Ok(());
        }
        let word = &self.word;
        let is_of_images = all.any(|qrels| matches!(qrels, Qrels::Images(_)));
        match &self.of_images {
            Err(why) if is_of_images && !why.is_empty() => {
                bail!("{word} cannot be computed from these judgements: {why}")
            }
            _ if is_of_images => bail!(
                "{word} cannot be computed from judgements of images: P@10 can, and nDCG and others need graded judgements of texts"
            ),
            _ if matches!(self.of_texts, Ok(Measure::Diversity(_))) => bail!(
                "{word} cannot be computed from these judgements: no topic has two subtopics, which the second column names"
            ),
            _ => bail!("{word} cannot be computed from these judgements"),
        }
    }
}

/// The error for a word that is neither a file nor a measure. `why` says why it is no measure.
fn unknown(word: &str, why: &str) -> anyhow::Error {
    if word.contains(['/', '\\']) || Path::new(word).extension().is_some_and(|e| e == "txt") {
        return anyhow!("there is no file {word}");
    }
    let name = word.split(['@', '(']).next().unwrap_or(word);
    let names = measure::NAMES.concat();
    let is_known = names.contains(&name);
    match nearest(name, &names).filter(|_| !is_known) {
        Some(near) => {
            let meant = word.replacen(name, near, 1);
            anyhow!("there is no file and no measure {word}: did you mean {meant}?")
        }
        None if is_known => anyhow!("{word} is no file, and as a measure it is wrong: {why}"),
        None => anyhow!("there is no file {word}, and {why}"),
    }
}
