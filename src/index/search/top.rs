//! The best of many scores, in memory for a few times as many.

use std::cmp::Ordering;

use crate::index::corpus::Corpus;

/// A document that a query finds.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub score: f64,
    /// The place of its id among all.
    pub order: u32,
    pub number: u32,
}

impl Found {
    fn compare(&self, other: &Found) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(self.order.cmp(&other.order))
    }
}

/// The best k of what it was given, and some more.
pub struct Top {
    pub k: usize,
    found: Vec<Found>,
    /// What has a lower score is not among the best k.
    pub threshold: f64,
}

impl Top {
    pub fn new(k: usize) -> Self {
        Top {
            k,
            found: Vec::new(),
            threshold: if k == 0 {
                f64::INFINITY
            } else {
                f64::NEG_INFINITY
            },
        }
    }

    /// Adds a document of the corpus.
    pub fn push(&mut self, corpus: &Corpus, score: f64, number: u32) {
        if self.k == 0 {
            return;
        }
        let order = corpus.columns.order.get(number as usize);
        self.found.push(Found {
            score,
            order: order.copied().unwrap_or(0),
            number,
        });
        if self.found.len() >= self.k.saturating_mul(4) {
            self.prune();
        }
    }

    fn prune(&mut self) {
        if self.found.len() > self.k {
            let (_, last, _) = self
                .found
                .select_nth_unstable_by(self.k - 1, Found::compare);
            self.threshold = last.score;
            self.found.truncate(self.k);
        }
    }

    pub fn finish(mut self) -> Vec<Found> {
        self.prune();
        self.found.sort_unstable_by(Found::compare);
        self.found
    }
}
