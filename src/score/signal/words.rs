//! Signals from the words of an image.

use anyhow::Result;

use super::{Signal, SignalInputs, SignalNeed, SignalValues};
use crate::index::images::Field;

/// BM25 over a field. The recipe's scale decides whether scores are divided by the topic's best score in the field.
pub struct Bm25(pub &'static str, pub Field);

impl Signal for Bm25 {
    fn name(&self) -> &'static str {
        self.0
    }

    fn need(&self) -> SignalNeed {
        SignalNeed::Words(self.1)
    }

    fn values(&self, inputs: &mut dyn SignalInputs) -> Result<Option<SignalValues>> {
        let (scores, best) = inputs.words(self.1)?;
        let is_divided = inputs.is_scaled() && best > 0.0;
        let divisor = if is_divided { best } else { 1.0 };
        let value = |score: f64| (score > 0.0).then(|| score / divisor);
        Ok(Some(scores.into_iter().map(value).collect()))
    }
}

/// Query likelihood with a Dirichlet prior over a field.
pub struct QueryLikelihood(pub &'static str, pub Field);

impl Signal for QueryLikelihood {
    fn name(&self) -> &'static str {
        self.0
    }

    fn need(&self) -> SignalNeed {
        SignalNeed::QueryLikelihood(self.1)
    }

    fn values(&self, inputs: &mut dyn SignalInputs) -> Result<Option<SignalValues>> {
        inputs.likelihoods(self.1).map(Some)
    }
}
