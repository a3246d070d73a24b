//! Vectors of unit length: similarity and mean.

use rten_simd::{Isa, SimdOp};

/// Number of sums that are added up side by side.
const LANES: usize = 8;

/// Number of rows that are multiplied together, so that an addition need not wait for the one before it.
const ROWS: usize = 8;

/// The inner product of two vectors of the same length. For unit vectors it is the cosine, in [-1, 1].
///
/// The sum has eight fixed lanes, so that the compiler can use vector instructions and the result has the same bits on every machine.
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a8, a_rest) = a.as_chunks::<LANES>();
    let (b8, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0f32; LANES];
    for (x, y) in a8.iter().zip(b8) {
        for lane in 0..LANES {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    sum(lanes, a_rest, b_rest)
}

/// The sum of the lanes, and of the products of the numbers behind them.
#[inline(always)]
fn sum(lanes: [f32; LANES], a_rest: &[f32], b_rest: &[f32]) -> f32 {
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h)) + rest
}

/// The inner products of a vector with rows of its length, which lie one after another. Each has the bits of [`dot`].
pub(crate) fn dots(rows: &[f32], vector: &[f32], products: &mut Vec<f32>) {
    products.clear();
    if !vector.is_empty() {
        Dots {
            rows,
            vector,
            products,
        }
        .dispatch();
    }
}

struct Dots<'a> {
    rows: &'a [f32],
    vector: &'a [f32],
    products: &'a mut Vec<f32>,
}

impl SimdOp for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        let (vector, vector_rest) = self.vector.as_chunks::<LANES>();
        let width = self.vector.len();
        let mut blocks = self.rows.chunks_exact(ROWS * width);
        for block in &mut blocks {
            let mut lanes = [[0f32; LANES]; ROWS];
            let row = |at: usize| block[at * width..(at + 1) * width].as_chunks::<LANES>();
            let rows: [_; ROWS] = std::array::from_fn(|at| &row(at).0[..vector.len()]);
            for (at, y) in vector.iter().enumerate() {
                for (lanes, row) in lanes.iter_mut().zip(&rows) {
                    let x = row[at];
                    for lane in 0..LANES {
                        lanes[lane] += x[lane] * y[lane];
                    }
                }
            }
            let sums = lanes.into_iter().enumerate();
            let sums = sums.map(|(at, lanes)| sum(lanes, row(at).1, vector_rest));
            self.products.extend(sums);
        }
        let last = blocks.remainder().chunks_exact(width);
        self.products.extend(last.map(|row| dot(row, self.vector)));
    }
}

/// The normalised mean of unit vectors, such as those of the prompts of a group.
///
/// The result is empty if there are no vectors. If their lengths differ, numbers beyond the shortest are ignored.
pub(crate) fn mean_direction(vectors: &[Vec<f32>]) -> Vec<f32> {
    let shortest = vectors.iter().map(Vec::len).min().unwrap_or(0);
    let mut sum = vec![0.0; shortest];
    for vector in vectors {
        sum.iter_mut()
            .zip(vector)
            .for_each(|(sum, value)| *sum += value);
    }
    let length = dot(&sum, &sum).sqrt();
    if length > 0.0 {
        sum.iter_mut().for_each(|value| *value /= length);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{dot, dots, mean_direction};

    #[test]
    fn products_with_many_rows_have_the_bits_of_single_ones() {
        for (count, width) in [(0, 384), (1, 8), (8, 384), (19, 386), (16, 7), (3, 1)] {
            let number = |n: usize| (n as f32 * 0.7).sin() / (1.0 + n as f32 % 13.0);
            let rows: Vec<f32> = (0..count * width).map(number).collect();
            let vector: Vec<f32> = (0..width).map(|n| number(3 * n + 1)).collect();
            let mut products = vec![1.0; 5];
            dots(&rows, &vector, &mut products);
            let single = rows.chunks(width).map(|row| dot(row, &vector).to_bits());
            let products = products.into_iter().map(f32::to_bits);
            assert_eq!(products.collect::<Vec<_>>(), single.collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_mean_direction_is_between_the_vectors() {
        let mean = mean_direction(&[vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0]]);
        let half = 0.5_f32.sqrt();
        for (value, expected) in mean.iter().zip([half, half, 0.0]) {
            assert!((value - expected).abs() < 1e-6, "{mean:?}");
        }
        assert_eq!(mean.len(), 3);
        assert!(mean_direction(&[]).is_empty());
    }

    #[test]
    fn every_number_counts_once() {
        for n in [0usize, 1, 7, 8, 9, 384] {
            let ones = vec![1f32; n];
            let steps: Vec<f32> = (0..n).map(|i| i as f32).collect();
            assert_eq!(dot(&ones, &steps), (n * n.saturating_sub(1) / 2) as f32);
        }
    }
}
