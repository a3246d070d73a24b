//! Room for the scores of all documents, used again from query to query.

/// A document's score before any: no sum of contributions is minus zero.
pub const UNTOUCHED: f64 = -0.0;

/// What is added up for the documents.
pub struct Scratch {
    pub scores: Vec<f64>,
    /// Which of the parts that must match do; empty if none must.
    pub matched: Vec<u64>,
    /// BM25F's frequencies of one term; 0 between terms.
    pub frequencies: Vec<f64>,
    pub touched: Vec<usize>,
}

impl Scratch {
    /// Room for so many documents.
    pub fn new(documents: usize) -> Self {
        Scratch {
            scores: vec![UNTOUCHED; documents],
            matched: Vec::new(),
            frequencies: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Makes room for parts that must match, if some do.
    pub fn demand(&mut self, must: bool) {
        self.matched.clear();
        if must {
            self.matched.resize(self.scores.len(), 0);
        }
    }

    /// As it was when it was new.
    pub fn reset(mut self) -> Self {
        self.scores.fill(UNTOUCHED);
        self
    }
}
