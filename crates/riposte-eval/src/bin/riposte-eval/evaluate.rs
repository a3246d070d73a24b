//! `evaluate` and `compare`: measures runs by judgements, and compares the runs.

mod table;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use riposte_eval::compare::{Correction, SignificanceTest};
use riposte_eval::edition::Edition;
use riposte_eval::limits::{MAX_COMPARED, MAX_RUN_BYTES};
use riposte_eval::lines::decoded;
use riposte_eval::measure::{Measure, NAMES};
use riposte_eval::printed::run_names;
use riposte_eval::qrels::{Qrels, are_of_touche, read as read_qrels};
use riposte_eval::verify::RunKind;
use riposte_eval::{Error, JudgedBy, RunEvaluation, escaped, evaluate_by};
use strum::VariantNames;

use crate::{files, note, report_lines};

#[derive(Args)]
pub(crate) struct EvaluateArgs {
    /// Runs: files (plain or gzip), or - for standard input. Lines are those of the lab or TREC, "topic document rank" or "topic document rank score", or
    /// a run is the JSON of ranx
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Judgements: lines of "topic ONTOPIC|PRO|CON image grade", "topic 0 document grade" or "topic 0 document FIRST|SECOND|NEUTRAL|NO", those of BEIR
    /// or MS MARCO, or the JSON of 2025 or of ranx. May be repeated
    #[arg(long, value_name = "FILE", required = true)]
    qrels: Vec<PathBuf>,
    /// Measure by its name in ir_measures or trec_eval, such as nDCG@5, 'P(rel=2)@10' and ndcg_cut_10. For images, P@10 means topicRelevanceP@10,
    /// argumentativenessP@10 and stanceRelevanceP@10. May be repeated; by default the measures of the task
    #[arg(long = "measure", value_name = "NAME")]
    measures: Vec<String>,
    /// Edition of the image task, which decides the grades that count as relevant: 1 (2022), or 1 and above (2023)
    #[arg(long, value_name = "YEAR", value_parser = edition, default_value_t = Edition::first())]
    edition: &'static Edition,
    /// Also print the values of each topic
    #[arg(long)]
    by_topic: bool,
}

#[derive(Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    of: EvaluateArgs,
    /// How the p-values of a measure are corrected for the number of comparisons
    #[arg(long, value_name = "METHOD", value_parser = by_name::<Correction>(), default_value = "holm")]
    correction: Correction,
    /// Test of the differences: the paired randomisation test or the paired t-test
    #[arg(long, value_name = "TEST", value_parser = by_name::<SignificanceTest>(), default_value = "randomisation")]
    test: SignificanceTest,
    /// Highest p of a significant difference. A value has the letters of the runs that it is significantly better than
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    alpha: f64,
}

/// Parses the name of a variant.
fn by_name<T>() -> impl TypedValueParser<Value = T>
where
    T: std::str::FromStr<Err = strum::ParseError> + VariantNames + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(T::VARIANTS).try_map(|name| name.parse())
}

fn edition(text: &str) -> Result<&'static Edition> {
    let found = text.parse().ok().and_then(|year| Edition::find(None, year));
    let found = found.filter(|edition| edition.has_stances());
    found.with_context(|| format!("it is {}", Edition::years_with_stances()))
}

/// Judgements, their name in tables, and the measures that are computed from them.
struct Judgements {
    name: String,
    qrels: Qrels,
    measures: Vec<Measure>,
}

/// A run and its values.
struct EvaluatedRun {
    name: String,
    path: PathBuf,
    evaluation: RunEvaluation,
}

/// Returns whether all lines can be read, and something of each run is judged.
pub(crate) fn evaluate(args: &EvaluateArgs) -> Result<bool> {
    let (judgements, runs, is_good) = args.evaluated()?;
    table::print_all(args, None, &judgements, &runs)?;
    Ok(is_good)
}

/// Returns the same as [`evaluate`].
pub(crate) fn compare(args: &CompareArgs) -> Result<bool> {
    let (runs, test) = (args.of.runs.len(), args.test);
    ensure!(
        (2..=MAX_COMPARED).contains(&runs),
        "from 2 to {MAX_COMPARED} runs can be compared, because a letter names each"
    );
    ensure!(
        args.correction != Correction::Tukey || test == SignificanceTest::Randomisation,
        "--correction tukey is a randomisation test: leave out --test"
    );
    ensure!(
        args.alpha > 0.0 && args.alpha < 1.0,
        "--alpha is a number between 0 and 1"
    );
    let (judgements, runs, is_good) = args.of.evaluated()?;
    let mut values = runs.iter().flat_map(|run| &run.evaluation.values);
    ensure!(
        values.all(|values| test.fits(values)),
        "measures of stances count the results of all topics together, and the t-test needs a mean over topics: use --test randomisation"
    );
    table::print_all(&args.of, Some(args), &judgements, &runs)?;
    Ok(is_good)
}

impl EvaluateArgs {
    /// Reads the judgements and the runs, and evaluates each run. Also returns whether all lines can be read, and something of each run is judged.
    fn evaluated(&self) -> Result<(Vec<Judgements>, Vec<EvaluatedRun>, bool)> {
        files::check_once(self.qrels.iter().chain(&self.runs))?;
        let mut is_good = true;
        let mut judgements = Vec::new();
        for file in &self.qrels {
            judgements.push(self.judgements(file, &mut is_good)?);
        }
        for word in &self.measures {
            check_computed(word, &judgements)?;
        }
        let judged_by = judgements.iter().map(|of| JudgedBy {
            name: &of.name,
            qrels: &of.qrels,
            measures: &of.measures,
        });
        let judged_by: Vec<JudgedBy> = judged_by.collect();
        let mut runs = Vec::new();
        for (path, name) in self.runs.iter().zip(run_names(&self.runs)) {
            let bytes = files::read(path, MAX_RUN_BYTES)?;
            let run = decoded(&bytes);
            check_kind(path, &run, &judgements)?;
            let evaluation = evaluate_by(&run, &judged_by, self.edition);
            is_good &= report_lines(path, &evaluation.errors) && evaluation.is_judged;
            for remark in &evaluation.remarks {
                note(&format!("{}: {remark}", path.display()));
            }
            let path = path.clone();
            runs.push(EvaluatedRun {
                name,
                path,
                evaluation,
            });
        }
        Ok((judgements, runs, is_good))
    }

    /// Reads a file of judgements. `is_good` becomes false if a line cannot be read.
    fn judgements(&self, path: &Path, is_good: &mut bool) -> Result<Judgements> {
        let bytes = files::read(path, MAX_RUN_BYTES)?;
        let text = decoded(&bytes);
        let (qrels, errors) = read_qrels(&text);
        *is_good &= report_lines(path, &errors);
        let file = path.display();
        ensure!(!qrels.is_empty(), "there is no judgement in {file}");
        let measures = match self.measures.as_slice() {
            [] => Measure::defaults(&qrels, are_of_touche(&text))?,
            words => {
                let measures = words.iter().filter_map(|word| meant(word, &qrels).ok());
                measures.flatten().collect()
            }
        };
        for measure in &measures {
            if let (Measure::Graded(graded), Some(grades)) = (measure, qrels.grades())
                && let Some((topic, doc, grade)) = graded.too_large(grades)
            {
                bail!(
                    "{measure} cannot be computed: the grade {grade} of {doc} for topic {topic} is too large"
                );
            }
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = escaped(&stem).to_string();
        Ok(Judgements {
            name,
            qrels,
            measures,
        })
    }
}

/// Checks that a run of texts is not evaluated by judgements of images: none of its lines could be read.
fn check_kind(path: &Path, run: &str, judgements: &[Judgements]) -> Result<()> {
    let mut judgements = judgements.iter();
    let of_images = judgements.find(|of| matches!(of.qrels, Qrels::Images(_)));
    if let (Some(of), Some(_)) = (of_images, RunKind::of_run(run.as_bytes()).task) {
        let (run, name) = (path.display(), &of.name);
        bail!("{run} is a run of texts, and the judgements {name} are of images");
    }
    Ok(())
}

/// The measures that a word means for these judgements; none if they are of another kind.
fn meant(word: &str, qrels: &Qrels) -> Result<Vec<Measure>, Error> {
    let [_, _, of_images, _] = NAMES;
    let is_short = word.starts_with("P@") || word.starts_with("P(");
    let names: Vec<String> = match qrels {
        Qrels::Images(_) if is_short => {
            let names = of_images.iter().map(|name| word.replacen('P', name, 1));
            names.collect()
        }
        _ => vec![word.to_owned()],
    };
    let measures = names.iter().map(|name| name.parse::<Measure>());
    let mut measures = measures.collect::<Result<Vec<Measure>, Error>>()?;
    measures.retain(|measure| measure.fits(qrels));
    Ok(measures)
}

/// # Errors
/// The word is no measure, or one that can be computed from none of the judgements.
fn check_computed(word: &str, judgements: &[Judgements]) -> Result<()> {
    let meant = judgements.iter().map(|of| meant(word, &of.qrels));
    let meant: Vec<Result<Vec<Measure>, Error>> = meant.collect();
    if meant.iter().flatten().all(Vec::is_empty) {
        meant.into_iter().collect::<Result<Vec<_>, _>>()?;
        bail!("{word} cannot be computed from these judgements");
    }
    Ok(())
}
