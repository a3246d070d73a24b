//! The features of a passage for the stance towards two objects. Odd features change their sign when the objects are swapped; even features do
//! not change.

use riposte_claims::lexicon::comparison::{
    ALIKE, BETTER, CLAUSE_BREAKS, COMPARING, CONDITIONS, CONTRASTS, OBJECT_STOP_WORDS,
    PROS_AND_CONS, SUPERLATIVES, WORSE,
};
use riposte_claims::lexicon::opinion::FIRST_PERSON;
use riposte_claims::words::{Sentence, count};

use super::cues::cues;
use super::mentions::{Mention, Objects};
use crate::evidence::sentiment::Vader;

/// Names of the odd features of words, which show for which object a passage is. With the encoder, [`LEANING`] is added.
pub(crate) const WHICH: [&str; 4] = ["comparatives", "choices", "share of mentions", "sentiment"];
/// Names of the even features of words that show whether a passage takes a stance. With the encoder, [`PREFERRING`] and [`SUREST`] are added.
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
/// Names of the even features of words that distinguish a neutral stance from a stance for an object. With the encoder, [`ONE_SIDED`] is added.
pub const NEUTRAL: [&str; 3] = [
    "share of mentions, either way",
    "words of likeness",
    "sentences with both objects",
];
/// Name of an odd feature: the mean over the sentences of tanh(leaning), by the stance encoder.
pub(crate) const LEANING: &str = "leaning of sentences";
/// Name of an even feature: the absolute sum of the leanings, divided by the square root of their number. The sum of random leanings grows like
/// this root; the sum of a one-sided passage grows faster.
pub(crate) const ONE_SIDED: &str = "one-sided leaning";
/// Name of an even feature: ln(1 + n), where n is the expected number of sentences that prefer an object, by the encoder.
pub(crate) const PREFERRING: &str = "sentences that prefer";
/// Name of an even feature: the largest probability that a sentence prefers an object, by the encoder.
pub(crate) const SUREST: &str = "surest preference";

/// The stance encoder's reading of a sentence that names an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SentencePreference {
    /// The log-odds of the first object against the second, if the sentence prefers one.
    pub leaning: f64,
    /// The probability that the sentence prefers one of the objects.
    pub prefers: f64,
}

/// The features of a passage for the three models, each in the order of its names.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectStanceFeatures {
    /// In the order of [`super::which_names`].
    pub which: Vec<f64>,
    /// In the order of [`super::takes_names`].
    pub takes: Vec<f64>,
    /// In the order of [`super::neutral_names`].
    pub neutral: Vec<f64>,
}

/// Sums and counts over the sentences. Arrays have one value for each object.
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
    /// Adds the sentiment of a text about an object, in [-1, 1].
    fn add_sentiment(&mut self, object: usize, sentiment: f64) {
        self.sentiment[object] += sentiment;
        self.positive += sentiment.max(0.0);
        self.negative += (-sentiment).max(0.0);
    }

    /// Adds the counts of a sentence.
    fn add_counts(&mut self, sentence: &Sentence<'_>, mentions: &[Mention], vader: Vader) {
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

    /// Adds the sentiment of a sentence that names both objects. The sentiment of each clause counts for the object that the clause names or, if
    /// it names none, for the object of the previous clause. A clause that names both objects counts for neither.
    fn add_sentiment_of_clauses(
        &mut self,
        sentence: &Sentence<'_>,
        mentions: &[Mention],
        vader: Vader,
    ) {
        self.naming_both += 1.0;
        let mut about = None;
        let mut start = 0;
        for end in 1..=sentence.tokens.len() {
            let separator = sentence.tokens.get(end);
            if separator.is_some_and(|t| !CLAUSE_BREAKS.contains(&t.lower.as_str())) {
                continue;
            }
            let clause = start..end;
            // the token between two clauses belongs to neither
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
                self.add_sentiment(object, vader.compound(&words.join(" ")));
            }
        }
    }
}

/// The features of a passage. `readings` has a reading for each sentence of [`Objects::masked`], in the same order; `None` without an encoder.
pub fn features(
    objects: &Objects,
    passage: &str,
    readings: Option<&[SentencePreference]>,
) -> ObjectStanceFeatures {
    let vader = Vader::new();
    let mut sums = Sums::default();
    let sentences = objects.read(passage);
    // A sentence that names neither object counts with the weight 1/2 for the object that the previous sentence named, the next one with 1/4,
    // and so on.
    let mut last: Option<(usize, f64)> = None;
    for (sentence, mentions) in &sentences {
        sums.add_counts(sentence, mentions, vader);
        let named = |object| mentions.iter().any(|m| m.object == object);
        match (named(0), named(1)) {
            (true, true) => {
                sums.add_sentiment_of_clauses(sentence, mentions, vader);
                last = None;
            }
            (false, false) => {
                if let Some((object, share)) = &mut last {
                    sums.add_sentiment(*object, *share * vader.compound(sentence.text));
                    *share /= 2.0;
                }
            }
            (first, _) => {
                let object = usize::from(!first);
                sums.add_sentiment(object, vader.compound(sentence.text));
                last = Some((object, 0.5));
            }
        }
    }
    let mut features = sums.features(sentences.len().max(1) as f64);
    if let Some(readings) = readings {
        let number = readings.len().max(1) as f64;
        let mean = readings.iter().map(|r| r.leaning.tanh()).sum::<f64>() / number;
        features.which.push(mean);
        // a sentence that prefers neither object is not one-sided
        let leaning = |r: &SentencePreference| r.prefers * r.leaning;
        let sum: f64 = readings.iter().map(leaning).sum();
        features.neutral.push(sum.abs() / number.sqrt());
        let prefers = readings.iter().map(|r| r.prefers);
        features.takes.push(prefers.clone().sum::<f64>().ln_1p());
        features.takes.push(prefers.fold(0.0, f64::max));
    }
    features
}

impl Sums {
    fn features(&self, sentences: f64) -> ObjectStanceFeatures {
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
        ObjectStanceFeatures {
            which,
            takes,
            neutral,
        }
    }
}
