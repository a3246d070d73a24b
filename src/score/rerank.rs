//! Re-ranks the top of a text ranking by several opinions, and detects near-duplicates in it.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use riposte_claims::lexicon::comparison::WEIGHING;
use riposte_claims::words::alphanumeric_words;
use riposte_eval::Explanation;

use super::{CHANNEL, Opinion, explain_weighted_mean, weighted_mean};
use crate::index::search::explain::SCORE;

/// Number of words in a shingle.
const SHINGLE_WORDS: usize = 3;

/// The number of words of [`WEIGHING`] at which [`comparison`] reaches 1.
const FULL_COMPARISON: usize = 6;

/// The name of the opinion that is the score of retrieval.
pub(crate) const RETRIEVAL: &str = "retrieval";

/// The values that one re-ranker gives to all documents.
pub(crate) struct OpinionColumn {
    pub name: &'static str,
    pub weight: f64,
    /// Whether the values are already in [0, 1].
    pub is_unit: bool,
    /// The value for each document, in the order of the documents; `None` if the text lacks what the re-ranker needs, such as words. Empty if the
    /// re-ranker's model is missing.
    pub values: Vec<Option<f64>>,
}

/// How the values of each opinion are scaled, over the candidates of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// The values of each opinion are scaled to [0, 1] by their minimum and maximum, unless they are already in [0, 1] ([`OpinionColumn::is_unit`]).
    #[default]
    MinMax,
    /// No value is scaled.
    Raw,
    /// The values of each opinion are divided by the largest one, if that is above 0.
    Max,
    /// Each value becomes `1 / (1 + exp(-slope · value))`.
    Sigmoid(f64),
    /// Only for images, by the kind of the value: BM25 scores are divided by the topic's best score in the field, negative cosines become 0, and
    /// CLIP's cosines are scaled from their usual range.
    Unit,
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

    /// Scales the values of one opinion. `is_unit` says whether they are already in [0, 1].
    fn apply(
        self,
        values: impl Iterator<Item = Option<f64>> + Clone,
        is_unit: bool,
    ) -> Vec<Option<f64>> {
        let each =
            |scaled: &dyn Fn(f64) -> f64| values.clone().map(|value| value.map(scaled)).collect();
        match self {
            Scale::MinMax if !is_unit => min_max_scaled(values.clone()),
            // the values of images are scaled before they come here
            Scale::MinMax | Scale::Raw | Scale::Unit => values.clone().collect(),
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
    /// The sum of weight times value. An opinion without a value adds nothing.
    Sum,
    /// The product of the values; the weights are ignored. An opinion without a value counts 1.
    Product,
    /// The value of retrieval times `1 + weight · value` of each other opinion. An opinion without a value counts 1.
    Boost,
}

/// The opinions on each document, in the order of the documents. The first column is that of retrieval.
///
/// An opinion without a weight, or without a value for any document, is left out. If none remains, retrieval is the only opinion.
pub(crate) fn opinions(columns: &[OpinionColumn], scale: Scale) -> Vec<Vec<Opinion>> {
    let is_on = |of: &&OpinionColumn| of.weight > 0.0 && of.values.iter().any(Option::is_some);
    let on = columns.iter().filter(is_on).map(|of| (of, of.weight));
    let mut on: Vec<(&OpinionColumn, f64)> = on.collect();
    if on.is_empty() {
        on.extend(columns.first().map(|retrieval| (retrieval, 1.0)));
    }
    let documents = columns.first().map_or(0, |of| of.values.len());
    let mut opinions = vec![Vec::with_capacity(on.len()); documents];
    for (column, weight) in on {
        let values = scale.apply(column.values.iter().copied(), column.is_unit);
        for (of, value) in opinions.iter_mut().zip(values) {
            of.push(Opinion {
                name: column.name,
                weight,
                value,
            });
        }
    }
    opinions
}

/// The score of each candidate. A mean is in [0, 1].
pub fn scores(opinions: &[Vec<Opinion>], combine: Combine) -> Vec<f64> {
    let weighted = |of: &Opinion| of.weight * of.value.unwrap_or(0.0);
    let score = |of: &Vec<Opinion>| match combine {
        Combine::Mean => weighted_mean(of),
        Combine::Sum => of.iter().map(weighted).sum(),
        Combine::Product | Combine::Boost => of.iter().map(|of| factor(of, combine)).product(),
    };
    opinions.iter().map(score).collect()
}

/// The factor of an opinion in a product.
fn factor(opinion: &Opinion, combine: Combine) -> f64 {
    match opinion.value {
        Some(value) if combine == Combine::Boost && opinion.name != RETRIEVAL => {
            1.0 + opinion.weight * value
        }
        value => value.unwrap_or(1.0),
    }
}

/// The contributions of the opinions to a candidate's score.
pub(crate) fn explain(opinions: &[Opinion], combine: Combine) -> Vec<Explanation> {
    if combine == Combine::Mean {
        return explain_weighted_mean(SCORE, opinions).into_parts();
    }
    let part = |opinion: &Opinion| {
        let Opinion {
            name,
            weight,
            value,
        } = opinion;
        let (value, how) = match (combine, value) {
            (Combine::Boost, Some(value)) if *name != RETRIEVAL => (
                factor(opinion, combine),
                format!("factor: 1 + {weight} × {value:.4}"),
            ),
            (Combine::Product | Combine::Boost, _) => {
                (factor(opinion, combine), "factor".to_owned())
            }
            (_, Some(value)) => (weight * value, format!("weight {weight} × {value:.4}")),
            (_, None) => (0.0, "the document has nothing here".to_owned()),
        };
        Explanation::new((CHANNEL, *name), value).with_how(how)
    };
    opinions.iter().map(part).collect()
}

/// The values scaled linearly so that the smallest is 0 and the largest 1. If all are equal, each becomes 1.
fn min_max_scaled(values: impl Iterator<Item = Option<f64>> + Clone) -> Vec<Option<f64>> {
    let present = || values.clone().flatten();
    let low = present().fold(f64::INFINITY, f64::min);
    let high = present().fold(f64::NEG_INFINITY, f64::max);
    let range = high - low;
    let scaled = |value: f64| {
        if high > low {
            (value - low) / range
        } else {
            1.0
        }
    };
    values.clone().map(|value| value.map(scaled)).collect()
}

/// How much a text compares, in [0, 1]: the number of its words that weigh one thing against another ([`WEIGHING`]), at most six, divided by
/// six.
pub fn comparison(text: &str) -> f64 {
    let weighs = |word: &&str| WEIGHING.contains(&word.to_lowercase().as_str());
    let weighing = alphanumeric_words(text).filter(weighs);
    weighing.take(FULL_COMPARISON).count() as f64 / FULL_COMPARISON as f64
}

/// For each text, whether it is a near-duplicate of an earlier text ([`repeated`]).
pub(crate) fn near_duplicates(texts: &[&str], threshold: f64) -> Vec<bool> {
    let repeated = repeated(texts, threshold).into_iter();
    repeated.map(|earlier| earlier.is_some()).collect()
}

/// For each text, the position of the first earlier text of which it is a near-duplicate; `None` if there is none. Two texts are near-duplicates
/// if their resemblance (Broder 1997) is at least `threshold`. The resemblance, in [0, 1], is the number of shingles of three words that both
/// texts have, divided by the number of shingles that at least one of them has.
pub(crate) fn repeated(texts: &[&str], threshold: f64) -> Vec<Option<usize>> {
    let mut numbers = HashMap::new();
    let mut earlier: Vec<Vec<Shingle>> = Vec::new();
    let mut find = |text: &&str| {
        let shingles = shingles(text, &mut numbers);
        let is_near = |other: &Vec<Shingle>| resemblance(other, &shingles) >= threshold;
        let found = earlier.iter().position(is_near);
        earlier.push(shingles);
        found
    };
    texts.iter().map(&mut find).collect()
}

/// A sequence of words by their numbers; 0 stands where a text has fewer words.
type Shingle = [usize; SHINGLE_WORDS];

/// The sequences of three words of a text, whatever their case, sorted and each once. A shorter text is a single shingle; a text without words has
/// none. `numbers` has the number of each word so far.
fn shingles(text: &str, numbers: &mut HashMap<String, usize>) -> Vec<Shingle> {
    let words = alphanumeric_words(text).map(str::to_lowercase);
    let words: Vec<usize> = words
        .map(|word| {
            let next = numbers.len() + 1;
            *numbers.entry(word).or_insert(next)
        })
        .collect();
    let parts = words.windows(SHINGLE_WORDS.min(words.len()).max(1));
    let mut shingles: Vec<Shingle> = parts
        .map(|part| std::array::from_fn(|at| part.get(at).copied().unwrap_or(0)))
        .collect();
    shingles.sort_unstable();
    shingles.dedup();
    shingles
}

/// The resemblance of two sorted lists.
fn resemblance(a: &[Shingle], b: &[Shingle]) -> f64 {
    let (mut left, mut right, mut both) = (a.iter().peekable(), b.iter().peekable(), 0);
    while let (Some(x), Some(y)) = (left.peek(), right.peek()) {
        let order = x.cmp(y);
        if order.is_le() {
            left.next();
        }
        if order.is_ge() {
            right.next();
        }
        both += usize::from(order.is_eq());
    }
    let either = a.len() + b.len() - both;
    both as f64 / either.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns of these opinions: name, weight and values. Only quality is in [0, 1] already.
    fn columns<const N: usize>(of: &[(&'static str, f64, [Option<f64>; N])]) -> Vec<OpinionColumn> {
        let column =
            |(name, weight, values): &(&'static str, f64, [Option<f64>; N])| OpinionColumn {
                name,
                weight: *weight,
                is_unit: *name == "quality",
                values: values.to_vec(),
            };
        of.iter().map(column).collect()
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
        let retrieval = [Some(10.0), Some(-10.0), Some(0.0)];
        let mean = |of: &[(&'static str, f64, [Option<f64>; 3])]| {
            scores(&opinions(&columns(of), Scale::MinMax), Combine::Mean)
        };
        assert_eq!(
            mean(&[
                (RETRIEVAL, 2.0, retrieval),
                ("sentence", 1.0, [Some(0.2), Some(0.6), None]),
                ("quality", 1.0, [Some(0.5), Some(1.0), Some(0.0)]),
            ]),
            [(2.0 + 0.0 + 0.5) / 4.0, (0.0 + 1.0 + 1.0) / 4.0, 1.0 / 4.0]
        );
        // an opinion that no document has does not lower the mean
        let without = [(RETRIEVAL, 2.0, retrieval), ("sentence", 1.0, [None; 3])];
        assert_eq!(mean(&without), [1.0, 0.0, 0.5]);
        assert!(mean(&[]).is_empty());
    }

    #[test]
    fn a_document_without_a_cross_score_gets_0_and_retrieval_ranks_if_none_has_one() {
        let retrieval = [Some(1.0), Some(1.0), Some(1.0), Some(5.0)];
        let cross = [Some(-11.0), Some(9.0), Some(4.0), None];
        let mean = |cross| {
            let known = columns(&[(RETRIEVAL, 0.0, retrieval), ("cross", 2.0, cross)]);
            scores(&opinions(&known, Scale::MinMax), Combine::Mean)
        };
        assert_eq!(mean(cross), [0.0, 1.0, 0.75, 0.0]);
        assert_eq!(mean([None; 4]), [0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn raw_sums_sigmoids_and_products_by_hand() {
        let retrieval = [Some(8.0), Some(4.0)];
        let quality = [Some(0.2), Some(0.9)];
        let score = |of: &[(&'static str, f64, [Option<f64>; 2])], scale, combine| {
            scores(&opinions(&columns(of), scale), combine)
        };
        let semantic = [
            (RETRIEVAL, 1.0, retrieval),
            ("sentence", 0.7, [Some(0.5), None]),
        ];
        assert_eq!(
            score(&semantic, Scale::Raw, Combine::Sum),
            [8.0 + 0.7 * 0.5, 4.0]
        );
        assert_eq!(score(&semantic, Scale::Max, Combine::Sum), [1.0 + 0.7, 0.5]);
        assert_eq!(score(&semantic, Scale::Raw, Combine::Product), [4.0, 4.0]);
        let boosted = [(RETRIEVAL, 3.0, retrieval), ("quality", 0.5, quality)];
        let found = score(&boosted, Scale::Raw, Combine::Boost);
        assert_eq!(found, [8.0 * (1.0 + 0.5 * 0.2), 4.0 * (1.0 + 0.5 * 0.9)]);
        let good = [(RETRIEVAL, 0.9, retrieval), ("quality", 0.1, quality)];
        let sigmoid = |x: f64| 1.0 / (1.0 + (-2.0 * x).exp());
        let found = score(&good, Scale::Sigmoid(2.0), Combine::Sum);
        for (found, (r, q)) in found.iter().zip([(8.0, 0.2), (4.0, 0.9)]) {
            assert!((found - (0.9 * sigmoid(r) + 0.1 * sigmoid(q))).abs() < 1e-12);
        }
        // retrieval is saturated, so quality decides
        assert!(found[1] > found[0]);
    }

    #[test]
    fn values_that_are_in_0_to_1_stay_as_they_are() {
        let known = columns(&[
            (RETRIEVAL, 1.0, [Some(8.0), Some(6.0), Some(4.0)]),
            ("quality", 3.0, [Some(0.25), Some(0.5), None]),
        ]);
        let score = |scale, combine| scores(&opinions(&known, scale), combine);
        assert_eq!(score(Scale::Raw, Combine::Sum), [8.75, 7.5, 4.0]);
        assert_eq!(
            score(Scale::MinMax, Combine::Mean),
            [(1.0 + 0.75) / 4.0, (0.5 + 1.5) / 4.0, 0.0]
        );
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
