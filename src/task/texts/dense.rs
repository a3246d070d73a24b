//! The dense search of an approach. It runs for all topics of a run at once, because it reads every vector.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::super::text_approach::{ClusterRecipe, Dense, TextApproach};
use super::super::{Event, OnEvent, Stage, run_stage};
use crate::evidence::sentence::Sentences;
use crate::index::dense::{self, Clusters, Encode, Near, Unit, Vectors, Wanted};
use crate::index::inverted::InvertedIndex;
use crate::index::options::SearchOptions;
use crate::nn::conv::Numeric;
use crate::nn::lazy::Lazy;
use crate::reading::Reader;
use crate::topic::passages::{Passages, Windows};
use crate::trec::{DocId, Explanation, NumberId, ScoredDoc};

/// Number of words at the beginning of a text that decide its cluster. The encoder reads no more.
const CLUSTERED_WORDS: usize = 200;

/// The vectors of a collection, and the documents or passages that are nearest to each topic.
pub struct DenseSearch<'a> {
    recipe: &'a Dense,
    pub(super) index: &'a InvertedIndex,
    pub(super) vectors: Vectors,
    /// Which documents are ranked.
    pub(super) options: SearchOptions,
    /// The nearest documents or passages by query.
    found: HashMap<String, Vec<Near>>,
}

/// What a dense search is computed from.
pub(crate) struct DenseSources<'a, 'r, 'm> {
    pub index: &'a InvertedIndex,
    pub reader: &'r mut Reader<'m>,
    /// The installed encoder.
    pub sentences: Option<&'r Lazy<Sentences>>,
    /// The workspace with the vectors.
    pub base: &'r Path,
    /// The workspace of each shard of a divided collection.
    pub shards: &'r [PathBuf],
}

impl<'a> DenseSearch<'a> {
    /// Searches for all queries, if the approach has a dense search. Missing vectors are computed first. If they cannot be computed, a note says so.
    ///
    /// # Errors
    /// The vectors cannot be read or written, the model fails, or vectors are missing that the approach needs.
    pub(crate) fn prepare(
        approach: &'a TextApproach,
        queries: &[String],
        sources: &mut DenseSources<'a, '_, '_>,
        on_event: &mut OnEvent,
    ) -> Result<Option<Self>> {
        let Some(recipe) = &approach.dense else {
            return Ok(None);
        };
        let off = "the dense search is off: the sentence encoder is not installed, and not all of its vectors are stored";
        let searched = DenseSearch::search(approach, recipe, queries, sources, on_event);
        if let Some(search) = searched.context("cannot search densely")? {
            return Ok(Some(search));
        }
        let needed = approach.retrieval.is_empty() || approach.manifold.is_some();
        ensure!(!needed, "{} cannot rank: {off}", approach.name);
        on_event(Event::Note(off.to_owned()));
        Ok(None)
    }

    fn search(
        approach: &TextApproach,
        recipe: &'a Dense,
        queries: &[String],
        sources: &mut DenseSources<'a, '_, '_>,
        on_event: &mut OnEvent,
    ) -> Result<Option<Self>> {
        let texts: Vec<&str> = queries.iter().map(String::as_str).collect();
        let topics = sources.reader.sentence_vectors(&texts, &mut |_| ())?;
        let (Some(topics), Some(producer)) = (topics, sources.reader.sentence_producer()) else {
            return Ok(None);
        };
        let wanted = wanted(recipe, producer);
        let options = SearchOptions {
            k: recipe.depth,
            short: approach.keeps().short,
            duplicates: approach.keeps().duplicates,
            portals: approach.portals()?,
        };
        let index = sources.index;
        let Some(vectors) = open(index, &wanted, sources, on_event)? else {
            return Ok(None);
        };
        let found = vectors.search(index, &topics, recipe.count, options)?;
        Ok(Some(DenseSearch {
            recipe,
            index,
            vectors,
            options,
            found: queries.iter().cloned().zip(found).collect(),
        }))
    }

    /// For each of the given passages the `options.k` nearest ones, for a manifold ranking.
    ///
    /// # Errors
    /// A vector has another length than the stored ones, or a number in it is not finite.
    pub(super) fn nearest_passages(
        &self,
        passages: &[Vec<f32>],
        options: SearchOptions,
    ) -> Result<Vec<Vec<Near>>> {
        self.vectors
            .search(self.index, passages, Unit::Passages, options)
    }

    /// The documents that were found for a query, the nearest first, each with the cosine of its nearest passage.
    pub fn ranking(&self, query: &str) -> Vec<ScoredDoc> {
        let mut seen = HashSet::new();
        let near = self.found.get(query).into_iter().flatten();
        let first = near.filter(|near| seen.insert(near.document));
        let scored = first.filter_map(|near| {
            Some(ScoredDoc {
                doc: self.index.id(near.document)?,
                score: f64::from(near.cosine),
            })
        });
        scored.collect()
    }

    /// The weight of this search in a fusion.
    pub fn weight(&self) -> f64 {
        self.recipe.weight
    }

    /// Explains the cosine of a document.
    pub fn explain(&self, query: &str, doc: &DocId) -> Explanation {
        let number = self.index.number(doc);
        let mut found = self.found.get(query).into_iter().flatten();
        let near = found.find(|near| Some(near.document) == number);
        let (value, how) = match near {
            Some(near) => {
                let passage = near.passage + 1;
                let field = &self.recipe.field;
                let how = format!(
                    "cosine of the topic and the nearest passage: number {passage} of {field}"
                );
                (f64::from(near.cosine), how)
            }
            None => (0.0, "no passage is among the nearest".to_owned()),
        };
        Explanation::new(NumberId::Dense, value).with_how(how)
    }
}

/// The clusters of a collection, and the vectors of the topics that are compared with them.
pub struct ClusterLikeness<'a> {
    index: &'a InvertedIndex,
    clusters: Clusters,
    /// The vectors of the topics by their titles.
    topics: HashMap<String, Vec<f32>>,
}

impl<'a> ClusterLikeness<'a> {
    /// Finds the clusters that an approach uses. Missing vectors are computed first. If they cannot be computed, a note says so.
    ///
    /// # Errors
    /// The vectors cannot be read or written, or the model fails.
    pub(crate) fn prepare(
        approach: &TextApproach,
        titles: &[&str],
        sources: &mut DenseSources<'a, '_, '_>,
        on_event: &mut OnEvent,
    ) -> Result<Option<Self>> {
        let Some(recipe) = &approach.clusters else {
            return Ok(None);
        };
        let found = ClusterLikeness::find(recipe, titles, sources, on_event);
        let found = found.context("cannot find the clusters of the documents")?;
        if found.is_none() {
            on_event(Event::Note(
                "clusters are off: the sentence encoder is not installed, and not all of its vectors are stored".into(),
            ));
        }
        Ok(found)
    }

    fn find(
        recipe: &ClusterRecipe,
        titles: &[&str],
        sources: &mut DenseSources<'a, '_, '_>,
        on_event: &mut OnEvent,
    ) -> Result<Option<Self>> {
        let topics = sources.reader.sentence_vectors(titles, &mut |_| ())?;
        let (Some(topics), Some(producer)) = (topics, sources.reader.sentence_producer()) else {
            return Ok(None);
        };
        let wanted = Wanted {
            field: recipe.field.clone(),
            passages: Passages::Windows(Windows {
                words: CLUSTERED_WORDS,
                step: CLUSTERED_WORDS,
                most: 1,
            }),
            producer: producer.to_owned(),
        };
        let index = sources.index;
        let Some(vectors) = open(index, &wanted, sources, on_event)? else {
            return Ok(None);
        };
        let clusters = run_stage(Stage::Clustering, 0, on_event, |on_event| {
            let waiting = &mut || on_event(Event::Dense(dense::Event::Waiting));
            vectors.clusters(index, &wanted, sources.base, recipe.count, waiting)
        })?;
        let titles = titles.iter().map(|title| (*title).to_owned());
        Ok(Some(ClusterLikeness {
            index,
            clusters,
            topics: titles.zip(topics).collect(),
        }))
    }

    /// 1 plus the cosine between a topic and the mean vector of a document's cluster; `None` if the document has no text in the field.
    pub fn value(&self, title: &str, doc: &DocId) -> Option<f64> {
        let cosine = self
            .clusters
            .cosine(self.topics.get(title)?, self.index.number(doc)?)?;
        Some(1.0 + cosine)
    }
}

/// The vectors that a dense search needs.
pub(crate) fn wanted(recipe: &Dense, producer: &str) -> Wanted {
    Wanted {
        field: recipe.field.clone(),
        passages: recipe.passages,
        producer: producer.to_owned(),
    }
}

/// Opens the vectors of a collection, and computes those that are missing. `None` if that needs a model that is not installed.
///
/// # Errors
/// As [`Vectors::open`].
fn open(
    index: &InvertedIndex,
    wanted: &Wanted,
    sources: &DenseSources,
    on_event: &mut OnEvent,
) -> Result<Option<Vectors>> {
    open_files(
        index,
        wanted,
        sources.base,
        sources.shards,
        sources.sentences,
        on_event,
    )
}

/// As [`Vectors::open`]; `shards` has the workspace of each shard.
///
/// # Errors
/// As [`Vectors::open`].
pub(crate) fn open_files(
    index: &InvertedIndex,
    wanted: &Wanted,
    file: &Path,
    shards: &[PathBuf],
    model: Option<&Lazy<Sentences>>,
    on_event: &mut OnEvent,
) -> Result<Option<Vectors>> {
    let model = model.filter(|model| model.producer() == wanted.producer);
    let embed = |texts: &[&str]| match model {
        Some(model) => {
            let model = model.get()?;
            Ok((model.embed(texts)?, model.numeric()))
        }
        None => Ok((Vec::new(), Numeric::Float)),
    };
    let encode: Option<Encode> = model.is_some().then_some(&embed);
    run_stage(Stage::Encoding, 0, on_event, |on_event| {
        let on_event = &mut |event| on_event(Event::Dense(event));
        Vectors::open(index, wanted, file, shards, encode, on_event)
    })
}
