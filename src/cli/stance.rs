//! `stance`: what a text says of a topic, or of two objects.

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::models::{pair_encoder, ready};
use super::{StanceArgs, say};
use crate::nn::lazy::Lazy;
use crate::reading::pair::Logits;
use crate::reading::pair::PairEncoder;
use crate::reading::pieces::pieces;
use crate::score::object_stance::{self, MaskedLogits, Objects, PREFERENCE};
use crate::score::text_stance::Model;
use crate::topic::question;
use crate::weights::{Models, Role};

/// Lines that are read together: enough to sort texts of one length to one another, few enough to see the answers come.
const TOGETHER: usize = 512;

/// A line of `--jsonl`.
#[derive(Debug, Deserialize)]
struct Asked {
    text: String,
    #[serde(default)]
    topic: Option<String>,
    #[serde(default)]
    objects: Option<[String; 2]>,
}

/// What is asked, in the form in which it is answered.
enum Question {
    /// The claim behind the topic, and the text.
    Topic(String, String),
    Objects(Objects, String),
}

impl Asked {
    fn question(self) -> Result<Question> {
        match (self.topic, self.objects) {
            (Some(topic), None) => Ok(Question::Topic(question::claims(&topic).0, self.text)),
            (None, Some([first, second])) => {
                Ok(Question::Objects(Objects::new(&first, &second), self.text))
            }
            _ => bail!("a line has a topic or two objects, and a text"),
        }
    }
}

/// Where the pairs of a question lie among all that are asked.
struct Place {
    from: usize,
    count: usize,
}

/// `riposte stance`.
pub fn stance(args: &StanceArgs) -> Result<u8> {
    let models = Models::at(args.models.as_deref())?;
    let encoder = match ready(&models, Role::Sentence, None)? {
        Ok(model) => pair_encoder(&model)?,
        Err(why) => {
            eprintln!("note: stance goes by words alone: {why}");
            None
        }
    };
    if let Some(path) = &args.jsonl {
        return of_file(path, encoder.as_ref(), args.explain);
    }
    let Some(text) = args.text.clone() else {
        bail!("--topic or --objects, and --text; or --jsonl FILE");
    };
    let asked = Asked {
        text,
        topic: args.topic.clone(),
        objects: args.objects.clone().and_then(|both| both.try_into().ok()),
    };
    for answer in answers(&[asked.question()?], encoder.as_ref(), args.explain)? {
        say(&format_args!("{answer}\n"))?;
    }
    Ok(0)
}

/// Answers line by line. A line that cannot be read is answered by null and named; the exit code is then 1.
fn of_file(path: &Path, encoder: Option<&Lazy<PairEncoder>>, explain: bool) -> Result<u8> {
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
        let mut understood = Vec::new();
        for (line, number) in lines.by_ref().take(TOGETHER) {
            let line = line.with_context(reading)?;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let asked = serde_json::from_slice::<Asked>(&line).map_err(anyhow::Error::from);
            match asked.and_then(Asked::question) {
                Ok(question) => {
                    questions.push(question);
                    understood.push(true);
                }
                Err(error) => {
                    eprintln!("{}:{number}: {error:#}", path.display());
                    understood.push(false);
                    code = 1;
                }
            }
        }
        let mut answers = answers(&questions, encoder, explain)?.into_iter();
        for understood in understood {
            let answer = understood.then(|| answers.next()).flatten();
            say(&format_args!("{}\n", answer.unwrap_or(Value::Null)))?;
        }
    }
    Ok(code)
}

/// An answer a question, in their order.
fn answers(
    questions: &[Question],
    encoder: Option<&Lazy<PairEncoder>>,
    explain: bool,
) -> Result<Vec<Value>> {
    let masked: Vec<Vec<[String; 2]>> = questions
        .iter()
        .map(|question| match question {
            Question::Topic(..) => Vec::new(),
            Question::Objects(objects, text) => objects.masked(text),
        })
        .collect();
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let mut places = Vec::new();
    for (question, masked) in questions.iter().zip(&masked) {
        let from = pairs.len();
        match question {
            Question::Topic(claim, text) => {
                pairs.extend(
                    pieces(text)
                        .into_iter()
                        .map(|piece| (claim.as_str(), piece)),
                );
            }
            Question::Objects(..) => {
                let texts = masked.iter().flatten();
                pairs.extend(texts.map(|text| (PREFERENCE, text.as_str())));
            }
        }
        places.push(Place {
            from,
            count: pairs.len() - from,
        });
    }
    let read = encoder.map(|encoder| encoder.get()?.logits(&pairs));
    let logits = read.transpose()?;
    Ok(questions
        .iter()
        .zip(places)
        .map(|(question, place)| {
            let own = logits.as_deref();
            let own = own.and_then(|all| all.get(place.from..place.from + place.count));
            answer(question, own, explain)
        })
        .collect())
}

fn answer(question: &Question, logits: Option<&[Logits]>, explain: bool) -> Value {
    let (mut answer, explanation) = match question {
        Question::Topic(claim, text) => {
            let model = Model::committed();
            let s = model.stances(claim, text, logits);
            let stance = if s.neither >= s.pro.max(s.con) {
                "NEITHER"
            } else if s.pro > s.con {
                "PRO"
            } else {
                "CON"
            };
            (
                json!({"stance": stance, "pro": s.pro, "con": s.con, "neither": s.neither}),
                explain.then(|| model.explain("stance", claim, text, logits)),
            )
        }
        Question::Objects(objects, text) => {
            let model = object_stance::Model::committed();
            let logits: Option<&[MaskedLogits]> = logits.map(|logits| logits.as_chunks::<2>().0);
            let belief = model.belief(objects, text, logits);
            let [first, second, neutral, no] = belief.probabilities;
            (
                json!({
                    "stance": belief.decision.to_string(),
                    "first": first, "second": second, "neutral": neutral, "no": no,
                }),
                explain.then(|| model.explain(objects, text, logits)),
            )
        }
    };
    if let Some(explanation) = explanation {
        answer["explanation"] = json!(explanation);
    }
    answer
}
