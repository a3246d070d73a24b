//! Stance detection for single texts: towards the claim of a topic, or towards two objects.

use std::borrow::Cow;

use anyhow::Result;
use riposte_claims::claims;
use riposte_eval::{Explanation, ObjectStance};
use serde::Serialize;

use crate::lazy::Lazy;
use crate::reading::clauses::clauses;
use crate::reading::pieces::{Pieces, used_part};
use crate::reading::stance_encoder::{Logits, StanceEncoder};
use crate::score::object_stance::{self, MaskedLogits, Objects, PREFERENCE};
use crate::score::side_taken;
use crate::score::text_stance::{Stances, TextStanceModel};

/// A text, and the target of its stance.
pub enum StanceQuestion {
    Claim { claim: String, text: String },
    Objects { objects: Objects, text: String },
}

impl StanceQuestion {
    /// The question for the stance of the clauses of a text towards the claim of a topic.
    pub fn about_topic(topic: &str, text: String) -> Self {
        let (claim, _) = claims(topic);
        StanceQuestion::Claim {
            claim,
            text: clauses(&text).into_owned(),
        }
    }

    /// How the text differs from everything that the stance encoder has learned from; `None` if it does not, or if the stance is towards objects.
    pub fn unlike(&self) -> Option<String> {
        match self {
            StanceQuestion::Claim { text, .. } => TextStanceModel::committed().unlike(text),
            StanceQuestion::Objects { .. } => None,
        }
    }

    /// Describes the parts of the text that are not read. Empty for a claim, because only the beginning of its text is ever read. `encodes` says
    /// whether there is an encoder.
    pub fn cuts(&self, encodes: bool) -> Vec<String> {
        let StanceQuestion::Objects { objects, text } = self else {
            return Vec::new();
        };
        let (text, cut) = used_part(text);
        let mut cuts = Vec::from_iter(cut);
        if encodes {
            cuts.extend(objects.unread(text));
        }
        cuts
    }
}

/// The stance of a text.
pub enum StanceAnswer {
    Claim(Stances),
    Objects {
        decision: ObjectStance,
        /// The probabilities of the classes: first object, second object, neutral, no stance. Their sum is 1.
        probabilities: [f64; 4],
    },
}

/// The stance of a text towards a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ClaimStance {
    Pro,
    Con,
    Neither,
}

impl ClaimStance {
    /// The most probable stance.
    pub fn most_probable(stances: &Stances) -> Self {
        if stances.neither >= stances.pro.max(stances.con) {
            ClaimStance::Neither
        } else if stances.pro > stances.con {
            ClaimStance::Pro
        } else {
            ClaimStance::Con
        }
    }

    /// Whether a text takes a side, but PRO and CON are nearly as likely. What lists sides shows such a text as undecided.
    pub fn is_undecided(stances: &Stances) -> bool {
        stances.neither < stances.pro.max(stances.con) && side_taken(stances.balance()).is_none()
    }
}

/// The answers to questions, in their order, with explanations if `explain` is set. Without an encoder, they depend only on words.
///
/// # Errors
/// The encoder fails.
pub fn answer(
    questions: &[StanceQuestion],
    encoder: Option<&Lazy<StanceEncoder>>,
    explain: bool,
) -> Result<Vec<(StanceAnswer, Option<Explanation>)>> {
    let read: Vec<(&str, Vec<Cow<'_, str>>)> = questions
        .iter()
        .map(|question| match question {
            StanceQuestion::Claim { claim, text } => {
                (claim.as_str(), Pieces::of(text).into_list().collect())
            }
            StanceQuestion::Objects { objects, text } => {
                let masked = objects.masked(used_part(text).0);
                (
                    PREFERENCE,
                    masked.into_iter().flatten().map(Cow::Owned).collect(),
                )
            }
        })
        .collect();
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let mut ranges = Vec::new();
    for (claim, texts) in &read {
        let start = pairs.len();
        pairs.extend(texts.iter().map(|text| (*claim, text.as_ref())));
        ranges.push(start..pairs.len());
    }
    let logits = encoder.map(|encoder| encoder.get()?.logits(&pairs));
    let logits = logits.transpose()?;
    let answers = questions.iter().zip(ranges).map(|(question, range)| {
        let of_question = logits.as_deref().and_then(|all| all.get(range));
        answer_one(question, of_question, explain)
    });
    Ok(answers.collect())
}

fn answer_one(
    question: &StanceQuestion,
    logits: Option<&[Logits]>,
    explain: bool,
) -> (StanceAnswer, Option<Explanation>) {
    match question {
        StanceQuestion::Claim { claim, text } => {
            let model = TextStanceModel::committed();
            (
                StanceAnswer::Claim(model.stances(claim, text, logits)),
                explain.then(|| model.explain(claim, text, logits)),
            )
        }
        StanceQuestion::Objects { objects, text } => {
            let model = object_stance::ObjectStanceModel::committed();
            let (text, _) = used_part(text);
            let logits: Option<&[MaskedLogits]> = logits.map(|logits| logits.as_chunks::<2>().0);
            let belief = model.belief(objects, text, logits);
            (
                StanceAnswer::Objects {
                    decision: belief.decision,
                    probabilities: belief.probabilities,
                },
                explain.then(|| {
                    let mut explanation = model.explain(objects, text, logits);
                    let cuts = question.cuts(logits.is_some());
                    cuts.iter().for_each(|cut| explanation.add_note(cut));
                    explanation
                }),
            )
        }
    }
}
