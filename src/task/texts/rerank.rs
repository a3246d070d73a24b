//! Re-ranking of the top of a text ranking.

use anyhow::Result;

use super::super::text_approach::Rerank;
use super::dense::ClusterLikeness;
use super::sources::Sources;
use crate::evidence::sentiment::Vader;
use crate::index::vector;
use crate::reading::Reader;
use crate::reading::pieces::{beginning, used_part};
use crate::score::quality::{self, Kind};
use crate::score::rerank::{self, Channel, Combine, Values};
use crate::score::svr::svr_quality;
use crate::score::text_stance::Model;
use crate::topic::{question, tagger};
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, ScoredDoc};

/// What is added to the mean of a document's opinions, which is in [0, 1]. So near-duplicates are below all other re-ranked documents, and
/// above those that are not re-ranked.
const BASE: f64 = 2.0;
/// The same for near-duplicates of documents that are ranked before them.
const NEAR_DUPLICATE_BASE: f64 = 1.0;
/// The best score of a document that is not re-ranked.
const BEST_OTHER: f64 = 0.9;

/// Gives new scores to the documents at the top of a ranking. If they are means, all are above 1, and the scores of all others are scaled to
/// below 1. Returns the explanations of the new scores. `on_progress` receives the number of computed model outputs.
///
/// # Errors
/// The index, the store of model outputs or a model fails.
pub(super) fn rerank(
    ranking: &mut [ScoredDoc],
    recipe: &Rerank,
    topic: &Topic,
    sources: &mut Sources,
    on_progress: &mut dyn FnMut(usize),
) -> Result<Vec<(DocId, Explanation)>> {
    let Some(corpus) = sources.corpora.first() else {
        return Ok(Vec::new());
    };
    let (clusters, reader) = (sources.clusters, &mut *sources.reader);
    let depth = recipe.depth.min(ranking.len());
    let (top, others) = ranking.split_at_mut(depth);
    let kind = match corpus.field("premises") {
        Some(_) => Kind::Argument,
        None => Kind::Passage,
    };
    let mut texts = Vec::with_capacity(top.len());
    let mut cuts = Vec::with_capacity(top.len());
    for found in top.iter() {
        let document = corpus.document(&found.doc)?;
        let mut text = document.texts.into_iter().next().unwrap_or_default();
        let (used, cut) = used_part(&text);
        let (length, cut) = (used.len(), Vec::from_iter(cut));
        text.truncate(length);
        reader.note_cuts(&found.doc, &cut);
        texts.push(text);
        cuts.push(cut);
    }
    let documents = Documents {
        topic: &topic.title,
        kind,
        ranked: top,
        texts: &texts,
        clusters,
    };
    let values = documents.read(recipe, reader, on_progress)?;
    let opinions = rerank::opinions(&values, &recipe.weights, recipe.scale);
    let means = rerank::scores(&opinions, recipe.combine);
    // sums and products are final scores: nothing is ranked after the documents that have one
    let bases = match recipe.combine {
        Combine::Mean => bases(top, &texts, &means, recipe.near_duplicate),
        Combine::Sum | Combine::Product | Combine::Boost => vec![0.0; means.len()],
    };
    let mut explained = Vec::with_capacity(top.len());
    let documents = top.iter_mut().zip(&texts).zip(&cuts).zip(&opinions);
    for ((((found, text), cuts), opinions), (mean, base)) in documents.zip(means.iter().zip(bases))
    {
        found.score = base + mean;
        let parts = rerank::explain(opinions, recipe.combine);
        let mut explanation = explain(found.score, base, parts, recipe.combine);
        if let Some(quality) = explanation
            .parts
            .iter_mut()
            .find(|part| part.name == "quality")
        {
            quality.parts.push(quality::explain(kind, text));
        }
        explanation.add_cuts(cuts);
        explained.push((found.doc.clone(), explanation));
    }
    scale_others(others);
    Ok(explained)
}

/// The documents at the top of a ranking.
struct Documents<'a> {
    topic: &'a str,
    kind: Kind,
    ranked: &'a [ScoredDoc],
    texts: &'a [String],
    clusters: Option<&'a ClusterLikeness<'a>>,
}

impl Documents<'_> {
    /// Reads the channels that have a weight, and retrieval.
    fn read(
        &self,
        recipe: &Rerank,
        reader: &mut Reader,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Values> {
        let of_texts = |value: &dyn Fn(&str) -> f64| -> Vec<Option<f64>> {
            self.texts.iter().map(|text| Some(value(text))).collect()
        };
        let split = |text: &String| recipe.windows.split(text);
        let windows: Vec<Vec<String>> = self.texts.iter().map(split).collect();
        let mut values = Values::new();
        let retrieval = self.ranked.iter().map(|found| Some(found.score));
        values.insert(Channel::Retrieval, retrieval.collect());
        for (channel, weight) in recipe.weights.iter() {
            if weight <= 0.0 {
                continue;
            }
            let read = match channel {
                Channel::Retrieval => continue,
                Channel::Sentence => self.likeness(&windows, reader, on_progress)?,
                Channel::Cross => self.cross(&windows, reader, on_progress)?,
                Channel::Quality => of_texts(&|text| quality::quality(self.kind, text)),
                Channel::Comparison => of_texts(&rerank::comparison),
                Channel::Side => self.side(reader, on_progress)?,
                Channel::Adjectives => of_texts(&tagger::adjectives),
                Channel::SvrQuality => of_texts(&svr_quality),
                Channel::Sentiment => {
                    let vader = Vader::new();
                    of_texts(&|text| vader.compound(text).abs())
                }
                Channel::Cluster => self.cluster_likeness(),
            };
            values.insert(channel, read);
        }
        Ok(values)
    }

    /// How near the topic is to the cluster of each document.
    fn cluster_likeness(&self) -> Vec<Option<f64>> {
        let Some(clusters) = self.clusters else {
            return Vec::new();
        };
        let documents = self.ranked.iter();
        let value = |found: &ScoredDoc| clusters.value(self.topic, &found.doc);
        documents.map(value).collect()
    }

    /// The largest cosine between the topic and a window of each text; none for a text without words.
    fn likeness(
        &self,
        windows: &[Vec<String>],
        reader: &mut Reader,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Option<f64>>> {
        let mut texts = vec![self.topic];
        texts.extend(windows.iter().flatten().map(String::as_str));
        let Some(vectors) = reader.sentence_vectors(&texts, on_progress)? else {
            return Ok(Vec::new());
        };
        let mut vectors = vectors.into_iter();
        let topic = vectors.next().unwrap_or_default();
        let cosines = vectors.map(|window| f64::from(vector::dot(&topic, &window)));
        Ok(best_of_windows(windows, cosines))
    }

    /// The cross-encoder's score of the topic and the best window of each text; none for a text without words.
    fn cross(
        &self,
        windows: &[Vec<String>],
        reader: &mut Reader,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Option<f64>>> {
        let texts: Vec<&str> = windows.iter().flatten().map(String::as_str).collect();
        let Some(scores) = reader.cross_scores(self.topic, &texts, on_progress)? else {
            return Ok(Vec::new());
        };
        Ok(best_of_windows(windows, scores.into_iter().map(f64::from)))
    }

    /// The probability that each text takes a side on the topic; none for a text without words.
    fn side(
        &self,
        reader: &mut Reader,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Option<f64>>> {
        let (claim, _) = question::claims(self.topic);
        let texts = self.texts.iter();
        let pairs: Vec<(&str, &str)> = texts
            .map(|text| (claim.as_str(), beginning(text)))
            .collect();
        let Some(logits) = reader.pair_logits(&pairs, on_progress)? else {
            return Ok(Vec::new());
        };
        let model = Model::committed();
        let probability = |(text, logits): (&String, _)| {
            let stances = model.stances(&claim, text, Some(&[logits]));
            (!text.trim().is_empty()).then_some(stances.pro + stances.con)
        };
        Ok(self.texts.iter().zip(logits).map(probability).collect())
    }
}

/// For each text the largest value of its windows. `values` has one for each window, in the order of the texts.
fn best_of_windows(
    windows: &[Vec<String>],
    mut values: impl Iterator<Item = f64>,
) -> Vec<Option<f64>> {
    windows
        .iter()
        .map(|of_text| values.by_ref().take(of_text.len()).reduce(f64::max))
        .collect()
}

/// What is added to the mean of each document.
fn bases(
    top: &[ScoredDoc],
    texts: &[String],
    means: &[f64],
    near_duplicate: Option<f64>,
) -> Vec<f64> {
    let mut bases = vec![BASE; means.len()];
    let Some(resemblance) = near_duplicate else {
        return bases;
    };
    let mut order: Vec<usize> = (0..means.len()).collect();
    order.sort_by(|a, b| {
        means[*b]
            .total_cmp(&means[*a])
            .then_with(|| top[*a].doc.cmp(&top[*b].doc))
    });
    let ordered: Vec<&str> = order.iter().map(|at| texts[*at].as_str()).collect();
    for (at, is_repeat) in order
        .iter()
        .zip(rerank::near_duplicates(&ordered, resemblance))
    {
        if is_repeat {
            bases[*at] = NEAR_DUPLICATE_BASE;
        }
    }
    bases
}

fn explain(score: f64, base: f64, mut parts: Vec<Explanation>, combine: Combine) -> Explanation {
    if combine == Combine::Mean {
        parts.insert(0, Explanation::leaf("base of re-ranked documents", base));
    }
    let how = match combine {
        Combine::Mean if base < BASE => "sum; the base of near-duplicates is 1 instead of 2",
        Combine::Mean | Combine::Sum => "sum",
        Combine::Product | Combine::Boost => "product",
    };
    Explanation {
        name: "score".into(),
        value: score,
        how: how.into(),
        parts,
    }
}

/// Scales the scores of documents that are not re-ranked to [0, 0.9].
fn scale_others(others: &mut [ScoredDoc]) {
    let high = others.first().map_or(0.0, |found| found.score);
    let low = others.last().map_or(0.0, |found| found.score);
    for found in others {
        let share = if high > low {
            (found.score - low) / (high - low)
        } else {
            1.0
        };
        found.score = BEST_OTHER * share;
    }
}
