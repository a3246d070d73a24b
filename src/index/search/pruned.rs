//! The best documents without the scores of most of the others.
//!
//! The terms that can add most come first, which are the rarest. As soon as the terms that are left could not, all together, bring
//! a document among the best k that has none of the others, their postings are not added up any more: they are looked up, for
//! the few documents that they could still bring there (Turtle and Flood 1995, MaxScore). Sums on this way are in another order than a
//! score's, so they only choose candidates; these then get the score that [`super::Plan`] would have added up, in its order.

use anyhow::Result;

use super::{Asked, Cut, Known, Plan, Top, add_to};
use crate::index::corpus::{Corpus, UNTOUCHED};

/// To look a document up in a list takes as long as to add so many of its postings.
const LOOK_UP: u64 = 20;

/// Where a ranking is to have more than one document of so many, all scores cost less than candidates.
const SHARE: usize = 256;

/// Sums in different orders differ by less than this share.
const ROUNDING: f64 = 1e-9;

/// A term, and the most that it adds to any score.
struct Bounded<'p, 'q> {
    asked: &'p Asked<'q>,
    bound: f64,
}

impl Plan<'_> {
    /// Gives the best documents to the top. False, and nothing is given, if that would not be faster than all scores, or if the formula or the
    /// query has no bounds.
    pub(super) fn search_pruned(&self, corpus: &Corpus, cut: Cut, top: &mut Top) -> Result<bool> {
        if cut.k > corpus.numbers() / SHARE {
            return Ok(false);
        }
        let Some(mut terms) = self.bounded() else {
            return Ok(false);
        };
        terms.sort_by(|a, b| b.bound.total_cmp(&a.bound));
        let mut added = 0.0;
        let mut rest: f64 = terms.iter().map(|term| term.bound).sum();
        let mut postings: u64 = terms.iter().map(|term| term.asked.postings.df()).sum();
        let mut scratch = corpus.scratch();
        let mut known = Known::default();
        let mut touched: Vec<u32> = Vec::new();
        let mut candidates = Vec::new();
        for Bounded { asked, bound } in &terms {
            known.add_touching(&mut scratch.scores, &mut touched, asked)?;
            added += bound;
            rest -= bound;
            postings -= asked.postings.df();
            // no score so far is above what was added: the rest may still bring a document before it
            if postings > 0 && (rest >= added || touched.len() < cut.k) {
                continue;
            }
            let sum = |number: &u32| {
                let sum = scratch.scores.get(*number as usize).copied();
                sum.unwrap_or(0.0) + self.length_parts(corpus, *number)
            };
            let wanted = || {
                let wanted = touched.iter().copied();
                wanted.filter(|number| !corpus.is_left_out(*number, !cut.short, !cut.duplicates))
            };
            let threshold = kth_largest(wanted().map(|number| sum(&number)), cut.k);
            let slack = ROUNDING * (threshold.abs() + rest.abs() + 1.0);
            // a document without any of the terms so far has at most the rest: no length adds to a score
            if postings > 0 && !(rest + slack < threshold) {
                continue;
            }
            candidates.clear();
            candidates.extend(wanted().filter(|number| sum(number) + rest + slack >= threshold));
            if candidates.len() as u64 * LOOK_UP <= postings {
                break;
            }
        }
        for number in touched {
            if let Some(score) = scratch.scores.get_mut(number as usize) {
                *score = UNTOUCHED;
            }
        }
        corpus.keep_scratch(scratch);
        candidates.sort_unstable();
        let mut scores = vec![UNTOUCHED; candidates.len()];
        for asked in self.groups.iter().flatten() {
            let lengths = corpus
                .lengths
                .get(asked.field)
                .map_or(&[][..], Vec::as_slice);
            let score = super::of_posting(asked);
            asked.postings.each_frequency(&candidates, |at, tf| {
                let length = candidates.get(at).and_then(|n| lengths.get(*n as usize));
                if let (Some(sum), Some(length)) = (scores.get_mut(at), length) {
                    add_to(sum, score(tf, *length));
                }
            })?;
        }
        for (number, mut score) in candidates.into_iter().zip(scores) {
            for (field, weight) in &self.lengths {
                score += self.length_part(corpus, *field, *weight, number);
            }
            top.push(score, number);
        }
        Ok(true)
    }

    fn length_parts(&self, corpus: &Corpus, number: u32) -> f64 {
        let parts = self.lengths.iter();
        parts
            .map(|(field, weight)| self.length_part(corpus, *field, *weight, number))
            .sum()
    }

    /// The terms with their bounds; none if one of them may take something from a score, or must be there.
    fn bounded(&self) -> Option<Vec<Bounded<'_, '_>>> {
        let negative = self.lengths.iter().any(|(_, weight)| *weight < 0.0);
        if self.must != 0 || negative || self.similarity.combines_fields() {
            return None;
        }
        let terms = self.groups.iter().flatten();
        terms
            .map(|asked| {
                let weight = asked.field_weight * asked.term_weight;
                let most = asked.score.bound(asked.max_tf)?;
                (weight >= 0.0).then_some(Bounded {
                    asked,
                    bound: weight * most,
                })
            })
            .collect()
    }
}

/// The k-th largest of some numbers; less than any number if there are fewer.
pub(super) fn kth_largest(numbers: impl Iterator<Item = f64>, k: usize) -> f64 {
    let mut largest: Vec<f64> = Vec::new();
    let mut threshold = f64::NEG_INFINITY;
    let cut = |largest: &mut Vec<f64>| {
        let (_, last, _) = largest.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
        let last = *last;
        largest.truncate(k);
        last
    };
    for number in numbers {
        if number > threshold {
            largest.push(number);
            if largest.len() >= 4 * k.max(16) {
                threshold = cut(&mut largest);
            }
        }
    }
    match largest.len() >= k {
        true => cut(&mut largest),
        false => threshold,
    }
}

impl Known {
    /// Adds a term's scores for its documents, and notes the documents that had none before.
    fn add_touching(
        &mut self,
        scores: &mut [f64],
        touched: &mut Vec<u32>,
        asked: &Asked,
    ) -> Result<()> {
        self.begin(asked);
        let score = super::of_posting(asked);
        asked
            .postings
            .each_block_over(scores, |base, scores, lengths, documents, tfs| {
                for (document, tf) in documents.iter().zip(tfs) {
                    let at = *document as usize;
                    if let (Some(sum), Some(length)) = (scores.get_mut(at), lengths.get(at)) {
                        if sum.to_bits() == UNTOUCHED.to_bits() {
                            touched.push(base + document);
                        }
                        add_to(sum, self.contribution(*tf, *length, &score));
                    }
                }
            })
    }
}

#[cfg(test)]
mod tests {
    use super::kth_largest;

    proptest::proptest! {
        #[test]
        fn the_kth_largest_is_that(numbers in proptest::collection::vec(-9i32..9, 0..300), k in 1usize..40) {
            let found = kth_largest(numbers.iter().map(|n| f64::from(*n)), k);
            let mut sorted = numbers.clone();
            sorted.sort_by(|a, b| b.cmp(a));
            let expected = sorted.get(k - 1).map_or(f64::NEG_INFINITY, |n| f64::from(*n));
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
