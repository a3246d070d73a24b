//! Loops over 16-bit floats that are compiled for each set of vector instructions. They are faster than the crate `half`, which calls a function
//! for every eight numbers of a slice.

use half::f16;
use rten_simd::{Isa, SimdOp};

/// 2¹¹²: 112 is the difference between the exponent biases of 32-bit and 16-bit floats.
const REBIAS: f32 = f32::from_bits((127 + 112) << 23);

/// Number of sums that are added up side by side.
const LANES: usize = 32;

/// The value of a finite number.
#[inline(always)]
fn widened(number: f16) -> f32 {
    let bits = u32::from(number.to_bits());
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * REBIAS;
    f32::from_bits(magnitude.to_bits() | (bits & 0x8000) << 16)
}

/// Converts finite numbers. Numbers beyond the end of the shorter slice do not change.
pub(super) fn convert(numbers: &[f16], to: &mut [f32]) {
    Conversion { numbers, to }.dispatch();
}

struct Conversion<'a> {
    numbers: &'a [f16],
    to: &'a mut [f32],
}

impl SimdOp for Conversion<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        for (number, to) in self.numbers.iter().zip(self.to) {
            *to = widened(*number);
        }
    }
}

/// Computes the inner products of a query with rows of finite numbers, each as long as the query. They are written to every `step`th number of
/// `products`. The last bits of the sums depend on the machine.
pub(super) fn inner_products(rows: &[f16], query: &[f32], products: &mut [f32], step: usize) {
    InnerProducts {
        rows,
        query,
        products,
        step,
    }
    .dispatch();
}

struct InnerProducts<'a> {
    rows: &'a [f16],
    query: &'a [f32],
    products: &'a mut [f32],
    step: usize,
}

impl SimdOp for InnerProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        let (query, query_rest) = self.query.as_chunks::<LANES>();
        let rows = self.rows.chunks_exact(self.query.len().max(1));
        let products = self.products.iter_mut().step_by(self.step.max(1));
        for (row, product) in rows.zip(products) {
            let (row, rest) = row.as_chunks::<LANES>();
            let mut lanes = [0f32; LANES];
            for (numbers, of_query) in row.iter().zip(query) {
                for lane in 0..LANES {
                    lanes[lane] += widened(numbers[lane]) * of_query[lane];
                }
            }
            let rest = rest.iter().zip(query_rest);
            *product = lanes.iter().sum::<f32>() + rest.map(|(x, q)| widened(*x) * q).sum::<f32>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_number_of_16_bits_is_converted() {
        let all = (0..=u16::MAX).map(f16::from_bits);
        let finite: Vec<f16> = all.filter(|number| number.is_finite()).collect();
        let mut converted = vec![0.0; finite.len()];
        convert(&finite, &mut converted);
        for (number, converted) in finite.iter().zip(converted) {
            assert_eq!(converted.to_bits(), number.to_f32().to_bits(), "{number}");
        }
    }

    #[test]
    fn inner_products_count_every_number_once() {
        for length in [1usize, 31, 32, 33, 70] {
            let rows: Vec<f16> = (0..3 * length).map(|i| f16::from_f32(i as f32)).collect();
            let mut products = [-1.0; 6];
            inner_products(&rows, &vec![1.0; length], &mut products, 2);
            let sum = |row: usize| (row * length..(row + 1) * length).sum::<usize>() as f32;
            assert_eq!(products, [sum(0), -1.0, sum(1), -1.0, sum(2), -1.0]);
        }
    }
}
