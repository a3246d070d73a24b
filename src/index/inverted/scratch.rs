//! A buffer for the scores of all documents, reused from query to query.

/// The score of a document without contributions. No sum of contributions is minus zero.
pub(crate) const UNTOUCHED: f64 = -0.0;

/// Accumulators, each with one entry for each document.
pub(crate) struct Scratch {
    pub scores: Vec<f64>,
    /// One bit for each required part that matches; empty if no part is required.
    pub matched: Vec<u64>,
    /// BM25F: the combined frequency of one term; 0 between terms.
    pub frequencies: Vec<f64>,
    /// BM25F: the documents whose combined frequency is not 0.
    pub touched: Vec<usize>,
}

impl Scratch {
    /// A buffer for this number of documents.
    pub fn new(documents: usize) -> Self {
        Scratch {
            scores: vec![UNTOUCHED; documents],
            matched: Vec::new(),
            frequencies: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Prepares `matched` for a query; `required` says whether it has required parts.
    pub(crate) fn prepare_matched(&mut self, required: bool) {
        self.matched.clear();
        if required {
            self.matched.resize(self.scores.len(), 0);
        }
    }

    /// Clears the scores.
    pub(crate) fn reset(mut self) -> Self {
        self.scores.fill(UNTOUCHED);
        self
    }
}
