//! Skeletor (Touché 2021): a ranking by similarity to the first documents of another ranking.

use std::collections::BTreeMap;

use anyhow::Result;
use riposte_eval::{DocId, Explanation};
use serde::Deserialize;

use crate::index::ScoredDoc;
use crate::index::dense::{NearPassage, SearchUnit, Vectors};
use crate::index::inverted::InvertedIndex;
use crate::index::options::SearchOptions;

/// The score of the manifold ranking.
pub(crate) const MANIFOLD: &str = "manifold";

/// The contribution of a document of which this one is a neighbour. The parameter is its id.
pub(crate) const NEIGHBOUR: &str = "neighbour";

/// For each passage of the first documents, the nearest passages are found and weighted as UMAP weights the neighbours of a point (McInnes and others
/// 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifold {
    /// Number of documents whose neighbours are ranked.
    pub documents: usize,
    /// Number of nearest passages of each passage. The first of them counts as the passage itself.
    pub neighbours: usize,
}

/// A scale is accepted if the sum of the weights differs from the wanted sum by less than this.
const TOLERANCE: f64 = 0.0005;
/// The largest scale that is tried.
const TOP_SCALE: f64 = 1000.0;
/// A passage whose scale would be smaller has no weights: its neighbours are equally far.
const SMALLEST_SCALE: f64 = 1e-16;
/// Maximum number of times that the interval of scales is halved.
const STEPS: usize = 100;

/// The neighbours of the first documents of a ranking, the best first, with their scores and the explanations.
///
/// # Errors
/// A stored vector has another length than the others, or a number in it is not finite.
pub(crate) fn rank(
    ranking: &[ScoredDoc],
    recipe: Manifold,
    index: &InvertedIndex,
    vectors: &Vectors,
    options: SearchOptions,
) -> Result<Vec<(ScoredDoc, Explanation)>> {
    let options = SearchOptions {
        k: recipe.neighbours,
        ..options
    };
    // by document, what each of the first documents adds
    let mut sums: BTreeMap<DocId, Vec<Explanation>> = BTreeMap::new();
    for source in ranking.iter().take(recipe.documents) {
        let Some(number) = index.number(&source.doc) else {
            continue;
        };
        let passages = vectors.of_document(number);
        let found = vectors.search(index, &passages, SearchUnit::Passages, options)?;
        let mut added: BTreeMap<u32, f64> = BTreeMap::new();
        for neighbours in &found {
            for (near, weight) in neighbours.iter().zip(weights(neighbours)) {
                *added.entry(near.document).or_default() += weight;
            }
        }
        for (number, weight) in added {
            if let Some(doc) = index.id(number) {
                let part = Explanation::new((NEIGHBOUR, source.doc.0.as_str()), weight);
                let part = part.named(format!("neighbour of {}", source.doc));
                sums.entry(doc).or_default().push(part);
            }
        }
    }
    let mut ranked: Vec<(ScoredDoc, Explanation)> = sums
        .into_iter()
        .map(|(doc, parts)| {
            let how = "sum of the weights of its passages among the nearest of each passage of the first documents";
            let explanation = Explanation::sum(MANIFOLD, parts).with_how(how);
            let score = explanation.value();
            (ScoredDoc { doc, score }, explanation)
        })
        .collect();
    // the sort is stable and the documents are in the order of their ids
    ranked.sort_by(|a, b| b.0.score.total_cmp(&a.0.score));
    Ok(ranked)
}

/// The weight of each neighbour of a passage. The first neighbour counts as the passage itself and has the weight 1. Each of the others has the
/// weight `exp(-(d - d₁) / scale)`, where d is 1 minus the cosine and d₁ the smallest d among them. The scale is chosen so that the weights of the
/// others add up to the binary logarithm of their number. If there is no such scale, the result is empty.
fn weights(neighbours: &[NearPassage]) -> Vec<f64> {
    let Some((_, others)) = neighbours.split_first() else {
        return Vec::new();
    };
    let distances: Vec<f64> = others.iter().map(|n| 1.0 - f64::from(n.cosine)).collect();
    let smallest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let wanted = (distances.len() as f64).log2();
    let weight = |distance: &f64, scale: f64| (-(distance - smallest).max(0.0) / scale).exp();
    let (mut low, mut high, mut scale) = (0.0, TOP_SCALE, 1.0);
    for _ in 0..STEPS {
        let sum: f64 = distances.iter().map(|d| weight(d, scale)).sum();
        if (sum - wanted).abs() < TOLERANCE {
            let weights = distances.iter().map(|d| weight(d, scale));
            return std::iter::once(1.0).chain(weights).collect();
        }
        if sum > wanted {
            high = scale;
        } else {
            low = scale;
        }
        scale = f64::midpoint(low, high);
        if scale < SMALLEST_SCALE {
            break;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(cosines: &[f32]) -> Vec<NearPassage> {
        let near = |cosine: &f32| NearPassage {
            document: 0,
            passage: 0,
            cosine: *cosine,
        };
        cosines.iter().map(near).collect()
    }

    #[test]
    fn the_weights_of_the_others_sum_to_the_logarithm_of_their_number() {
        let found = weights(&near(&[1.0, 0.9, 0.8, 0.7, 0.6]));
        assert_eq!(found[..2], [1.0, 1.0]);
        let sum: f64 = found[1..].iter().sum();
        assert!((sum - 2.0).abs() < TOLERANCE, "{found:?}");
        // equal steps of the cosine are equal factors: 1 + x + x² + x³ = 2 for x = 0.5437
        for pair in found[1..].windows(2) {
            assert!((pair[1] / pair[0] - 0.5437).abs() < 0.001, "{found:?}");
        }
    }

    #[test]
    fn neighbours_that_are_equally_far_have_no_weights() {
        assert!(weights(&near(&[1.0, 0.5, 0.5, 0.5, 0.5])).is_empty());
        assert!(weights(&near(&[])).is_empty());
    }
}
