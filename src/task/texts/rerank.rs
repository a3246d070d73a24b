//! Re-ranking of the top of a text ranking.

use anyhow::{Context, Result};

use super::super::text_approach::Rerank;
use super::arguing::Arguing;
use super::features;
use super::sources::Sources;
use super::windows::UnreadWindows;
use crate::evidence::sentiment::Vader;
use crate::index::corpus::Corpus;
use crate::index::vector;
use crate::reading::Reader;
use crate::reading::pair::PairReading;
use crate::reading::pieces::{beginning, used_part};
use crate::reading::steps::OnOutputs;
use crate::score::quality::{self, Kind};
use crate::score::rerank::{self, Channel, Combine, Values};
use crate::score::svr;
use crate::score::text_stance::Model;
use crate::score::trees::{FeatureSet, Features};
use crate::topic::passages::Windows;
use crate::topic::{question, tagger};
use crate::trec::topic::Topic;
use crate::trec::{Base, DocId, Explanation, NumberId, ScoredDoc};

/// The base that is added to the mean of a document's opinions, which is in [0, 1]. The two bases keep near-duplicates below all other re-ranked
/// documents, and above documents that are not re-ranked.
const BASE: f64 = 2.0;
/// The base of near-duplicates of documents that are ranked before them.
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
    on_progress: &mut OnOutputs,
) -> Result<Vec<(DocId, Explanation)>> {
    let depth = recipe.depth.min(ranking.len());
    let (top, others) = ranking.split_at_mut(depth);
    let mut documents = Documents::open(topic, top, sources)?;
    let values = documents.best_values(recipe, sources.reader, on_progress)?;
    let Documents {
        texts,
        cuts,
        kind,
        features,
        ..
    } = documents;
    let opinions = rerank::opinions(&values, &recipe.weights, recipe.scale);
    let means = rerank::scores(&opinions, recipe.combine);
    // sums and products are final scores: no other documents are ranked after these, so they need no base
    let bases = match recipe.combine {
        Combine::Mean => bases(top, &texts, &means, recipe.near_duplicate),
        Combine::Sum | Combine::Product | Combine::Boost => vec![0.0; means.len()],
    };
    let mut explained = Vec::with_capacity(top.len());
    let documents = (0..).zip(top.iter_mut()).zip(&texts).zip(&cuts);
    let scores = opinions.iter().zip(means.iter().zip(bases));
    for ((((at, found), text), cuts), (opinions, (mean, base))) in documents.zip(scores) {
        found.score = base + mean;
        let parts = rerank::explain(opinions, recipe.combine);
        let mut explanation = explain(found.score, base, parts, recipe.combine);
        let trees = |set: FeatureSet| {
            let features = features.as_ref()?.get(at)?;
            Some(set.committed().explain(set.of(features)))
        };
        for (channel, _) in recipe.weights.iter() {
            let id = NumberId::channel(channel.name());
            let Some(part) = explanation.find_mut(&id) else {
                continue;
            };
            let of_part = match channel {
                Channel::Quality => Some(quality::explain(kind, text)),
                Channel::SvrQuality => Some(svr::Model::committed().explain(text)),
                Channel::TreesSmall => trees(FeatureSet::Small),
                Channel::TreesMedium => trees(FeatureSet::Medium),
                _ => None,
            };
            of_part.into_iter().for_each(|of| part.add_part(of));
        }
        explanation.add_cuts(cuts);
        explained.push((found.doc.clone(), explanation));
    }
    scale_others(others);
    Ok(explained)
}

/// The values of the features that trees use, for each of these documents. Trees are learned from them.
///
/// # Errors
/// As [`rerank()`].
pub(super) fn features(
    documents: &[ScoredDoc],
    recipe: &Rerank,
    topic: &Topic,
    sources: &mut Sources,
) -> Result<Vec<Features>> {
    let set = if recipe.weights.uses(Channel::TreesMedium) {
        FeatureSet::Medium
    } else {
        FeatureSet::Small
    };
    let mut documents = Documents::open(topic, documents, sources)?;
    let rows = documents.features(set, recipe.windows, sources.reader, &mut |_| ())?;
    Ok(rows.to_vec())
}

/// The documents at the top of a ranking, as channels read them.
pub(super) struct Documents<'a> {
    topic: &'a Topic,
    kind: Kind,
    ranked: &'a [ScoredDoc],
    corpus: &'a Corpus,
    texts: Vec<String>,
    /// Notes about what was left out of each text.
    pub cuts: Vec<Vec<String>>,
    /// Read when it is first needed.
    arguing: Option<Arguing>,
    /// The features that learned rankings use; computed when they are first needed.
    features: Option<Vec<Features>>,
    /// The likeness of the topic to the cluster of each document; empty without clusters.
    clusters: Vec<Vec<f64>>,
}

impl<'a> Documents<'a> {
    /// # Errors
    /// The index fails.
    pub(super) fn open<'s: 'a>(
        topic: &'a Topic,
        ranked: &'a [ScoredDoc],
        sources: &mut Sources<'s, '_>,
    ) -> Result<Self> {
        let corpus = *sources.corpora.first().context("no index is open")?;
        let mut texts = Vec::with_capacity(ranked.len());
        let mut cuts = Vec::with_capacity(ranked.len());
        for found in ranked {
            let document = corpus.document(&found.doc)?;
            let mut text = document.main_text(corpus.meta().kind).into_owned();
            let (used, cut) = used_part(&text);
            let (length, cut) = (used.len(), Vec::from_iter(cut));
            text.truncate(length);
            sources.reader.note_cuts(&found.doc, &cut);
            texts.push(text);
            cuts.push(cut);
        }
        Ok(Documents {
            topic,
            kind: match corpus.field("premises") {
                Some(_) => Kind::Argument,
                None => Kind::Passage,
            },
            ranked,
            corpus,
            texts,
            cuts,
            arguing: None,
            features: None,
            clusters: match sources.clusters {
                Some(clusters) => {
                    let value = |found: &ScoredDoc| clusters.value(&topic.title, &found.doc);
                    let values = ranked.iter().map(value);
                    values.map(Vec::from_iter).collect()
                }
                None => Vec::new(),
            },
        })
    }

    /// The largest value of each channel that has a weight, and retrieval.
    fn best_values(
        &mut self,
        recipe: &Rerank,
        reader: &mut Reader,
        on_progress: &mut OnOutputs,
    ) -> Result<Values> {
        let best = |values: Vec<f64>| values.into_iter().reduce(f64::max);
        let mut found = Values::new();
        let retrieval = self.ranked.iter().map(|found| Some(found.score));
        found.insert(Channel::Retrieval, retrieval.collect());
        for (channel, weight) in recipe.weights.iter() {
            let is_last = channel == Channel::Sentence && recipe.read_whole.is_some();
            if weight > 0.0 && !is_last {
                let values = self.read(channel, recipe.windows, reader, on_progress)?;
                found.insert(channel, values.into_iter().map(best).collect());
            }
        }
        if let Some(first) = recipe.read_whole
            && recipe.weights.uses(Channel::Sentence)
        {
            self.add_likeness(first, recipe, &mut found, reader, on_progress)?;
        }
        Ok(found)
    }

    /// Adds the likeness of each text to the topic to `found`, which has the values of all other channels. All windows are read in the `first` texts
    /// with the highest scores by all channels, and only the most promising window in the others. Nothing is added without a sentence model.
    fn add_likeness(
        &self,
        first: usize,
        recipe: &Rerank,
        found: &mut Values,
        reader: &mut Reader,
        on_progress: &mut OnOutputs,
    ) -> Result<()> {
        let texts = self.texts.iter();
        let windows = texts.map(|text| recipe.windows.split(text)).collect();
        let mut unread = UnreadWindows::new(&self.topic.title, windows)?;
        let mut next = unread.take_promising();
        while next.iter().any(|windows| !windows.is_empty()) {
            let values = self.likeness(&next, reader, on_progress)?;
            if values.is_empty() {
                break;
            }
            unread.add(values);
            found.insert(Channel::Sentence, unread.best.clone());
            let opinions = rerank::opinions(found, &recipe.weights, recipe.scale);
            let scores = rerank::scores(&opinions, recipe.combine);
            next = unread.take_rest(&scores, first);
        }
        Ok(())
    }

    /// The values of a channel for each document: one for each window if the channel reads windows, otherwise one; none if the text has nothing to
    /// read. Without the channel's model the list is empty.
    ///
    /// # Errors
    /// The store of model outputs or a model fails.
    pub(super) fn read(
        &mut self,
        channel: Channel,
        windows: Windows,
        reader: &mut Reader,
        on_progress: &mut OnOutputs,
    ) -> Result<Vec<Vec<f64>>> {
        let of_texts = |value: &dyn Fn(&str) -> f64| -> Vec<Vec<f64>> {
            self.texts.iter().map(|text| vec![value(text)]).collect()
        };
        let split = || -> Vec<Vec<String>> {
            let texts = self.texts.iter();
            texts.map(|text| windows.split(text)).collect()
        };
        Ok(match channel {
            Channel::Retrieval => self.ranked.iter().map(|found| vec![found.score]).collect(),
            Channel::Sentence => self.likeness(&split(), reader, on_progress)?,
            Channel::Cross => self.cross(&split(), reader, on_progress)?,
            Channel::Quality => of_texts(&|text| quality::quality(self.kind, text)),
            Channel::Comparison => of_texts(&rerank::comparison),
            Channel::Side => self.side(reader, on_progress)?,
            Channel::Relevance => self.relevance(reader, on_progress)?,
            Channel::Adjectives => of_texts(&tagger::adjectives),
            Channel::SvrQuality => of_texts(&svr::svr_quality),
            Channel::Sentiment => {
                let vader = Vader::new();
                of_texts(&|text| vader.compound(text).abs())
            }
            Channel::Cluster => self.clusters.clone(),
            Channel::TreesSmall => self.trees(FeatureSet::Small, windows, reader, on_progress)?,
            Channel::TreesMedium => self.trees(FeatureSet::Medium, windows, reader, on_progress)?,
            Channel::ArgumentBm25 => self.arguing(reader, on_progress)?.bm25.clone(),
            Channel::ArgumentShare => self.arguing(reader, on_progress)?.share.clone(),
            Channel::ArgumentCosine => self.arguing(reader, on_progress)?.cosine.clone(),
        })
    }

    /// The sum over the trees of a set for each document.
    fn trees(
        &mut self,
        set: FeatureSet,
        windows: Windows,
        reader: &mut Reader,
        on_progress: &mut OnOutputs,
    ) -> Result<Vec<Vec<f64>>> {
        let rows = self.features(set, windows, reader, on_progress)?.iter();
        let model = set.committed();
        Ok(rows.map(|row| vec![model.score(set.of(row))]).collect())
    }

    /// The values of [`crate::score::trees::FEATURES`] for each document; those of models only for the medium set.
    fn features(
        &mut self,
        set: FeatureSet,
        windows: Windows,
        reader: &mut Reader,
        on_progress: &mut OnOutputs,
    ) -> Result<&[Features]> {
        if self.features.is_none() {
            let (mut likeness, mut side) = (Vec::new(), Vec::new());
            if set == FeatureSet::Medium {
                let best = |values: Vec<f64>| values.into_iter().reduce(f64::max);
                let mut read = |channel| -> Result<Vec<Option<f64>>> {
                    let values = self.read(channel, windows, reader, on_progress)?;
                    Ok(values.into_iter().map(best).collect())
                };
                (likeness, side) = (read(Channel::Sentence)?, read(Channel::Side)?);
            }
            let models = features::FromModels {
                likeness: &likeness,
                side: &side,
            };
            let rows =
                features::of_candidates(self.ranked, &self.texts, self.topic, self.corpus, models)?;
            self.features = Some(rows);
        }
        Ok(self.features.as_deref().unwrap_or_default())
    }

    fn arguing(&mut self, reader: &mut Reader, on_progress: &mut OnOutputs) -> Result<&Arguing> {
        let read = match self.arguing.take() {
            Some(read) => read,
            None => Arguing::read(self.topic, &self.texts, reader, on_progress)?,
        };
        Ok(self.arguing.insert(read))
    }

    /// The cosine between the topic and each window of a text.
    fn likeness(
        &self,
        windows: &[Vec<String>],
        reader: &mut Reader,
        on_progress: &mut OnOutputs,
    ) -> Result<Vec<Vec<f64>>> {
        let mut texts = vec![self.topic.title.as_str()];
        texts.extend(windows.iter().flatten().map(String::as_str));
        let Some(vectors) = reader.sentence_vectors(&texts, on_progress)? else {
            return Ok(Vec::new());
        };
        let mut vectors = vectors.into_iter();
        let topic = vectors.next().unwrap_or_default();
        let cosines = vectors.map(|window| f64::from(vector::dot(&topic, &window)));
        Ok(of_windows(windows, cosines))
    }

    /// The cross-encoder's score of the topic and each window of a text.
    fn cross(
        &self,
        windows: &[Vec<String>],
        reader: &mut Reader,
        on_progress: &mut OnOutputs,
    ) -> Result<Vec<Vec<f64>>> {
        let texts: Vec<&str> = windows.iter().flatten().map(String::as_str).collect();
        let Some(scores) = reader.cross_scores(&self.topic.title, &texts, on_progress)? else {
            return Ok(Vec::new());
        };
        Ok(of_windows(windows, scores.into_iter().map(f64::from)))
    }

    /// The pair encoder's outputs for the topic's claim and the beginning of each text. `None` as for [`Reader::pair_readings`].
    fn readings(
        &self,
        claim: &str,
        reader: &mut Reader,
        on_progress: &mut OnOutputs,
    ) -> Result<Option<Vec<PairReading>>> {
        let texts = self.texts.iter();
        let pairs: Vec<(&str, &str)> = texts.map(|text| (claim, beginning(text))).collect();
        reader.pair_readings(&pairs, on_progress)
    }

    /// The log-odds that each text is about the topic, by its beginning; none for a text without words.
    fn relevance(&self, reader: &mut Reader, on_progress: &mut OnOutputs) -> Result<Vec<Vec<f64>>> {
        let (claim, _) = question::claims(&self.topic.title);
        let Some(readings) = self.readings(&claim, reader, on_progress)? else {
            return Ok(Vec::new());
        };
        let log_odds = |(text, reading): (&String, PairReading)| {
            let value = (!text.trim().is_empty()).then_some(f64::from(reading.relevance));
            Vec::from_iter(value)
        };
        Ok(self.texts.iter().zip(readings).map(log_odds).collect())
    }

    /// The probability that each text takes a side on the topic; none for a text without words.
    fn side(&self, reader: &mut Reader, on_progress: &mut OnOutputs) -> Result<Vec<Vec<f64>>> {
        let (claim, _) = question::claims(&self.topic.title);
        let Some(readings) = self.readings(&claim, reader, on_progress)? else {
            return Ok(Vec::new());
        };
        let model = Model::committed();
        let probability = |(text, reading): (&String, PairReading)| {
            let stances = model.stances(&claim, text, Some(&[reading.stance]));
            let side = (!text.trim().is_empty()).then_some(stances.pro + stances.con);
            Vec::from_iter(side)
        };
        Ok(self.texts.iter().zip(readings).map(probability).collect())
    }
}

/// The values of each text's windows. `values` has those of all texts, in the order of the texts.
fn of_windows(windows: &[Vec<String>], mut values: impl Iterator<Item = f64>) -> Vec<Vec<f64>> {
    let windows = windows.iter();
    windows
        .map(|of_text| values.by_ref().take(of_text.len()).collect())
        .collect()
}

/// The base that is added to the mean of each document.
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
        let of = if base < BASE {
            Base::NearDuplicate
        } else {
            Base::Reranked
        };
        parts.insert(0, Explanation::new(NumberId::Base(of), base));
    }
    let how = match combine {
        Combine::Mean if base < BASE => "sum; the base of near-duplicates is 1 instead of 2",
        Combine::Mean | Combine::Sum => "sum",
        Combine::Product | Combine::Boost => "product",
    };
    Explanation::new(NumberId::Score, score)
        .with_how(how)
        .with_parts(parts)
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
