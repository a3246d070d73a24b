//! `quality`: rates one text as an argument on a topic, or each line of a file.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::lines::{QualityLine, answer_file};
use super::print_json;
use super::text_args::QualityArgs;
use riposte::answer::quality::{QualityQuestion, rate};
use riposte::lazy::Lazy;
use riposte::reading::stance_encoder::StanceEncoder;

/// What a note says if the stance encoder is not installed.
pub(super) const OTHERWISE: &str = "quality is estimated from words only";

/// `riposte quality`.
pub fn quality(args: &QualityArgs) -> Result<u8> {
    quality_by(args, args.models.stance_encoder(OTHERWISE)?.as_deref())
}

/// The same with the encoder, if it is installed.
pub(super) fn quality_by(args: &QualityArgs, encoder: Option<&Lazy<StanceEncoder>>) -> Result<u8> {
    if let Some(path) = &args.jsonl {
        return answer_file(
            path,
            &args.faults,
            |line| serde_json::from_slice::<QualityLine>(line)?.question(),
            |_| Vec::new(),
            |questions| answers(questions, encoder, args.explain),
        );
    }
    let (Some(topic), Some(text)) = (args.topic.clone(), args.text.clone()) else {
        bail!("give --topic and --text, or give --jsonl");
    };
    let question = QualityLine { topic, text }.question()?;
    answers(&[question], encoder, args.explain)?
        .iter()
        .try_for_each(print_json)?;
    Ok(0)
}

/// The answers as JSON, in the order of the questions.
fn answers(
    questions: &[QualityQuestion],
    encoder: Option<&Lazy<StanceEncoder>>,
    explain: bool,
) -> Result<Vec<Value>> {
    let answers = rate(questions, encoder)?.into_iter();
    Ok(answers
        .map(|explanation| {
            let mut object = json!({ "quality": explanation.value() });
            if explain {
                object["explanation"] = json!(explanation);
            }
            object
        })
        .collect())
}
