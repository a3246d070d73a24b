//! From several opinions to one order. Pure: no disk, no models.

pub mod argument;
pub mod linear;
pub mod object_stance;
pub mod quality;
pub(crate) mod rerank;
pub mod select;
pub mod stance;
pub mod text_stance;

use crate::trec::Explanation;

/// 1 / (1 + e^-x): from log-odds to a probability.
pub fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The log-odds of a probability strictly between 0 and 1.
pub fn log_odds(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

/// One opinion in a [`weighted_mean`].
#[derive(Clone, Copy, Debug)]
pub struct Opinion {
    pub name: &'static str,
    pub weight: f64,
    /// In [0, 1]; none if the channel has nothing for this document, which counts as 0: a document
    /// without text in the image says nothing of the topic there.
    pub value: Option<f64>,
}

/// What each opinion adds to their mean: its share of the weight times its value.
fn contributions(opinions: &[Opinion]) -> impl Iterator<Item = (f64, f64)> {
    let total: f64 = opinions.iter().map(|o| o.weight).sum();
    opinions.iter().map(move |o| {
        let share = match total > 0.0 {
            true => o.weight / total,
            false => 0.0,
        };
        (share, share * o.value.unwrap_or(0.0))
    })
}

/// The mean of the opinions by weight. Channels that are off for all documents are not among the
/// opinions, so that their weight does not pull everything down.
pub(crate) fn weighted_mean(opinions: &[Opinion]) -> f64 {
    contributions(opinions).map(|(_, value)| value).sum()
}

/// The same mean, opened: of all documents only the candidates' are.
pub(crate) fn weighted_mean_opened(name: &str, opinions: &[Opinion]) -> Explanation {
    let parts: Vec<Explanation> = opinions
        .iter()
        .zip(contributions(opinions))
        .map(|(o, (share, value))| Explanation {
            name: o.name.to_owned(),
            value,
            how: match o.value {
                Some(value) => format!("weight {share:.3} × {value:.4}"),
                None => "the document has nothing here".into(),
            },
            parts: Vec::new(),
        })
        .collect();
    Explanation {
        name: name.to_owned(),
        value: parts.iter().map(|p| p.value).sum(),
        how: "sum".into(),
        parts,
    }
}

/// A probability from log-odds that are added up: a prior and what speaks for and against it.
pub fn belief(name: &str, prior: f64, evidence: Vec<Explanation>) -> Explanation {
    let mut parts = vec![Explanation {
        name: "prior".into(),
        value: log_odds(prior),
        how: format!("log-odds of {prior}"),
        parts: Vec::new(),
    }];
    parts.extend(evidence);
    let sum: f64 = parts.iter().map(|p| p.value).sum();
    Explanation {
        name: name.to_owned(),
        value: logistic(sum),
        how: format!("logistic of {sum:.4}, the sum"),
        parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opinion(weight: f64, value: Option<f64>) -> Opinion {
        Opinion {
            name: "x",
            weight,
            value,
        }
    }

    #[test]
    fn a_channel_that_is_off_changes_no_scale() {
        let both = [opinion(3.0, Some(0.5)), opinion(1.0, Some(0.5))];
        let one = [opinion(3.0, Some(0.5))];
        let silent = [opinion(3.0, Some(0.5)), opinion(1.0, None)];
        for (opinions, mean) in [(&both[..], 0.5), (&one, 0.5), (&silent, 0.375), (&[], 0.0)] {
            assert_eq!(weighted_mean(opinions), mean);
            assert_eq!(weighted_mean_opened("r", opinions).value, mean);
        }
    }

    #[test]
    fn evidence_moves_a_prior_both_ways() {
        let half = |x: f64| belief("b", 0.5, vec![Explanation::leaf("e", x)]).value;
        assert_eq!(half(0.0), 0.5);
        assert!((half(1.0) + half(-1.0) - 1.0).abs() < 1e-12);
        assert!((belief("b", 0.2, Vec::new()).value - 0.2).abs() < 1e-12);
    }
}
