//! Evidence in a sentence for one of two objects: comparatives ("A is better than B") and choices ("I prefer A").

use riposte_claims::lexicon::comparison::{BETTER, CHOOSE, PREFER, TAKES_TO, UNWANTED, WORSE};
use riposte_claims::lexicon::opinion::{NEGATIVE_WORDS, negates};
use riposte_claims::words::Sentence;

use super::mentions::Mention;
use crate::evidence::sentiment::Vader;

/// Maximum distance of an object before its comparative, in tokens.
const WORDS_BEFORE_COMPARATIVE: usize = 25;
/// Maximum distance of "than" or "to" after the comparative.
const WORDS_TO_THAN: usize = 11;
/// Maximum distance of the other object after "than" or "to".
const WORDS_AFTER_THAN: usize = 8;
/// Maximum distance of an object after a verb of choice.
const WORDS_AFTER_CHOICE: usize = 5;
/// Number of tokens before a word in which a negation applies to it.
const NEGATION_REACH: usize = 3;
/// Factor for a comparison in which only one object is named.
const HALF_NAMED: f64 = 0.6;
/// Factor for a negated comparative: "not better" says less than "worse".
const NEGATED: f64 = -0.5;
/// Factor for verbs of [`CHOOSE`], which do not always express a choice.
const UNCERTAIN_CHOICE: f64 = 0.4;

/// Sums of evidence, positive for the first object and negative for the second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cues {
    /// The evidence of comparatives with "than" or "to".
    pub than: f64,
    /// The evidence of verbs of choice: "prefer", "recommend", "go for".
    pub choose: f64,
}

/// Whether a negation is at most [`NEGATION_REACH`] tokens before the word at a position.
fn is_negated(words: &[&str], position: usize) -> bool {
    words[position.saturating_sub(NEGATION_REACH)..position]
        .iter()
        .any(|word| negates(word) || NEGATIVE_WORDS.contains(word))
}

/// The direction of the word at a position: 1 for a comparative such as "better", -1 for one such as "worse", 0 for any other word. The
/// direction of "more" and "less" depends on the next word.
fn direction(words: &[&str], position: usize, vader: Vader) -> f64 {
    let word = words[position];
    if BETTER.contains(&word) {
        return 1.0;
    }
    if WORSE.contains(&word) {
        return -1.0;
    }
    let more = match word {
        "more" => 1.0,
        "less" => -1.0,
        _ => return 0.0,
    };
    match words.get(position + 1) {
        None | Some(&("than" | "," | "." | "likely")) => 0.0,
        Some(quality) if UNWANTED.contains(quality) || vader.compound(quality) < 0.0 => -more,
        Some(_) => more,
    }
}

/// The cues of a sentence. There are none in a question, which prefers nothing, or in a sentence without mentions.
pub(super) fn cues(sentence: &Sentence<'_>, mentions: &[Mention], vader: Vader) -> Cues {
    let mut cues = Cues::default();
    if sentence.is_question() || mentions.is_empty() {
        return cues;
    }
    let words: Vec<&str> = sentence.tokens.iter().map(|t| t.lower.as_str()).collect();
    let before = |position: usize, reach: usize| {
        let mut mentions = mentions.iter();
        mentions.rfind(|m| m.last < position && position - m.last <= reach)
    };
    let after = |position: usize, reach: usize| {
        let mut mentions = mentions.iter();
        mentions.find(|m| m.first > position && m.first - position <= reach)
    };
    for (position, word) in words.iter().enumerate() {
        let is_negated = is_negated(&words, position);
        let mut better = direction(&words, position, vader);
        if better != 0.0 {
            if is_negated {
                better *= NEGATED;
            }
            let takes_to = TAKES_TO.contains(word);
            let than = (position + 1..words.len().min(position + 1 + WORDS_TO_THAN))
                .find(|&n| words[n] == "than" || (takes_to && words[n] == "to"));
            if let Some(than) = than {
                let first = before(position, WORDS_BEFORE_COMPARATIVE);
                let preferred = match (first, after(than, WORDS_AFTER_THAN)) {
                    (Some(a), Some(b)) if a.object != b.object => {
                        a.sign() * (a.weight * b.weight).sqrt()
                    }
                    (_, Some(b)) => -HALF_NAMED * b.sign() * b.weight,
                    (Some(a), None) => HALF_NAMED * a.sign() * a.weight,
                    (None, None) => 0.0,
                };
                cues.than += better * preferred;
            }
        }
        let certainty = if PREFER.contains(word) {
            1.0
        } else if CHOOSE.contains(word) {
            UNCERTAIN_CHOICE
        } else {
            continue;
        };
        if let Some(chosen) = after(position, WORDS_AFTER_CHOICE) {
            let sign = if is_negated { -1.0 } else { 1.0 };
            cues.choose += sign * certainty * chosen.sign() * chosen.weight;
        }
    }
    cues
}
