//! Combines several opinions on documents into one order. Nothing here touches the disk or a model.

use riposte_eval::explained::ExplainedImage;
use riposte_eval::{Explanation, NumberId, Stance};

pub mod argument;
pub(crate) mod image_weights;
pub mod linear;
pub(crate) mod mixture;
pub mod object_stance;
pub(crate) mod okapi;
pub(crate) mod pairwise;
pub mod picture_text;
pub mod presence;
pub mod quality;
pub(crate) mod rerank;
pub mod reranker;
pub mod select;
pub(crate) mod side;
pub mod signal;
pub mod stance;
pub mod text_kind;
pub mod text_stance;
pub(crate) mod windows;

/// A text or an image takes a side if |P(pro) - P(con)| is at least this. Within this margin its side is undecided: models that read stance are
/// too often wrong there.
pub(crate) const MARGIN: f64 = 0.25;

/// The side that P(pro) - P(con) gives; `None` within the [`MARGIN`].
pub(crate) fn side_taken(balance: f64) -> Option<Stance> {
    match balance {
        balance if balance >= MARGIN => Some(Stance::Pro),
        balance if balance <= -MARGIN => Some(Stance::Con),
        _ => None,
    }
}

/// The contribution of a channel of relevance, or of an opinion by which texts are re-ranked. The parameter names it.
pub(crate) const CHANNEL: &str = "channel";

/// The contribution of a feature to a model. The parameter names it.
pub(crate) const FEATURE: &str = "feature";

/// The constant of a model.
pub(crate) const BIAS: &str = "bias";

/// The log-odds of a prior probability.
pub(crate) const PRIOR: &str = "prior";

/// How relevant an image is to the topic.
pub(crate) const RELEVANCE: &str = "relevance";

/// The relevance, which is the same for both lists; `None` if the scores were not computed from it.
pub(crate) fn relevance(image: &ExplainedImage) -> Option<&Explanation> {
    let score = image.pro.as_ref().or(image.con.as_ref())?;
    score.part(RELEVANCE)
}

/// The logistic function 1 / (1 + e^-x), which turns log-odds into a probability.
pub fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The log-odds of a probability strictly between 0 and 1: the inverse of [`logistic`].
pub fn logit(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

/// One opinion on a document, as a term of [`weighted_mean`].
#[derive(Clone, Copy, Debug)]
pub struct Opinion {
    pub name: &'static str,
    pub weight: f64,
    /// The value, in [0, 1]; `None` if the document lacks what the opinion is about, such as the text of an image. `None` counts as 0.
    pub value: Option<f64>,
}

/// For each opinion its normalised weight and its term of the mean, which is the normalised weight times the value.
fn contributions(opinions: &[Opinion]) -> impl Iterator<Item = (f64, f64)> {
    let total: f64 = opinions.iter().map(|o| o.weight).sum();
    opinions.iter().map(move |o| {
        let share = if total > 0.0 { o.weight / total } else { 0.0 };
        (share, share * o.value.unwrap_or(0.0))
    })
}

/// The weighted mean of the opinions, in [0, 1]; 0 if there are none.
///
/// An opinion that is off for all documents must not be among the opinions: its weight would lower every mean.
pub(crate) fn weighted_mean(opinions: &[Opinion]) -> f64 {
    contributions(opinions).map(|(_, value)| value).sum()
}

/// Like [`weighted_mean`], with the terms of the mean. It is computed only for the best candidates, because it allocates memory.
pub(crate) fn explain_weighted_mean(id: impl Into<NumberId>, opinions: &[Opinion]) -> Explanation {
    let parts = opinions.iter().zip(contributions(opinions));
    let parts = parts.map(|(o, (share, value))| {
        let how = match o.value {
            Some(value) => format!("weight {share:.3} × value {value:.4}"),
            None => "the document has nothing here".into(),
        };
        Explanation::new((CHANNEL, o.name), value).with_how(how)
    });
    Explanation::sum(id, parts.collect())
}

/// The probability that follows from a prior, strictly between 0 and 1, and from evidence. The values of `evidence` are log-odds, which are
/// added to the log-odds of the prior.
pub fn belief(id: impl Into<NumberId>, prior: f64, evidence: Vec<Explanation>) -> Explanation {
    let log_odds = Explanation::new(PRIOR, logit(prior));
    let mut parts = vec![log_odds.with_how(format!("log-odds of {prior}"))];
    parts.extend(evidence);
    let sum = parts.iter().map(Explanation::value).sum();
    explain_logistic(id, sum, parts)
}

/// The probability whose log-odds are the sum of the parts.
pub(crate) fn explain_logistic(
    id: impl Into<NumberId>,
    sum: f64,
    parts: Vec<Explanation>,
) -> Explanation {
    Explanation::new(id, logistic(sum))
        .with_how(format!("logistic of {sum:.4}, the sum"))
        .with_parts(parts)
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
    fn an_opinion_that_is_off_does_not_lower_the_mean() {
        let both = [opinion(3.0, Some(0.5)), opinion(1.0, Some(0.5))];
        let one = [opinion(3.0, Some(0.5))];
        let without_text = [opinion(3.0, Some(0.5)), opinion(1.0, None)];
        for (opinions, mean) in [
            (&both[..], 0.5),
            (&one, 0.5),
            (&without_text, 0.375),
            (&[], 0.0),
        ] {
            assert_eq!(weighted_mean(opinions), mean);
            let explained = explain_weighted_mean(RELEVANCE, opinions);
            assert_eq!(explained.value(), mean);
        }
    }

    #[test]
    fn a_side_is_taken_beyond_the_margin_only() {
        for (balance, side) in [
            (0.25, Some(Stance::Pro)),
            (0.24, None),
            (0.0, None),
            (f64::NAN, None),
            (-0.24, None),
            (-0.25, Some(Stance::Con)),
        ] {
            assert_eq!(side_taken(balance), side, "{balance}");
        }
    }

    #[test]
    fn evidence_raises_and_lowers_a_prior() {
        let of = |prior, evidence| belief(argument::ARGUES, prior, evidence).value();
        let from_half = |x: f64| of(0.5, vec![Explanation::new((FEATURE, "words"), x)]);
        assert_eq!(from_half(0.0), 0.5);
        assert!((from_half(1.0) + from_half(-1.0) - 1.0).abs() < 1e-12);
        assert!((of(0.2, Vec::new()) - 0.2).abs() < 1e-12);
    }
}
