//! Values and comparisons for other programs: a line for each, or one JSON object.

use anyhow::Result;
use riposte_eval::compare::interval;
use riposte_eval::{Values, escaped};
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
    each_value(
        args,
        columns,
        runs,
        |run, (qrels, measure), topic, value| {
            let topic = escaped(topic).to_string();
            print_line([run, qrels, measure, &topic, &value.to_string()])
        },
    )
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
    each_value(
        args,
        columns,
        runs,
        |run, (qrels, measure), topic, value| {
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
            Ok(())
        },
    )?;
    let comparisons = comparisons(args, columns, runs);
    if args.format != Format::Json {
        return comparisons.iter().try_for_each(print_json);
    }
    match args.correction {
        Some(_) => print_json(&json!({ "values": values, "comparisons": comparisons })),
        None => print_json(&json!({ "values": values })),
    }
}

/// Calls `each` with a run, a column, a topic and a value. Besides topics there are `all`, and the ends of its confidence interval.
fn each_value(
    args: &EvaluateArgs,
    columns: &[CellColumn],
    runs: &[EvaluatedRun],
    mut each: impl FnMut(&str, &CellColumn, &str, f64) -> Result<()>,
) -> Result<()> {
    for run in runs {
        for (column, values) in columns.iter().zip(&run.values) {
            let mut each = |topic: &str, value| each(&run.name, column, topic, value);
            if args.by_topic {
                for (topic, value) in &values.topics {
                    each(&topic.0, *value)?;
                }
            }
            each("all", values.all())?;
            if args.ci {
                let (low, high) = interval(values);
                each("all.low", low)?;
                each("all.high", high)?;
            }
        }
    }
    Ok(())
}

/// An object for each comparison of two runs by a measure.
fn comparisons(args: &EvaluateArgs, columns: &[CellColumn], runs: &[EvaluatedRun]) -> Vec<Value> {
    let rows: Vec<&[Values]> = runs.iter().map(|run| run.values.as_slice()).collect();
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
