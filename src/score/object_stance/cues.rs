//! What a sentence says for and against two objects: comparatives and choices.

use super::mentions::Mention;
use crate::evidence::sentiment::Vader;
use crate::topic::lexicon::comparison::{BETTER, CHOOSE, PREFER, TAKES_TO, UNWANTED, WORSE};
use crate::topic::lexicon::opinion::{NEGATIVE_WORDS, negates};
use crate::topic::words::Sentence;

/// How far to the left the object of "… better than …" may stand, in tokens; and the other reaches below.
const SUBJECT: usize = 25;
const THAN: usize = 11;
const COMPARED: usize = 8;
const CHOSEN: usize = 5;
/// For a comparison of which one side is named.
const HALF_NAMED: f64 = 0.6;
/// "Not better" is less than "worse".
const NEGATED: f64 = -0.5;
/// For words of [`CHOOSE`].
const MAYBE: f64 = 0.4;

/// Evidence for the first object (above 0) or the second (below 0).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cues {
    /// From "better than" and its like.
    pub than: f64,
    /// From "prefer", "recommend", "go for".
    pub choose: f64,
}

fn negated(words: &[&str], place: usize) -> bool {
    words[place.saturating_sub(3)..place]
        .iter()
        .any(|word| negates(word) || NEGATIVE_WORDS.contains(word))
}

/// 1 for "better", -1 for "worse", 0 for no comparative.
fn polarity(words: &[&str], place: usize, vader: Vader) -> f64 {
    let word = words[place];
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
    match words.get(place + 1) {
        None | Some(&("than" | "," | "." | "likely")) => 0.0,
        Some(quality) if UNWANTED.contains(quality) || vader.compound(quality) < 0.0 => -more,
        Some(_) => more,
    }
}

/// The cues of a sentence; a question decides nothing.
pub(super) fn cues(sentence: &Sentence<'_>, mentions: &[Mention], vader: Vader) -> Cues {
    let mut cues = Cues::default();
    if sentence.is_question() || mentions.is_empty() {
        return cues;
    }
    let words: Vec<&str> = sentence.tokens.iter().map(|t| t.lower.as_str()).collect();
    let before = |place: usize, reach: usize| {
        mentions
            .iter()
            .rfind(|m| m.last < place && place - m.last <= reach)
    };
    let after = |place: usize, reach: usize| {
        mentions
            .iter()
            .find(|m| m.first > place && m.first - place <= reach)
    };
    for (place, word) in words.iter().enumerate() {
        let mut better = polarity(&words, place, vader);
        if better != 0.0 {
            if negated(&words, place) {
                better *= NEGATED;
            }
            let takes_to = TAKES_TO.contains(word);
            let than = (place + 1..words.len().min(place + 1 + THAN))
                .find(|&n| words[n] == "than" || (takes_to && words[n] == "to"));
            if let Some(than) = than {
                cues.than += better
                    * match (before(place, SUBJECT), after(than, COMPARED)) {
                        (Some(a), Some(b)) if a.object != b.object => {
                            a.sign() * (a.weight * b.weight).sqrt()
                        }
                        (_, Some(b)) => -HALF_NAMED * b.sign() * b.weight,
                        (Some(a), None) => HALF_NAMED * a.sign() * a.weight,
                        (None, None) => 0.0,
                    };
            }
        }
        let certain = if PREFER.contains(word) {
            1.0
        } else if CHOOSE.contains(word) {
            MAYBE
        } else {
            continue;
        };
        if let Some(chosen) = after(place, CHOSEN) {
            let turn = if negated(&words, place) { -1.0 } else { 1.0 };
            cues.choose += turn * certain * chosen.sign() * chosen.weight;
        }
    }
    cues
}
