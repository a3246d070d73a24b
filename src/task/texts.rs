//! Retrieval of texts, which both text tasks use: the searches of an approach, their fusion, re-ranking, and explanations.

mod rerank;

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use super::text_approach::{Retrieval, Synonyms, TextApproach};
use crate::index::corpus::Corpus;
use crate::index::fusion::fuse;
use crate::index::search::{Cut, Part, Query};
use crate::index::wordnet::WordNet;
use crate::reading::Reader;
use crate::score::select;
use crate::topic::question::{self, TopicParts};
use crate::trec::explained::ExplainedText;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, ScoredDoc};

/// Maximum number of documents in the ranking of a topic.
pub(crate) const DEPTH: usize = 1000;

/// Number of documents whose scores are explained if none is re-ranked.
const EXPLAINED: usize = 20;

/// What a user sets.
pub struct Settings {
    pub approach: TextApproach,
    pub parts: TopicParts,
    /// Whether scores are explained.
    pub explain: bool,
}

/// What a ranking is computed from.
pub struct Sources<'a, 'm> {
    /// One index for each of the approach's retrievals, in their order.
    pub corpora: &'a [&'a Corpus],
    pub reader: &'a mut Reader<'m>,
    pub wordnet: Option<&'a WordNet>,
}

/// The ranking of one topic.
pub struct TextRanking {
    /// The best first. Scores strictly decrease as six decimals and as 32-bit floats.
    pub documents: Vec<ScoredDoc>,
    /// The explanations of the re-ranked documents or, if there are none, of the first ones. Empty if scores are not explained.
    pub explained: Vec<ExplainedText>,
}

/// Ranks the documents for one topic. `on_progress` receives the number of computed model outputs.
///
/// # Errors
/// An index, the store of model outputs or a model fails, or a field of the approach is not in the collection.
pub fn rank(
    topic: &Topic,
    sources: &mut Sources,
    settings: &Settings,
    on_progress: &mut dyn FnMut(usize),
) -> Result<TextRanking> {
    let searches = search(topic, sources, settings)?;
    let mut ranking = fused(&searches, settings)?;
    let mut retrieval_scores = HashMap::new();
    if settings.explain {
        let scores = ranking.iter().map(|found| (found.doc.clone(), found.score));
        retrieval_scores.extend(scores);
    }
    let mut reranked = HashMap::new();
    if let (Some(recipe), Some(corpus)) = (&settings.approach.rerank, sources.corpora.first()) {
        let reader = &mut *sources.reader;
        let explained = rerank::rerank(&mut ranking, recipe, topic, corpus, reader, on_progress)?;
        reranked.extend(explained);
    }
    let documents = select::select_texts(ranking, DEPTH);
    let explained = if settings.explain {
        explain(topic, &documents, &searches, &retrieval_scores, reranked)?
    } else {
        Vec::new()
    };
    Ok(TextRanking {
        documents,
        explained,
    })
}

/// The results of each of the approach's retrievals.
fn search<'a>(
    topic: &Topic,
    sources: &Sources<'a, '_>,
    settings: &'a Settings,
) -> Result<Vec<Search<'a>>> {
    let approach = &settings.approach;
    let words = question::read(topic, settings.parts).words;
    let cut = Cut {
        k: DEPTH,
        short: approach.keep.short,
        duplicates: approach.keep.duplicates,
    };
    let retrievals = approach.retrieval.iter().zip(sources.corpora);
    retrievals
        .map(|(retrieval, corpus)| {
            Search::new(retrieval, corpus, &words, sources.wordnet, cut)
                .with_context(|| format!("cannot search for topic {}", topic.id))
        })
        .collect()
}

/// The results of the only retrieval, or the fusion of several.
fn fused(searches: &[Search], settings: &Settings) -> Result<Vec<ScoredDoc>> {
    if let [only] = searches {
        return Ok(only.found.clone());
    }
    let fusion = settings.approach.fusion;
    let fusion = fusion.context("several retrievals need a fusion")?;
    let weighted: Vec<(&[ScoredDoc], f64)> = searches
        .iter()
        .map(|search| (search.found.as_slice(), search.retrieval.weight))
        .collect();
    Ok(fuse(&weighted, fusion))
}

/// Explains the scores at the top of a ranking. `reranked` has the explanations of the re-ranked documents, to which those of retrieval
/// are added.
fn explain(
    topic: &Topic,
    documents: &[ScoredDoc],
    searches: &[Search],
    retrieval_scores: &HashMap<DocId, f64>,
    mut reranked: HashMap<DocId, Explanation>,
) -> Result<Vec<ExplainedText>> {
    let count = if reranked.is_empty() {
        EXPLAINED
    } else {
        reranked.len()
    };
    let mut explained = Vec::new();
    for (rank, found) in (1..).zip(documents.iter().take(count)) {
        let score = retrieval_scores.get(&found.doc).copied();
        let by_retrieval = explain_retrieval(searches, &found.doc, score.unwrap_or(found.score))?;
        let score = match reranked.remove(&found.doc) {
            Some(mut score) => {
                let retrieval = score.parts.iter_mut().find(|p| p.name == "retrieval");
                if let Some(retrieval) = retrieval {
                    retrieval.parts.push(by_retrieval);
                }
                score
            }
            None => by_retrieval,
        };
        explained.push(ExplainedText {
            topic: topic.id.clone(),
            document: found.doc.clone(),
            rank,
            score,
            stance: None,
        });
    }
    Ok(explained)
}

/// Explains the score of a document after retrieval and fusion.
fn explain_retrieval(searches: &[Search], doc: &DocId, score: f64) -> Result<Explanation> {
    if let [only] = searches {
        return only.explain(doc);
    }
    let parts = searches.iter().map(|search| search.explain(doc));
    Ok(Explanation {
        name: "fusion".into(),
        value: score,
        how: "fused from the ranks and scores of these searches".into(),
        parts: parts.collect::<Result<_>>()?,
    })
}

/// A search for a topic, and its results.
struct Search<'a> {
    retrieval: &'a Retrieval,
    corpus: &'a Corpus,
    /// With synonyms and feedback terms.
    query: Query,
    found: Vec<ScoredDoc>,
}

impl<'a> Search<'a> {
    fn new(
        retrieval: &'a Retrieval,
        corpus: &'a Corpus,
        words: &str,
        wordnet: Option<&WordNet>,
        cut: Cut,
    ) -> Result<Self> {
        let similarity = &retrieval.similarity;
        let mut query = build_query(retrieval, corpus, words, wordnet)?;
        if let Some(feedback) = retrieval.feedback {
            query = corpus.with_feedback(&query, similarity, feedback, cut)?;
        }
        let mut found = corpus.search(&query, similarity, cut)?;
        if let Some(proximity) = retrieval.proximity {
            found = corpus.with_proximity(found, &query, proximity)?;
        }
        Ok(Search {
            retrieval,
            corpus,
            query,
            found,
        })
    }

    /// Explains the score of a document in this search, with what the nearness of the terms adds to it.
    fn explain(&self, doc: &DocId) -> Result<Explanation> {
        let similarity = &self.retrieval.similarity;
        let terms = self.corpus.explain(&self.query, similarity, doc)?;
        let found = self.found.iter().find(|found| found.doc == *doc);
        Ok(match (self.retrieval.proximity, found) {
            (Some(_), Some(found)) => Explanation {
                name: "score".into(),
                value: found.score,
                how: "sum".into(),
                parts: vec![
                    Explanation::leaf("nearness", found.score - terms.value),
                    Explanation {
                        name: "terms".into(),
                        ..terms
                    },
                ],
            },
            _ => terms,
        })
    }
}

/// The query for the topic's words, with their synonyms, in each of the fields that are searched.
fn build_query(
    retrieval: &Retrieval,
    corpus: &Corpus,
    words: &str,
    wordnet: Option<&WordNet>,
) -> Result<Query> {
    let mut analyzer = retrieval.analyzer.build();
    let mut query = Query::default();
    let fields = &corpus.meta().fields;
    if let Some(unknown) = retrieval.fields.keys().find(|name| !fields.contains(name)) {
        bail!(
            "the collection has no field {unknown:?}: it has {}",
            fields.join(", ")
        );
    }
    // in the order of the index, because proximity reads the first field, which is the text itself
    for (field, name) in fields.iter().enumerate() {
        let Some(weight) = retrieval.fields.get(name) else {
            continue;
        };
        let mut part = Part::of_text(field, *weight, &mut analyzer, words);
        if let (Some(synonyms), Some(wordnet)) = (retrieval.synonyms, wordnet) {
            let Synonyms { weight, senses } = synonyms;
            wordnet.expand(&mut part, &mut analyzer, words, senses, weight);
        }
        if retrieval.must.contains(name) {
            part = part.must();
        }
        query.parts.push(part);
    }
    Ok(query)
}
