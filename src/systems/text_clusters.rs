//! Heimdall (Touché 2021): how near the topic is to the cluster of a text. The clusters of a collection are computed once and stored with the vectors.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use riposte_eval::DocId;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::k_means::k_means;
use crate::disk::hex;
use crate::events::OnEvent;
use crate::index::dense::{Vectors, VectorsKey};
use crate::index::inverted::InvertedIndex;
use crate::index::passages::{PassageWindows, Passages};
use crate::index::vector::dot;
use crate::score::reranker::{
    Assessed, Assessment, RerankedTexts, Reranker, RerankerModels, RerankerNeed,
};
use crate::workspace::Outputs;
use crate::workspace::blob::{blob_of, vector_of};

/// The seed of the first centroids.
const SEED: u64 = 1;

/// Number of words at the beginning of a text that decide its cluster. The encoder reads no more.
const CLUSTERED_WORDS: usize = 200;

/// Clusters of documents with similar texts, by k-means over sentence vectors.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterRecipe {
    /// The field whose texts are compared.
    pub field: String,
    /// Number of clusters.
    pub count: usize,
}

impl ClusterRecipe {
    /// The vectors that are divided into clusters.
    pub(crate) fn wanted(&self, producer: &str) -> VectorsKey {
        VectorsKey {
            field: self.field.clone(),
            passages: Passages::Windows(PassageWindows {
                words: CLUSTERED_WORDS,
                step: CLUSTERED_WORDS,
                most: 1,
            }),
            producer: producer.to_owned(),
        }
    }
}

/// The clusters of a collection, and the vectors of the topics that are compared with them.
pub struct ClusterLikeness {
    /// The vectors of the topics by their titles.
    topics: HashMap<String, Vec<f32>>,
    /// The mean vectors of the clusters, one after another. Their lengths are at most 1.
    centroids: Vec<f32>,
    /// The cluster of each document with vectors.
    member_of: HashMap<DocId, u32>,
}

impl ClusterLikeness {
    /// Divides the documents into at most `count` clusters by the vectors of their first passages, which are not scaled to unit length again. If
    /// the workspace `file` has clusters of the same vectors, they are read; otherwise they are computed and stored.
    ///
    /// # Errors
    /// The workspace cannot be read or written.
    pub(crate) fn read(
        topics: HashMap<String, Vec<f32>>,
        (vectors, wanted): (&Vectors, &VectorsKey),
        index: &InvertedIndex,
        file: &Path,
        count: usize,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let _lock = wanted.lock(file, on_event)?;
        let mut outputs = Outputs::open_or_read(file)?;
        // the clusters must not depend on the order in which vectors were computed
        let mut order: Vec<DocId> = index.ids().collect();
        order.sort_unstable();
        let (mut ids, mut rows, mut hash) = (Vec::new(), Vec::new(), Sha256::new());
        for id in order {
            let passages = index.number(&id).map(|number| vectors.of_document(number));
            let Some(row) = passages.and_then(|all| all.into_iter().next()) else {
                continue;
            };
            hash.update(id.0.as_bytes());
            hash.update([0]);
            row.iter().for_each(|x| hash.update(x.to_le_bytes()));
            rows.extend(row);
            ids.push(id);
        }
        let hash = hex(&hash.finalize()[..16]);
        let (producer, key) = (format!("clusters/1 {wanted}"), format!("{count} {hash}"));
        let stored = outputs.find(&producer, &key, true)?;
        let stored = stored.and_then(|bytes| of_bytes(&bytes, ids.len()));
        let (centroids, members) = match stored {
            Some(stored) => stored,
            None => {
                let found = k_means(&rows, rows.len() / ids.len().max(1), count, SEED);
                let members = found.member_of.iter();
                let members: Vec<u32> = members.map(|cluster| *cluster as u32).collect();
                let row = (&key, to_bytes(&found.centroids, &members));
                outputs.keep_only(&producer, |key| key.ends_with(&hash))?;
                outputs.put(&producer, "", &[row])?;
                (found.centroids, members)
            }
        };
        Ok(ClusterLikeness {
            topics,
            centroids,
            member_of: ids.into_iter().zip(members).collect(),
        })
    }

    /// 1 plus the cosine between a topic and the mean vector of a document's cluster; `None` if the document has no text in the field.
    pub(crate) fn value(&self, title: &str, doc: &DocId) -> Option<f64> {
        let topic = self.topics.get(title)?;
        let start = *self.member_of.get(doc)? as usize * topic.len();
        let centroid = self.centroids.get(start..start + topic.len())?;
        let lengths = dot(centroid, centroid).sqrt() * dot(topic, topic).sqrt();
        (lengths > 0.0).then(|| 1.0 + f64::from(dot(topic, centroid) / lengths))
    }
}

/// The stored form of clusters: the number of documents as a little-endian 32-bit number; the number of each document's cluster, in the order of the
/// documents' ids; then the centroids as 32-bit floats.
fn to_bytes(centroids: &[f32], members: &[u32]) -> Vec<u8> {
    let numbers = std::iter::once(members.len() as u32).chain(members.iter().copied());
    let mut bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
    bytes.extend(blob_of(centroids));
    bytes
}

/// The inverse of [`to_bytes`]; `None` if the number of members is not `documents`.
fn of_bytes(bytes: &[u8], documents: usize) -> Option<(Vec<f32>, Vec<u32>)> {
    let (members, centroids) = bytes.split_at_checked(4 * (documents + 1))?;
    let (members, _) = members.as_chunks::<4>();
    let mut members = members.iter().map(|bytes| u32::from_le_bytes(*bytes));
    (members.next() == Some(documents as u32)).then_some(())?;
    Some((vector_of(centroids).ok()?, members.collect()))
}

/// 1 plus the cosine between the topic and the mean vector of the text's cluster, in [0, 2]. A text without the clustered field has no value.
pub struct Cluster;

impl Reranker for Cluster {
    fn name(&self) -> &'static str {
        "cluster"
    }

    fn words(&self) -> [&'static str; 2] {
        ["topic near its cluster", ""]
    }

    fn need(&self) -> RerankerNeed {
        RerankerNeed::Clusters
    }

    fn assess(&self, documents: &RerankedTexts, _: &mut RerankerModels) -> Assessed {
        let nearness = documents.known(self.name()).iter().copied();
        Ok(Assessment::all(nearness))
    }
}
