//! Files with a question on each line, answered with a JSON object per line (`stance`, `quality`).

mod questions;

use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use riposte_eval::escaped;
use serde_json::Value;

use super::faults::FaultArgs;
use super::progress::EventPrinter;
use super::{print_json, streams};
use questions::{Batch, BoundedLines};
pub(super) use questions::{QualityLine, StanceLine};
use riposte::collection::{Fault, FaultKind};
use riposte::disk::regular;
use riposte::events::Event;

/// Answers the lines of a file, or of standard input if the path is `-`, in their order. An answer begins with the id and the text of its line. The
/// answer to a line that cannot be read is null; the line is a fault. `read` reads a line, `cuts` describes the parts of a question that are not
/// read, and `answer` answers several questions. Returns the exit code.
///
/// # Errors
/// The file cannot be read, no line can be answered, or `answer` fails.
pub(super) fn answer_file<Q>(
    path: &Path,
    faults: &FaultArgs,
    read: impl Fn(&[u8]) -> Result<Q>,
    cuts: impl Fn(&Q) -> Vec<String>,
    answer: impl Fn(&[Q]) -> Result<Vec<Value>>,
) -> Result<u8> {
    let reading = || format!("cannot read {}", path.display());
    let input: Box<dyn BufRead> = match path.to_str() {
        Some("-") => streams::input(),
        _ => Box::new(BufReader::new(
            regular::open_pipe(path).with_context(reading)?,
        )),
    };
    faults.check(&[path])?;
    let mut notes = EventPrinter::of_notes(faults.log(None, false));
    let name = path.to_string_lossy();
    let mut lines = BoundedLines::new(input);
    let mut answered = 0;
    loop {
        let on_fault = |number, what| {
            let fault = Fault::new(FaultKind::Question, path, Some(number), what);
            notes.print(Event::Fault(fault));
        };
        let batch = Batch::next(&mut lines, &read, on_fault).with_context(reading)?;
        let Some(batch) = batch else { break };
        answered += batch.questions.len();
        for (question, number) in batch.questions.iter().zip(&batch.numbers) {
            for cut in cuts(question) {
                say!("note: {}:{number}: {cut}", escaped(&name));
            }
        }
        let answers = answer(&batch.questions)?;
        batch
            .answered(answers)
            .try_for_each(|answer| print_json(&answer))?;
    }
    let path = path.display();
    ensure!(answered > 0, "there is no line to answer in {path}");
    notes.finish()
}

/// A JSON object without the fields that have no value.
pub(super) fn without_nulls(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.retain(|_, value| !value.is_null());
    }
    object
}
