//! What the two text tasks share: retrieval by an approach's recipe, fusion, the top ordered anew, the run's lines.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use super::text_approach::{Rerank, Retrieval, Synonyms, TextApproach};
use crate::index::corpus::Corpus;
use crate::index::fusion::fuse;
use crate::index::search::{Cut, Part, Query};
use crate::index::vector;
use crate::index::wordnet::WordNet;
use crate::reading::Reader;
use crate::reading::pieces::beginning;
use crate::score::quality::Kind;
use crate::score::rerank::{self, Candidate};
use crate::score::text_stance::Model;
use crate::score::{explain_weighted_mean, quality, select};
use crate::topic::question::{self, TopicParts};
use crate::trec::explained::ExplainedText;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, ScoredDoc};

/// Results a topic may have.
pub const DEPTH: usize = 1000;

/// How a text task is done.
pub struct Settings {
    pub approach: TextApproach,
    pub parts: TopicParts,
    /// Whether to open scores.
    pub explain: bool,
}

/// What ranking reads.
pub struct Sources<'a, 'm> {
    /// One index for each of the approach's retrievals, in their order.
    pub corpora: &'a [&'a Corpus],
    pub reader: &'a mut Reader<'m>,
    pub wordnet: Option<&'a WordNet>,
}

/// The ranking of one topic.
pub struct Ranked {
    /// The best first; scores strictly decrease as six decimals and as 32-bit floats.
    pub documents: Vec<ScoredDoc>,
    /// Of the documents that were ordered anew, or the first of the others; empty if not asked for.
    pub explained: Vec<ExplainedText>,
}

/// Documents whose scores are opened where none is ordered anew.
const EXPLAINED: usize = 20;

/// Ranks the documents for one topic.
pub fn rank(
    topic: &Topic,
    sources: &mut Sources,
    settings: &Settings,
    made: &mut dyn FnMut(usize),
) -> Result<Ranked> {
    let approach = &settings.approach;
    let words = question::read(topic, settings.parts).words;
    let cut = Cut {
        k: DEPTH,
        short: approach.keep.short,
        duplicates: approach.keep.duplicates,
    };
    let mut searches = Vec::new();
    for (retrieval, corpus) in approach.retrieval.iter().zip(sources.corpora) {
        let search = Search::new(retrieval, corpus, &words, sources.wordnet, cut)
            .with_context(|| format!("cannot search for topic {}", topic.id))?;
        searches.push(search);
    }
    let mut ranking = match (searches.as_slice(), approach.fusion) {
        ([one], _) => one.found.clone(),
        (several, fusion) => {
            let weighted: Vec<(&[ScoredDoc], f64)> = several
                .iter()
                .map(|search| (search.found.as_slice(), search.retrieval.weight))
                .collect();
            let fusion = fusion.context("several retrievals and no fusion")?;
            fuse(&weighted, fusion)
        }
    };
    let retrieval: HashMap<DocId, f64> = match settings.explain {
        true => ranking.iter().map(|f| (f.doc.clone(), f.score)).collect(),
        false => HashMap::new(),
    };
    let mut anew = Vec::new();
    if let (Some(rerank), Some(corpus)) = (&approach.rerank, sources.corpora.first()) {
        anew = order_anew(&mut ranking, rerank, topic, corpus, sources.reader, made)?;
    }
    let documents = select::select_texts(ranking, DEPTH);
    let mut explained = Vec::new();
    if settings.explain {
        let count = if anew.is_empty() {
            EXPLAINED
        } else {
            anew.len()
        };
        let mut anew: HashMap<DocId, Explanation> = anew.into_iter().collect();
        for (rank, found) in (1..).zip(documents.iter().take(count)) {
            let score = retrieval.get(&found.doc).copied().unwrap_or(found.score);
            let retrieved = retrieved(&searches, &found.doc, score)?;
            let score = match anew.remove(&found.doc) {
                Some(mut score) => {
                    let place = score.parts.iter_mut().find(|p| p.name == "retrieval");
                    if let Some(place) = place {
                        place.parts.push(retrieved);
                    }
                    score
                }
                None => retrieved,
            };
            explained.push(ExplainedText {
                topic: topic.id.clone(),
                document: found.doc.clone(),
                rank,
                score,
                stance: None,
            });
        }
    }
    Ok(Ranked {
        documents,
        explained,
    })
}

/// One retrieval, done.
struct Search<'a> {
    retrieval: &'a Retrieval,
    corpus: &'a Corpus,
    /// With synonyms and feedback in it.
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
        let mut query = query_of(retrieval, corpus, words, wordnet)?;
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

    /// A document's score in this ranking, opened; with what nearness adds to it.
    fn opened(&self, doc: &DocId) -> Result<Explanation> {
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

/// The topic's words in each of the retrieval's fields, with their synonyms.
fn query_of(
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
    // in the index's order, the text proper first: nearness is looked for there
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

/// The score by which retrieval ranked a document, opened.
fn retrieved(searches: &[Search], doc: &DocId, score: f64) -> Result<Explanation> {
    let mut opened = Vec::new();
    for search in searches {
        opened.push(search.opened(doc)?);
    }
    Ok(match <[Explanation; 1]>::try_from(opened) {
        Ok([one]) => one,
        Err(several) => Explanation {
            name: "fusion".into(),
            value: score,
            how: "fused from the places and scores in these rankings".into(),
            parts: several,
        },
    })
}

/// Gives the first documents of a ranking new scores, from 1 up, and all others scores below 1. Returns the
/// new scores, opened.
fn order_anew(
    ranking: &mut [ScoredDoc],
    rerank: &Rerank,
    topic: &Topic,
    corpus: &Corpus,
    reader: &mut Reader,
    made: &mut dyn FnMut(usize),
) -> Result<Vec<(DocId, Explanation)>> {
    let depth = rerank.depth.min(ranking.len());
    let (first, others) = ranking.split_at_mut(depth);
    let kind = match corpus.field("premises") {
        Some(_) => Kind::Argument,
        None => Kind::Passage,
    };
    let mut texts = Vec::with_capacity(first.len());
    for found in first.iter() {
        let document = corpus.document(&found.doc)?;
        texts.push(document.texts.into_iter().next().unwrap_or_default());
    }
    let windows: Vec<Vec<String>> = texts.iter().map(|text| rerank.windows.of(text)).collect();
    let likeness = match rerank.weights.sentence > 0.0 {
        true => likeness(&topic.title, &windows, reader, made)?,
        false => vec![None; texts.len()],
    };
    let crossed = match rerank.weights.cross > 0.0 {
        true => crossed(&topic.title, &windows, reader, made)?,
        false => vec![None; texts.len()],
    };
    let sides = match rerank.weights.side > 0.0 {
        true => sides(&topic.title, &texts, reader, made)?,
        false => vec![None; texts.len()],
    };
    let candidates: Vec<Candidate> = first
        .iter()
        .zip(&texts)
        .zip(likeness.into_iter().zip(crossed).zip(sides))
        .map(|((found, text), ((sentence, cross), side))| Candidate {
            side,
            retrieval: found.score,
            sentence,
            cross,
            quality: (rerank.weights.quality > 0.0).then(|| quality::quality(kind, text)),
            comparison: (rerank.weights.comparison > 0.0).then(|| rerank::comparison(text)),
        })
        .collect();
    let opinions = rerank::opinions(&candidates, rerank.weights);
    let means = rerank::scores(&opinions);
    // 2 to 3, for what says the same again 1 to 2
    let mut bases = vec![2.0; means.len()];
    if let Some(alike) = rerank.alike {
        let mut order: Vec<usize> = (0..means.len()).collect();
        order.sort_by(|a, b| {
            means[*b]
                .total_cmp(&means[*a])
                .then_with(|| first[*a].doc.cmp(&first[*b].doc))
        });
        let in_order: Vec<&str> = order.iter().map(|at| texts[*at].as_str()).collect();
        for (at, is_duplicate) in order.iter().zip(rerank::near_duplicates(&in_order, alike)) {
            if is_duplicate {
                bases[*at] = 1.0;
            }
        }
    }
    let mut opened = Vec::with_capacity(first.len());
    for (at, found) in first.iter_mut().enumerate() {
        let mean = explain_weighted_mean("mean", &opinions[at]);
        let mut parts = mean.parts;
        if let Some(of_quality) = parts.iter_mut().find(|p| p.name == "quality") {
            of_quality.parts.push(quality::explain(kind, &texts[at]));
        }
        let base = bases[at];
        found.score = base + means[at];
        let how = match base < 2.0 {
            true => "sum; what says the same again as a text before it begins with 1",
            false => "sum",
        };
        parts.insert(0, Explanation::leaf("among the first", base));
        opened.push((
            found.doc.clone(),
            Explanation {
                name: "score".into(),
                value: found.score,
                how: how.into(),
                parts,
            },
        ));
    }
    let (high, low) = (
        others.first().map_or(0.0, |found| found.score),
        others.last().map_or(0.0, |found| found.score),
    );
    for found in others {
        let share = match high > low {
            true => (found.score - low) / (high - low),
            false => 1.0,
        };
        found.score = 0.9 * share;
    }
    Ok(opened)
}

/// For each text the largest cosine of the topic and one of its windows; none for a text without words, or where there
/// are no vectors.
fn likeness(
    topic: &str,
    windows: &[Vec<String>],
    reader: &mut Reader,
    made: &mut dyn FnMut(usize),
) -> Result<Vec<Option<f64>>> {
    let mut asked = vec![topic];
    asked.extend(windows.iter().flatten().map(String::as_str));
    let Some(found) = reader.sentence_vectors(&asked, made)? else {
        return Ok(vec![None; windows.len()]);
    };
    let mut found = found.into_iter();
    let topic = found.next().unwrap_or_default();
    let cosines = found.map(|window| f64::from(vector::dot(&topic, &window)));
    Ok(best(windows, cosines))
}

/// For each text the cross-encoder's score of the window that it likes best; none for a text without words, or where there are
/// no scores.
fn crossed(
    topic: &str,
    windows: &[Vec<String>],
    reader: &mut Reader,
    made: &mut dyn FnMut(usize),
) -> Result<Vec<Option<f64>>> {
    let asked: Vec<&str> = windows.iter().flatten().map(String::as_str).collect();
    Ok(match reader.cross_scores(topic, &asked, made)? {
        Some(scores) => best(windows, scores.into_iter().map(f64::from)),
        None => vec![None; windows.len()],
    })
}

/// For each text the probability that it takes a side on the topic; none for a text without words, or where there is no encoder.
fn sides(
    topic: &str,
    texts: &[String],
    reader: &mut Reader,
    made: &mut dyn FnMut(usize),
) -> Result<Vec<Option<f64>>> {
    let (claim, _) = question::claims(topic);
    let pairs: Vec<(&str, &str)> = texts
        .iter()
        .map(|text| (claim.as_str(), beginning(text)))
        .collect();
    let Some(logits) = reader.pair_logits(&pairs, made)? else {
        return Ok(vec![None; texts.len()]);
    };
    let model = Model::committed();
    Ok(texts
        .iter()
        .zip(logits)
        .map(|(text, logits)| {
            let stances = model.stances(&claim, text, Some(&[logits]));
            (!text.trim().is_empty()).then_some(stances.pro + stances.con)
        })
        .collect())
}

/// The largest value of each text's windows; `values` has one for each window, text after text.
fn best(windows: &[Vec<String>], mut values: impl Iterator<Item = f64>) -> Vec<Option<f64>> {
    windows
        .iter()
        .map(|of_text| values.by_ref().take(of_text.len()).reduce(f64::max))
        .collect()
}
