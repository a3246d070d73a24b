//! The best of many scores, in memory for a few times as many.

use std::cmp::Ordering;

use crate::index::corpus::Corpus;

/// A document that a query finds.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub score: f64,
    pub number: u32,
}

/// The best k of what it was given, and some more.
pub struct Top<'a> {
    corpus: &'a Corpus,
    k: usize,
    found: Vec<Found>,
    /// What has a lower score is not among the best k.
    pub threshold: f64,
}

impl<'a> Top<'a> {
    pub fn new(corpus: &'a Corpus, k: usize) -> Self {
        Top {
            corpus,
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
    pub fn push(&mut self, score: f64, number: u32) {
        if self.k == 0 {
            return;
        }
        self.found.push(Found { score, number });
        if self.found.len() >= self.k.saturating_mul(4) {
            self.prune();
        }
    }

    /// How many documents there are so far, some of them not among the best.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Forgets all documents.
    pub fn clear(&mut self) {
        self.found.clear();
        self.threshold = f64::NEG_INFINITY;
    }

    fn prune(&mut self) {
        if self.found.len() > self.k {
            let order = order(self.corpus);
            let (_, last, _) = self.found.select_nth_unstable_by(self.k - 1, order);
            self.threshold = last.score;
            self.found.truncate(self.k);
        }
    }

    pub fn finish(mut self) -> Vec<Found> {
        self.prune();
        self.found.sort_unstable_by(order(self.corpus));
        self.found
    }
}

/// The higher score first, of equal ones the lower id.
fn order(corpus: &Corpus) -> impl Fn(&Found, &Found) -> Ordering {
    |a, b| {
        let ids = || corpus.id_text(a.number).cmp(&corpus.id_text(b.number));
        b.score.total_cmp(&a.score).then_with(ids)
    }
}
