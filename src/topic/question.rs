//! A topic as a question with two sides: the words to search for, the claims of both sides, and whether the claim is for or against its
//! subject.

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
    /// +1 or -1.
    pub fn sign(self) -> f64 {
        match self {
            Polarity::For => 1.0,
            Polarity::Against => -1.0,
        }
    }
}

/// Words that turn a claim against its subject. Stems: a word that begins with one of them.
const AGAINST: [&str; 30] = [
    "ban",
    "abolish",
    "prohibit",
    "outlaw",
    "eliminat",
    "restrict",
    "repeal",
    "scrap",
    "remov",
    "reduc",
    "penali",
    "criminal",
    "unsafe",
    "harm",
    "danger",
    "bad",
    "wrong",
    "unhealth",
    "unethic",
    "immoral",
    "unnecessar",
    "useless",
    "resign",
    "cut",
    "stop",
    "forbid",
    "end",
    "destroy",
    "damag",
    "worse",
];

/// Words of [`AGAINST`] that stand for something else when more letters follow.
const NOT_AGAINST: [&str; 14] = [
    "band",
    "bank",
    "banner",
    "bang",
    "bangladesh",
    "harmon",
    "endanger",
    "endorse",
    "endeavo",
    "cute",
    "badge",
    "badminton",
    "cutting-edge",
    "endow",
];

/// Verbs of "cause" whose object, when bad, makes the claim one against the subject.
const CAUSES: [&str; 5] = ["cause", "contribute", "increase", "lead", "promote"];

/// Bad things that a subject may be said to cause.
const EVILS: [&str; 10] = [
    "violen", "crime", "harm", "death", "disease", "addict", "traffick", "poverty", "obes",
    "damage",
];

/// Reads a topic.
pub fn read(topic: &Topic, parts: TopicParts) -> Question {
    let mut words = topic.title.clone();
    for (wanted, text) in [
        (parts.description, &topic.description),
        (parts.narrative, &topic.narrative),
    ] {
        if let (true, Some(text)) = (wanted, text) {
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

fn words_of(text: &str) -> Vec<&str> {
    text.split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect()
}

/// Whether PRO stands for or against the subject; negations turn it round.
pub fn polarity(question: &str) -> Polarity {
    let lower = question.to_lowercase();
    let words = words_of(&lower);
    let against = words.iter().filter(|w| is_against(w)).count();
    let causes = words
        .iter()
        .position(|w| CAUSES.iter().any(|c| w.starts_with(c)))
        .is_some_and(|at| {
            words[at + 1..]
                .iter()
                .any(|w| EVILS.iter().any(|evil| w.starts_with(evil)))
        });
    let negations = words
        .iter()
        .filter(|w| ["not", "no", "never", "without", "fewer", "less"].contains(*w))
        .count();
    let turns = usize::from(against > 0 || causes) + negations;
    if turns % 2 == 1 {
        Polarity::Against
    } else {
        Polarity::For
    }
}

fn is_against(word: &str) -> bool {
    AGAINST.iter().any(|stem| {
        // the short ones only as words of their own with an ending
        match stem.len() {
            0..=3 => word
                .strip_prefix(stem)
                .is_some_and(|ending| ["", "s", "ned", "ning", "ed", "ting"].contains(&ending)),
            _ => word.starts_with(stem),
        }
    }) && !NOT_AGAINST.iter().any(|other| word.starts_with(other))
}

/// Words before which the verb of a question goes when it becomes a statement, after a subject of
/// at least one word.
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

/// Verbs that begin the predicate of a "should" question.
const VERBS: [&str; 42] = [
    "be", "get", "have", "allow", "become", "remain", "stay", "resign", "attempt", "join", "carry",
    "imprison", "use", "pay", "give", "make", "take", "stop", "keep", "provide", "require", "ban",
    "teach", "wear", "eat", "receive", "do", "go", "work", "limit", "regulate", "fund", "support",
    "vote", "own", "buy", "adopt", "replace", "raise", "abolish", "pursue", "legalize",
];

/// The statement that a yes-no question asks about, and its negation, in lower case as far as the
/// question's first words go. What is no yes-no question is its own claim.
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
            let claim = of_the_house(bare);
            let counter = negated(&claim).unwrap_or_else(|| format!("it is not true that {claim}"));
            return (claim, counter);
        }
    };
    let at = rest
        .iter()
        .enumerate()
        .skip(1)
        .position(|(_, w)| starters.contains(&w.to_lowercase().as_str()))
        .map(|at| at + 1)
        // "Can terrorism be justified?" has one; "Can energy effectively replace oil?" the adverb
        .unwrap_or(1.min(rest.len()));
    let (subject, predicate) = rest.split_at(at.min(rest.len()));
    let (subject, predicate) = (subject.join(" "), predicate.join(" "));
    (
        format!("{subject} {verb} {predicate}").trim().to_owned(),
        format!("{subject} {verb} not {predicate}")
            .trim()
            .to_owned(),
    )
}

/// A parliamentary debate's motion as the claim that it is about.
fn of_the_house(motion: &str) -> String {
    let lower = motion.to_lowercase();
    for (opening, instead) in [
        ("this house believes that ", ""),
        ("this house believes ", ""),
        ("this house would ", "we should "),
        ("this house should ", "we should "),
        ("this house ", "we "),
    ] {
        if let (true, Some(rest)) = (lower.starts_with(opening), motion.get(opening.len()..)) {
            return format!("{instead}{rest}");
        }
    }
    motion.to_owned()
}

/// Negations of verbs, and the verb without them.
const NEGATIONS: [(&str, &str); 18] = [
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

/// Verbs after which "not" negates a statement, the surest first.
const NEGATABLE: [&str; 12] = [
    "should", "must", "would", "will", "can", "is", "are", "was", "were", "has", "have", "ought to",
];

/// The opposite of a statement: its negation taken away, or one put after its first auxiliary verb. None for what has
/// neither.
pub fn negated(claim: &str) -> Option<String> {
    let words: Vec<&str> = claim.split_whitespace().collect();
    let said = |at: usize, phrase: &str| {
        let mut at = words.get(at..).unwrap_or(&[]).iter();
        phrase.split(' ').all(|part| {
            at.next()
                .is_some_and(|word| word.eq_ignore_ascii_case(part))
        })
    };
    let rebuilt = |at: usize, taken: usize, put: &str| {
        let (before, rest) = words.split_at(at);
        let parts = before.iter().copied().chain([put]);
        let parts = parts.chain(rest.get(taken..).unwrap_or(&[]).iter().copied());
        parts
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (negation, instead) in NEGATIONS {
        if let Some(at) = (0..words.len()).find(|&at| said(at, negation)) {
            return Some(rebuilt(at, negation.split(' ').count(), instead));
        }
    }
    for verb in NEGATABLE {
        if let Some(at) = (0..words.len()).find(|&at| said(at, verb)) {
            let taken = verb.split(' ').count();
            let kept = words.get(at..at + taken)?.join(" ");
            return Some(rebuilt(at, taken, &format!("{kept} not")));
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
    fn bans_and_blame_turn_the_polarity() {
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
        fn any_title_is_read(title in "\\PC{0,80}") {
            let (claim, counter) = claims(&title);
            polarity(&title);
            proptest::prop_assert!(claim.is_empty() || counter.len() > claim.len());
        }
    }
}
