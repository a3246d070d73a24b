//! Logistic regression over a few named features: read from a weight file, applied, and explained.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use riposte_eval::{Explanation, NumberId};
use serde::Deserialize;

use super::{BIAS, FEATURE, explain_logistic, logistic};

/// How a model standardises and weighs one feature.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureWeight {
    /// Mean of the feature over the training data.
    pub mean: f64,
    /// Standard deviation of the feature over the training data, above 0.
    pub deviation: f64,
    /// Weight in log-odds for each standard deviation.
    pub weight: f64,
}

/// Features are clamped to this many standard deviations from the mean, so an unusual text is not decided by a single feature.
pub const DEVIATIONS: f64 = 6.0;

impl FeatureWeight {
    /// The distance from the mean in standard deviations, clamped to ±[`DEVIATIONS`].
    pub fn standardise(&self, value: f64) -> f64 {
        ((value - self.mean) / self.deviation).clamp(-DEVIATIONS, DEVIATIONS)
    }
}

/// A logistic model: probability = logistic(bias + Σ weight × standardised feature).
#[derive(Clone, Debug, PartialEq)]
pub struct LogisticModel {
    bias: f64,
    weights: Vec<(&'static str, FeatureWeight)>,
}

/// The layout of a model in the weight files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogisticLayout {
    pub bias: f64,
    pub features: BTreeMap<String, FeatureWeight>,
}

impl LogisticModel {
    /// The model whose features are exactly `names`, in this order.
    ///
    /// # Errors
    /// A feature is missing or unknown, or its deviation is not above 0.
    pub fn new(text: LogisticLayout, names: &[&'static str]) -> Result<Self> {
        for (name, weight) in &text.features {
            ensure!(
                names.contains(&name.as_str()),
                "{name:?} is not a feature of this model"
            );
            ensure!(
                weight.deviation > 0.0,
                "the deviation of {name:?} must be above 0"
            );
        }
        let weight = |name: &&'static str| {
            let weight = text.features.get(*name).copied();
            Ok((
                *name,
                weight.with_context(|| format!("{name:?} is missing"))?,
            ))
        };
        Ok(LogisticModel {
            bias: text.bias,
            weights: names.iter().map(weight).collect::<Result<_>>()?,
        })
    }

    /// Whether the log-odds are an odd function of the features, which is so if the bias and all means are 0.
    pub(crate) fn is_odd(&self) -> bool {
        self.bias == 0.0 && self.weights.iter().all(|(_, w)| w.mean == 0.0)
    }

    /// The log-odds; `features` are in the order of the names.
    pub(crate) fn log_odds(&self, features: &[f64]) -> f64 {
        debug_assert_eq!(features.len(), self.weights.len());
        let parts = self.weights.iter().zip(features);
        let parts = parts.map(|((_, w), x)| w.weight * w.standardise(*x));
        self.bias + parts.sum::<f64>()
    }

    /// The probability; `features` are in the order of the names.
    pub fn probability(&self, features: &[f64]) -> f64 {
        logistic(self.log_odds(features))
    }

    /// Explains [`LogisticModel::probability`] by the contribution of each feature.
    pub fn explain(&self, id: impl Into<NumberId>, features: &[f64]) -> Explanation {
        let mut parts = vec![Explanation::new(BIAS, self.bias)];
        for ((name, w), x) in self.weights.iter().zip(features) {
            let z = w.standardise(*x);
            let how = format!("weight {} × {z:.3} deviations ({x:.3})", w.weight);
            let part = Explanation::new((FEATURE, *name), w.weight * z);
            parts.push(part.with_how(how));
        }
        explain_logistic(id, self.log_odds(features), parts)
    }
}
