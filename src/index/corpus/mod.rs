//! The index of a text collection on disk: terms in tantivy, and beside them what a ranking needs
//! of every document at once (`columns`). Which documents, and what they say; how they are scored is
//! [`super::search`]'s question.

mod build;
mod columns;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tantivy::postings::TermInfo;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::{DocAddress, Index, InvertedIndexReader, Searcher, TantivyDocument, Term};

pub use build::{Effort, Progress};

use super::analyzer::Analyzer;
use super::similarity::{FieldCounts, TermCounts};
use crate::collection::arguments::ArgumentCollection;
use crate::collection::passages::PassageCollection;
use crate::trec::{DocId, Fault, Stance};
pub(super) use columns::Columns;

/// Another number, another index: to be raised with every change of what is written or of what an
/// analyzer makes of a text.
const FORMAT: u32 = 1;

/// What describes the index; it is written last.
const META: &str = "riposte.json";

/// A text with fewer words is marked as short: it is hardly an argument, but length normalisation
/// likes it.
pub const SHORT_WORDS: usize = 20;

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

/// A stored index, open for search. Documents have numbers from 0; which number a document has
/// differs from build to build and decides nothing.
pub struct Corpus {
    meta: Meta,
    searcher: Searcher,
    schema: Fields,
    pub(super) segments: Vec<Segment>,
    pub(super) columns: Columns,
    longest: u32,
    /// How often terms are in the collection, as far as it was asked for.
    cf: Mutex<HashMap<(usize, String), u64>>,
}

/// A part of the index: documents `base..base + documents`.
pub(super) struct Segment {
    pub base: u32,
    pub documents: u32,
    /// Its place among tantivy's.
    ord: u32,
    /// One a field.
    pub inverted: Vec<Arc<InvertedIndexReader>>,
}

/// A term's postings in each segment, and its counts.
pub(super) struct TermPostings {
    pub by_segment: Vec<Option<TermInfo>>,
    pub counts: TermCounts,
}

/// The schema's fields.
#[derive(Clone)]
struct Fields {
    /// A document's place in the collection: from it the segments' documents are known again.
    place: Field,
    stance: Field,
    url: Field,
    texts: Vec<Field>,
}

/// The name under which the index knows its analyzer.
const TERMS: &str = "terms";

fn schema(names: &[&str]) -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let text = TextOptions::default().set_stored().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(TERMS)
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::WithFreqs),
    );
    let fields = Fields {
        place: schema.add_u64_field("place", FAST),
        stance: schema.add_text_field("stance", STORED),
        url: schema.add_text_field("url", STORED),
        texts: names
            .iter()
            .map(|name| schema.add_text_field(name, text.clone()))
            .collect(),
    };
    (schema.build(), fields)
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
        let names: Vec<&str> = meta.fields.iter().map(String::as_str).collect();
        let (_, fields) = schema(&names);
        let searcher = Index::open_in_dir(dir)?.reader()?.searcher();
        let columns = Columns::read(dir, meta.fields.len())?;
        ensure!(
            columns.segments.len() == searcher.segment_readers().len()
                && u64::from(columns.documents()) == meta.documents
                && meta.tokens.len() == meta.fields.len(),
            "its parts do not fit together"
        );
        let mut segments = Vec::new();
        let mut base = 0;
        for (id, documents) in &columns.segments {
            let readers = searcher.segment_readers();
            let ord = readers
                .iter()
                .position(|reader| reader.segment_id().uuid_string() == *id)
                .context("a segment is missing")?;
            let reader = &readers[ord];
            ensure!(reader.max_doc() == *documents, "a segment is another");
            segments.push(Segment {
                base,
                documents: *documents,
                ord: ord as u32,
                inverted: fields
                    .texts
                    .iter()
                    .map(|field| reader.inverted_index(*field))
                    .collect::<tantivy::Result<_>>()?,
            });
            base += documents;
        }
        Ok(Corpus {
            meta,
            searcher,
            schema: fields,
            segments,
            longest: columns.lengths.iter().flatten().copied().max().unwrap_or(0),
            columns,
            cf: Mutex::default(),
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
        let (segment, local) = self.locate(number).with_context(reading)?;
        let address = DocAddress::new(segment.ord, local);
        let stored: TantivyDocument = self.searcher.doc(address).with_context(reading)?;
        let text = |field: Field| stored.get_first(field).and_then(|value| value.as_str());
        Ok(Document {
            id: id.clone(),
            texts: self
                .schema
                .texts
                .iter()
                .map(|field| text(*field).unwrap_or_default().to_owned())
                .collect(),
            stance: text(self.schema.stance)
                .and_then(|word| Stance::BOTH.into_iter().find(|s| s.word() == word)),
            url: text(self.schema.url).map(str::to_owned),
        })
    }

    /// The segment with that document, and its number there.
    pub(super) fn locate(&self, number: u32) -> Option<(&Segment, u32)> {
        self.segments
            .iter()
            .find(|s| (s.base..s.base + s.documents).contains(&number))
            .map(|segment| (segment, number - segment.base))
    }

    /// What is counted of a field.
    pub fn counts(&self, field: usize) -> FieldCounts {
        FieldCounts {
            documents: self.meta.documents,
            tokens: self.meta.tokens.get(field).copied().unwrap_or(0),
        }
    }

    /// A term's postings; its `cf` is counted only if it is asked for (else 0).
    pub(super) fn postings(&self, field: usize, text: &str, cf: bool) -> Result<TermPostings> {
        let reading = || format!("cannot read the postings of {text:?}");
        let schema_field = *self
            .schema
            .texts
            .get(field)
            .context("there is no such field")?;
        let term = Term::from_field_text(schema_field, text);
        let mut found = TermPostings {
            by_segment: Vec::with_capacity(self.segments.len()),
            counts: TermCounts { df: 0, cf: 0 },
        };
        for segment in &self.segments {
            let info = match segment.inverted.get(field) {
                Some(inverted) => inverted.get_term_info(&term).with_context(reading)?,
                None => None,
            };
            found.counts.df += info.as_ref().map_or(0, |info| u64::from(info.doc_freq));
            found.by_segment.push(info);
        }
        if cf && found.counts.df > 0 {
            found.counts.cf = self
                .cf(field, text, &found.by_segment)
                .with_context(reading)?;
        }
        Ok(found)
    }

    fn cf(&self, field: usize, text: &str, infos: &[Option<TermInfo>]) -> Result<u64> {
        let key = (field, text.to_owned());
        // a thread that panicked while it held the map has left whole numbers in it
        let known = || {
            self.cf
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
        };
        if let Some(cf) = known().get(&key) {
            return Ok(*cf);
        }
        let mut cf = 0;
        for (segment, info) in self.segments.iter().zip(infos) {
            if let (Some(inverted), Some(info)) = (segment.inverted.get(field), info) {
                each_block(inverted, info, |_, tfs| {
                    cf += tfs.iter().map(|tf| u64::from(*tf)).sum::<u64>();
                })?;
            }
        }
        known().insert(key, cf);
        Ok(cf)
    }
}

/// Calls with the numbers and frequencies of the documents that have a term, a block at a time.
pub(super) fn each_block(
    inverted: &InvertedIndexReader,
    info: &TermInfo,
    mut each: impl FnMut(&[u32], &[u32]),
) -> Result<()> {
    let mut block =
        inverted.read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?;
    while !block.docs().is_empty() {
        each(block.docs(), block.freqs());
        block.advance();
    }
    Ok(())
}
