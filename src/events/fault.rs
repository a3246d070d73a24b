//! What is broken in the input. It never ends a run.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use riposte_eval::{DocId, LineError, escaped};
use serde::{Deserialize, Serialize};
use serde_json::json;
use strum::{EnumString, IntoStaticStr, VariantNames};

use crate::disk::regular::{self, Transient};
use crate::names::serde_by_name;

/// What a [`Fault`] is about. The table at the end of a run counts faults by kind.
#[non_exhaustive]
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
    /// A line of a list of candidates.
    Candidate,
    /// A line of a run.
    Run,
    /// A line of judgements.
    Judgement,
    /// A line with a question for `stance` or `quality`.
    Question,
    /// Evidence that cannot be read.
    Evidence,
}

impl FaultKind {
    /// The kind's name in tables and in the evidence store: one lower-case word.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

serde_by_name!(FaultKind);

/// Something broken in the input. It was passed over; the rest of the document, or of the file, is still used.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fault {
    /// What it is about.
    pub kind: FaultKind,
    /// The file or directory.
    pub path: PathBuf,
    /// From 1; `None` if the file has no lines.
    pub line: Option<u64>,
    /// What is wrong with it, without a point at the end.
    pub what: String,
    /// The document that the file belongs to, or that was left out, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<DocId>,
    /// Whether the file could not be read because of a temporary error. Such a fault says nothing about the document, so it is never stored.
    #[serde(skip)]
    pub(crate) transient: Option<Transient>,
    /// Whether it says that an image has no page, which is nothing broken in a collection of pictures alone.
    #[serde(skip)]
    pub(crate) lacks_page: bool,
}

/// What is stored of an image without a page.
const NO_PAGE: &str = "no page";

impl Fault {
    /// A fault in a file.
    pub fn new(kind: FaultKind, path: &Path, line: Option<u64>, what: impl Into<String>) -> Fault {
        Fault {
            kind,
            path: path.to_owned(),
            line,
            what: what.into(),
            document: None,
            transient: None,
            lacks_page: false,
        }
    }

    /// A fault in a file without lines, or in all of its lines.
    pub fn in_file(kind: FaultKind, path: &Path, what: impl Into<String>) -> Fault {
        Fault::new(kind, path, None, what)
    }

    /// The fault of an image without a page. `dir` is the image's directory.
    pub fn no_page(dir: &Path) -> Fault {
        Fault {
            lacks_page: true,
            ..Fault::in_file(FaultKind::Page, dir, NO_PAGE)
        }
    }

    /// A fault whose fields are stored, as the one that was found.
    pub fn stored(kind: FaultKind, path: &Path, line: Option<u64>, what: String) -> Fault {
        match (kind, line, &*what) {
            (FaultKind::Page, None, NO_PAGE) => Fault::no_page(path),
            _ => Fault::new(kind, path, line, what),
        }
    }

    /// The fault of a file that could not be read because of this error.
    #[must_use]
    pub fn caused_by(mut self, error: &io::Error) -> Fault {
        self.transient = regular::transient(error);
        self
    }

    /// A line that cannot be read.
    pub fn in_line(kind: FaultKind, path: &Path, error: &LineError) -> Fault {
        Fault::new(kind, path, Some(error.line), &*error.what)
    }

    /// The fault of this document.
    #[must_use]
    pub fn of(mut self, document: &DocId) -> Fault {
        self.document = Some(document.clone());
        self
    }

    /// A line of faults.jsonl: a JSON object, without a line break. Bytes of the path that are not UTF-8 become U+FFFD.
    pub fn to_json(&self) -> String {
        let line = json!({
            "document": self.document,
            "file": self.path.to_string_lossy(),
            "line": self.line,
            "kind": self.kind.word(),
            "reason": self.what,
        });
        line.to_string()
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
