//! Which of two objects a passage speaks for (Touché 2022, Task 2): FIRST, SECOND, NEUTRAL or NO.
//!
//! In two steps: does it take a stance; if so, a neutral one or one for an object; and for which. Each question has a
//! small logistic model. The features of the last change their sign when the objects are swapped, and it has no
//! bias; the others' features do not change: so swapped objects give exactly swapped probabilities. Weights are
//! learned by `collection-tools train object-stance`.

mod cues;
mod features;
mod mentions;

use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

pub use features::{Features, LEANING, NEUTRAL, ONE_SIDED, TAKES, WHICH, features};
pub use mentions::Objects;

use super::linear::{Linear, LinearText};
use crate::trec::{Explanation, ObjectStance};

/// Of a sentence with `OBJA` and `OBJB` in place of the objects, and of the same with them swapped; unit length.
pub type MaskedVectors = [Vec<f32>; 2];

fn names(lexical: &[&'static str], of_vectors: &'static str, vectors: bool) -> Vec<&'static str> {
    let of_vectors = vectors.then_some(of_vectors);
    lexical.iter().copied().chain(of_vectors).collect()
}

/// The names of the features that tell which object, with or without vectors.
pub fn which_names(vectors: bool) -> Vec<&'static str> {
    names(&WHICH, LEANING, vectors)
}

/// The names of the features that tell a neutral stance, with or without vectors.
pub fn neutral_names(vectors: bool) -> Vec<&'static str> {
    names(&NEUTRAL, ONE_SIDED, vectors)
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
    /// Weights of the sentences' vectors.
    leaning: Vec<f64>,
    lexical: StepsText,
    vectors: StepsText,
}

/// The learned weights.
#[derive(Clone, Debug)]
pub struct Model {
    leaning: Vec<f64>,
    lexical: Steps,
    vectors: Steps,
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
    /// The steps with or without the features of vectors.
    ///
    /// # Errors
    /// Features that are missing or unknown, weights under which swapped objects would not swap.
    pub fn new(text: StepsText, vectors: bool) -> Result<Self> {
        ensure!(
            text.factors.iter().all(|f| f.is_finite() && *f > 0.0),
            "factors are numbers above 0"
        );
        let which = Linear::new(text.which, &which_names(vectors)).context("which")?;
        ensure!(which.is_odd(), "which: its bias and means must be 0");
        Ok(Steps {
            takes: Linear::new(text.takes, &TAKES).context("takes")?,
            neutral: Linear::new(text.neutral, &neutral_names(vectors)).context("neutral")?,
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
pub fn decide(probabilities: &[f64; 4], factors: [f64; 2]) -> ObjectStance {
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
            leaning: text.leaning,
            lexical: Steps::new(text.lexical, false).context("lexical")?,
            vectors: Steps::new(text.vectors, true).context("vectors")?,
        })
    }

    /// The stance of a passage. `vectors` are all-MiniLM-L6-v2's of [`Objects::masked`], in its order; without them,
    /// or if they are of another length, words alone decide, by weights of their own.
    pub fn belief(
        &self,
        objects: &Objects,
        passage: &str,
        vectors: Option<&[MaskedVectors]>,
    ) -> Belief {
        let (steps, features) = self.read(objects, passage, vectors);
        steps.belief(&features)
    }

    /// The same, opened: the probabilities of the three questions with what speaks for and against.
    pub fn explain(
        &self,
        objects: &Objects,
        passage: &str,
        vectors: Option<&[MaskedVectors]>,
    ) -> Explanation {
        let (steps, features) = self.read(objects, passage, vectors);
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
                steps.takes.opened("takes a stance", &features.takes),
                steps
                    .neutral
                    .opened("neutral, if it takes one", &features.neutral),
                steps
                    .which
                    .opened("for the first, if for one", &features.which),
            ],
        }
    }

    fn read(
        &self,
        objects: &Objects,
        passage: &str,
        vectors: Option<&[MaskedVectors]>,
    ) -> (&Steps, Features) {
        let leanings: Option<Vec<f64>> = vectors.and_then(|vectors| {
            vectors
                .iter()
                .map(|pair| leaning(&self.leaning, pair))
                .collect()
        });
        let steps = match leanings {
            Some(_) => &self.vectors,
            None => &self.lexical,
        };
        (steps, features(objects, passage, leanings.as_deref()))
    }
}

/// How far a sentence leans to the first object, in log-odds: weights on the difference that swapping makes to its
/// vector. None if the lengths do not fit.
pub fn leaning(weights: &[f64], [as_is, swapped]: &MaskedVectors) -> Option<f64> {
    let fits = as_is.len() == weights.len() && swapped.len() == weights.len();
    fits.then(|| {
        let difference = as_is.iter().zip(swapped).map(|(a, b)| f64::from(a - b));
        weights.iter().zip(difference).map(|(w, d)| w * d).sum()
    })
}
