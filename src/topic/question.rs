//! A topic as a question with two sides: the words to search for, the claims of both sides, and whether the claim is for or against its
//! subject.

use riposte_eval::topic::Topic;

pub use super::claims::{claims, negated};
use super::lexicon::opinion::{
    AGAINST, CAUSES, EVILS, NEGATIONS, NOT_AGAINST, REDUCTIONS, SHORT_STEM_ENDINGS,
};
use super::words::trimmed_words;

/// The parts of a topic that are searched for besides its title. A run that uses only the title counts as "automatic".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicParts {
    pub description: bool,
    pub narrative: bool,
}

impl TopicParts {
    /// The names of the chosen parts.
    pub fn names(self) -> Vec<&'static str> {
        let all = [
            ("description", self.description),
            ("narrative", self.narrative),
        ];
        let used = all.into_iter().filter(|(_, is_used)| *is_used);
        used.map(|(name, _)| name).collect()
    }
}

/// A topic as a question with two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The words to search the text index for. The analyzer removes stop words.
    pub words: String,
    /// The claim of PRO ("the voting age should be lowered").
    pub claim: String,
    /// The claim of CON ("the voting age should not be lowered").
    pub counter_claim: String,
    /// Whether PRO is for the subject or against it ("Should bottled water be banned?").
    pub polarity: Polarity,
}

/// The position of PRO towards the subject of the topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polarity {
    /// PRO wants, allows or praises the subject.
    For,
    /// PRO wants less of the subject, or blames it.
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

/// The topic as a question; `parts` names the parts besides the title whose words are searched for. The words of a premise are always searched for.
pub fn read(topic: &Topic, parts: TopicParts) -> Question {
    let mut words = topic.title.clone();
    let premise = topic.argument.as_ref().map_or(&None, |a| &a.premise);
    for (wanted, text) in [
        // a premise belongs to the argument, as the claim does, so a run that uses it is not a manual run
        (true, premise),
        (parts.description, &topic.description),
        (parts.narrative, &topic.narrative),
    ] {
        if wanted && let Some(text) = text {
            words.push(' ');
            words.push_str(text);
        }
    }
    let (claim, counter_claim) = claims(&topic.title);
    Question {
        words,
        claim,
        counter_claim,
        polarity: polarity(&topic.title),
    }
}

/// Whether PRO is for or against the subject of a yes-no question or claim.
///
/// Like [`polarity_of_words`], but PRO is also against a subject that is too much ("too high") or responsible for climate change.
pub(crate) fn polarity(question: &str) -> Polarity {
    let lower = question.to_lowercase();
    let words: Vec<&str> = trimmed_words(&lower).collect();
    let is_too = |pair: &[&str]| pair[0] == "too" && !["and", "but", "i", "we"].contains(&pair[1]);
    let mut after_blame = words.iter().skip_while(|word| **word != "responsible");
    let blames = after_blame.any(|word| ["climate", "warming"].contains(word));
    by_words(&words, words.windows(2).any(is_too) || blames)
}

/// Whether a text (a question or a claim) is for or against its subject, judged only by its words.
///
/// It is against its subject if it has a word of [`AGAINST`], or a verb of [`CAUSES`] and after it one of [`EVILS`]. Each negation or reduction in
/// the text reverses the result.
pub(crate) fn polarity_of_words(text: &str) -> Polarity {
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

    proptest::proptest! {
        #[test]
        fn any_title_has_claims_and_a_polarity(title in "\\PC{0,80}|[A-Za-z ,.?'’-]{0,60}|((should|is|the|who|not|n't|all|or|and|people|that|ban|,|a|to|do|there|no|any|why|how|causes|harm|Don't) ?){0,12}[?]?") {
            let (claim, counter) = claims(&title);
            polarity(&title);
            negated(&title);
            proptest::prop_assert!(claim.is_empty() && counter.is_empty() || claim != counter);
        }
    }
}
