//! The list of the web search engines that recipes can name. Nothing else in a ranking uses the network.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};
use serde::Deserialize;

pub(crate) use crate::systems::chatnoir::{
    ChatNoir, ChatNoirAnswer, ChatNoirHit, ChatNoirQuery, ChatNoirResults, PageRequest,
};
use crate::systems::chatnoir::{ChatNoirKey, ChatNoirLimits};

/// A search engine, as a recipe names it. The address is not part of a recipe: the user's key is sent there, and anyone can write a recipe.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    pub name: EngineName,
    /// The names of the indexes to search, as the engine spells them.
    pub index: Vec<String>,
}

/// The search engines that riposte can query.
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

    /// The client, with the user's key from `key_file` or from the environment.
    ///
    /// # Errors
    /// The key cannot be read, or the address in the environment is wrong.
    pub(crate) fn client(&self, key_file: Option<&Path>) -> Result<ChatNoir> {
        match self.name {
            EngineName::ChatNoir => {
                let key = ChatNoirKey::find(key_file)?;
                ChatNoir::new(
                    &ChatNoir::default_address()?,
                    key,
                    ChatNoirLimits::default(),
                )
            }
        }
    }
}
