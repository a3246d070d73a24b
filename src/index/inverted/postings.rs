//! The postings of a term in all segments, read in the blocks that tantivy decompresses.

use anyhow::Result;
use tantivy::Term;
use tantivy::index::InvertedIndexReader;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;

use super::segment::Segment;

/// The documents that contain a term, with its frequencies.
pub(crate) struct Postings<'a> {
    segments: Vec<SegmentPostings<'a>>,
    /// The lengths of all documents in the field, by number.
    lengths: &'a [u32],
}

struct SegmentPostings<'a> {
    index: &'a InvertedIndexReader,
    term: TermInfo,
    base: u32,
    documents: u32,
}

/// A position in the postings of a term in one segment, which moves forward only.
pub(crate) struct Cursor<'a> {
    blocks: BlockSegmentPostings,
    /// The position in the current block.
    at: usize,
    /// The lengths of the segment's documents in the field.
    pub(crate) lengths: &'a [u32],
}

/// Up to 128 consecutive postings of a segment.
pub(crate) struct PostingBlock<'a> {
    /// The number of the segment's first document. An entry of `documents` plus this is a document's number.
    pub base: u32,
    pub documents: &'a [u32],
    /// The frequency of the term in each document, at least 1.
    pub tfs: &'a [u32],
}

impl<'a> Postings<'a> {
    pub(super) fn new(lengths: &'a [u32]) -> Self {
        Postings {
            segments: Vec::new(),
            lengths,
        }
    }

    /// Looks the term up in one more segment.
    pub(super) fn add(&mut self, segment: &'a Segment, field: usize, term: &Term) -> Result<()> {
        let Some(index) = segment.inverted.get(field) else {
            return Ok(());
        };
        if let Some(found) = index.get_term_info(term)? {
            self.segments.push(SegmentPostings {
                index,
                term: found,
                base: segment.base,
                documents: segment.documents(),
            });
        }
        Ok(())
    }

    /// The document frequency, including excluded documents.
    pub fn df(&self) -> u64 {
        let dfs = self.segments.iter();
        dfs.map(|segment| u64::from(segment.term.doc_freq)).sum()
    }

    /// Calls `each` with each block, in the order of the documents' numbers. Errors: the postings cannot be read.
    pub(crate) fn each_block(&self, mut each: impl FnMut(PostingBlock)) -> Result<()> {
        for segment in &self.segments {
            let mut blocks = segment.blocks()?;
            while !blocks.docs().is_empty() {
                each(PostingBlock {
                    base: segment.base,
                    documents: blocks.docs(),
                    tfs: blocks.freqs(),
                });
                blocks.advance();
            }
        }
        Ok(())
    }

    /// The first position in the segment whose first document has the number `base`; `None` if none of its documents contains the term. Errors: the
    /// postings cannot be read.
    pub(crate) fn cursor(&self, base: u32) -> Result<Option<Cursor<'a>>> {
        let mut segments = self.segments.iter();
        let Some(segment) = segments.find(|segment| segment.base == base) else {
            return Ok(None);
        };
        let range = base as usize..(base + segment.documents) as usize;
        Ok(Some(Cursor {
            blocks: segment.blocks()?,
            at: 0,
            lengths: self.lengths.get(range).unwrap_or_default(),
        }))
    }

    /// The frequency of the term in the document with this number; 0 if the document does not contain it. Errors: the postings cannot be read.
    pub fn frequency(&self, number: u32) -> Result<u32> {
        let mut found = 0;
        self.each_frequency(&[number], |_, tf| found = tf)?;
        Ok(found)
    }

    /// Looks up documents by number. Calls `each` for each document that contains the term, with its position in `numbers` and the frequency.
    /// `numbers` must be in ascending order. Errors: the postings cannot be read.
    pub(crate) fn each_frequency(
        &self,
        numbers: &[u32],
        mut each: impl FnMut(usize, u32),
    ) -> Result<()> {
        for segment in &self.segments {
            let from = numbers.partition_point(|n| *n < segment.base);
            let to = numbers.partition_point(|n| *n < segment.base + segment.documents);
            let Some(own) = numbers.get(from..to).filter(|own| !own.is_empty()) else {
                continue;
            };
            let mut blocks = segment.blocks()?;
            for (position, number) in (from..).zip(own) {
                let document = number - segment.base;
                let at = blocks.seek(document);
                if blocks.docs().get(at) == Some(&document) {
                    each(position, blocks.freqs().get(at).copied().unwrap_or(0));
                }
            }
        }
        Ok(())
    }
}

impl<'a> Cursor<'a> {
    /// The document at this position, by its number in the segment; `None` at the end.
    pub(crate) fn document(&self) -> Option<u32> {
        self.blocks.docs().get(self.at).copied()
    }

    /// Passes the documents before `end`, with their frequencies, to `each`, block by block, and moves to the first document from `end` on.
    pub(crate) fn each_before(&mut self, end: u32, mut each: impl FnMut(&[u32], &[u32])) {
        loop {
            let documents = self.blocks.docs().get(self.at..).unwrap_or_default();
            let tfs = self.blocks.freqs().get(self.at..).unwrap_or_default();
            let count = match documents.last() {
                None => return,
                Some(last) if *last < end => documents.len(),
                Some(_) => documents.partition_point(|document| *document < end),
            };
            if let (Some(documents), Some(tfs)) = (documents.get(..count), tfs.get(..count)) {
                each(documents, tfs);
            }
            if count < documents.len() {
                self.at += count;
                return;
            }
            self.blocks.advance();
            self.at = 0;
        }
    }

    /// Moves forward to a document, or to the next one that contains the term. Returns the frequency of the term in the document; 0 if the document does
    /// not contain it.
    pub(crate) fn seek(&mut self, document: u32) -> u32 {
        self.at = self.blocks.seek(document);
        let tf = match self.blocks.docs().get(self.at) {
            Some(found) if *found == document => self.blocks.freqs().get(self.at),
            _ => None,
        };
        tf.copied().unwrap_or(0)
    }
}

impl SegmentPostings<'_> {
    fn blocks(&self) -> Result<BlockSegmentPostings> {
        let option = IndexRecordOption::WithFreqs;
        Ok(self
            .index
            .read_block_postings_from_terminfo(&self.term, option)?)
    }
}
