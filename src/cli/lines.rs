//! Files with a question on each line, answered with a JSON object per line (`stance`, `quality`).

use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use riposte_eval::escaped;
use serde::Deserialize;
use serde_json::Value;

use super::print_json;

/// Number of lines that are answered together: enough to group texts of similar length, but few enough that answers appear soon.
const BATCH: usize = 512;

/// A longer line is a fault. Lines are answered together until they have this many bytes.
const MAX_LINE_BYTES: usize = 16 << 20;

/// The fields of a line that its answer repeats.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Caller {
    /// Identifies the line for the caller.
    id: Option<Value>,
    text: String,
}

impl Caller {
    /// The answer, preceded by the id (if the line has one) and the text of its line.
    fn with(self, answer: Value) -> Value {
        let mut whole = serde_json::Map::new();
        whole.extend(self.id.map(|id| ("id".to_owned(), id)));
        whole.insert("text".to_owned(), self.text.into());
        match answer {
            Value::Object(answer) => whole.extend(answer),
            other => return other,
        }
        Value::Object(whole)
    }
}

/// Answers the lines of a file, or of standard input if the path is `-`, in their order. An answer begins with the id and the text of its line. The
/// answer to a line that cannot be read is null; an error names the line, and the exit code is 1. `read` reads a line, `cuts` describes the parts
/// of a question that are not read, and `answer` answers several questions.
///
/// # Errors
/// The file cannot be read, no line can be answered, or `answer` fails.
pub(super) fn answer_file<Q>(
    path: &Path,
    read: impl Fn(&[u8]) -> Result<Q>,
    cuts: impl Fn(&Q) -> Vec<String>,
    answer: impl Fn(&[Q]) -> Result<Vec<Value>>,
) -> Result<u8> {
    let reading = || format!("cannot read {}", path.display());
    let input: Box<dyn BufRead> = match path.to_str() {
        Some("-") => Box::new(stdin().lock()),
        _ => Box::new(BufReader::new(File::open(path).with_context(reading)?)),
    };
    let name = path.to_string_lossy();
    let mut lines = BoundedLines { input, number: 0 };
    let (mut answered, mut broken) = (0, 0);
    loop {
        let (mut questions, mut numbers) = (Vec::new(), Vec::new());
        // `None` for a line that cannot be read
        let mut callers = Vec::new();
        let mut bytes = 0;
        while callers.len() < BATCH && bytes < MAX_LINE_BYTES {
            let Some(line) = lines.next().with_context(reading)? else {
                break;
            };
            let question = line.and_then(|line| {
                bytes += line.len();
                Ok((read(&line)?, serde_json::from_slice::<Caller>(&line)?))
            });
            match question {
                Ok((question, caller)) => {
                    questions.push(question);
                    numbers.push(lines.number);
                    callers.push(Some(caller));
                }
                Err(error) => {
                    let error = format!("{error:#}");
                    say!("{}:{}: {}", escaped(&name), lines.number, escaped(&error));
                    callers.push(None);
                    broken += 1;
                }
            }
        }
        if callers.is_empty() {
            break;
        }
        answered += questions.len();
        for (question, number) in questions.iter().zip(numbers) {
            for cut in cuts(question) {
                say!("note: {}:{number}: {cut}", escaped(&name));
            }
        }
        let mut answers = answer(&questions)?.into_iter();
        for caller in callers {
            let answer = caller.and_then(|caller| Some(caller.with(answers.next()?)));
            print_json(&answer)?;
        }
    }
    let path = path.display();
    ensure!(answered > 0, "there is no line to answer in {path}");
    Ok(u8::from(broken > 0))
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
