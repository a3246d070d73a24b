//! The attention of a head, computed with 16-bit integers.
//!
//! A machine multiplies 16-bit integers twice as fast as floats. Eight bits would be too few for the weights of attention: in many texts, one weight
//! is many times as large as the others together.

use std::ops::Range;

use rten_simd::ops::{BitOps, FloatOps, IntOps, NarrowSaturate, NumOps, ToFloat};
use rten_simd::{Isa, Simd, SimdOp, SimdUnaryOp};

use super::super::coarse::Exp;
use super::{AttentionHead, Operands, PADDING};
use crate::conv::BufferPool;
use crate::conv::quantised::{PairBuffers, PairProduct};

/// Weights are at most 1, and those of a row add up to 1, so that their products with values of 16 bits fit into 32.
const ONE: f32 = 32767.0;

/// The operands of a head's products in 16 bits.
pub(super) struct Int16Operands {
    /// The matrices are the keys, (pairs of a key's numbers, keys), and the values, (pairs of values, numbers of a value).
    buffers: PairBuffers,
    /// The greatest absolute value of a query's or key's numbers, so that their products fit into 32 bits.
    most: f32,
    /// The quantisation steps of the keys and of the values.
    steps: [f32; 2],
    /// The numbers of keys and values, padded.
    columns: [usize; 2],
}

impl Int16Operands {
    pub fn are_available() -> bool {
        PairProduct::is_available()
    }

    pub fn of(head: &AttentionHead, pool: &mut BufferPool) -> Int16Operands {
        let most = ((i32::MAX as f32) / head.width as f32).sqrt().floor() - 1.0;
        let mut operands = Int16Operands {
            buffers: std::mem::take(&mut pool.pairs),
            most: most.min(ONE),
            steps: [0.0; 2],
            columns: [head.keys(), head.values()],
        };
        Pack {
            head,
            operands: &mut operands,
        }
        .dispatch();
        operands
    }
}

impl Operands for Int16Operands {
    const ROWS: usize = 12;

    fn attend(&mut self, head: &AttentionHead, rows: Range<usize>, out: &mut [f32]) {
        let [keys, values] = self.columns;
        let count = rows.len();
        let PairBuffers {
            rows: left,
            matrices,
            sums,
            scores,
        } = &mut self.buffers;
        let mut steps = [0.0; Self::ROWS];
        Queries {
            head,
            rows: rows.clone(),
            most: self.most,
            to: room(left, count * values),
            steps: &mut steps,
        }
        .dispatch();
        PairProduct {
            rows: left,
            step: values,
            count,
            pairs: head.width.div_ceil(2),
            matrix: &matrices[0],
            columns: keys,
        }
        .run(room(sums, count * keys));
        AttentionWeights {
            head,
            rows,
            steps: steps.map(|step| step * self.steps[0]),
            sums,
            scores: room(scores, keys),
            to: room(left, count * keys),
        }
        .dispatch();
        PairProduct {
            rows: left,
            step: keys,
            count,
            pairs: head.length.div_ceil(2),
            matrix: &matrices[1],
            columns: values,
        }
        .run(room(sums, count * values));
        ToFloats {
            sums: &sums[..count * values],
            by: self.steps[1] / ONE,
            out: &mut out[..count * values],
        }
        .dispatch();
    }

    fn give_back(self, pool: &mut BufferPool) {
        pool.pairs = self.buffers;
    }
}

/// The first numbers of a buffer, which grows if it has fewer.
fn room<T: Clone + Default>(buffer: &mut Vec<T>, length: usize) -> &mut [T] {
    if buffer.len() < length {
        buffer.resize(length, T::default());
    }
    &mut buffer[..length]
}

/// Fills the keys and the values of a head's operands, and their steps.
struct Pack<'a> {
    head: &'a AttentionHead<'a>,
    operands: &'a mut Int16Operands,
}

impl SimdOp for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let Pack { head, operands } = self;
        let [keys, values] = operands.columns;
        let (width, length) = (head.width, head.length);
        let (ops, ints) = (isa.f32(), isa.i32());
        operands.steps = [
            step(greatest_of_rows(isa, head, head.key), operands.most),
            step(greatest_of_rows(isa, head, head.value), ONE),
        ];
        let [per_step, per_step_of_values] = operands.steps.map(f32::recip);
        let (per_step, per_step_of_values) = (ops.splat(per_step), ops.splat(per_step_of_values));

        let pairs = width.div_ceil(2);
        let to = room(&mut operands.buffers.matrices[0], pairs * keys);
        let mut row = [0i16; PADDING];
        for first in (0..width).step_by(PADDING) {
            let part = first..width.min(first + PADDING);
            for (n, key) in head.key.chunks(head.key_step).take(length).enumerate() {
                whole_numbers(isa, &key[part.clone()], per_step, &mut row);
                let to = to[first / 2 * keys + n..].iter_mut().step_by(keys);
                for (to, [low, high]) in to.zip(row.as_chunks().0) {
                    *to = i32::from(*low) & 0xffff | i32::from(*high) << 16;
                }
            }
        }
        for row in to.chunks_exact_mut(keys) {
            row[length..].fill(0);
        }

        let to = room(
            &mut operands.buffers.matrices[1],
            length.div_ceil(2) * values,
        );
        let low_half = ints.splat(0xffff);
        for (pair, to) in to.chunks_exact_mut(values).enumerate() {
            let first = value(head, 2 * pair);
            let second = value(head, 2 * pair + 1);
            for (n, to) in to.chunks_exact_mut(ops.len()).enumerate() {
                let low = whole_vector(isa, first, n, per_step_of_values);
                let high = whole_vector(isa, second, n, per_step_of_values);
                let low = ints.and(low, low_half);
                ints.store(ints.or(low, ints.shift_left::<16>(high)), to);
            }
        }
    }
}

/// The numbers of value `n`; none if there is no such value.
#[inline(always)]
fn value<'a>(head: &AttentionHead<'a>, n: usize) -> &'a [f32] {
    if n >= head.length {
        return &[];
    }
    let from = n * head.key_step;
    &head.value[from..from + head.width]
}

/// The step that maps numbers up to `greatest` to integers up to `most`.
#[inline(always)]
fn step(greatest: f32, most: f32) -> f32 {
    (greatest / most).max(f32::MIN_POSITIVE)
}

/// The greatest absolute value in the rows of the keys or the values.
#[inline(always)]
fn greatest_of_rows<I: Isa>(isa: I, head: &AttentionHead, from: &[f32]) -> f32 {
    let mut most = isa.f32().zero();
    for row in from.chunks(head.key_step).take(head.length) {
        most = widened(isa, &row[..head.width], most);
    }
    greatest_lane::<I>(most)
}

/// Quantises some rows of the query, with a step for each row.
struct Queries<'a> {
    head: &'a AttentionHead<'a>,
    rows: Range<usize>,
    most: f32,
    /// (rows, values); the padding becomes zero.
    to: &'a mut [i16],
    steps: &'a mut [f32],
}

impl SimdOp for Queries<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ops = isa.f32();
        let rows = self.rows.zip(self.to.chunks_exact_mut(self.head.values()));
        for ((row, to), by) in rows.zip(self.steps) {
            let from = row * self.head.query_step;
            let numbers = &self.head.query[from..from + self.head.width];
            let greatest = greatest_lane::<I>(widened(isa, numbers, ops.zero()));
            *by = step(greatest, self.most);
            let per_step = ops.splat(by.recip());
            for (n, to) in to.chunks_exact_mut(PADDING).enumerate() {
                let part = &numbers[(n * PADDING).min(numbers.len())..];
                whole_numbers(isa, part, per_step, to);
            }
        }
    }
}

/// The softmax of each row of scores, as integers that add up to [`ONE`], but for rounding.
struct AttentionWeights<'a> {
    head: &'a AttentionHead<'a>,
    rows: Range<usize>,
    /// What the sums of each row are multiplied by.
    steps: [f32; Int16Operands::ROWS],
    /// (rows, keys)
    sums: &'a [i32],
    /// Room for a row.
    scores: &'a mut [f32],
    /// (rows, keys); the padding becomes zero.
    to: &'a mut [i16],
}

impl SimdOp for AttentionWeights<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let (ops, ints) = (isa.f32(), isa.i32());
        let (scores, length) = (self.scores, self.head.length);
        let keys = scores.len();
        let rows = self.rows.zip(self.steps).zip(self.sums.chunks_exact(keys));
        for (((row, step), sums), to) in rows.zip(self.to.chunks_exact_mut(keys)) {
            let step = ops.splat(step);
            let parts = sums.chunks_exact(ops.len());
            for (sums, to) in parts.zip(scores.chunks_exact_mut(ops.len())) {
                ops.store(ops.mul(ints.to_float(ints.load(sums)), step), to);
            }
            if let Some(bias) = self.head.bias_of(row) {
                for (score, x) in scores.iter_mut().zip(bias) {
                    *score += x;
                }
            }
            // keys that are only padding get a weight of zero
            scores[length..].fill(-1e30);
            let mut greatest = ops.splat(-1e30);
            for scores in scores.chunks_exact(ops.len()) {
                greatest = ops.max(greatest, ops.load(scores));
            }
            let mut most = -1e30f32;
            for x in greatest.to_array().as_ref() {
                most = most.max(*x);
            }
            let most = ops.splat(most);
            let mut sum = ops.zero();
            for scores in scores.chunks_exact_mut(ops.len()) {
                let power = Exp::apply(isa, ops.sub(ops.load(scores), most));
                sum = ops.add(sum, power);
                ops.store(power, scores);
            }
            whole_numbers(isa, scores, ops.splat(ONE / ops.sum(sum)), to);
        }
    }
}

/// Writes sums as floats, each multiplied by `by`. Their number is a multiple of [`PADDING`].
struct ToFloats<'a> {
    sums: &'a [i32],
    by: f32,
    out: &'a mut [f32],
}

impl SimdOp for ToFloats<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let (ops, ints) = (isa.f32(), isa.i32());
        let by = ops.splat(self.by);
        let parts = self.sums.chunks_exact(ops.len());
        for (part, out) in parts.zip(self.out.chunks_exact_mut(ops.len())) {
            ops.store(ops.mul(ints.to_float(ints.load(part)), by), out);
        }
    }
}

/// Vector `n` of the numbers, with zeros where there are none.
#[inline(always)]
fn load<I: Isa>(isa: I, numbers: &[f32], n: usize) -> I::F32 {
    let ops = isa.f32();
    let first = n * ops.len();
    if first + ops.len() <= numbers.len() {
        ops.load(&numbers[first..])
    } else if first < numbers.len() {
        ops.load_pad(&numbers[first..]).0
    } else {
        ops.zero()
    }
}

/// `most`, widened by the absolute values of the numbers in each lane.
#[inline(always)]
fn widened<I: Isa>(isa: I, numbers: &[f32], mut most: I::F32) -> I::F32 {
    let ops = isa.f32();
    for n in 0..numbers.len().div_ceil(ops.len()) {
        most = ops.max(most, ops.abs(load(isa, numbers, n)));
    }
    most
}

#[inline(always)]
fn greatest_lane<I: Isa>(x: I::F32) -> f32 {
    let lanes = x.to_array();
    let mut most = 0f32;
    for x in lanes.as_ref() {
        most = most.max(*x);
    }
    most
}

/// Vector `n` of the numbers, each multiplied by `by` and rounded to the nearest whole number.
#[inline(always)]
fn whole_vector<I: Isa>(isa: I, numbers: &[f32], n: usize, by: I::F32) -> I::I32 {
    let ops = isa.f32();
    ops.to_int_round(ops.mul(load(isa, numbers, n), by))
}

/// The numbers, each multiplied by `by` and rounded to the nearest whole number, and zeros up to the end of `to`.
#[inline(always)]
fn whole_numbers<I: Isa>(isa: I, numbers: &[f32], by: I::F32, to: &mut [i16]) {
    let (ints, operands) = (isa.i32(), isa.i16());
    for (n, to) in to.chunks_exact_mut(operands.len()).enumerate() {
        let low = whole_vector(isa, numbers, 2 * n, by);
        let high = whole_vector(isa, numbers, 2 * n + 1, by);
        operands.store(ints.narrow_saturate(low, high), to);
    }
}
