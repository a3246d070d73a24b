//! The ids of topics and documents.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A topic's number as its file gives it, without surrounding white space ("34", "1-1").
///
/// Ids are ordered by number, part by part: "9" before "10", "1-2" before "1-10". A part that is not a number comes after all
/// numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TopicId(pub String);

impl Ord for TopicId {
    fn cmp(&self, other: &Self) -> Ordering {
        let parts = |id: &'_ TopicId| -> Vec<u64> {
            let parts = id.0.split('-');
            parts.map(|p| p.parse().unwrap_or(u64::MAX)).collect()
        };
        parts(self)
            .cmp(&parts(other))
            .then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for TopicId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A document's id. For an image, it is the name of its directory ("I2b62b2335042df6d").
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DocId(pub String);

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether an id has the form of those in args.me: of an argument (`S96f2396e-Aaf079b43`, where zeros at the beginning are left out; in version 1 `10113b57-2019-04-18T18:28:52Z-00001-000`), or
/// of sentences in an argument, as runs of 2022 name them (`S96f2396e-Aaf079b43__PREMISE__1,…`).
pub(crate) fn is_argument(id: &str) -> bool {
    let first = id.split("__").next().unwrap_or(id);
    let Some((debate, argument)) = first.split_once('-') else {
        return false;
    };
    let hash = |text: &str, letter| {
        text.strip_prefix(letter)
            .is_some_and(|digits| matches!(digits.len(), 1..=8) && is_hexadecimal(digits))
    };
    let is_dated = || argument.get(..2) == Some("20") && argument.contains("Z-");
    hash(debate, 'S') && hash(argument, 'A')
        || debate.len() == 8 && is_hexadecimal(debate) && is_dated()
}
