//! Clusters of a collection's documents by the sentence vectors of a field. They are computed once and stored with the vectors.

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::half_floats::convert;
use super::{Vectors, Wanted};
use crate::disk::hex;
use crate::evidence::store::{blob_of, vector_of};
use crate::index::clusters::k_means;
use crate::index::inverted::InvertedIndex;
use crate::index::vector;
use crate::workspace::Outputs;

/// The seed of the first centroids.
const SEED: u64 = 1;

/// Documents in clusters.
#[derive(Debug)]
pub struct Clusters {
    dimension: usize,
    /// The mean vectors of the clusters, one after another. Their lengths are at most 1.
    centroids: Vec<f32>,
    /// The cluster of each document of the index, or `u32::MAX`.
    member_of: Vec<u32>,
}

impl Clusters {
    /// The cosine between a query and the mean vector of a document's cluster, in [-1, 1]; `None` for a document without vectors.
    pub fn cosine(&self, query: &[f32], document: u32) -> Option<f64> {
        let cluster = *self.member_of.get(document as usize)? as usize;
        let start = cluster.checked_mul(self.dimension)?;
        let centroid = self
            .centroids
            .get(start..start.checked_add(self.dimension)?)?;
        let lengths = vector::dot(centroid, centroid).sqrt() * vector::dot(query, query).sqrt();
        (lengths > 0.0).then(|| f64::from(vector::dot(query, centroid) / lengths))
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

impl Vectors {
    /// Divides the documents into at most `count` clusters by the vectors of their first passages, which are not scaled to unit length again. If
    /// the workspace `file` has clusters of the same vectors, they are read; otherwise they are computed and stored. Calls `waiting` if another
    /// process is computing them.
    ///
    /// # Errors
    /// The workspace cannot be read or written.
    pub fn clusters(
        &self,
        index: &InvertedIndex,
        wanted: &Wanted,
        file: &std::path::Path,
        count: usize,
        waiting: &mut dyn FnMut(),
    ) -> Result<Clusters> {
        let _lock = wanted.lock(file, waiting)?;
        let mut outputs = Outputs::open_or_read(file)?;
        // the clusters must not depend on the order in which vectors were computed
        let with_vectors = (0..self.documents.len()).filter(|at| !self.passages(*at).is_empty());
        let mut order: Vec<(&str, usize)> = with_vectors
            .filter_map(|at| Some((index.id_text(*self.documents.get(at)?)?, at)))
            .collect();
        order.sort_unstable();
        let mut hash = Sha256::new();
        let mut rows = vec![0.0; order.len() * self.dimension];
        for ((id, at), row) in order.iter().zip(rows.chunks_mut(self.dimension.max(1))) {
            let start = self.passages(*at).start * self.dimension;
            let numbers = self.numbers.get(start..start + self.dimension);
            convert(numbers.context("a document has no vector")?, row);
            hash.update(id.as_bytes());
            hash.update([0]);
            row.iter().for_each(|x| hash.update(x.to_le_bytes()));
        }
        let vectors = hex(&hash.finalize()[..16]);
        let (producer, key) = (format!("clusters/1 {wanted}"), format!("{count} {vectors}"));
        let stored = outputs.find(&producer, &key, true)?;
        let stored = stored.and_then(|bytes| of_bytes(&bytes, order.len()));
        let (centroids, members) = match stored {
            Some(stored) => stored,
            None => {
                let found = k_means(&rows, self.dimension, count, SEED);
                let members = found.member_of.iter();
                let members: Vec<u32> = members.map(|cluster| *cluster as u32).collect();
                outputs.keep_only(&producer, |key| key.ends_with(&vectors))?;
                outputs.put(
                    &producer,
                    "",
                    &[(&key, to_bytes(&found.centroids, &members))],
                )?;
                (found.centroids, members)
            }
        };
        let mut member_of = vec![u32::MAX; self.positions.len()];
        for ((_, at), cluster) in order.iter().zip(members) {
            let document = self.documents.get(*at).map_or(0, |number| *number as usize);
            if let Some(slot) = member_of.get_mut(document) {
                *slot = cluster;
            }
        }
        Ok(Clusters {
            dimension: self.dimension,
            centroids,
            member_of,
        })
    }
}
