//! How well a text is written, by the three criteria of Touché's Task 1: style of speech; structure of sentences and ease of reading; freedom
//! from profanity and typos.
//!
//! The quality is a logistic model of a few features that a reader can check and that do not depend on the topic. `train quality` learns its
//! weights from quality judgements.
//!
//! [`explain_rating`] answers another question: how good is a short text as an argument on a topic? Its models are learned from IBM-ArgQ-Rank-30k, whose
//! annotators said whether they would recommend an argument to a friend who prepares a speech on the topic.

mod lists;

use std::collections::HashSet;
use std::sync::LazyLock;

use anyhow::{Context, Result};
use riposte_claims::words::{Sentence, TextToken, count, sentences};
use riposte_eval::Explanation;
use serde::Deserialize;

use super::linear::{LogisticLayout, LogisticModel};
use super::text_stance::is_sentence;
use super::{FEATURE, text_stance};
use crate::reading::stance_encoder::StanceReading;
use lists::{
    CONNECTIVES, DEBATE, EVIDENCE, MARKUP, MISSPELLINGS, PROFANE_WORDS, PROFANITY, SECOND_PERSON,
    SLANG, STOP_WORDS,
};

/// How well a text is written, or how good an argument it is.
pub(crate) const QUALITY: &str = "quality";

/// The names of the features, in their order.
pub const FEATURES: [&str; 20] = [
    "length",
    "very short",
    "words a sentence",
    "uneven sentences",
    "letters a word",
    "capitals",
    "capitalised words",
    "shouting marks",
    "slang",
    "profanity",
    "typos",
    "sentences that start small",
    "missing blanks",
    "connectives",
    "stop words",
    "variety of words",
    "evidence",
    "links and markup",
    "talk about the debate",
    "second person",
];

/// The name of a feature of ratings: the mean of the stance encoder's logits of quality over the pieces of the text.
pub const READ: &str = "as the stance encoder reads it";
/// The name of a feature of ratings: the log-odds by only [`FEATURES`].
pub const WORDS: &str = "by words alone";

/// The names of the features of a rating with the stance encoder. Without it, they are [`FEATURES`].
pub const RATED: [&str; 2] = [READ, WORDS];

/// The mean of the stance encoder's logits of quality over the pieces of a text.
pub fn read_quality(readings: &[StanceReading]) -> f64 {
    let sum: f64 = readings.iter().map(|r| f64::from(r.quality)).sum();
    sum / readings.len().max(1) as f64
}

/// Number of words beyond which more words no longer raise the feature "length".
const LONG: f64 = 400.0;
/// Number of words below which the feature "very short" is above 0.
const SHORT: f64 = 30.0;
/// Number of words at the beginning of a text whose variety is measured. Over a whole text it would depend on the length, because longer
/// texts repeat more words.
const VARIETY_WORDS: usize = 60;

/// Counts that need the characters of a text instead of its tokens: exclamation marks, and question marks that follow another question mark; then marks
/// between two letters without a space, if the first letter is in lower case, and commas and full stops after a space.
fn character_counts(text: &str) -> [f64; 2] {
    let (mut shouting, mut missing_blanks) = (0.0, 0.0);
    // the last two characters: `mark` is the previous one, `before` the one before it
    let (mut before, mut mark) = (' ', ' ');
    for c in text.chars() {
        shouting += f64::from(c == '!' || c == '?' && mark == '?');
        let glued = before.is_lowercase() && matches!(mark, '.' | ',' | ';' | '!' | '?');
        missing_blanks += f64::from(glued && c.is_alphabetic());
        missing_blanks += f64::from(mark == ' ' && matches!(c, ',' | '.') && before != ' ');
        (before, mark) = (mark, c);
    }
    [shouting, missing_blanks]
}

/// The count for each 50 words of a text, at most 3. A shorter text counts as a text of 50 words.
fn rate(count: f64, words: f64) -> f64 {
    (count * 50.0 / words.max(50.0)).min(3.0)
}

/// The number of words that begin with an entry of the list.
fn count_beginnings(words: &[&TextToken<'_>], list: &[&str]) -> f64 {
    let matches = |word: &&&TextToken<'_>| list.iter().any(|stem| word.lower.starts_with(stem));
    words.iter().filter(matches).count() as f64
}

/// The features of a text in the order of [`FEATURES`]. All are bounded, so an unusual text stays within the range of the training data.
pub fn features(text: &str) -> Vec<f64> {
    let sentences = sentences(text);
    let words: Vec<&TextToken<'_>> = sentences.iter().flat_map(Sentence::words).collect();
    let n = words.len() as f64;
    let count_of = |list: &[&str]| count(words.iter().copied(), list);
    let share = |count: f64| count / n.max(1.0);
    let number = sentences.len().max(1) as f64;
    let lengths: Vec<f64> = sentences.iter().map(|s| s.words().count() as f64).collect();
    let mean = n / number;
    let spread = lengths.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / number;
    let letters: usize = words.iter().map(|w| w.text.chars().count()).sum();
    let number_of = |is_meant: &dyn Fn(&TextToken) -> bool| {
        words.iter().filter(|word| is_meant(word)).count() as f64
    };
    let capitals = number_of(&|w| {
        w.text.chars().count() > 3
            && !w
                .text
                .chars()
                .any(|c| c.is_alphabetic() && !c.is_uppercase())
            && w.text.chars().any(char::is_uppercase)
    });
    let capitalised = number_of(&|w| w.text.starts_with(char::is_uppercase));
    let starts = sentences.iter().filter_map(|s| s.words().next());
    let lower_case_starts = starts.filter(|w| w.text.starts_with(char::is_lowercase));
    let profane = count_beginnings(&words, &PROFANITY) + count_of(&PROFANE_WORDS);
    // "I" is not a misspelling, although "i" is on the list
    let typos = number_of(&|w| MISSPELLINGS.contains(&w.lower.as_str()) && w.text != "I");
    let first_words = words.iter().take(VARIETY_WORDS).map(|w| &w.lower);
    let first_word_count = first_words.len().max(1) as f64;
    let first_words: HashSet<&String> = first_words.collect();
    let numbers = number_of(&|w| w.text.starts_with(|c: char| c.is_ascii_digit()));
    let quotes = text.chars().filter(|c| matches!(c, '"' | '“')).count() as f64 / 2.0;
    let [shouting, missing_blanks] = character_counts(text);
    vec![
        n.min(LONG).ln_1p(),
        (1.0 - n / SHORT).max(0.0),
        mean.clamp(1.0, 60.0).ln(),
        spread.sqrt().min(30.0).ln_1p(),
        (letters as f64 / n.max(1.0)).min(8.0),
        share(capitals).min(0.3),
        share(capitalised).min(0.6),
        rate(shouting, n),
        rate(count_of(&SLANG), n),
        rate(profane, n),
        rate(typos, n),
        lower_case_starts.count() as f64 / number,
        rate(missing_blanks, n),
        rate(count_of(&CONNECTIVES), n),
        share(count_of(&STOP_WORDS)),
        first_words.len() as f64 / first_word_count,
        rate(count_of(&EVIDENCE) + numbers + quotes, n),
        rate(count_of(&MARKUP), n),
        rate(count_beginnings(&words, &DEBATE), n),
        share(count_of(&SECOND_PERSON)).min(0.1),
    ]
}

/// The kind of text that is judged. Arguments of debate portals and passages of web pages differ in style, and were graded differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradedText {
    Argument,
    Passage,
}

/// The learned weights: one model for each kind of text, and two models of ratings.
#[derive(Clone, Debug, PartialEq)]
pub struct QualityModel {
    arguments: LogisticModel,
    passages: LogisticModel,
    ratings: LogisticModel,
    ratings_by_words: LogisticModel,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QualityFile {
    arguments: LogisticLayout,
    passages: LogisticLayout,
    ratings: LogisticLayout,
    ratings_by_words: LogisticLayout,
}

static COMMITTED: LazyLock<QualityModel> = LazyLock::new(|| {
    // The file is compiled in; tests/it/quality.rs reads it.
    QualityModel::parse(include_str!("../../models/own/quality.toml"))
        .expect("models/own/quality.toml is a model")
});

impl QualityModel {
    /// Reads a weight file.
    ///
    /// # Errors
    /// The text is not TOML, or a feature is missing or unknown.
    pub fn parse(text: &str) -> Result<QualityModel> {
        let text: QualityFile = toml::from_str(text).context("reading the weights of quality")?;
        Ok(QualityModel {
            arguments: LogisticModel::new(text.arguments, &FEATURES).context("arguments")?,
            passages: LogisticModel::new(text.passages, &FEATURES).context("passages")?,
            ratings: LogisticModel::new(text.ratings, &RATED).context("ratings")?,
            ratings_by_words: LogisticModel::new(text.ratings_by_words, &FEATURES)
                .context("ratings by words")?,
        })
    }

    fn of(&self, kind: GradedText) -> &LogisticModel {
        match kind {
            GradedText::Argument => &self.arguments,
            GradedText::Passage => &self.passages,
        }
    }
}

/// How reports name an estimate of the quality, beside its bar and in a sentence.
pub const IN_REPORTS: [&str; 2] = ["how well it is written"; 2];

/// How well the text is written, in (0, 1): an estimate of the grade that judges would give, as a share of the highest grade.
pub fn quality(kind: GradedText, text: &str) -> f64 {
    COMMITTED.of(kind).probability(&features(text))
}

/// Explains [`quality`] by the contribution of each feature.
pub fn explain(kind: GradedText, text: &str) -> Explanation {
    let model = COMMITTED.of(kind);
    model.explain(QUALITY, &features(text))
}

/// How good an argument the text is, in (0, 1): an estimate of the weighted share of people who would recommend it (the WA score of
/// IBM-ArgQ-Rank-30k), explained by the contribution of each feature. `readings` are the stance encoder's outputs for the topic's claim with each of the
/// text's [`Pieces`]; without an encoder, only the words decide. A text that is not a sentence has 0.
///
/// [`Pieces`]: crate::reading::pieces::Pieces
pub fn explain_rating(text: &str, readings: Option<&[StanceReading]>) -> Explanation {
    if !is_sentence(text) {
        return Explanation::new(QUALITY, 0.0).with_how("0, by rule: not a sentence");
    }
    let by_words = &COMMITTED.ratings_by_words;
    let features = features(text);
    let Some(readings) = readings else {
        return by_words.explain(QUALITY, &features);
    };
    let rated = [read_quality(readings), by_words.log_odds(&features)];
    let mut explanation = COMMITTED.ratings.explain(QUALITY, &rated);
    if let Some(by_words_alone) = explanation.find_mut((FEATURE, WORDS)) {
        let opened = by_words.explain(text_stance::WORDS, &features).into_parts();
        opened
            .into_iter()
            .for_each(|part| by_words_alone.add_part(part));
    }
    explanation
}
