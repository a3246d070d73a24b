//! The inner loops: a matrix product whose left side is a window that slides over a map, and a depthwise convolution.
//!
//! Channels lie innermost, padded with zeros to a multiple of [`BLOCK`], so that vectors of any machine go over whole
//! channels and nothing is left over.

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp};

/// Channels are padded to a multiple of this: one vector of the widest instructions.
pub const BLOCK: usize = 16;

/// What is done to a sum before it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    None,
    Relu,
    /// `scale · x · min(max(x + 3, 0), 6) / 6 + shift`
    HardSwish {
        scale: f32,
        shift: f32,
    },
    /// `min(max(scale · x + shift, 0), 1)`
    HardSigmoid {
        scale: f32,
        shift: f32,
    },
}

#[inline(always)]
fn activate<I: Isa>(isa: I, x: I::F32, activation: Activation) -> I::F32 {
    let ops = isa.f32();
    match activation {
        Activation::None => x,
        Activation::Relu => ops.max(x, ops.zero()),
        Activation::HardSwish { scale, shift } => {
            let gate = ops.clamp(ops.add(x, ops.splat(3.0)), ops.zero(), ops.splat(6.0));
            let product = ops.mul(x, gate);
            ops.mul_add(product, ops.splat(scale / 6.0), ops.splat(shift))
        }
        Activation::HardSigmoid { scale, shift } => {
            let gate = ops.mul_add(x, ops.splat(scale), ops.splat(shift));
            ops.clamp(gate, ops.zero(), ops.one())
        }
    }
}

/// The right side of a product, in panels of one to three vectors of this machine.
#[derive(Clone, Debug)]
pub struct Packed {
    /// Vectors of each panel.
    panels: Vec<usize>,
    /// Panel after panel, each row after row.
    data: Vec<f32>,
    /// One for each column.
    bias: Vec<f32>,
    rows: usize,
}

/// Lanes of this machine's vectors.
struct Lanes;

impl SimdOp for Lanes {
    type Output = usize;
    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) -> usize {
        isa.f32().len()
    }
}

impl Packed {
    /// `weights` is (rows, columns), `bias` one for each column; columns a multiple of [`BLOCK`].
    pub fn new(weights: &[f32], bias: Vec<f32>) -> Packed {
        let lanes = Lanes.dispatch();
        let columns = bias.len();
        let rows = weights.len() / columns.max(1);
        // three vectors by eight rows, or two by twelve, fill 32 registers; two by six fill 16
        let widest = if lanes == 8 { 2 } else { 3 };
        let mut panels = Vec::new();
        let mut left = columns / lanes;
        while left > 0 {
            let width = if left == 4 && widest == 3 {
                2
            } else {
                left.min(widest)
            };
            panels.push(width);
            left -= width;
        }
        let mut data = Vec::with_capacity(weights.len());
        let mut at = 0;
        for width in &panels {
            for row in weights.chunks(columns) {
                data.extend_from_slice(&row[at..at + width * lanes]);
            }
            at += width * lanes;
        }
        Packed {
            panels,
            data,
            bias,
            rows,
        }
    }

    pub fn columns(&self) -> usize {
        self.bias.len()
    }
}

/// `out[m] = activation(bias + Σ window m · weights)` for `count` windows.
///
/// A window is the concatenation, over `rows`, of `length` numbers of each from `m · step` on: a convolution's rows of
/// the map, or the one row of a plain product.
pub struct Product<'a, 'b> {
    pub rows: &'a [&'a [f32]],
    pub length: usize,
    pub step: usize,
    pub count: usize,
    pub weights: &'a Packed,
    pub activation: Activation,
    pub out: &'b mut [f32],
    /// Numbers from one window's results to the next one's.
    pub out_step: usize,
}

impl SimdOp for Product<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let columns = self.weights.columns();
        assert!(self.rows.len() * self.length == self.weights.rows);
        assert!(
            self.out_step >= columns
                && (self.count == 0
                    || self.out.len() >= (self.count - 1) * self.out_step + columns)
        );
        for row in self.rows {
            assert!(self.count == 0 || row.len() >= (self.count - 1) * self.step + self.length);
        }
        let lanes = isa.f32().len();
        let (narrow, wide) = if lanes == 8 { (6, 6) } else { (12, 8) };
        let most = narrow.max(wide) * 2;
        let out = self.out.as_mut_ptr();
        let mut from = 0;
        // groups of rows, so that both tile heights divide them and the group's windows stay in the first cache
        while from < self.count {
            let group = (self.count - from).min(most);
            let (mut column, mut data) = (0, self.weights.data.as_slice());
            for &width in &self.weights.panels {
                let height = if width == 3 { wide } else { narrow };
                let (mut m, end) = (from, from + group);
                while m < end {
                    let left = end - m;
                    // SAFETY: the asserts above hold for all windows below `count`, and tiles end there
                    m += unsafe {
                        match (width, left) {
                            (3, 8..) if height == 8 => {
                                self.tile::<I, 8, 3>(isa, m, column, data, out)
                            }
                            (3, 4..) => self.tile::<I, 4, 3>(isa, m, column, data, out),
                            (3, 2..) => self.tile::<I, 2, 3>(isa, m, column, data, out),
                            (3, _) => self.tile::<I, 1, 3>(isa, m, column, data, out),
                            (2, 12..) if height == 12 => {
                                self.tile::<I, 12, 2>(isa, m, column, data, out)
                            }
                            (2, 6..) => self.tile::<I, 6, 2>(isa, m, column, data, out),
                            (2, 2..) => self.tile::<I, 2, 2>(isa, m, column, data, out),
                            (2, _) => self.tile::<I, 1, 2>(isa, m, column, data, out),
                            (_, 12..) if height == 12 => {
                                self.tile::<I, 12, 1>(isa, m, column, data, out)
                            }
                            (_, 4..) => self.tile::<I, 4, 1>(isa, m, column, data, out),
                            _ => self.tile::<I, 1, 1>(isa, m, column, data, out),
                        }
                    };
                }
                column += width * lanes;
                data = &data[width * lanes * self.weights.rows..];
            }
            if self.activation != Activation::None {
                let ops = isa.f32();
                for m in from..from + group {
                    for column in (0..columns).step_by(lanes) {
                        // SAFETY: the tiles' results, and columns are whole vectors
                        unsafe {
                            let result = out.add(m * self.out_step + column);
                            let x = activate(isa, ops.load_ptr(result), self.activation);
                            ops.store_ptr(x, result);
                        }
                    }
                }
            }
            from += group;
        }
    }
}

impl Product<'_, '_> {
    /// `HEIGHT` windows from `first` on by `WIDTH` vectors of columns from `column` on, without the activation: with more than
    /// a store behind it, the compiler keeps the sums in memory all along, at half the speed. Returns `HEIGHT`.
    ///
    /// # Safety
    /// `panel` has WIDTH · lanes numbers for each row of the weights, and the windows and columns lie within `rows` and the results, which begin at `out`.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    unsafe fn tile<I: Isa, const HEIGHT: usize, const WIDTH: usize>(
        &self,
        isa: I,
        first: usize,
        column: usize,
        panel: &[f32],
        out: *mut f32,
    ) -> usize {
        let ops = isa.f32();
        let lanes = ops.len();
        unsafe {
            let mut sums = [[ops.zero(); WIDTH]; HEIGHT];
            let bias = self.weights.bias.as_ptr().add(column);
            for v in 0..WIDTH {
                let b = ops.load_ptr(bias.add(v * lanes));
                for m in 0..HEIGHT {
                    sums[m][v] = b;
                }
            }
            let mut weights = panel.as_ptr();
            let step = self.step;
            for row in self.rows {
                let base = row.as_ptr().add(first * step);
                for k in 0..self.length {
                    let x = base.add(k);
                    let mut w = [ops.zero(); WIDTH];
                    for v in 0..WIDTH {
                        w[v] = ops.load_ptr(weights.add(v * lanes));
                    }
                    for m in 0..HEIGHT {
                        let a = ops.splat(*x.add(m * step));
                        for v in 0..WIDTH {
                            sums[m][v] = ops.mul_add(a, w[v], sums[m][v]);
                        }
                    }
                    weights = weights.add(WIDTH * lanes);
                }
            }
            let out = out.add(first * self.out_step + column);
            for m in 0..HEIGHT {
                for v in 0..WIDTH {
                    ops.store_ptr(sums[m][v], out.add(m * self.out_step + v * lanes));
                }
            }
        }
        HEIGHT
    }
}

/// One row of a depthwise convolution's results: for each place and channel, bias + Σ over `rows` and the kernel's
/// columns of the map's numbers by the channel's weights.
pub struct Depthwise<'a, 'b> {
    /// Rows of the map under the kernel, each padded on both sides.
    pub rows: &'a [&'a [f32]],
    /// Columns of the kernel.
    pub columns: usize,
    /// Channels, padded.
    pub channels: usize,
    /// Places of the map from one result to the next.
    pub stride: usize,
    /// (rows, columns, channels)
    pub weights: &'a [f32],
    pub bias: &'a [f32],
    pub activation: Activation,
    /// (places, channels)
    pub out: &'b mut [f32],
}

impl SimdOp for Depthwise<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let width = self.out.len() / self.channels;
        assert!(self.weights.len() == self.rows.len() * self.columns * self.channels);
        assert!(
            self.bias.len() == self.channels
                && self.channels.is_multiple_of(BLOCK)
                && self.out.len() == width * self.channels
        );
        for row in self.rows {
            assert!(
                width == 0
                    || row.len() >= ((width - 1) * self.stride + self.columns) * self.channels
            );
        }
        let out = self.out.as_mut_ptr();
        let mut x = 0;
        while x < width {
            // SAFETY: the asserts hold for all places below `width`
            x += unsafe {
                match (self.columns, self.stride, width - x) {
                    (3, 1, 6..) => self.tile::<I, 3, 1, 6>(isa, x, out),
                    (3, 1, _) => self.tile::<I, 3, 1, 1>(isa, x, out),
                    (3, 2, 4..) => self.tile::<I, 3, 2, 4>(isa, x, out),
                    (3, 2, _) => self.tile::<I, 3, 2, 1>(isa, x, out),
                    (5, 1, 5..) => self.tile::<I, 5, 1, 5>(isa, x, out),
                    (5, 1, _) => self.tile::<I, 5, 1, 1>(isa, x, out),
                    (5, 2, 4..) => self.tile::<I, 5, 2, 4>(isa, x, out),
                    (5, 2, _) => self.tile::<I, 5, 2, 1>(isa, x, out),
                    _ => self.any(isa, x, out),
                }
            };
        }
    }
}

impl Depthwise<'_, '_> {
    /// `PLACES` results from `first` on. Returns `PLACES`.
    ///
    /// # Safety
    /// The places lie within the results, which begin at `out`, and what they need within `rows`.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    unsafe fn tile<I: Isa, const COLUMNS: usize, const STRIDE: usize, const PLACES: usize>(
        &self,
        isa: I,
        first: usize,
        out: *mut f32,
    ) -> usize {
        let ops = isa.f32();
        unsafe {
            let mut channel = 0;
            while channel < self.channels {
                let mut sums = [ops.load_ptr(self.bias.as_ptr().add(channel)); PLACES];
                let mut weights = self.weights.as_ptr().add(channel);
                for row in self.rows {
                    let base = row.as_ptr().add(first * STRIDE * self.channels + channel);
                    for column in 0..COLUMNS {
                        let w = ops.load_ptr(weights);
                        for place in 0..PLACES {
                            let x =
                                ops.load_ptr(base.add((place * STRIDE + column) * self.channels));
                            sums[place] = ops.mul_add(x, w, sums[place]);
                        }
                        weights = weights.add(self.channels);
                    }
                }
                let out = out.add(first * self.channels + channel);
                for place in 0..PLACES {
                    ops.store_ptr(
                        activate(isa, sums[place], self.activation),
                        out.add(place * self.channels),
                    );
                }
                channel += ops.len();
            }
        }
        PLACES
    }

    /// One result of a kernel of any width.
    ///
    /// # Safety
    /// As for `tile`.
    #[inline(always)]
    unsafe fn any<I: Isa>(&self, isa: I, first: usize, out: *mut f32) -> usize {
        let ops = isa.f32();
        unsafe {
            let mut channel = 0;
            while channel < self.channels {
                let mut sum = ops.load_ptr(self.bias.as_ptr().add(channel));
                let mut weights = self.weights.as_ptr().add(channel);
                for row in self.rows {
                    let base = row
                        .as_ptr()
                        .add(first * self.stride * self.channels + channel);
                    for column in 0..self.columns {
                        sum = ops.mul_add(
                            ops.load_ptr(base.add(column * self.channels)),
                            ops.load_ptr(weights),
                            sum,
                        );
                        weights = weights.add(self.channels);
                    }
                }
                ops.store_ptr(
                    activate(isa, sum, self.activation),
                    out.add(first * self.channels + channel),
                );
                channel += ops.len();
            }
        }
        1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        (0..count as u64)
            .map(|n| {
                let mixed = (n + 1)
                    .wrapping_mul(seed | 1)
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (mixed >> 40) as f32 / (1 << 23) as f32 - 1.0
            })
            .collect()
    }

    fn hard_swish(x: f32) -> f32 {
        2.0 * x * (x + 3.0).clamp(0.0, 6.0) / 6.0 - 0.25
    }

    const HARD_SWISH: Activation = Activation::HardSwish {
        scale: 2.0,
        shift: -0.25,
    };

    proptest! {
        #[test]
        fn a_product_is_the_sum_of_products(
            rows in 1usize..4, length in 1usize..20, step in 1usize..9, count in 0usize..40, blocks in 1usize..7, seed: u64
        ) {
            let columns = blocks * BLOCK;
            let map: Vec<Vec<f32>> =
                (0..rows).map(|n| numbers(count * step + length, seed ^ n as u64)).collect();
            let weights = numbers(rows * length * columns, seed.rotate_left(9));
            let bias = numbers(columns, seed.rotate_left(17));
            let slices: Vec<&[f32]> = map.iter().map(Vec::as_slice).collect();
            let mut out = vec![f32::NAN; count * columns];
            let packed = Packed::new(&weights, bias.clone());
            Product {
                rows: &slices, length, step, count, weights: &packed,
                activation: HARD_SWISH, out: &mut out, out_step: columns,
            }
            .dispatch();
            for m in 0..count {
                for n in 0..columns {
                    let sum: f64 = (0..rows * length)
                        .map(|k| {
                            let x = map[k / length][m * step + k % length];
                            f64::from(x) * f64::from(weights[k * columns + n])
                        })
                        .sum();
                    let expected = hard_swish(sum as f32 + bias[n]);
                    prop_assert!((out[m * columns + n] - expected).abs() < 1e-4, "{m} {n}");
                }
            }
        }

        #[test]
        fn a_depthwise_convolution_keeps_channels_apart(
            rows in 1usize..6, columns in 1usize..6, stride in 1usize..4, width in 0usize..20, blocks in 1usize..4, seed: u64
        ) {
            let channels = blocks * BLOCK;
            let length = (width * stride + columns) * channels;
            let map: Vec<Vec<f32>> = (0..rows).map(|n| numbers(length, seed ^ n as u64)).collect();
            let slices: Vec<&[f32]> = map.iter().map(Vec::as_slice).collect();
            let weights = numbers(rows * columns * channels, seed.rotate_left(9));
            let bias = numbers(channels, seed.rotate_left(17));
            let mut out = vec![f32::NAN; width * channels];
            Depthwise {
                rows: &slices, columns, channels, stride, weights: &weights, bias: &bias,
                activation: Activation::Relu, out: &mut out,
            }
            .dispatch();
            for x in 0..width {
                for c in 0..channels {
                    let mut sum = bias[c];
                    for (row, map) in map.iter().enumerate() {
                        for column in 0..columns {
                            sum += map[(x * stride + column) * channels + c]
                                * weights[(row * columns + column) * channels + c];
                        }
                    }
                    prop_assert!((out[x * channels + c] - sum.max(0.0)).abs() < 1e-4, "{x} {c}");
                }
            }
        }
    }
}
