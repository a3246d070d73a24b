//! What does a search engine on the web answer to a query? The only room that asks one (`tests/it/floors.rs`). Answers are stored, so that no
//! question is asked twice.

pub mod chatnoir;
pub mod stored;

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde::Deserialize;

/// A search engine, as a recipe names it. Its address is not part of a recipe: the user's key goes there, and recipes come from anyone.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    pub name: EngineName,
    /// The names of the indexes that are searched, in the engine's own words.
    pub index: Vec<String>,
}

/// The search engines that can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    ChatNoir,
}

impl Engine {
    /// # Errors
    /// No index is named, one is named twice, or a name has other characters than letters, digits, `.`, `_` and `-`.
    pub fn check(&self) -> Result<()> {
        ensure!(!self.index.is_empty(), "service: no index is named");
        let mut seen = BTreeSet::new();
        for name in &self.index {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            ensure!(
                !name.is_empty() && name.chars().all(is_plain),
                "service: {name:?} is not the name of an index"
            );
            ensure!(
                seen.insert(name),
                "service: the index {name} is named twice"
            );
        }
        Ok(())
    }
}
