//! Collections of any texts: those of BEIR, and exports of TIREx and `ir_datasets`. A collection is one file, plain or gzip, with a JSON object on
//! each line: `{"_id", "title", "text"}`, `{"docno", "text"}` or `{"doc_id", "title", "text"}`.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use riposte_eval::DocId;
use serde::Deserialize;

use super::entries::StoredText;
use super::lines::JsonLines;
use super::{Fault, FaultKind, source};

/// The names of files of documents, in the order in which they are searched for.
const NAMES: [&str; 4] = [
    "corpus.jsonl",
    "corpus.jsonl.gz",
    "documents.jsonl",
    "documents.jsonl.gz",
];

/// A file of documents.
#[derive(Clone, Debug)]
pub struct DocumentCollection {
    pub file: PathBuf,
}

impl DocumentCollection {
    /// Finds the documents at `path`: a file, or a directory that contains `corpus.jsonl` or `documents.jsonl`, with or without `.gz`
    /// after its name.
    ///
    /// Errors: the directory contains no such file.
    pub fn open(path: &Path) -> Result<Self> {
        let file = source::find(path, &NAMES)?.with_context(|| {
            let (path, names) = (path.display(), NAMES.join(", "));
            format!("{path} holds no documents: it contains none of {names}")
        })?;
        Ok(DocumentCollection { file })
    }

    /// Reads the documents in order. For a line that cannot be read, the iterator returns a fault.
    pub fn documents(&self) -> impl Iterator<Item = Result<StoredText, Fault>> + use<> {
        JsonLines::new(&self.file, FaultKind::Document, RawDocument::document)
    }
}

/// Reads documents from a stream, each with the number of its line. Faults name no file.
pub fn lines(
    input: Box<dyn Read + Send>,
) -> impl Iterator<Item = (u64, Result<StoredText, Fault>)> {
    JsonLines::of(input, FaultKind::Document, RawDocument::document).numbered()
}

/// The JSON of a document; other keys are ignored.
#[derive(Deserialize)]
struct RawDocument {
    #[serde(rename = "_id")]
    beir_id: Option<Id>,
    #[serde(alias = "doc_id")]
    docno: Option<Id>,
    title: Option<String>,
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "an id is neither a string nor a whole number")]
enum Id {
    Text(String),
    Positive(u64),
    Negative(i64),
}

impl RawDocument {
    /// The texts are the text and the title. Either may be empty.
    fn document(self) -> Result<StoredText, String> {
        let id = match self.beir_id.or(self.docno) {
            Some(Id::Text(id)) => id,
            Some(Id::Positive(id)) => id.to_string(),
            Some(Id::Negative(id)) => id.to_string(),
            None => return Err("it has no `_id`, `docno` or `doc_id`".into()),
        };
        source::check_id(&id)?;
        let texts = [self.text, self.title].map(Option::unwrap_or_default);
        Ok(StoredText::new(DocId(id), texts.into()))
    }
}
