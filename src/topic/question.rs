//! A topic as a question with two sides: the words to search for, the claims of both sides, and whether the claim is for or against its
//! subject.

use super::lexicon::opinion::{
    AGAINST, CAUSES, EVILS, NEGATIONS, NOT_AGAINST, REDUCTIONS, SHORT_STEM_ENDINGS,
};
use super::words::trimmed_words;
use crate::trec::topic::Topic;

/// The parts of a topic that are searched for besides its title. A run that uses the title alone counts as "automatic".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicParts {
    pub description: bool,
    pub narrative: bool,
}

/// A topic as a question with two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The words that the text index is searched for. The analyzer removes stop words.
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

/// The topic as a question; `parts` names the parts besides the title whose words are searched for.
pub fn read(topic: &Topic, parts: TopicParts) -> Question {
    let mut words = topic.title.clone();
    for (wanted, text) in [
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
/// PRO is against it if the text has a word of [`AGAINST`], or a verb of [`CAUSES`] and after it one of [`EVILS`]. Each negation or
/// reduction in the text reverses the result.
pub(crate) fn polarity(question: &str) -> Polarity {
    let lower = question.to_lowercase();
    let words: Vec<&str> = trimmed_words(&lower).collect();
    let against = words.iter().any(|word| is_against(word));
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

/// Words that begin the predicate of an "is" question. When the question becomes a statement, the verb goes before the first of them
/// that follows a subject of at least one word.
const PREDICATES: [&str; 48] = [
    "a",
    "an",
    "good",
    "bad",
    "safe",
    "unsafe",
    "legal",
    "illegal",
    "healthy",
    "harmful",
    "worth",
    "beneficial",
    "effective",
    "morally",
    "ethical",
    "moral",
    "still",
    "too",
    "better",
    "worse",
    "art",
    "determined",
    "primarily",
    "doing",
    "flat",
    "necessary",
    "needed",
    "useful",
    "dangerous",
    "justified",
    "acceptable",
    "right",
    "wrong",
    "more",
    "less",
    "important",
    "responsible",
    "overrated",
    "obsolete",
    "real",
    "free",
    "fair",
    "possible",
    "the",
    "our",
    "best",
    "sustainable",
    "addictive",
];

/// Words that begin the predicate of a "should" question, used as [`PREDICATES`].
const VERBS: [&str; 42] = [
    "be", "get", "have", "allow", "become", "remain", "stay", "resign", "attempt", "join", "carry",
    "imprison", "use", "pay", "give", "make", "take", "stop", "keep", "provide", "require", "ban",
    "teach", "wear", "eat", "receive", "do", "go", "work", "limit", "regulate", "fund", "support",
    "vote", "own", "buy", "adopt", "replace", "raise", "abolish", "pursue", "legalize",
];

/// The statement that a yes-no question asks about, and its negation.
///
/// The question's verb moves behind the subject in lower case; all other words stay as they are. A text that is not a yes-no question is
/// its own claim, without the opening of a parliamentary motion. Both texts are empty if the question has no word.
pub fn claims(question: &str) -> (String, String) {
    let bare = question.trim().trim_end_matches(['?', '.', '!', ' ']);
    let words: Vec<&str> = bare.split_whitespace().collect();
    let Some((&first, rest)) = words.split_first() else {
        return (String::new(), String::new());
    };
    let verb = first.to_lowercase();
    let starters: &[&str] = match verb.as_str() {
        "should" | "must" | "can" | "could" | "will" | "would" | "may" => &VERBS,
        "is" | "are" | "was" | "were" => &PREDICATES,
        "do" | "does" | "did" => {
            let statement = rest.join(" ");
            return (
                statement.clone(),
                format!("it is not true that {statement}"),
            );
        }
        _ => {
            let claim = without_motion_opening(bare);
            let counter = negated(&claim).unwrap_or_else(|| format!("it is not true that {claim}"));
            return (claim, counter);
        }
    };
    // if no word begins a predicate, the subject is taken to be one word ("Can energy effectively replace oil?")
    let predicate_start = rest
        .iter()
        .skip(1)
        .position(|word| starters.contains(&word.to_lowercase().as_str()))
        .map_or(1, |position| position + 1)
        .min(rest.len());
    let (subject, predicate) = rest.split_at(predicate_start);
    let (subject, predicate) = (subject.join(" "), predicate.join(" "));
    (
        format!("{subject} {verb} {predicate}").trim().to_owned(),
        format!("{subject} {verb} not {predicate}")
            .trim()
            .to_owned(),
    )
}

/// A motion of a parliamentary debate as the claim that it is about ("This house would ban boxing": "we should ban boxing"); any other
/// text as it is.
fn without_motion_opening(motion: &str) -> String {
    let lower = motion.to_lowercase();
    for (opening, replacement) in [
        ("this house believes that ", ""),
        ("this house believes ", ""),
        ("this house would ", "we should "),
        ("this house should ", "we should "),
        ("this house ", "we "),
    ] {
        if lower.starts_with(opening)
            && let Some(rest) = motion.get(opening.len()..)
        {
            return format!("{replacement}{rest}");
        }
    }
    motion.to_owned()
}

/// Negated verbs, and what remains of each when the negation is taken away.
const NEGATED_VERBS: [(&str, &str); 18] = [
    ("should not", "should"),
    ("shouldn't", "should"),
    ("should never", "should"),
    ("must not", "must"),
    ("is not", "is"),
    ("isn't", "is"),
    ("are not", "are"),
    ("aren't", "are"),
    ("cannot", "can"),
    ("can't", "can"),
    ("do not", ""),
    ("don't", ""),
    ("does not", "does"),
    ("doesn't", "does"),
    ("would not", "would"),
    ("wouldn't", "would"),
    ("will not", "will"),
    ("won't", "will"),
];

/// Verbs after which "not" negates a statement, the most reliable first.
const NEGATABLE_VERBS: [&str; 12] = [
    "should", "must", "would", "will", "can", "is", "are", "was", "were", "has", "have", "ought to",
];

/// The opposite of a statement: without its negation or, if it has none, with "not" after an auxiliary verb. None if it has neither a
/// negation nor an auxiliary verb.
pub fn negated(claim: &str) -> Option<String> {
    let words: Vec<&str> = claim.split_whitespace().collect();
    // position and number of words of the phrase's first occurrence
    let find = |phrase: &str| {
        let parts: Vec<&str> = phrase.split(' ').collect();
        let mut windows = words.windows(parts.len());
        let same = |window: &[&str]| {
            let mut pairs = window.iter().zip(&parts);
            pairs.all(|(word, part)| word.eq_ignore_ascii_case(part))
        };
        windows
            .position(same)
            .map(|position| (position, parts.len()))
    };
    let replaced = |position: usize, count: usize, replacement: &str| {
        let (before, rest) = words.split_at(position);
        let after = rest.get(count..).unwrap_or(&[]);
        let parts = before.iter().chain([&replacement]).chain(after);
        let parts: Vec<&str> = parts.copied().filter(|part| !part.is_empty()).collect();
        parts.join(" ")
    };
    for (negation, replacement) in NEGATED_VERBS {
        if let Some((position, count)) = find(negation) {
            return Some(replaced(position, count, replacement));
        }
    }
    for verb in NEGATABLE_VERBS {
        if let Some((position, count)) = find(verb) {
            let kept = words.get(position..position + count)?.join(" ");
            return Some(replaced(position, count, &format!("{kept} not")));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_their_own_claims_and_can_be_negated() {
        for (topic, claim, counter) in [
            (
                "This house believes that the sale of violent video games should be banned",
                "the sale of violent video games should be banned",
                "the sale of violent video games should not be banned",
            ),
            (
                "This house would ban boxing",
                "we should ban boxing",
                "we should not ban boxing",
            ),
            (
                "Parents shouldn't smack their children.",
                "Parents shouldn't smack their children",
                "Parents should smack their children",
            ),
            (
                "We ought to vote",
                "We ought to vote",
                "We ought to not vote",
            ),
            (
                "Gun control",
                "Gun control",
                "it is not true that Gun control",
            ),
        ] {
            assert_eq!(
                claims(topic),
                (claim.to_owned(), counter.to_owned()),
                "{topic}"
            );
        }
        assert_eq!(
            negated("We don't need cash").as_deref(),
            Some("We need cash")
        );
    }

    #[test]
    fn questions_become_claims() {
        for (question, claim, counter) in [
            (
                "Should the voting age be lowered?",
                "the voting age should be lowered",
                "the voting age should not be lowered",
            ),
            (
                "Is vaping with e-cigarettes safe?",
                "vaping with e-cigarettes is safe",
                "vaping with e-cigarettes is not safe",
            ),
            (
                "Should students have to wear school uniforms?",
                "students should have to wear school uniforms",
                "students should not have to wear school uniforms",
            ),
            (
                "Are social networking sites good for our society?",
                "social networking sites are good for our society",
                "social networking sites are not good for our society",
            ),
            (
                "Do we need cash?",
                "we need cash",
                "it is not true that we need cash",
            ),
            ("Is golf a sport?", "golf is a sport", "golf is not a sport"),
            (
                "Cats or dogs",
                "Cats or dogs",
                "it is not true that Cats or dogs",
            ),
        ] {
            assert_eq!(
                claims(question),
                (claim.to_owned(), counter.to_owned()),
                "{question}"
            );
        }
        assert_eq!(claims("?"), (String::new(), String::new()));
        assert_eq!(claims("Should?").0, "should");
    }

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
        ] {
            assert_eq!(polarity(question), Polarity::Against, "{question}");
        }
        for question in [
            "Should the voting age be lowered?",
            "Should endangered species be protected?",
            "Should bank fees be free?",
            "Should smoking not be banned?",
            "Does lowering the federal corporate income tax rate create jobs?",
        ] {
            assert_eq!(polarity(question), Polarity::For, "{question}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_title_has_claims_and_a_polarity(title in "\\PC{0,80}") {
            let (claim, counter) = claims(&title);
            polarity(&title);
            proptest::prop_assert!(claim.is_empty() || counter.len() > claim.len());
        }
    }
}
