//! The counts of all terms of an index. The counts of shards are added up to the counts of the whole collection.

use anyhow::{Result, anyhow};
use rustc_hash::{FxHashMap, FxHashSet};
use tantivy::schema::IndexRecordOption;

use super::Corpus;
use crate::index::similarity::TermCounts;

impl Corpus {
    /// Calls `each` with every term of a field, or of several fields that are scored as one, and its counts over all documents. The order of the
    /// terms is arbitrary.
    ///
    /// # Errors
    /// There is no such field, the postings cannot be read, or `each` fails.
    pub fn each_term(
        &self,
        fields: &[usize],
        each: &mut dyn FnMut(&str, TermCounts) -> Result<()>,
    ) -> Result<()> {
        if let [field] = fields {
            for (term, counts) in &self.counts_of_all(*field)? {
                each(term, *counts)?;
            }
            return Ok(());
        }
        let mut terms: FxHashSet<Box<str>> = FxHashSet::default();
        for field in fields {
            terms.extend(self.counts_of_all(*field)?.into_keys());
        }
        for term in terms {
            let mut found = Vec::new();
            for field in fields {
                found.extend(self.find(*field, &term, true)?);
            }
            let counts = TermCounts {
                df: self.documents_with(found.iter().map(|term| &term.postings))?,
                cf: found.iter().map(|term| term.counts.cf).sum(),
            };
            each(&term, counts)?;
        }
        Ok(())
    }

    fn counts_of_all(&self, field: usize) -> Result<FxHashMap<Box<str>, TermCounts>> {
        let mut all: FxHashMap<Box<str>, TermCounts> = FxHashMap::default();
        for segment in &self.segments {
            let index = segment.inverted.get(field);
            let index = index.ok_or_else(|| anyhow!("there is no such field"))?;
            let mut terms = index.terms().stream()?;
            while let Some((term, info)) = terms.next() {
                let term = std::str::from_utf8(term)?;
                let option = IndexRecordOption::WithFreqs;
                let mut blocks = index.read_block_postings_from_terminfo(info, option)?;
                let mut counts = TermCounts { df: 0, cf: 0 };
                while !blocks.docs().is_empty() {
                    counts.df += blocks.docs().len() as u64;
                    counts.cf += blocks.freqs().iter().map(|tf| u64::from(*tf)).sum::<u64>();
                    blocks.advance();
                }
                match all.get_mut(term) {
                    Some(sum) => {
                        sum.df += counts.df;
                        sum.cf += counts.cf;
                    }
                    None => {
                        all.insert(term.into(), counts);
                    }
                }
            }
        }
        Ok(all)
    }
}
