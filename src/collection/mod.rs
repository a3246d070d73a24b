//! Document collections on disk. A broken document is a fault; it never ends a run.

pub mod arguments;
pub mod images;
pub mod passages;
mod source;

pub(crate) use source::read_bytes;

use std::path::Path;

use anyhow::{Context, Result};

use crate::trec::topic::{self, Topic};

/// Reads a topics file (XML, or TIREx's `queries.jsonl`).
///
/// Errors, with the path: the file cannot be read, is not UTF-8, or [`topic::parse`] fails.
pub fn read_topics(path: &Path) -> Result<Vec<Topic>> {
    let reading = || format!("cannot read the topics in {}", path.display());
    let text = std::fs::read_to_string(path).with_context(reading)?;
    topic::parse(&text).with_context(reading)
}
