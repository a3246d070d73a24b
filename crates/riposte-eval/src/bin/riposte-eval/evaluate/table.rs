//! Prints values and differences as tables.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use riposte_eval::compare::{Pairs, Table};
use riposte_eval::images::ImageEvaluation;
use riposte_eval::measure::Measure;
use riposte_eval::{Detail, Values, escaped, escaped_lines};

use super::{CompareArgs, EvaluateArgs, EvaluatedRun, Judgements};
use crate::print;

/// Columns of a table, and of a text below it.
const WIDTH: usize = 80;

/// Maximum number of runs whose confusion matrices are printed below the table.
const DETAILED_RUNS: usize = 3;

/// The meaning of the rows "at most" of a table.
const AT_MOST: &str = "at most: what a perfect run has, because some topics have fewer relevant images than the lists have places";

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
        return print_image_run(&run.path, evaluation, args.by_topic);
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
    let mut table = Table {
        columns: columns.collect(),
        rows: rows.collect(),
        attainable: attainable.collect(),
        ..Table::default()
    };
    let measures: Vec<&Measure> = judgements.iter().flat_map(|of| &of.measures).collect();
    if has_defaults {
        table.leave_out_repeated(&measures);
    }
    let rows: Vec<&[Values]> = table.rows.iter().map(|(_, values)| &**values).collect();
    table.pairs = comparison.map(|of| Pairs::new(&rows, of.test, of.correction, of.alpha));
    let explanations = measures.iter().filter_map(|measure| measure.explanation());
    print_table(&mut table, explanations.collect())?;
    print_details(runs)?;
    for row in (0..runs.len()).filter(|_| args.by_topic) {
        print(&format_args!("\n{:WIDTH$}", table.by_topic(row)))?;
    }
    Ok(())
}

fn print_image_run(path: &Path, evaluation: &ImageEvaluation, by_topic: bool) -> Result<()> {
    print(&format_args!("{}\n", escaped(&path.to_string_lossy())))?;
    print(&escaped_lines(&evaluation.to_string()))?;
    if by_topic {
        let by_topic = evaluation.by_topic().to_string();
        print(&format_args!("\n{}", escaped_lines(&by_topic)))?;
    }
    Ok(())
}

/// Prints the table and the differences between its runs, with `explanations` of the measures.
fn print_table(table: &mut Table, mut explanations: BTreeSet<String>) -> Result<()> {
    match table.attainable.iter().flatten().any(Option::is_some) {
        true => drop(explanations.insert(AT_MOST.to_owned())),
        false => table.attainable.clear(),
    }
    print(&format_args!("{table:WIDTH$}"))?;
    for text in explanations {
        print(&wrapped(&text))?;
    }
    if table.rows.len() > 1 {
        print(&format_args!("\n{:WIDTH$}", table.differences()))?;
    }
    Ok(())
}

/// Prints the confusion matrices of few runs.
fn print_details(runs: &[EvaluatedRun]) -> Result<()> {
    for run in runs.iter().filter(|_| runs.len() <= DETAILED_RUNS) {
        for detail in &run.evaluation.details {
            if let Detail::Stances { qrels, all, first } = detail {
                let name = &run.name;
                print(&format_args!("\n{name}, {qrels}, all results\n{all}"))?;
                print(&format_args!(
                    "\n{name}, {qrels}, first five results of each topic\n{first}"
                ))?;
            }
        }
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
