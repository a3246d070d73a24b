//! The stances of documents: towards a topic, or towards the two objects of a comparative question.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

/// The stance of a document towards a topic: for or against what the topic asks.
#[derive(strum::Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Stance {
    /// For it.
    Pro,
    /// Against it.
    Con,
}

impl Stance {
    /// Both stances, in the order in which run files list them.
    pub const BOTH: [Stance; 2] = [Stance::Pro, Stance::Con];

    /// The other stance.
    pub fn opposite(self) -> Stance {
        Stance::BOTH[1 - self as usize]
    }

    /// The stance as it is written in run files and judgements: `PRO` or `CON`.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// The stance of a passage towards the two objects of a comparative question (Touché 2022, Task 2).
#[derive(strum::Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE", ascii_case_insensitive)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ObjectStance {
    /// It prefers the first object.
    First,
    /// It prefers the second object.
    Second,
    /// It finds both equally good, or each better in some respect.
    Neutral,
    /// It takes no stance.
    No,
}

impl ObjectStance {
    /// All four stances, in the order in which tables list them.
    pub const ALL: [ObjectStance; 4] = [Self::First, Self::Second, Self::Neutral, Self::No];

    /// The stance as it is written in run files and judgements: `FIRST`, `SECOND`, `NEUTRAL` or `NO`.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The reverse of [`Self::word`], in upper or lower case.
    pub fn parse(word: &str) -> Option<ObjectStance> {
        word.parse().ok()
    }
}
