//! Collects the best k documents, in memory for a few times k.

use std::cmp::Ordering;

use crate::index::inverted::InvertedIndex;

/// The number of documents from which on those are removed that are not among the best, if k is small.
const MIN_HITS: usize = 64;

/// A document with its score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberedScore {
    pub score: f64,
    pub number: u32,
}

/// The best k of the documents pushed so far, and some more.
pub(crate) struct Top<'a> {
    index: &'a InvertedIndex,
    k: usize,
    hits: Vec<NumberedScore>,
    /// Documents with a lower score are not among the best k.
    pub threshold: f64,
}

impl<'a> Top<'a> {
    pub fn new(index: &'a InvertedIndex, k: usize) -> Self {
        Top {
            index,
            k,
            hits: Vec::new(),
            threshold: if k == 0 {
                f64::INFINITY
            } else {
                f64::NEG_INFINITY
            },
        }
    }

    /// Adds a document.
    pub fn push(&mut self, score: f64, number: u32) {
        if self.k == 0 {
            return;
        }
        self.hits.push(NumberedScore { score, number });
        if self.hits.len() >= self.k.saturating_mul(2).max(MIN_HITS) {
            self.prune();
        }
    }

    /// Estimates the lowest score of the best k from the documents so far, which were chosen from this share of all documents, and leaves lower scores out from
    /// now on. The estimate is usually a little too low. Returns whether there is one.
    pub fn raise_threshold(&mut self, share: f64) -> bool {
        let expected = self.k as f64 * share;
        let place = (expected + 2.0 * expected.sqrt() + 4.0) as usize;
        if place >= self.k || place >= self.hits.len() {
            return false;
        }
        let mut scores: Vec<f64> = self.hits.iter().map(|hit| hit.score).collect();
        let (_, estimate, _) = scores.select_nth_unstable_by(place, |a, b| b.total_cmp(a));
        self.threshold = self.threshold.max(*estimate);
        true
    }

    /// Whether the best k are there: as many documents have no lower score than the threshold.
    pub fn is_full(&self) -> bool {
        let high = self.hits.iter().filter(|hit| hit.score >= self.threshold);
        high.take(self.k).count() == self.k
    }

    /// Removes all documents.
    pub fn clear(&mut self) {
        self.hits.clear();
        self.threshold = f64::NEG_INFINITY;
    }

    /// Removes documents that are not among the best k.
    fn prune(&mut self) {
        if self.hits.len() <= self.k {
            return;
        }
        // numbers alone are compared faster than documents
        let mut scores: Vec<f64> = self.hits.iter().map(|hit| hit.score).collect();
        let (_, last, _) = scores.select_nth_unstable_by(self.k - 1, |a, b| b.total_cmp(a));
        self.threshold = self.threshold.max(*last);
        self.hits.retain(|hit| hit.score.total_cmp(last).is_ge());
        // of equal scores, the ids decide
        if self.hits.len() > self.k {
            let order = order(self.index);
            self.hits.select_nth_unstable_by(self.k - 1, order);
            self.hits.truncate(self.k);
        }
    }

    /// The scores and the ids of the best k documents, the best first.
    pub fn finish(mut self) -> Vec<(f64, Option<&'a str>)> {
        self.prune();
        // in the order of the documents, ids are nearer to each other in memory
        self.hits.sort_unstable_by_key(|hit| hit.number);
        let hits = self.hits.iter();
        let mut found: Vec<_> = hits
            .map(|hit| (hit.score, self.index.id_text(hit.number)))
            .collect();
        found.sort_unstable_by(|(a, of_a), (b, of_b)| b.total_cmp(a).then_with(|| of_a.cmp(of_b)));
        found
    }
}

/// The higher score first; of equal scores, the lower id.
fn order(index: &InvertedIndex) -> impl Fn(&NumberedScore, &NumberedScore) -> Ordering {
    |a, b| {
        let ids = || index.id_text(a.number).cmp(&index.id_text(b.number));
        b.score.total_cmp(&a.score).then_with(ids)
    }
}
