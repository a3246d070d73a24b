//! What models say of texts that are not in a collection.

use anyhow::{Result, ensure};
use riposte_eval::Explanation;
use riposte_serve::Call;
use riposte_serve::answers::{self, Quality, StanceAnswer};
use riposte_serve::questions::{QualityQuestion, StanceQuestion, StanceTarget};
use serde_json::{Value, json};

use crate::answer::quality::rate;
use crate::answer::stance::{ClaimStance, answer};
use crate::answer::{quality, stance};
use crate::lazy::Lazy;
use crate::reading::stance_encoder::StanceEncoder;
use crate::score::object_stance::Objects;
use crate::stopped::Stopped;

/// Texts that are read before the next look at whether the client is still there. Long texts have several pieces.
const AT_ONCE: usize = 16;

/// The stances of texts, as of `riposte stance`.
///
/// # Errors
/// The encoder fails, or the call is stopped.
pub(super) fn stances(
    asked: &StanceQuestion,
    encoder: Option<&Lazy<StanceEncoder>>,
    call: &Call,
) -> Result<Vec<StanceAnswer>> {
    let question = |text: &String| match &asked.target {
        StanceTarget::Topic(topic) => stance::StanceQuestion::about_topic(topic, text.clone()),
        StanceTarget::Objects([first, second]) => stance::StanceQuestion::Objects {
            objects: Objects::new(first, second),
            text: text.clone(),
        },
    };
    let mut found = Vec::with_capacity(asked.texts.len());
    for texts in asked.texts.chunks(AT_ONCE) {
        ensure_wanted(call)?;
        let questions: Vec<stance::StanceQuestion> = texts.iter().map(question).collect();
        let answers = answer(&questions, encoder, asked.explain)?;
        let answers = questions.iter().zip(answers);
        found.extend(answers.map(|(question, (answer, explanation))| {
            let unlike = question.unlike().filter(|_| encoder.is_some());
            served(answer, explanation, unlike)
        }));
    }
    Ok(found)
}

fn served(
    answer: stance::StanceAnswer,
    explanation: Option<Explanation>,
    unlike: Option<String>,
) -> StanceAnswer {
    let explanation: Option<Value> = explanation.map(|explanation| json!(explanation));
    match answer {
        stance::StanceAnswer::Claim(stances) => StanceAnswer::Claim {
            stance: match ClaimStance::most_probable(&stances) {
                ClaimStance::Pro => answers::ClaimStance::Pro,
                ClaimStance::Con => answers::ClaimStance::Con,
                ClaimStance::Neither => answers::ClaimStance::Neither,
            },
            probabilities: answers::StanceProbabilities {
                pro: stances.pro,
                con: stances.con,
                neither: stances.neither,
            },
            undecided: ClaimStance::is_undecided(&stances),
            unlike,
            explanation,
        },
        stance::StanceAnswer::Objects {
            decision,
            probabilities: [first, second, neutral, no],
        } => StanceAnswer::Objects {
            stance: match decision {
                riposte_eval::ObjectStance::First => answers::ObjectStance::First,
                riposte_eval::ObjectStance::Second => answers::ObjectStance::Second,
                riposte_eval::ObjectStance::Neutral => answers::ObjectStance::Neutral,
                riposte_eval::ObjectStance::No => answers::ObjectStance::No,
            },
            first,
            second,
            neutral,
            no,
            explanation,
        },
    }
}

/// The qualities of texts, as of `riposte quality`.
///
/// # Errors
/// The encoder fails, or the call is stopped.
pub(super) fn qualities(
    asked: &QualityQuestion,
    encoder: Option<&Lazy<StanceEncoder>>,
    call: &Call,
) -> Result<Vec<Quality>> {
    let mut found = Vec::with_capacity(asked.texts.len());
    for texts in asked.texts.chunks(AT_ONCE) {
        ensure_wanted(call)?;
        let questions = texts.iter();
        let questions =
            questions.map(|text| quality::QualityQuestion::new(&asked.topic, text.clone()));
        let rated = rate(&questions.collect::<Vec<_>>(), encoder)?.into_iter();
        found.extend(rated.map(|rated| Quality {
            quality: rated.value(),
            explanation: asked.explain.then(|| json!(rated)),
        }));
    }
    Ok(found)
}

fn ensure_wanted(call: &Call) -> Result<()> {
    ensure!(!call.is_stopped(), Stopped::Run);
    Ok(())
}
