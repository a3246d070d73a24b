//! The clients of the search engines.

use std::path::Path;

use anyhow::Result;

use super::{Engine, EngineName};
use crate::systems::chatnoir::{Key, Limits};

pub(crate) use crate::systems::chatnoir::{Answer, ChatNoir, Found, Hit, PageRequest, Query};

impl Engine {
    /// The client, with the user's key from `key_file` or from the environment.
    ///
    /// # Errors
    /// The key cannot be read, or the address in the environment is wrong.
    pub(crate) fn client(&self, key_file: Option<&Path>) -> Result<ChatNoir> {
        match self.name {
            EngineName::ChatNoir => {
                let key = Key::find(key_file)?;
                ChatNoir::new(&ChatNoir::default_address()?, key, Limits::default())
            }
        }
    }
}
