//! `evaluate`: measures runs by judgements, and compares the runs.

mod cells;
mod typed;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use anyhow::{Result, ensure};
use riposte_eval::compare::{ComparisonTable, PairwiseTests, TableFormat};
use riposte_eval::measure::Measure;
use riposte_eval::printed::{image_tables, stance_tables};
use riposte_eval::{MeasureValues, escaped_lines};

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
        return print(&image_tables(&run.path, evaluation, args.by_topic));
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
    let measures: Vec<&Measure> = judgements.iter().flat_map(|j| &j.measures).collect();
    if default_measures {
        table.leave_out_repeated(&measures);
    }
    let rows = table.rows.iter().map(|(_, values)| values.as_slice());
    table.pairs = pairs(args, &rows.collect::<Vec<_>>());
    let legend = table.legend(&measures);
    print_table(args, &table, runs, legend)
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

/// Prints the table, and what is said below it.
fn print_table(
    args: &EvaluateArgs,
    table: &ComparisonTable,
    runs: &[EvaluatedRun],
    legend: BTreeSet<String>,
) -> Result<()> {
    let width = terminal::width();
    let show = |table: &dyn fmt::Display| terminal::laid_out(table, width);
    print(&show(table))?;
    for text in legend {
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
        print(&stance_tables(&run.name, &run.details))?;
    }
    if args.by_topic {
        for row in 0..runs.len() {
            print(&format_args!("\n{}", show(&table.by_topic(row))))?;
        }
    }
    Ok(())
}
