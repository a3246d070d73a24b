//! Texts as an index stores them: a collection that another process has read, a part of one, or what shards have found.
//!
//! The file `riposte-texts.jsonl` begins with the line `{"format": 1, "task": "comparative"}`. Each other line is a text or a fault:
//!
//! ```json
//! {"id": "…", "texts": ["…", "…"], "stance": "PRO", "url": "…", "portal": "debateorg", "duplicate_of": "…"}
//! {"fault": {"kind": "passage", "path": "passages.jsonl", "line": 12, "what": "…"}}
//! ```
//!
//! `texts` has one text for each field of the task's index. `duplicate_of` names the first text with the same words in the whole collection,
//! which may be in another part of it: so duplicates are not looked for again.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::lines::JsonLines;
use super::portal::Portal;
use super::source;
use crate::trec::{DocId, Fault, FaultKind, Stance, TextTask};

/// The name of the file.
pub const FILE: &str = "riposte-texts.jsonl";

/// Changes when lines change.
const FORMAT: u32 = 1;

/// The first line is not longer.
const MAX_HEADER_BYTES: u64 = 1 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: u32,
    task: String,
}

/// A text with what an index stores beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredText {
    pub id: DocId,
    /// One for each field.
    pub texts: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<Stance>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portal: Option<Portal>,
    /// The first text with the same words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<DocId>,
    /// Vectors of its passages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vectors: Vec<StoredVectors>,
}

/// The vectors of a text's passages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredVectors {
    /// Of what they are, and what made them.
    pub of: String,
    /// Numbers in a vector; 0 if there are no passages.
    pub dimension: usize,
    /// 16-bit floats, little-endian, in base64.
    pub numbers: String,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "neither a text nor a fault")]
enum Line {
    Header(Header),
    Fault { fault: Fault },
    Text(StoredText),
}

/// A directory with the file.
#[derive(Clone, Debug)]
pub struct EntryCollection {
    file: PathBuf,
    task: TextTask,
}

impl EntryCollection {
    /// Finds the file in a directory; `None` if it is not there.
    ///
    /// # Errors
    /// Its first line is not that of this format.
    pub fn find(dir: &Path) -> Result<Option<Self>> {
        let file = dir.join(FILE);
        if !file.is_file() {
            return Ok(None);
        }
        let header = read_header(&file).with_context(|| format!("cannot read {}", file.display()));
        Ok(Some(EntryCollection {
            task: header?,
            file,
        }))
    }

    /// The task whose texts it has.
    pub fn task(&self) -> TextTask {
        self.task
    }

    /// The path of the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads the texts in order. A fault takes the place of a line that cannot be read, and of each that was found when the collection was
    /// read.
    pub fn texts(&self) -> impl Iterator<Item = Result<StoredText, Fault>> + use<> {
        let lines = JsonLines::new(&self.file, FaultKind::Document, checked);
        lines.filter_map(|line| match line {
            Ok(Line::Header(_)) => None,
            Ok(Line::Text(text)) => Some(Ok(text)),
            Ok(Line::Fault { fault }) | Err(fault) => Some(Err(fault)),
        })
    }
}

fn checked(line: Line) -> Result<Line, String> {
    match &line {
        Line::Text(text) => source::bad_id(&text.id.0).map_or(Ok(()), Err),
        Line::Header(header) if header.format != FORMAT => Err("another format".to_owned()),
        Line::Header(_) | Line::Fault { .. } => Ok(()),
    }?;
    Ok(line)
}

fn read_header(file: &Path) -> Result<TextTask> {
    let mut line = String::new();
    BufReader::new(File::open(file)?.take(MAX_HEADER_BYTES)).read_line(&mut line)?;
    let header: Header = serde_json::from_str(&line).context("its first line is not understood")?;
    ensure!(
        header.format == FORMAT,
        "it is of format {}, and this version of riposte reads format {FORMAT}",
        header.format
    );
    TextTask::parse(&header.task).with_context(|| format!("there is no task {:?}", header.task))
}

/// The first line of a file for this task, with its line break.
pub fn header(task: TextTask) -> String {
    let task = task.word();
    format!("{{\"format\":{FORMAT},\"task\":\"{task}\"}}\n")
}
