//! The passages of Touché 2022, Task 2: a file, plain or gzip, with `{"id", "contents", "chatNoirUrl"}` on each line.
//!
//! There is a version of the collection that was expanded by DocT5Query, with the predicted queries at the end of `contents`.
//! Predicted queries in a field of their own are read, too.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::source::{self, MAX_DOCUMENT_BYTES};
use crate::trec::{DocId, Fault, FaultKind};

/// A passage of a web page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The page's id and the number of the passage: "clueweb12-0004wb-25-32367___1".
    pub id: DocId,
    pub contents: String,
    /// Queries predicted for the passage by a model, one per line; empty if the file has no field for them.
    pub expansion: String,
    /// The page's address, `chatNoirUrl`.
    pub url: Option<String>,
}

/// A file of passages.
#[derive(Clone, Debug)]
pub struct PassageCollection {
    file: PathBuf,
}

impl PassageCollection {
    /// Finds the passages at `path`: a file, or a directory that contains `passages.jsonl`, `passages.jsonl.gz` or exactly one other
    /// file `…passages….jsonl` or `….jsonl.gz`.
    ///
    /// Errors: the directory contains no such file, or several.
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_file() {
            return Ok(PassageCollection {
                file: path.to_owned(),
            });
        }
        for name in ["passages.jsonl", "passages.jsonl.gz"] {
            let file = path.join(name);
            if file.is_file() {
                return Ok(PassageCollection { file });
            }
        }
        let listing = || format!("cannot list {}", path.display());
        let mut files = Vec::new();
        for entry in std::fs::read_dir(path).with_context(listing)? {
            let file = entry.with_context(listing)?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let lines = name.ends_with(".jsonl") || name.ends_with(".jsonl.gz");
            if lines && name.contains("passages") && file.is_file() {
                files.push(file);
            }
        }
        files.sort();
        match files.as_slice() {
            [file] => Ok(PassageCollection { file: file.clone() }),
            [] => bail!(
                "{} holds no passages: there is no passages.jsonl or passages.jsonl.gz",
                path.display()
            ),
            _ => bail!(
                "{} holds several files of passages: name one of them",
                path.display()
            ),
        }
    }

    /// The path of the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads the passages in order. A fault takes the place of a line that cannot be read.
    pub fn passages(&self) -> impl Iterator<Item = Result<Passage, Fault>> + use<> {
        PassageFile {
            path: self.file.clone(),
            reader: None,
            line: 0,
            ended: false,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPassage {
    id: String,
    contents: String,
    chat_noir_url: Option<String>,
    #[serde(
        default,
        alias = "queries",
        alias = "predictedQueries",
        alias = "predicted_queries",
        alias = "docT5Query"
    )]
    expansion: Option<Expansion>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Expansion {
    One(String),
    Several(Vec<String>),
}

/// A reader of a file of passages.
struct PassageFile {
    path: PathBuf,
    reader: Option<BufReader<Box<dyn Read + Send>>>,
    line: u64,
    ended: bool,
}

impl PassageFile {
    fn fault(&self, what: impl Into<String>) -> Fault {
        source::fault(FaultKind::Passage, &self.path, self.line, what)
    }

    /// Reads the next line; returns false at the end of the file. A line that is too long is skipped and reported as a fault.
    fn read_line(&mut self, line: &mut Vec<u8>) -> Result<bool, Fault> {
        self.line += 1;
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => {
                let opened = source::open(&self.path)
                    .map_err(|e| self.fault(format!("cannot be read: {e}")))?;
                self.reader
                    .insert(BufReader::with_capacity(1 << 18, opened))
            }
        };
        let limit = MAX_DOCUMENT_BYTES as u64;
        let mut too_long = false;
        loop {
            match reader.by_ref().take(limit).read_until(b'\n', line) {
                Ok(n) if n as u64 == limit && line.last() != Some(&b'\n') => {
                    too_long = true;
                    line.clear();
                }
                Ok(_) if too_long => {
                    line.clear();
                    return Err(self.fault("a line that is too long for a passage"));
                }
                Ok(n) => return Ok(n > 0),
                Err(error) => {
                    self.ended = true;
                    return Err(self.fault(format!("cannot be read further: {error}")));
                }
            }
        }
    }

    fn parse(&self, line: &[u8]) -> Result<Passage, Fault> {
        let raw: RawPassage = serde_json::from_slice(line)
            .map_err(|e| source::json_fault(FaultKind::Passage, &self.path, self.line, &e))?;
        if let Some(what) = source::bad_id(&raw.id) {
            return Err(self.fault(what));
        }
        Ok(Passage {
            id: DocId(raw.id),
            contents: raw.contents,
            expansion: match raw.expansion {
                Some(Expansion::One(text)) => text,
                Some(Expansion::Several(texts)) => texts.join("\n"),
                None => String::new(),
            },
            url: raw.chat_noir_url.filter(|url| !url.is_empty()),
        })
    }
}

impl Iterator for PassageFile {
    type Item = Result<Passage, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        while !self.ended {
            line.clear();
            match self.read_line(&mut line) {
                Ok(true) => {}
                Ok(false) => self.ended = true,
                Err(fault) => {
                    // the file could not be opened
                    self.ended |= self.reader.is_none();
                    return Some(Err(fault));
                }
            }
            let bytes = match self.line {
                1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line),
                _ => &line,
            };
            // without the line break: serde would report an error at the end of the line as one on the next line
            let bytes = bytes.trim_ascii();
            if !bytes.is_empty() {
                return Some(self.parse(bytes));
            }
        }
        None
    }
}
