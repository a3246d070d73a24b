//! The index of a text collection on disk: terms (`dictionary`) with their postings, the texts, and what a ranking needs
//! of every document at once (`columns`). Which documents, and what they say; how they are scored is
//! [`super::search`]'s question.

mod build;
mod columns;
mod dictionary;
mod invert;
mod postings;
mod texts;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use build::{Effort, Progress};

use super::analyzer::Analyzer;
use super::similarity::{FieldCounts, Similarity};
use crate::collection::arguments::ArgumentCollection;
use crate::collection::passages::PassageCollection;
use crate::trec::{DocId, Fault, Stance};
pub(super) use columns::Columns;
use dictionary::Dictionary;
pub(super) use dictionary::Found;
pub(super) use postings::{BLOCK, Block, Cursor, Postings};
use texts::Texts;

/// Another number, another index: to be raised with every change of what is written or of what an
/// analyzer makes of a text.
const FORMAT: u32 = 2;

/// What describes the index; it is written last.
const META: &str = "riposte.json";

/// A text with fewer words is marked as short: it is hardly an argument, but length normalisation
/// likes it.
pub const SHORT_WORDS: usize = 20;

/// A longer document's length score is computed when it is needed.
const KNOWN_LENGTHS: u32 = 1 << 14;

/// What is indexed.
#[derive(Clone, Debug)]
pub enum TextCollection {
    Arguments(ArgumentCollection),
    Passages(PassageCollection),
}

/// The fields of an index of arguments.
pub const ARGUMENT_FIELDS: [&str; 3] = ["premises", "conclusion", "title"];

/// The fields of an index of passages.
pub const PASSAGE_FIELDS: [&str; 2] = ["contents", "expansion"];

/// A document of either collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub id: DocId,
    /// One a field, in the fields' order; the first is the document's text proper.
    pub texts: Vec<String>,
    /// An argument's towards its conclusion.
    pub stance: Option<Stance>,
    pub url: Option<String>,
}

impl TextCollection {
    /// The names of its fields.
    pub fn fields(&self) -> &'static [&'static str] {
        match self {
            TextCollection::Arguments(_) => &ARGUMENT_FIELDS,
            TextCollection::Passages(_) => &PASSAGE_FIELDS,
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

    fn documents(&self) -> Box<dyn Iterator<Item = Result<Document, Fault>>> {
        match self {
            TextCollection::Arguments(arguments) => {
                Box::new(arguments.arguments().map(|argument| {
                    argument.map(|argument| Document {
                        texts: vec![
                            argument.text(),
                            argument.conclusion.clone(),
                            argument.title.clone(),
                        ],
                        stance: argument.stance(),
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
    fn fingerprint(&self) -> Result<String> {
        let mut hash = Sha256::new();
        for path in self.files() {
            let reading = || format!("cannot read {}", path.display());
            build::fingerprint_file(path, &mut hash).with_context(reading)?;
        }
        Ok(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
    }
}

/// What is known of an index as a whole, stored with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    format: u32,
    fingerprint: String,
    pub analyzer: Analyzer,
    pub fields: Vec<String>,
    /// Terms of each field, of all documents.
    pub tokens: Vec<u64>,
    pub documents: u64,
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

/// What is marked of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// It has fewer than [`SHORT_WORDS`] words.
    pub short: bool,
    /// An earlier document has the same words.
    pub duplicate: bool,
}

/// A stored index, open for search. Documents have numbers from 0, in the order in which they came.
pub struct Corpus {
    meta: Meta,
    dictionary: Dictionary,
    texts: Texts,
    pub(super) columns: Columns,
    longest: u32,
    length_scores: Mutex<Kept>,
}

/// The length scores by the similarity that was asked for last.
type Kept = Option<(Similarity, Arc<LengthScores>)>;

/// Length scores, computed once for many queries; empty where a similarity has none.
#[derive(Default)]
pub(super) struct LengthScores {
    /// Of each length that documents have, up to [`KNOWN_LENGTHS`].
    pub by_length: Vec<f64>,
    /// Of each document, by field, where the similarity adds them to every score.
    pub by_document: Vec<Vec<f32>>,
}

/// Where the index by this analyzer goes, beside `base` (the evidence's file, say): each analyzer's
/// has a place of its own.
pub fn directory(base: &Path, analyzer: &Analyzer) -> PathBuf {
    let hash = Sha256::digest(analyzer.to_string());
    let hash: String = hash[..4].iter().map(|b| format!("{b:02x}")).collect();
    let mut name = base.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{hash}.index"));
    base.with_file_name(name)
}

impl Corpus {
    /// Opens the index of this collection in `dir`, or builds it where there is none, or one of
    /// other files, another analyzer or another version of riposte.
    ///
    /// It is built beside `dir` and renamed at the end: what is in `dir` is a whole index. Errors:
    /// a file of the collection cannot be found, `dir` cannot be written.
    pub fn open_or_build(
        collection: &TextCollection,
        analyzer: &Analyzer,
        dir: &Path,
        effort: Effort,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self> {
        let fingerprint = collection.fingerprint()?;
        let current = |corpus: &Corpus| {
            let meta = &corpus.meta;
            meta.fingerprint == fingerprint
                && meta.analyzer == *analyzer
                && meta.fields == collection.fields()
        };
        // whatever keeps it from being opened, a new one does not have it
        if let Some(corpus) = Corpus::open(dir).ok().filter(current) {
            return Ok(corpus);
        }
        build::build(collection, analyzer, fingerprint, dir, effort, progress)
            .with_context(|| format!("cannot build the index {}", dir.display()))?;
        Corpus::open(dir)
    }

    /// Opens a whole index. Errors: there is none, it is broken or of another version.
    pub fn open(dir: &Path) -> Result<Self> {
        Self::open_whole(dir).with_context(|| format!("cannot open the index {}", dir.display()))
    }

    fn open_whole(dir: &Path) -> Result<Self> {
        let meta: Meta = serde_json::from_slice(&fs::read(dir.join(META))?)?;
        ensure!(
            meta.format == FORMAT,
            "it is of version {}, not {FORMAT}",
            meta.format
        );
        let fields = meta.fields.len();
        let columns = Columns::read(dir, fields)?;
        ensure!(
            u64::from(columns.documents()) == meta.documents && meta.tokens.len() == fields,
            "its parts do not fit together"
        );
        Ok(Corpus {
            dictionary: Dictionary::open(dir, fields)?,
            texts: Texts::open(dir)?,
            longest: columns.lengths.iter().flatten().copied().max().unwrap_or(0),
            columns,
            meta,
            length_scores: Mutex::default(),
        })
    }

    /// What is known of it as a whole.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.meta.fields.iter().position(|field| field == name)
    }

    /// The number of documents.
    pub fn documents(&self) -> u32 {
        self.columns.documents()
    }

    /// The document's number.
    pub fn number(&self, id: &DocId) -> Option<u32> {
        self.columns.number(&id.0)
    }

    /// The id of the document of that number.
    pub fn id(&self, number: u32) -> Option<DocId> {
        self.columns.id(number).map(|id| DocId(id.to_owned()))
    }

    /// What is marked of the document of that number.
    pub fn marks(&self, number: u32) -> Option<Marks> {
        self.columns.marks(number)
    }

    /// The id of the first document with the same words, if the document is marked as its duplicate.
    pub fn duplicate_of(&self, number: u32) -> Option<DocId> {
        self.columns
            .first_of(number)
            .and_then(|first| self.id(first))
    }

    /// How many terms the document has in a field.
    pub fn length(&self, field: usize, number: u32) -> Option<u32> {
        self.columns
            .lengths
            .get(field)?
            .get(number as usize)
            .copied()
    }

    /// The largest number of terms of any document in any field.
    pub(super) fn longest(&self) -> u32 {
        self.longest
    }

    /// The document as it was indexed. Errors: no such document, the index cannot be read.
    pub fn document(&self, id: &DocId) -> Result<Document> {
        let reading = || format!("cannot read {id} from the index");
        let number = self
            .number(id)
            .context("there is none")
            .with_context(reading)?;
        self.texts
            .document(number, id, self.meta.fields.len())
            .context("it is not whole")
            .with_context(reading)
    }

    /// What is counted of a field.
    pub fn counts(&self, field: usize) -> FieldCounts {
        FieldCounts {
            documents: self.meta.documents,
            tokens: self.meta.tokens.get(field).copied().unwrap_or(0),
        }
    }

    /// The length scores by a similarity.
    pub(super) fn length_scores(&self, similarity: &Similarity) -> Arc<LengthScores> {
        // a thread that panicked while it held them has left whole ones
        let mut kept = self.length_scores.lock().unwrap_or_else(|p| p.into_inner());
        if let Some((_, scores)) = kept.as_ref().filter(|(of, _)| of == similarity) {
            return scores.clone();
        }
        let by_length: Vec<f64> = (0..=self.longest.min(KNOWN_LENGTHS))
            .map_while(|length| similarity.length_score(length))
            .collect();
        let of = |length: &u32| match by_length.get(*length as usize) {
            Some(score) => *score as f32,
            None => similarity.length_score(*length).unwrap_or(0.0) as f32,
        };
        let lengths = self.columns.lengths.iter();
        let by_document = match similarity.adds_length() {
            true => lengths
                .map(|column| column.iter().map(of).collect())
                .collect(),
            false => Vec::new(),
        };
        let scores = Arc::new(LengthScores {
            by_length,
            by_document,
        });
        *kept = Some((similarity.clone(), scores.clone()));
        scores
    }

    /// A term's postings and counts; none if the collection does not have it. Errors: no such field.
    pub(super) fn find(&self, field: usize, text: &str) -> Result<Option<Found<'_>>> {
        ensure!(field < self.meta.fields.len(), "there is no such field");
        Ok(self.dictionary.find(field, text))
    }
}
