//! A buffer for the scores of some consecutive documents, reused from query to query.

/// The score of a document without contributions. No sum of contributions is minus zero.
pub(crate) const UNTOUCHED: f64 = -0.0;

/// Accumulators, each with one entry for each document of a window.
#[derive(Default)]
pub(crate) struct Accumulators {
    pub scores: Vec<f64>,
    /// One bit for each required part that matches; empty if no part is required.
    pub matched: Vec<u64>,
    /// BM25F: the combined frequency of one term; 0 between terms.
    pub frequencies: Vec<f64>,
    /// BM25F: the documents whose combined frequency is not 0.
    pub touched: Vec<usize>,
}

impl Accumulators {
    /// Begins a window of this number of documents; `required` says whether the query has required parts.
    pub(crate) fn begin(&mut self, documents: usize, required: bool) {
        self.scores.clear();
        self.scores.resize(documents, UNTOUCHED);
        self.frequencies.resize(documents, 0.0);
        self.matched.clear();
        if required {
            self.matched.resize(documents, 0);
        }
    }

    /// Room for the sums of a window of this number of documents. No document has a sum yet.
    pub(crate) fn sums(&mut self, documents: usize) -> &mut [f64] {
        if self.scores.len() < documents {
            self.scores.resize(documents, UNTOUCHED);
        }
        &mut self.scores
    }

    /// Clears the sums.
    pub(crate) fn clear(&mut self) {
        self.scores.fill(UNTOUCHED);
    }
}
