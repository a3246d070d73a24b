//! Finds the best documents without computing the scores of most others (MaxScore: Turtle and Flood 1995).
//!
//! The terms with the highest bounds, which are the rarest terms, come first. At some point the remaining terms together cannot lift a document
//! that contains none of the earlier ones into the best k. From then on, postings are not added up, but looked up for the few candidates that
//! the remaining terms can still lift. This order of summation differs from that of [`super::Plan`], so the sums can differ in the last digits.
//! Therefore the sums only select candidates, whose scores are then computed in the order of the query.

use anyhow::Result;

use super::contributions::{ContributionCache, add_to, contribution_of};
use super::{Plan, QueryTerm, SearchOptions, Top};
use crate::index::inverted::UNTOUCHED;

/// Looking up a document in a posting list is assumed to take as long as adding this number of postings.
const LOOK_UP_COST: u64 = 20;

/// If k is more than one in this number of documents, computing all scores is faster.
const MIN_DOCUMENTS_PER_RESULT: usize = 1024;

/// Sums of the same terms in different orders differ by less than this, relatively.
const ROUNDING: f64 = 1e-9;

/// A term, and an upper bound of its contribution to a score.
struct Bounded<'p, 'q> {
    term: &'p QueryTerm<'q>,
    bound: f64,
}

impl Plan<'_> {
    /// Collects the best documents. Returns `false` and collects nothing if this would not be faster than computing all scores, or if
    /// the contributions have no bounds.
    pub(super) fn search_pruned(&self, options: SearchOptions, top: &mut Top) -> Result<bool> {
        let index = self.index;
        if options.k > index.numbers() / MIN_DOCUMENTS_PER_RESULT {
            return Ok(false);
        }
        let Some(mut terms) = self.bounded() else {
            return Ok(false);
        };
        terms.sort_by(|a, b| b.bound.total_cmp(&a.bound));
        // the sums of the bounds of the terms that are added up, and of the others
        let mut added_bound = 0.0;
        let mut remaining_bound: f64 = terms.iter().map(|term| term.bound).sum();
        let mut postings: u64 = terms.iter().map(|term| term.term.postings.df()).sum();
        let mut scratch = index.scratch();
        let mut cache = ContributionCache::default();
        let mut touched: Vec<u32> = Vec::new();
        // documents that may be among the best, with their sums so far
        let mut candidates: Vec<(u32, f64)> = Vec::new();
        let mut remaining = terms.iter();
        for Bounded { term, bound } in remaining.by_ref() {
            cache.add_touching(&mut scratch.scores, &mut touched, term)?;
            added_bound += bound;
            remaining_bound -= bound;
            postings -= term.postings.df();
            // no sum exceeds `added_bound`: a document with only the remaining terms may still be the best
            if postings > 0 && (remaining_bound >= added_bound || touched.len() < options.k) {
                continue;
            }
            candidates.clear();
            let threshold = {
                let sums = touched.iter().filter_map(|number| {
                    let sum = *scratch.scores.get(*number as usize)?;
                    let sum = self.with_lengths(sum, *number);
                    let filtered = index.is_filtered(*number, &options);
                    (!filtered).then_some((*number, sum))
                });
                select_candidates(sums, options.k, remaining_bound, &mut candidates)
            };
            // a document without any of the terms so far scores at most `remaining_bound`; length scores are never positive
            let decided = remaining_bound + slack(threshold, remaining_bound) < threshold;
            if postings == 0 || decided && candidates.len() as u64 * LOOK_UP_COST <= postings {
                break;
            }
        }
        for number in touched {
            if let Some(score) = scratch.scores.get_mut(number as usize) {
                *score = UNTOUCHED;
            }
        }
        index.return_scratch(scratch);
        candidates.sort_unstable_by_key(|(number, _)| *number);
        for Bounded { term, bound } in remaining {
            self.add_looked_up(term, &mut candidates)?;
            remaining_bound -= bound;
            let sums = candidates.clone().into_iter();
            select_candidates(sums, options.k, remaining_bound, &mut candidates);
        }
        candidates.iter_mut().for_each(|(_, sum)| *sum = UNTOUCHED);
        for term in self.groups.iter().flat_map(|group| &group.terms) {
            self.add_looked_up(term, &mut candidates)?;
        }
        for (number, score) in candidates {
            top.push(self.with_lengths(score, number), number);
        }
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
        terms
            .map(|term| {
                let weight = term.field_weight * term.term_weight;
                let maximum = term.score.bound(term.max_tf)?;
                (weight >= 0.0).then_some(Bounded {
                    term,
                    bound: weight * maximum,
                })
            })
            .collect()
    }

    /// Adds a term's contributions to the sums of the documents that contain it. The documents are in ascending order.
    fn add_looked_up(&self, term: &QueryTerm, documents: &mut [(u32, f64)]) -> Result<()> {
        let lengths = self.index.lengths.get(term.field);
        let lengths = lengths.map_or(&[][..], Vec::as_slice);
        let numbers: Vec<u32> = documents.iter().map(|(number, _)| *number).collect();
        let score = contribution_of(term);
        term.postings.each_frequency(&numbers, |at, tf| {
            if let Some((number, sum)) = documents.get_mut(at)
                && let Some(length) = lengths.get(*number as usize)
            {
                add_to(sum, score(tf, *length));
            }
        })
    }
}

/// A bound of the difference between two sums of the same terms in different orders.
fn slack(threshold: f64, bound: f64) -> f64 {
    ROUNDING * (threshold.abs() + bound.abs() + 1.0)
}

/// Selects the documents that can be among the best k if at most `remaining_bound` is added to their sums, and puts them into `candidates` in
/// the same order. Returns the k-th largest sum; if there are fewer than k documents, all are candidates.
fn select_candidates(
    documents: impl Iterator<Item = (u32, f64)>,
    k: usize,
    remaining_bound: f64,
    candidates: &mut Vec<(u32, f64)>,
) -> f64 {
    candidates.clear();
    let mut largest = TopValues::new(k);
    // the threshold rises during this loop, so the loop lets too many documents through
    for (number, sum) in documents {
        let threshold = largest.threshold;
        if sum + remaining_bound + slack(threshold, remaining_bound) >= threshold {
            candidates.push((number, sum));
            largest.push(sum);
        }
    }
    let threshold = largest.finish();
    let slack = slack(threshold, remaining_bound);
    candidates.retain(|(_, sum)| sum + remaining_bound + slack >= threshold);
    threshold
}

/// The k-th largest of some numbers; minus infinity if there are fewer than k.
pub(super) fn kth_largest(numbers: impl Iterator<Item = f64>, k: usize) -> f64 {
    let mut largest = TopValues::new(k);
    numbers.for_each(|number| largest.push(number));
    largest.finish()
}

/// Keeps the k largest of a sequence of numbers, and some more.
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

    fn push(&mut self, number: f64) {
        if number > self.threshold {
            self.numbers.push(number);
            if self.numbers.len() >= 4 * self.k.max(16) {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        let (_, last, _) = self
            .numbers
            .select_nth_unstable_by(self.k - 1, |a, b| b.total_cmp(a));
        self.threshold = *last;
        self.numbers.truncate(self.k);
    }

    /// The k-th largest.
    fn finish(mut self) -> f64 {
        if self.numbers.len() >= self.k {
            self.cut();
        }
        self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::kth_largest;

    proptest::proptest! {
        #[test]
        fn the_kth_largest_is_found(numbers in proptest::collection::vec(-9i32..9, 0..300), k in 1usize..40) {
            let found = kth_largest(numbers.iter().map(|n| f64::from(*n)), k);
            let mut sorted = numbers.clone();
            sorted.sort_by(|a, b| b.cmp(a));
            let expected = sorted.get(k - 1).map_or(f64::NEG_INFINITY, |n| f64::from(*n));
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
