//! What can go wrong.

use crate::{DocId, TopicId, escaped};

/// What can go wrong in this crate. A message is complete: it also says what an underlying library said.
///
/// A broken line does not end the reading of a file. It is a [`LineError`], and the reader returns these beside the lines that it could read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A line that must be readable is not.
    #[error(transparent)]
    Line(#[from] LineError),
    /// A file of topics without a topic.
    #[error("it contains no topic")]
    NoTopic,
    /// Two topics with the same number.
    #[error("topic number {0} occurs twice")]
    RepeatedTopic(TopicId),
    /// A topic, an id or a tag that would not be one field of a run line.
    #[error("cannot write {field:?} as a field of a run line: it {why}")]
    UnfitField {
        /// The text.
        field: String,
        /// "is empty", "has a blank in it" or "has a control character in it".
        why: &'static str,
    },
    /// A line of a run without a score, in a format that has scores.
    #[error("{doc} has no score for topic {topic}")]
    NoScore {
        /// The topic of the line.
        topic: TopicId,
        /// The document or image of the line.
        doc: DocId,
    },
    /// A score that is infinite or not a number.
    #[error("cannot write the score {0}")]
    Score(f64),
    /// A value that JSON cannot express, such as a number that is not finite.
    #[error("cannot write {what}: {error}")]
    Json {
        /// What was to be written.
        what: &'static str,
        /// Why it was not.
        error: serde_json::Error,
    },
    /// A name that is not the name of a measure.
    #[error("no measure {name:?}: {why}")]
    Measure {
        /// The name.
        name: String,
        /// What is wrong with it, and often what would be right.
        why: String,
    },
    /// A year in which a task had no edition. The message names the years in which it had one.
    #[error("{0}")]
    NoEdition(String),
    /// A measure that cannot be computed from judgements of this kind.
    #[error("{measure} cannot be computed from these judgements")]
    OtherJudgements {
        /// The name of the measure.
        measure: String,
    },
}

/// A line of a run, a file of judgements or a file of explanations that could not be read, or that was read although something in it is odd.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {}", escaped(what))]
pub struct LineError {
    /// From 1.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
    /// Whether the line was read, because trec_eval reads such lines.
    pub is_read: bool,
}

impl LineError {
    /// The error for a line that was not read.
    pub fn new(line: u64, what: impl Into<String>) -> LineError {
        LineError {
            line,
            what: what.into(),
            is_read: false,
        }
    }

    /// The error in a JSON value that begins on `line`: serde's message, with the line number of the file instead of the place in the value.
    pub fn of_json(line: u64, error: &serde_json::Error) -> LineError {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let what = error.to_string();
        let line = line + (error.line() as u64).saturating_sub(1);
        LineError::new(line, what.strip_suffix(&place).unwrap_or(&what))
    }
}
