//! Which of two objects a passage speaks for (Touché 2022, Task 2): FIRST, SECOND, NEUTRAL or NO.
//!
//! In two steps: does it take a stance; if so, a neutral one or one for an object; and for which. Each question has a
//! small logistic model. The features of the last change their sign when the objects are swapped, and it has no
//! bias; the others' features do not change: so swapped objects give exactly swapped probabilities. Weights are
//! learned by `train object-stance` (models/train).

mod cues;
mod features;
mod mentions;

use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

pub use features::{Features, NEUTRAL, Reading, features};
pub(crate) use features::{LEANING, ONE_SIDED, PREFERRING, SUREST, TAKES, WHICH};
pub use mentions::Objects;

use super::linear::{Linear, LinearText};
use crate::reading::pair::Logits;
use crate::trec::{Explanation, ObjectStance};

/// The pair encoder's logits of a sentence with `OBJA` and `OBJB` in place of the objects, and of the same with them swapped.
pub(crate) type MaskedLogits = [Logits; 2];

/// The claim that a masked sentence is read with.
pub const PREFERENCE: &str = "OBJA is better than OBJB";

fn names(
    lexical: &[&'static str],
    of_encoder: &[&'static str],
    encoder: bool,
) -> Vec<&'static str> {
    let of_encoder = if encoder { of_encoder } else { &[] };
    lexical.iter().chain(of_encoder).copied().collect()
}

/// The names of the features that tell which object, with or without the pair encoder.
pub fn which_names(encoder: bool) -> Vec<&'static str> {
    names(&WHICH, &[LEANING], encoder)
}

/// The names of the features that tell a neutral stance, with or without the pair encoder.
pub fn neutral_names(encoder: bool) -> Vec<&'static str> {
    names(&NEUTRAL, &[ONE_SIDED], encoder)
}

/// The names of the features that tell a passage that takes a stance, with or without the pair encoder.
pub fn takes_names(encoder: bool) -> Vec<&'static str> {
    names(&TAKES, &[PREFERRING, SUREST], encoder)
}

/// The three questions, and what a decision counts for.
#[derive(Clone, Debug)]
pub struct Steps {
    /// P(it takes a stance).
    pub takes: Linear,
    /// P(the stance is neutral), if it takes one.
    pub neutral: Linear,
    /// P(it is for the first object), if it is for one.
    pub which: Linear,
    /// Factors on the probabilities of FIRST and SECOND, and of NEUTRAL, when one stance must be named: macro-F1 asks
    /// for rare stances more often than they are probable.
    pub factors: [f64; 2],
}

/// As the weight file has them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepsText {
    pub factors: [f64; 2],
    pub takes: LinearText,
    pub neutral: LinearText,
    pub which: LinearText,
}

#[derive(Deserialize)]
struct ModelText {
    lexical: StepsText,
    encoder: StepsText,
}

/// The learned weights.
#[derive(Clone, Debug)]
pub struct Model {
    lexical: Steps,
    encoder: Steps,
}

/// What a passage says of the objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Belief {
    /// In the order of [`ObjectStance::ALL`]; they add up to 1.
    pub probabilities: [f64; 4],
    /// The stance to name.
    pub decision: ObjectStance,
}

static COMMITTED: LazyLock<Model> = LazyLock::new(|| {
    // part of the program, not input: the test below reads it
    Model::parse(include_str!("../../models/own/object-stance.toml"))
        .expect("models/own/object-stance.toml is a model")
});

impl Steps {
    /// The steps with or without the features of the pair encoder.
    ///
    /// # Errors
    /// Features that are missing or unknown, weights under which swapped objects would not swap.
    pub fn new(text: StepsText, encoder: bool) -> Result<Self> {
        ensure!(
            text.factors.iter().all(|f| f.is_finite() && *f > 0.0),
            "factors are numbers above 0"
        );
        let which = Linear::new(text.which, &which_names(encoder)).context("which")?;
        ensure!(which.is_odd(), "which: its bias and means must be 0");
        Ok(Steps {
            takes: Linear::new(text.takes, &takes_names(encoder)).context("takes")?,
            neutral: Linear::new(text.neutral, &neutral_names(encoder)).context("neutral")?,
            which,
            factors: text.factors,
        })
    }

    /// What these steps say of a passage with such features.
    pub fn belief(&self, features: &Features) -> Belief {
        let stance = self.takes.probability(&features.takes);
        let neutral = self.neutral.probability(&features.neutral);
        let which = self.which.log_odds(&features.which);
        let one = stance * (1.0 - neutral);
        // not 1 - p: swapped objects must give the same bits
        let probabilities = [
            one * super::logistic(which),
            one * super::logistic(-which),
            stance * neutral,
            1.0 - stance,
        ];
        Belief {
            decision: decide(&probabilities, self.factors),
            probabilities,
        }
    }
}

/// The stance whose probability times its factor is the largest; of equal ones NO before NEUTRAL before an object,
/// and of equal objects neither.
pub(crate) fn decide(probabilities: &[f64; 4], factors: [f64; 2]) -> ObjectStance {
    let [first, second, neutral, no] = *probabilities;
    let object = first.max(second) * factors[0];
    let neutral = neutral * factors[1];
    if no >= object && no >= neutral {
        ObjectStance::No
    } else if neutral >= object || first == second {
        ObjectStance::Neutral
    } else if first > second {
        ObjectStance::First
    } else {
        ObjectStance::Second
    }
}

impl Model {
    /// The weights that come with the program.
    pub fn committed() -> &'static Model {
        &COMMITTED
    }

    /// Reads a weight file.
    ///
    /// # Errors
    /// No TOML, features that are missing or unknown, weights under which swapped objects would not swap.
    pub fn parse(text: &str) -> Result<Model> {
        let text: ModelText = toml::from_str(text).context("reading weights of object stance")?;
        Ok(Model {
            lexical: Steps::new(text.lexical, false).context("lexical")?,
            encoder: Steps::new(text.encoder, true).context("encoder")?,
        })
    }

    /// The stance of a passage. `logits` are the pair encoder's of [`Objects::masked`] with [`PREFERENCE`], in its order; without
    /// them words alone decide, by weights of their own. Of a text no longer than a sentence the encoder alone decides.
    pub fn belief(
        &self,
        objects: &Objects,
        passage: &str,
        logits: Option<&[MaskedLogits]>,
    ) -> Belief {
        if let Some(sentence) = lone(passage, logits) {
            return of_sentence(sentence);
        }
        let (steps, features) = self.read(objects, passage, logits);
        steps.belief(&features)
    }

    /// The same, opened: the probabilities of the three questions with what speaks for and against.
    pub fn explain(
        &self,
        objects: &Objects,
        passage: &str,
        logits: Option<&[MaskedLogits]>,
    ) -> Explanation {
        if let Some(sentence) = lone(passage, logits) {
            return open_sentence(sentence);
        }
        let (steps, features) = self.read(objects, passage, logits);
        let belief = steps.belief(&features);
        let named = ObjectStance::ALL.into_iter().zip(belief.probabilities);
        let decided = named.filter(|(stance, _)| *stance == belief.decision);
        Explanation {
            name: format!("stance {}", belief.decision),
            value: decided.map(|(_, p)| p).sum(),
            how: format!(
                "largest of FIRST {:.3} × {f}, SECOND {:.3} × {f}, NEUTRAL {:.3} × {}, NO {:.3}",
                belief.probabilities[0],
                belief.probabilities[1],
                belief.probabilities[2],
                steps.factors[1],
                belief.probabilities[3],
                f = steps.factors[0],
            ),
            parts: vec![
                steps.takes.explain("takes a stance", &features.takes),
                steps
                    .neutral
                    .explain("neutral, if it takes one", &features.neutral),
                steps
                    .which
                    .explain("for the first, if for one", &features.which),
            ],
        }
    }

    fn read(
        &self,
        objects: &Objects,
        passage: &str,
        logits: Option<&[MaskedLogits]>,
    ) -> (&Steps, Features) {
        let readings: Option<Vec<Reading>> =
            logits.map(|logits| logits.iter().map(reading).collect());
        let steps = match readings {
            Some(_) => &self.encoder,
            None => &self.lexical,
        };
        (steps, features(objects, passage, readings.as_deref()))
    }
}

/// What the logits of a masked sentence say; swapped objects give the same but for the sign.
pub fn reading([as_is, swapped]: &MaskedLogits) -> Reading {
    let neither = softmax(as_is)[2] + softmax(swapped)[2];
    let lean = |[con, pro, _]: &Logits| f64::from(pro - con);
    Reading {
        leaning: (lean(as_is) - lean(swapped)) / 2.0,
        prefers: 1.0 - neither / 2.0,
    }
}

/// Probabilities of the classes.
fn softmax(logits: &Logits) -> [f64; 3] {
    let most = logits.iter().copied().fold(f32::MIN, f32::max);
    let powers = logits.map(|x| f64::from(x - most).exp());
    let sum: f64 = powers.iter().sum();
    powers.map(|x| x / sum)
}

/// Words up to which a text is a sentence, or two, that either prefers an object or does not: passages, which weigh one thing
/// against another, are longer.
const SENTENCE: usize = 60;

/// The sentence of a short text that most surely prefers an object.
fn lone(text: &str, logits: Option<&[MaskedLogits]>) -> Option<Reading> {
    let words = text.split_whitespace().take(SENTENCE + 1).count();
    let readings = logits?.iter().map(reading);
    readings
        .filter(|_| words <= SENTENCE)
        .max_by(|a, b| a.prefers.total_cmp(&b.prefers))
}

fn of_sentence(sentence: Reading) -> Belief {
    let probabilities = [
        sentence.prefers * super::logistic(sentence.leaning),
        sentence.prefers * super::logistic(-sentence.leaning),
        0.0,
        1.0 - sentence.prefers,
    ];
    Belief {
        decision: decide(&probabilities, [1.0, 1.0]),
        probabilities,
    }
}

fn open_sentence(sentence: Reading) -> Explanation {
    let belief = of_sentence(sentence);
    let named = ObjectStance::ALL.into_iter().zip(belief.probabilities);
    let decided = named.filter(|(stance, _)| *stance == belief.decision);
    Explanation {
        name: format!("stance {}", belief.decision),
        value: decided.map(|(_, p)| p).sum(),
        how: "a sentence, read by the pair encoder".into(),
        parts: vec![
            Explanation::leaf("prefers an object", sentence.prefers),
            Explanation::leaf("log-odds of the first, if it prefers one", sentence.leaning),
        ],
    }
}
