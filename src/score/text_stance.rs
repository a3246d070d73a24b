//! Does a text support a claim, attack it, or neither? P(pro), P(con) and P(neither) of a (claim, text) pair.
//!
//! The pair encoder reads the beginning of the text as a whole, and its first sentences one by one: arguments open with
//! what they argue for, and a sentence alone is read more surely than one among six. What it says, and a few features of
//! words, are weighed by numbers that were fitted on the development parts of the labelled collections, which also makes
//! them probabilities. Without the encoder the words decide alone. `train text-stance` (models/train) learns all numbers.

use std::collections::HashSet;
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::linear::{Linear, LinearText};
use super::{logistic, logit};
use crate::evidence::sentiment::Vader;
use crate::reading::pair::Logits;
use crate::reading::pieces::{beginning, pieces};
use crate::topic::lexicon::opinion::{OPPOSE, SUPPORT, negates};
use crate::topic::question::{self, Polarity};
use crate::topic::words::{apostrophe_words, tokens};
use crate::trec::Explanation;

/// Characters of a sentence that are shown.
const SHOWN: usize = 80;

/// Features that change their sign with the claim's polarity.
pub const SIDES: [&str; 4] = [
    "words of approval and rejection",
    "sentiment",
    "polarity of the text",
    "polarity of the text, where it shares the claim's words",
];

/// Features of a text that has nothing to do with the claim, or does not say what it thinks of it.
pub const NEITHER: [&str; 3] = [
    "share of the claim's words that are there",
    "strength of approval or rejection",
    "length",
];

/// Adds up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stances {
    pub pro: f64,
    pub con: f64,
    pub neither: f64,
}

impl Stances {
    /// P(pro) - P(con), in [-1, 1].
    pub fn balance(&self) -> f64 {
        self.pro - self.con
    }
}

/// The features of [`SIDES`] and of [`NEITHER`].
pub fn features(claim: &str, text: &str) -> (Vec<f64>, Vec<f64>) {
    let text = beginning(text);
    let sign = question::polarity(claim).sign();
    let lean = leaning(text).unwrap_or(0.0);
    let valence = Vader::new().compound(text);
    let turned = match question::polarity(text) {
        Polarity::For => 1.0,
        Polarity::Against => -1.0,
    };
    let shared = shared(claim, text);
    let agrees = turned * sign;
    (
        vec![lean * sign, valence * sign, agrees, agrees * shared],
        vec![
            shared,
            lean.abs().max(valence.abs()),
            (tokens(text).len() as f64).ln_1p(),
        ],
    )
}

/// How a text leans towards its subject by its words of approval and rejection, in (-1, 1): approving minus rejecting words, divided
/// by their number plus one, so that a single word is not taken for certain. None without such words.
///
/// A negation before one of them ("not good", "not a right"), or with one word between, reverses it and is not counted itself.
fn leaning(text: &str) -> Option<f64> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = apostrophe_words(&lower).collect();
    let is_cue = |word: &str| SUPPORT.contains(&word) || OPPOSE.contains(&word);
    let (mut approving, mut rejecting) = (0u32, 0u32);
    let mut rest = words.as_slice();
    while let [first, following @ ..] = rest {
        let negated = following
            .iter()
            .take(2)
            .position(|word| negates(first) && is_cue(word));
        let word = negated.map_or(first, |position| &following[position]);
        if is_cue(word) {
            if SUPPORT.contains(word) != negated.is_some() {
                approving += 1;
            } else {
                rejecting += 1;
            }
        }
        rest = &following[negated.map_or(0, |position| position + 1)..];
    }
    let (approving, rejecting) = (f64::from(approving), f64::from(rejecting));
    let number = approving + rejecting;
    (number > 0.0).then(|| (approving - rejecting) / (number + 1.0))
}

/// Share of the claim's words of four letters and more that the text has, by their first five letters.
fn shared(claim: &str, text: &str) -> f64 {
    let stems = |text: &str| -> HashSet<String> {
        let words = tokens(text).into_iter().filter(|t| t.word);
        let long = words.filter(|t| t.lower.chars().count() >= 4);
        long.map(|t| t.lower.chars().take(5).collect()).collect()
    };
    let (asked, there) = (stems(claim), stems(text));
    asked.intersection(&there).count() as f64 / asked.len().max(1) as f64
}

/// The learned numbers.
#[derive(Clone, Debug)]
pub struct Model {
    weights: Weights,
    sides: Linear,
    neither: Linear,
}

/// What the opinions weigh, in log-odds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// On the encoder's log-odds of PRO against CON over the beginning of the text.
    pub whole: f64,
    /// On their mean over the first sentences; a text of one piece has the same in both.
    pub sentences: f64,
    /// On the log-odds of the words.
    pub words: f64,
    /// On the encoder's log-odds of neither.
    pub neither: f64,
    pub neither_bias: f64,
}

/// As the weight file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelText {
    pub weights: Weights,
    pub sides: LinearText,
    pub neither: LinearText,
}

static COMMITTED: LazyLock<Model> = LazyLock::new(|| {
    // part of the program, not input: the test below reads it
    Model::parse(include_str!("../../models/own/text-stance.toml"))
        .expect("models/own/text-stance.toml is a model")
});

/// What the encoder's logits of all pieces say, before they are weighed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opinions {
    pub whole: f64,
    pub sentences: f64,
    pub neither: f64,
}

/// Log-odds of PRO against CON.
fn side([con, pro, _]: &Logits) -> f64 {
    f64::from(pro - con)
}

impl Opinions {
    /// Of the logits of [`pieces`]; none if there are none.
    pub fn of(logits: &[Logits]) -> Option<Opinions> {
        let (whole, rest) = logits.split_first()?;
        let [con, pro, neither] = whole.map(f64::from);
        let mean = rest.iter().map(side).sum::<f64>() / rest.len().max(1) as f64;
        Some(Opinions {
            whole: side(whole),
            sentences: if rest.is_empty() { side(whole) } else { mean },
            neither: neither - con.max(pro) - (-(con - pro).abs()).exp().ln_1p(),
        })
    }
}

impl Model {
    /// Reads a weight file.
    ///
    /// # Errors
    /// No TOML, or features that are missing or unknown.
    pub fn parse(text: &str) -> Result<Model> {
        Model::new(toml::from_str(text).context("reading weights of text stance")?)
    }

    /// The model of a weight file.
    ///
    /// # Errors
    /// Features that are missing or unknown; sides that would not swap with the claim.
    pub fn new(text: ModelText) -> Result<Model> {
        let sides = Linear::new(text.sides, &SIDES).context("sides")?;
        ensure!(sides.is_odd(), "sides: bias and means must be 0");
        Ok(Model {
            weights: text.weights,
            sides,
            neither: Linear::new(text.neither, &NEITHER).context("neither")?,
        })
    }

    /// The committed weights.
    pub fn committed() -> &'static Model {
        &COMMITTED
    }

    /// Log-odds of PRO against CON by words alone.
    pub fn words(&self, claim: &str, text: &str) -> f64 {
        self.sides.log_odds(&features(claim, text).0)
    }

    /// What the text is towards the claim; `logits` of its [`pieces`] with the claim, none without an encoder.
    pub fn stances(&self, claim: &str, text: &str, logits: Option<&[Logits]>) -> Stances {
        let (sides, rest) = features(claim, text);
        self.stances_of(&sides, &rest, logits)
    }

    fn stances_of(&self, sides: &[f64], rest: &[f64], logits: Option<&[Logits]>) -> Stances {
        let words = self.sides.log_odds(sides);
        let (pro, neither) = match logits.and_then(Opinions::of) {
            Some(o) => {
                let w = &self.weights;
                (
                    w.whole * o.whole + w.sentences * o.sentences + w.words * words,
                    w.neither * o.neither + w.neither_bias,
                )
            }
            None => (words, self.neither.log_odds(rest)),
        };
        let neither = logistic(neither);
        Stances {
            pro: (1.0 - neither) * logistic(pro),
            con: (1.0 - neither) * logistic(-pro),
            neither,
        }
    }

    /// The same, opened; the value is P(pro) - P(con). Each sentence that the encoder read alone stands with what it added.
    pub fn explain(
        &self,
        name: &str,
        claim: &str,
        text: &str,
        logits: Option<&[Logits]>,
    ) -> Explanation {
        self.opened(name, claim, text, logits).1
    }

    /// Both, for what takes most of the time once.
    pub fn opened(
        &self,
        name: &str,
        claim: &str,
        text: &str,
        logits: Option<&[Logits]>,
    ) -> (Stances, Explanation) {
        let (sides, rest) = features(claim, text);
        let stances = self.stances_of(&sides, &rest, logits);
        let sum = self.sides.log_odds(&sides);
        let w = &self.weights;
        let mut parts = Vec::new();
        if let (Some(logits), Some(opinions)) = (logits, logits.and_then(Opinions::of)) {
            let texts = pieces(text);
            let alone = logits.len() == 1;
            let read = |text: &str, weight: f64, logits: &Logits, what: &str| Explanation {
                name: format!("{what} \"{}\"", shown(text)),
                value: weight * side(logits),
                how: format!("weight {weight:.3} × log-odds {:.3}", side(logits)),
                parts: Vec::new(),
            };
            let whole = w.whole + if alone { w.sentences } else { 0.0 };
            for (n, (text, of_text)) in texts.iter().zip(logits).enumerate() {
                parts.push(match n {
                    0 => read(text, whole, of_text, "from the beginning"),
                    _ => read(
                        text,
                        w.sentences / (logits.len() - 1) as f64,
                        of_text,
                        "sentence",
                    ),
                });
            }
            parts.push(Explanation {
                name: "words".into(),
                value: w.words * sum,
                how: format!("weight {:.3} × log-odds {sum:.3}", w.words),
                parts: Vec::new(),
            });
            parts.push(Explanation {
                name: "neither".into(),
                value: stances.neither,
                how: format!(
                    "logistic of {:.3} × {:.3} + {:.3}",
                    w.neither, opinions.neither, w.neither_bias
                ),
                parts: Vec::new(),
            });
        } else {
            let mut words = self.sides.explain("words", &sides);
            words.value = sum;
            words.how = "log-odds, the sum; without the pair encoder words decide alone".into();
            parts.push(words);
            parts.push(self.neither.explain("neither", &rest));
        }
        let share = stances.pro / (stances.pro + stances.con);
        let opened = Explanation {
            name: name.to_owned(),
            value: stances.balance(),
            how: format!(
                "PRO {:.3} − CON {:.3}, neither {:.3}; PRO against CON has the logistic of {:.3}, the sum",
                stances.pro,
                stances.con,
                stances.neither,
                logit(share),
            ),
            parts,
        };
        (stances, opened)
    }
}

/// The beginning of a text, on one line.
pub fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_leans_by_its_words_and_their_negations() {
        assert_eq!(leaning("a table and a chair"), None);
        assert_eq!(leaning("Support it: it is good"), Some(2.0 / 3.0));
        assert_eq!(leaning("STOP this"), Some(-0.5));
        assert_eq!(leaning("It is not dangerous"), Some(0.5));
        assert_eq!(leaning("that is not a right"), Some(-0.5));
        assert_eq!(leaning("pros and cons"), Some(0.0));
    }

    #[test]
    fn short_texts_are_one_piece_and_long_ones_open_with_their_first_sentences() {
        assert_eq!(pieces("LOWER THE VOTING AGE"), ["LOWER THE VOTING AGE"]);
        let one =
            "It is high time that young people were heard in the halls of power, said the mayor.";
        let text = format!("{one} Yes. {one} {one}");
        let found = pieces(&text);
        assert_eq!(found.len(), 3);
        assert_eq!((found[0], found[1]), (text.as_str(), one));
        assert!(found[2].starts_with("Yes. It is"), "{found:?}");
    }

    #[test]
    fn words_alone_tell_approval_from_rejection_and_turn_with_the_claim() {
        let model = Model::committed();
        let good = "This is a great benefit and it helps to protect people.";
        let bad = "This is dangerous, it harms and kills people.";
        let of = |claim, text| model.stances(claim, text, None).balance();
        assert!(of("vaping should be allowed", good) > 0.0);
        assert!(of("vaping should be allowed", bad) < 0.0);
        assert!(of("vaping should be banned", bad) > 0.0);
    }

    #[test]
    fn the_sum_of_an_explanation_is_what_it_explains() {
        let model = Model::committed();
        let (claim, text) = (
            "the voting age should be lowered",
            "Young people pay taxes and should have a say in how they are spent by the state. They are also \
             informed well enough to vote, as studies of the last ten years have shown again and again.",
        );
        let logits: Vec<Logits> = pieces(text).iter().map(|_| [-1.0, 2.0, -0.5]).collect();
        for logits in [None, Some(logits.as_slice())] {
            let stances = model.stances(claim, text, logits);
            let opened = model.explain("text", claim, text, logits);
            assert_eq!(opened.value, stances.balance());
            let (neither, sides) = opened.parts.split_last().unwrap();
            assert_eq!(neither.value, stances.neither);
            let sum: f64 = sides.iter().map(|part| part.value).sum();
            let pro = (1.0 - stances.neither) * logistic(sum);
            assert!((pro - stances.pro).abs() < 1e-9, "{opened:?}");
        }
    }

    proptest! {
        #[test]
        fn probabilities_of_any_text_add_up(
            claim in "\\PC{0,60}",
            text in "\\PC{0,400}",
            logits in proptest::option::of(proptest::collection::vec([-30f32..30.0, -30f32..30.0, -30f32..30.0], 1..4)),
        ) {
            let s = Model::committed().stances(&claim, &text, logits.as_deref());
            prop_assert!((s.pro + s.con + s.neither - 1.0).abs() < 1e-9);
            prop_assert!([s.pro, s.con, s.neither].iter().all(|p| (0.0..=1.0).contains(p)));
            for piece in pieces(&text) {
                prop_assert!(text.contains(piece));
            }
        }
    }
}
