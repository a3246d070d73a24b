//! What riposte.toml can contain. fuzz-targets compiles this file, too: the program's own modules are not part of the library.

use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Deserializer, de};

use super::parse;
use riposte::files::metadata::{Actor, CollectionMetadata, ProgramSource};
use riposte::recipes::hinted_toml;
use riposte::threads::MAX_THREADS;

/// The contents of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigContents {
    #[serde(default, deserialize_with = "threads")]
    pub threads: Option<usize>,
    pub cache: Option<PathBuf>,
    #[serde(default, deserialize_with = "tag")]
    pub tag: Option<String>,
    #[serde(default)]
    pub actor: Actor,
    #[serde(default)]
    pub implementation: ProgramSource,
    #[serde(default)]
    pub data: CollectionMetadata,
}

impl ConfigContents {
    /// Reads the text of the file.
    ///
    /// # Errors
    /// Something in it is unknown or wrong. The message names the line.
    pub fn read(text: &str) -> Result<ConfigContents> {
        hinted_toml::read(text)
    }
}

fn threads<'de, D: Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    // an i64, so that a negative number gets the same message
    let threads = i64::deserialize(from)?;
    let parsed = parse::threads(&threads.to_string());
    parsed.map(Some).map_err(|_| {
        let what = format!("threads must be from 1 to {MAX_THREADS}, not {threads}");
        de::Error::custom(what)
    })
}

fn tag<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(from)?;
    parse::tag(&text).map(Some).map_err(de::Error::custom)
}
