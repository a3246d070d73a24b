//! Finds the passages that are nearest to queries.
//!
//! Vectors are compared with all queries block by block: with many queries by a matrix product, with few queries one by one. The last bits of
//! these sums depend on the machine's instructions, so the sums only select the passages that may be among the nearest. The cosines of these
//! passages are computed again in a fixed order. Therefore a ranking depends neither on the machine nor on the number of threads.

use std::ops::Range;

use anyhow::{Result, ensure};
use rayon::prelude::*;
use riposte_nn::conv::kernel::{Activation, CHANNEL_BLOCK, PackedWeights, Product, Windows};

use super::Vectors;
use super::half_floats::{convert, inner_products};
use crate::index::vector;

/// Minimum number of passages that are compared together. It is small enough that their vectors stay in the fastest caches.
const BLOCK: usize = 128;

/// Up to this many queries are compared one by one, because the columns of a matrix product are padded to a multiple of sixteen.
const FEW_QUERIES: usize = 4;

/// What a search returns: the k nearest documents, each with its nearest passage, or the k nearest passages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchUnit {
    #[default]
    Documents,
    Passages,
}

/// A passage that is near a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearPassage {
    /// The number of its document in the index.
    pub document: u32,
    /// Its position among the passages of the document, from 0.
    pub passage: u32,
    /// The cosine between query and passage, to the precision of 16-bit floats.
    pub cosine: f32,
}

/// A candidate: the position of its document, and a passage. If the search returns documents, any passage of the document.
#[derive(Clone, Copy)]
struct Candidate {
    score: f32,
    position: u32,
    passage: u32,
}

/// All candidates that can be among the k nearest, and some more.
struct NearestSoFar {
    k: usize,
    /// The largest difference between two sums in different orders.
    margin: f32,
    found: Vec<Candidate>,
    /// Candidates with a lower score are not among the nearest.
    threshold: f32,
    /// The number of candidates at which those below the threshold are removed.
    limit: usize,
}

impl NearestSoFar {
    fn new(k: usize, margin: f32) -> Self {
        NearestSoFar {
            k,
            margin,
            found: Vec::new(),
            threshold: f32::NEG_INFINITY,
            limit: k.saturating_mul(4).max(64),
        }
    }

    fn push(&mut self, score: f32, position: usize, passage: usize) {
        if score >= self.threshold {
            self.found.push(Candidate {
                score,
                position: position as u32,
                passage: passage as u32,
            });
            if self.found.len() >= self.limit {
                self.prune();
            }
        }
    }

    fn prune(&mut self) {
        if self.k == 0 {
            self.found.clear();
        }
        if self.found.len() > self.k {
            let by_score = |a: &Candidate, b: &Candidate| b.score.total_cmp(&a.score);
            let (_, last, _) = self.found.select_nth_unstable_by(self.k - 1, by_score);
            self.threshold = last.score - self.margin;
            self.found.retain(|found| found.score >= self.threshold);
        }
        // if many scores are equal, pruning removes few candidates, so the next pruning is delayed
        self.limit = self.limit.max(2 * self.found.len());
    }
}

/// The buffers with which a thread compares blocks.
struct Comparison<'q> {
    queries: &'q [Vec<f32>],
    /// The queries in the layout of [`pack`].
    packed: &'q PackedWeights,
    /// The vectors of a block.
    vectors: Vec<f32>,
    /// The inner products, with the shape (passages, columns of `packed`).
    scores: Vec<f32>,
    /// For each query the best score of a document.
    best: Vec<f32>,
    /// The candidates of each query.
    found: Vec<NearestSoFar>,
}

/// The queries as the right operand of a matrix product: one in each column, and zeros in the remaining columns.
fn pack(queries: &[Vec<f32>], dimension: usize) -> PackedWeights {
    let columns = queries.len().max(1).next_multiple_of(CHANNEL_BLOCK);
    let mut weights = vec![0.0; dimension * columns];
    for (column, query) in queries.iter().enumerate() {
        let slots = weights.iter_mut().skip(column).step_by(columns);
        slots.zip(query).for_each(|(slot, x)| *slot = *x);
    }
    PackedWeights::new(&weights, vec![0.0; columns])
}

impl Vectors {
    /// For each query the k nearest documents or passages, the nearest first, ties in the order of `id`. Documents for which `is_included` is
    /// false are left out.
    ///
    /// # Errors
    /// A query has another length than the vectors, or a number in it is not finite.
    pub(super) fn nearest<'i>(
        &self,
        queries: &[Vec<f32>],
        k: usize,
        unit: SearchUnit,
        is_included: &(dyn Fn(u32) -> bool + Sync),
        id: &(dyn Fn(u32) -> Option<&'i str> + Sync),
    ) -> Result<Vec<Vec<NearPassage>>> {
        if self.is_empty() {
            return Ok(vec![Vec::new(); queries.len()]);
        }
        for query in queries {
            ensure!(
                query.len() == self.dimension,
                "a query has {} numbers and the vectors have {}",
                query.len(),
                self.dimension
            );
            ensure!(
                query.iter().all(|number| number.is_finite()),
                "a query has numbers that are not finite"
            );
        }
        // two sums of n products differ by at most n · ε · (the product of both vectors' lengths), and two scores are compared; a unit vector
        // rounded to 16-bit floats has a length of at most 1.001
        let margin = |query: &Vec<f32>| {
            let length = vector::dot(query, query).sqrt();
            2.01 * self.dimension as f32 * f32::EPSILON * length
        };
        let empty = || -> Vec<NearestSoFar> {
            let queries = queries.iter();
            queries.map(|q| NearestSoFar::new(k, margin(q))).collect()
        };
        let blocks = self.blocks();
        let share = blocks.len().div_ceil(rayon::current_num_threads()).max(1);
        let packed = pack(queries, self.dimension);
        let shares = blocks.par_chunks(share).map(|blocks| {
            let mut comparison = Comparison {
                queries,
                packed: &packed,
                vectors: Vec::new(),
                scores: Vec::new(),
                best: Vec::new(),
                found: empty(),
            };
            for block in blocks {
                self.compare(block, unit, is_included, &mut comparison);
            }
            comparison.found
        });
        let shares: Vec<Vec<NearestSoFar>> = shares.collect();
        let mut all = empty();
        for share in shares {
            for (all, found) in all.iter_mut().zip(share) {
                all.found.extend(found.found);
            }
        }
        let ranked = queries.par_iter().zip(all).map(|(query, mut candidates)| {
            candidates.prune();
            self.rank(query, &candidates.found, k, unit, id)
        });
        Ok(ranked.collect())
    }

    /// The positions of the documents, in blocks of at least [`BLOCK`] passages.
    fn blocks(&self) -> Vec<Range<usize>> {
        let mut blocks = Vec::new();
        let (mut start, mut first) = (0, 0);
        for (position, end) in self.ends.iter().enumerate() {
            if *end as usize - first >= BLOCK || position + 1 == self.ends.len() {
                blocks.push(start..position + 1);
                (start, first) = (position + 1, *end as usize);
            }
        }
        blocks
    }

    /// Compares the passages of a block with all queries.
    fn compare(
        &self,
        block: &Range<usize>,
        unit: SearchUnit,
        is_included: &(dyn Fn(u32) -> bool + Sync),
        comparison: &mut Comparison,
    ) {
        let first = self.passages(block.start).start;
        let end = block.end.saturating_sub(1);
        let passages = first..self.passages(end).end;
        let from = passages.start * self.dimension..passages.end * self.dimension;
        let Some(numbers) = self.numbers.get(from).filter(|n| !n.is_empty()) else {
            return;
        };
        let Comparison {
            queries,
            packed,
            vectors,
            scores,
            best,
            found,
        } = comparison;
        let columns = packed.columns();
        scores.resize(passages.len() * columns, 0.0);
        if queries.len() <= FEW_QUERIES {
            for (column, query) in queries.iter().enumerate() {
                if let Some(scores) = scores.get_mut(column..) {
                    inner_products(numbers, query, scores, columns);
                }
            }
        } else {
            vectors.resize(numbers.len(), 0.0);
            convert(numbers, vectors);
            let rows = [vectors.as_slice()];
            let windows = Windows::new(&rows, self.dimension, self.dimension, passages.len());
            Product::new(windows, packed, Activation::None).run(scores);
        }
        let row = |passage: usize| {
            let start = (passage - first) * columns;
            scores.get(start..start + queries.len()).unwrap_or_default()
        };
        for position in block.clone() {
            let document = self.documents.get(position);
            if !document.is_some_and(|document| is_included(*document)) {
                continue;
            }
            let mut passages = self.passages(position);
            if unit == SearchUnit::Passages {
                for passage in passages {
                    for (found, score) in found.iter_mut().zip(row(passage)) {
                        found.push(*score, position, passage);
                    }
                }
                continue;
            }
            let Some(only) = passages.next() else {
                continue;
            };
            best.clear();
            best.extend_from_slice(row(only));
            for passage in passages {
                for (best, score) in best.iter_mut().zip(row(passage)) {
                    *best = best.max(*score);
                }
            }
            for (found, score) in found.iter_mut().zip(best.iter()) {
                found.push(*score, position, only);
            }
        }
    }

    /// The k best candidates by their cosines, which are summed in a fixed order.
    fn rank<'i>(
        &self,
        query: &[f32],
        candidates: &[Candidate],
        k: usize,
        unit: SearchUnit,
        id: &(dyn Fn(u32) -> Option<&'i str> + Sync),
    ) -> Vec<NearPassage> {
        let mut vector = vec![0.0; self.dimension];
        let mut near: Vec<NearPassage> = candidates
            .iter()
            .filter_map(|candidate| {
                let position = candidate.position as usize;
                let all = self.passages(position);
                let first = all.start;
                let passages = match unit {
                    SearchUnit::Documents => all,
                    SearchUnit::Passages => {
                        candidate.passage as usize..candidate.passage as usize + 1
                    }
                };
                let cosines = passages.map(|passage| {
                    self.read(passage, &mut vector);
                    (passage, vector::dot(query, &vector))
                });
                // among equally near passages, the first
                let nearest = cosines.reduce(|a, b| if b.1 > a.1 { b } else { a });
                let document = self.documents.get(position).copied();
                nearest
                    .zip(document)
                    .map(|((passage, cosine), document)| NearPassage {
                        document,
                        passage: (passage - first) as u32,
                        cosine,
                    })
            })
            .collect();
        near.sort_by(|a, b| {
            let ids = || id(a.document).cmp(&id(b.document));
            let passages = || a.passage.cmp(&b.passage);
            let by_cosine = b.cosine.total_cmp(&a.cosine);
            by_cosine.then_with(ids).then_with(passages)
        });
        near.truncate(k);
        near
    }
}
