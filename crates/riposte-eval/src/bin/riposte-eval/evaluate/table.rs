//! Prints values and differences as tables.

use std::collections::BTreeSet;

use anyhow::Result;
use riposte_eval::compare::{ComparisonTable, PairwiseTests};
use riposte_eval::measure::Measure;
use riposte_eval::printed::{image_tables, stance_tables};
use riposte_eval::{Detail, MeasureValues};

use super::{CompareArgs, EvaluateArgs, EvaluatedRun, Judgements};
use crate::print;

/// Columns of a table, and of a text below it.
const WIDTH: usize = 80;

/// Maximum number of runs whose confusion matrices are printed below the table.
const DETAILED_RUNS: usize = 3;

/// Prints the tables of all runs. A single image run has the layout of the organisers' tables.
pub(super) fn print_all(
    args: &EvaluateArgs,
    comparison: Option<&CompareArgs>,
    judgements: &[Judgements],
    runs: &[EvaluatedRun],
) -> Result<()> {
    let has_defaults = args.measures.is_empty();
    if let ([run], [_], true) = (runs, judgements, has_defaults)
        && let [Detail::Images(evaluation)] = run.evaluation.details.as_slice()
    {
        return print(&image_tables(&run.path, evaluation, args.by_topic));
    }
    let columns = judgements.iter().flat_map(|of| {
        let measures = of.measures.iter();
        measures.map(|measure| match judgements.len() {
            1 => measure.to_string(),
            _ => format!("{}:{measure}", of.name),
        })
    });
    let attainable = runs.iter().map(|run| run.evaluation.attainable.clone());
    let rows = runs
        .iter()
        .map(|run| (run.name.clone(), run.evaluation.values.clone()));
    let mut table = ComparisonTable {
        columns: columns.collect(),
        rows: rows.collect(),
        attainable: attainable.collect(),
        ..ComparisonTable::default()
    };
    let measures: Vec<&Measure> = judgements.iter().flat_map(|of| &of.measures).collect();
    if has_defaults {
        table.leave_out_repeated(&measures);
    }
    let rows: Vec<&[MeasureValues]> = table.rows.iter().map(|(_, values)| &**values).collect();
    table.pairs = comparison.map(|of| PairwiseTests::new(&rows, of.test, of.correction, of.alpha));
    let legend = table.legend(&measures);
    print_table(&table, legend)?;
    for run in runs.iter().filter(|_| runs.len() <= DETAILED_RUNS) {
        print(&stance_tables(&run.name, &run.evaluation.details))?;
    }
    for row in (0..runs.len()).filter(|_| args.by_topic) {
        print(&format_args!("\n{:WIDTH$}", table.by_topic(row)))?;
    }
    Ok(())
}

/// Prints the table, what is said below it, and the differences between its runs.
fn print_table(table: &ComparisonTable, legend: BTreeSet<String>) -> Result<()> {
    print(&format_args!("{table:WIDTH$}"))?;
    for text in legend {
        print(&wrapped(&text))?;
    }
    if table.rows.len() > 1 {
        print(&format_args!("\n{:WIDTH$}", table.differences()))?;
    }
    Ok(())
}

/// A text in lines of at most [`WIDTH`] characters. Only a line with a single word can be longer.
fn wrapped(text: &str) -> String {
    let (mut lines, mut length) = (String::new(), 0);
    for word in text.split_whitespace() {
        let size = word.chars().count();
        let fits = length + 1 + size <= WIDTH;
        if length > 0 {
            lines.push(if fits { ' ' } else { '\n' });
            length = if fits { length + 1 } else { 0 };
        }
        lines += word;
        length += size;
    }
    lines + "\n"
}
