//! Values and comparisons for other programs: a line for each, or one JSON object.

use anyhow::Result;
use riposte_eval::compare::interval;
use riposte_eval::{MeasureValues, escaped};
use serde_json::{Value, json};

use super::super::{print, print_json};
use super::typed::{EvaluateArgs, Format};
use riposte::judge::evaluate::EvaluatedRun;

/// The name of the judgements, and a measure.
pub(super) type CellColumn<'a> = (&'a str, String);

/// Prints the values of all runs, and the comparisons if they are asked for.
pub(super) fn print_cells(
    args: &EvaluateArgs,
    columns: &[CellColumn],
    runs: &[EvaluatedRun],
) -> Result<()> {
    let separator = match args.format {
        Format::Csv => ',',
        Format::Tsv => '\t',
        _ => return print_objects(args, columns, runs),
    };
    let print_line = |fields: [&str; 5]| {
        let fields = fields.map(|field| match separator {
            ',' => quoted(field),
            _ => field.to_owned(),
        });
        print(&format_args!("{}\n", fields.join(&separator.to_string())))
    };
    print_line(["run", "qrels", "measure", "topic", "value"])?;
    for (run, (qrels, measure), topic, value) in cells(args, columns, runs) {
        let topic = escaped(topic).to_string();
        print_line([run, qrels, measure, &topic, &value.to_string()])?;
    }
    Ok(())
}

/// A field of CSV: in quotes if it has a comma, a quote or a line break.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

fn print_objects(args: &EvaluateArgs, columns: &[CellColumn], runs: &[EvaluatedRun]) -> Result<()> {
    let mut values = Vec::new();
    for (run, (qrels, measure), topic, value) in cells(args, columns, runs) {
        let value = json!({
            "run": run,
            "qrels": qrels,
            "measure": measure,
            "topic": topic,
            "value": value,
        });
        match args.format {
            Format::Json => values.push(value),
            _ => print_json(&value)?,
        }
    }
    let comparisons = comparisons(args, columns, runs);
    if args.format != Format::Json {
        return comparisons.iter().try_for_each(print_json);
    }
    match args.correction {
        Some(_) => print_json(&json!({ "values": values, "comparisons": comparisons })),
        None => print_json(&json!({ "values": values })),
    }
}

/// The value of a column for a topic of a run: the name of the run, the column, the topic, the value.
type Cell<'a> = (&'a str, &'a CellColumn<'a>, &'a str, f64);

/// The values of all cells. The rows of a run are its topics, `all`, and the ends of the confidence interval of `all`.
fn cells<'a>(
    args: &EvaluateArgs,
    columns: &'a [CellColumn<'a>],
    runs: &'a [EvaluatedRun],
) -> Vec<Cell<'a>> {
    let mut cells = Vec::new();
    for run in runs {
        for (column, values) in columns.iter().zip(&run.values) {
            let mut add = |topic, value| cells.push((run.name.as_str(), column, topic, value));
            for (topic, value) in values.topics.iter().filter(|_| args.by_topic) {
                add(topic.0.as_str(), *value);
            }
            add("all", values.all());
            if args.ci {
                let (low, high) = interval(values);
                add("all.low", low);
                add("all.high", high);
            }
        }
    }
    cells
}

/// An object for each comparison of two runs by a measure.
fn comparisons(args: &EvaluateArgs, columns: &[CellColumn], runs: &[EvaluatedRun]) -> Vec<Value> {
    let rows: Vec<&[MeasureValues]> = runs.iter().map(|run| run.values.as_slice()).collect();
    let Some(pairs) = super::pairs(args, &rows) else {
        return Vec::new();
    };
    let name = |run: usize| runs.get(run).map(|run| &run.name);
    let (test, correction) = (<&str>::from(pairs.test), <&str>::from(pairs.correction));
    let mut objects = Vec::new();
    for ((qrels, measure), column) in columns.iter().zip(&pairs.columns) {
        for pair in column {
            objects.push(json!({
                "first": name(pair.runs.0),
                "second": name(pair.runs.1),
                "qrels": qrels,
                "measure": measure,
                "difference": pair.test.difference,
                "topics": pair.test.topics,
                "test": test,
                "correction": correction,
                "p": pair.test.p,
                "effect_size": pair.test.effect,
                "significant": pairs.is_significant(pair),
            }));
        }
    }
    objects
}
