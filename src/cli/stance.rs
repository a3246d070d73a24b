//! `stance`: detects the stance of one text, or of each line of a file.

use anyhow::{Result, bail, ensure};
use riposte_claims::claims;
use riposte_eval::Explanation;
use serde_json::{Value, json};

use super::lines::{StanceLine, answer_file};
use super::notes::print_notes;
use super::print_json;
use super::text_args::StanceArgs;
use riposte::answer::stance::{ClaimStance, StanceAnswer, StanceQuestion};
use riposte::api::StanceDetector;
use riposte::language::other_language;

/// `riposte stance`.
pub fn stance(args: &StanceArgs) -> Result<u8> {
    let models = args.models.open()?;
    let detector = StanceDetector::with(&models, args.models.compute(), &mut print_notes)?;
    stance_by(args, &detector)
}

/// The same with a detector that is open.
pub(super) fn stance_by(args: &StanceArgs, detector: &StanceDetector) -> Result<u8> {
    if let Some(path) = &args.jsonl {
        return answer_file(
            path,
            &args.faults,
            |line| serde_json::from_slice::<StanceLine>(line)?.question(),
            |question| question.cuts(detector.has_encoder()),
            |questions| answers(questions, detector, args.explain),
        );
    }
    let Some(text) = args.text.clone() else {
        bail!("give --text with --topic or --objects, or give --jsonl");
    };
    ensure!(
        args.topic.is_some() || args.objects.is_some(),
        "give --topic or --objects: a stance is towards something"
    );
    let line = StanceLine {
        text,
        topic: args.topic.clone(),
        objects: args.objects.clone().and_then(|two| two.try_into().ok()),
    };
    if let Some(topic) = &args.topic
        && claims(topic).1.is_empty()
    {
        say!(
            "note: the topic is an open question, and makes no claim to support or attack: the stance is towards its words"
        );
    }
    if let Some(language) = args.topic.as_deref().and_then(other_language) {
        say!(
            "note: the topic looks {language}, and stances are read only in English: this answer says nothing"
        );
    }
    let question = line.question()?;
    for cut in question.cuts(detector.has_encoder()) {
        say!("note: {cut}");
    }
    answers(&[question], detector, args.explain)?
        .iter()
        .try_for_each(print_json)?;
    Ok(0)
}

/// The answers as JSON, in the order of the questions.
fn answers(
    questions: &[StanceQuestion],
    detector: &StanceDetector,
    explain: bool,
) -> Result<Vec<Value>> {
    let answers = detector.answer(questions, explain)?.into_iter();
    let with_questions = questions.iter().zip(answers);
    let to_json = |(question, answer): (&StanceQuestion, _)| {
        let unlike = question.unlike().filter(|_| detector.has_encoder());
        to_json(answer, unlike)
    };
    Ok(with_questions.map(to_json).collect())
}

/// `unlike`: how the text differs from everything that the encoder has learned from.
fn to_json(
    (answer, explanation): (StanceAnswer, Option<Explanation>),
    unlike: Option<String>,
) -> Value {
    let mut object = match answer {
        StanceAnswer::Claim(stances) => json!({
            "stance": ClaimStance::most_probable(&stances),
            "pro": stances.pro, "con": stances.con, "neither": stances.neither,
            "undecided": ClaimStance::is_undecided(&stances),
            "unlike": unlike,
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
