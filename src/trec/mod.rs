//! The field's words: topics, documents, stances, scores and their explanations, faults.

pub mod explained;
pub mod objects;
pub mod qrels;
pub mod run;
pub mod topic;

use std::cmp::Ordering;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A topic's number as its file gives it, without surrounding blanks ("34", "1-1").
///
/// Numbers order by value, and before anything that is not a number; so do the parts of "10-1".
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

/// A document's id: for images the name of their directory ("I2b62b2335042df6d").
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DocId(pub String);

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// For or against what the topic asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Stance {
    Pro,
    Con,
}

impl Stance {
    /// Both, in the order in which run files list them.
    pub const BOTH: [Stance; 2] = [Stance::Pro, Stance::Con];

    /// The word of run files and judgements: `PRO` or `CON`.
    pub fn word(self) -> &'static str {
        match self {
            Stance::Pro => "PRO",
            Stance::Con => "CON",
        }
    }
}

impl fmt::Display for Stance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A task on texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTask {
    /// Task 1: arguments for controversial questions.
    Controversial,
    /// Task 2: passages (before 2022, pages) for comparative questions.
    Comparative,
}

impl TextTask {
    /// The name of its command and of its approaches' directory.
    pub fn word(self) -> &'static str {
        match self {
            TextTask::Controversial => "controversial",
            TextTask::Comparative => "comparative",
        }
    }
}

/// What a passage says of a comparative question's two objects (Touché 2022, Task 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectStance {
    /// The first object is the better one.
    First,
    /// The second is.
    Second,
    /// Both alike, or each in its way.
    Neutral,
    /// It takes no stance.
    No,
}

impl ObjectStance {
    /// All four, in the order in which tables list them.
    pub const ALL: [ObjectStance; 4] = [
        ObjectStance::First,
        ObjectStance::Second,
        ObjectStance::Neutral,
        ObjectStance::No,
    ];

    /// The word of run files and judgements: `FIRST`, `SECOND`, `NEUTRAL` or `NO`.
    pub fn word(self) -> &'static str {
        match self {
            ObjectStance::First => "FIRST",
            ObjectStance::Second => "SECOND",
            ObjectStance::Neutral => "NEUTRAL",
            ObjectStance::No => "NO",
        }
    }

    /// The stance of that word, in capitals or not.
    pub fn parse(word: &str) -> Option<ObjectStance> {
        ObjectStance::ALL
            .into_iter()
            .find(|stance| stance.word().eq_ignore_ascii_case(word))
    }
}

impl fmt::Display for ObjectStance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A document and its score for a topic: the higher the better.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredDoc {
    pub doc: DocId,
    pub score: f64,
}

/// A score opened into the named numbers that made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// What the number is ("bm25 near", "sentence ocr × 0.5").
    pub name: String,
    pub value: f64,
    /// How the parts below give the value, or a reason why the channel gave nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub how: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Explanation>,
}

impl Explanation {
    /// A number that is not made of others.
    pub fn leaf(name: impl Into<String>, value: f64) -> Self {
        Explanation {
            name: name.into(),
            value,
            how: String::new(),
            parts: Vec::new(),
        }
    }
}

/// Of what a [`Fault`] speaks; the table at the end of a run counts faults by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// A directory or file name that the layout does not know, or a missing one.
    Layout,
    /// Image bytes that cannot be decoded.
    Image,
    /// A page's HTML, text or URL.
    Page,
    /// `image-xpath.txt`.
    XPath,
    /// `rankings.jsonl`.
    Rankings,
    /// A model that failed on one document.
    Model,
    /// An argument of args.me's JSON.
    Argument,
    /// A line of a passages file.
    Passage,
}

impl FaultKind {
    /// The kind of that word.
    pub fn parse(word: &str) -> Option<FaultKind> {
        [
            FaultKind::Layout,
            FaultKind::Image,
            FaultKind::Page,
            FaultKind::XPath,
            FaultKind::Rankings,
            FaultKind::Model,
            FaultKind::Argument,
            FaultKind::Passage,
        ]
        .into_iter()
        .find(|kind| kind.word() == word)
    }

    /// One lower-case word.
    pub fn word(self) -> &'static str {
        match self {
            FaultKind::Layout => "layout",
            FaultKind::Image => "image",
            FaultKind::Page => "page",
            FaultKind::XPath => "xpath",
            FaultKind::Rankings => "rankings",
            FaultKind::Model => "model",
            FaultKind::Argument => "argument",
            FaultKind::Passage => "passage",
        }
    }
}

/// Something broken in the input that was passed over: the rest of the document is still used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fault {
    pub kind: FaultKind,
    pub path: PathBuf,
    /// Counted from 1, where the file has lines.
    pub line: Option<u64>,
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// A line of a run or of judgements that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// Counted from 1.
    pub line: u64,
    pub what: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// The lines of a text that are not blank, counted from 1, without a byte order mark.
fn numbered_lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
}
