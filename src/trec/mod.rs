//! The types that all rooms share: topics, documents, stances, scores with their explanations, and faults.

pub mod candidates;
pub mod chance;
pub mod debate;
pub mod edition;
pub mod escape;
pub mod explained;
pub mod explanation;
pub(crate) mod names;
pub mod objects;
pub mod qrels;
pub mod run;
pub mod topic;

use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray, VariantNames};

pub use escape::{escaped, escaped_lines};
pub use explanation::{Base, Explanation, Name, NumberId};

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

/// The stance of a document towards a topic: for or against what the topic asks.
#[derive(strum::Display, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "UPPERCASE")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stance {
    Pro,
    Con,
}

impl Stance {
    /// Both stances, in the order in which run files list them.
    pub const BOTH: [Stance; 2] = [Stance::Pro, Stance::Con];

    /// The other stance.
    pub(crate) fn opposite(self) -> Stance {
        Stance::BOTH[1 - self as usize]
    }

    /// The stance as it is written in run files and judgements: `PRO` or `CON`.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A task that ranks texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum TextTask {
    /// Task 1: rank arguments for controversial questions.
    Controversial,
    /// Task 2: rank passages (before 2022: web pages) for comparative questions.
    Comparative,
    /// No task of the lab: rank the documents of any collection for queries.
    Rank,
}

impl TextTask {
    /// The name of the task's command and of the directory of its approaches.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The task with this name.
    pub fn parse(word: &str) -> Option<TextTask> {
        word.parse().ok()
    }
}

/// The stance of a passage towards the two objects of a comparative question (Touché 2022, Task 2).
#[derive(strum::Display, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "UPPERCASE", ascii_case_insensitive)]
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

/// A document with its score for a topic. Higher is better.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredDoc {
    pub doc: DocId,
    pub score: f64,
}

/// What a [`Fault`] is about. The table at the end of a run counts faults by kind.
#[derive(EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "lowercase")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// A file or directory that is missing, or that does not belong to the collection's layout.
    Layout,
    /// Image bytes that cannot be decoded.
    Image,
    /// The HTML, text or URL of a page.
    Page,
    /// `image-xpath.txt`.
    XPath,
    /// `rankings.jsonl`.
    Rankings,
    /// A model failed on a document.
    Model,
    /// An argument in args.me's JSON.
    Argument,
    /// A line of a file of passages.
    Passage,
    /// A line of a file of documents.
    Document,
    /// A topic, or the file of topics.
    Topic,
    /// A document in which the process died.
    Died,
}

impl FaultKind {
    /// The kind's name in tables and in the evidence store: one lower-case word.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

names::serde_by_name!(Stance, ObjectStance, FaultKind);

/// Something broken in the input. It was skipped; the rest of the document is still used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fault {
    pub kind: FaultKind,
    pub path: PathBuf,
    /// From 1; `None` if the file has no lines.
    pub line: Option<u64>,
    pub what: String,
}

impl Fault {
    /// A fault in a file.
    pub fn new(kind: FaultKind, path: &Path, line: Option<u64>, what: impl Into<String>) -> Fault {
        Fault {
            kind,
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", escaped(&self.path.to_string_lossy()))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", escaped(&self.what))
    }
}

/// A line of a run, a file of judgements or a file of explanations that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// From 1.
    pub line: u64,
    pub what: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, escaped(&self.what))
    }
}

/// Passes the lines that are not blank to a function; returns an error for each line that it cannot read.
fn each_line(text: &str, mut read: impl FnMut(&str) -> Result<()>) -> Vec<LineError> {
    let errors = numbered_lines(text).filter_map(|(line, fields)| {
        let what = format!("{:#}", read(fields).err()?);
        Some(LineError { line, what })
    });
    errors.collect()
}

/// Writes one JSON object per line. Errors: a value is not finite, which JSON cannot express.
fn write_json_lines<T: Serialize>(lines: &[T]) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Reads one JSON object per line. Errors: the first line that is not `what`.
fn read_json_lines<T: DeserializeOwned>(text: &str, what: &str) -> Result<Vec<T>, LineError> {
    let read = |(line, json)| {
        serde_json::from_str(json).map_err(|error| LineError {
            line,
            what: format!("not {what}: {error}"),
        })
    };
    numbered_lines(text).map(read).collect()
}

/// The lines that are not blank, with their numbers from 1. A byte order mark is skipped.
fn numbered_lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
}
