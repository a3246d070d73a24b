//! Reads texts in the form in which an index stores them. Riposte's processes exchange such files: a collection that another process has read, or a
//! part of a collection.
//!
//! The file `riposte-texts.jsonl` begins with the line `{"format": 1, "task": "comparative"}`. Each other line is a text or a fault:
//!
//! ```json
//! {"id": "…", "texts": ["…", "…"], "stance": "PRO", "url": "…", "portal": "debateorg", "duplicate_of": "…"}
//! {"fault": {"kind": "passage", "path": "passages.jsonl", "line": 12, "what": "…"}}
//! ```
//!
//! `texts` has one text for each field of the task's index. `duplicate_of` names the first text of the whole collection with the same words. That
//! text can be in another part of the collection, so the reader of one part could not find it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use riposte_eval::lines::JsonObject;
use riposte_eval::{DocId, Stance, TextTask};
use serde::{Deserialize, Serialize};

use super::lines::JsonLines;
use super::portal::Portal;
use super::{Fault, FaultKind, source};
use crate::disk::regular;
use crate::limits::MAX_TEXTS_HEADER_BYTES;

/// The name of the file.
pub const FILE: &str = "riposte-texts.jsonl";

/// The version of the format. It changes when the lines get other keys or other meanings.
const FORMAT: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: u32,
    task: String,
}

/// A text, with the other data that an index stores about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredText {
    pub id: DocId,
    /// One text for each field of the index.
    pub texts: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<Stance>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portal: Option<Portal>,
    /// The first text of the whole collection with the same words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<DocId>,
}

impl StoredText {
    /// A text with an id and the texts of its fields, and without other data.
    pub fn new(id: DocId, texts: Vec<String>) -> Self {
        StoredText {
            id,
            texts,
            stance: None,
            url: None,
            portal: None,
            duplicate_of: None,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "neither a text nor a fault")]
enum EntryLine {
    Header(Header),
    Fault { fault: Fault },
    Text(StoredText),
}

/// A directory that contains the file.
#[derive(Clone, Debug)]
pub struct EntryCollection {
    pub file: PathBuf,
    /// The task that the texts belong to.
    pub task: TextTask,
}

impl EntryCollection {
    /// Finds the file in a directory; `None` if it does not exist.
    ///
    /// # Errors
    /// The first line of the file is not a header of this format.
    pub fn find(dir: &Path) -> Result<Option<Self>> {
        let file = dir.join(FILE);
        if !regular::is_file(&file)? {
            return Ok(None);
        }
        let header = read_header(&file).with_context(|| format!("cannot read {}", file.display()));
        Ok(Some(EntryCollection {
            task: header?,
            file,
        }))
    }

    /// Reads the texts in order. The iterator returns a fault for each line that cannot be read, and each fault that was found when the collection
    /// itself was read.
    pub fn texts(&self) -> impl Iterator<Item = Result<StoredText, Fault>> + use<> {
        let lines = JsonLines::new(&self.file, FaultKind::Document, checked);
        lines.filter_map(|line| match line {
            Ok(EntryLine::Header(_)) => None,
            Ok(EntryLine::Text(text)) => Some(Ok(text)),
            Ok(EntryLine::Fault { fault }) | Err(fault) => Some(Err(fault)),
        })
    }
}

fn checked(line: EntryLine) -> Result<EntryLine, String> {
    match &line {
        EntryLine::Text(text) => source::check_id(&text.id.0)?,
        EntryLine::Header(header) if header.format != FORMAT => {
            return Err("a header of another format".to_owned());
        }
        EntryLine::Header(_) | EntryLine::Fault { .. } => {}
    }
    Ok(line)
}

fn read_header(file: &Path) -> Result<TextTask> {
    let mut line = String::new();
    BufReader::new(regular::open(file)?.take(MAX_TEXTS_HEADER_BYTES)).read_line(&mut line)?;
    let JsonObject(header): JsonObject<Header> =
        serde_json::from_str(&line).context("its first line is not a header")?;
    ensure!(
        header.format == FORMAT,
        "it has format {}, but this version of riposte reads format {FORMAT}",
        header.format
    );
    TextTask::parse(&header.task).with_context(|| format!("there is no task {:?}", header.task))
}
