//! The questions in a file with one on each line, and the lines with their answers. fuzz-targets compiles this file, too: the program's own modules
//! are not part of the library.

use std::io::{self, BufRead, Read};

use anyhow::{Result, anyhow, bail, ensure};
use riposte_eval::lines::Object;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use riposte::answer::quality::QualityQuestion;
use riposte::answer::stance::StanceQuestion;
use riposte::score::object_stance::Objects;

/// Number of lines that are answered together: enough to group texts of similar length, but few enough that answers appear soon.
const BATCH: usize = 512;

/// A longer line is a fault. Lines are answered together until they have this many bytes.
const MAX_LINE_BYTES: usize = 16 << 20;

/// A line of `stance --jsonl`.
#[derive(Debug, Deserialize)]
pub struct StanceLine {
    pub text: String,
    #[serde(default)]
    pub topic: Option<String>,
    #[serde(default)]
    pub objects: Option<[String; 2]>,
}

impl StanceLine {
    /// # Errors
    /// The line has a topic and objects, or neither; or one of them is empty.
    pub fn question(self) -> Result<StanceQuestion> {
        let objects = self.objects.iter().flatten();
        let named = objects.map(|object| ("an object", object));
        let named = named.chain(self.topic.iter().map(|topic| ("the topic", topic)));
        for (name, text) in named {
            ensure!(!text.trim().is_empty(), "{name} is empty");
        }
        match (self.topic, self.objects) {
            (Some(topic), None) => Ok(StanceQuestion::about_topic(&topic, self.text)),
            (None, Some([first, second])) => Ok(StanceQuestion::Objects {
                objects: Objects::new(&first, &second),
                text: self.text,
            }),
            _ => bail!("a line has a topic or two objects, but not both"),
        }
    }
}

/// A line of `quality --jsonl`.
#[derive(Debug, Deserialize)]
pub struct QualityLine {
    pub topic: String,
    pub text: String,
}

impl QualityLine {
    /// # Errors
    /// The topic is empty.
    pub fn question(self) -> Result<QualityQuestion> {
        ensure!(!self.topic.trim().is_empty(), "the topic is empty");
        Ok(QualityQuestion::new(&self.topic, self.text))
    }
}

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
pub struct AnsweredQuestion<'l> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'l RawValue>,
    text: &'l RawValue,
    #[serde(flatten)]
    answer: Value,
}

/// Lines that are answered together.
pub struct Batch<Q> {
    /// The questions in the lines that can be read.
    pub questions: Vec<Q>,
    /// The number of the line of each question.
    pub numbers: Vec<u64>,
    /// `None` for a line that cannot be read.
    lines: Vec<Option<Vec<u8>>>,
}

impl<Q> Batch<Q> {
    /// The next lines, `None` at the end. `read` reads a line; `on_fault` receives the number of a line that cannot be read, and the reason.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next(
        lines: &mut BoundedLines,
        read: impl Fn(&[u8]) -> Result<Q>,
        mut on_fault: impl FnMut(u64, String),
    ) -> io::Result<Option<Batch<Q>>> {
        let mut batch = Batch {
            questions: Vec::new(),
            numbers: Vec::new(),
            lines: Vec::new(),
        };
        let mut bytes = 0;
        while batch.lines.len() < BATCH && bytes < MAX_LINE_BYTES {
            let Some(line) = lines.next()? else {
                break;
            };
            let question = line.and_then(|line| {
                bytes += line.len();
                serde_json::from_slice::<Object<Caller>>(&line)?;
                Ok((read(&line)?, line))
            });
            match question {
                Ok((question, line)) => {
                    batch.questions.push(question);
                    batch.numbers.push(lines.number);
                    batch.lines.push(Some(line));
                }
                Err(error) => {
                    on_fault(lines.number, format!("{error:#}"));
                    batch.lines.push(None);
                }
            }
        }
        Ok(Some(batch).filter(|batch| !batch.lines.is_empty()))
    }

    /// The answer to each line, `None` to one that cannot be read. `answers` are those to the questions, in their order.
    pub fn answered(
        &self,
        answers: Vec<Value>,
    ) -> impl Iterator<Item = Option<AnsweredQuestion<'_>>> {
        let mut answers = answers.into_iter();
        self.lines.iter().map(move |line| {
            let Caller { id, text } = serde_json::from_slice(line.as_ref()?).ok()?;
            let answer = answers.next()?;
            Some(AnsweredQuestion { id, text, answer })
        })
    }
}

/// Lines that are not blank, without a byte order mark at the beginning of the first.
pub struct BoundedLines {
    input: Box<dyn BufRead>,
    /// The number of the last line, from 1.
    number: u64,
}

impl BoundedLines {
    pub fn new(input: Box<dyn BufRead>) -> Self {
        BoundedLines { input, number: 0 }
    }

    /// The next line; `None` at the end. The inner error: the line is too long.
    fn next(&mut self) -> io::Result<Option<Result<Vec<u8>>>> {
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
