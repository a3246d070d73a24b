//! What an index is of: its kind and fields, the documents of a collection, and what is stored of the whole.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::build;
use crate::collection::arguments::ArgumentCollection;
use crate::collection::passages::PassageCollection;
use crate::index::analyzer::Analyzer;
use crate::trec::{DocId, Fault, Stance};

/// The version of what is written and of what an analyzer makes of a text. A change of either raises it, and indices of another
/// version are built anew.
pub(super) const FORMAT: u32 = 3;

/// A text with fewer words is marked as short: it is hardly an argument, but length normalisation
/// likes it.
pub const SHORT_WORDS: usize = 20;

/// What the documents of an index are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The words of images and of the pages that show them.
    Images,
    Arguments,
    Passages,
}

impl Kind {
    /// The names of its fields.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Kind::Images => &IMAGE_FIELDS,
            Kind::Arguments => &ARGUMENT_FIELDS,
            Kind::Passages => &PASSAGE_FIELDS,
        }
    }

    /// Whether documents are added and deleted one by one. Files of texts are read from beginning to end when they change.
    pub(super) fn is_updated(self) -> bool {
        self == Kind::Images
    }

    /// Whether texts are stored. Those of images are in the evidence already.
    pub(super) fn stores_texts(self) -> bool {
        self != Kind::Images
    }
}

/// The fields of an index of images: the text in the image; titles and headings of its pages; alternative text, caption and the
/// words around it; description and main text of the pages; alternative text and captions alone.
pub const IMAGE_FIELDS: [&str; 5] = ["ocr", "title", "near", "main", "caption"];

/// The fields of an index of arguments: the last is the text of the page that an argument is from.
pub const ARGUMENT_FIELDS: [&str; 4] = ["premises", "conclusion", "title", "source"];

/// The fields of an index of passages.
pub const PASSAGE_FIELDS: [&str; 2] = ["contents", "expansion"];

/// A collection of texts.
#[derive(Clone, Debug)]
pub enum TextCollection {
    Arguments(ArgumentCollection),
    Passages(PassageCollection),
}

/// A document of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub id: DocId,
    /// One for each field, in the fields' order; the first is the document's text proper.
    pub texts: Vec<String>,
    /// An argument's towards its conclusion.
    pub stance: Option<Stance>,
    pub url: Option<String>,
}

impl TextCollection {
    /// What its documents are.
    pub fn kind(&self) -> Kind {
        match self {
            TextCollection::Arguments(_) => Kind::Arguments,
            TextCollection::Passages(_) => Kind::Passages,
        }
    }

    fn files(&self) -> Vec<&Path> {
        match self {
            TextCollection::Arguments(arguments) => {
                arguments.files().iter().map(PathBuf::as_path).collect()
            }
            TextCollection::Passages(passages) => vec![passages.file()],
        }
    }

    pub(super) fn documents(&self) -> Box<dyn Iterator<Item = Result<Document, Fault>>> {
        match self {
            TextCollection::Arguments(arguments) => {
                Box::new(arguments.arguments().map(|argument| {
                    argument.map(|argument| Document {
                        stance: argument.stance(),
                        texts: vec![
                            argument.text(),
                            argument.conclusion,
                            argument.title,
                            argument.source,
                        ],
                        id: argument.id,
                        url: argument.url,
                    })
                }))
            }
            TextCollection::Passages(passages) => Box::new(passages.passages().map(|passage| {
                passage.map(|passage| Document {
                    id: passage.id,
                    texts: vec![passage.contents, passage.expansion],
                    stance: None,
                    url: passage.url,
                })
            })),
        }
    }

    /// A hash over names, sizes, times of change, first and last bytes of the files. Unlike evidence,
    /// an index is made again in a minute, so that a mere copy of the collection has another.
    pub(super) fn fingerprint(&self) -> Result<String> {
        let mut hash = Sha256::new();
        for path in self.files() {
            let reading = || format!("cannot read {}", path.display());
            build::fingerprint_file(path, &mut hash).with_context(reading)?;
        }
        Ok(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
    }
}

/// What is stored of an index as a whole: in meta.json, with every commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    pub(super) format: u32,
    pub kind: Kind,
    /// Of what it was made from: the files of texts, or the evidence of images.
    pub fingerprint: String,
    pub analyzer: Analyzer,
    pub fields: Vec<String>,
    /// Documents passed over because their id was there already.
    pub repeated_ids: u64,
    /// Documents marked as having the text of an earlier one.
    pub duplicates: u64,
    /// Documents marked as short.
    pub short: u64,
    /// How much was broken in the collection, and the first thousand of it.
    pub fault_count: u64,
    pub faults: Vec<Fault>,
}

impl Meta {
    /// That of an index in which nothing is counted yet.
    pub(super) fn new(kind: Kind, analyzer: &Analyzer, fingerprint: String) -> Self {
        Meta {
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

    /// Why an index cannot serve where one with the other meta is wanted, if it cannot.
    pub(super) fn unlike(&self, wanted: &Meta) -> Option<&'static str> {
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
