//! The kinds of indexes and their fields, the documents of a collection, and the metadata of an index.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use riposte_eval::TextTask;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

pub use crate::collection::entries::StoredText as Document;
pub use crate::collection::texts::TextCollection;
use crate::collection::{Fault, FaultKind};
use crate::disk::parent;
use crate::index::analyzer::Analyzer;

/// The version of the file format and of the analyzers. It must be increased when either changes; indexes of another version are built again.
pub(super) const FORMAT: u32 = 5;

/// A text with fewer words is marked as short. Such texts are seldom arguments, but length normalisation favours them.
pub const SHORT_WORDS: usize = 20;

/// What kind of documents an index contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum IndexKind {
    /// Images: the words in them and on the pages that show them.
    Images,
    Arguments,
    Passages,
    /// Documents of any collection.
    Documents,
}

impl IndexKind {
    /// The kind of the documents that a task ranks.
    pub fn of(task: TextTask) -> Self {
        match task {
            TextTask::Controversial => IndexKind::Arguments,
            TextTask::Comparative => IndexKind::Passages,
            TextTask::Rank => IndexKind::Documents,
        }
    }

    /// The names of the fields. The last one of arguments is the text of the page from which the argument was taken.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            IndexKind::Images => ImageField::VARIANTS,
            IndexKind::Arguments => &["premises", "conclusion", "title", "source"],
            IndexKind::Passages => &["contents", "expansion"],
            IndexKind::Documents => &["text", "title"],
        }
    }

    /// The main text of a document of this kind, which models read and which is compared to find duplicates. In the kind [`IndexKind::Documents`],
    /// the title precedes the text, and a document can consist only of its title.
    pub fn main_text(self, texts: &[String]) -> Cow<'_, str> {
        match texts {
            [first, title, ..] if self == IndexKind::Documents && !title.is_empty() => {
                Cow::Owned(format!("{title}\n{first}"))
            }
            [first, ..] => Cow::Borrowed(first),
            [] => Cow::Borrowed(""),
        }
    }

    /// Whether an index is updated document by document, from the evidence file, which has the texts. The index of a text collection stores the texts,
    /// and is built again when the collection changes.
    pub(super) fn is_updated(self) -> bool {
        self == IndexKind::Images
    }
}

/// A field of an index of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum ImageField {
    /// The text in the image.
    Ocr,
    /// The titles and headings of its pages.
    Title,
    /// The text near the image: alternative text, caption, the words around it.
    Near,
    /// The pages' descriptions and main texts.
    Main,
    /// Only alternative text and captions.
    Caption,
    /// The caption that the collection itself gives.
    GivenCaption,
    /// The text in the image that the collection itself gives.
    GivenText,
}

impl TextCollection {
    /// The kind of the collection's documents.
    pub fn kind(&self) -> IndexKind {
        IndexKind::of(self.task())
    }

    /// Whether a document that repeats an earlier one names it.
    pub(super) fn declares_duplicates(&self) -> bool {
        matches!(self, TextCollection::Entries(_) | TextCollection::Shards(_))
    }

    pub(super) fn files(&self) -> Vec<&Path> {
        match self {
            TextCollection::Arguments(arguments) => {
                arguments.files.iter().map(PathBuf::as_path).collect()
            }
            TextCollection::Passages(passages) => vec![&passages.file],
            TextCollection::Documents(documents) => vec![&documents.file],
            TextCollection::Entries(entries) => vec![&entries.file],
            TextCollection::Shards(shards) => vec![&shards.file],
        }
    }

    /// The file of the collection or, if there are several, their directory.
    pub(super) fn place(&self) -> PathBuf {
        match self.files().as_slice() {
            [only] => (*only).to_owned(),
            [first, ..] => parent(first).to_owned(),
            [] => PathBuf::new(),
        }
    }

    /// Reads the documents. There are none for shards, because their indexes exist already.
    pub(crate) fn documents(&self) -> Box<dyn Iterator<Item = Result<Document, Fault>>> {
        let TextCollection::Entries(entries) = self else {
            return self.texts();
        };
        let (fields, file) = (self.kind().fields().len(), entries.file.clone());
        Box::new(self.texts().map(move |text| {
            let text = text?;
            if text.texts.len() == fields {
                return Ok(text);
            }
            let (id, texts) = (&text.id, text.texts.len());
            let what = format!("{id}: {texts} texts for {fields} fields");
            Err(Fault::in_file(FaultKind::Document, &file, what))
        }))
    }
}

/// The metadata of an index. Each commit stores them in meta.json.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexMeta {
    pub(super) format: u32,
    pub kind: IndexKind,
    /// Identifies what the index was made from: the files of a text collection, or the words of images.
    pub fingerprint: String,
    pub analyzer: Analyzer,
    pub fields: Vec<String>,
    /// Documents left out because an earlier one has the same id.
    pub repeated_ids: u64,
    /// Documents marked as duplicates.
    pub duplicates: u64,
    /// Documents marked as short.
    pub short: u64,
    /// The number of faults in the collection, and the first thousand of them. If there are more, all are in a file of the index.
    pub fault_count: u64,
    pub faults: Vec<Fault>,
}

impl IndexMeta {
    /// The metadata of an empty index.
    pub(super) fn new(kind: IndexKind, analyzer: &Analyzer, fingerprint: String) -> Self {
        IndexMeta {
            format: FORMAT,
            kind,
            fingerprint,
            analyzer: analyzer.clone(),
            fields: kind.fields().iter().map(|f| (*f).to_owned()).collect(),
            repeated_ids: 0,
            duplicates: 0,
            short: 0,
            fault_count: 0,
            faults: Vec::new(),
        }
    }

    /// Combines the metadata of the indexes of two parts of a collection.
    pub(super) fn with(mut self, part: IndexMeta) -> Self {
        self.repeated_ids += part.repeated_ids;
        self.duplicates += part.duplicates;
        self.short += part.short;
        self.fault_count += part.fault_count;
        self.faults.extend(part.faults);
        self
    }

    /// Why this index cannot be used if an index with the metadata `wanted` is needed; `None` if it can be used.
    pub(super) fn mismatch(&self, wanted: &IndexMeta) -> Option<&'static str> {
        if self.format != wanted.format {
            Some("it is of another version")
        } else if (self.kind, &self.fields) != (wanted.kind, &wanted.fields) {
            Some("it is of another kind of collection")
        } else if self.analyzer != wanted.analyzer {
            Some("it has another analyzer")
        } else if !self.kind.is_updated() && self.fingerprint != wanted.fingerprint {
            Some("the collection has changed")
        } else {
            None
        }
    }
}
