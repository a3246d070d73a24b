//! A bonus for documents in which query terms are near each other.
//!
//! The index has no positions, which would make it about 1.5 times as large and slower to build. They are needed only for the top of a
//! ranking, where the stored texts of the documents are read instead.

use anyhow::Result;

use super::corpus::Corpus;
use super::search::Query;
use crate::trec::ScoredDoc;

/// The parameters of the bonus.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proximity {
    /// Maximum distance, in terms, of two terms that are near each other; 1 for adjacent terms.
    pub window: usize,
    /// The bonus of a document in which all pairs are near, as a share of the absolute value of the best score.
    pub weight: f64,
    /// Number of documents at the top of the ranking that can get a bonus; the others keep their scores.
    pub depth: usize,
}

/// The share, in [0, 1], of the pairs of adjacent query terms that are within `window` terms of each other somewhere in the text, in either
/// order. A pair that occurs several times in the query counts once, and pairs of the same term do not count. 0 for a query without pairs.
pub fn nearness(query: &[&str], text: &[String], window: usize) -> f64 {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for (a, b) in query.iter().zip(query.iter().skip(1)) {
        if a != b && !pairs.contains(&(a, b)) {
            pairs.push((a, b));
        }
    }
    if pairs.is_empty() {
        return 0.0;
    }
    let near = |(a, b): &&(&str, &str)| {
        let (mut last_a, mut last_b) = (None::<usize>, None::<usize>);
        text.iter().enumerate().any(|(position, term)| {
            if term == a {
                last_a = Some(position);
            } else if term == b {
                last_b = Some(position);
            } else {
                return false;
            }
            matches!((last_a, last_b), (Some(x), Some(y)) if x.abs_diff(y) <= window)
        })
    };
    pairs.iter().filter(near).count() as f64 / pairs.len() as f64
}

impl Corpus {
    /// The ranking with the bonus added to the scores of its top, sorted by decreasing score, ties by document id. The terms of the query's
    /// first part are looked for in that part's field.
    ///
    /// # Errors
    /// A document cannot be read.
    pub fn with_proximity(
        &self,
        mut ranking: Vec<ScoredDoc>,
        query: &Query,
        proximity: Proximity,
    ) -> Result<Vec<ScoredDoc>> {
        let (Some(part), Some(best)) = (query.parts.first(), ranking.first()) else {
            return Ok(ranking);
        };
        let bonus = proximity.weight * best.score.abs();
        let terms: Vec<&str> = part.terms().iter().map(|(term, _)| term.as_str()).collect();
        let depth = proximity.depth.min(ranking.len());
        let top = ranking.get(..depth).unwrap_or_default();
        let texts = self.terms_of(top, part.field)?;
        for (found, (_, text)) in ranking.iter_mut().zip(texts) {
            found.score += bonus * nearness(&terms, &text, proximity.window);
        }
        ranking.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        Ok(ranking)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_query_terms_are_looked_for_within_the_window() {
        let text: Vec<String> = "gun x x control x x x law gun law"
            .split(' ')
            .map(str::to_owned)
            .collect();
        for (query, window, expected) in [
            (&["gun", "control"][..], 3, 1.0),
            (&["control", "gun"], 3, 1.0),
            (&["gun", "control"], 2, 0.0),
            (&["gun", "control", "law"], 3, 0.5),
            (&["gun", "control", "law"], 4, 1.0),
            (&["gun", "law"], 1, 1.0),
            (&["gun", "tax"], 9, 0.0),
            (&["gun"], 9, 0.0),
            (&["gun", "gun"], 9, 0.0),
        ] {
            assert_eq!(
                nearness(query, &text, window),
                expected,
                "{query:?} {window}"
            );
        }
    }
}
