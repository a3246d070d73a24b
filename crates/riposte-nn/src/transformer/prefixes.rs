//! Computes the shared beginnings of texts only once, for an encoder in which no token sees a later one (CLIP's text tower).
//!
//! The row of a token depends only on this token and those before it. So texts that begin with the same tokens share the rows of these tokens, and
//! each row is computed once. The prompts of a topic are a few templates filled with the same words, so they share many tokens. The packed backend
//! computes each row by itself, so a text's vector is the same to the last bit with and without sharing.

use rayon::prelude::*;

use super::in_order;
use super::packed::{BATCH_TOKENS, Sequence};
use crate::error::{Result, ensure};

/// Turns texts into sequences that share rows. Texts that begin with the same tokens must be neighbours.
fn sequences(texts: &[&[u32]]) -> Vec<Sequence> {
    let mut sequences = Vec::new();
    // the numbers of all rows of the previous text
    let mut path: Vec<usize> = Vec::new();
    let (mut rows, mut former): (usize, &[u32]) = (0, &[]);
    for ids in texts {
        let shared = common_beginning(former, ids);
        let own = ids.len() - shared;
        path.truncate(shared);
        sequences.push(Sequence {
            shared: path.clone(),
            own,
        });
        path.extend(rows..rows + own);
        rows += own;
        former = ids;
    }
    sequences
}

/// The number of tokens at the beginning that two texts have in common.
fn common_beginning(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Calls `compute` with batches of texts on all threads, and returns its results, one for each text, in the order of `texts`.
pub(super) fn in_batches<T: Send>(
    texts: &[&[u32]],
    compute: impl Fn(&[&[u32]], &[Sequence]) -> Result<Vec<T>> + Sync,
) -> Result<Vec<T>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&n| texts[n]);
    let sorted: Vec<&[u32]> = order.iter().map(|&n| texts[n]).collect();
    // few texts are divided evenly among the threads
    let rows: usize = sequences(&sorted).iter().map(|sequence| sequence.own).sum();
    let share = rows.div_ceil(rayon::current_num_threads());
    let parts = parts(&sorted, share.clamp(1, BATCH_TOKENS));
    let results = parts
        .par_iter()
        .map(|texts| {
            let results = compute(texts, &sequences(texts))?;
            ensure!(results.len() == texts.len(), Input, "a result is missing");
            Ok(results)
        })
        .collect::<Result<Vec<Vec<T>>>>()?;
    in_order(order, results)
}

/// Cuts sorted texts into parts of about `rows` rows. The last text of a part may exceed it.
fn parts<'t, 'i>(texts: &'t [&'i [u32]], rows: usize) -> Vec<&'t [&'i [u32]]> {
    let mut parts = Vec::new();
    let mut rest = texts;
    while !rest.is_empty() {
        let mut own = 0;
        let mut former: &[u32] = &[];
        let count = rest
            .iter()
            .take_while(|ids| {
                let has_room = own < rows;
                own += ids.len() - common_beginning(former, ids);
                former = ids;
                has_room
            })
            .count();
        let (part, others) = rest.split_at(count.max(1));
        parts.push(part);
        rest = others;
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::{
        Activation, Attention, EncoderConfig, Layer, LayerNames, NormOrder, TensorSource,
        WantedRows, packed,
    };
    use super::*;
    use crate::checkpoint::EmbeddingTable;

    const HIDDEN: usize = 128;

    const NAMES: LayerNames = LayerNames {
        layers: "layers",
        query: "query",
        key: "key",
        value: "value",
        output: "output",
        attention_norm: "norm1",
        up: "up",
        down: "down",
        mlp_norm: "norm2",
    };

    /// Numbers in [-scale, scale), the same for the same seed.
    fn numbers(seed: u64, count: usize, scale: f32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        (0..count)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                ((state >> 40) as f32 / (1 << 23) as f32 - 1.0) * scale
            })
            .collect()
    }

    struct Weights;

    impl TensorSource for Weights {
        fn tensor(&self, name: &str) -> Result<Vec<f32>> {
            let seed = name.bytes().fold(7, |hash: u64, byte| {
                hash.wrapping_mul(31).wrapping_add(u64::from(byte))
            });
            let is_inner = name.contains("up") || name.contains("down");
            let width = if is_inner { 4 * HIDDEN } else { HIDDEN };
            Ok(if !name.ends_with("weight") {
                let out = if name.contains("up") { width } else { HIDDEN };
                numbers(seed, out, 0.5)
            } else if name.contains("norm") {
                numbers(seed, HIDDEN, 1.0)
            } else {
                numbers(seed, HIDDEN * width, 0.2)
            })
        }

        fn table(&self, name: &str) -> Result<EmbeddingTable> {
            Ok(EmbeddingTable::of(&self.tensor(name)?, HIDDEN))
        }
    }

    fn embed(ids: &[u32], from: usize, x: &mut Vec<f32>) {
        for (position, id) in ids.iter().enumerate().skip(from) {
            let seed = 1000 * u64::from(*id) + position as u64;
            x.extend(numbers(seed, HIDDEN, 1.0));
        }
    }

    #[test]
    fn texts_that_begin_alike_have_the_rows_that_each_has_alone() {
        let config = EncoderConfig {
            hidden: HIDDEN,
            heads: 2,
            intermediate: 4 * HIDDEN,
            layers: 3,
            epsilon: 1e-5,
            activation: Activation::QuickGelu,
            norms: NormOrder::Before,
        };
        let long: Vec<u32> = (0..77).collect();
        let mut longer = long.clone();
        longer[76] = 99;
        let texts: [&[u32]; 10] = [
            &[0, 1, 2, 3, 9],
            &[0, 5, 6, 9],
            &[0, 1, 2, 3, 4, 7, 9],
            &long,
            &[0, 1, 2, 9],
            &[0, 9],
            &[0, 1, 2, 3, 9],
            &longer,
            // the last of the sorted texts, twice: the second has no row of its own after the last one
            &[8],
            &[8],
        ];
        let layers =
            (0..config.layers).map(|n| Layer::read(&NAMES, n, |name| Weights.tensor(name)));
        let encoder = packed::PackedEncoder::new(&config, layers, None).unwrap();
        let expected: Vec<Vec<f32>> = texts
            .iter()
            .map(|ids| {
                let mut x = Vec::new();
                embed(ids, 0, &mut x);
                let rows = WantedRows::OneEach(&[ids.len() - 1]);
                let alone = Sequence::of(&[ids.len()]);
                encoder.forward(x, &alone, rows, Attention::Causal).unwrap()
            })
            .collect();
        let longest = AtomicUsize::new(0);
        let compute = |texts: &[&[u32]], sequences: &[Sequence]| {
            let mut x = Vec::new();
            for (ids, sequence) in texts.iter().zip(sequences) {
                embed(ids, sequence.shared.len(), &mut x);
                longest.fetch_max(sequence.shared.len(), Ordering::Relaxed);
            }
            let ends: Vec<usize> = texts.iter().map(|ids| ids.len() - 1).collect();
            let wanted = WantedRows::OneEach(&ends);
            let rows = encoder.forward(x, sequences, wanted, Attention::Causal)?;
            Ok(rows.chunks(HIDDEN).map(<[f32]>::to_vec).collect())
        };
        let bits = |rows: &[Vec<f32>]| -> Vec<Vec<u32>> {
            rows.iter()
                .map(|row| row.iter().map(|x| x.to_bits()).collect())
                .collect()
        };
        assert!(expected.iter().flatten().all(|x| x.is_finite()));
        for threads in [4, 1] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let found = pool
                .build()
                .unwrap()
                .install(|| in_batches(&texts, compute))
                .unwrap();
            assert_eq!(bits(&found), bits(&expected), "{threads} threads");
        }
        // on one thread all texts are one batch, and the long ones differ in their last token
        assert_eq!(longest.into_inner(), 76);
    }

    #[test]
    fn batches_have_the_rows_of_a_common_beginning_once() {
        let texts: [&[u32]; 4] = [&[0, 1, 2], &[0, 1, 2, 3], &[0, 1, 4], &[5]];
        let found = sequences(&texts);
        let shared: Vec<&[usize]> = found.iter().map(|s| s.shared.as_slice()).collect();
        let expected: [&[usize]; 4] = [&[], &[0, 1, 2], &[0, 1], &[]];
        assert_eq!(shared, expected);
        let own: Vec<usize> = found.iter().map(|s| s.own).collect();
        assert_eq!(own, [3, 1, 1, 1]);
        let counts = |rows| -> Vec<usize> { parts(&texts, rows).iter().map(|p| p.len()).collect() };
        assert_eq!(counts(1), [1, 1, 1, 1]);
        assert_eq!(counts(4), [2, 2]);
        assert_eq!(counts(100), [4]);
    }
}
