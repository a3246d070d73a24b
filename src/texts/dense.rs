//! The dense search of an approach. It runs for all topics of a run at once, because it reads every vector.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use riposte_eval::{DocId, Explanation};
use riposte_nn::conv::Numeric;

use crate::events::{Event, OnEvent, Stage, run_stage};
use crate::evidence::sentence::Sentences;
use crate::index::ScoredDoc;
use crate::index::dense::{Encode, NearPassage, Vectors, VectorsKey};
use crate::index::inverted::InvertedIndex;
use crate::index::options::SearchOptions;
use crate::lazy::Lazy;
use crate::reading::Purpose;
use crate::reading::Reader;
use crate::recipes::text_approach::{DenseRetrieval, TextApproach};
use crate::systems::text_clusters::ClusterLikeness;

/// The cosine of the topic's embedding and that of the nearest passage of a document.
pub(crate) const DENSE: &str = "dense";

/// The vectors of a collection, and the documents or passages that are nearest to each topic.
pub struct DenseSearch<'a> {
    recipe: &'a DenseRetrieval,
    pub(super) index: &'a InvertedIndex,
    pub(super) vectors: Vectors,
    /// Which documents are ranked.
    pub(super) options: SearchOptions,
    /// The nearest documents or passages by query.
    found: HashMap<String, Vec<NearPassage>>,
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

/// The vectors of texts; those of the collection that are compared with them, and what these are.
type Opened = (Vec<Vec<f32>>, Vectors, VectorsKey);

impl DenseSources<'_, '_, '_> {
    /// The vectors of these texts, and those of the collection that are compared with them. `wanted` gets their producer. Missing vectors are computed.
    /// `None` if that needs a model that is not installed.
    fn open(
        &mut self,
        texts: &[&str],
        wanted: impl Fn(&str) -> VectorsKey,
        on_event: &mut OnEvent,
    ) -> Result<Option<Opened>> {
        let topics = (self.reader).sentence_vectors(Purpose::Query, texts, &mut |_| ())?;
        let (Some(topics), Some(producer)) = (topics, self.reader.sentence_producer.as_deref())
        else {
            return Ok(None);
        };
        let wanted = wanted(producer);
        let (index, base, shards, model) = (self.index, self.base, self.shards, self.sentences);
        let vectors = open_files(index, &wanted, base, shards, model, on_event)?;
        Ok(vectors.map(|vectors| (topics, vectors, wanted)))
    }
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
        const SEARCHING: &str = "cannot search densely";
        const OFF: &str = "the dense search is off: the sentence encoder is not installed, and not all of its vectors are stored";
        let Some(recipe) = &approach.dense else {
            return Ok(None);
        };
        let texts: Vec<&str> = queries.iter().map(String::as_str).collect();
        let opened = sources.open(&texts, |producer| wanted(recipe, producer), on_event);
        let Some((topics, vectors, _)) = opened.context(SEARCHING)? else {
            let needed = approach.retrieval.is_empty() || approach.manifold.is_some();
            ensure!(!needed, "{} cannot rank: {OFF}", approach.name);
            on_event(Event::note(OFF.to_owned()));
            return Ok(None);
        };
        let options = approach.search_options(recipe.depth)?;
        let index = sources.index;
        let found = vectors.search(index, &topics, recipe.count, options);
        Ok(Some(DenseSearch {
            recipe,
            index,
            vectors,
            options,
            found: queries
                .iter()
                .cloned()
                .zip(found.context(SEARCHING)?)
                .collect(),
        }))
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
        Explanation::new(DENSE, value).with_how(how)
    }
}

/// Finds the clusters that an approach uses, and the vectors of the topics with these titles. Missing vectors are computed first. If they cannot be
/// computed, a note says so.
///
/// # Errors
/// The vectors cannot be read or written, or the model fails.
pub(crate) fn clusters(
    approach: &TextApproach,
    titles: &[&str],
    sources: &mut DenseSources,
    on_event: &mut OnEvent,
) -> Result<Option<ClusterLikeness>> {
    const FINDING: &str = "cannot find the clusters of the documents";
    let Some(recipe) = &approach.clusters else {
        return Ok(None);
    };
    let opened = sources.open(titles, |producer| recipe.wanted(producer), on_event);
    let Some((topics, vectors, wanted)) = opened.context(FINDING)? else {
        on_event(Event::note(
            "clusters are off: the sentence encoder is not installed, and not all of its vectors are stored",
        ));
        return Ok(None);
    };
    let topics = titles.iter().map(|title| (*title).to_owned()).zip(topics);
    let topics = topics.collect();
    let found = run_stage(Stage::Clustering, 0, on_event, |on_event| {
        let (index, vectors) = (sources.index, (&vectors, &wanted));
        ClusterLikeness::read(topics, vectors, index, sources.base, recipe.count, on_event)
    });
    found.context(FINDING).map(Some)
}

/// The vectors that a dense search needs.
pub(crate) fn wanted(recipe: &DenseRetrieval, producer: &str) -> VectorsKey {
    VectorsKey {
        field: recipe.field.clone(),
        passages: recipe.passages,
        producer: producer.to_owned(),
    }
}

/// Opens the vectors of a collection, and computes those that are missing. `shards` has the workspace of each shard. `None` if that needs a model
/// that is not installed.
///
/// # Errors
/// As [`Vectors::open`].
pub(crate) fn open_files(
    index: &InvertedIndex,
    wanted: &VectorsKey,
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
        Vectors::open(index, wanted, file, shards, encode, on_event)
    })
}
