//! The stance of a passage towards two objects (Touché 2022, Task 2): FIRST, SECOND, NEUTRAL or NO.
//!
//! A cascade of three logistic models answers three questions: does the passage take a stance? If so, is the stance neutral? If not, for which
//! object is it? When the objects are swapped, the features of the last model, which has no bias, change their sign, and the features of the
//! other models do not change. So swapped objects have exactly swapped probabilities. `train object-stance` learns the weights.

mod cues;
mod features;
mod mentions;

use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use riposte_claims::lexicon::comparison::{ALIKE, CONTRASTS, PROS_AND_CONS};
use riposte_claims::words::{count, tokens};
use riposte_eval::{Explanation, ObjectStance};
use serde::Deserialize;

pub(crate) use features::{LEANING, ONE_SIDED, PREFERRING, SUREST, TAKES, WHICH};
pub use features::{NEUTRAL, ObjectStanceFeatures, SentencePreference, features};
pub use mentions::Objects;

use super::FEATURE;
use super::linear::{LogisticLayout, LogisticModel};
use super::text_stance::is_sentence;
use crate::reading::stance_encoder::Logits;

/// The probability of the stance of a passage towards two objects. The parameter is the stance.
pub(crate) const OBJECT_STANCE: &str = "object-stance";

/// One of the decisions that lead to a stance. The parameter names it.
pub(crate) const DECISION: &str = "decision";

/// The stance encoder's logits of a sentence with `OBJA` and `OBJB` in place of the first and the second object, and of the same sentence
/// with the two exchanged.
pub(crate) type MaskedLogits = [Logits; 2];

/// The claim with which the stance encoder reads a masked sentence.
pub const PREFERENCE: &str = "OBJA is better than OBJB";

/// The names of the features of words and, with the encoder, also of its features.
fn names(
    lexical: &[&'static str],
    of_encoder: &[&'static str],
    encoder: bool,
) -> Vec<&'static str> {
    let of_encoder = if encoder { of_encoder } else { &[] };
    lexical.iter().chain(of_encoder).copied().collect()
}

/// The names of the features that show for which object a passage is, with or without the stance encoder.
pub fn which_names(encoder: bool) -> Vec<&'static str> {
    names(&WHICH, &[LEANING], encoder)
}

/// The names of the features that show whether a stance is neutral, with or without the stance encoder.
pub fn neutral_names(encoder: bool) -> Vec<&'static str> {
    names(&NEUTRAL, &[ONE_SIDED], encoder)
}

/// The names of the features that show whether a passage takes a stance, with or without the stance encoder.
pub fn takes_names(encoder: bool) -> Vec<&'static str> {
    names(&TAKES, &[PREFERRING, SUREST], encoder)
}

/// The three models of the cascade, and the factors of the decision.
#[derive(Clone, Debug)]
pub struct Cascade {
    /// P(the passage takes a stance).
    pub takes: LogisticModel,
    /// P(the stance is neutral), if the passage takes one.
    pub neutral: LogisticModel,
    /// P(the stance is for the first object), if it is for one of them.
    pub which: LogisticModel,
    /// The factor of the probabilities of FIRST and SECOND, and that of NEUTRAL, in the decision for one stance; above 0. They are above 1 for
    /// stances that are rarer than NO, because macro-F1 gives rare stances more weight.
    pub factors: [f64; 2],
}

/// The layout of a cascade in the weight file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CascadeText {
    pub factors: [f64; 2],
    pub takes: LogisticLayout,
    pub neutral: LogisticLayout,
    pub which: LogisticLayout,
}

#[derive(Deserialize)]
struct ObjectStanceFile {
    lexical: CascadeText,
    encoder: CascadeText,
}

/// The learned weights: one cascade for passages with features of words only, and one for passages that the stance encoder has read.
#[derive(Clone, Debug)]
pub struct ObjectStanceModel {
    lexical: Cascade,
    encoder: Cascade,
}

/// The stance of a passage.
#[derive(Clone, Debug, PartialEq)]
pub struct Belief {
    /// The probabilities of the stances in the order of [`ObjectStance::ALL`]; they add up to 1.
    pub probabilities: [f64; 4],
    /// The stance that is written to the run.
    pub decision: ObjectStance,
}

fn decided(stance: ObjectStance, probability: f64) -> Explanation {
    Explanation::new((OBJECT_STANCE, stance.word()), probability).named(format!("stance {stance}"))
}

impl Belief {
    /// The decision and its probability.
    fn explain(&self) -> Explanation {
        let probability = self.probabilities[self.decision as usize];
        decided(self.decision, probability)
    }
}

static COMMITTED: LazyLock<ObjectStanceModel> = LazyLock::new(|| {
    // The file is compiled in; tests/it/object_stance.rs reads it.
    ObjectStanceModel::parse(include_str!("../../models/own/object-stance.toml"))
        .expect("models/own/object-stance.toml is a model")
});

impl Cascade {
    /// The cascade with or without the features of the stance encoder.
    ///
    /// # Errors
    /// A feature is missing or unknown, a factor is not above 0, or swapped objects would not have swapped probabilities: the bias or a
    /// mean of `which` is not 0.
    pub fn new(text: CascadeText, encoder: bool) -> Result<Self> {
        ensure!(
            text.factors.iter().all(|f| f.is_finite() && *f > 0.0),
            "the factors must be finite and above 0"
        );
        let which = LogisticModel::new(text.which, &which_names(encoder)).context("which")?;
        ensure!(which.is_odd(), "which: its bias and means must be 0");
        Ok(Cascade {
            takes: LogisticModel::new(text.takes, &takes_names(encoder)).context("takes")?,
            neutral: LogisticModel::new(text.neutral, &neutral_names(encoder))
                .context("neutral")?,
            which,
            factors: text.factors,
        })
    }

    /// The stance of a passage with these features.
    pub fn belief(&self, features: &ObjectStanceFeatures) -> Belief {
        let stance = self.takes.probability(&features.takes);
        let neutral = self.neutral.probability(&features.neutral);
        let which = self.which.log_odds(&features.which);
        let one = stance * (1.0 - neutral);
        // `logistic(-x)` instead of `1 - p`, so swapped objects have the same bits
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

/// The stance with the largest product of probability and factor; `probabilities` are in the order of [`ObjectStance::ALL`], `factors` are
/// [`Cascade::factors`]. Among equal products, NO is preferred to NEUTRAL, and NEUTRAL to an object; if both objects have the largest product,
/// the stance is NEUTRAL.
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

impl ObjectStanceModel {
    /// The weights that are compiled into the program.
    pub fn committed() -> &'static ObjectStanceModel {
        &COMMITTED
    }

    /// Reads a weight file.
    ///
    /// # Errors
    /// The text is not TOML, or one of the errors of [`Cascade::new`].
    pub fn parse(text: &str) -> Result<ObjectStanceModel> {
        let text: ObjectStanceFile =
            toml::from_str(text).context("reading the weights of the stance towards objects")?;
        Ok(ObjectStanceModel {
            lexical: Cascade::new(text.lexical, false).context("lexical")?,
            encoder: Cascade::new(text.encoder, true).context("encoder")?,
        })
    }

    /// The stance of a passage. `logits` are those of the stance encoder for [`PREFERENCE`] with each text of [`Objects::masked`], in the same
    /// order. Without them, only the words decide, with the weights of a separate cascade. For a text of at most 60 words, only the encoder
    /// decides.
    pub fn belief(
        &self,
        objects: &Objects,
        passage: &str,
        logits: Option<&[MaskedLogits]>,
    ) -> Belief {
        if !is_sentence(passage) {
            return Belief {
                probabilities: [0.0, 0.0, 0.0, 1.0],
                decision: ObjectStance::No,
            };
        }
        if let Some(short) = short_text_reading(passage, logits) {
            return short.belief();
        }
        let (cascade, features) = self.read(objects, passage, logits);
        cascade.belief(&features)
    }

    /// The explanation of [`ObjectStanceModel::belief`]: the decision, and the three probabilities with the contribution of each feature.
    pub fn explain(
        &self,
        objects: &Objects,
        passage: &str,
        logits: Option<&[MaskedLogits]>,
    ) -> Explanation {
        if !is_sentence(passage) {
            return decided(ObjectStance::No, 1.0).with_how("by rule: not a sentence");
        }
        if let Some(short) = short_text_reading(passage, logits) {
            return short.explain();
        }
        let (cascade, features) = self.read(objects, passage, logits);
        let belief = cascade.belief(&features);
        let ([first, second, neutral, no], [f, g]) = (belief.probabilities, cascade.factors);
        let how = format!(
            "largest of FIRST {first:.3} × {f}, SECOND {second:.3} × {f}, NEUTRAL {neutral:.3} × {g}, NO {no:.3}"
        );
        let part = |name: &'static str, model: &LogisticModel, features: &[f64]| {
            model.explain((DECISION, name), features)
        };
        belief.explain().with_how(how).with_parts(vec![
            part("takes a stance", &cascade.takes, &features.takes),
            part(
                "neutral, if it takes one",
                &cascade.neutral,
                &features.neutral,
            ),
            part("for the first, if for one", &cascade.which, &features.which),
        ])
    }

    /// The cascade for the passage, and its features.
    fn read(
        &self,
        objects: &Objects,
        passage: &str,
        logits: Option<&[MaskedLogits]>,
    ) -> (&Cascade, ObjectStanceFeatures) {
        let readings: Option<Vec<SentencePreference>> =
            logits.map(|logits| logits.iter().map(reading).collect());
        let cascade = readings.as_ref().map_or(&self.lexical, |_| &self.encoder);
        (cascade, features(objects, passage, readings.as_deref()))
    }
}

/// The reading of a masked sentence, from its logits. Swapping the objects changes only the sign of the leaning.
pub fn reading([as_is, swapped]: &MaskedLogits) -> SentencePreference {
    let neither = softmax(as_is)[2] + softmax(swapped)[2];
    let lean = |[con, pro, _]: &Logits| f64::from(pro - con);
    SentencePreference {
        leaning: (lean(as_is) - lean(swapped)) / 2.0,
        prefers: 1.0 - neither / 2.0,
    }
}

/// The probabilities of the three classes.
fn softmax(logits: &Logits) -> [f64; 3] {
    let most = logits.iter().copied().fold(f32::MIN, f32::max);
    let powers = logits.map(|x| f64::from(x - most).exp());
    let sum: f64 = powers.iter().sum();
    powers.map(|x| x / sum)
}

/// Maximum number of words of a text for which only the stance encoder decides. A text of one or two sentences prefers an object, compares both
/// briefly, or does neither; passages that compare objects at length are longer.
const SENTENCE_WORDS: usize = 60;

/// What the stance encoder has read in a short text, and whether the text has words that weigh the objects against each other.
struct ShortText {
    /// The sentence that most probably prefers an object.
    surest: SentencePreference,
    /// The probability that another sentence prefers the other object.
    opposed: f64,
    /// Whether the text weighs one thing against another ("slower, but easier to read"; "as good as").
    weighs: bool,
}

/// The probability that a short text that prefers neither object takes a neutral stance instead of none: with and without words that weigh. Both
/// are set by hand, because no collection of short texts distinguishes these stances.
const NEUTRAL_IF_WEIGHED: f64 = 0.85;
const NEUTRAL_ELSE: f64 = 0.1;

/// The encoder's reading of a short text; `None` if the text is long, names no object, or was not read.
fn short_text_reading(text: &str, logits: Option<&[MaskedLogits]>) -> Option<ShortText> {
    let words = text.split_whitespace().take(SENTENCE_WORDS + 1).count();
    if words > SENTENCE_WORDS {
        return None;
    }
    let readings: Vec<SentencePreference> = logits?.iter().map(reading).collect();
    let prefers =
        |a: &&SentencePreference, b: &&SentencePreference| a.prefers.total_cmp(&b.prefers);
    let surest = *readings.iter().max_by(prefers)?;
    let against = |other: &SentencePreference| {
        let side = -surest.leaning.signum();
        other.prefers * super::logistic(side * other.leaning)
    };
    let others = readings.iter().filter(|other| **other != surest);
    Some(ShortText {
        surest,
        opposed: others.map(against).fold(0.0, f64::max),
        weighs: weighs(text),
    })
}

/// Whether a text contrasts two things or calls them similar.
fn weighs(text: &str) -> bool {
    let tokens = tokens(text);
    let mut threes = tokens.array_windows();
    let equals = threes
        .any(|[first, middle, last]| first.lower == "as" && last.lower == "as" && middle.word);
    let mut lists = [CONTRASTS, ALIKE, PROS_AND_CONS].iter();
    equals || lists.any(|list| count(&tokens, list) > 0.0)
}

impl ShortText {
    /// A text is neutral if another sentence contradicts the preference, or if it weighs the objects without a preference.
    fn belief(&self) -> Belief {
        let (surest, opposed, weighs) = (self.surest, self.opposed, self.weighs);
        let one = surest.prefers * (1.0 - opposed);
        let neutral = if weighs {
            NEUTRAL_IF_WEIGHED
        } else {
            NEUTRAL_ELSE
        };
        let none = 1.0 - surest.prefers;
        let probabilities = [
            one * super::logistic(surest.leaning),
            one * super::logistic(-surest.leaning),
            surest.prefers * opposed + none * neutral,
            none * (1.0 - neutral),
        ];
        Belief {
            decision: decide(&probabilities, [1.0, 1.0]),
            probabilities,
        }
    }

    fn explain(&self) -> Explanation {
        let SentencePreference { leaning, prefers } = self.surest;
        let parts = [
            ("prefers an object", prefers),
            ("log-odds of the first, if it prefers one", leaning),
            ("another sentence prefers the other", self.opposed),
            ("weighs one against the other", f64::from(self.weighs)),
        ];
        let parts = parts.map(|(name, value)| Explanation::new((FEATURE, name), value));
        self.belief()
            .explain()
            .with_how("a short text, read by the stance encoder")
            .with_parts(parts.into())
    }
}
