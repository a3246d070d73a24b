//! Why documents stand where they do, as a ranking writes it for others to read: a JSON object a line.

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{DocId, Explanation, LineError, Stance, TopicId, numbered_lines};

/// A candidate of an image ranking, listed or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainedImage {
    pub topic: TopicId,
    pub image: DocId,
    /// The lists that it is in.
    pub listed: Vec<Listed>,
    /// What it is worth as PRO, and what as CON; none keeps it out of that list.
    pub pro: Option<Explanation>,
    pub con: Option<Explanation>,
}

impl ExplainedImage {
    /// Its worth in the list of that stance, opened.
    pub fn worth(&self, stance: Stance) -> Option<&Explanation> {
        match stance {
            Stance::Pro => self.pro.as_ref(),
            Stance::Con => self.con.as_ref(),
        }
    }
}

/// A place in a list.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    pub stance: Stance,
    pub rank: u32,
    pub score: f64,
}

/// A text of a ranking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainedText {
    pub topic: TopicId,
    pub document: DocId,
    pub rank: usize,
    pub score: Explanation,
    /// Of a passage towards the objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<Explanation>,
}

/// Explanations as lines of JSON. Errors: a number that is not finite.
pub fn write<T: Serialize>(explained: &[T]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for one in explained {
        serde_json::to_writer(&mut bytes, one).context("cannot write an explanation")?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Reads what [`write()`] writes. Errors: the first line that is something else.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, LineError> {
    numbered_lines(text)
        .map(|(line, json)| {
            serde_json::from_str(json).map_err(|error| LineError {
                line,
                what: format!("no explanation of this task: {error}"),
            })
        })
        .collect()
}
