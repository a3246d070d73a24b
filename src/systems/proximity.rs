//! Shanks (Touché 2021): pairs of query terms that occur near each other in a document. The similarity scores them as Lucene scores sloppy phrases
//! of two terms.
//!
//! The index stores no positions, because they would make it larger and slower to build. Pairs are scored only at the top of a ranking, where
//! the stored texts of the documents are read instead. So pairs reorder the ranking and find no further documents.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use riposte_eval::Explanation;

use crate::index::inverted::InvertedIndex;
use crate::index::search::explain::{PROXIMITY, SCORE, TERMS};
use crate::index::search::{IndexQuery, Plan, QueryPart, length_of, sort};
use crate::index::similarity::{Similarity, TermScore};
use crate::index::{ScoredDoc, analyzer};

/// Which pairs are scored, and how.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TermPairs {
    /// The pairs of terms of the query.
    pub of: PairsOf,
    /// Maximum distance of the two terms from being adjacent and in the order of the query. Each word between them counts 1, including words
    /// that the analyzer leaves out, and the reverse order counts 2.
    pub slop: usize,
    /// The weight of a pair's score in each field, whatever the weight of the field.
    pub weight: f64,
    /// Number of documents at the top of the ranking whose pairs are scored; the others keep their scores.
    pub depth: usize,
}

/// Pairs of terms of a query. A pair of equal terms does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairsOf {
    /// Terms that follow each other, after the analyzer has left out words.
    AdjacentTerms,
    AllTerms,
}

impl PairsOf {
    /// The pairs of these terms, each in the order of the query.
    fn pairs(self, terms: &[String]) -> Vec<(&str, &str)> {
        let mut pairs = Vec::new();
        for (at, first) in terms.iter().enumerate() {
            let behind = terms.iter().skip(at + 1);
            let count = match self {
                PairsOf::AdjacentTerms => 1,
                PairsOf::AllTerms => terms.len(),
            };
            let others = behind.take(count).filter(|second| *second != first);
            pairs.extend(others.map(|second| (first.as_str(), second.as_str())));
        }
        pairs
    }
}

/// How often two terms are near each other, as in Lucene (`SloppyPhraseMatcher`): the sum of `1 / (1 + distance)` over the places where the
/// distance is at most `slop`. [`TermPairs::slop`] defines the distance. `first` and `second` are the terms' positions, in ascending order.
pub fn sloppy_frequency(first: &[usize], second: &[usize], slop: usize) -> f64 {
    // the place of the second term is its position minus 1, so adjacent terms in the right order have the same place
    let mut places: [Vec<i64>; 2] = [
        first.iter().map(|at| *at as i64).collect(),
        second.iter().map(|at| *at as i64 - 1).collect(),
    ];
    places.iter_mut().for_each(|all| all.reverse());
    let [Some(a), Some(b)] = places.each_mut().map(Vec::pop) else {
        return 0.0;
    };
    let mut current = [a, b];
    let mut frequency = 0.0;
    loop {
        // the term with the earlier place moves to its next place until it would pass the other term
        let behind = usize::from(current[1] < current[0]);
        let ahead = current[1 - behind];
        let mut off = ahead - current[behind];
        let next = loop {
            match places[behind].pop() {
                Some(place) if place <= ahead => {
                    off = off.min(ahead - place);
                }
                next => break next,
            }
        };
        if off as usize <= slop {
            frequency += 1.0 / (1.0 + off as f64);
        }
        match next {
            Some(place) => current[behind] = place,
            None => return frequency,
        }
    }
}

impl TermPairs {
    /// Adds the scores of the pairs of `terms` to the top of a ranking. Returns the ranking, the best first, ties by id. The fields are those of
    /// the query's parts.
    ///
    /// # Errors
    /// A document cannot be read, or the similarity combines fields itself.
    pub fn rescore(
        &self,
        index: &InvertedIndex,
        mut ranking: Vec<ScoredDoc>,
        query: &IndexQuery,
        terms: &[String],
        similarity: &Similarity,
    ) -> Result<Vec<ScoredDoc>> {
        ensure!(
            !similarity.combines_fields(),
            "bm25f has no score for pairs"
        );
        let wanted = self.of.pairs(terms);
        let parts = query.parts.iter().map(|part| {
            let mut single = QueryPart::new(0, 1.0).over(part.fields().to_vec());
            terms.iter().for_each(|term| single.add(term, 1.0));
            single
        });
        let single = IndexQuery {
            parts: parts.collect(),
        };
        let plan = Plan::new(index, &single, similarity)?;
        let scores: Vec<HashMap<&str, TermScore>> = (0..single.parts.len())
            .map(|part| plan.term_scores(part))
            .collect();
        let mut analyzer = index.meta().analyzer.build();
        for found in ranking.iter_mut().take(self.depth) {
            let document = index.document(&found.doc)?;
            let Some(number) = index.number(&found.doc) else {
                continue;
            };
            for (part, scores) in single.parts.iter().zip(&scores) {
                let places = places(&mut analyzer, part.fields(), &document.texts, terms);
                let length = length_of(index, part.fields(), number);
                for (first, second) in &wanted {
                    let at = |term: &str| places.get(term).map_or(&[][..], Vec::as_slice);
                    let frequency = sloppy_frequency(at(first), at(second), self.slop);
                    if frequency > 0.0 {
                        let both = [first, second].map(|term| scores.get(term));
                        let score = both
                            .into_iter()
                            .flatten()
                            .map(|score| score.score(frequency, length));
                        found.score += self.weight * score.sum::<f64>();
                    }
                }
            }
        }
        sort(&mut ranking);
        Ok(ranking)
    }

    /// Explains a score as the sum of the terms' score and of what the pairs add to it.
    pub fn explain(&self, terms: Explanation, score: f64) -> Explanation {
        Explanation::new(SCORE, score)
            .with_how("sum")
            .with_parts(vec![
                Explanation::new(PROXIMITY, score - terms.value()).named("pairs of near terms"),
                terms.identified(TERMS),
            ])
    }
}

/// The positions of the wanted terms in the texts of these fields, as if they were one text.
fn places(
    analyzer: &mut tantivy::tokenizer::TextAnalyzer,
    fields: &[usize],
    texts: &[String],
    wanted: &[String],
) -> HashMap<String, Vec<usize>> {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    let mut start = 0;
    for text in fields.iter().filter_map(|field| texts.get(*field)) {
        let positions = analyzer::positions(analyzer, text);
        let end = positions.last().map_or(start, |(_, at)| start + at + 1);
        for (term, at) in positions {
            if wanted.contains(&term) {
                places.entry(term).or_default().push(start + at);
            }
        }
        start = end;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_a_query() {
        let terms = ["ban", "gun", "gun", "law"].map(str::to_owned);
        assert_eq!(
            PairsOf::AdjacentTerms.pairs(&terms),
            [("ban", "gun"), ("gun", "law")]
        );
        assert_eq!(PairsOf::AllTerms.pairs(&terms).len(), 5);
        assert!(PairsOf::AllTerms.pairs(&terms[..1]).is_empty());
    }

    /// The expected values follow Lucene's matcher, by hand.
    #[test]
    fn near_terms_count_by_how_far_they_are_off() {
        // "gun control", "gun x control", "control gun", three words apart
        assert_eq!(sloppy_frequency(&[0], &[1], 0), 1.0);
        assert_eq!(sloppy_frequency(&[0], &[2], 1), 0.5);
        assert_eq!(sloppy_frequency(&[0], &[2], 0), 0.0);
        assert_eq!(sloppy_frequency(&[1], &[0], 2), 1.0 / 3.0);
        assert_eq!(sloppy_frequency(&[1], &[0], 1), 0.0);
        assert_eq!(sloppy_frequency(&[], &[4], 9), 0.0);
        // gun at 0 and 5, control at 1 and 9: the pairs (0, 1) and (5, 9); between them (5, 1) has the distance 5
        assert_eq!(sloppy_frequency(&[0, 5], &[1, 9], 3), 1.0 + 1.0 / 4.0);
    }
}
