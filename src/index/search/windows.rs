//! Computes the scores of all documents, in windows of documents.
//!
//! The sums of a window stay in the processor's nearest caches, from the first term to the choice of the best. Each sum has its terms in the order of the
//! query, whatever the windows are.

use anyhow::Result;

use super::contributions::{ContributionCache, add_exactly};
use super::{Plan, QueryTerm, SearchOptions, TermGroup, Top, length_of};
use crate::index::inverted::{Accumulators, Cursor};

/// Number of documents of a window: their sums take 32 KB. Tests have windows of which a small index has many.
const WINDOW: u32 = if cfg!(test) { 1 << 8 } else { 1 << 12 };

/// The scores of consecutive documents.
pub(super) struct Scored<'s> {
    /// The number of the first document.
    pub first: u32,
    /// The score of each document from its terms; [`UNTOUCHED`](crate::index::inverted::UNTOUCHED) if it has none of them.
    pub scores: &'s [f64],
    /// One bit for each required part of which the document has a term; empty if no part is required.
    pub matched: &'s [u64],
}

/// One window of so many is looked at first, to learn which scores are high.
const SAMPLE: u32 = 8;

/// Which windows of each segment are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pass {
    All,
    /// The first of every [`SAMPLE`].
    Sample,
    /// All others.
    Rest,
}

impl Pass {
    fn has(self, window: u32) -> bool {
        match self {
            Pass::All => true,
            Pass::Sample => window.is_multiple_of(SAMPLE),
            Pass::Rest => !window.is_multiple_of(SAMPLE),
        }
    }
}

impl Plan<'_> {
    /// Collects the best documents among all. Errors: the postings cannot be read.
    pub(super) fn search_all(&self, options: SearchOptions, top: &mut Top) -> Result<()> {
        let mut caches = self.caches();
        let ranges = self.index.ranges();
        let in_sample = |(_, documents): (u32, u32)| {
            let windows = (0..documents.div_ceil(WINDOW)).filter(|n| Pass::Sample.has(*n));
            let sizes = windows.map(|n| documents.min((n + 1) * WINDOW) - n * WINDOW);
            sizes.map(u64::from).sum::<u64>()
        };
        let in_sample: u64 = ranges.map(in_sample).sum();
        let share = in_sample as f64 / self.index.numbers().max(1) as f64;
        if share < 2.0 / f64::from(SAMPLE) {
            // With a threshold that is estimated from some windows, few documents of the others have to be considered. If the estimate was too high, which is
            // rare where neighbours are not much alike, all are considered again.
            self.collect_pass(Pass::Sample, options, &mut caches, top)?;
            let estimated = top.raise_threshold(share);
            self.collect_pass(Pass::Rest, options, &mut caches, top)?;
            if !estimated || top.is_full() {
                return Ok(());
            }
            top.clear();
        }
        self.collect_pass(Pass::All, options, &mut caches, top)
    }

    fn collect_pass(
        &self,
        pass: Pass,
        options: SearchOptions,
        caches: &mut [ContributionCache],
        top: &mut Top,
    ) -> Result<()> {
        self.compute(pass, caches, |window| self.collect(options, &window, top))
    }

    /// Computes the scores of all windows that have a term of the query, and passes them to `see`, one window after the other. Errors: the postings cannot be
    /// read.
    pub(super) fn each_window(&self, see: impl FnMut(Scored)) -> Result<()> {
        self.compute(Pass::All, &mut self.caches(), see)
    }

    /// A cache for each term.
    fn caches(&self) -> Vec<ContributionCache> {
        let terms = self.groups.iter().flat_map(|group| &group.terms);
        terms.map(|_| ContributionCache::default()).collect()
    }

    /// Like [`Plan::each_window`], for the windows of a pass.
    fn compute(
        &self,
        pass: Pass,
        caches: &mut [ContributionCache],
        mut see: impl FnMut(Scored),
    ) -> Result<()> {
        let mut scratch = self.index.scratch();
        for (base, documents) in self.index.ranges() {
            let terms = self.groups.iter().flat_map(|group| &group.terms);
            let cursors = terms.map(|term| term.postings.cursor(base));
            let mut cursors = cursors.collect::<Result<Vec<_>>>()?;
            let mut from = 0;
            while let Some(window) = next_window(pass, from, &mut cursors) {
                let start = window * WINDOW;
                let end = start.saturating_add(WINDOW).min(documents);
                scratch.begin((end - start) as usize, self.must != 0);
                let mut terms = cursors.iter_mut().zip(&mut *caches);
                for group in &self.groups {
                    let sums = self.is_sum(group);
                    for (term, (cursor, cache)) in group.terms.iter().zip(&mut terms) {
                        let Some(cursor) = cursor else { continue };
                        if sums {
                            self.add(term, cache, (cursor, start, end), &mut scratch);
                        } else {
                            self.count((group, term), (cursor, base, start, end), &mut scratch);
                        }
                    }
                    self.add_combined(group, base + start, &mut scratch);
                }
                see(Scored {
                    first: base + start,
                    scores: &scratch.scores,
                    matched: &scratch.matched,
                });
                from = window + 1;
            }
        }
        scratch.clear();
        self.index.return_scratch(scratch);
        Ok(())
    }

    /// Adds the contributions of a term to the scores of the segment's documents from `start` to before `end`.
    fn add(
        &self,
        term: &QueryTerm,
        cache: &mut ContributionCache,
        (cursor, start, end): (&mut Cursor, u32, u32),
        scratch: &mut Accumulators,
    ) {
        let bit = self.must & 1 << term.part;
        let Accumulators {
            scores, matched, ..
        } = scratch;
        add_exactly(term, cache, (cursor, start, end), scores, |documents, _| {
            mark(documents, start, bit, matched);
        });
    }

    /// Adds the frequencies of one of the terms that are scored together to those of the others.
    fn count(
        &self,
        (group, term): (&TermGroup, &QueryTerm),
        (cursor, base, start, end): (&mut Cursor, u32, u32, u32),
        scratch: &mut Accumulators,
    ) {
        let bit = self.must & 1 << term.part;
        cursor.each_before(end, |documents, tfs| {
            for (document, tf) in documents.iter().zip(tfs) {
                let at = (document - start) as usize;
                if let Some(sum) = scratch.frequencies.get_mut(at) {
                    if *sum == 0.0 {
                        scratch.touched.push(at);
                    }
                    *sum += self.frequency(group, term, *tf, base + document);
                }
            }
            mark(documents, start, bit, &mut scratch.matched);
        });
    }

    /// Adds the scores of the frequencies that were counted for a group. `first` is the number of the window's first document.
    fn add_combined(&self, group: &TermGroup, first: u32, scratch: &mut Accumulators) {
        for at in scratch.touched.drain(..) {
            if let (Some(score), Some(frequency)) =
                (scratch.scores.get_mut(at), scratch.frequencies.get_mut(at))
            {
                *score += self.combined(group, *frequency, first + at as u32) + 0.0;
                *frequency = 0.0;
            }
        }
    }

    /// Whether the terms of a group are scored one by one, and not the sum of their frequencies.
    pub(super) fn is_sum(&self, group: &TermGroup) -> bool {
        !self.similarity.combines_fields() && group.joined.is_empty()
    }

    /// The contribution of a group to a document's score; `frequency` is the sum of its terms' frequencies.
    pub(super) fn combined(&self, group: &TermGroup, frequency: f64, number: u32) -> f64 {
        let Some(first) = group.terms.first() else {
            return 0.0;
        };
        if group.joined.is_empty() {
            // BM25F: the weight of a term in the query is the largest of its weights in the parts
            let weights = group.terms.iter().map(|term| term.term_weight);
            return weights.fold(0.0, f64::max) * first.score.score(frequency, 0);
        }
        let length = length_of(self.index, group.joined, number);
        first.field_weight * first.term_weight * first.score.score(frequency, length)
    }

    /// What `tf` occurrences of a term in one field add to the frequency of its group: `tf` if the fields are joined; for BM25F, `tf` weighted
    /// and normalised by the length of the field.
    pub(super) fn frequency(
        &self,
        group: &TermGroup,
        term: &QueryTerm,
        tf: u32,
        number: u32,
    ) -> f64 {
        if !group.joined.is_empty() {
            return f64::from(tf);
        }
        let length = self.index.length(term.field, number).unwrap_or(0);
        let occurrence = self.similarity.occurrence(term.field, term.counts, length);
        term.field_weight * f64::from(tf) * occurrence
    }
}

/// The next window of a pass, not before `from`, in which a term has postings; `None` if there is none. The cursors move to it.
fn next_window(pass: Pass, from: u32, cursors: &mut [Option<Cursor>]) -> Option<u32> {
    let mut window = from;
    loop {
        while !pass.has(window) {
            window += 1;
        }
        if window > from {
            for cursor in cursors.iter_mut().flatten() {
                if cursor.document().is_some_and(|at| at < window * WINDOW) {
                    cursor.seek(window * WINDOW);
                }
            }
        }
        let first = cursors
            .iter()
            .flatten()
            .filter_map(Cursor::document)
            .min()?;
        if first / WINDOW == window {
            return Some(window);
        }
        window = first / WINDOW;
    }
}

/// Sets a required part's bit for each of these documents; `bit` is 0 if the part is not required.
fn mark(documents: &[u32], start: u32, bit: u64, matched: &mut [u64]) {
    if bit == 0 {
        return;
    }
    for document in documents {
        if let Some(bits) = matched.get_mut((document - start) as usize) {
            *bits |= bit;
        }
    }
}
