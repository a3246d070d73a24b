//! Whether a question is for or against its subject, judged by its words.

use crate::lexicon::opinion::{
    AGAINST, CAUSES, EVILS, NEGATIONS, NOT_AGAINST, REDUCTIONS, SHORT_STEM_ENDINGS,
};
use crate::words::trimmed_words;

/// Whether a question or claim is for or against its subject: what the answer yes is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polarity {
    /// The answer yes wants, allows or praises the subject.
    For,
    /// The answer yes wants less of the subject, or blames it ("Should bottled water be banned?").
    Against,
}

impl Polarity {
    /// 1.0 for [`Polarity::For`], -1.0 for [`Polarity::Against`].
    pub fn sign(self) -> f64 {
        match self {
            Polarity::For => 1.0,
            Polarity::Against => -1.0,
        }
    }
}

/// Whether the answer yes to a question, or a claim, is for or against its subject.
///
/// Like [`polarity_of_words`], but also against a subject that is too much ("too high") or responsible for climate change.
///
/// ```
/// use riposte_claims::{Polarity, polarity};
///
/// assert_eq!(polarity("Should smoking be banned?"), Polarity::Against);
/// assert_eq!(polarity("Should smoking not be banned?"), Polarity::For);
/// assert_eq!(polarity("Are gas prices too high?"), Polarity::Against);
/// ```
pub fn polarity(question: &str) -> Polarity {
    let lower = question.to_lowercase();
    let words: Vec<&str> = trimmed_words(&lower).collect();
    let is_too = |pair: &[&str]| pair[0] == "too" && !["and", "but", "i", "we"].contains(&pair[1]);
    let mut after_blame = words.iter().skip_while(|word| **word != "responsible");
    let blames = after_blame.any(|word| ["climate", "warming"].contains(word));
    by_words(&words, words.windows(2).any(is_too) || blames)
}

/// Whether a text is for or against its subject, judged only by single words: for text that asks nothing, such as that
/// in a picture or on a sign.
///
/// It is against its subject if it has a word of [`AGAINST`], or a verb of [`CAUSES`] and after it one of [`EVILS`]. Each negation or reduction in
/// the text reverses the result.
pub fn polarity_of_words(text: &str) -> Polarity {
    let lower = text.to_lowercase();
    let words: Vec<&str> = trimmed_words(&lower).collect();
    by_words(&words, false)
}

/// Like [`polarity_of_words`]; `blames` says that the subject is blamed in other words.
fn by_words(words: &[&str], blames: bool) -> Polarity {
    let against = blames || words.iter().any(|word| is_against(word));
    let mut after_cause = words
        .iter()
        .skip_while(|word| !starts_with_any(word, CAUSES))
        .skip(1);
    let causes_evil = after_cause.any(|word| starts_with_any(word, EVILS));
    let reversals = words
        .iter()
        .filter(|word| NEGATIONS.contains(word) || REDUCTIONS.contains(word))
        .count();
    if (usize::from(against || causes_evil) + reversals) % 2 == 1 {
        Polarity::Against
    } else {
        Polarity::For
    }
}

fn starts_with_any(word: &str, stems: &[&str]) -> bool {
    stems.iter().any(|stem| word.starts_with(stem))
}

fn is_against(word: &str) -> bool {
    let has_stem = |stem: &&str| {
        word.strip_prefix(stem)
            .is_some_and(|ending| stem.len() > 3 || SHORT_STEM_ENDINGS.contains(&ending))
    };
    AGAINST.iter().any(has_stem) && !starts_with_any(word, NOT_AGAINST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bans_and_blame_reverse_the_polarity() {
        for question in [
            "Should bottled water be banned?",
            "Should nuclear weapons be abolished?",
            "Is genetically modified food unsafe?",
            "Do violent video games contribute to youth violence?",
            "Does poverty cause crime?",
            "Should suicide be a criminal offense?",
            "Should we imprison fewer people?",
            "Do politicians have no right to privacy?",
            "Are gas prices too high?",
            "Is the EU responsible for global warming?",
        ] {
            assert_eq!(polarity(question), Polarity::Against, "{question}");
        }
        for question in [
            "Should the voting age be lowered?",
            "Should endangered species be protected?",
            "Should bank fees be free?",
            "Should smoking not be banned?",
            "Are schools not too strict?",
            "Does lowering the federal corporate income tax rate create jobs?",
        ] {
            assert_eq!(polarity(question), Polarity::For, "{question}");
        }
    }
}
