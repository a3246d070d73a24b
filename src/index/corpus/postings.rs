//! A term's postings over all segments, block by block as tantivy unpacks them.

use anyhow::Result;
use tantivy::Term;
use tantivy::index::InvertedIndexReader;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;

use super::segment::Segment;

/// The documents that have a term, and how often.
pub struct Postings<'a> {
    segments: Vec<InSegment<'a>>,
    /// The lengths of all documents in the term's field.
    lengths: &'a [u32],
}

struct InSegment<'a> {
    index: &'a InvertedIndexReader,
    found: TermInfo,
    base: u32,
    documents: u32,
}

/// Postings of neighbouring documents, up to 128 of them.
pub struct Block<'a> {
    /// Added to a document of `documents` it gives the document's number.
    pub base: u32,
    pub documents: &'a [u32],
    /// How often the term is in each of them, at least once.
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
            self.segments.push(InSegment {
                index,
                found,
                base: segment.base,
                documents: segment.documents(),
            });
        }
        Ok(())
    }

    /// Documents that have the term, deleted ones too.
    pub fn df(&self) -> u64 {
        let dfs = self.segments.iter();
        dfs.map(|segment| u64::from(segment.found.doc_freq)).sum()
    }

    /// Calls with each block, in the order of the documents' numbers. Errors: the postings cannot be read.
    pub fn each_block(&self, mut each: impl FnMut(Block)) -> Result<()> {
        for segment in &self.segments {
            let mut blocks = segment.blocks()?;
            while !blocks.docs().is_empty() {
                each(Block {
                    base: segment.base,
                    documents: blocks.docs(),
                    tfs: blocks.freqs(),
                });
                blocks.advance();
            }
        }
        Ok(())
    }

    /// Calls with the number of each segment's first document, the segment's part of a column over all documents, the documents' lengths,
    /// and the postings in it, block by block. `column` has an entry for each number.
    pub fn each_block_over<T>(
        &self,
        column: &mut [T],
        mut each: impl FnMut(u32, &mut [T], &[u32], &[u32], &[u32]),
    ) -> Result<()> {
        for segment in &self.segments {
            let range = segment.base as usize..(segment.base + segment.documents) as usize;
            let (Some(column), Some(lengths)) =
                (column.get_mut(range.clone()), self.lengths.get(range))
            else {
                continue;
            };
            let mut blocks = segment.blocks()?;
            while !blocks.docs().is_empty() {
                each(segment.base, column, lengths, blocks.docs(), blocks.freqs());
                blocks.advance();
            }
        }
        Ok(())
    }

    /// How often the term is in the document of that number. Errors: the postings cannot be read.
    pub fn frequency(&self, number: u32) -> Result<u32> {
        let mut found = 0;
        self.each_frequency(&[number], |_, tf| found = tf)?;
        Ok(found)
    }

    /// Looks the documents of these numbers up, which are in order, and calls with the place of each that has the term and how often it
    /// has it. Errors: the postings cannot be read.
    pub fn each_frequency(&self, numbers: &[u32], mut each: impl FnMut(usize, u32)) -> Result<()> {
        for segment in &self.segments {
            let from = numbers.partition_point(|n| *n < segment.base);
            let to = numbers.partition_point(|n| *n < segment.base + segment.documents);
            let Some(own) = numbers.get(from..to).filter(|own| !own.is_empty()) else {
                continue;
            };
            let mut blocks = segment.blocks()?;
            for (place, number) in (from..).zip(own) {
                let document = number - segment.base;
                let at = blocks.seek(document);
                if blocks.docs().get(at) == Some(&document) {
                    each(place, blocks.freqs().get(at).copied().unwrap_or(0));
                }
            }
        }
        Ok(())
    }
}

impl InSegment<'_> {
    fn blocks(&self) -> Result<BlockSegmentPostings> {
        let option = IndexRecordOption::WithFreqs;
        Ok(self
            .index
            .read_block_postings_from_terminfo(&self.found, option)?)
    }
}
