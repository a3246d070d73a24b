//! A topic as a question with two sides: the words to search for, the claims of both sides, and whether the claim is for or against its
//! subject.

use riposte_claims::{Polarity, claims, polarity};
use riposte_eval::topic::Topic;

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
