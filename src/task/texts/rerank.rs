//! Re-ranking of the top of a text ranking.

use anyhow::Result;

use super::super::text_approach::Rerank;
use super::features;
use crate::index::corpus::Corpus;
use crate::index::vector;
use crate::reading::Reader;
use crate::reading::pieces::{beginning, used_part};
use crate::score::quality::{self, Kind};
use crate::score::rerank::{self, Candidate, Combine, Weights};
use crate::score::svr;
use crate::score::text_stance::Model;
use crate::score::trees::{FeatureSet, Features};
use crate::topic::question;
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
    corpus: &Corpus,
    reader: &mut Reader,
    on_progress: &mut dyn FnMut(usize),
) -> Result<Vec<(DocId, Explanation)>> {
    let depth = recipe.depth.min(ranking.len());
    let (top, others) = ranking.split_at_mut(depth);
    let kind = match corpus.field("premises") {
        Some(_) => Kind::Argument,
        None => Kind::Passage,
    };
    let (texts, cuts) = read_texts(top, corpus, reader)?;
    let read = ModelScores::read(topic, &texts, recipe, reader, on_progress)?;
    let mut trees = Trees::default();
    if recipe.weights.trees_small > 0.0 || recipe.weights.trees_medium > 0.0 {
        trees.features = features::of_candidates(top, &texts, topic, corpus, read.for_trees())?;
    }
    let candidates = candidates(top, &texts, kind, recipe.weights, read, &trees);
    let opinions = rerank::opinions(&candidates, recipe.weights, recipe.scale);
    let means = rerank::scores(&opinions, recipe.combine);
    // sums and products are final scores: nothing is ranked after the documents that have one
    let bases = match recipe.combine {
        Combine::Mean => bases(top, &texts, &means, recipe.near_duplicate),
        Combine::Sum | Combine::Product => vec![0.0; means.len()],
    };
    let mut explained = Vec::with_capacity(top.len());
    let documents = (0..).zip(top.iter_mut()).zip(&texts).zip(&cuts);
    let scores = opinions.iter().zip(means.iter().zip(bases));
    for ((((at, found), text), cuts), (opinions, (mean, base))) in documents.zip(scores) {
        found.score = base + mean;
        let parts = rerank::explain(opinions, recipe.combine);
        let mut explanation = explain(found.score, base, parts, recipe.combine);
        for part in &mut explanation.parts {
            let of_part = match part.name.as_str() {
                "quality" => Some(quality::explain(kind, text)),
                "svr-quality" => Some(svr::Model::committed().explain(text)),
                "trees-small" => trees.explain(FeatureSet::Small, at),
                "trees-medium" => trees.explain(FeatureSet::Medium, at),
                _ => None,
            };
            part.parts.extend(of_part);
        }
        explanation.add_cuts(cuts);
        explained.push((found.doc.clone(), explanation));
    }
    scale_others(others);
    Ok(explained)
}

/// The main texts of the documents, and what was left out of each.
fn read_texts(
    top: &[ScoredDoc],
    corpus: &Corpus,
    reader: &mut Reader,
) -> Result<(Vec<String>, Vec<Vec<String>>)> {
    let mut texts = Vec::with_capacity(top.len());
    let mut cuts = Vec::with_capacity(top.len());
    for found in top {
        let document = corpus.document(&found.doc)?;
        let mut text = document.texts.into_iter().next().unwrap_or_default();
        let (used, cut) = used_part(&text);
        let (length, cut) = (used.len(), Vec::from_iter(cut));
        text.truncate(length);
        reader.note_cuts(&found.doc, &cut);
        texts.push(text);
        cuts.push(cut);
    }
    Ok((texts, cuts))
}

/// The values of the features that trees use, for each of these documents.
///
/// # Errors
/// As [`rerank`].
pub(super) fn features(
    documents: &[ScoredDoc],
    recipe: &Rerank,
    topic: &Topic,
    corpus: &Corpus,
    reader: &mut Reader,
) -> Result<Vec<Features>> {
    let (texts, _) = read_texts(documents, corpus, reader)?;
    let read = ModelScores::read(topic, &texts, recipe, reader, &mut |_| ())?;
    features::of_candidates(documents, &texts, topic, corpus, read.for_trees())
}

/// For each text the scores of the models that the recipe uses; `None` for a text without words, and if a model is off.
struct ModelScores {
    /// The largest cosine between the topic and a window of the text.
    likeness: Vec<Option<f64>>,
    /// The cross-encoder's score of the topic and the best window of the text.
    cross: Vec<Option<f64>>,
    /// The probability that the text takes a side on the topic.
    side: Vec<Option<f64>>,
}

impl ModelScores {
    fn read(
        topic: &Topic,
        texts: &[String],
        recipe: &Rerank,
        reader: &mut Reader,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Self> {
        let weights = recipe.weights;
        let windows: Vec<Vec<String>> = texts
            .iter()
            .map(|text| recipe.windows.split(text))
            .collect();
        let mut scores = ModelScores {
            likeness: vec![None; texts.len()],
            cross: vec![None; texts.len()],
            side: vec![None; texts.len()],
        };
        if weights.sentence > 0.0 || weights.trees_medium > 0.0 {
            scores.read_likeness(&topic.title, &windows, reader, on_progress)?;
        }
        if weights.cross > 0.0 {
            scores.read_cross(&topic.title, &windows, reader, on_progress)?;
        }
        if weights.side > 0.0 || weights.trees_medium > 0.0 {
            scores.read_side(&topic.title, texts, reader, on_progress)?;
        }
        Ok(scores)
    }

    fn for_trees(&self) -> features::FromModels<'_> {
        features::FromModels {
            likeness: &self.likeness,
            side: &self.side,
        }
    }

    fn read_likeness(
        &mut self,
        topic: &str,
        windows: &[Vec<String>],
        reader: &mut Reader,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let mut texts = vec![topic];
        texts.extend(windows.iter().flatten().map(String::as_str));
        if let Some(vectors) = reader.sentence_vectors(&texts, on_progress)? {
            let mut vectors = vectors.into_iter();
            let topic = vectors.next().unwrap_or_default();
            let cosines = vectors.map(|window| f64::from(vector::dot(&topic, &window)));
            self.likeness = best_of_windows(windows, cosines);
        }
        Ok(())
    }

    fn read_cross(
        &mut self,
        topic: &str,
        windows: &[Vec<String>],
        reader: &mut Reader,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let texts: Vec<&str> = windows.iter().flatten().map(String::as_str).collect();
        if let Some(scores) = reader.cross_scores(topic, &texts, on_progress)? {
            self.cross = best_of_windows(windows, scores.into_iter().map(f64::from));
        }
        Ok(())
    }

    fn read_side(
        &mut self,
        topic: &str,
        texts: &[String],
        reader: &mut Reader,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let (claim, _) = question::claims(topic);
        let pairs: Vec<(&str, &str)> = texts
            .iter()
            .map(|text| (claim.as_str(), beginning(text)))
            .collect();
        let Some(logits) = reader.pair_logits(&pairs, on_progress)? else {
            return Ok(());
        };
        let model = Model::committed();
        let probability = |(text, logits): (&String, _)| {
            let stances = model.stances(&claim, text, Some(&[logits]));
            (!text.trim().is_empty()).then_some(stances.pro + stances.con)
        };
        self.side = texts.iter().zip(logits).map(probability).collect();
        Ok(())
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

/// The features of each text; empty if the recipe has no weight for trees.
#[derive(Default)]
struct Trees {
    features: Vec<Features>,
}

impl Trees {
    /// The sum over the trees for the text at this place.
    fn score(&self, set: FeatureSet, at: usize) -> Option<f64> {
        let features = self.features.get(at)?;
        Some(set.committed().score(set.of(features)))
    }

    fn explain(&self, set: FeatureSet, at: usize) -> Option<Explanation> {
        let features = self.features.get(at)?;
        Some(set.committed().explain("trees", set.of(features)))
    }
}

fn candidates(
    top: &[ScoredDoc],
    texts: &[String],
    kind: Kind,
    weights: Weights,
    read: ModelScores,
    trees: &Trees,
) -> Vec<Candidate> {
    let models = read.likeness.into_iter().zip(read.cross).zip(read.side);
    (0..)
        .zip(top)
        .zip(texts)
        .zip(models)
        .map(
            |(((at, found), text), ((sentence, cross), side))| Candidate {
                retrieval: found.score,
                sentence,
                cross,
                quality: (weights.quality > 0.0).then(|| quality::quality(kind, text)),
                comparison: (weights.comparison > 0.0).then(|| rerank::comparison(text)),
                side,
                svr_quality: (weights.svr_quality > 0.0).then(|| svr::svr_quality(text)),
                trees: [FeatureSet::Small, FeatureSet::Medium].map(|set| trees.score(set, at)),
            },
        )
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
        Combine::Product => "product",
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
