//! Fusion of several rankings of one topic.

use std::collections::BTreeMap;

use riposte_eval::DocId;

use super::ScoredDoc;

/// How rankings are fused. A ranking adds nothing to the score of a document that it does not contain.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fusion {
    /// Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): `weight / (k + rank)`, k = 60 in the paper.
    Rrf { k: f64 },
    /// `weight × score`, with the scores of each ranking scaled to [0, 1] by their minimum and maximum; if all are equal, each becomes 1.
    MinMax,
    /// `weight × score`, with unchanged scores.
    Sum,
    /// Borda count: `weight × (n - rank + 1) / n` in a ranking of n documents.
    Borda,
    /// The documents that all rankings contain, with `weight × score` of the first ranking.
    Intersection,
}

impl Fusion {
    /// What a ranking adds to the fused score of each of its documents, in its order. `place` is the position of the ranking among all rankings,
    /// from 0.
    pub(crate) fn contributions(
        self,
        place: usize,
        ranking: &[ScoredDoc],
        weight: f64,
    ) -> impl Iterator<Item = f64> {
        let scores = || ranking.iter().map(|found| found.score);
        let (low, high) = (
            scores().fold(f64::INFINITY, f64::min),
            scores().fold(f64::NEG_INFINITY, f64::max),
        );
        let n = ranking.len() as f64;
        (1..).zip(ranking).map(move |(rank, found)| {
            let rank = f64::from(rank);
            let score = match self {
                Fusion::Rrf { k } => 1.0 / (k + rank),
                Fusion::MinMax if high <= low => 1.0,
                Fusion::MinMax => (found.score - low) / (high - low),
                Fusion::Sum => found.score,
                Fusion::Borda => (n - rank + 1.0) / n,
                Fusion::Intersection if place == 0 => found.score,
                Fusion::Intersection => 0.0,
            };
            weight * score
        })
    }
}

/// Fuses rankings. Each one has a weight, and its best document comes first. The result is sorted by decreasing fused score, ties by document
/// id.
pub(crate) fn fuse(rankings: &[(&[ScoredDoc], f64)], fusion: Fusion) -> Vec<ScoredDoc> {
    let mut sums: BTreeMap<&DocId, f64> = BTreeMap::new();
    let mut in_rankings: BTreeMap<&DocId, usize> = BTreeMap::new();
    for (place, (ranking, weight)) in rankings.iter().enumerate() {
        let contributions = fusion.contributions(place, ranking, *weight);
        for (found, score) in ranking.iter().zip(contributions) {
            *in_rankings.entry(&found.doc).or_default() += 1;
            *sums.entry(&found.doc).or_default() += score;
        }
    }
    let least = match fusion {
        Fusion::Intersection => rankings.len(),
        _ => 1,
    };
    let mut fused: Vec<ScoredDoc> = sums
        .into_iter()
        .filter(|(doc, _)| in_rankings.get(*doc).is_some_and(|count| *count >= least))
        .map(|(doc, score)| ScoredDoc {
            doc: doc.clone(),
            score,
        })
        .collect();
    // the sort is stable and the documents are in the order of their ids
    fused.sort_by(|a, b| b.score.total_cmp(&a.score));
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(docs: &[(&str, f64)]) -> Vec<ScoredDoc> {
        let scored = |(doc, score): &(&str, f64)| ScoredDoc {
            doc: DocId((*doc).to_owned()),
            score: *score,
        };
        docs.iter().map(scored).collect()
    }

    #[test]
    fn the_worked_example_of_each_fusion() {
        let one = ranking(&[("a", 10.0), ("b", 6.0), ("c", 2.0)]);
        let two = ranking(&[("c", 1.0), ("d", 0.0)]);
        let fused = |fusion| fuse(&[(&one, 1.0), (&two, 2.0)], fusion);
        let expect = |fusion, expected: &[(&str, f64)]| {
            let fused = fused(fusion);
            assert_eq!(fused.len(), expected.len());
            for (found, (doc, score)) in fused.iter().zip(expected) {
                assert_eq!(found.doc.0, *doc, "{fusion:?}");
                assert!(
                    (found.score - score).abs() < 1e-12,
                    "{fusion:?} {doc}: {}",
                    found.score
                );
            }
        };
        let rrf = [
            ("c", 1.0 / 63.0 + 2.0 / 61.0),
            ("d", 2.0 / 62.0),
            ("a", 1.0 / 61.0),
            ("b", 1.0 / 62.0),
        ];
        expect(Fusion::Rrf { k: 60.0 }, &rrf);
        expect(
            Fusion::MinMax,
            &[("c", 2.0), ("a", 1.0), ("b", 0.5), ("d", 0.0)],
        );
        // a and d have equal counts and are sorted by id
        let borda = [
            ("c", 1.0 / 3.0 + 2.0),
            ("a", 1.0),
            ("d", 1.0),
            ("b", 2.0 / 3.0),
        ];
        expect(Fusion::Borda, &borda);
        expect(Fusion::Intersection, &[("c", 2.0)]);
        assert!(fuse(&[], Fusion::Borda).is_empty());
        let alike = ranking(&[("a", 3.0), ("b", 3.0)]);
        assert_eq!(
            fuse(&[(&alike, 1.0)], Fusion::MinMax),
            ranking(&[("a", 1.0), ("b", 1.0)])
        );
    }
}
