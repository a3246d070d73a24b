//! `stance`: detects the stance of one text, or of each line of a file.

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{StanceArgs, print};
use crate::nn::lazy::Lazy;
use crate::reading::pair::PairEncoder;
use crate::score::object_stance::Objects;
use crate::task::models;
use crate::task::stance::{ClaimStance, StanceAnswer, StanceQuestion, answer};
use crate::trec::Explanation;
use crate::weights::{Models, Role};

/// Number of lines that are answered together: enough to group texts of similar length, but few enough that answers appear soon.
const BATCH: usize = 512;

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
    fn question(self) -> Result<StanceQuestion> {
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
    let encoder = encoder.map_err(|note| eprintln!("note: {note}")).ok();
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
    for answer in answers(&[line.question()?], encoder.as_ref(), args.explain)? {
        print(&format_args!("{answer}\n"))?;
    }
    Ok(0)
}

/// Answers line by line. The answer to a line that cannot be parsed is null; an error names the line, and the exit code is 1.
fn answer_file(path: &Path, encoder: Option<&Lazy<PairEncoder>>, explain: bool) -> Result<u8> {
    let reading = || format!("cannot read {}", path.display());
    let input: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).with_context(reading)?))
    };
    let mut code = 0;
    let mut lines = input.split(b'\n').zip(1..).peekable();
    while lines.peek().is_some() {
        let mut questions = Vec::new();
        let mut validity = Vec::new();
        for (line, number) in lines.by_ref().take(BATCH) {
            let line = line.with_context(reading)?;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let parsed = serde_json::from_slice::<StanceLine>(&line).map_err(anyhow::Error::from);
            match parsed.and_then(StanceLine::question) {
                Ok(question) => {
                    questions.push(question);
                    validity.push(true);
                }
                Err(error) => {
                    eprintln!("{}:{number}: {error:#}", path.display());
                    validity.push(false);
                    code = 1;
                }
            }
        }
        let mut answers = answers(&questions, encoder, explain)?.into_iter();
        for is_valid in validity {
            let answer = is_valid.then(|| answers.next()).flatten();
            print(&format_args!("{}\n", answer.unwrap_or(Value::Null)))?;
        }
    }
    Ok(code)
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
