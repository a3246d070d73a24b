//! Attention that depends on distance: a number for each head and each distance between two tokens is added to their score. Raffel et al. 2020
//! (<https://arxiv.org/abs/1910.10683>) introduced it with T5; MPNet has the same numbers in all layers.

use crate::error::{Error, Result, ensure};

/// The number of buckets of MPNet: each is a range of distances in one direction.
pub(super) const BUCKETS: usize = 32;
/// Buckets of one direction.
const HALF: usize = BUCKETS / 2;
/// The first buckets of a direction are for one distance each.
const EXACT: usize = HALF / 2;
/// From this distance on, all tokens of one direction have the same number.
const FARTHEST: f32 = 128.0;

/// The numbers that are added to the scores of attention.
#[derive(Clone, Debug)]
pub struct RelativeBias {
    heads: usize,
    longest: usize,
    /// (heads, 2 · longest - 1): by the position of the key minus that of the query, from 1 - longest to longest - 1.
    numbers: Vec<f32>,
}

impl RelativeBias {
    /// Makes the numbers for sequences of up to `longest` tokens from an embedding (32 buckets, heads).
    ///
    /// # Errors
    /// The embedding has another size.
    pub fn new(embedding: &[f32], heads: usize, longest: usize) -> Result<Self> {
        ensure!(
            longest > 0 && heads.checked_mul(BUCKETS) == Some(embedding.len()),
            Model,
            "the embedding of distances has {} numbers: expected {BUCKETS} for each of {heads} heads",
            embedding.len()
        );
        let far = longest as i64 - 1;
        let numbers = (0..heads).flat_map(|head| {
            let number = move |distance| embedding[bucket(distance) * heads + head];
            (-far..=far).map(number)
        });
        Ok(RelativeBias {
            heads,
            longest,
            numbers: numbers.collect(),
        })
    }

    /// The number of heads.
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// The numbers of `count` queries, the first of them at position `first`, with the keys of a sequence of this length. The row of query r begins at
    /// `count - 1 - r`: each row is that of the query before it, moved by one.
    ///
    /// # Errors
    /// The sequence is longer than the longest one, or has no such positions or no such head.
    pub fn rows(&self, head: usize, first: usize, count: usize, length: usize) -> Result<&[f32]> {
        let rows = || {
            let last = first.checked_add(count)?.checked_sub(1)?;
            if head >= self.heads || length > self.longest || last >= length {
                return None;
            }
            let middle = head * (2 * self.longest - 1) + self.longest - 1;
            self.numbers.get(middle - last..middle - first + length)
        };
        rows().ok_or_else(|| {
            Error::Input(format!(
                "a sequence of {length} tokens: the model reads {} at most",
                self.longest
            ))
        })
    }
}

/// The bucket of a distance: key minus query. Half of the buckets are for keys after the query. The width of the ranges grows with the logarithm of
/// the distance.
fn bucket(distance: i64) -> usize {
    let direction = if distance > 0 { HALF } else { 0 };
    let distance = distance.unsigned_abs() as usize;
    if distance < EXACT {
        return direction + distance;
    }
    // in single precision, as in PyTorch, which decides to which bucket a limit belongs; rounded once, so that it does not depend on the C library
    let log = |x: f32| f64::from(x).ln() as f32;
    let share = log(distance as f32 / EXACT as f32) / log(FARTHEST / EXACT as f32);
    let larger = EXACT + (share * (HALF - EXACT) as f32) as usize;
    direction + larger.min(HALF - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first distance of each bucket, from `MPNetEncoder.relative_position_bucket` of transformers 5.
    #[test]
    fn distances_are_in_the_buckets_of_transformers() {
        let firsts = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91];
        for distance in 0..600i64 {
            let expected = firsts.iter().rposition(|first| *first <= distance).unwrap();
            assert_eq!(bucket(-distance), expected, "{distance} before");
            let after = if distance == 0 { 0 } else { HALF };
            assert_eq!(bucket(distance), after + expected, "{distance} after");
        }
    }

    #[test]
    fn rows_are_the_numbers_of_distances() {
        let embedding: Vec<f32> = (0..BUCKETS * 2).map(|n| n as f32).collect();
        let bias = RelativeBias::new(&embedding, 2, 9).unwrap();
        for (first, count, length) in [(0, 9, 9), (0, 3, 3), (4, 1, 7), (2, 5, 8)] {
            for head in 0..2 {
                let rows = bias.rows(head, first, count, length).unwrap();
                for r in 0..count {
                    for key in 0..length {
                        let distance = key as i64 - (first + r) as i64;
                        let expected = embedding[bucket(distance) * 2 + head];
                        assert_eq!(rows[count - 1 - r + key], expected);
                    }
                }
            }
        }
        for (head, first, count, length) in
            [(2, 0, 1, 1), (0, 0, 10, 10), (0, 3, 1, 3), (0, 0, 0, 1)]
        {
            assert!(bias.rows(head, first, count, length).is_err());
        }
        assert!(RelativeBias::new(&embedding, 3, 9).is_err());
    }
}
