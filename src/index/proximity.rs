//! Query terms that stand near each other in a document's text.
//!
//! The index keeps no positions: they would make it half as large again and the building slower for what
//! only the top of a ranking needs. So the best documents are read again from their stored texts.

use anyhow::Result;

use super::corpus::Corpus;
use super::search::Query;
use crate::trec::ScoredDoc;

/// How much nearness counts.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proximity {
    /// Two terms are near if at most so many terms apart (1: side by side).
    pub window: usize,
    /// What a document gains in which all are near, as a share of the best score.
    pub weight: f64,
    /// So many documents from the top are read; the others keep their scores.
    pub depth: usize,
}

/// The share, from 0 to 1, of the pairs of neighbouring query terms that stand within `window` of each
/// other somewhere in the text, in either order. 0 for a query of fewer than two different terms.
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
        text.iter().enumerate().any(|(at, term)| {
            if term == a {
                last_a = Some(at);
            } else if term == b {
                last_b = Some(at);
            } else {
                return false;
            }
            matches!((last_a, last_b), (Some(x), Some(y)) if x.abs_diff(y) <= window)
        })
    };
    pairs.iter().filter(near).count() as f64 / pairs.len() as f64
}

impl Corpus {
    /// The ranking with what nearness in the field of the query's first part adds to its top; equal scores
    /// by document id. Errors: a document cannot be read.
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
    fn neighbouring_terms_are_looked_for_within_the_window() {
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
