//! Retrieval of texts, which all text tasks use: the searches of an approach, their fusion, re-ranking, and explanations.

pub(crate) mod arguments;
pub(crate) mod comparative;
pub(crate) mod controversial;
pub(crate) mod dense;
pub mod indexes;
pub mod likeness;
mod pairwise;
pub(crate) mod rank;
pub(crate) mod rerank;
mod sources;

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use riposte_eval::explained::ExplainedText;
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Explanation};
use serde_json::json;

use crate::events::{OnEvent, RankingStep};
use crate::files::explanations::KeepExplanations;
use crate::index::ScoredDoc;
use crate::index::analyzer::{self, Analyzer};
use crate::index::fusion::{Fusion, fuse};
use crate::index::inverted::InvertedIndex;
use crate::index::search::{IndexQuery, QueryPart, SearchOptions};
use crate::index::similarity::Similarity;
use crate::index::wordnet::WordNet;
use crate::presence;
use crate::presence::{Judged, TopicProbabilities};
use crate::recipes::text_approach::{Retrieval, SearchParameters, TextApproach};
use crate::score::CHANNEL;
use crate::score::rerank::RETRIEVAL;
use crate::score::reranker::{RerankedTexts, RerankerModels};
use crate::score::select;
use crate::systems::manifold;
use crate::systems::proximity::TermPairs;
use crate::topic::question::{self, TopicParts};
use dense::DenseSearch;
use rerank::Documents;
pub use rerank::Offsets;
pub use sources::TextRankingSources;

/// The score that fuses several searches.
pub(crate) const FUSION: &str = "fusion";

/// The contribution of a search to a fusion. The parameter has its number in the recipe from 1, its weight, and the rank of the document from 1, if it was found.
pub(crate) const SEARCH: &str = "search";

/// Number of documents whose scores are explained if none is re-ranked.
pub(crate) const EXPLAINED: usize = 20;

/// The settings that a user chooses.
pub struct TextRankingSettings {
    pub approach: TextApproach,
    pub parts: TopicParts,
    /// Whether scores are explained.
    pub explain: bool,
    /// Whether the first documents are judged: are they about the topic?
    pub judge: bool,
    /// Where the explanations of a run are kept.
    pub keep: KeepExplanations,
}

/// The ranking of one topic.
pub struct TextRanking {
    /// The best first. Scores strictly decrease as six decimals and as 32-bit floats.
    pub documents: Vec<ScoredDoc>,
    /// The explanations of the re-ranked documents or, if there are none, of the first ones. Empty if scores are not explained.
    pub explained: Vec<ExplainedText>,
    /// What was added to the scores of re-ranked documents, if anything was.
    pub offsets: Option<Offsets>,
    /// Which of the first documents are about the topic, if that was judged.
    pub judged: Judged,
}

/// Ranks the documents for one topic. `on_event` receives the number of computed model outputs.
///
/// # Errors
/// An index, the store of model outputs or a model fails, or a field of the approach is not in the collection.
pub fn rank(
    topic: &Topic,
    sources: &mut TextRankingSources,
    settings: &TextRankingSettings,
    on_event: &mut OnEvent,
) -> Result<TextRanking> {
    sources.reader.enter(RankingStep::Search);
    let approach = &settings.approach;
    let words = question::read(topic, settings.parts).words;
    let searches = search(topic, &words, sources, approach, sources.dense)?;
    check_scores(topic, &searches)?;
    let mut ranking = fused(&searches, approach.fusion)?;
    let second = match (&approach.rescore, searches.first().map(|first| &first.by)) {
        (Some(rescore), Some(By::Words(first))) => {
            let (index, analyzer) = (first.index, first.analyzer);
            let asked = rescore.asked();
            let second = Scoring::new(index, analyzer, asked, &words, sources.wordnet)?;
            ranking = second.score(ranking)?;
            Some(second)
        }
        _ => None,
    };
    let mut neighbours = HashMap::new();
    if let (Some(recipe), Some(dense)) = (approach.manifold, sources.dense) {
        let (vectors, options) = (&dense.vectors, dense.options);
        let ranked = manifold::rank(&ranking, recipe, dense.index, vectors, options)?;
        ranking = ranked.iter().map(|(found, _)| found.clone()).collect();
        let explained = ranked.into_iter();
        neighbours.extend(explained.map(|(found, explanation)| (found.doc, explanation)));
    }
    let mut retrieval_scores = HashMap::new();
    if settings.explain {
        let scores = ranking.iter().map(|found| (found.doc.clone(), found.score));
        retrieval_scores.extend(scores);
    }
    sources.reader.enter(RankingStep::Rerank);
    let (mut reranked, mut offsets) = (HashMap::new(), None);
    if let Some(recipe) = &approach.rerank {
        if recipe.only {
            ranking.truncate(recipe.depth);
        }
        let new = rerank::rerank(&mut ranking, recipe, topic, sources, on_event)?;
        reranked.extend(new.explained);
        offsets = new.offsets;
        if recipe.above_zero {
            ranking.retain(|found| found.score > 0.0);
        }
    }
    if let Some(recipe) = &approach.pairwise {
        let explained = &mut reranked;
        pairwise::compare(&mut ranking, recipe, topic, sources, explained, on_event)?;
    }
    sources.reader.enter(RankingStep::Search);
    let documents = select::select_texts(ranking, approach.depth)
        .with_context(|| format!("cannot rank for topic {}", topic.id))?;
    let about = probabilities(topic, &documents, sources, settings)?;
    let mut explained = if settings.explain {
        let searches = Searches {
            first: &searches,
            second: second.as_ref(),
            neighbours,
            fusion: approach.fusion,
        };
        explain(topic, &documents, &searches, &retrieval_scores, reranked)?
    } else {
        Vec::new()
    };
    for text in &mut explained {
        text.about = about.get(&text.document).cloned();
    }
    Ok(TextRanking {
        documents,
        explained,
        offsets,
        judged: Judged::of(&about),
    })
}

/// How likely the first documents are about the topic; empty if that is not judged.
fn probabilities(
    topic: &Topic,
    documents: &[ScoredDoc],
    sources: &mut TextRankingSources,
    settings: &TextRankingSettings,
) -> Result<TopicProbabilities> {
    let Some(index) = sources.corpora.first().filter(|_| settings.judge) else {
        return Ok(TopicProbabilities::new());
    };
    let ranked = documents.iter().map(|found| &found.doc);
    let by_sentences = settings.approach.reads_sentences();
    presence::of_texts(topic, ranked, index, by_sentences, sources.reader)
}

/// The best documents for the words of a query by the searches of an approach, without re-ranking: at most `count`, with the scores of a run.
///
/// # Errors
/// An index fails, or a field of the approach is not in the collection.
pub(crate) fn by_words(
    query: &str,
    corpora: &[&InvertedIndex],
    approach: &TextApproach,
    count: usize,
) -> Result<Vec<ScoredDoc>> {
    let searches = approach.retrieval.iter().zip(corpora);
    let searches = searches.map(|(retrieval, index)| {
        let options = approach.search_options(count)?;
        Search::new(retrieval, index, query, None, options)
    });
    let searches: Vec<Search> = searches.collect::<Result<_>>()?;
    select::select_texts(fused(&searches, approach.fusion)?, count)
}

/// Passes the documents that an approach re-ranks for a topic to `read`, after the inputs of the re-rankers have been computed, and returns the
/// result. `train trees` collects its training data with it. `None` if the approach does not re-rank.
///
/// # Errors
/// As [`rank()`], and the errors of `read`.
pub fn candidates<T>(
    topic: &Topic,
    sources: &mut TextRankingSources,
    settings: &TextRankingSettings,
    read: impl FnOnce(&RerankedTexts) -> Result<T>,
) -> Result<Option<T>> {
    let approach = &settings.approach;
    let words = question::read(topic, settings.parts).words;
    let mut ranking = fused(
        &search(topic, &words, sources, approach, None)?,
        approach.fusion,
    )?;
    let Some(recipe) = &approach.rerank else {
        return Ok(None);
    };
    ranking.truncate(recipe.depth);
    let mut documents = Documents::open(topic, &ranking, recipe.read_windows(), sources)?;
    let reading = &mut RerankerModels {
        reader: sources.reader,
        on_event: &mut |_| (),
    };
    for (reranker, _) in recipe.weights.used() {
        documents.know_inputs(reranker, reading)?;
    }
    read(&documents.candidates).map(Some)
}

/// Checks the scores of the searches.
///
/// # Errors
/// A score is not finite, or too large for a run. The message names the document, and the term to blame.
fn check_scores(topic: &Topic, searches: &[Search]) -> Result<()> {
    for search in searches {
        let mut found = search.found.iter();
        let Some(found) = found.find(|found| !select::is_writable(found.score)) else {
            continue;
        };
        let explained = search.explain(&found.doc)?;
        let part = select::unwritable(&explained);
        let what = select::not_writable(&found.doc, found.score, part);
        bail!("cannot rank for topic {}: {what}", topic.id);
    }
    Ok(())
}

/// The results of each of the approach's retrievals, then those of the dense search. `words` are those of the topic.
fn search<'a>(
    topic: &Topic,
    words: &str,
    sources: &TextRankingSources<'a, '_>,
    approach: &'a TextApproach,
    dense: Option<&'a DenseSearch<'a>>,
) -> Result<Vec<Search<'a>>> {
    let retrievals = approach.retrieval.iter().zip(sources.corpora);
    let searches = retrievals.map(|(retrieval, index)| {
        let options = approach.search_options(retrieval.depth)?;
        Search::new(retrieval, index, words, sources.wordnet, options)
            .with_context(|| format!("cannot search for topic {}", topic.id))
    });
    let dense = dense.map(|dense| {
        Ok(Search {
            weight: dense.weight(),
            found: dense.ranking(words),
            by: By::Vectors(dense, words.to_owned()),
        })
    });
    searches.chain(dense).collect()
}

/// The results of the only search, or the fusion of several.
fn fused(searches: &[Search], fusion: Option<Fusion>) -> Result<Vec<ScoredDoc>> {
    match (searches, fusion) {
        // only one ranking is left, perhaps because the dense search is off
        ([only], _) => Ok(only.found.clone()),
        (several, Some(fusion)) => {
            let weighted = several.iter().map(|of| (of.found.as_slice(), of.weight));
            Ok(fuse(&weighted.collect::<Vec<_>>(), fusion))
        }
        (_, None) => bail!("several retrievals need a fusion"),
    }
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
                if let Some(retrieval) = score.find_mut((CHANNEL, RETRIEVAL)) {
                    retrieval.add_part(by_retrieval);
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
            about: None,
        });
    }
    Ok(explained)
}

/// The searches of an approach, and the stages that replace their scores.
struct Searches<'s, 'a> {
    first: &'s [Search<'a>],
    second: Option<&'s Scoring<'a>>,
    /// The explanations of the manifold ranking.
    neighbours: HashMap<DocId, Explanation>,
    /// How the searches are fused, if there are several.
    fusion: Option<Fusion>,
}

/// Explains the score of a document after retrieval, fusion, the second search and the manifold ranking.
fn explain_retrieval(searches: &Searches, doc: &DocId, score: f64) -> Result<Explanation> {
    if let Some(explanation) = searches.neighbours.get(doc) {
        return Ok(explanation.clone());
    }
    if let Some(second) = searches.second {
        return second.explain(doc, Some(score));
    }
    if let [only] = searches.first {
        return only.explain(doc);
    }
    let parts = searches.first.iter().enumerate();
    let parts = parts.map(|(place, search)| explain_fused(searches, place, search, doc));
    let fusion = Explanation::new(FUSION, score);
    Ok(fusion
        .with_how("sum of what each search adds")
        .with_parts(parts.collect::<Result<_>>()?))
}

/// What a search adds to the fused score of a document. `place` is the position of the search among all searches, from 0.
fn explain_fused(
    searches: &Searches,
    place: usize,
    search: &Search,
    doc: &DocId,
) -> Result<Explanation> {
    let (found, weight) = (&search.found, search.weight);
    let at = found.iter().position(|found| found.doc == *doc);
    let number = place + 1;
    let of = match at {
        Some(at) => json!({"number": number, "weight": weight, "rank": at + 1}),
        None => json!({"number": number, "weight": weight}),
    };
    let explained = |value| Explanation::new((SEARCH, of), value).named(format!("search {number}"));
    Ok(match (at, searches.fusion) {
        (Some(at), Some(fusion)) => {
            let mut contributions = fusion.contributions(place, found, weight);
            explained(contributions.nth(at).unwrap_or_default())
                .with_how(format!("weight {weight}, rank {} and this score", at + 1))
                .with_parts(vec![search.explain(doc)?])
        }
        _ => explained(0.0).with_how(format!("not among its {} documents", found.len())),
    })
}

/// A search for a topic, and its results.
struct Search<'a> {
    /// The weight in a fusion.
    weight: f64,
    found: Vec<ScoredDoc>,
    by: By<'a>,
}

/// What a search compares with the documents.
enum By<'a> {
    Words(Scoring<'a>),
    /// The dense search, and its query.
    Vectors(&'a DenseSearch<'a>, String),
}

impl<'a> Search<'a> {
    fn new(
        retrieval: &'a Retrieval,
        index: &'a InvertedIndex,
        words: &str,
        wordnet: Option<&WordNet>,
        options: SearchOptions,
    ) -> Result<Self> {
        let analyzer = retrieval.query_analyzer.as_ref();
        let analyzer = analyzer.unwrap_or(&retrieval.analyzer);
        let mut scoring = Scoring::new(index, analyzer, retrieval.asked(), words, wordnet)?;
        if let Some(feedback) = retrieval.feedback {
            let similarity = scoring.similarity;
            scoring.query = index.with_feedback(&scoring.query, similarity, feedback, options)?;
        }
        let found = index.search(&scoring.query, scoring.similarity, options)?;
        Ok(Search {
            weight: retrieval.weight,
            found: scoring.with_pairs(found)?,
            by: By::Words(scoring),
        })
    }

    fn explain(&self, doc: &DocId) -> Result<Explanation> {
        match &self.by {
            By::Words(scoring) => {
                let found = self.found.iter().find(|found| found.doc == *doc);
                scoring.explain(doc, found.map(|found| found.score))
            }
            By::Vectors(dense, words) => Ok(dense.explain(words, doc)),
        }
    }
}

/// How a search scores documents.
struct Scoring<'a> {
    index: &'a InvertedIndex,
    /// The analyzer of the topic.
    analyzer: &'a Analyzer,
    similarity: &'a Similarity,
    pairs: Option<TermPairs>,
    /// The query, with synonyms and feedback terms.
    query: IndexQuery,
    /// The terms of the topic, in their order.
    terms: Vec<String>,
}

impl<'a> Scoring<'a> {
    /// Makes the query for the topic's words, with their synonyms, in each of the fields that are searched.
    fn new(
        index: &'a InvertedIndex,
        analyzer: &'a Analyzer,
        asked: SearchParameters<'a>,
        words: &str,
        wordnet: Option<&WordNet>,
    ) -> Result<Self> {
        let mut build = analyzer.build();
        let known = &index.meta().fields;
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
            let mut part = QueryPart::of_text(0, *weight, &mut build, words).over(fields);
            if let (Some(synonyms), Some(wordnet)) = (asked.synonyms, wordnet) {
                wordnet.expand(&mut part, &mut build, words, synonyms);
            }
            if asked.must.contains(name) {
                part = part.must();
            }
            parts.push(part);
        }
        // the order of the fields in the index, which does not depend on the names in the recipe
        parts.sort_by(|a, b| a.fields().cmp(b.fields()));
        Ok(Scoring {
            index,
            analyzer,
            similarity: asked.similarity,
            pairs: asked.pairs,
            query: IndexQuery { parts },
            terms: analyzer::terms(&mut build, words),
        })
    }

    /// Adds the scores of pairs of terms to a ranking.
    fn with_pairs(&self, found: Vec<ScoredDoc>) -> Result<Vec<ScoredDoc>> {
        let Some(pairs) = self.pairs else {
            return Ok(found);
        };
        pairs.rescore(self.index, found, &self.query, &self.terms, self.similarity)
    }

    /// The same documents with the scores of this search.
    fn score(&self, ranking: Vec<ScoredDoc>) -> Result<Vec<ScoredDoc>> {
        let ranking = self.index.rescore(ranking, &self.query, self.similarity)?;
        self.with_pairs(ranking)
    }

    /// Explains a document's score: the score of the terms and, if the score `whole` is known, what pairs add to it.
    fn explain(&self, doc: &DocId, whole: Option<f64>) -> Result<Explanation> {
        let terms = self.index.explain(&self.query, self.similarity, doc)?;
        Ok(match (self.pairs, whole) {
            (Some(pairs), Some(whole)) => pairs.explain(terms, whole),
            _ => terms,
        })
    }
}
