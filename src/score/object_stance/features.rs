//! A passage as numbers: odd ones, which change their sign when the objects are swapped, and even ones, which do not.

use super::Objects;
use super::cues::cues;
use super::mentions::Mention;
use crate::evidence::sentiment::Vader;
use crate::topic::lexicon::comparison::{
    ALIKE, BETTER, CLAUSE_BREAKS, COMPARING, CONDITIONS, CONTRASTS, OBJECT_STOP_WORDS,
    PROS_AND_CONS, SUPERLATIVES, WORSE,
};
use crate::topic::lexicon::opinion::FIRST_PERSON;
use crate::topic::words::{Sentence, count};

/// Odd features that need no encoder; [`LEANING`] joins them where there is one.
pub(crate) const WHICH: [&str; 4] = ["comparatives", "choices", "share of mentions", "sentiment"];
/// What tells a passage that takes a stance from one that does not.
pub(crate) const TAKES: [&str; 16] = [
    "mentions of the rarer object",
    "mentions of the more frequent object",
    "sentences with a mention",
    "capitalised words",
    "stop words",
    "words a sentence",
    "comparing words",
    "contrasts",
    "conditions",
    "positive sentiment",
    "negative sentiment",
    "first person",
    "questions",
    "pros and cons",
    "comparatives, either way",
    "choices, either way",
];
/// What tells a neutral stance from one for an object.
pub const NEUTRAL: [&str; 3] = [
    "share of mentions, either way",
    "words of likeness",
    "sentences with both objects",
];
/// Mean of the sentences' leanings by the pair encoder, each made to saturate.
pub(crate) const LEANING: &str = "leaning of sentences";
/// Their sum over the root of their number, as that of chance would grow: one-sided passages have a large one.
pub(crate) const ONE_SIDED: &str = "one-sided leaning";
/// Expected number of sentences that prefer an object, by the encoder; logarithm of it and one.
pub(crate) const PREFERRING: &str = "sentences that prefer";
/// The surest of them.
pub(crate) const SUREST: &str = "surest preference";

/// What the pair encoder says of a sentence that names an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Log-odds of the first object against the second, if it prefers one.
    pub leaning: f64,
    /// P(it prefers one).
    pub prefers: f64,
}

/// A passage's features, each array in the order of its names.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    pub which: Vec<f64>,
    pub takes: Vec<f64>,
    pub neutral: Vec<f64>,
}

/// What accumulates over the sentences.
#[derive(Default)]
struct Sums {
    mentions: [f64; 2],
    sentiment: [f64; 2],
    positive: f64,
    negative: f64,
    than: f64,
    choose: f64,
    naming: f64,
    naming_both: f64,
    words: f64,
    capitalised: f64,
    stop_words: f64,
    comparing: f64,
    contrasts: f64,
    conditions: f64,
    alike: f64,
    pros_and_cons: f64,
    selves: f64,
    questions: f64,
}

impl Sums {
    fn feel(&mut self, object: usize, sentiment: f64) {
        self.sentiment[object] += sentiment;
        self.positive += sentiment.max(0.0);
        self.negative += (-sentiment).max(0.0);
    }

    fn count(&mut self, sentence: &Sentence<'_>, mentions: &[Mention], vader: Vader) {
        let tokens = &sentence.tokens;
        for token in sentence.words() {
            self.words += 1.0;
            self.capitalised += f64::from(token.text.starts_with(char::is_uppercase));
        }
        self.stop_words += count(tokens, OBJECT_STOP_WORDS) + count(tokens, ALIKE);
        for list in [BETTER, WORSE, SUPERLATIVES, COMPARING] {
            self.comparing += count(tokens, list);
        }
        self.conditions += count(tokens, CONDITIONS);
        self.pros_and_cons += count(tokens, PROS_AND_CONS);
        self.selves += count(tokens, FIRST_PERSON);
        self.questions += f64::from(sentence.is_question());
        if mentions.is_empty() {
            return;
        }
        self.naming += 1.0;
        self.contrasts += count(tokens, CONTRASTS);
        self.alike += count(tokens, ALIKE);
        for mention in mentions {
            self.mentions[mention.object] += mention.weight;
        }
        let cues = cues(sentence, mentions, vader);
        self.than += cues.than;
        self.choose += cues.choose;
    }

    /// In a sentence of both objects each clause speaks of the one it names, or of the one named before.
    fn feel_clauses(&mut self, sentence: &Sentence<'_>, mentions: &[Mention], vader: Vader) {
        self.naming_both += 1.0;
        let mut about = None;
        let mut start = 0;
        for end in 1..=sentence.tokens.len() {
            let parts = sentence.tokens.get(end);
            if parts.is_some_and(|t| !CLAUSE_BREAKS.contains(&t.lower.as_str())) {
                continue;
            }
            let clause = start..end;
            // the word that parts two clauses belongs to neither
            start = end + 1;
            let named = |object| {
                let inside = |m: &&Mention| clause.contains(&m.first) || clause.contains(&m.last);
                mentions.iter().filter(inside).any(|m| m.object == object)
            };
            match (named(0), named(1)) {
                (true, false) => about = Some(0),
                (false, true) => about = Some(1),
                (true, true) => about = None,
                (false, false) => {}
            }
            if let Some(object) = about {
                let words = sentence.tokens.get(clause).unwrap_or_default();
                let words: Vec<&str> = words.iter().map(|t| t.text).collect();
                self.feel(object, vader.compound(&words.join(" ")));
            }
        }
    }
}

/// The features of a passage. `readings`: of each of [`Objects::masked`]'s sentences; none without an encoder.
pub fn features(objects: &Objects, passage: &str, readings: Option<&[Reading]>) -> Features {
    let vader = Vader::new();
    let mut sums = Sums::default();
    let sentences = objects.read(passage);
    // sentences that name neither object speak of the last one named, ever less
    let mut last: Option<(usize, f64)> = None;
    for (sentence, mentions) in &sentences {
        sums.count(sentence, mentions, vader);
        let named = |object| mentions.iter().any(|m| m.object == object);
        match (named(0), named(1)) {
            (true, true) => {
                sums.feel_clauses(sentence, mentions, vader);
                last = None;
            }
            (false, false) => {
                if let Some((object, share)) = &mut last {
                    sums.feel(*object, *share * vader.compound(sentence.text));
                    *share /= 2.0;
                }
            }
            (first, _) => {
                let object = usize::from(!first);
                sums.feel(object, vader.compound(sentence.text));
                last = Some((object, 0.5));
            }
        }
    }
    let mut features = sums.features(sentences.len().max(1) as f64);
    if let Some(readings) = readings {
        let number = readings.len().max(1) as f64;
        // a sentence that prefers none leans by nothing
        let leaning = |r: &Reading| r.prefers * r.leaning;
        let mean = readings.iter().map(|r| leaning(r).tanh()).sum::<f64>() / number;
        features.which.push(mean);
        features
            .neutral
            .push(readings.iter().map(leaning).sum::<f64>().abs() / number.sqrt());
        let prefers = readings.iter().map(|r| r.prefers);
        features.takes.push(prefers.clone().sum::<f64>().ln_1p());
        features.takes.push(prefers.fold(0.0, f64::max));
    }
    features
}

impl Sums {
    fn features(&self, sentences: f64) -> Features {
        let [a, b] = self.mentions;
        let share = (a - b) / (a + b + 1.0);
        let (than, choose) = (self.than.tanh(), self.choose.tanh());
        let words = self.words.max(1.0);
        let which = vec![
            than,
            choose,
            share,
            (self.sentiment[0] - self.sentiment[1]).tanh(),
        ];
        let takes = vec![
            a.min(b).ln_1p(),
            a.max(b).ln_1p(),
            self.naming / sentences,
            self.capitalised / words,
            self.stop_words / words,
            self.words / sentences,
            self.comparing.ln_1p(),
            self.contrasts.ln_1p(),
            self.conditions.ln_1p(),
            self.positive.ln_1p(),
            self.negative.ln_1p(),
            self.selves.ln_1p(),
            self.questions.ln_1p(),
            self.pros_and_cons.ln_1p(),
            than.abs(),
            choose.abs(),
        ];
        let neutral = vec![share.abs(), self.alike.ln_1p(), self.naming_both.ln_1p()];
        Features {
            which,
            takes,
            neutral,
        }
    }
}
