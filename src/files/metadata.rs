//! What made a run: `ir-metadata.yml`, in the schema of ir_metadata (Breuer, Keller, Schaer 2022, <https://www.ir-metadata.org>), whose parts
//! are platform, research goal, implementation, method, actor and data, and what the run took (`resources`), as tirex-tracker adds it.
//!
//! The file has no time of day. So what is left of it without `resources` is the same whenever the same command runs on the same machine.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use yaml_serde::Value;

/// The name of the file beside a run.
pub const FILE: &str = "ir-metadata.yml";

/// What riposte cannot know: who makes the run, and where the program is published. The user gives it in riposte.toml.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserMetadata {
    pub actor: Actor,
    pub implementation: ProgramSource,
    pub data: CollectionMetadata,
    /// The words of the command that makes the run.
    pub command: Vec<String>,
    /// The file that this was read from; `None` if there is no configuration.
    pub file: Option<RecordedConfigFile>,
}

impl UserMetadata {
    /// The fields that TIRA requires and that only the user can give, if they are missing or empty.
    pub fn missing_for_tira(&self) -> Vec<&'static str> {
        let is_missing = |value: &Option<String>| value.as_ref().is_none_or(String::is_empty);
        let fields = [
            (TEAM, is_missing(&self.actor.team)),
            (REPOSITORY, is_missing(&self.implementation.repository)),
        ];
        let missing = fields.into_iter().filter(|(_, is_missing)| *is_missing);
        missing.map(|(field, _)| field).collect()
    }
}

/// The configuration file that a command has read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecordedConfigFile {
    /// The file's name, without the directory, which may tell who the user is.
    #[serde(rename = "file")]
    pub name: String,
    pub sha256: String,
    /// The options whose values come from the file.
    pub options: BTreeMap<String, String>,
}

/// Who makes the run, as ir_metadata names it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Actor {
    pub name: Option<String>,
    pub orcid: Option<String>,
    pub team: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    pub mail: Option<String>,
    pub role: Option<String>,
    pub degree: Option<String>,
    pub github: Option<String>,
}

/// Where the program's source is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSource {
    pub repository: Option<String>,
}

/// The name and the source of the user's collection, if it is not the lab's.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionMetadata {
    pub name: Option<String>,
    pub source: Option<String>,
    pub ir_datasets: Option<String>,
}

/// What `verify` reads from the metadata file beside a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The tag of the run; empty if there is none.
    pub tag: String,
    /// Whether the run is a manual one.
    pub is_manual: bool,
    /// The fields that TIRA requires and that are missing or empty.
    pub missing: Vec<&'static str>,
}

impl Described {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The text is not YAML.
    pub fn parse(text: &str) -> Result<Self> {
        let whole: Value = yaml_serde::from_str(text)?;
        let at = |path: &str| {
            let mut keys = path.split('.');
            keys.try_fold(&whole, |value, key| value.get(key))
        };
        let is_given = |path: &str| {
            at(path).is_some_and(|value| value.as_str().is_some_and(|text| !text.is_empty()))
        };
        let missing = TIRA_FIELDS.into_iter().filter(|path| !is_given(path));
        Ok(Described {
            tag: at("tag")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            is_manual: at("method.automatic").and_then(Value::as_bool) == Some(false),
            missing: missing.collect(),
        })
    }
}

const TEAM: &str = "actor.team";
const REPOSITORY: &str = "implementation.source.repository";

/// The fields that TIRA's check "run-with-metadata" requires.
const TIRA_FIELDS: [&str; 5] = [
    TEAM,
    REPOSITORY,
    "data.test collection.name",
    "method.name",
    "method.description",
];
