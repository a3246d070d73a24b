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
const SHARE: usize = 1024;

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
        // documents that may be among the best, with their sums
        let mut near: Vec<(u32, f64)> = Vec::new();
        let mut left = terms.iter();
        for Bounded { asked, bound } in left.by_ref() {
            known.add_touching(&mut scratch.scores, &mut touched, asked)?;
            added += bound;
            rest -= bound;
            postings -= asked.postings.df();
            // no score so far is above what was added: the rest may still bring a document before it
            if postings > 0 && (rest >= added || touched.len() < cut.k) {
                continue;
            }
            near.clear();
            let threshold = {
                let wanted = touched.iter().filter_map(|number| {
                    let sum = *scratch.scores.get(*number as usize)?;
                    let sum = sum + self.length_parts(corpus, *number);
                    let out = corpus.is_left_out(*number, !cut.short, !cut.duplicates);
                    (!out).then_some((*number, sum))
                });
                nearest(wanted, cut.k, rest, &mut near)
            };
            // a document without any of the terms so far has at most the rest: no length adds to a score
            let decided = rest + slack(threshold, rest) < threshold;
            if postings == 0 || decided && near.len() as u64 * LOOK_UP <= postings {
                break;
            }
        }
        for number in touched {
            if let Some(score) = scratch.scores.get_mut(number as usize) {
                *score = UNTOUCHED;
            }
        }
        corpus.keep_scratch(scratch);
        near.sort_unstable_by_key(|(number, _)| *number);
        for Bounded { asked, bound } in left {
            let numbers: Vec<u32> = near.iter().map(|(number, _)| *number).collect();
            look_up(corpus, asked, &numbers, |at, contribution| {
                if let Some((_, sum)) = near.get_mut(at) {
                    *sum += contribution;
                }
            })?;
            rest -= bound;
            let mut nearer = Vec::new();
            nearest(near.iter().copied(), cut.k, rest, &mut nearer);
            near = nearer;
        }
        let candidates: Vec<u32> = near.iter().map(|(number, _)| *number).collect();
        let mut scores = vec![UNTOUCHED; candidates.len()];
        for asked in self.groups.iter().flatten() {
            look_up(corpus, asked, &candidates, |at, contribution| {
                if let Some(sum) = scores.get_mut(at) {
                    add_to(sum, contribution);
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
        if self.lengths.is_empty() {
            return 0.0;
        }
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

/// How far two sums of the same terms may be apart.
fn slack(threshold: f64, rest: f64) -> f64 {
    ROUNDING * (threshold.abs() + rest.abs() + 1.0)
}

/// The k-th largest sum of some documents. To `near` go those that the rest may bring among the best k, in their order; and if there are
/// fewer than k, all.
fn nearest(
    documents: impl Iterator<Item = (u32, f64)>,
    k: usize,
    rest: f64,
    near: &mut Vec<(u32, f64)>,
) -> f64 {
    let mut largest = Largest::new(k);
    // the k-th largest rises on the way, so that more go there at first than belong there
    for (number, sum) in documents {
        let threshold = largest.threshold;
        if sum + rest + slack(threshold, rest) >= threshold {
            near.push((number, sum));
            largest.push(sum);
        }
    }
    let threshold = largest.finish();
    let slack = slack(threshold, rest);
    near.retain(|(_, sum)| sum + rest + slack >= threshold);
    threshold
}

/// Looks documents up, which are in order, and calls with the place of each that has the term and with what that adds to its score.
fn look_up(
    corpus: &Corpus,
    asked: &Asked,
    numbers: &[u32],
    mut each: impl FnMut(usize, f64),
) -> Result<()> {
    let lengths = corpus
        .lengths
        .get(asked.field)
        .map_or(&[][..], Vec::as_slice);
    let score = super::of_posting(asked);
    asked.postings.each_frequency(numbers, |at, tf| {
        if let Some(length) = numbers.get(at).and_then(|n| lengths.get(*n as usize)) {
            each(at, score(tf, *length));
        }
    })
}

/// The k-th largest of some numbers; less than any number if there are fewer.
pub(super) fn kth_largest(numbers: impl Iterator<Item = f64>, k: usize) -> f64 {
    let mut largest = Largest::new(k);
    numbers.for_each(|number| largest.push(number));
    largest.finish()
}

/// The k largest of the numbers so far, and some more.
struct Largest {
    k: usize,
    numbers: Vec<f64>,
    /// No number up to this one is among the k largest that were not there before.
    threshold: f64,
}

impl Largest {
    fn new(k: usize) -> Self {
        Largest {
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
