//! The stances of documents: towards a topic, or towards the two objects of a comparative question.

use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use strum::{EnumString, IntoStaticStr, VariantNames};

/// The stance of a document towards a topic: for or against what the topic asks.
#[derive(serde::Serialize, strum::Display, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "UPPERCASE")]
#[serde(rename_all = "UPPERCASE")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
#[derive(serde::Serialize, strum::Display, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "UPPERCASE", ascii_case_insensitive)]
#[serde(rename_all = "UPPERCASE")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// Reads a stance by its name in run files. The error for an unknown name is serde's own.
fn by_name<'de, T: FromStr, D: Deserializer<'de>>(
    deserializer: D,
    names: &'static [&'static str],
) -> Result<T, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse()
        .map_err(|_| Error::unknown_variant(&name, names))
}

impl<'de> Deserialize<'de> for Stance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        by_name(deserializer, Stance::VARIANTS)
    }
}

impl<'de> Deserialize<'de> for ObjectStance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        by_name(deserializer, ObjectStance::VARIANTS)
    }
}
