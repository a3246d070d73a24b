//! The index of a collection on disk, in tantivy's segments: the ids, the stored texts, the postings, and the columns that a ranking
//! needs in memory. [`super::search`] scores the documents.
//!
//! Documents are numbered from 0, segment by segment. The numbers depend on how the threads divided the work when the index was
//! built; scores and rankings do not.

mod bounds;
mod build;
mod contents;
mod disk;
mod guarded;
mod kind;
mod lines;
mod open;
mod postings;
mod restrict;
mod schema;
mod scratch;
mod segment;
mod stored;
pub mod update;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use riposte_eval::DocId;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tantivy::Term;
use tantivy::directory::OwnedBytes;

pub use build::IndexingBudget;
pub(super) use build::join;
pub use contents::forget_hashes;
pub(crate) use disk::is_only_index;
pub use disk::{VerifiedFiles, remove};
pub use kind::{Document, ImageField, IndexKind, IndexMeta, SHORT_WORDS, TextCollection};
pub(crate) use lines::NumberedDocuments;
pub(super) use schema::checksum;

use super::analyzer::Analyzer;
use super::options::{PortalSet, SearchOptions};
use super::similarity::{FieldCounts, Similarity, TermCounts};
use crate::collection::Fault;
use crate::disk::hex;
pub(super) use bounds::BlockBounds;
pub use disk::IndexDamage;
pub(super) use postings::{Cursor, Postings};
use schema::IndexFields;
pub(super) use scratch::{Accumulators, UNTOUCHED};
use segment::Segment;

/// Length scores of longer documents are not computed in advance.
const PRECOMPUTED_LENGTHS: u32 = 1 << 14;

/// Maximum number of terms whose counts are cached.
const CACHED_TERMS: usize = 1 << 16;

/// Maximum number of score buffers in the pool. Each thread that searches takes one.
const POOLED_SCRATCHES: usize = 8;

/// A mark that is not stored: the document is deleted, or excluded from this run.
const EXCLUDED: u8 = 1 << 7;

/// The marks of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The document has fewer than [`SHORT_WORDS`] words.
    pub short: bool,
    /// An earlier document has the same words.
    pub duplicate: bool,
}

/// An index, open for search.
pub struct InvertedIndex {
    /// The directory of the index, or those of all shards.
    dirs: Vec<PathBuf>,
    /// The files of the collection, where they are now; empty if they are unknown.
    files: Vec<PathBuf>,
    /// If there are more faults than the metadata have: for each directory those of its metadata, and the file with all of them if it has one.
    fault_files: Vec<(Vec<Fault>, Option<OwnedBytes>)>,
    meta: IndexMeta,
    fields: IndexFields,
    segments: Vec<Segment>,
    /// How much was verified when the index was opened.
    pub verified: VerifiedFiles,
    /// For each field, each document's number of terms.
    pub(super) lengths: Vec<Vec<u32>>,
    /// For each document the bits [`schema::SHORT`], [`schema::DUPLICATE`] and [`EXCLUDED`].
    marks: Vec<u8>,
    /// Whether any document is excluded. If so, the counts that tantivy keeps for a term are too large.
    has_excluded: bool,
    /// The counts of each field, over the included documents.
    counts: Vec<FieldCounts>,
    /// The largest length of a document in any field.
    longest: u32,
    length_scores: Mutex<Option<LengthScores>>,
    term_counts: Mutex<FxHashMap<(usize, Box<str>), Counted>>,
    /// A pool of score buffers.
    scratches: Mutex<Vec<Accumulators>>,
}

/// The counts of a term, and the bounds of its postings.
type Counted = (TermCounts, Arc<BlockBounds>);

/// The similarity that was used last, and its score for each length up to [`PRECOMPUTED_LENGTHS`].
type LengthScores = (Similarity, Arc<Vec<f64>>);

/// What `riposte index` prints about a field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldReport {
    pub name: String,
    pub tokens: u64,
    pub mean_length: f64,
}

/// What `riposte index` prints about an index.
#[derive(Clone, Debug, Serialize)]
pub struct IndexReport {
    pub directory: PathBuf,
    pub kind: IndexKind,
    pub documents: u32,
    /// Number of deleted documents whose space is not free yet.
    pub deleted: u32,
    pub short: u64,
    pub duplicates: u64,
    pub repeated_ids: u64,
    pub faults: u64,
    pub fields: Vec<FieldReport>,
    pub analyzer: Analyzer,
    pub segments: usize,
    pub bytes: u64,
    pub fingerprint: String,
}

/// The directory for an index of this kind with this analyzer, beside `base` (for example, the evidence file). Each combination of kind and
/// analyzer has a separate directory.
pub fn directory(base: &Path, kind: IndexKind, analyzer: &Analyzer) -> PathBuf {
    let of_what = match kind {
        IndexKind::Images => format!("images {analyzer}"),
        IndexKind::Arguments | IndexKind::Passages => analyzer.to_string(),
        IndexKind::Documents => format!("documents {analyzer}"),
    };
    let hash = hex(&Sha256::digest(of_what)[..4]);
    let mut name = base.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{hash}.index"));
    base.with_file_name(name)
}

impl InvertedIndex {
    /// Counts the included documents and their tokens.
    fn count(&mut self) {
        let documents = self
            .marks
            .iter()
            .filter(|marks| **marks & EXCLUDED == 0)
            .count();
        self.has_excluded = documents < self.marks.len();
        self.counts = self
            .lengths
            .iter()
            .map(|lengths| FieldCounts {
                documents: documents as u64,
                tokens: lengths
                    .iter()
                    .zip(&self.marks)
                    .filter(|(_, marks)| **marks & EXCLUDED == 0)
                    .map(|(length, _)| u64::from(*length))
                    .sum(),
            })
            .collect();
        let cached = self.term_counts.get_mut();
        cached.unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Kind, analyzer, fingerprint and counts, as stored with the index.
    pub fn meta(&self) -> &IndexMeta {
        &self.meta
    }

    /// The figures that `riposte index` prints. Errors: the index's files cannot be listed.
    pub fn report(&self) -> Result<IndexReport> {
        let names = self.meta.fields.iter().zip(&self.counts);
        Ok(IndexReport {
            directory: self.dirs.first().cloned().unwrap_or_default(),
            kind: self.meta.kind,
            documents: self.documents(),
            deleted: self.marks.len() as u32 - self.documents(),
            short: self.meta.short,
            duplicates: self.meta.duplicates,
            repeated_ids: self.meta.repeated_ids,
            faults: self.meta.fault_count,
            fields: names
                .map(|(name, counts)| FieldReport {
                    name: name.clone(),
                    tokens: counts.tokens,
                    mean_length: counts.tokens as f64 / counts.documents.max(1) as f64,
                })
                .collect(),
            analyzer: self.meta.analyzer.clone(),
            segments: self.segments.len(),
            bytes: self.bytes()?,
            fingerprint: self.meta.fingerprint.clone(),
        })
    }

    fn bytes(&self) -> Result<u64> {
        let sizes = self.dirs.iter().map(|dir| {
            let size = disk::size(dir);
            size.with_context(|| format!("cannot list {}", dir.display()))
        });
        sizes.sum()
    }

    /// The position of the field with this name.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.meta.fields.iter().position(|field| field == name)
    }

    /// The number of documents that can be found.
    pub fn documents(&self) -> u32 {
        self.counts.first().map_or(0, |counts| counts.documents) as u32
    }

    /// The number of all documents, including excluded ones.
    pub(super) fn numbers(&self) -> usize {
        self.marks.len()
    }

    /// The number of the document with this id; `None` if it is excluded or not in the index.
    pub fn number(&self, id: &DocId) -> Option<u32> {
        self.number_of(&id.0)
    }

    /// Like [`InvertedIndex::number`].
    pub(super) fn number_of(&self, id: &str) -> Option<u32> {
        self.segments.iter().find_map(|segment| {
            let number = segment.base + segment.columns.number(id)?;
            self.is_included(number).then_some(number)
        })
    }

    /// The checksum of a document's stored texts.
    pub(super) fn text_checksum(&self, number: u32) -> Option<u64> {
        let segment = self.segment_of(number)?;
        let checksums = &segment.columns.checksums;
        checksums.get((number - segment.base) as usize).copied()
    }

    /// The id of the document with this number.
    pub fn id(&self, number: u32) -> Option<DocId> {
        self.id_text(number).map(|id| DocId(id.to_owned()))
    }

    /// The ids of all documents that can be found.
    pub fn ids(&self) -> impl Iterator<Item = DocId> {
        let numbers = 0..self.marks.len() as u32;
        let included = numbers.filter(|number| self.is_included(*number));
        included.filter_map(|number| self.id(number))
    }

    pub(super) fn id_text(&self, number: u32) -> Option<&str> {
        let segment = self.segment_of(number)?;
        segment.columns.id(number - segment.base)
    }

    /// The segment with the document of this number.
    fn segment_of(&self, number: u32) -> Option<&Segment> {
        let next = self.segments.partition_point(|s| s.base <= number);
        self.segments.get(next.checked_sub(1)?)
    }

    pub(super) fn is_included(&self, number: u32) -> bool {
        let marks = self.marks.get(number as usize);
        marks.is_some_and(|marks| marks & EXCLUDED == 0)
    }

    /// Whether a document is excluded, or filtered because of its marks.
    pub(super) fn is_filtered(&self, number: u32, options: &SearchOptions) -> bool {
        let mut filter = EXCLUDED;
        filter |= schema::SHORT * u8::from(!options.short);
        filter |= schema::DUPLICATE * u8::from(!options.duplicates);
        let marks = self.marks.get(number as usize);
        marks.is_none_or(|marks| {
            let is_elsewhere =
                |portals: PortalSet| !portals.contains(schema::portal_number(*marks));
            marks & filter != 0 || options.portals.is_some_and(is_elsewhere)
        })
    }

    /// The marks of the document with this number.
    pub fn marks(&self, number: u32) -> Option<Marks> {
        let bits = *self.marks.get(number as usize)?;
        Some(Marks {
            short: bits & schema::SHORT != 0,
            duplicate: bits & schema::DUPLICATE != 0,
        })
    }

    /// The length of a document in a field, in terms.
    pub fn length(&self, field: usize, number: u32) -> Option<u32> {
        let lengths = self.lengths.get(field)?;
        lengths.get(number as usize).copied()
    }

    /// The stored document, without its portal. Errors: there is no such document, or its stored texts are damaged.
    pub fn document(&self, id: &DocId) -> Result<Document> {
        let reading = || format!("cannot read {id} from the index");
        let number = self.number(id);
        let number = number
            .context("there is no such document")
            .with_context(reading)?;
        let segment = self
            .segment_of(number)
            .context("its number is in no segment")?;
        segment
            .document(number - segment.base, &self.fields)
            .with_context(reading)
    }

    /// The counts of a field: its documents and tokens.
    pub fn counts(&self, field: usize) -> FieldCounts {
        self.counts.get(field).copied().unwrap_or_default()
    }

    /// For each segment, the number of its first document and the number of its documents.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u32, u32)> {
        let segments = self.segments.iter();
        segments.map(|segment| (segment.base, segment.documents()))
    }

    /// A score buffer from the pool, without scores.
    pub(super) fn scratch(&self) -> Accumulators {
        let pool = self.scratches.lock();
        let mut pool = pool.unwrap_or_else(PoisonError::into_inner);
        pool.pop().unwrap_or_default()
    }

    /// Returns a score buffer to the pool. It must not contain scores.
    pub(super) fn return_scratch(&self, scratch: Accumulators) {
        let pool = self.scratches.lock();
        let mut pool = pool.unwrap_or_else(PoisonError::into_inner);
        if pool.len() < POOLED_SCRATCHES {
            pool.push(scratch);
        }
    }

    /// A similarity's length score for each length up to the longest document's; empty if it has no length scores.
    pub(super) fn length_scores(&self, similarity: &Similarity) -> Arc<Vec<f64>> {
        // a poisoned lock is ignored, because a thread that panics here leaves a complete value
        let cached = self.length_scores.lock();
        let mut cached = cached.unwrap_or_else(PoisonError::into_inner);
        if let Some((_, scores)) = cached.as_ref().filter(|(of, _)| of == similarity) {
            return scores.clone();
        }
        let lengths = 0..=self.longest.min(PRECOMPUTED_LENGTHS);
        let scores = lengths.map_while(|length| similarity.length_score(length));
        let scores = Arc::new(scores.collect());
        *cached = Some((similarity.clone(), Arc::clone(&scores)));
        scores
    }

    /// The postings and counts of a term; `None` if no document of the collection contains it. tantivy does not store `cf`; with `with_cf`, it
    /// is counted and cached.
    ///
    /// Errors: there is no such field, or the postings cannot be read.
    pub(super) fn find(
        &self,
        field: usize,
        text: &str,
        with_cf: bool,
    ) -> Result<Option<FoundTerm<'_>>> {
        let terms = self.fields.terms.get(field);
        let terms = *terms.ok_or_else(|| anyhow!("there is no such field"))?;
        let term = Term::from_field_text(terms, text);
        let mut postings = Postings::new(&self.lengths[field]);
        for segment in &self.segments {
            postings.add(segment, field, &term)?;
        }
        let mut counts = TermCounts {
            df: postings.df(),
            cf: 0,
        };
        let mut bounds = None;
        if counts.df > 0 && (with_cf || self.has_excluded) {
            let (counted, known) = self.counted(field, text, &postings)?;
            (counts, bounds) = (counted, Some(known));
        }
        Ok((counts.df > 0).then_some(FoundTerm {
            counts,
            bounds,
            postings,
        }))
    }

    /// The number of included documents that have at least one of these terms.
    pub(super) fn documents_with<'p>(
        &self,
        terms: impl Iterator<Item = &'p Postings<'p>>,
    ) -> Result<u64> {
        let mut documents = FxHashSet::default();
        for postings in terms {
            postings.each_block(|block| {
                let numbers = block.documents.iter().map(|document| block.base + document);
                documents.extend(numbers.filter(|number| self.is_included(*number)));
            })?;
        }
        Ok(documents.len() as u64)
    }

    /// The counts of a term over the included documents, and the bounds of its postings.
    fn counted(&self, field: usize, text: &str, postings: &Postings) -> Result<Counted> {
        let lock = || (self.term_counts.lock()).unwrap_or_else(PoisonError::into_inner);
        let key = (field, Box::from(text));
        if let Some(counts) = lock().get(&key) {
            return Ok(counts.clone());
        }
        let mut counts = TermCounts::default();
        let mut bounds = BlockBounds::default();
        let lengths = self.lengths.get(field).map_or(&[][..], Vec::as_slice);
        postings.each_block(|block| {
            // excluded documents count, too, because an upper bound is enough
            bounds.add(&block, lengths);
            if !self.has_excluded {
                counts.df += block.documents.len() as u64;
                counts.cf += block.tfs.iter().map(|tf| u64::from(*tf)).sum::<u64>();
                return;
            }
            for (document, tf) in block.documents.iter().zip(block.tfs) {
                if self.is_included(block.base + document) {
                    counts.df += 1;
                    counts.cf += u64::from(*tf);
                }
            }
        })?;
        let mut cached = lock();
        if cached.len() >= CACHED_TERMS {
            cached.clear();
        }
        let counted = (counts, Arc::new(bounds));
        cached.insert(key, counted.clone());
        Ok(counted)
    }
}

/// A term that at least one included document contains.
pub(super) struct FoundTerm<'a> {
    pub counts: TermCounts,
    /// The bounds of its postings, if frequencies were counted.
    pub bounds: Option<Arc<BlockBounds>>,
    pub postings: Postings<'a>,
}
