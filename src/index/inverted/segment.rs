//! One segment of an index: its columns in memory, its postings and stored texts on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Error, Result, ensure};
use tantivy::TantivyDocument;
use tantivy::index::{InvertedIndexReader, SegmentReader};
use tantivy::store::StoreReader;

use super::disk::text_error;
use super::guarded::guarded;
use super::schema::{self, IndexFields, checksum};
use super::stored::check_document;
use super::{Document, EXCLUDED};

/// Number of decompressed blocks of stored texts that are cached. Few are enough, because documents that are adjacent in a ranking are seldom in
/// the same block.
const CACHED_BLOCKS: usize = 16;

/// An open segment.
pub(crate) struct Segment {
    /// The directory of the index.
    pub dir: Arc<Path>,
    /// The number of the segment's first document.
    pub base: u32,
    /// The postings of each field.
    pub inverted: Vec<Arc<InvertedIndexReader>>,
    pub columns: SegmentColumns,
    /// An error is reported when a text is requested; ranking does not need the texts.
    store: Result<StoreReader>,
    name: String,
}

/// What a ranking needs in memory for every document of a segment.
pub(crate) struct SegmentColumns {
    /// For each field, the length of each document in terms.
    pub lengths: Vec<Vec<u32>>,
    /// The bits [`schema::SHORT`], [`schema::DUPLICATE`] and [`EXCLUDED`].
    pub marks: Vec<u8>,
    /// The checksums of the stored texts.
    pub checksums: Vec<u64>,
    /// The ids of the documents, concatenated; `id_ends` has the end of each.
    ids: String,
    id_ends: Vec<u32>,
    /// The documents, sorted by id.
    by_id: Vec<u32>,
}

impl SegmentColumns {
    /// Reads the columns. Errors: one is missing or incomplete.
    pub fn read(reader: &SegmentReader, fields: &[String]) -> Result<Self> {
        let documents = reader.max_doc() as usize;
        let numbers = |name: &str| -> Result<Vec<u64>> {
            let column = reader.fast_fields().column_first_or_default::<u64>(name)?;
            let mut numbers = vec![0; documents];
            column.get_range(0, &mut numbers);
            Ok(numbers)
        };
        let small = |name: &str| -> Result<Vec<u32>> {
            let numbers = numbers(name)?.into_iter().map(u32::try_from);
            numbers
                .collect::<Result<_, _>>()
                .with_context(|| format!("the column {name} contains too large a number"))
        };
        let lengths = fields.iter();
        let lengths = lengths.map(|field| small(&schema::length_column(field)));
        let mut columns = SegmentColumns {
            lengths: lengths.collect::<Result<_>>()?,
            marks: small(schema::MARKS)?.iter().map(|m| *m as u8).collect(),
            checksums: numbers(schema::CHECKSUM)?,
            ids: String::new(),
            id_ends: Vec::new(),
            by_id: vec![0; documents],
        };
        if let Some(alive) = reader.alive_bitset() {
            for (document, marks) in (0..).zip(&mut columns.marks) {
                if !alive.is_alive(document) {
                    *marks |= EXCLUDED;
                }
            }
        }
        columns.read_ids(reader)?;
        Ok(columns)
    }

    fn read_ids(&mut self, reader: &SegmentReader) -> Result<()> {
        let ids = reader.fast_fields().str(schema::ID)?;
        let ids = ids.context("there is no column of ids")?;
        // `sorted` and `ends` are in the order of the column's dictionary, which is sorted by bytes
        let (mut sorted, mut ends) = (String::new(), vec![0]);
        let mut terms = ids.dictionary().stream()?;
        while terms.advance() {
            sorted.push_str(std::str::from_utf8(terms.key())?);
            ends.push(sorted.len());
        }
        let known = ends.len() == self.by_id.len() + 1;
        ensure!(known, "the number of ids is not the number of documents");
        ensure!(
            u32::try_from(sorted.len()).is_ok(),
            "the ids take more than 4 GiB"
        );
        let ords = ids.ords();
        self.ids.reserve_exact(sorted.len());
        self.id_ends.reserve_exact(self.by_id.len());
        for document in 0..self.by_id.len() as u32 {
            let place = ords.first(document).context("a document has no id")? as usize;
            let range = ends.get(place).zip(ends.get(place + 1));
            let id = range.and_then(|(start, end)| sorted.get(*start..*end));
            self.ids
                .push_str(id.context("an id is not in the dictionary")?);
            self.id_ends.push(self.ids.len() as u32);
            if let Some(slot) = self.by_id.get_mut(place) {
                *slot = document;
            }
        }
        Ok(())
    }

    /// The id of a document.
    pub fn id(&self, document: u32) -> Option<&str> {
        let at = document as usize;
        let end = *self.id_ends.get(at)? as usize;
        let start = match at.checked_sub(1) {
            Some(previous) => *self.id_ends.get(previous)? as usize,
            None => 0,
        };
        self.ids.get(start..end)
    }

    /// The document with this id.
    pub fn number(&self, id: &str) -> Option<u32> {
        let of = |document: &u32| self.id(*document).unwrap_or_default().cmp(id);
        let place = self.by_id.binary_search_by(of).ok()?;
        self.by_id.get(place).copied()
    }
}

impl Segment {
    /// `texts` is the result of [`super::stored::check_skip_index`]. The documents are numbered from 0. Errors: the postings cannot be opened.
    pub fn open(
        dir: Arc<Path>,
        reader: &SegmentReader,
        texts: Result<()>,
        columns: SegmentColumns,
        fields: &IndexFields,
    ) -> Result<Self> {
        let inverted = fields.terms.iter();
        let inverted = inverted.map(|field| reader.inverted_index(*field));
        let store = texts.and_then(|()| guarded(|| reader.get_store_reader(CACHED_BLOCKS)));
        Ok(Segment {
            dir,
            base: 0,
            inverted: inverted.collect::<Result<_, _>>()?,
            columns,
            store: store.and_then(|store| Ok(store?)),
            name: reader.segment_id().uuid_string(),
        })
    }

    pub fn documents(&self) -> u32 {
        self.columns.marks.len() as u32
    }

    /// The file with the stored texts.
    pub(crate) fn store_file(&self) -> PathBuf {
        PathBuf::from(format!("{}.store", self.name))
    }

    /// Reads a stored document and verifies its checksum.
    ///
    /// Errors: it cannot be read, or its checksum does not match.
    pub fn document(&self, document: u32, fields: &IndexFields) -> Result<Document> {
        let error = |why: &Error| text_error(&self.dir, &self.store_file(), why);
        let store = self.store.as_ref().map_err(error)?;
        let read = self.read(store, document, fields);
        read.map_err(|why| error(&why))
    }

    fn read(&self, store: &StoreReader, document: u32, fields: &IndexFields) -> Result<Document> {
        check_document(&guarded(|| store.get_document_bytes(document))??)?;
        let stored = guarded(|| store.get::<TantivyDocument>(document))??;
        let found = fields.read(&stored)?;
        let known = self.columns.checksums.get(document as usize);
        ensure!(
            known == Some(&checksum(&found)),
            "the checksum of a stored text does not match"
        );
        Ok(found)
    }
}
