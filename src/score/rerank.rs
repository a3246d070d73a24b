//! Re-ranking of the top of a text ranking by several opinions, and the detection of near-duplicates in it.

use std::collections::HashSet;

use anyhow::{Result, ensure};

use super::{Opinion, explain_weighted_mean, weighted_mean};
use crate::topic::lexicon::comparison::WEIGHING;
use crate::topic::words::alphanumeric_words;
use crate::trec::Explanation;

/// Number of words in a shingle.
const SHINGLE_WORDS: usize = 3;

/// The number of words of [`WEIGHING`] at which [`comparison`] reaches 1.
const FULL_COMPARISON: usize = 6;

/// A document at the top of a ranking, with the value of each opinion. A value is none if its channel is off or the text has no words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// The score of retrieval.
    pub retrieval: f64,
    /// The cosine between the sentence vectors of the topic and of the most similar window of the text.
    pub sentence: Option<f64>,
    /// The highest score that the cross-encoder gives the topic with a window of the text.
    pub cross: Option<f64>,
    /// How well the text is written, in [0, 1] ([`super::quality`]).
    pub quality: Option<f64>,
    /// How much the text compares, in [0, 1] ([`comparison`]).
    pub comparison: Option<f64>,
    /// The probability that the text takes a side on the topic: P(pro) + P(con).
    pub side: Option<f64>,
    /// How well the text is written by its words, in [0, 1] ([`super::svr`]).
    pub svr_quality: Option<f64>,
    /// The sum over the small and over the medium set of trees ([`super::trees`]).
    pub trees: [Option<f64>; 2],
}

/// The weight of each opinion in the mean; 0 switches it off.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    #[serde(default)]
    pub retrieval: f64,
    #[serde(default)]
    pub sentence: f64,
    #[serde(default)]
    pub cross: f64,
    #[serde(default)]
    pub quality: f64,
    #[serde(default)]
    pub comparison: f64,
    #[serde(default)]
    pub side: f64,
    #[serde(default, rename = "svr-quality")]
    pub svr_quality: f64,
    #[serde(default, rename = "trees-small")]
    pub trees_small: f64,
    #[serde(default, rename = "trees-medium")]
    pub trees_medium: f64,
}

/// How the values of the opinions are brought to one scale, each among the candidates of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Retrieval, sentence, cross and trees to [0, 1] by their minimum and maximum; the others are in [0, 1] already.
    #[default]
    MinMax,
    /// All stay as they are.
    Raw,
    /// Each is divided by its largest value, if that is above 0.
    Max,
    /// `1 / (1 + exp(-slope · value))` of each.
    Sigmoid(f64),
}

impl Scale {
    /// # Errors
    /// The slope of a sigmoid is not above 0.
    pub fn check(self) -> Result<()> {
        if let Scale::Sigmoid(slope) = self {
            ensure!(
                slope > 0.0 && slope.is_finite(),
                "scale: the slope of a sigmoid must be above 0, not {slope}"
            );
        }
        Ok(())
    }

    /// Scales the values of one channel. `is_unit` says whether they are in [0, 1] already.
    fn apply(
        self,
        values: impl Iterator<Item = Option<f64>> + Clone,
        is_unit: bool,
    ) -> Vec<Option<f64>> {
        let each =
            |scaled: &dyn Fn(f64) -> f64| values.clone().map(|value| value.map(scaled)).collect();
        match self {
            Scale::MinMax if !is_unit => min_max_scaled(values.clone()),
            Scale::MinMax | Scale::Raw => values.clone().collect(),
            Scale::Sigmoid(slope) => each(&|value| 1.0 / (1.0 + (-slope * value).exp())),
            Scale::Max => {
                let high = values.clone().flatten().fold(f64::NEG_INFINITY, f64::max);
                let divisor = if high > 0.0 { high } else { 1.0 };
                each(&|value| value / divisor)
            }
        }
    }
}

/// How the opinions on a candidate become one score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// Their weighted mean.
    #[default]
    Mean,
    /// The sum of weight times value. What a candidate lacks adds nothing.
    Sum,
    /// The product of the values, whatever the weights. What a candidate lacks counts 1.
    Product,
}

/// The opinions on each candidate, in the order of the candidates.
///
/// An opinion without weight, or that no candidate has, is left out. If none remains, retrieval is the only one.
pub fn opinions(candidates: &[Candidate], weights: Weights, scale: Scale) -> Vec<Vec<Opinion>> {
    let retrieval = scale.apply(candidates.iter().map(|c| Some(c.retrieval)), false);
    let sentence = scale.apply(candidates.iter().map(|c| c.sentence), false);
    let cross = scale.apply(candidates.iter().map(|c| c.cross), false);
    let quality = scale.apply(candidates.iter().map(|c| c.quality), true);
    let comparison = scale.apply(candidates.iter().map(|c| c.comparison), true);
    let side = scale.apply(candidates.iter().map(|c| c.side), true);
    let svr_quality = scale.apply(candidates.iter().map(|c| c.svr_quality), true);
    let [small, medium] =
        [0, 1].map(|set: usize| scale.apply(candidates.iter().map(|c| c.trees[set]), false));
    let mut channels = [
        ("retrieval", weights.retrieval, retrieval),
        ("sentence", weights.sentence, sentence),
        ("cross", weights.cross, cross),
        ("quality", weights.quality, quality),
        ("comparison", weights.comparison, comparison),
        ("side", weights.side, side),
        ("svr-quality", weights.svr_quality, svr_quality),
        ("trees-small", weights.trees_small, small),
        ("trees-medium", weights.trees_medium, medium),
    ];
    let is_on =
        |weight: f64, values: &[Option<f64>]| weight > 0.0 && values.iter().any(Option::is_some);
    if !channels
        .iter()
        .any(|(_, weight, values)| is_on(*weight, values))
    {
        channels[0].1 = 1.0;
    }
    let on: Vec<_> = channels
        .iter()
        .filter(|(_, weight, values)| is_on(*weight, values))
        .collect();
    (0..candidates.len())
        .map(|candidate| {
            on.iter()
                .map(|(name, weight, values)| Opinion {
                    name,
                    weight: *weight,
                    value: values[candidate],
                })
                .collect()
        })
        .collect()
}

/// The score of each candidate. A mean is in [0, 1].
pub fn scores(opinions: &[Vec<Opinion>], combine: Combine) -> Vec<f64> {
    let weighted = |of: &Opinion| of.weight * of.value.unwrap_or(0.0);
    let score = |of: &Vec<Opinion>| match combine {
        Combine::Mean => weighted_mean(of),
        Combine::Sum => of.iter().map(weighted).sum(),
        Combine::Product => of.iter().map(|of| of.value.unwrap_or(1.0)).product(),
    };
    opinions.iter().map(score).collect()
}

/// How a candidate's score follows from its opinions.
pub(crate) fn explain(opinions: &[Opinion], combine: Combine) -> Vec<Explanation> {
    if combine == Combine::Mean {
        return explain_weighted_mean("mean", opinions).parts;
    }
    let part = |opinion: &Opinion| {
        let Opinion {
            name,
            weight,
            value,
        } = opinion;
        let (value, how) = match (combine, value) {
            (Combine::Product, value) => (value.unwrap_or(1.0), "factor".to_owned()),
            (_, Some(value)) => (weight * value, format!("weight {weight} × {value:.4}")),
            (_, None) => (0.0, "the document has nothing here".to_owned()),
        };
        Explanation {
            name: (*name).to_owned(),
            value,
            how,
            parts: Vec::new(),
        }
    };
    opinions.iter().map(part).collect()
}

/// The values scaled linearly so that the smallest is 0 and the largest 1. If all are equal, each becomes 1.
fn min_max_scaled(values: impl Iterator<Item = Option<f64>> + Clone) -> Vec<Option<f64>> {
    let present = || values.clone().flatten();
    let low = present().fold(f64::INFINITY, f64::min);
    let high = present().fold(f64::NEG_INFINITY, f64::max);
    let scaled = |value: f64| {
        if high > low {
            (value - low) / (high - low)
        } else {
            1.0
        }
    };
    values.clone().map(|value| value.map(scaled)).collect()
}

/// How much a text compares, in [0, 1]: the number of its words that weigh one thing against another ([`WEIGHING`]), up to six, divided by
/// six.
pub fn comparison(text: &str) -> f64 {
    let weighs = |word: &&str| WEIGHING.contains(&word.to_lowercase().as_str());
    alphanumeric_words(text)
        .filter(weighs)
        .take(FULL_COMPARISON)
        .count() as f64
        / FULL_COMPARISON as f64
}

/// For each text, whether it is a near-duplicate of a text before it: their resemblance (Broder 1997) is at least `threshold`. The
/// resemblance, in [0, 1], is the number of shingles of three words that both texts have, divided by the number that either has.
pub(crate) fn near_duplicates(texts: &[&str], threshold: f64) -> Vec<bool> {
    let mut earlier: Vec<HashSet<Vec<String>>> = Vec::new();
    let mut is_duplicate = |text: &&str| {
        let shingles = shingles(text);
        let found = earlier
            .iter()
            .any(|other| resemblance(other, &shingles) >= threshold);
        earlier.push(shingles);
        found
    };
    texts.iter().map(&mut is_duplicate).collect()
}

/// The sequences of three words of a text, without regard to case. A shorter text is a single shingle; a text without words has none.
fn shingles(text: &str) -> HashSet<Vec<String>> {
    let words: Vec<String> = alphanumeric_words(text).map(str::to_lowercase).collect();
    words
        .windows(SHINGLE_WORDS.min(words.len()).max(1))
        .map(<[String]>::to_vec)
        .collect()
}

fn resemblance(a: &HashSet<Vec<String>>, b: &HashSet<Vec<String>>) -> f64 {
    let both = a.intersection(b).count();
    let either = a.len() + b.len() - both;
    both as f64 / either.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(retrieval: f64, sentence: Option<f64>, quality: f64) -> Candidate {
        Candidate {
            retrieval,
            sentence,
            cross: None,
            quality: Some(quality),
            comparison: None,
            side: None,
            svr_quality: None,
            trees: [None; 2],
        }
    }

    #[test]
    fn comparisons_are_told_from_other_texts() {
        let both = "A laptop is better than a desktop, but more expensive: compared to it, both speed and price are worse.";
        assert_eq!(comparison(both), 1.0);
        assert_eq!(comparison("Unlike a goat, a cow"), 1.0 / 6.0);
        assert_eq!(comparison("Our shop sells laptops. Thanks."), 0.0);
    }

    #[test]
    fn opinions_are_weighted_on_one_scale() {
        let candidates = [
            candidate(10.0, Some(0.2), 0.5),
            candidate(-10.0, Some(0.6), 1.0),
            candidate(0.0, None, 0.0),
        ];
        let weights = Weights {
            retrieval: 2.0,
            sentence: 1.0,
            quality: 1.0,
            ..Weights::default()
        };
        let found = scores(
            &opinions(&candidates, weights, Scale::MinMax),
            Combine::Mean,
        );
        assert_eq!(
            found,
            [(2.0 + 0.0 + 0.5) / 4.0, (0.0 + 1.0 + 1.0) / 4.0, 1.0 / 4.0]
        );
        // a channel that no candidate has does not lower the mean
        let without = candidates.map(|c| Candidate {
            sentence: None,
            quality: None,
            ..c
        });
        assert_eq!(
            scores(&opinions(&without, weights, Scale::MinMax), Combine::Mean),
            [1.0, 0.0, 0.5]
        );
        assert!(scores(&opinions(&[], weights, Scale::MinMax), Combine::Mean).is_empty());
    }

    #[test]
    fn a_candidate_without_a_cross_score_gets_0_and_retrieval_ranks_if_no_candidate_has_one() {
        let logits = [Some(-11.0), Some(9.0), Some(4.0), None];
        let mut candidates = logits.map(|cross| Candidate {
            cross,
            ..candidate(1.0, None, 0.5)
        });
        candidates[3].retrieval = 5.0;
        let weights = Weights {
            cross: 2.0,
            ..Weights::default()
        };
        assert_eq!(
            scores(
                &opinions(&candidates, weights, Scale::MinMax),
                Combine::Mean
            ),
            [0.0, 1.0, 0.75, 0.0]
        );
        let without = candidates.map(|c| Candidate { cross: None, ..c });
        assert_eq!(
            scores(&opinions(&without, weights, Scale::MinMax), Combine::Mean),
            [0.0, 0.0, 0.0, 1.0]
        );
    }

    #[test]
    fn raw_sums_sigmoids_and_products_by_hand() {
        let candidates = [candidate(8.0, Some(0.5), 0.2), candidate(4.0, None, 0.9)];
        let weights = Weights {
            retrieval: 1.0,
            sentence: 0.7,
            ..Weights::default()
        };
        let score =
            |weights, scale, combine| scores(&opinions(&candidates, weights, scale), combine);
        assert_eq!(
            score(weights, Scale::Raw, Combine::Sum),
            [8.0 + 0.7 * 0.5, 4.0]
        );
        assert_eq!(score(weights, Scale::Max, Combine::Sum), [1.0 + 0.7, 0.5]);
        assert_eq!(score(weights, Scale::Raw, Combine::Product), [4.0, 4.0]);
        let weights = Weights {
            retrieval: 0.9,
            quality: 0.1,
            ..Weights::default()
        };
        let sigmoid = |x: f64| 1.0 / (1.0 + (-2.0 * x).exp());
        let found = score(weights, Scale::Sigmoid(2.0), Combine::Sum);
        for (found, (r, q)) in found.iter().zip([(8.0, 0.2), (4.0, 0.9)]) {
            assert!((found - (0.9 * sigmoid(r) + 0.1 * sigmoid(q))).abs() < 1e-12);
        }
        // retrieval is saturated, so quality decides
        assert!(found[1] > found[0]);
    }

    #[test]
    fn trees_are_scaled_and_svr_quality_is_not() {
        let learned = |svr_quality, small, medium| Candidate {
            svr_quality: Some(svr_quality),
            trees: [Some(small), Some(medium)],
            ..candidate(1.0, None, 0.5)
        };
        let candidates = [learned(0.3, -2.0, 1.0), learned(0.6, 2.0, 0.5)];
        let score = |weights| {
            let opinions = opinions(&candidates, weights, Scale::MinMax);
            scores(&opinions, Combine::Mean)
        };
        let mut weights = Weights {
            svr_quality: 1.0,
            ..Weights::default()
        };
        assert_eq!(score(weights), [0.3, 0.6]);
        weights.trees_small = 1.0;
        assert_eq!(score(weights), [0.15, 0.8]);
        let medium = Weights {
            trees_medium: 1.0,
            ..Weights::default()
        };
        assert_eq!(score(medium), [1.0, 0.0]);
    }

    #[test]
    fn a_near_duplicate_of_an_earlier_text_is_found() {
        let text = "Plastic bottles should be banned because they pollute the sea and the land";
        let again = "plastic bottles should be banned, because they pollute the sea and the land!!";
        let other = "Plastic bottles should be kept because they are light and cheap to make";
        assert_eq!(
            near_duplicates(&[text, other, again], 0.8),
            [false, false, true]
        );
        assert_eq!(
            near_duplicates(&["", "", "a", "A"], 0.8),
            [false, false, false, true]
        );
    }
}
