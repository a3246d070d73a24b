//! Pseudo-relevance feedback: a query is expanded with terms of the best documents that it finds.

use std::collections::BTreeMap;

use anyhow::Result;

use super::inverted::InvertedIndex;
use super::search::{IndexQuery, QueryPart, SearchOptions};
use super::similarity::Similarity;
use super::{ScoredDoc, analyzer};

/// The parameters of RM3 (Abdul-Jaleel et al. 2004, "UMass at TREC 2004").
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rm3 {
    /// Number of documents at the top of the ranking that terms are taken from.
    pub documents: usize,
    /// Number of terms that are taken from them.
    pub terms: usize,
    /// The weight of the original query in the expanded one, from 0 (RM1) to 1 (no feedback).
    pub original: f64,
}

impl Default for Rm3 {
    /// The defaults of Anserini.
    fn default() -> Self {
        Rm3 {
            documents: 10,
            terms: 10,
            original: 0.5,
        }
    }
}

impl Rm3 {
    /// The expanded query. The weights of the original terms and those of the feedback terms are each normalised to a sum of 1, and then
    /// mixed.
    ///
    /// `query` has terms with weights. `documents` are the best documents in the order of the ranking, each with its score and the terms
    /// of the field that is searched. The weight of a feedback term (RM1) is the sum over the documents of its relative frequency in the
    /// document times the document's share of the scores. Scores of 0 and below count as the smallest positive one. Among equal weights the
    /// alphabetically first terms are kept.
    ///
    /// The result has the terms of the query in their order, then the others by decreasing weight.
    pub fn expand(
        &self,
        query: &[(String, f64)],
        documents: &[(f64, Vec<String>)],
    ) -> Vec<(String, f64)> {
        let documents = &documents[..self.documents.min(documents.len())];
        let scores = documents.iter().map(|(score, _)| *score);
        let least = scores.filter(|s| *s > 0.0).reduce(f64::min);
        let least = least.filter(|least| least.is_finite()).unwrap_or(1.0);
        let total: f64 = documents.iter().map(|(score, _)| score.max(least)).sum();
        let mut model: BTreeMap<&str, f64> = BTreeMap::new();
        for (score, terms) in documents {
            for term in terms {
                *model.entry(term).or_default() += score.max(least) / total / terms.len() as f64;
            }
        }
        let mut model: Vec<(&str, f64)> = model.into_iter().collect();
        // the sort is stable and the terms are in alphabetical order
        model.sort_by(|a, b| b.1.total_cmp(&a.1));
        model.truncate(self.terms);
        let query_total: f64 = query.iter().map(|(_, weight)| weight).sum();
        let model_total: f64 = model.iter().map(|(_, weight)| weight).sum();
        let share = |weight: f64, sum: f64| if sum > 0.0 { weight / sum } else { 0.0 };
        // without feedback terms the original query keeps all the weight
        let original = if model_total > 0.0 {
            self.original
        } else {
            1.0
        };
        let mut mixed: Vec<(String, f64)> = query
            .iter()
            .map(|(term, weight)| (term.clone(), original * share(*weight, query_total)))
            .collect();
        for (term, weight) in model {
            let weight = (1.0 - original) * share(weight, model_total);
            match mixed.iter_mut().find(|(known, _)| known == term) {
                Some((_, sum)) => *sum += weight,
                None => mixed.push((term.to_owned(), weight)),
            }
        }
        mixed.retain(|(_, weight)| *weight > 0.0);
        mixed
    }
}

impl InvertedIndex {
    /// The query with each of its parts expanded from the text that the best documents have in the part's field. A part that must match keeps
    /// its terms, and the new terms form another part, which does not have to match.
    ///
    /// # Errors
    /// Those of [`InvertedIndex::search`], or a document cannot be read.
    pub fn with_feedback(
        &self,
        query: &IndexQuery,
        similarity: &Similarity,
        rm3: Rm3,
        options: SearchOptions,
    ) -> Result<IndexQuery> {
        let options = SearchOptions {
            k: rm3.documents,
            ..options
        };
        let best = self.search(query, similarity, options)?;
        let mut expanded = IndexQuery::default();
        for part in &query.parts {
            let documents = self.terms_of(&best, part.fields())?;
            let terms = rm3.expand(part.terms(), &documents);
            let empty = || QueryPart::new(0, part.weight).over(part.fields().to_vec());
            let (mut new, mut kept) = (empty(), empty().must());
            for (term, weight) in &terms {
                let known = part.terms().iter().any(|(own, _)| own == term);
                if part.must && known {
                    kept.add(term, *weight);
                } else {
                    new.add(term, *weight);
                }
            }
            let parts = [kept, new].into_iter();
            expanded
                .parts
                .extend(parts.filter(|part| !part.terms().is_empty()));
        }
        Ok(expanded)
    }

    /// The score of each document and its terms in these fields. The terms are made from the stored text, because the index does not list the
    /// terms of a document.
    ///
    /// # Errors
    /// A document cannot be read.
    pub(crate) fn terms_of(
        &self,
        ranking: &[ScoredDoc],
        fields: &[usize],
    ) -> Result<Vec<(f64, Vec<String>)>> {
        let mut analyzer = self.meta().analyzer.build();
        ranking
            .iter()
            .map(|found| {
                let document = self.document(&found.doc)?;
                let texts = fields.iter().filter_map(|field| document.texts.get(*field));
                let terms = texts.flat_map(|text| analyzer::terms(&mut analyzer, text));
                Ok((found.score, terms.collect()))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_worked_example_of_an_expanded_query() {
        let rm3 = Rm3 {
            documents: 2,
            terms: 2,
            original: 0.6,
        };
        let query = [("tax".to_owned(), 3.0), ("cut".to_owned(), 1.0)];
        // the third document is not used; the shares of the scores are 3/4 and 1/4
        let documents = [
            (3.0, terms("tax job tax job")),
            (1.0, terms("job wage")),
            (1.0, terms("wage wage wage")),
        ];
        // job 3/4 · 2/4 + 1/4 · 1/2 = 4/8, tax 3/8, wage 1/8; the two terms that are kept have job 4/7, tax 3/7
        let expected = [
            ("tax", 0.6 * 0.75 + 0.4 * 3.0 / 7.0),
            ("cut", 0.6 * 0.25),
            ("job", 0.4 * 4.0 / 7.0),
        ];
        let expanded = rm3.expand(&query, &documents);
        assert_eq!(expanded.len(), 3);
        for ((term, weight), (name, value)) in expanded.iter().zip(expected) {
            assert_eq!(term, name);
            assert!((weight - value).abs() < 1e-12, "{term}: {weight}");
        }
        let alone: Vec<_> = rm3.expand(&query, &[]);
        assert_eq!(alone, [("tax".to_owned(), 0.75), ("cut".to_owned(), 0.25)]);
    }
}
