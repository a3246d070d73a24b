//! Does a text support a claim, attack it, or neither? P(pro), P(con) and P(neither) for a claim and a text.
//!
//! The stance encoder reads the beginning of the text in one piece and its first sentences one by one, because arguments begin with their claim,
//! and the encoder is more certain about a single sentence than about several. Its log-odds and a few features of the words are added with
//! weights that were fitted on labelled collections. So the results are calibrated probabilities. The weights are the same for every kind of
//! text, and none is negative; what a single piece and what the hashtags at the end of a post can add is limited. So neither the length of a text
//! nor a hashtag can turn its stance round. All of them are smaller for a text that is unlike those that they were learned from ([`text_kind`]).
//! Without the encoder, only the words decide. `train text-stance` learns all weights. A text that is not
//! a sentence is always "neither" ([`is_sentence`]).

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use riposte_claims::lexicon::opinion::{OPPOSE, SUPPORT, negates};
use riposte_claims::words::{TextToken, apostrophe_words, tokens};
use riposte_claims::{polarity, polarity_of_words};
use riposte_eval::Explanation;
use serde::Deserialize;

use super::linear::{LogisticLayout, LogisticModel};
use super::text_kind::{self, Kinds};
use super::{logistic, logit};
use crate::evidence::sentiment::Vader;
use crate::reading::pieces::{Pieces, beginning};
use crate::reading::stance_encoder::Logits;

/// P(pro) - P(con) of a text.
pub(crate) const BALANCE: &str = "balance";

/// The contribution of one piece of a text: 0 is the beginning of the text, the others are its first sentences.
pub(crate) const PIECE: &str = "piece";

/// The contribution, or the log-odds, of a text's words as features, without any encoder that reads it.
pub(crate) const WORDS: &str = "words";

/// The probability that a text takes no side.
pub(crate) const NO_SIDE: &str = "neither";

/// Maximum number of characters of a sentence in an explanation.
const SHOWN_CHARACTERS: usize = 80;

/// Names of the features that distinguish PRO from CON. They change their sign with the claim's polarity.
pub const SIDES: [&str; 4] = [
    "words of approval and rejection",
    "sentiment",
    "polarity of the text",
    "polarity of the text, where it shares the claim's words",
];

/// Names of the features that show whether a text takes no side, because it is about something else or does not mention the claim.
pub const NEITHER: [&str; 3] = [
    "share of the claim's words that are there",
    "strength of approval or rejection",
    "length",
];

/// The probabilities of the three stances; they add up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stances {
    pub pro: f64,
    pub con: f64,
    pub neither: f64,
}

impl Stances {
    /// The stance of a text that is not a sentence.
    pub const NEITHER: Stances = Stances {
        pro: 0.0,
        con: 0.0,
        neither: 1.0,
    };

    /// The probability of PRO if the text takes a side.
    pub fn pro_of_sides(&self) -> f64 {
        if self.neither < 1.0 {
            self.pro / (self.pro + self.con)
        } else {
            0.5
        }
    }

    /// P(pro) - P(con), in [-1, 1].
    pub fn balance(&self) -> f64 {
        self.pro - self.con
    }
}

/// The values of the features [`SIDES`] and [`NEITHER`], each in the order of their names. Those of a post do not depend on the hashtags at its end.
pub fn features(claim: &str, text: &str) -> (Vec<f64>, Vec<f64>) {
    features_of(claim, &Pieces::of(text).whole)
}

/// The features of a text whose beginning, without hashtags, is `whole`.
fn features_of(claim: &str, whole: &str) -> (Vec<f64>, Vec<f64>) {
    let sign = polarity(claim).sign();
    let lean = leaning(whole).unwrap_or(0.0);
    let valence = Vader::new().compound(whole);
    let tokens = tokens(whole);
    let shared = shared_words(claim, &tokens);
    let agrees = polarity_of_words(whole).sign() * sign;
    (
        vec![lean * sign, valence * sign, agrees, agrees * shared],
        vec![
            shared,
            lean.abs().max(valence.abs()),
            (tokens.len() as f64).ln_1p(),
        ],
    )
}

/// The attitude of a text towards its subject, in (-1, 1), by its words of approval and rejection: approving minus rejecting words, divided by
/// their number plus one, so a single word does not count as certain. `None` without such words.
///
/// A negation before such a word, directly ("not good") or with one word between ("not a right"), reverses the word and is not counted itself.
fn leaning(text: &str) -> Option<f64> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = apostrophe_words(&lower).collect();
    let is_cue = |word: &str| SUPPORT.contains(&word) || OPPOSE.contains(&word);
    let (mut approving, mut rejecting) = (0u32, 0u32);
    let mut rest = words.as_slice();
    while let [first, following @ ..] = rest {
        let mut near = following.iter().take(2);
        let negated = near.position(|word| negates(first) && is_cue(word));
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

/// The share of the claim's words that the text contains, too, in [0, 1]. Only words of at least four letters count. Two words are the same if
/// their first five letters are the same.
fn shared_words(claim: &str, text: &[TextToken]) -> f64 {
    let of_claim = tokens(claim);
    let of_claim: HashSet<&str> = of_claim.iter().filter_map(stem).collect();
    let shared: HashSet<&str> = text.iter().filter_map(stem).collect();
    of_claim.intersection(&shared).count() as f64 / of_claim.len().max(1) as f64
}

/// The first five letters of a word that has at least four.
fn stem<'a>(token: &'a TextToken) -> Option<&'a str> {
    let word = token.lower.as_str();
    let end = |letters| word.char_indices().nth(letters).map(|(at, _)| at);
    let is_long = token.word && end(3).is_some();
    is_long.then(|| word.get(..end(5).unwrap_or(word.len())))?
}

/// Minimum number of words of a sentence.
const MIN_WORDS: usize = 2;
/// Minimum share of letters among all characters except blanks. Below it, the letters are noise.
const MIN_LETTERS: f64 = 0.5;

/// Whether at least half of a text's characters are letters, and it has at least two words in Latin letters, each with at least two letters, one
/// of them a vowel. Other texts, such as empty ones, numbers and noise of text recognition, cannot take a side in English.
pub fn is_sentence(text: &str) -> bool {
    let text = beginning(text);
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let marks = text.chars().filter(|c| !c.is_whitespace()).count();
    let is_word = |word: &&str| {
        let lower = word.to_lowercase();
        lower.chars().count() >= 2
            && lower.chars().all(|c| c.is_ascii_alphabetic())
            && lower.contains(['a', 'e', 'i', 'o', 'u', 'y'])
    };
    let words = text.split(|c: char| !c.is_alphanumeric());
    letters as f64 >= MIN_LETTERS * marks as f64
        && words.filter(is_word).take(MIN_WORDS).count() == MIN_WORDS
}

/// The largest log-odds that one piece of a text contributes, before they are weighted.
const PIECE_RANGE: f64 = 6.0;
/// The largest change of log-odds by the hashtags at the end of a post, before it is weighted.
const TAGS_RANGE: f64 = 1.5;

/// The learned weights.
#[derive(Clone, Debug)]
pub struct TextStanceModel {
    weights: TextStanceWeights,
    kinds: Kinds,
    sides: LogisticModel,
    neither: LogisticModel,
}

/// The weights of the encoder's log-odds and of the words' log-odds. Only `neither_bias` can be negative.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextStanceWeights {
    /// Weight of [`EncoderLogOdds::whole`].
    pub whole: f64,
    /// Weight of [`EncoderLogOdds::sentences`].
    pub sentences: f64,
    /// Weight of the log-odds of PRO against CON by the words.
    pub words: f64,
    /// Weight of [`EncoderLogOdds::neither`].
    pub neither: f64,
    /// A constant that is added to the log-odds of neither if the encoder has read the text.
    pub neither_bias: f64,
}

impl TextStanceWeights {
    /// All weights times a factor.
    fn scaled(&self, factor: f64) -> TextStanceWeights {
        TextStanceWeights {
            whole: factor * self.whole,
            sentences: factor * self.sentences,
            words: factor * self.words,
            neither: factor * self.neither,
            neither_bias: factor * self.neither_bias,
        }
    }
}

/// The layout of the weight file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextStanceFile {
    pub weights: TextStanceWeights,
    pub kinds: Kinds,
    pub sides: LogisticLayout,
    pub neither: LogisticLayout,
}

/// The weights that were learned.
const WEIGHTS: &str = include_str!("../../models/own/text-stance.toml");

static COMMITTED: LazyLock<TextStanceModel> = LazyLock::new(|| {
    // The file is compiled in; the tests below read it.
    TextStanceModel::parse(WEIGHTS).expect("models/own/text-stance.toml is a model")
});

/// The encoder's log-odds for a claim and a text, each within its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderLogOdds {
    /// PRO against CON, for the beginning of the text.
    pub whole: f64,
    /// PRO against CON, averaged over single sentences; equal to `whole` if the text is a single piece.
    pub sentences: f64,
    /// What the hashtags at the end of a post add to `whole`; 0 if there are none.
    pub tags: f64,
    /// Neither against PRO or CON, for the beginning of the text, with its hashtags.
    pub neither: f64,
}

/// The encoder's log-odds of PRO against CON for one piece.
fn pro_against_con([con, pro, _]: &Logits) -> f64 {
    f64::from(pro - con).clamp(-PIECE_RANGE, PIECE_RANGE)
}

/// The encoder's log-odds of neither against PRO or CON for one piece.
fn neither_against_sides([con, pro, neither]: &Logits) -> f64 {
    let (con, pro) = (f64::from(*con), f64::from(*pro));
    let sides = con.max(pro) + (-(con - pro).abs()).exp().ln_1p();
    (f64::from(*neither) - sides).clamp(-PIECE_RANGE, PIECE_RANGE)
}

/// How far the log-odds with hashtags are from those without, within the limit.
fn change_by_tags(with: f64, without: f64) -> f64 {
    (with - without).clamp(-TAGS_RANGE, TAGS_RANGE)
}

impl EncoderLogOdds {
    /// Computes the log-odds from the logits of a text's [`Pieces`], in the same order. The last one is that of the post with its hashtags if
    /// `has_tags`. `None` if there are no logits.
    pub fn of(logits: &[Logits], has_tags: bool) -> Option<EncoderLogOdds> {
        let (with_tags, read) = match logits.split_last() {
            Some((with_tags, read)) if has_tags && !read.is_empty() => (Some(with_tags), read),
            _ => (None, logits),
        };
        let (first, rest) = read.split_first()?;
        let sentences = if rest.is_empty() { read } else { rest };
        let sum: f64 = sentences.iter().map(pro_against_con).sum();
        let (whole, neither) = (pro_against_con(first), neither_against_sides(first));
        Some(EncoderLogOdds {
            whole,
            sentences: sum / sentences.len() as f64,
            tags: with_tags.map_or(0.0, |with| change_by_tags(pro_against_con(with), whole)),
            neither: with_tags.map_or(neither, |with| {
                neither + change_by_tags(neither_against_sides(with), neither)
            }),
        })
    }
}

impl TextStanceModel {
    /// Reads a weight file.
    ///
    /// # Errors
    /// The text is not TOML, or one of the errors of [`TextStanceModel::new`].
    pub fn parse(text: &str) -> Result<TextStanceModel> {
        TextStanceModel::new(
            toml::from_str(text).context("reading the weights of the stance of texts")?,
        )
    }

    /// The model of a weight file.
    ///
    /// # Errors
    /// A weight is negative; the kinds of texts are wrong ([`Kinds::check`]); a feature is missing or unknown; or the bias or a mean of the sides is not
    /// 0, so the opposite claim would not exchange PRO and CON.
    pub fn new(text: TextStanceFile) -> Result<TextStanceModel> {
        let w = &text.weights;
        ensure!(
            [w.whole, w.sentences, w.words, w.neither]
                .iter()
                .all(|weight| *weight >= 0.0),
            "weights: only neither_bias can be negative"
        );
        text.kinds.check().context("kinds")?;
        let sides = LogisticModel::new(text.sides, &SIDES).context("sides")?;
        ensure!(sides.is_odd(), "sides: bias and means must be 0");
        Ok(TextStanceModel {
            weights: text.weights,
            kinds: text.kinds,
            sides,
            neither: LogisticModel::new(text.neither, &NEITHER).context("neither")?,
        })
    }

    /// The weights that are compiled into the program.
    pub fn committed() -> &'static TextStanceModel {
        &COMMITTED
    }

    /// The log-odds of PRO against CON by only the words.
    pub fn words(&self, claim: &str, text: &str) -> f64 {
        self.sides.log_odds(&features(claim, text).0)
    }

    /// How a text differs from everything that the weights were learned from; `None` if it does not, or takes no side anyway.
    pub fn unlike(&self, text: &str) -> Option<String> {
        is_sentence(text).then(|| self.kinds.unlike(&Pieces::of(text).whole))?
    }

    /// The weights for a text. `unlike` says how it differs from everything that they were learned from.
    fn weights_for(&self, unlike: Option<&str>) -> TextStanceWeights {
        self.weights.scaled(self.kinds.certainty_if(unlike))
    }

    /// The stance of the text towards the claim. `logits` are those of the claim with each of the text's [`Pieces`], in the same order; `None`
    /// without an encoder.
    pub fn stances(&self, claim: &str, text: &str, logits: Option<&[Logits]>) -> Stances {
        if !is_sentence(text) {
            return Stances::NEITHER;
        }
        let pieces = Pieces::of(text);
        let (sides, rest) = features_of(claim, &pieces.whole);
        let has_tags = pieces.with_tags.is_some();
        let read = logits.and_then(|logits| EncoderLogOdds::of(logits, has_tags));
        let unlike = read.and_then(|_| self.kinds.unlike(&pieces.whole));
        let read = read.map(|read| (read, self.weights_for(unlike.as_deref())));
        self.stances_of(&sides, &rest, read)
    }

    fn stances_of(
        &self,
        sides: &[f64],
        rest: &[f64],
        read: Option<(EncoderLogOdds, TextStanceWeights)>,
    ) -> Stances {
        let words = self.sides.log_odds(sides);
        let (pro, neither) = match read {
            Some((o, w)) => (
                w.whole * o.whole
                    + w.sentences * o.sentences
                    + (w.whole + w.sentences) * o.tags
                    + w.words * words,
                w.neither * o.neither + w.neither_bias,
            ),
            None => (words, self.neither.log_odds(rest)),
        };
        let neither = logistic(neither);
        Stances {
            pro: (1.0 - neither) * logistic(pro),
            con: (1.0 - neither) * logistic(-pro),
            neither,
        }
    }

    /// The explanation of [`TextStanceModel::stances`], whose value is P(pro) - P(con). It lists the contribution of each piece that the encoder
    /// read.
    pub fn explain(&self, claim: &str, text: &str, logits: Option<&[Logits]>) -> Explanation {
        self.stances_with_explanation(claim, text, logits).1
    }

    /// The stances and their explanation. Both need the features, which take most of the time, so they are computed once.
    pub(crate) fn stances_with_explanation(
        &self,
        claim: &str,
        text: &str,
        logits: Option<&[Logits]>,
    ) -> (Stances, Explanation) {
        if !is_sentence(text) {
            let explanation = Explanation::new(BALANCE, 0.0)
                .named("stance")
                .with_how("neither, by rule: not a sentence")
                .with_parts(vec![Explanation::new(NO_SIDE, 1.0)]);
            return (Stances::NEITHER, explanation);
        }
        let pieces = Pieces::of(text);
        let (sides, rest) = features_of(claim, &pieces.whole);
        let words = self.sides.log_odds(&sides);
        let has_tags = pieces.with_tags.is_some();
        let read = logits.and_then(|logits| EncoderLogOdds::of(logits, has_tags));
        let unlike = read.and_then(|_| self.kinds.unlike(&pieces.whole));
        let read = read.map(|read| (read, self.weights_for(unlike.as_deref())));
        let stances = self.stances_of(&sides, &rest, read);
        let parts = match logits.zip(read) {
            Some((logits, (read, weights))) => {
                let mut parts = explain_pieces(pieces, &weights, read, logits);
                parts.extend(explain_read(words, &weights, read, &stances));
                parts
            }
            None => {
                let how = "log-odds, the sum; without the stance encoder words decide alone";
                let contributions = self.sides.explain(WORDS, &sides).into_parts();
                let words = Explanation::new(WORDS, words).with_how(how);
                vec![
                    words.with_parts(contributions),
                    self.neither.explain(NO_SIDE, &rest),
                ]
            }
        };
        let how = format!(
            "PRO {:.3} − CON {:.3}, neither {:.3}; PRO against CON has the logistic of {:.3}, the sum",
            stances.pro,
            stances.con,
            stances.neither,
            logit(stances.pro_of_sides()),
        );
        let explanation = Explanation::new(BALANCE, stances.balance()).named("stance");
        let mut explanation = explanation.with_how(how).with_parts(parts);
        if let Some(unlike) = unlike {
            explanation.add_note(&text_kind::less_certain(&unlike));
        }
        (stances, explanation)
    }
}

/// The contribution of each piece of a text that the encoder has read: the beginning of the text, single sentences, and the hashtags at its end.
fn explain_pieces(
    pieces: Pieces<'_>,
    weights: &TextStanceWeights,
    read: EncoderLogOdds,
    all: &[Logits],
) -> Vec<Explanation> {
    let (whole, sentences) = (weights.whole, weights.sentences);
    let has_tags = pieces.with_tags.is_some();
    let (last, count) = (pieces.count() - 1, pieces.sentences.len());
    let part = |(n, (piece, logits)): (usize, (Cow<'_, str>, &Logits))| {
        let (what, weight, log_odds) = match (n, count) {
            (n, _) if has_tags && n == last => ("with hashtags", whole + sentences, read.tags),
            // a text of a single piece is its only sentence, too
            (0, 0) => ("from the beginning", whole + sentences, read.whole),
            (0, _) => ("from the beginning", whole, read.whole),
            (_, count) => (
                "sentence",
                sentences / count as f64,
                pro_against_con(logits),
            ),
        };
        Explanation::new((PIECE, n), weight * log_odds)
            .named(format!("{what} \"{}\"", shown(&piece)))
            .with_how(format!("weight {weight:.3} × log-odds {log_odds:.3}"))
    };
    pieces.into_list().zip(all).enumerate().map(part).collect()
}

/// The other contributions to a text that the encoder has read: that of the words, whose log-odds are `words`, and the probability of neither.
fn explain_read(
    words: f64,
    w: &TextStanceWeights,
    read: EncoderLogOdds,
    stances: &Stances,
) -> [Explanation; 2] {
    let (bias, weight) = (w.neither_bias, w.neither);
    [
        Explanation::new(WORDS, w.words * words)
            .with_how(format!("weight {:.3} × log-odds {words:.3}", w.words)),
        Explanation::new(NO_SIDE, stances.neither).with_how(format!(
            "logistic of {weight:.3} × {:.3} + {bias:.3}",
            read.neither
        )),
    ]
}

/// The beginning of a text on one line, as explanations quote it.
pub fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests;
