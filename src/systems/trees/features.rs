//! The features of a topic and its candidates that the trees test.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result};
use riposte_eval::DocId;

use super::{FROM_MODELS, FeatureValues, text_features};
use crate::index::inverted::InvertedIndex;
use crate::index::search::{IndexQuery, QueryPart};
use crate::index::similarity::Similarity;
use crate::index::{ScoredDoc, analyzer};
use crate::score::quality::{self, GradedText};
use crate::score::reranker::RerankedTexts;

/// The similarities of the first two features, with the parameters that Lucene has by default.
const SIMILARITIES: [Similarity; 2] = [
    Similarity::Bm25 { k1: 1.2, b: 0.75 },
    Similarity::LuceneDirichlet { mu: 2000.0 },
];

/// The values of all [`super::FEATURES`] for each document. The values of models are those that other re-rankers have already computed.
///
/// # Errors
/// The index fails.
pub fn features(documents: &RerankedTexts) -> Result<Vec<FeatureValues>> {
    let RerankedTexts {
        topic,
        ranked,
        texts,
        index,
        ..
    } = documents;
    let mut analyzer = index.meta().analyzer.build();
    let query = IndexQuery {
        parts: vec![QueryPart::of_text(0, 1.0, &mut analyzer, &topic.title)],
    };
    let mut matches = Vec::new();
    for similarity in &SIMILARITIES {
        matches.push(shares_of_highest(ranked, &query, similarity, index)?);
    }
    let of_topic = query.parts.iter().flat_map(QueryPart::terms);
    let of_topic: HashSet<&str> = of_topic.map(|(term, _)| term.as_str()).collect();
    let mut rows = Vec::with_capacity(ranked.len());
    for (at, (candidate, text)) in ranked.iter().zip(texts).enumerate() {
        let scores = matches.iter().map(|of| of.get(&candidate.doc).copied());
        let mut row: FeatureValues = scores.collect();
        let own: HashSet<String> = analyzer::terms(&mut analyzer, text).into_iter().collect();
        let shared = of_topic.iter().filter(|term| own.contains(**term)).count();
        row.push(Some(shared as f64 / of_topic.len().max(1) as f64));
        row.extend(text_features(text));
        let of_models = FROM_MODELS.map(|name| documents.known(name).get(at).copied().flatten());
        row.extend(of_models);
        row.push(Some(quality::quality(GradedText::Argument, text)));
        rows.push(row);
    }
    Ok(rows)
}

/// The score of each candidate, divided by the highest one; 0 if none is above 0.
fn shares_of_highest(
    candidates: &[ScoredDoc],
    query: &IndexQuery,
    similarity: &Similarity,
    index: &InvertedIndex,
) -> Result<HashMap<DocId, f64>> {
    let scored = index.rescore(candidates.to_vec(), query, similarity);
    let scored = scored.context("cannot score the candidates")?;
    let highest = scored.iter().map(|found| found.score).fold(0.0, f64::max);
    let share = |score: f64| if highest > 0.0 { score / highest } else { 0.0 };
    let shares = scored.into_iter();
    Ok(shares
        .map(|found| (found.doc, share(found.score)))
        .collect())
}
