//! The top of a text ranking, ordered anew by several opinions.

use std::collections::HashSet;

use super::{Opinion, weighted_mean};
use crate::topic::lexicon::comparison::WEIGHING;
use crate::topic::words::alphanumeric_words;

/// Words that make one piece when texts are compared.
const SHINGLE: usize = 3;

/// So many of them make a comparison.
const ENOUGH: usize = 6;

/// A document at the top of a ranking, and what is said of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// Its score by retrieval.
    pub retrieval: f64,
    /// The cosine of the topic and the most similar part of the text.
    pub sentence: Option<f64>,
    /// The cross-encoder's score of the topic and the part of the text that it likes best.
    pub cross: Option<f64>,
    /// How well it is written, in [0, 1].
    pub quality: Option<f64>,
    /// How much it compares, in [0, 1] ([`comparison`]).
    pub comparison: Option<f64>,
    /// P(pro) + P(con): that it takes a side on the topic.
    pub side: Option<f64>,
}

/// What each opinion weighs.
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
}

/// The opinions on each candidate, in their order: retrieval, likeness and the cross-encoder's score brought to [0, 1] by
/// the least and the greatest among the candidates, quality, comparison and side as they are. An opinion that weighs nothing, or
/// that no candidate has, is not among them; where none is left, retrieval is the only one.
pub fn opinions(candidates: &[Candidate], weights: Weights) -> Vec<Vec<Opinion>> {
    let retrieval = to_unit(candidates.iter().map(|c| Some(c.retrieval)));
    let sentence = to_unit(candidates.iter().map(|c| c.sentence));
    let cross = to_unit(candidates.iter().map(|c| c.cross));
    let quality: Vec<Option<f64>> = candidates.iter().map(|c| c.quality).collect();
    let comparison: Vec<Option<f64>> = candidates.iter().map(|c| c.comparison).collect();
    let side: Vec<Option<f64>> = candidates.iter().map(|c| c.side).collect();
    let mut channels = [
        ("retrieval", weights.retrieval, retrieval),
        ("sentence", weights.sentence, sentence),
        ("cross", weights.cross, cross),
        ("quality", weights.quality, quality),
        ("comparison", weights.comparison, comparison),
        ("side", weights.side, side),
    ];
    let speaks =
        |weight: f64, values: &[Option<f64>]| weight > 0.0 && values.iter().any(Option::is_some);
    if !channels
        .iter()
        .any(|(_, weight, values)| speaks(*weight, values))
    {
        channels[0].1 = 1.0;
    }
    let on: Vec<_> = channels
        .iter()
        .filter(|(_, weight, values)| speaks(*weight, values))
        .collect();
    (0..candidates.len())
        .map(|at| {
            on.iter()
                .map(|(name, weight, values)| Opinion {
                    name,
                    weight: *weight,
                    value: values[at],
                })
                .collect()
        })
        .collect()
}

/// The weighted mean of each candidate's opinions, in [0, 1].
pub fn scores(opinions: &[Vec<Opinion>]) -> Vec<f64> {
    opinions.iter().map(|of| weighted_mean(of)).collect()
}

/// Brings numbers to [0, 1]; where all are alike, to 1.
fn to_unit(values: impl Iterator<Item = Option<f64>> + Clone) -> Vec<Option<f64>> {
    let there = || values.clone().flatten();
    let (low, high) = (
        there().fold(f64::INFINITY, f64::min),
        there().fold(f64::NEG_INFINITY, f64::max),
    );
    values
        .clone()
        .map(|value| {
            value.map(|value| match high > low {
                true => (value - low) / (high - low),
                false => 1.0,
            })
        })
        .collect()
}

/// How much a text compares: words that weigh one thing against another, up to six of them, as a share of six.
pub fn comparison(text: &str) -> f64 {
    let weighs = |word: &&str| WEIGHING.contains(&word.to_lowercase().as_str());
    alphanumeric_words(text).filter(weighs).take(ENOUGH).count() as f64 / ENOUGH as f64
}

/// For each text, in their order, whether one before it says nearly the same: the share of three-word pieces that
/// both have (Broder's resemblance) is at least `alike`.
pub fn repeats(texts: &[&str], alike: f64) -> Vec<bool> {
    let pieces: Vec<HashSet<Vec<String>>> = texts.iter().map(|text| pieces(text)).collect();
    (0..pieces.len())
        .map(|at| {
            pieces[..at]
                .iter()
                .any(|before| resemblance(before, &pieces[at]) >= alike)
        })
        .collect()
}

fn pieces(text: &str) -> HashSet<Vec<String>> {
    let words: Vec<String> = alphanumeric_words(text).map(str::to_lowercase).collect();
    words
        .windows(SHINGLE.min(words.len()).max(1))
        .map(<[String]>::to_vec)
        .collect()
}

fn resemblance(a: &HashSet<Vec<String>>, b: &HashSet<Vec<String>>) -> f64 {
    let both = a.intersection(b).count();
    let either = a.len() + b.len() - both;
    match either {
        0 => 0.0,
        _ => both as f64 / either as f64,
    }
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
        }
    }

    #[test]
    fn what_compares_is_told_from_what_does_not() {
        let both = "A laptop is better than a desktop, but more expensive: compared to it, both speed and price are worse.";
        assert_eq!(comparison(both), 1.0);
        assert_eq!(comparison("Unlike a goat, a cow"), 1.0 / 6.0);
        assert_eq!(comparison("Our shop sells laptops. Thanks."), 0.0);
    }

    #[test]
    fn opinions_are_weighed_on_one_scale() {
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
        let found = scores(&opinions(&candidates, weights));
        assert_eq!(
            found,
            [(2.0 + 0.0 + 0.5) / 4.0, (0.0 + 1.0 + 1.0) / 4.0, 1.0 / 4.0]
        );
        // A channel that nobody has takes its weight along.
        let silent = candidates.map(|c| Candidate {
            sentence: None,
            quality: None,
            ..c
        });
        assert_eq!(scores(&opinions(&silent, weights)), [1.0, 0.0, 0.5]);
        assert!(scores(&opinions(&[], weights)).is_empty());
    }

    #[test]
    fn the_cross_encoder_speaks_where_it_is_and_retrieval_where_nobody_does() {
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
            scores(&opinions(&candidates, weights)),
            [0.0, 1.0, 0.75, 0.0]
        );
        let silent = candidates.map(|c| Candidate { cross: None, ..c });
        assert_eq!(scores(&opinions(&silent, weights)), [0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn a_text_that_says_the_same_again_is_known() {
        let text = "Plastic bottles should be banned because they pollute the sea and the land";
        let again = "plastic bottles should be banned, because they pollute the sea and the land!!";
        let other = "Plastic bottles should be kept because they are light and cheap to make";
        assert_eq!(repeats(&[text, other, again], 0.8), [false, false, true]);
        assert_eq!(
            repeats(&["", "", "a", "A"], 0.8),
            [false, false, false, true]
        );
    }
}
