//! Retrieval of texts, which both text tasks use: the searches of an approach, their fusion, re-ranking, and explanations.

mod features;
mod rerank;

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result};

use super::text_approach::{DEPTH, Rescore, Retrieval, TextApproach};
use crate::index::analyzer::{self, Analyzer};
use crate::index::corpus::Corpus;
use crate::index::fusion::fuse;
use crate::index::pairs::Pairs;
use crate::index::search::{Cut, Part, Query};
use crate::index::similarity::Similarity;
use crate::index::wordnet::{Synonyms, WordNet};
use crate::reading::Reader;
use crate::score::select;
use crate::score::trees::Features;
use crate::topic::question::{self, TopicParts};
use crate::trec::explained::ExplainedText;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, ScoredDoc};

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
    let second = match (&settings.approach.rescore, searches.first()) {
        (Some(rescore), Some(first)) => {
            let words = question::read(topic, settings.parts).words;
            let second = Scoring::rescoring(rescore, first, &words, sources.wordnet)?;
            ranking = second.score(ranking)?;
            Some(second)
        }
        _ => None,
    };
    let mut retrieval_scores = HashMap::new();
    if settings.explain {
        let scores = ranking.iter().map(|found| (found.doc.clone(), found.score));
        retrieval_scores.extend(scores);
    }
    let mut reranked = HashMap::new();
    if let (Some(recipe), Some(corpus)) = (&settings.approach.rerank, sources.corpora.first()) {
        if recipe.only {
            ranking.truncate(recipe.depth);
        }
        let reader = &mut *sources.reader;
        let explained = rerank::rerank(&mut ranking, recipe, topic, corpus, reader, on_progress)?;
        reranked.extend(explained);
    }
    let documents = select::select_texts(ranking, settings.approach.depth.min(DEPTH));
    let explained = if settings.explain {
        let searches = Searches {
            first: &searches,
            second: second.as_ref(),
        };
        explain(topic, &documents, &searches, &retrieval_scores, reranked)?
    } else {
        Vec::new()
    };
    Ok(TextRanking {
        documents,
        explained,
    })
}

/// The documents that an approach re-ranks for a topic, each with the values of [`crate::score::trees::FEATURES`]: what `train trees` learns
/// from. None if the approach does not re-rank.
///
/// # Errors
/// As [`rank`].
pub fn candidates(
    topic: &Topic,
    sources: &mut Sources,
    settings: &Settings,
) -> Result<Vec<(DocId, Features)>> {
    let searches = search(topic, sources, settings)?;
    let mut ranking = fused(&searches, settings)?;
    let (Some(recipe), Some(corpus)) = (&settings.approach.rerank, sources.corpora.first()) else {
        return Ok(Vec::new());
    };
    ranking.truncate(recipe.depth);
    let features = rerank::features(&ranking, recipe, topic, corpus, sources.reader)?;
    let documents = ranking.into_iter().map(|found| found.doc);
    Ok(documents.zip(features).collect())
}

/// The results of each of the approach's retrievals.
fn search<'a>(
    topic: &Topic,
    sources: &Sources<'a, '_>,
    settings: &'a Settings,
) -> Result<Vec<Search<'a>>> {
    let approach = &settings.approach;
    let words = question::read(topic, settings.parts).words;
    let portals = approach.portals()?;
    let retrievals = approach.retrieval.iter().zip(sources.corpora);
    retrievals
        .map(|(retrieval, corpus)| {
            let cut = Cut {
                k: retrieval.depth,
                short: approach.keep.short,
                duplicates: approach.keep.duplicates,
                portals,
            };
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
    searches: &Searches,
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

/// The searches of an approach, and the one that replaces their scores.
struct Searches<'s, 'a> {
    first: &'s [Search<'a>],
    second: Option<&'s Scoring<'a>>,
}

/// Explains the score of a document after retrieval, fusion and the second search.
fn explain_retrieval(searches: &Searches, doc: &DocId, score: f64) -> Result<Explanation> {
    if let Some(second) = searches.second {
        return second.explain(doc, Some(score));
    }
    if let [only] = searches.first {
        return only.explain(doc);
    }
    let parts = searches.first.iter().map(|search| search.explain(doc));
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
    scoring: Scoring<'a>,
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
        let analyzer = retrieval.query_analyzer.as_ref();
        let analyzer = analyzer.unwrap_or(&retrieval.analyzer);
        let mut scoring = Scoring {
            corpus,
            analyzer,
            similarity: &retrieval.similarity,
            pairs: retrieval.pairs,
            query: Query::default(),
            terms: Vec::new(),
        };
        let asked = Asked {
            fields: &retrieval.fields,
            must: &retrieval.must,
            synonyms: retrieval.synonyms.as_ref(),
        };
        scoring.ask(asked, words, wordnet)?;
        if let Some(feedback) = retrieval.feedback {
            let similarity = scoring.similarity;
            scoring.query = corpus.with_feedback(&scoring.query, similarity, feedback, cut)?;
        }
        let found = corpus.search(&scoring.query, scoring.similarity, cut)?;
        Ok(Search {
            retrieval,
            found: scoring.with_pairs(found)?,
            scoring,
        })
    }

    fn explain(&self, doc: &DocId) -> Result<Explanation> {
        let found = self.found.iter().find(|found| found.doc == *doc);
        self.scoring.explain(doc, found.map(|found| found.score))
    }
}

/// What a search asks for.
struct Asked<'a> {
    fields: &'a BTreeMap<String, f64>,
    must: &'a [String],
    synonyms: Option<&'a Synonyms>,
}

/// How a search scores documents.
struct Scoring<'a> {
    corpus: &'a Corpus,
    /// Of the topic.
    analyzer: &'a Analyzer,
    similarity: &'a Similarity,
    pairs: Option<Pairs>,
    /// With synonyms and feedback terms.
    query: Query,
    /// The terms of the topic, in their order.
    terms: Vec<String>,
}

impl<'a> Scoring<'a> {
    /// The second search of the index that `first` has searched.
    fn rescoring(
        rescore: &'a Rescore,
        first: &Search<'a>,
        words: &str,
        wordnet: Option<&WordNet>,
    ) -> Result<Self> {
        let mut scoring = Scoring {
            similarity: &rescore.similarity,
            pairs: rescore.pairs,
            query: Query::default(),
            terms: Vec::new(),
            ..first.scoring
        };
        let asked = Asked {
            fields: &rescore.fields,
            must: &rescore.must,
            synonyms: rescore.synonyms.as_ref(),
        };
        scoring.ask(asked, words, wordnet)?;
        Ok(scoring)
    }

    /// Makes the query for the topic's words, with their synonyms, in each of the fields that are searched.
    fn ask(&mut self, asked: Asked, words: &str, wordnet: Option<&WordNet>) -> Result<()> {
        let mut analyzer = self.analyzer.build();
        let known = &self.corpus.meta().fields;
        let mut parts = Vec::new();
        for (name, weight) in asked.fields {
            let fields = name.split('+').map(|name| {
                let field = known.iter().position(|field| field == name);
                field.with_context(|| {
                    let known = known.join(", ");
                    format!("the collection has no field {name:?}: it has {known}")
                })
            });
            let fields: Vec<usize> = fields.collect::<Result<_>>()?;
            let mut part = Part::of_text(0, *weight, &mut analyzer, words).over(fields);
            if let (Some(synonyms), Some(wordnet)) = (asked.synonyms, wordnet) {
                wordnet.expand(&mut part, &mut analyzer, words, synonyms);
            }
            if asked.must.contains(name) {
                part = part.must();
            }
            parts.push(part);
        }
        // in the order of the index, whatever the names
        parts.sort_by(|a, b| a.fields().cmp(b.fields()));
        self.query = Query { parts };
        self.terms = analyzer::terms(&mut analyzer, words);
        Ok(())
    }

    /// The ranking with the scores of pairs.
    fn with_pairs(&self, found: Vec<ScoredDoc>) -> Result<Vec<ScoredDoc>> {
        match self.pairs {
            Some(pairs) => {
                let Scoring {
                    corpus,
                    query,
                    terms,
                    similarity,
                    ..
                } = self;
                corpus.with_pairs(found, query, terms, similarity, pairs)
            }
            None => Ok(found),
        }
    }

    /// The same documents with the scores of this search.
    fn score(&self, ranking: Vec<ScoredDoc>) -> Result<Vec<ScoredDoc>> {
        let ranking = self.corpus.rescore(ranking, &self.query, self.similarity)?;
        self.with_pairs(ranking)
    }

    /// Explains a document's score: that of the terms and, if the whole is known, what pairs add to it.
    fn explain(&self, doc: &DocId, whole: Option<f64>) -> Result<Explanation> {
        let terms = self.corpus.explain(&self.query, self.similarity, doc)?;
        Ok(match (self.pairs, whole) {
            (Some(_), Some(whole)) => Explanation {
                name: "score".into(),
                value: whole,
                how: "sum".into(),
                parts: vec![
                    Explanation::leaf("pairs of near terms", whole - terms.value),
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
