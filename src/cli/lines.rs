//! Files with a question on each line, answered with a JSON object per line (`stance`, `quality`).

use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use riposte_eval::escaped;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::faults::FaultArgs;
use super::notes::NotePrinter;
use super::print_json;
use riposte::collection::{Fault, FaultKind};
use riposte::disk::regular;

/// Number of lines that are answered together: enough to group texts of similar length, but few enough that answers appear soon.
const BATCH: usize = 512;

/// A longer line is a fault. Lines are answered together until they have this many bytes.
const MAX_LINE_BYTES: usize = 16 << 20;

/// The fields of a line that its answer repeats, byte by byte: a number read as a float could come back as another one.
#[derive(Debug, Deserialize)]
struct Caller<'l> {
    /// Identifies the line for the caller: any value, also null.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'l RawValue>,
    #[serde(borrow)]
    text: &'l RawValue,
}

fn present<'l, D: Deserializer<'l>>(value: D) -> Result<Option<&'l RawValue>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

/// An answer, with the fields that it repeats.
#[derive(Serialize)]
struct Answered<'l> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'l RawValue>,
    text: &'l RawValue,
    #[serde(flatten)]
    answer: Value,
}

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
        Some("-") => Box::new(stdin().lock()),
        _ => Box::new(BufReader::new(
            regular::open_pipe(path).with_context(reading)?,
        )),
    };
    faults.check(&[path])?;
    let mut notes = NotePrinter(faults.log(None, false));
    let name = path.to_string_lossy();
    let mut lines = BoundedLines { input, number: 0 };
    let mut answered = 0;
    loop {
        let (mut questions, mut numbers) = (Vec::new(), Vec::new());
        // `None` for a line that cannot be read
        let mut read_lines = Vec::new();
        let mut bytes = 0;
        while read_lines.len() < BATCH && bytes < MAX_LINE_BYTES {
            let Some(line) = lines.next().with_context(reading)? else {
                break;
            };
            let question = line.and_then(|line| {
                bytes += line.len();
                serde_json::from_slice::<Caller>(&line)?;
                Ok((read(&line)?, line))
            });
            match question {
                Ok((question, line)) => {
                    questions.push(question);
                    numbers.push(lines.number);
                    read_lines.push(Some(line));
                }
                Err(error) => {
                    let (number, what) = (lines.number, format!("{error:#}"));
                    let fault = Fault::new(FaultKind::Question, path, Some(number), what);
                    notes.fault(&fault);
                    read_lines.push(None);
                }
            }
        }
        if read_lines.is_empty() {
            break;
        }
        answered += questions.len();
        for (question, number) in questions.iter().zip(numbers) {
            for cut in cuts(question) {
                say!("note: {}:{number}: {cut}", escaped(&name));
            }
        }
        let mut answers = answer(&questions)?.into_iter();
        for line in read_lines {
            let answer = line.as_ref().and_then(|line| {
                let Caller { id, text } = serde_json::from_slice(line).ok()?;
                let answer = answers.next()?;
                Some(Answered { id, text, answer })
            });
            print_json(&answer)?;
        }
    }
    let path = path.display();
    ensure!(answered > 0, "there is no line to answer in {path}");
    notes.finish()
}

/// Lines that are not blank, without a byte order mark at the beginning of the first.
struct BoundedLines {
    input: Box<dyn BufRead>,
    /// The number of the last line, from 1.
    number: u64,
}

impl BoundedLines {
    /// The next line; `None` at the end. The inner error: the line is too long.
    fn next(&mut self) -> std::io::Result<Option<Result<Vec<u8>>>> {
        loop {
            self.number += 1;
            let mut line = Vec::new();
            let limit = MAX_LINE_BYTES as u64 + 1;
            let mut read_on =
                |line: &mut Vec<u8>| self.input.by_ref().take(limit).read_until(b'\n', line);
            let mut read = read_on(&mut line)?;
            if read == 0 {
                return Ok(None);
            }
            if read > MAX_LINE_BYTES {
                while read > 0 && line.last() != Some(&b'\n') {
                    line.clear();
                    read = read_on(&mut line)?;
                }
                return Ok(Some(Err(anyhow!("a line of more than 16 MiB"))));
            }
            if self.number == 1 && line.starts_with(b"\xef\xbb\xbf") {
                line.drain(..3);
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(Ok(line)));
            }
        }
    }
}

/// A JSON object without the fields that have no value.
pub(super) fn without_nulls(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.retain(|_, value| !value.is_null());
    }
    object
}
