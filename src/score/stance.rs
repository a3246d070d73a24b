//! P(pro) and P(con) of a document towards a topic: each for itself, since a document may be both.
//!
//! The claim in the picture weighs most, then the words around it; sentiment alone says little
//! (no published system beats chance with it), so its weights are small. The signs follow the
//! topic's polarity: "terrible" speaks for a ban.

use super::belief;
use crate::trec::Explanation;

/// Share of PRO and of CON among the on-topic judgements of 2022 (49 and 16 of 67 in a hundred).
pub const PRIORS: Priors = Priors {
    pro: 0.73,
    con: 0.24,
};

/// How often a document on the topic is PRO, and CON, before anything is known of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Priors {
    pub pro: f64,
    pub con: f64,
}

/// What speaks for PRO (positive) and CON (negative) in one document. What is none is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StanceSignals {
    /// [`leaning`] of the text in the image, in [-1, 1], turned by the topic's polarity.
    pub picture_leaning: Option<f64>,
    /// The same of the words around the image and of the title.
    pub near_leaning: Option<f64>,
    /// Likeness to the claim minus likeness to the counter-claim, in [-2, 2]: text in the image.
    pub picture_claim: Option<f64>,
    /// The same of the words around it.
    pub near_claim: Option<f64>,
    /// VADER's compound in [-1, 1], turned by the topic's polarity: text in the image.
    pub picture_valence: Option<f64>,
    /// The same of the words around it.
    pub near_valence: Option<f64>,
    /// Likeness by CLIP to the PRO prompts minus likeness to the CON prompts.
    pub clip: Option<f64>,
}

/// P(pro) and P(con), opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Beliefs {
    pub pro: Explanation,
    pub con: Explanation,
}

/// Weighs the signals.
pub fn beliefs(signals: &StanceSignals, priors: Priors) -> Beliefs {
    // log-odds at a signal's full strength, from strong to weak: the claim in the picture, what
    // stands around it, then sentiment; CLIP's differences are of the order of 0.02
    let weighed = [
        (
            "leaning of the text in the picture",
            signals.picture_leaning,
            0.9,
        ),
        ("leaning of the words around", signals.near_leaning, 0.4),
        ("claim in the picture", signals.picture_claim, 2.0),
        ("claim in the words around", signals.near_claim, 1.0),
        (
            "sentiment of the text in the picture",
            signals.picture_valence,
            0.3,
        ),
        ("sentiment of the words around", signals.near_valence, 0.2),
        ("CLIP's prompts", signals.clip, 20.0),
    ];
    let evidence = |sign: f64| {
        weighed
            .iter()
            .filter_map(|(name, value, weight)| {
                let value = (*value)?;
                Some(Explanation {
                    name: (*name).into(),
                    value: (sign * weight * value).clamp(-2.0, 2.0),
                    how: format!("{} × {value:.4}", sign * weight),
                    parts: Vec::new(),
                })
            })
            .collect::<Vec<_>>()
    };
    Beliefs {
        pro: belief("P(pro)", priors.pro, evidence(1.0)),
        con: belief("P(con)", priors.con, evidence(-1.0)),
    }
}

const SUPPORT: [&str; 40] = [
    "yes",
    "support",
    "supports",
    "pro",
    "pros",
    "good",
    "great",
    "benefit",
    "benefits",
    "beneficial",
    "advantage",
    "advantages",
    "right",
    "rights",
    "allow",
    "legalize",
    "legalise",
    "better",
    "help",
    "helps",
    "save",
    "saves",
    "protect",
    "protects",
    "love",
    "safe",
    "freedom",
    "equality",
    "equal",
    "deserve",
    "important",
    "positive",
    "improve",
    "improves",
    "healthy",
    "effective",
    "works",
    "justice",
    "fair",
    "success",
];

const OPPOSE: [&str; 52] = [
    "no",
    "not",
    "against",
    "stop",
    "ban",
    "banned",
    "bans",
    "con",
    "cons",
    "bad",
    "danger",
    "dangers",
    "dangerous",
    "harm",
    "harms",
    "harmful",
    "risk",
    "risks",
    "wrong",
    "kill",
    "kills",
    "never",
    "anti",
    "myth",
    "lie",
    "lies",
    "problem",
    "problems",
    "evil",
    "oppose",
    "opposes",
    "disadvantage",
    "disadvantages",
    "ruin",
    "ruins",
    "destroy",
    "destroys",
    "dont",
    "don't",
    "shouldn't",
    "shouldnt",
    "isn't",
    "negative",
    "fail",
    "fails",
    "failure",
    "worse",
    "worst",
    "unsafe",
    "cruel",
    "abuse",
    "death",
];

/// How a text leans towards its subject, in [-1, 1]: supporting minus opposing words, over their
/// number and one, so that a single word is no certainty. A negation before a supporting word
/// ("not good", "no right") makes it an opposing one, and takes its own opposition with it; before
/// an opposing word ("not dangerous") the other way round.
pub fn leaning(text: &str) -> Option<f64> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’'))
        .filter(|w| !w.is_empty())
        .collect();
    let negates = |w: &str| {
        matches!(w, "not" | "no" | "never" | "without") || w.ends_with("n't") || w.ends_with("n’t")
    };
    let (mut support, mut oppose) = (0u32, 0u32);
    let mut at = 0;
    while at < words.len() {
        let negated = negates(words[at]);
        // a negation reaches over one word ("not a right")
        let target = negated
            .then(|| {
                (at + 1..words.len().min(at + 3))
                    .find(|&i| SUPPORT.contains(&words[i]) || OPPOSE.contains(&words[i]))
            })
            .flatten();
        let (word, turned, step) = match target {
            Some(target) => (words[target], true, target + 1),
            None => (words[at], false, at + 1),
        };
        if SUPPORT.contains(&word) != turned && (SUPPORT.contains(&word) || OPPOSE.contains(&word))
        {
            support += 1;
        } else if SUPPORT.contains(&word) || OPPOSE.contains(&word) {
            oppose += 1;
        }
        at = step;
    }
    (support + oppose > 0)
        .then(|| (f64::from(support) - f64::from(oppose)) / (f64::from(support + oppose) + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn both_sides_may_be_likely_and_nothing_known_is_the_prior() {
        let none = beliefs(&StanceSignals::default(), PRIORS);
        assert!((none.pro.value - 0.73).abs() < 1e-12);
        assert!((none.con.value - 0.24).abs() < 1e-12);
        let against = beliefs(
            &StanceSignals {
                picture_leaning: Some(-0.8),
                ..StanceSignals::default()
            },
            PRIORS,
        );
        assert!(against.pro.value < none.pro.value);
        assert!(against.con.value > none.con.value);
    }
}
