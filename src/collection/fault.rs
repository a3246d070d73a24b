//! What is broken in a collection. It never ends a run.

use std::fmt;
use std::path::{Path, PathBuf};

use riposte_eval::escaped;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

use crate::names::serde_by_name;

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

serde_by_name!(FaultKind);

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
