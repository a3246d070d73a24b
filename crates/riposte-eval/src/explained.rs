//! Explanations of a ranking's scores, as JSON lines: what `riposte images --explain` writes.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::lines::{read_json, write_json};
use crate::{DocId, Error, Explanation, LineError, Stance, TopicId};

/// A candidate of an image ranking, with the explanation of its scores, whether it was selected or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainedImage {
    /// The topic of the ranking.
    pub topic: TopicId,
    /// The candidate.
    pub image: DocId,
    /// The lists that show it; empty if it was not selected.
    pub listed: Vec<ListEntry>,
    /// The image that was kept instead of this one, because both show the same picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<DocId>,
    /// The score for the PRO list; `None` if the candidate is excluded from it.
    pub pro: Option<Explanation>,
    /// The score for the CON list; `None` if the candidate is excluded from it.
    pub con: Option<Explanation>,
    /// The probability that it is about the topic; `None` if it was not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Explanation>,
}

impl ExplainedImage {
    /// The score for the list of that stance.
    pub fn score(&self, stance: Stance) -> Option<&Explanation> {
        match stance {
            Stance::Pro => self.pro.as_ref(),
            Stance::Con => self.con.as_ref(),
        }
    }

    /// Whether the numbers have ids. Earlier versions of riposte wrote none.
    pub fn has_ids(&self) -> bool {
        let mut scores = self.pro.iter().chain(&self.con);
        scores.all(|score| score.id().is_some())
    }
}

/// The position of an image in one of a topic's lists, as in the run file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListEntry {
    /// The list.
    pub stance: Stance,
    /// From 1.
    pub rank: u32,
    /// The score in this list, as the run has it.
    pub score: f64,
}

/// A ranked text, with the explanation of its score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainedText {
    /// The topic of the ranking.
    pub topic: TopicId,
    /// The text.
    pub document: DocId,
    /// From 1.
    pub rank: usize,
    /// How its score was computed.
    pub score: Explanation,
    /// For a passage, its stance towards the topic's two objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<Explanation>,
    /// The probability that it is about the topic; `None` if it was not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Explanation>,
}

impl ExplainedText {
    /// Whether the numbers have ids, as for [`ExplainedImage::has_ids`].
    pub fn has_ids(&self) -> bool {
        self.score.id().is_some()
    }
}

/// Writes one JSON object per line.
///
/// # Errors
/// A value is not finite, which JSON cannot express.
pub fn write<T: Serialize>(explained: &[T]) -> Result<Vec<u8>, Error> {
    write_json(explained, "an explanation")
}

/// Reads the lines that [`write()`] writes.
///
/// # Errors
/// The first line that is not in this format.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, LineError> {
    read_json(text, "an explanation of this task")
}
