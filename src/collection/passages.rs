//! The passages of Touché 2022, Task 2: a file, plain or gzip, with `{"id", "contents", "chatNoirUrl"}` on each line.
//!
//! There is a version of the collection that was expanded by DocT5Query: the predicted queries are at the end of `contents`. Predicted queries in a
//! separate field are read, too.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use riposte_eval::DocId;
use serde::Deserialize;

use super::entries::StoredText;
use super::lines::JsonLines;
use super::{Fault, FaultKind, source};
use crate::disk::regular;

/// A file of passages.
#[derive(Clone, Debug)]
pub struct PassageCollection {
    pub file: PathBuf,
}

impl PassageCollection {
    /// Finds the passages at `path`: a file, or a directory that contains `passages.jsonl`, `passages.jsonl.gz` or exactly one other
    /// file `…passages….jsonl` or `….jsonl.gz`.
    ///
    /// Errors: the directory contains no such file, or several.
    pub fn open(path: &Path) -> Result<Self> {
        if let Some(file) = source::find(path, &["passages.jsonl", "passages.jsonl.gz"])? {
            return Ok(PassageCollection { file });
        }
        let listing = || format!("cannot list {}", path.display());
        let mut files = Vec::new();
        for entry in std::fs::read_dir(path).with_context(listing)? {
            let file = entry.with_context(listing)?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let lines = name.ends_with(".jsonl") || name.ends_with(".jsonl.gz");
            if lines && name.contains("passages") && regular::is_file(&file)? {
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

    /// Reads the passages in order. For a line that cannot be read, the iterator returns a fault.
    pub fn passages(&self) -> impl Iterator<Item = Result<StoredText, Fault>> + use<> {
        JsonLines::new(&self.file, FaultKind::Passage, RawPassage::passage)
    }
}

/// Reads passages from a stream, each with the number of its line. Faults name no file.
pub fn lines(
    input: Box<dyn Read + Send>,
) -> impl Iterator<Item = (u64, Result<StoredText, Fault>)> {
    JsonLines::of(input, FaultKind::Passage, RawPassage::passage).numbered()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPassage {
    /// The page's id and the number of the passage: "clueweb12-0004wb-25-32367___1".
    id: String,
    contents: String,
    /// The page's address.
    chat_noir_url: Option<String>,
    /// Queries predicted for the passage by a model.
    #[serde(
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

impl RawPassage {
    /// The texts are the contents and, one per line, the predicted queries.
    fn passage(self) -> Result<StoredText, String> {
        source::check_id(&self.id)?;
        let expansion = match self.expansion {
            Some(Expansion::One(text)) => text,
            Some(Expansion::Several(texts)) => texts.join("\n"),
            None => String::new(),
        };
        Ok(StoredText {
            url: self.chat_noir_url.filter(|url| !url.is_empty()),
            ..StoredText::new(DocId(self.id), vec![self.contents, expansion])
        })
    }
}
