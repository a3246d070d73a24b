//! The index of a collection on disk, in segments of tantivy's: which documents there are, what they say, and what a ranking needs
//! of all of them at once. How documents are scored is [`super::search`]'s question.
//!
//! Documents have numbers from 0, segment after segment. Which document has which number depends on the threads that built the
//! index; no score and no order does.

mod build;
mod disk;
mod kind;
mod postings;
mod schema;
mod scratch;
mod segment;
pub mod update;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tantivy::index::SegmentReader;
use tantivy::{Index, Term};

pub use build::{Effort, Event};
pub use disk::{Verified, remove};
use kind::FORMAT;
pub use kind::{
    ARGUMENT_FIELDS, Document, IMAGE_FIELDS, Kind, Meta, PASSAGE_FIELDS, SHORT_WORDS,
    TextCollection,
};

use super::analyzer::Analyzer;
use super::similarity::{FieldCounts, Similarity, TermCounts};
use crate::trec::DocId;
use disk::{Lock, Place, SealedDirectory, broken, damaged};
pub(super) use postings::Postings;
use schema::Fields;
pub(super) use scratch::{Scratch, UNTOUCHED};
use segment::Segment;

/// Length scores of longer documents are not computed in advance.
const KNOWN_LENGTHS: u32 = 1 << 14;

/// Counts of so many terms are remembered at most.
const KNOWN_TERMS: usize = 1 << 16;

/// Rooms for scores that are kept, one for each thread that searches.
const KEPT_SCRATCHES: usize = 8;

/// A mark beside those that are stored: the document is deleted, or not among those that are searched.
const OUT: u8 = 1 << 7;

/// What is marked of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// It has fewer than [`SHORT_WORDS`] words.
    pub short: bool,
    /// An earlier document has the same words.
    pub duplicate: bool,
}

/// An index, open for search.
pub struct Corpus {
    dir: PathBuf,
    meta: Meta,
    fields: Fields,
    segments: Vec<Segment>,
    verified: Verified,
    /// For each field, each document's number of terms.
    pub(super) lengths: Vec<Vec<u32>>,
    /// For each document [`schema::SHORT`], [`schema::DUPLICATE`] and [`OUT`].
    marks: Vec<u8>,
    /// Whether a document is out: then a term's counts are not those that tantivy keeps.
    some_out: bool,
    /// Over the documents that are not out, by field.
    counts: Vec<FieldCounts>,
    /// The largest number of terms of a document in any field.
    longest: u32,
    length_scores: Mutex<Option<LengthScores>>,
    term_counts: Mutex<FxHashMap<(usize, Box<str>), Counted>>,
    /// Room for scores, to be used again by the next query.
    scratches: Mutex<Vec<Scratch>>,
}

/// What is counted of a term, and the most often that it is in a document.
type Counted = (TermCounts, u32);

/// The similarity that was asked for last, and its score of each length up to [`KNOWN_LENGTHS`].
type LengthScores = (Similarity, Arc<Vec<f64>>);

/// What `riposte index` says of a field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldReport {
    pub name: String,
    pub tokens: u64,
    pub mean_length: f64,
}

/// What `riposte index` says of an index.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub directory: PathBuf,
    pub kind: Kind,
    pub documents: u32,
    /// Documents that were deleted and still take space.
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

/// Where the index of this kind and by this analyzer goes, beside `base` (the evidence's file, say): each has a place of its own.
pub fn directory(base: &Path, kind: Kind, analyzer: &Analyzer) -> PathBuf {
    let of_what = match kind {
        Kind::Images => format!("images {analyzer}"),
        Kind::Arguments | Kind::Passages => analyzer.to_string(),
    };
    let hash = Sha256::digest(of_what);
    let hash: String = hash[..4].iter().map(|b| format!("{b:02x}")).collect();
    let mut name = base.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{hash}.index"));
    base.with_file_name(name)
}

impl Corpus {
    /// Opens the index of this collection in `dir`, or builds it where there is none, or one of
    /// other files, another analyzer or another version of riposte; `told` hears why, and how far it is.
    ///
    /// It is built beside `dir` and renamed at the end: what is in `dir` is a whole index. If another process builds it, this one
    /// waits and takes that one's. Errors: a file of the collection cannot be found, `dir` cannot be written, the index in it is
    /// damaged.
    pub fn open_or_build(
        collection: &TextCollection,
        analyzer: &Analyzer,
        dir: &Path,
        effort: Effort,
        told: &mut dyn FnMut(Event),
    ) -> Result<Self> {
        let wanted = Meta::new(collection.kind(), analyzer, collection.fingerprint()?);
        disk::sweep(dir);
        let lock = Lock::to_read(dir, &mut || told(Event::Waiting))?;
        if let Present::Current(corpus) = Corpus::find_current(dir, &wanted)? {
            return Ok(*corpus);
        }
        drop(lock);
        let _lock = Lock::to_write(dir, &mut || told(Event::Waiting))?;
        match Corpus::find_current(dir, &wanted)? {
            // another process was faster
            Present::Current(corpus) => return Ok(*corpus),
            Present::Outdated(why) => told(Event::Outdated(why)),
            Present::Nothing => {}
        }
        build::build(collection, wanted, dir, effort, told)
            .with_context(|| format!("cannot build the index {}", dir.display()))?;
        Corpus::open_whole(dir)
    }

    /// Builds the index whatever is in `dir`, even if that is damaged. Errors: as [`Corpus::open_or_build`].
    pub fn rebuild(
        collection: &TextCollection,
        analyzer: &Analyzer,
        dir: &Path,
        effort: Effort,
        told: &mut dyn FnMut(Event),
    ) -> Result<Self> {
        let wanted = Meta::new(collection.kind(), analyzer, collection.fingerprint()?);
        disk::sweep(dir);
        let _lock = Lock::to_write(dir, &mut || told(Event::Waiting))?;
        disk::look(dir)?;
        build::build(collection, wanted, dir, effort, told)
            .with_context(|| format!("cannot build the index {}", dir.display()))?;
        Corpus::open_whole(dir)
    }

    /// Opens the index in `dir`. Errors: there is none, it is damaged or of another version.
    pub fn open(dir: &Path) -> Result<Self> {
        let _lock = Lock::to_read(dir, &mut || ())?;
        Corpus::open_whole(dir)
    }

    /// Holds all files of the index in `dir` against their checksums, the stored texts too. Errors: the first that is damaged.
    pub fn check(dir: &Path) -> Result<Verified> {
        let _lock = Lock::to_read(dir, &mut || ())?;
        let (index, _) = Corpus::open_meta(dir)?;
        disk::verify(dir, &index, true)
    }

    /// What is there of the index that is wanted.
    fn find_current(dir: &Path, wanted: &Meta) -> Result<Present> {
        match disk::look(dir)? {
            Place::Empty => return Ok(Present::Nothing),
            Place::Before => return Ok(Present::Outdated("it is of an earlier version")),
            Place::Index => {}
        }
        let (index, meta) = Corpus::open_meta(dir)?;
        match meta.map(|meta| (meta.unlike(wanted), meta)) {
            // a first commit that was never made
            Err(_) => Ok(Present::Outdated("it is of another version")),
            Ok((Some(why), _)) => Ok(Present::Outdated(why)),
            Ok((None, meta)) => Corpus::open_segments(dir, &index, meta)
                .map(Box::new)
                .map(Present::Current),
        }
    }

    fn open_whole(dir: &Path) -> Result<Self> {
        ensure!(
            disk::look(dir)? == Place::Index,
            "there is no index in {}",
            dir.display()
        );
        let (index, meta) = Corpus::open_meta(dir)?;
        let meta = meta.map_err(|error| damaged(dir, Path::new(disk::META), error))?;
        ensure!(
            meta.format == FORMAT,
            "the index {} is of version {}, not {FORMAT}",
            dir.display(),
            meta.format
        );
        Corpus::open_segments(dir, &index, meta)
    }

    /// tantivy's index, and what is stored of it as a whole if that can be understood. Errors: meta.json is damaged.
    fn open_meta(dir: &Path) -> Result<(Index, Result<Meta>)> {
        let directory = SealedDirectory::open(dir)?;
        let index = Index::open(directory).map_err(|error| broken(dir, &error))?;
        let payload = index.load_metas().map_err(|error| broken(dir, &error))?;
        let meta = payload.payload.context("nothing is said of the index");
        let meta = meta.and_then(|text| Ok(serde_json::from_str(&text)?));
        Ok((index, meta))
    }

    fn open_segments(dir: &Path, index: &Index, meta: Meta) -> Result<Self> {
        let verified = disk::verify(dir, index, false)?;
        let fields = Fields::new(meta.kind);
        if index.schema() != fields.schema {
            bail!(damaged(
                dir,
                Path::new(disk::META),
                "its fields are not those of its kind"
            ));
        }
        let segments = index.searchable_segments();
        let readers = segments.map_err(|error| broken(dir, &error))?;
        let readers: Vec<SegmentReader> = readers
            .par_iter()
            .map(|segment| SegmentReader::open(segment).map_err(|error| broken(dir, &error)))
            .collect::<Result<_>>()?;
        let columns = readers
            .par_iter()
            .map(|reader| {
                segment::Columns::read(reader, &meta.fields)
                    .with_context(|| format!("cannot read the index {}", dir.display()))
            })
            .collect::<Result<Vec<_>>>()?;
        let mut corpus = Corpus {
            dir: dir.to_owned(),
            lengths: vec![Vec::new(); meta.fields.len()],
            marks: Vec::new(),
            some_out: false,
            counts: Vec::new(),
            longest: 0,
            segments: Vec::new(),
            verified,
            fields,
            meta,
            length_scores: Mutex::default(),
            term_counts: Mutex::default(),
            scratches: Mutex::default(),
        };
        for (reader, columns) in readers.into_iter().zip(columns) {
            for (all, own) in corpus.lengths.iter_mut().zip(&columns.lengths) {
                all.extend(own);
            }
            let base = corpus.marks.len() as u32;
            corpus.marks.extend(&columns.marks);
            let segment = Segment::open(reader, base, columns, &corpus.fields);
            let opening = || format!("cannot open the index {}", corpus.dir.display());
            corpus.segments.push(segment.with_context(opening)?);
        }
        let lengths = corpus.lengths.iter().flatten();
        corpus.longest = lengths.copied().max().unwrap_or(0);
        corpus.count();
        Ok(corpus)
    }

    /// Counts what is not out.
    fn count(&mut self) {
        let documents = self.marks.iter().filter(|marks| **marks & OUT == 0).count();
        self.some_out = documents < self.marks.len();
        self.counts = self
            .lengths
            .iter()
            .map(|lengths| FieldCounts {
                documents: documents as u64,
                tokens: lengths
                    .iter()
                    .zip(&self.marks)
                    .filter(|(_, marks)| **marks & OUT == 0)
                    .map(|(length, _)| u64::from(*length))
                    .sum(),
            })
            .collect();
        let known = self.term_counts.get_mut();
        known.unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Leaves out all documents but these: they are neither found nor counted. Returns the number of each of them, none for those
    /// that the index does not have.
    pub(super) fn restrict(&mut self, ids: &[DocId]) -> Vec<Option<u32>> {
        let numbers: Vec<Option<u32>> = ids.par_iter().map(|id| self.number(id)).collect();
        self.marks.iter_mut().for_each(|marks| *marks |= OUT);
        for number in numbers.iter().flatten() {
            if let Some(marks) = self.marks.get_mut(*number as usize) {
                *marks &= !OUT;
            }
        }
        self.count();
        numbers
    }

    /// What is stored of it as a whole.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// What was verified when it was opened.
    pub fn verified(&self) -> Verified {
        self.verified
    }

    /// What there is to say of the whole. Errors: its files cannot be listed.
    pub fn report(&self) -> Result<Report> {
        let names = self.meta.fields.iter().zip(&self.counts);
        Ok(Report {
            directory: self.dir.clone(),
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
            bytes: disk::size(&self.dir)
                .with_context(|| format!("cannot list {}", self.dir.display()))?,
            fingerprint: self.meta.fingerprint.clone(),
        })
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.meta.fields.iter().position(|field| field == name)
    }

    /// The number of documents that can be found.
    pub fn documents(&self) -> u32 {
        self.counts.first().map_or(0, |counts| counts.documents) as u32
    }

    /// The numbers that documents have, those that are out counted in.
    pub(super) fn numbers(&self) -> usize {
        self.marks.len()
    }

    /// The document's number.
    pub fn number(&self, id: &DocId) -> Option<u32> {
        self.segments.iter().find_map(|segment| {
            let number = segment.base + segment.columns.number(&id.0)?;
            self.is_in(number).then_some(number)
        })
    }

    /// The id of the document of that number.
    pub fn id(&self, number: u32) -> Option<DocId> {
        self.id_text(number).map(|id| DocId(id.to_owned()))
    }

    pub(super) fn id_text(&self, number: u32) -> Option<&str> {
        let segment = self.segment_of(number)?;
        segment.columns.id(number - segment.base)
    }

    /// The segment that has the document of that number.
    fn segment_of(&self, number: u32) -> Option<&Segment> {
        let behind = self.segments.partition_point(|s| s.base <= number);
        self.segments.get(behind.checked_sub(1)?)
    }

    fn is_in(&self, number: u32) -> bool {
        let marks = self.marks.get(number as usize);
        marks.is_some_and(|marks| marks & OUT == 0)
    }

    /// Whether a document is out, or has a mark for which it is left out.
    pub(super) fn is_left_out(&self, number: u32, short: bool, duplicates: bool) -> bool {
        let mut wanted = OUT;
        wanted |= if short { schema::SHORT } else { 0 };
        wanted |= if duplicates { schema::DUPLICATE } else { 0 };
        let marks = self.marks.get(number as usize);
        marks.is_none_or(|marks| marks & wanted != 0)
    }

    /// What is marked of the document of that number.
    pub fn marks(&self, number: u32) -> Option<Marks> {
        let bits = *self.marks.get(number as usize)?;
        Some(Marks {
            short: bits & schema::SHORT != 0,
            duplicate: bits & schema::DUPLICATE != 0,
        })
    }

    /// How many terms the document has in a field.
    pub fn length(&self, field: usize, number: u32) -> Option<u32> {
        let lengths = self.lengths.get(field)?;
        lengths.get(number as usize).copied()
    }

    /// The document as it was indexed. Errors: no such document, its texts are damaged.
    pub fn document(&self, id: &DocId) -> Result<Document> {
        self.stored(id).map(|(document, _)| document)
    }

    /// The id of the first document with the same words, if the document is marked as its duplicate. Errors: as
    /// [`Corpus::document`].
    pub fn duplicate_of(&self, id: &DocId) -> Result<Option<DocId>> {
        self.stored(id).map(|(_, first)| first)
    }

    fn stored(&self, id: &DocId) -> Result<(Document, Option<DocId>)> {
        let reading = || format!("cannot read {id} from the index");
        let number = self.number(id);
        let number = number.context("there is none").with_context(reading)?;
        let segment = self
            .segment_of(number)
            .context("a number without segment")?;
        segment
            .document(number - segment.base, &self.fields)
            .map_err(|why| damaged(&self.dir, &segment.store_file(), format!("{why:#}")))
            .with_context(reading)
    }

    /// What is counted of a field.
    pub fn counts(&self, field: usize) -> FieldCounts {
        self.counts.get(field).copied().unwrap_or(FieldCounts {
            documents: 0,
            tokens: 0,
        })
    }

    /// Room for the scores of all documents, none of which has one yet.
    pub(super) fn scratch(&self) -> Scratch {
        let mut kept = self
            .scratches
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        kept.pop().unwrap_or_else(|| Scratch::new(self.numbers()))
    }

    /// Keeps room for the next query; no document may have a score in it.
    pub(super) fn keep_scratch(&self, scratch: Scratch) {
        let mut kept = self
            .scratches
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT_SCRATCHES {
            kept.push(scratch);
        }
    }

    /// A similarity's scores of lengths; empty if it has none.
    pub(super) fn length_scores(&self, similarity: &Similarity) -> Arc<Vec<f64>> {
        // a thread that panicked while it held them has left whole ones
        let kept = self.length_scores.lock();
        let mut kept = kept.unwrap_or_else(PoisonError::into_inner);
        if let Some((_, scores)) = kept.as_ref().filter(|(of, _)| of == similarity) {
            return scores.clone();
        }
        let lengths = 0..=self.longest.min(KNOWN_LENGTHS);
        let scores = lengths.map_while(|length| similarity.length_score(length));
        let scores = Arc::new(scores.collect());
        *kept = Some((similarity.clone(), Arc::clone(&scores)));
        scores
    }

    /// A term's postings and counts; none if no document has it. `cf` is counted where the similarity asks for it, and
    /// remembered: tantivy does not keep it.
    ///
    /// Errors: no such field, postings that cannot be read.
    pub(super) fn find(
        &self,
        field: usize,
        text: &str,
        with_cf: bool,
    ) -> Result<Option<Found<'_>>> {
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
        let mut max_tf = None;
        if counts.df > 0 && (with_cf || self.some_out) {
            let (counted, most) = self.counted(field, text, &postings)?;
            (counts, max_tf) = (counted, Some(most));
        }
        Ok((counts.df > 0).then_some(Found {
            counts,
            max_tf,
            postings,
        }))
    }

    /// The counts of a term over the documents that are not out, and the most often that it is in one of them.
    fn counted(&self, field: usize, text: &str, postings: &Postings) -> Result<Counted> {
        let lock = || {
            let known = self.term_counts.lock();
            known.unwrap_or_else(PoisonError::into_inner)
        };
        let key = (field, Box::from(text));
        if let Some(counts) = lock().get(&key) {
            return Ok(*counts);
        }
        let mut counts = TermCounts { df: 0, cf: 0 };
        let mut max_tf = 0;
        postings.each_block(|block| {
            // of a document that is out, too: it is a bound
            max_tf = block.tfs.iter().copied().fold(max_tf, u32::max);
            if !self.some_out {
                counts.df += block.documents.len() as u64;
                counts.cf += block.tfs.iter().map(|tf| u64::from(*tf)).sum::<u64>();
                return;
            }
            for (document, tf) in block.documents.iter().zip(block.tfs) {
                if self.is_in(block.base + document) {
                    counts.df += 1;
                    counts.cf += u64::from(*tf);
                }
            }
        })?;
        let mut known = lock();
        if known.len() >= KNOWN_TERMS {
            known.clear();
        }
        known.insert(key, (counts, max_tf));
        Ok((counts, max_tf))
    }
}

/// What is there of an index that is wanted.
enum Present {
    Nothing,
    Outdated(&'static str),
    Current(Box<Corpus>),
}

/// A term that documents have.
pub(super) struct Found<'a> {
    pub counts: TermCounts,
    /// The most often that it is in a document, where that was counted.
    pub max_tf: Option<u32>,
    pub postings: Postings<'a>,
}
