//! Attention of the packed backend: for each row of a query, the softmax of its products with the keys, and the sum of the values weighted by it.
//!
//! The heads are small (32 or 64 numbers), and most sequences are short, so packing operands for a general product would take longer than the
//! product. Here the keys of a head are transposed once, and several rows are computed at a time in registers.

mod int16;

use std::ops::Range;

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp};
use rten_vecmath::Softmax;

use crate::conv::{Buffer, BufferPool, Numeric};
use int16::Int16Operands;

/// Vectors that are computed at a time for each row.
const VECTORS: usize = 2;
/// Keys and the widths of heads are padded to a multiple of this: vectors of the widest instructions.
const PADDING: usize = 16 * VECTORS;

/// What computes the attention of a head: its keys and values, laid out for products.
trait Operands {
    /// Query rows that are computed at a time.
    const ROWS: usize;

    /// Writes the weighted sums of the values for some rows of the query: (rows, values).
    fn attend(&mut self, head: &AttentionHead, rows: Range<usize>, out: &mut [f32]);

    fn give_back(self, pool: &mut BufferPool);
}

/// One head of one sequence.
pub(super) struct AttentionHead<'a> {
    /// Row r begins at `r · query_step`.
    pub query: &'a [f32],
    pub query_step: usize,
    pub queries: usize,
    /// Row r begins at `r · key_step`.
    pub key: &'a [f32],
    /// The values. Row r begins at `r · key_step`.
    pub value: &'a [f32],
    pub key_step: usize,
    /// Rows of keys and of values.
    pub length: usize,
    /// Numbers of the head in each row.
    pub width: usize,
    /// How many of the keys row r of the query sees: `first_seen + r`, or all if None.
    pub first_seen: Option<usize>,
    /// Numbers that are added to the scores; those of row r begin at `queries - 1 - r`. Nothing is added if None.
    pub bias: Option<&'a [f32]>,
}

impl AttentionHead<'_> {
    /// Writes the weighted sums of the values: row r to `out[r · query_step ..]`, `width` numbers. In int8, products are computed in 16 bits, except where a
    /// row does not see all keys: the keys have a common scale, and the result of a row must not depend on what it does not see.
    pub fn attend(&self, numeric: Numeric, out: &mut [f32], pool: &mut BufferPool) {
        if numeric == Numeric::Int8 && self.first_seen.is_none() && Int16Operands::are_available() {
            let operands = Int16Operands::of(self, pool);
            self.attend_with(operands, out, pool);
        } else {
            let operands = FloatOperands::of(self, pool);
            self.attend_with(operands, out, pool);
        }
    }

    /// The number of keys, padded.
    fn keys(&self) -> usize {
        self.length.next_multiple_of(PADDING)
    }

    /// The number of a value's numbers, padded.
    fn values(&self) -> usize {
        self.width.next_multiple_of(PADDING)
    }

    fn attend_with<O: Operands>(&self, mut operands: O, out: &mut [f32], pool: &mut BufferPool) {
        let values = self.values();
        let mut mixed = pool.take(O::ROWS * values);
        for first in (0..self.queries).step_by(O::ROWS) {
            let rows = first..self.queries.min(first + O::ROWS);
            operands.attend(self, rows.clone(), &mut mixed);
            for (row, mixed) in rows.zip(mixed.chunks(values)) {
                let to = row * self.query_step;
                out[to..to + self.width].copy_from_slice(&mixed[..self.width]);
            }
        }
        operands.give_back(pool);
        pool.give_back(mixed);
    }

    /// The numbers that are added to the scores of this row.
    fn bias_of(&self, row: usize) -> Option<&[f32]> {
        let bias = self.bias?;
        Some(&bias[self.queries - 1 - row..][..self.length])
    }
}

/// Operands in floats.
struct FloatOperands {
    /// (width, keys)
    keys: Buffer,
    /// (length, values)
    values: Buffer,
    /// (ROWS, keys)
    scores: Buffer,
    columns: (usize, usize),
}

impl FloatOperands {
    fn of(head: &AttentionHead, pool: &mut BufferPool) -> FloatOperands {
        let columns = (head.keys(), head.values());
        let mut keys = pool.take(head.width * columns.0);
        for (d, row) in keys.chunks_mut(columns.0).enumerate() {
            let column = head.key.iter().skip(d).step_by(head.key_step);
            for (to, x) in row.iter_mut().zip(column.take(head.length)) {
                *to = *x;
            }
            row[head.length..].fill(0.0);
        }
        let mut values = pool.take(head.length * columns.1);
        let rows = head.value.chunks(head.key_step);
        for (to, row) in values.chunks_mut(columns.1).zip(rows) {
            to[..head.width].copy_from_slice(&row[..head.width]);
            to[head.width..].fill(0.0);
        }
        FloatOperands {
            keys,
            values,
            scores: pool.take(ROWS * columns.0),
            columns,
        }
    }
}

/// Rows that [`FloatOperands`] computes at a time.
const ROWS: usize = 4;

impl Operands for FloatOperands {
    const ROWS: usize = ROWS;

    fn attend(&mut self, head: &AttentionHead, rows: Range<usize>, out: &mut [f32]) {
        let (keys, values) = self.columns;
        let row = |r: usize| {
            // in the last block, the last row takes the place of missing rows, and their results are not used
            let from = (rows.start + r).min(rows.end - 1) * head.query_step;
            &head.query[from..from + head.width]
        };
        RowsByMatrix {
            rows: std::array::from_fn(row),
            matrix: &self.keys,
            stride: keys,
            out: &mut self.scores,
        }
        .dispatch();
        let mut most = 0;
        for (row, scores) in rows.zip(self.scores.chunks_mut(keys)) {
            let seen = head.first_seen.map_or(head.length, |seen| seen + row);
            let seen = seen.min(head.length);
            if let Some(bias) = head.bias_of(row) {
                let products = scores[..seen].iter_mut();
                products.zip(bias).for_each(|(product, x)| *product += x);
            }
            Softmax::new_mut(&mut scores[..seen]).dispatch();
            scores[seen..].fill(0.0);
            most = most.max(seen);
        }
        let weights = |r: usize| &self.scores[r * keys..r * keys + most];
        RowsByMatrix {
            rows: std::array::from_fn(weights),
            matrix: &self.values,
            stride: values,
            out,
        }
        .dispatch();
    }

    fn give_back(self, pool: &mut BufferPool) {
        for buffer in [self.keys, self.values, self.scores] {
            pool.give_back(buffer);
        }
    }
}

/// The product of [`ROWS`] rows with a matrix.
struct RowsByMatrix<'a> {
    /// All of the same length.
    rows: [&'a [f32]; ROWS],
    /// (length of the rows or more, stride)
    matrix: &'a [f32],
    /// A multiple of [`PADDING`].
    stride: usize,
    /// (ROWS, stride)
    out: &'a mut [f32],
}

impl SimdOp for RowsByMatrix<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ops = isa.f32();
        let length = self.rows[0].len();
        for column in (0..self.stride).step_by(ops.len() * VECTORS) {
            let mut sums = [[ops.zero(); VECTORS]; ROWS];
            let matrix = self.matrix.chunks_exact(self.stride).take(length);
            for (n, numbers) in matrix.enumerate() {
                let numbers = ops.load_many::<VECTORS>(&numbers[column..]);
                for (sums, row) in sums.iter_mut().zip(self.rows) {
                    let x = ops.splat(row[n]);
                    for (sum, number) in sums.iter_mut().zip(numbers) {
                        *sum = ops.mul_add(x, number, *sum);
                    }
                }
            }
            for (out, sums) in self.out.chunks_exact_mut(self.stride).zip(sums) {
                for (out, sum) in out[column..].chunks_exact_mut(ops.len()).zip(sums) {
                    ops.store(sum, out);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attention by its definition, in doubles.
    fn naive(head: &AttentionHead, out: &mut [f64]) {
        for r in 0..head.queries {
            let seen = head
                .first_seen
                .map_or(head.length, |seen| seen + r)
                .min(head.length);
            let scores: Vec<f64> = (0..seen)
                .map(|j| {
                    let product: f64 = (0..head.width)
                        .map(|d| {
                            f64::from(head.query[r * head.query_step + d])
                                * f64::from(head.key[j * head.key_step + d])
                        })
                        .sum();
                    let bias = head.bias.map(|bias| bias[head.queries - 1 - r + j]);
                    product + f64::from(bias.unwrap_or(0.0))
                })
                .collect();
            let total: f64 = scores.iter().map(|x| x.exp()).sum();
            for d in 0..head.width {
                out[r * head.query_step + d] = (0..seen)
                    .map(|j| scores[j].exp() / total * f64::from(head.value[j * head.key_step + d]))
                    .sum();
            }
        }
    }

    #[test]
    fn it_is_what_its_definition_says_for_all_lengths_and_widths() {
        let number = |n: usize| ((n * 7919 + 13) % 1009) as f32 / 505.0 - 1.0;
        let mut pool = BufferPool::default();
        for (length, queries, width, first_seen, has_bias) in [
            (1, 1, 32, None, false),
            (5, 5, 32, None, false),
            (33, 33, 8, None, false),
            (40, 40, 64, Some(1), false),
            (17, 1, 20, Some(9), false),
            (96, 7, 32, None, false),
            (35, 35, 20, None, true),
            (9, 1, 64, None, true),
            (21, 6, 32, Some(3), true),
        ] {
            let (query_step, key_step) = (width + 3, 2 * width + 5);
            let numbers = |count: usize, from: usize| -> Vec<f32> {
                (0..count).map(|n| number(n + from)).collect()
            };
            let (query, keys) = (
                numbers(queries * query_step, 3),
                numbers(length * key_step, 71),
            );
            let bias = numbers(length + queries - 1, 29);
            let head = AttentionHead {
                query: &query,
                query_step,
                queries,
                key: &keys,
                value: &keys[width..],
                key_step,
                length,
                width,
                first_seen,
                bias: has_bias.then_some(bias.as_slice()),
            };
            let mut out = vec![0.0; queries * query_step];
            let mut expected = vec![0.0; queries * query_step];
            naive(&head, &mut expected);
            for (numeric, most) in [(Numeric::Float, 1e-5), (Numeric::Int8, 1e-3)] {
                out.fill(0.0);
                head.attend(numeric, &mut out, &mut pool);
                for (n, (x, expected)) in out.iter().zip(&expected).enumerate() {
                    assert!(
                        (f64::from(*x) - expected).abs() < most,
                        "{length} {width} {n} {numeric:?}: {x}, not {expected}"
                    );
                }
            }
        }
    }
}
