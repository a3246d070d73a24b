//! `stance`: detects the stance of one text, or of each line of a file.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{StanceArgs, print};
use crate::nn::lazy::Lazy;
use crate::reading::pair::PairEncoder;
use crate::score::object_stance::Objects;
use crate::task::models;
use crate::task::stance::{ClaimStance, StanceAnswer, StanceQuestion, answer};
use crate::topic::question;
use crate::trec::{Explanation, escaped};
use crate::weights::{Models, Role};

/// Number of lines that are answered together: enough to group texts of similar length, but few enough that answers appear soon.
const BATCH: usize = 512;

/// A longer line is a fault. Lines are answered together until they have this many bytes.
const MAX_LINE_BYTES: usize = 16 << 20;

/// A line of a `--jsonl` file.
#[derive(Debug, Deserialize)]
struct StanceLine {
    text: String,
    #[serde(default)]
    topic: Option<String>,
    #[serde(default)]
    objects: Option<[String; 2]>,
}

impl StanceLine {
    /// # Errors
    /// The line has a topic and objects, or neither; or the text, the topic or an object is empty.
    fn question(self) -> Result<StanceQuestion> {
        let objects = self.objects.iter().flatten();
        let named = objects.map(|object| ("an object", object));
        let named = named.chain(self.topic.iter().map(|topic| ("the topic", topic)));
        for (name, text) in named.chain([("the text", &self.text)]) {
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

/// `riposte stance`.
pub fn stance(args: &StanceArgs) -> Result<u8> {
    let models = Models::at(args.models.as_deref())?;
    let encoder = match models::find(&models, Role::Sentence, None)? {
        Ok(model) => models::pair_encoder(&model)?,
        Err(why) => Err(format!("stance goes by words alone: {why}")),
    };
    let encoder = encoder.map_err(|note| say!("note: {note}")).ok();
    if let Some(path) = &args.jsonl {
        return answer_file(path, encoder.as_ref(), args.explain);
    }
    let Some(text) = args.text.clone() else {
        bail!("give --text with --topic or --objects, or give --jsonl");
    };
    let line = StanceLine {
        text,
        topic: args.topic.clone(),
        objects: args.objects.clone().and_then(|two| two.try_into().ok()),
    };
    if let Some(topic) = &args.topic
        && question::claims(topic).1.is_empty()
    {
        say!(
            "note: the topic is an open question: the text is read with its words, but there is no claim to support or attack"
        );
    }
    let question = line.question()?;
    for cut in question.cuts(encoder.is_some()) {
        say!("note: {cut}");
    }
    for answer in answers(&[question], encoder.as_ref(), args.explain)? {
        print(&format_args!("{answer}\n"))?;
    }
    Ok(0)
}

/// Answers line by line. The answer to a line that cannot be read is null; an error names the line, and the exit code is 1, or 2 if no line
/// can be answered.
fn answer_file(path: &Path, encoder: Option<&Lazy<PairEncoder>>, explain: bool) -> Result<u8> {
    let reading = || format!("cannot read {}", path.display());
    let input: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).with_context(reading)?))
    };
    let name = path.to_string_lossy();
    let mut lines = BoundedLines { input, number: 0 };
    let (mut answered, mut broken) = (0, 0);
    loop {
        let mut questions = Vec::new();
        let mut numbers = Vec::new();
        let mut validity = Vec::new();
        let mut bytes = 0;
        while validity.len() < BATCH && bytes < MAX_LINE_BYTES {
            let Some(line) = lines.next().with_context(reading)? else {
                break;
            };
            let question = line.and_then(|line| {
                bytes += line.len();
                serde_json::from_slice::<StanceLine>(&line)?.question()
            });
            match question {
                Ok(question) => {
                    questions.push(question);
                    numbers.push(lines.number);
                    validity.push(true);
                }
                Err(error) => {
                    let error = format!("{error:#}");
                    say!("{}:{}: {}", escaped(&name), lines.number, escaped(&error));
                    validity.push(false);
                    broken += 1;
                }
            }
        }
        if validity.is_empty() {
            break;
        }
        answered += questions.len();
        for (question, number) in questions.iter().zip(numbers) {
            for cut in question.cuts(encoder.is_some()) {
                say!("note: {}:{number}: {cut}", escaped(&name));
            }
        }
        let mut answers = answers(&questions, encoder, explain)?.into_iter();
        for is_valid in validity {
            let answer = is_valid.then(|| answers.next()).flatten();
            print(&format_args!("{}\n", answer.unwrap_or(Value::Null)))?;
        }
    }
    ensure!(
        answered > 0,
        "there is no line to answer in {}",
        path.display()
    );
    Ok(u8::from(broken > 0))
}

/// Lines that are not blank, without a byte order mark at the beginning of the first.
struct BoundedLines {
    input: Box<dyn BufRead>,
    /// The number of the last line, from 1.
    number: u64,
}

impl BoundedLines {
    /// The next line; `None` at the end. The inner error is that of a line that is too long.
    fn next(&mut self) -> std::io::Result<Option<Result<Vec<u8>>>> {
        loop {
            self.number += 1;
            let mut line = Vec::new();
            let limit = MAX_LINE_BYTES as u64 + 1;
            let mut read = self
                .input
                .by_ref()
                .take(limit)
                .read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(None);
            }
            if read > MAX_LINE_BYTES {
                while read > 0 && line.last() != Some(&b'\n') {
                    line.clear();
                    read = self
                        .input
                        .by_ref()
                        .take(limit)
                        .read_until(b'\n', &mut line)?;
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

/// The answers as JSON, in the order of the questions.
fn answers(
    questions: &[StanceQuestion],
    encoder: Option<&Lazy<PairEncoder>>,
    explain: bool,
) -> Result<Vec<Value>> {
    let answers = answer(questions, encoder, explain)?.into_iter();
    Ok(answers
        .map(|(answer, explanation)| to_json(&answer, explanation))
        .collect())
}

fn to_json(answer: &StanceAnswer, explanation: Option<Explanation>) -> Value {
    let mut object = match answer {
        StanceAnswer::Claim(stances) => json!({
            "stance": ClaimStance::most_probable(stances),
            "pro": stances.pro, "con": stances.con, "neither": stances.neither,
        }),
        StanceAnswer::Objects {
            decision,
            probabilities: [first, second, neutral, no],
        } => json!({
            "stance": decision.to_string(),
            "first": first, "second": second, "neutral": neutral, "no": no,
        }),
    };
    if let Some(explanation) = explanation {
        object["explanation"] = json!(explanation);
    }
    object
}
