//! The subjects that `generate` writes and draws about, from `topics.toml`.

use anyhow::{Context, Result};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subjects {
    #[serde(rename = "topic")]
    pub topics: Vec<Topic>,
    #[serde(rename = "other")]
    pub others: Vec<Other>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topic {
    pub title: String,
    /// The words that queries of image searches begin with.
    pub short: String,
    pub description: String,
    pub narrative: String,
    /// Pictograms for the subject.
    pub icons: String,
    /// Sentences that take no side, without the full stop.
    pub facts: Vec<String>,
    pub pro: Side,
    pub con: Side,
}

/// The words of one side of a topic.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// Short enough for a sign.
    pub slogans: Vec<String>,
    /// Sentences that somebody would say, without the full stop.
    pub claims: Vec<String>,
    /// Clauses that follow "because".
    pub reasons: Vec<String>,
    pub charts: Vec<Chart>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    pub title: String,
    pub labels: Vec<String>,
    pub values: Vec<u32>,
}

/// A subject that no topic asks about.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Other {
    pub title: String,
    pub slogans: Vec<String>,
    pub sentences: Vec<String>,
    pub icons: String,
    pub charts: Vec<Chart>,
}

impl Subjects {
    pub fn load() -> Result<Self> {
        toml::from_str(include_str!("topics.toml")).context("cannot read the embedded topics.toml")
    }
}
