//! Collects the best k documents, in memory for a few times k.

use std::cmp::Ordering;

use crate::index::inverted::InvertedIndex;

/// A document with its score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub score: f64,
    pub number: u32,
}

/// The best k of the documents pushed so far, and some more.
pub(crate) struct Top<'a> {
    index: &'a InvertedIndex,
    k: usize,
    hits: Vec<Hit>,
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
        self.hits.push(Hit { score, number });
        if self.hits.len() >= self.k.saturating_mul(4) {
            self.prune();
        }
    }

    /// The number of documents kept; some of them may not be among the best k.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// Removes all documents.
    pub(crate) fn clear(&mut self) {
        self.hits.clear();
        self.threshold = f64::NEG_INFINITY;
    }

    fn prune(&mut self) {
        if self.hits.len() > self.k {
            let order = order(self.index);
            let (_, last, _) = self.hits.select_nth_unstable_by(self.k - 1, order);
            self.threshold = last.score;
            self.hits.truncate(self.k);
        }
    }

    /// The best k documents, the best first.
    pub fn finish(mut self) -> Vec<Hit> {
        self.prune();
        self.hits.sort_unstable_by(order(self.index));
        self.hits
    }
}

/// The higher score first; of equal scores, the lower id.
fn order(index: &InvertedIndex) -> impl Fn(&Hit, &Hit) -> Ordering {
    |a, b| {
        let ids = || index.id_text(a.number).cmp(&index.id_text(b.number));
        b.score.total_cmp(&a.score).then_with(ids)
    }
}
