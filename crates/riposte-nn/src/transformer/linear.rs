//! Linear layers of the packed backend.

use super::kept::{CachedTensors, PackedTensors};
use crate::conv::kernel::{CHANNEL_BLOCK, ConvActivation, PackedWeights, Product, SlidingWindows};
use crate::conv::quantised::{InitialSums, Int8Product, Int8Weights, Outliers};
use crate::conv::{Buffer, BufferPool, Numeric};
use crate::error::{Result, ensure};

/// Maximum number of inputs whose weights are packed together. A panel of that size fits, or nearly fits, into the first-level cache.
const INPUTS_AT_A_TIME: usize = 384;

/// A linear layer: x · Wᵀ + b.
pub struct LinearLayer {
    /// Inputs.
    width: usize,
    /// Outputs.
    out: usize,
    weights: LinearWeights,
}

enum LinearWeights {
    /// One matrix for each [`INPUTS_AT_A_TIME`] inputs. The first has the bias.
    Float(Vec<PackedWeights>),
    Int8(Box<Int8>),
}

/// A layer whose products are computed in int8: weights by output, inputs by row, sums in 32 bits.
///
/// A few inputs of a transformer are many times as large as all others. With one scale for each row, few of the 255 steps would be left for the
/// others. So before quantisation each input is multiplied by a factor, and its weights are divided by it, which brings the inputs' ranges nearer to
/// each other (Xiao et al. 2023, SmoothQuant, <https://arxiv.org/abs/2211.10438>), and the [`KEPT`] widest products stay in floats (Dettmers et al.
/// 2022, LLM.int8(), <https://arxiv.org/abs/2208.07339>). Which other inputs are large depends on the row, above all behind the activation of an MLP:
/// there, values are clipped, and their excess is multiplied separately, by the same bytes of the weights.
struct Int8 {
    weights: Int8Weights,
    /// The factor of each input; 0 for inputs that are kept in floats.
    factors: Vec<f32>,
    /// Values are clipped at this multiple of the row's RMS.
    limit: f32,
    /// The inputs that are kept in floats.
    kept: [usize; KEPT],
    /// The weights of these inputs, and the bias.
    kept_weights: PackedWeights,
}

/// Number of inputs of each layer that are multiplied in floats.
const KEPT: usize = 8;
/// Number of rows that one loop hands to the next at a time, so that they stay in the caches.
const ROWS_AT_A_TIME: usize = 96;

impl LinearLayer {
    /// Packs `weight` (out, in), row after row, in floats.
    ///
    /// # Errors
    /// The weights are not `out` whole rows, or the bias does not have `out` numbers.
    pub fn new(weight: &[f32], out: usize, bias: Option<&[f32]>) -> Result<Self> {
        let width = check(weight, out, bias)?;
        let columns = out.next_multiple_of(CHANNEL_BLOCK);
        let mut parts = Vec::new();
        for first in (0..width).step_by(INPUTS_AT_A_TIME) {
            let inputs: Vec<usize> = (first..width).take(INPUTS_AT_A_TIME).collect();
            let bias = if first == 0 { bias } else { None };
            let matrix = transposed(weight, width, &inputs, |_| 1.0);
            parts.push(PackedWeights::new(&matrix, padded(bias, columns)));
        }
        Ok(LinearLayer {
            width,
            out,
            weights: LinearWeights::Float(parts),
        })
    }

    /// As [`LinearLayer::new`], in int8. `ranges` has the greatest expected absolute value of each input. Values are clipped at `limit` times the RMS
    /// of their row; their excess is multiplied separately, which takes time for each. None if the machine has no instructions for int8, or the layer
    /// is too small.
    ///
    /// # Errors
    /// As [`LinearLayer::new`], or the number of ranges is not that of the inputs.
    pub fn in_int8(
        weight: &[f32],
        out: usize,
        bias: Option<&[f32]>,
        ranges: &[f32],
        limit: f32,
    ) -> Result<Option<Self>> {
        let width = check(weight, out, bias)?;
        ensure!(
            ranges.len() == width,
            Input,
            "there are {} ranges for {width} inputs",
            ranges.len()
        );
        if !out.is_multiple_of(CHANNEL_BLOCK) || width <= 4 * KEPT {
            return Ok(None);
        }
        let mut greatest = vec![0f32; width];
        for row in weight.chunks(width) {
            for (greatest, x) in greatest.iter_mut().zip(row) {
                *greatest = greatest.max(x.abs());
            }
        }
        let product = |input: &usize| ranges[*input] * greatest[*input];
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|a, b| product(b).total_cmp(&product(a)));
        let kept: [usize; KEPT] = std::array::from_fn(|n| order[n]);
        let factors: Vec<f32> = (0..width)
            .map(|input| {
                if kept.contains(&input) {
                    return 0.0;
                }
                // an input that was always zero, or has only zero weights, has no range to balance the fourth root leaves more of the difference to
                // the inputs, the largest of which are clipped
                let factor = (greatest[input] / ranges[input]).sqrt().sqrt();
                if factor.is_normal() { factor } else { 1.0 }
            })
            .collect();
        let inputs: Vec<usize> = (0..width).collect();
        let matrix = transposed(weight, width, &inputs, |input| {
            let factor = factors[input];
            if factor > 0.0 { factor.recip() } else { 0.0 }
        });
        let Some(weights) = Int8Weights::new(&matrix, vec![0.0; out]) else {
            return Ok(None);
        };
        let kept_weights = transposed(weight, width, &kept, |_| 1.0);
        Ok(Some(LinearLayer {
            width,
            out,
            weights: LinearWeights::Int8(Box::new(Int8 {
                weights,
                factors,
                limit,
                kept,
                kept_weights: PackedWeights::new(&kept_weights, padded(bias, out)),
            })),
        }))
    }

    /// Adds the layer to what is kept, under this name. False if it is computed in floats.
    pub(super) fn keep(&self, name: &str, parts: &mut PackedTensors) -> bool {
        let LinearWeights::Int8(int8) = &self.weights else {
            return false;
        };
        let (bytes, scale, sum) = int8.weights.packed();
        parts.add_bytes(format!("{name}.bytes"), bytes);
        parts.add_floats(format!("{name}.scale"), scale);
        parts.add_floats(format!("{name}.sum"), sum);
        parts.add_floats(format!("{name}.factors"), &int8.factors);
        parts.add_floats(format!("{name}.limit"), &[int8.limit]);
        parts.add_counts(format!("{name}.kept"), &int8.kept);
        parts.add_floats(format!("{name}.kept_weights"), &int8.kept_weights.matrix());
        parts.add_floats(format!("{name}.bias"), int8.kept_weights.bias());
        true
    }

    /// The layer that was kept under this name.
    ///
    /// # Errors
    /// It was not kept, or has other sizes.
    pub(super) fn kept(
        name: &str,
        width: usize,
        out: usize,
        parts: &CachedTensors,
    ) -> Result<Self> {
        ensure!(
            out > 0 && out.is_multiple_of(CHANNEL_BLOCK) && Int8Weights::are_available(),
            Model,
            "{name} cannot be computed in int8"
        );
        let floats = |part: &str, count| parts.floats(&format!("{name}.{part}"), count);
        let bytes = parts.bytes(&format!("{name}.bytes"), width.next_multiple_of(4) * out)?;
        let kept = parts.counts(&format!("{name}.kept"), KEPT)?;
        let kept: [usize; KEPT] = std::array::from_fn(|n| kept[n]);
        ensure!(
            kept.iter().all(|input| *input < width),
            Model,
            "{name} has no such input"
        );
        let kept_weights = floats("kept_weights", KEPT * out)?;
        Ok(LinearLayer {
            width,
            out,
            weights: LinearWeights::Int8(Box::new(Int8 {
                weights: Int8Weights::of_packed(bytes, floats("scale", out)?, floats("sum", out)?),
                factors: floats("factors", width)?,
                limit: floats("limit", 1)?[0],
                kept,
                kept_weights: PackedWeights::new(&kept_weights, floats("bias", out)?),
            })),
        })
    }

    /// The number of outputs for each row.
    pub fn out(&self) -> usize {
        self.out
    }

    /// Whether the products are computed in int8 or in floats.
    pub fn numeric(&self) -> Numeric {
        match self.weights {
            LinearWeights::Float(_) => Numeric::Float,
            LinearWeights::Int8(_) => Numeric::Int8,
        }
    }

    /// Maps rows (n, in) to rows (n, out). A row's result does not depend on the rows beside it.
    ///
    /// # Errors
    /// The rows do not have the layer's width.
    pub fn forward(&self, x: &[f32]) -> Result<Vec<f32>> {
        let out = self.forward_with(x, &mut BufferPool::default())?;
        Ok(out.to_vec())
    }

    /// As [`LinearLayer::forward`], with buffers that are reused.
    ///
    /// # Errors
    /// As [`LinearLayer::forward`].
    pub(crate) fn forward_with(&self, x: &[f32], pool: &mut BufferPool) -> Result<Buffer> {
        ensure!(
            x.len().is_multiple_of(self.width),
            Input,
            "{} numbers cannot be divided into rows of {}",
            x.len(),
            self.width
        );
        let rows = x.len() / self.width;
        let columns = self.out.next_multiple_of(CHANNEL_BLOCK);
        let mut out = pool.take(rows * columns);
        match &self.weights {
            LinearWeights::Float(parts) => self.multiply(parts, x, &mut out),
            LinearWeights::Int8(int8) => int8.multiply(x, self.width, &mut out, pool),
        }
        if columns > self.out {
            let mut kept = pool.take(rows * self.out);
            for (to, row) in kept.chunks_mut(self.out).zip(out.chunks(columns)) {
                to.copy_from_slice(&row[..self.out]);
            }
            pool.give_back(out);
            return Ok(kept);
        }
        Ok(out)
    }

    fn multiply(&self, parts: &[PackedWeights], x: &[f32], out: &mut [f32]) {
        let rows = x.len() / self.width;
        let mut first = 0;
        for (n, weights) in parts.iter().enumerate() {
            let inputs = [&x[first.min(x.len())..]];
            Product {
                windows: SlidingWindows::new(&inputs, weights.rows(), self.width, rows),
                weights,
                accumulate: n > 0,
                activation: ConvActivation::None,
            }
            .run(out);
            first += weights.rows();
        }
    }
}

impl Int8 {
    /// Writes x · weights + bias, (n, out), for rows (n, width).
    fn multiply(&self, x: &[f32], width: usize, out: &mut [f32], pool: &mut BufferPool) {
        let columns = self.weights.columns();
        let inputs = self.weights.rows();
        let mut left = pool.take(width);
        let mut base = pool.take(ROWS_AT_A_TIME * columns);
        let mut kept = [0.0; ROWS_AT_A_TIME * KEPT];
        let mut outliers = Outliers::default();
        pool.bytes.grow(ROWS_AT_A_TIME * inputs);
        let blocks = x.chunks(ROWS_AT_A_TIME * width);
        for (x, out) in blocks.zip(out.chunks_mut(ROWS_AT_A_TIME * columns)) {
            let count = x.len() / width;
            outliers.clear();
            pool.quantisations.clear();
            let rows = x.chunks(width).zip(pool.bytes.chunks_mut(inputs));
            for ((from, to), kept) in rows.zip(kept.chunks_mut(KEPT)) {
                let by = (self.factors.as_slice(), self.limit);
                let quantisation = self.weights.prepare(from, by, &mut left, &mut outliers, to);
                pool.quantisations.push(quantisation);
                for (to, &input) in kept.iter_mut().zip(&self.kept) {
                    *to = from[input];
                }
            }
            let base = &mut base[..count * columns];
            let rows = [kept.as_slice()];
            let windows = SlidingWindows::new(&rows, KEPT, KEPT, count);
            Product::new(windows, &self.kept_weights, ConvActivation::None).run(base);
            Int8Product {
                windows: SlidingWindows::new(&[&pool.bytes], inputs, inputs, count),
                quantisations: &pool.quantisations,
                weights: &self.weights,
                begin: InitialSums::Numbers(base),
                outliers: Some(&outliers),
                activation: ConvActivation::None,
            }
            .run(out);
        }
        pool.give_back(left);
        pool.give_back(base);
    }
}

/// The number of inputs of a layer with these weights.
fn check(weight: &[f32], out: usize, bias: Option<&[f32]>) -> Result<usize> {
    ensure!(
        out > 0 && !weight.is_empty() && weight.len().is_multiple_of(out),
        Model,
        "{} weights cannot be divided among {out} outputs",
        weight.len()
    );
    ensure!(
        bias.is_none_or(|bias| bias.len() == out),
        Model,
        "the bias does not fit {out} outputs"
    );
    Ok(weight.len() / out)
}

/// The weights (out, width) of these inputs, each times its factor, as (inputs, outputs padded with zeros).
fn transposed(
    weight: &[f32],
    width: usize,
    inputs: &[usize],
    factor: impl Fn(usize) -> f32,
) -> Vec<f32> {
    let columns = (weight.len() / width).next_multiple_of(CHANNEL_BLOCK);
    let mut matrix = vec![0.0; inputs.len() * columns];
    for (&input, to) in inputs.iter().zip(matrix.chunks_mut(columns)) {
        let factor = factor(input);
        for (to, row) in to.iter_mut().zip(weight.chunks(width)) {
            *to = row[input] * factor;
        }
    }
    matrix
}

fn padded(bias: Option<&[f32]>, columns: usize) -> Vec<f32> {
    let mut padded = bias.map(<[f32]>::to_vec).unwrap_or_default();
    padded.resize(columns, 0.0);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        let number = |n: usize| ((n * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0;
        (0..count).map(number).collect()
    }

    fn naive(weight: &[f32], bias: &[f32], x: &[f32]) -> Vec<f64> {
        let width = weight.len() / bias.len();
        let of_row = |row: &[f32]| -> Vec<f64> {
            let output = |(weights, bias): (&[f32], &f32)| {
                let products = weights.iter().zip(row);
                let products = products.map(|(w, x)| f64::from(*w) * f64::from(*x));
                products.sum::<f64>() + f64::from(*bias)
            };
            weight.chunks(width).zip(bias).map(output).collect()
        };
        x.chunks(width).flat_map(of_row).collect()
    }

    /// The length of the difference divided by that of what is expected.
    fn relative_error(found: &[f32], expected: &[f64]) -> f64 {
        let (mut error, mut size) = (0.0, 0.0);
        for (x, expected) in found.iter().zip(expected) {
            error += (f64::from(*x) - expected).powi(2);
            size += expected.powi(2);
        }
        (error / size).sqrt()
    }

    #[test]
    fn layers_of_any_size_are_sums_of_products() {
        for (width, out, rows) in [
            (1, 1, 1),
            (7, 5, 3),
            (385, 16, 50),
            (800, 33, 2),
            (384, 384, 0),
        ] {
            let (weight, bias) = (numbers(width * out, 1), numbers(out, 2));
            let x = numbers(rows * width, 3);
            let layer = LinearLayer::new(&weight, out, Some(&bias)).unwrap();
            let found = layer.forward(&x).unwrap();
            let expected = naive(&weight, &bias, &x);
            assert_eq!(found.len(), expected.len());
            for (x, expected) in found.iter().zip(expected) {
                assert!(
                    (f64::from(*x) - expected).abs() < 1e-3,
                    "{width} {out}: {x}, {expected}"
                );
            }
            assert!(layer.forward(&vec![0.0; width * 2 + 1]).is_err() || width == 1);
        }
        assert!(LinearLayer::new(&[1.0; 7], 2, None).is_err());
        assert!(LinearLayer::new(&[1.0; 8], 2, Some(&[0.0; 3])).is_err());
    }

    /// In int8 a few inputs that are a hundred times as large as the others take no precision from these, and rows do not depend on
    /// each other.
    #[test]
    fn int8_is_near_floats_where_some_inputs_are_much_larger() {
        let (width, out, rows) = (384, 64, 100);
        let (weight, bias) = (numbers(width * out, 1), numbers(out, 2));
        let size = |input: usize| if input % 60 == 3 { 100.0 } else { 1.0 };
        let mut x = numbers(rows * width, 3);
        for (n, x) in x.iter_mut().enumerate() {
            *x *= size(n % width);
        }
        let ranges: Vec<f32> = (0..width).map(size).collect();
        let Some(layer) = LinearLayer::in_int8(&weight, out, Some(&bias), &ranges, 3.0).unwrap()
        else {
            // the machine has no instructions for it
            return;
        };
        assert_eq!(layer.numeric(), Numeric::Int8);
        let found = layer.forward(&x).unwrap();
        let expected = naive(&weight, &bias, &x);
        let error = relative_error(&found, &expected);
        assert!(error < 1e-3, "{error}");
        for (row, found) in x.chunks(width).zip(found.chunks(out)) {
            assert_eq!(layer.forward(row).unwrap(), found);
        }
    }

    /// Where each row has other numbers that are much larger than the rest, which no example has shown.
    #[test]
    fn int8_is_near_floats_where_each_row_has_large_inputs_of_its_own() {
        let (width, out, rows) = (768, 64, 60);
        let (weight, bias) = (numbers(width * out, 1), numbers(out, 2));
        let mut x = numbers(rows * width, 3);
        for (row, x) in x.chunks_mut(width).enumerate() {
            for n in 0..12 {
                x[(row * 31 + n * 61) % width] = 40.0;
            }
        }
        let expected = naive(&weight, &bias, &x);
        let error_with = |limit| {
            let ranges = vec![1.0; width];
            let layer = LinearLayer::in_int8(&weight, out, Some(&bias), &ranges, limit).unwrap()?;
            Some(relative_error(&layer.forward(&x).unwrap(), &expected))
        };
        let (Some(limited), Some(unlimited)) = (error_with(3.0), error_with(f32::INFINITY)) else {
            // the machine has no instructions for it
            return;
        };
        assert!(
            limited < 5e-3 && limited < unlimited / 2.0,
            "{limited}, {unlimited}"
        );
    }

    #[test]
    fn layers_that_are_too_small_for_int8_are_refused() {
        let none = LinearLayer::in_int8(&[1.0; 32 * 16], 16, None, &[1.0; 32], 3.0).unwrap();
        assert!(none.is_none());
        let none = LinearLayer::in_int8(&[1.0; 384 * 17], 17, None, &[1.0; 384], 3.0).unwrap();
        assert!(none.is_none());
        assert!(LinearLayer::in_int8(&[1.0; 384 * 16], 16, None, &[1.0; 383], 3.0).is_err());
    }
}
