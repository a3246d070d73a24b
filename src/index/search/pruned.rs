//! Finds the best documents without computing the scores of most others (MaxScore: Turtle and Flood 1995), in windows of documents.
//!
//! A window is so small that its sums stay in the processor's nearest cache. The threshold is the k-th best score of the windows so far. Some terms have
//! bounds so low that a document which contains only these terms does not reach the threshold; they are the most frequent ones. Their postings are not
//! added up. They are looked up, for the few documents that they can still lift to the threshold. When the threshold rises, there are more such terms.
//! Before there is a threshold, there are none, so the first windows are small.
//!
//! This order of summation differs from that of [`super::Plan`], and contributions can be estimated from tables, so the sums can differ in the
//! last digits. Therefore the sums only select candidates, whose scores are then computed in the order of the query.
//!
//! If a similarity needs counts of each term's postings, bounds for blocks of postings ([`BlockBounds`](crate::index::inverted::BlockBounds)) come
//! for free, and are used. BM25 needs no counts; for it, reading the bounds takes as long as the look-ups that they save (docs/speed.md).

use anyhow::Result;

use super::contributions::{Estimate, add_by_formula, add_each, add_to, contribution_of};
use super::{Plan, QueryTerm, SearchOptions, Top};
use crate::index::inverted::{Accumulators, Cursor, UNTOUCHED};
use crate::index::similarity::TermScore;

/// If k is more than one in this number of documents, computing all scores is faster.
const MIN_DOCUMENTS_PER_RESULT: usize = 1000;

/// Sums of the same terms in different orders differ by less than this, relative to the terms' weights and bounds.
const ROUNDING: f64 = 1e-9;

/// The first window is expected to have this number of postings that are added up for each result, and each window twice as many as the one before,
/// until one is full.
const FIRST_WINDOW: u64 = 16;
const FULL_WINDOW: u64 = 1 << 12;

/// A term, and an upper bound of its contribution to a score.
struct Bounded<'p, 'q> {
    term: &'p QueryTerm<'q>,
    /// The position of the term in the query.
    place: usize,
    bound: f64,
    estimate: Estimate,
}

/// A search of the best k documents, while postings are read.
struct Pruned<'p, 'q> {
    plan: &'p Plan<'q>,
    options: SearchOptions,
    /// The terms, those with the highest bounds first.
    terms: Vec<Bounded<'p, 'q>>,
    /// The positions of the terms of the query in `terms`, in the order of the query.
    order: Vec<usize>,
    /// The sum of the bounds of the terms from each one on, and 0 at the end.
    bounds_from: Vec<f64>,
    /// The scores of the best documents of all windows so far.
    best: TopValues,
    /// Documents below this score are not among the best.
    threshold: f64,
    /// A bound of the difference between two sums of the same contributions.
    slack: f64,
    /// The expected number of postings in the next window.
    window_postings: u64,
}

/// The documents of a segment from `start` to before `end`, whose scores are computed together.
#[derive(Default)]
struct Window {
    start: u32,
    end: u32,
    /// The number of the segment's first document.
    base: u32,
    /// The postings of the terms that are added up, and where those of each term end.
    documents: Vec<u32>,
    tfs: Vec<u32>,
    ends: Vec<usize>,
    candidates: Vec<Candidate>,
    /// For each candidate and term, the frequency, if it was looked up.
    looked_up: Vec<u32>,
}

/// A document that may be among the best.
#[derive(Clone, Copy, Default)]
struct Candidate {
    /// Its number in the segment.
    document: u32,
    /// Its contributions so far.
    sum: f64,
    /// Where its frequencies begin in [`Window::looked_up`].
    row: usize,
}

impl Plan<'_> {
    /// Collects the best documents. Returns `false` and collects nothing if this would not be faster than computing all scores, or if
    /// the contributions have no bounds.
    pub(super) fn search_pruned(&self, options: SearchOptions, top: &mut Top) -> Result<bool> {
        if options.k > self.index.numbers() / MIN_DOCUMENTS_PER_RESULT {
            return Ok(false);
        }
        let Some(mut terms) = self.bounded() else {
            return Ok(false);
        };
        terms.sort_by(|a, b| b.bound.total_cmp(&a.bound));
        let mut bounds_from = vec![0.0];
        for term in terms.iter().rev() {
            bounds_from.push(term.bound + bounds_from.last().unwrap_or(&0.0));
        }
        bounds_from.reverse();
        let mut order: Vec<usize> = (0..terms.len()).collect();
        order.sort_by_key(|at| terms.get(*at).map(|term| term.place));
        let weights = terms.iter().map(|term| term.term.weight());
        let size = weights.sum::<f64>() + bounds_from.first().unwrap_or(&0.0);
        let mut search = Pruned {
            plan: self,
            options,
            terms,
            order,
            bounds_from,
            best: TopValues::new(options.k),
            threshold: f64::NEG_INFINITY,
            slack: ROUNDING * (1.0 + size),
            window_postings: FIRST_WINDOW * options.k as u64,
        };
        let mut scratch = self.index.scratch();
        for range in self.index.ranges() {
            search.search_segment(range, &mut scratch, top)?;
        }
        self.index.return_scratch(scratch);
        Ok(true)
    }

    /// The terms with their bounds; `None` if a contribution can be negative, if a part is required, or if fields are scored as one.
    fn bounded(&self) -> Option<Vec<Bounded<'_, '_>>> {
        let negative = self.lengths.iter().any(|(_, weight)| *weight < 0.0);
        let joins = self.groups.iter().any(|group| !group.joined.is_empty());
        if self.must != 0 || negative || joins || self.similarity.combines_fields() {
            return None;
        }
        let terms = self.groups.iter().flat_map(|group| &group.terms);
        let bounded = terms.enumerate().map(|(place, term)| {
            if term.weight() < 0.0 || !term.score.is_monotonic() {
                return None;
            }
            let exact = contribution_of(term);
            let bound = match &term.bounds {
                Some(bounds) => bounds.highest(exact),
                None => term.weight() * term.score.bound()?,
            };
            let estimate = Estimate::of(term);
            Some(Bounded {
                term,
                place,
                bound,
                estimate,
            })
        });
        bounded.collect()
    }
}

impl Pruned<'_, '_> {
    /// Collects the best documents of the segment with these documents.
    fn search_segment(
        &mut self,
        (base, documents): (u32, u32),
        scratch: &mut Accumulators,
        top: &mut Top,
    ) -> Result<()> {
        let cursors = self.terms.iter();
        let cursors = cursors.map(|term| term.term.postings.cursor(base));
        let mut cursors = cursors.collect::<Result<Vec<_>>>()?;
        let mut window = Window::default();
        loop {
            let added = self.added();
            let firsts = cursors.iter().take(added).flatten();
            let Some(start) = firsts.filter_map(Cursor::document).min() else {
                return Ok(());
            };
            let end = start.saturating_add(self.window_size(added)).min(documents);
            window.begin(base, start, end);
            let sums = scratch.sums((end - start) as usize);
            let (to_add, to_look_up) = cursors.split_at_mut(added);
            for (term, cursor) in self.terms.iter().zip(to_add) {
                if let Some(cursor) = cursor {
                    window.add(self.plan, term, cursor, sums);
                }
                window.ends.push(window.documents.len());
            }
            self.select(&mut window, added, sums);
            for (place, cursor) in (added..).zip(to_look_up) {
                if window.candidates.is_empty() {
                    break;
                }
                if let (Some(term), Some(cursor)) = (self.terms.get(place), cursor) {
                    let missing = self.threshold - self.bound_from(place + 1);
                    window.look_up(self.plan, (term, place), cursor, missing);
                }
                self.reduce(&mut window, place + 1);
            }
            self.finish(&window, top);
        }
    }

    /// The number of terms whose postings are added up. All other terms together do not reach the threshold.
    fn added(&self) -> usize {
        let bounds = self.bounds_from.iter().take(self.terms.len());
        let reaches = |bound: &&f64| **bound + self.slack >= self.threshold;
        bounds.take_while(reaches).count()
    }

    /// The number of documents of the next window, if this number of terms is added up.
    fn window_size(&mut self, added: usize) -> u32 {
        let terms = self.terms.iter().take(added);
        let postings: u64 = terms.map(|term| term.term.postings.df()).sum();
        let documents = self.plan.index.numbers() as u64;
        let size = self.window_postings * documents / postings.max(1);
        self.window_postings = (2 * self.window_postings).min(FULL_WINDOW);
        u32::try_from(size.max(64).min(documents)).unwrap_or(u32::MAX)
    }

    /// What the terms from this one on, and differences in the order of summation, can add to a sum.
    fn bound_from(&self, place: usize) -> f64 {
        self.bounds_from.get(place).copied().unwrap_or(0.0) + self.slack
    }

    /// Makes candidates of those documents of the window that the terms from `place` on can lift to the threshold, and clears the sums.
    fn select(&mut self, window: &mut Window, place: usize, sums: &mut [f64]) {
        let bound = self.bound_from(place);
        // length scores are never positive
        let least = self.threshold - bound;
        // Most documents are left out here. Whether one is cannot be foreseen, so the processor would often take the wrong branch: each document is written,
        // and the next one takes its place if it is left out.
        let mut candidates = std::mem::take(&mut window.candidates);
        candidates.resize(window.documents.len(), Candidate::default());
        let mut count = 0;
        for document in &window.documents {
            let sum = sums.get_mut((document - window.start) as usize);
            if let (Some(sum), Some(candidate)) = (sum, candidates.get_mut(count)) {
                // a document with several terms is here several times, but has its sum only once
                let sum = std::mem::replace(sum, UNTOUCHED);
                (candidate.document, candidate.sum) = (*document, sum);
                count += usize::from((sum >= least) & (sum.to_bits() != UNTOUCHED.to_bits()));
            }
        }
        candidates.truncate(count);
        window.candidates = candidates;
        let mut largest = self.best.clone();
        let (plan, slack) = (self.plan, self.slack);
        let threshold = &mut self.threshold;
        window.candidates.retain_mut(|candidate| {
            let number = window.base + candidate.document;
            candidate.sum = plan.with_lengths(candidate.sum, number);
            // the threshold rises meanwhile, so this lets too many documents through
            if candidate.sum + bound < *threshold || plan.index.is_filtered(number, &self.options) {
                return false;
            }
            largest.push(candidate.sum);
            *threshold = threshold.max(largest.threshold - slack);
            true
        });
        self.threshold = self.threshold.max(largest.cut() - slack);
        let least = self.threshold - bound;
        window.candidates.retain(|candidate| candidate.sum >= least);
        // the documents of each term are in order already, which this sort makes use of
        window
            .candidates
            .sort_by_key(|candidate| candidate.document);
        let count = self.terms.len();
        for (at, candidate) in window.candidates.iter_mut().enumerate() {
            candidate.row = at * count;
        }
        window.looked_up.clear();
        window.looked_up.resize(window.candidates.len() * count, 0);
    }

    /// Leaves out the candidates that the terms from `place` on cannot lift to the threshold.
    fn reduce(&mut self, window: &mut Window, place: usize) {
        if window.candidates.len() > self.options.k {
            let mut largest = self.best.clone();
            for candidate in &window.candidates {
                largest.push(candidate.sum);
            }
            self.threshold = self.threshold.max(largest.cut() - self.slack);
        }
        let bound = self.bound_from(place);
        window
            .candidates
            .retain(|candidate| candidate.sum + bound >= self.threshold);
    }

    /// Computes the scores of the candidates in the order of the query, and collects them.
    fn finish(&mut self, window: &Window, top: &mut Top) {
        for candidate in &window.candidates {
            let mut sum = UNTOUCHED;
            let number = window.base + candidate.document;
            for place in &self.order {
                let Some(Bounded { term, .. }) = self.terms.get(*place) else {
                    continue;
                };
                let tf = window.frequency(candidate, *place);
                if tf > 0 {
                    let length = self.plan.index.length(term.field, number).unwrap_or(0);
                    add_to(&mut sum, contribution_of(term)(tf, length));
                }
            }
            let score = self.plan.with_lengths(sum, number);
            if score >= self.threshold {
                self.best.push(score);
                top.push(score, number);
            }
        }
        self.threshold = self.threshold.max(self.best.cut());
    }
}

impl Bounded<'_, '_> {
    /// The contribution of the term, which can differ from the exact one in the last digits.
    #[inline(always)]
    fn contribution(&self, plan: &Plan, tf: u32, length: u32) -> f64 {
        let weight = self.term.weight();
        match &self.estimate {
            Estimate::LuceneDirichlet(logarithms) => {
                weight * (logarithms.get(tf) + plan.length_score(length)).max(0.0)
            }
            Estimate::Dirichlet(logarithms) => weight * logarithms.get(tf),
            Estimate::Exact => contribution_of(self.term)(tf, length),
        }
    }
}

impl Window {
    /// Empties the window, for the documents of the segment from `start` to before `end`.
    fn begin(&mut self, base: u32, start: u32, end: u32) {
        (self.base, self.start, self.end) = (base, start, end);
        self.documents.clear();
        self.tfs.clear();
        self.ends.clear();
        self.candidates.clear();
    }

    /// Adds the contributions of a term to the sums of the documents that contain it.
    fn add(&mut self, plan: &Plan, term: &Bounded, cursor: &mut Cursor, sums: &mut [f64]) {
        let weight = term.term.weight();
        let range = (cursor, self.start, self.end);
        let keep = |documents: &[u32], tfs: &[u32]| {
            self.documents.extend_from_slice(documents);
            self.tfs.extend_from_slice(tfs);
        };
        match (&term.estimate, term.term.score) {
            (Estimate::LuceneDirichlet(logarithms), _) => {
                let score = |tf, length| logarithms.get(tf) + plan.length_score(length);
                let contribution = |tf, length| weight * score(tf, length).max(0.0);
                add_each(range, sums, contribution, keep);
            }
            (Estimate::Dirichlet(logarithms), _) => {
                add_each(range, sums, |tf, _| weight * logarithms.get(tf), keep);
            }
            (Estimate::Exact, TermScore::Bm25 { idf, floor, slope }) => {
                // with this the compiler knows the formula
                let formula = TermScore::Bm25 { idf, floor, slope };
                let contribution = |tf, length| weight * formula.score(f64::from(tf), length);
                add_by_formula(range, sums, contribution, keep);
            }
            (Estimate::Exact, _) => add_each(range, sums, contribution_of(term.term), keep),
        }
    }

    /// Looks up the candidates in the postings of the term at `place`. Gives up those whose sums stay below `missing` with the highest contribution in
    /// their block, or with the highest frequency in it and their own length.
    fn look_up(
        &mut self,
        plan: &Plan,
        (term, place): (&Bounded, usize),
        cursor: &mut Cursor,
        missing: f64,
    ) {
        let score = |tf, length| term.contribution(plan, tf, length);
        let bounds = term.term.bounds.as_deref();
        // the block of the last candidate, and its bounds
        let mut block = None;
        let (mut highest, mut most) = (f64::INFINITY, 0);
        let lengths = cursor.lengths;
        for candidate in &mut self.candidates {
            let length = lengths.get(candidate.document as usize);
            let length = length.copied().unwrap_or(0);
            if let Some(bounds) = bounds {
                let own = bounds.block(block.unwrap_or(0), self.base + candidate.document);
                if block != Some(own) {
                    block = Some(own);
                    highest = bounds.highest_of_block(own, score);
                    most = bounds.highest_frequency(own);
                }
                let bound = highest.min(score(most, length));
                if candidate.sum + bound < missing {
                    candidate.sum = f64::NEG_INFINITY;
                    continue;
                }
            }
            let tf = cursor.seek(candidate.document);
            if let Some(known) = self.looked_up.get_mut(candidate.row + place)
                && tf > 0
            {
                *known = tf;
                candidate.sum += score(tf, length);
            }
        }
    }

    /// The frequency of the term at `place` in a candidate; 0 if it does not contain the term.
    fn frequency(&self, candidate: &Candidate, place: usize) -> u32 {
        let Some(end) = self.ends.get(place) else {
            let looked_up = self.looked_up.get(candidate.row + place);
            return looked_up.copied().unwrap_or(0);
        };
        let start = place
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let start = start.copied().unwrap_or(0);
        let documents = self.documents.get(start..*end).unwrap_or_default();
        let found = documents.binary_search(&candidate.document).ok();
        let tf = found.and_then(|at| self.tfs.get(start + at));
        tf.copied().unwrap_or(0)
    }
}

/// Keeps the k largest of a sequence of numbers, and some more.
#[derive(Clone)]
struct TopValues {
    k: usize,
    numbers: Vec<f64>,
    /// Later numbers are among the k largest only if they are above this.
    threshold: f64,
}

impl TopValues {
    fn new(k: usize) -> Self {
        TopValues {
            k,
            numbers: Vec::new(),
            threshold: f64::NEG_INFINITY,
        }
    }

    #[inline(always)]
    fn push(&mut self, number: f64) {
        if number > self.threshold {
            self.numbers.push(number);
            if self.numbers.len() >= 4 * self.k.max(8) {
                self.cut();
            }
        }
    }

    /// Removes all but the k largest numbers. Returns the k-th largest.
    fn cut(&mut self) -> f64 {
        if self.numbers.len() >= self.k {
            let descending = |a: &f64, b: &f64| b.total_cmp(a);
            let (_, last, _) = self.numbers.select_nth_unstable_by(self.k - 1, descending);
            self.threshold = *last;
            self.numbers.truncate(self.k);
        }
        self.threshold
    }
}

#[cfg(test)]
mod tests;
