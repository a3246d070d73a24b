//! `evaluate`: measures runs by judgements, and compares the runs.

mod cells;
mod typed;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use anyhow::{Result, ensure};
use riposte_eval::compare::{ComparisonTable, PairwiseTests, TableFormat};
use riposte_eval::images::ImageEvaluation;
use riposte_eval::measure::Measure;
use riposte_eval::{MeasureValues, escaped, escaped_lines};

use super::faults::FaultLog;
use super::progress::EventPrinter;
use super::{print, terminal};
use cells::{CellColumn, print_cells};
use riposte::files::{check_distinct, check_writable, write_atomically};
use riposte::judge::evaluate;
use riposte::judge::evaluate::{Detail, EvaluatedRun, EvaluatedRuns};
use typed::{Format, PrintedAs};

pub(super) use typed::EvaluateArgs;

/// Maximum number of runs whose confusion matrices are printed below the table.
const DETAILED_RUNS: usize = 3;

/// The meaning of the rows "at most" of a table.
const BOUND: &str = "at most: what a perfect run has, because some topics have fewer relevant images than the lists have places";

/// `riposte evaluate`. The exit code is 1 if there are lines that cannot be read.
pub fn evaluate(args: &EvaluateArgs) -> Result<u8> {
    let settings = args.settings()?;
    if let Some(file) = &args.prototext {
        check_writable(file)?;
        let mut inputs: Vec<&Path> = settings.runs.iter().map(|run| run.path.as_path()).collect();
        inputs.extend(settings.judgements.iter().map(Path::new));
        check_distinct(&[("--prototext", file)], &inputs)?;
    }
    let mut notes = EventPrinter::of_notes(FaultLog::unlisted());
    let evaluation = evaluate::evaluate(&settings, &mut |event| notes.print(event))?;
    if let Some(file) = &args.prototext {
        let of_organisers = evaluation.of_organisers(settings.edition, "--prototext")?;
        write_atomically(file, of_organisers.prototext().as_bytes())?;
    }
    match args.printed_as {
        Some(PrintedAs::Organisers) => {
            let printed = evaluation.of_organisers(settings.edition, "--as organisers")?;
            print(&escaped_lines(&printed.organisers_table().to_string()))?;
            print(&printed.prototext())?;
        }
        None => print_evaluation(args, &evaluation, settings.measures.is_empty())?,
    }
    evaluation.report_differences(&mut |event| notes.print(event));
    notes.finish()?;
    Ok(u8::from(evaluation.has_faults))
}

fn print_evaluation(
    args: &EvaluateArgs,
    evaluation: &EvaluatedRuns,
    default_measures: bool,
) -> Result<()> {
    let (judgements, runs) = (&evaluation.judgements, &evaluation.runs);
    let columns: Vec<CellColumn> = judgements
        .iter()
        .flat_map(|j| j.measures.iter().map(|m| (j.name.as_str(), m.to_string())))
        .collect();
    check_test(args, &columns, runs)?;
    let format = match args.format {
        Format::Text => TableFormat::Text,
        Format::Markdown => TableFormat::Markdown,
        Format::Latex => TableFormat::Latex,
        _ => return print_cells(args, &columns, runs),
    };
    if let ([run], [_], true) = (runs.as_slice(), &**judgements, default_measures && !args.ci)
        && let [Detail::Images(evaluation)] = run.details.as_slice()
        && format == TableFormat::Text
    {
        return print_image_run(args, run, evaluation);
    }
    let columns = columns.into_iter();
    let columns = columns.map(|(qrels, measure)| match judgements.len() {
        1 => measure,
        _ => format!("{qrels}:{measure}"),
    });
    let rows = runs
        .iter()
        .map(|run| (run.name.clone(), run.values.clone()));
    let mut table = ComparisonTable {
        columns: columns.collect(),
        rows: rows.collect(),
        attainable: runs.iter().map(|run| run.attainable.clone()).collect(),
        test: args.test,
        pairs: None,
        format,
    };
    if default_measures {
        let measures: Vec<&Measure> = judgements.iter().flat_map(|j| &j.measures).collect();
        table.leave_out_repeated(&measures);
    }
    let explanations = judgements.iter().flat_map(|j| &j.measures);
    let explanations: BTreeSet<String> = explanations.filter_map(Measure::explanation).collect();
    let rows = table.rows.iter().map(|(_, values)| values.as_slice());
    table.pairs = pairs(args, &rows.collect::<Vec<_>>());
    print_table(args, table, runs, explanations)
}

/// The comparisons of all runs, if they are asked for.
fn pairs(args: &EvaluateArgs, rows: &[&[MeasureValues]]) -> Option<PairwiseTests> {
    let alpha = args.alpha.unwrap_or(0.05);
    let correction = args.correction?;
    Some(PairwiseTests::new(rows, args.test, correction, alpha))
}

/// # Errors
/// Runs are to be compared by a test that a measure does not fit.
fn check_test(args: &EvaluateArgs, columns: &[CellColumn], runs: &[EvaluatedRun]) -> Result<()> {
    for run in runs.iter().filter(|_| runs.len() > 1) {
        for ((_, measure), values) in columns.iter().zip(&run.values) {
            ensure!(
                args.test.fits(values),
                "{measure} counts the results of all topics together, and the t-test needs a mean over topics: use --test randomisation"
            );
        }
    }
    Ok(())
}

/// Prints a single image run in the layout of the organisers' tables.
fn print_image_run(
    args: &EvaluateArgs,
    run: &EvaluatedRun,
    evaluation: &ImageEvaluation,
) -> Result<()> {
    let path = run.path.to_string_lossy();
    print(&format_args!("{}\n", escaped(&path)))?;
    print(&escaped_lines(&evaluation.to_string()))?;
    if args.by_topic {
        let by_topic = evaluation.by_topic().to_string();
        print(&format_args!("\n{}", escaped_lines(&by_topic)))?;
    }
    Ok(())
}

/// Prints the table, and below it `explanations` of its measures.
fn print_table(
    args: &EvaluateArgs,
    mut table: ComparisonTable,
    runs: &[EvaluatedRun],
    mut explanations: BTreeSet<String>,
) -> Result<()> {
    let width = terminal::width();
    let show = |table: &dyn fmt::Display| terminal::laid_out(table, width);
    let is_limited = table.attainable.iter().flatten().any(Option::is_some);
    if !is_limited {
        table.attainable.clear();
    }
    print(&show(&table))?;
    if is_limited {
        explanations.insert(BOUND.to_owned());
    }
    for text in explanations {
        match table.format {
            TableFormat::Text => print(&terminal::wrapped(&text, 0))?,
            TableFormat::Markdown => print(&format_args!("\n{text}\n"))?,
            TableFormat::Latex => print(&format_args!("% {text}\n"))?,
        }
    }
    if args.ci {
        print(&format_args!("\n{}", show(&table.intervals())))?;
    }
    if runs.len() > 1 {
        print(&format_args!("\n{}", show(&table.differences())))?;
    }
    let has_details = table.format == TableFormat::Text && runs.len() <= DETAILED_RUNS;
    for run in runs.iter().filter(|_| has_details) {
        for detail in &run.details {
            if let Detail::Stances { qrels, all, first } = detail {
                let name = &run.name;
                print(&format_args!("\n{name}, {qrels}, all results\n{all}"))?;
                print(&format_args!(
                    "\n{name}, {qrels}, first five results of each topic\n{first}"
                ))?;
            }
        }
    }
    if args.by_topic {
        for row in 0..runs.len() {
            print(&format_args!("\n{}", show(&table.by_topic(row))))?;
        }
    }
    Ok(())
}
