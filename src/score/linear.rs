//! Logistic models of few named features: read from text, applied, and opened.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::logistic;
use crate::trec::Explanation;

/// What a model makes of one feature.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    pub mean: f64,
    /// Standard deviation, above 0.
    pub deviation: f64,
    /// In log-odds, per standard deviation.
    pub weight: f64,
}

/// Features that lie further from the mean count as this many standard deviations: one odd text must not decide.
pub const FARTHEST: f64 = 6.0;

impl Weight {
    /// How many standard deviations from the mean, in [-6, 6].
    pub fn standardise(&self, value: f64) -> f64 {
        ((value - self.mean) / self.deviation).clamp(-FARTHEST, FARTHEST)
    }
}

/// P = logistic(bias + Σ weight × standardised feature).
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    bias: f64,
    weights: Vec<(&'static str, Weight)>,
}

/// As the weight files have it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearText {
    pub bias: f64,
    pub features: BTreeMap<String, Weight>,
}

impl Linear {
    /// The model with exactly the features of these names, in this order.
    ///
    /// # Errors
    /// A feature that is missing, is not known, or has no deviation.
    pub fn new(text: LinearText, names: &[&'static str]) -> Result<Self> {
        for (name, weight) in &text.features {
            ensure!(
                names.contains(&name.as_str()),
                "{name:?} is no feature of this model"
            );
            ensure!(weight.deviation > 0.0, "{name:?} has no deviation");
        }
        let mut weights = Vec::new();
        for &name in names {
            let weight = text.features.get(name).copied();
            weights.push((
                name,
                weight.ok_or_else(|| anyhow::anyhow!("{name:?} is missing"))?,
            ));
        }
        Ok(Linear {
            bias: text.bias,
            weights,
        })
    }

    /// Changes its sign with the features'.
    pub(crate) fn is_odd(&self) -> bool {
        self.bias == 0.0 && self.weights.iter().all(|(_, w)| w.mean == 0.0)
    }

    /// Log-odds; `features` in the order of the names.
    pub fn log_odds(&self, features: &[f64]) -> f64 {
        debug_assert_eq!(features.len(), self.weights.len());
        let parts = self.weights.iter().zip(features);
        self.bias
            + parts
                .map(|((_, w), x)| w.weight * w.standardise(*x))
                .sum::<f64>()
    }

    /// Probability.
    pub fn probability(&self, features: &[f64]) -> f64 {
        logistic(self.log_odds(features))
    }

    /// The same probability, opened.
    pub fn opened(&self, name: &str, features: &[f64]) -> Explanation {
        let mut parts = vec![Explanation::leaf("bias", self.bias)];
        for ((name, w), x) in self.weights.iter().zip(features) {
            let z = w.standardise(*x);
            parts.push(Explanation {
                name: (*name).to_owned(),
                value: w.weight * z,
                how: format!("weight {} × {z:.3} deviations ({x:.3})", w.weight),
                parts: Vec::new(),
            });
        }
        let sum = self.log_odds(features);
        Explanation {
            name: name.to_owned(),
            value: logistic(sum),
            how: format!("logistic of {sum:.4}, the sum"),
            parts,
        }
    }
}
