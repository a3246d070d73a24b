//! The inner loops in floats: a matrix product whose left operand is a window that slides over a feature map, and beside it a depthwise
//! convolution.
//!
//! Channels are innermost and padded with zeros to a multiple of [`CHANNEL_BLOCK`], so that the channels of a pixel are a
//! whole number of vectors on every machine and no loop has a remainder.
//!
//! The loops load and store through raw pointers. Every entry point asserts first that all windows lie within the input and
//! all results within the output, and takes the output's pointer once from its `&mut` slice, which it does not use again.

#![expect(
    unsafe_code,
    reason = "vectors are loaded and stored by pointer; each entry point asserts the bounds once"
)]

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp};

use super::aligned::Aligned;
use super::usual_or_miri;

mod depthwise;

pub(crate) use depthwise::Depthwise;

/// Channels are padded to a multiple of this number: the lanes of the widest vectors.
pub const CHANNEL_BLOCK: usize = 16;

/// The function that is applied to each sum before it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConvActivation {
    /// The identity.
    None,
    /// `max(x, 0)`
    Relu,
    /// `scale · x · min(max(x + 3, 0), 6) / 6 + shift`
    HardSwish {
        /// Multiplies the result.
        scale: f32,
        /// Is added to the result.
        shift: f32,
    },
    /// `min(max(scale · x + shift, 0), 1)`
    HardSigmoid {
        /// Multiplies x.
        scale: f32,
        /// Is added before the result is bounded.
        shift: f32,
    },
}

#[inline(always)]
pub(super) fn activate<I: Isa>(isa: I, x: I::F32, activation: ConvActivation) -> I::F32 {
    let ops = isa.f32();
    match activation {
        ConvActivation::None => x,
        ConvActivation::Relu => ops.max(x, ops.zero()),
        ConvActivation::HardSwish { scale, shift } => {
            let gate = ops.clamp(ops.add(x, ops.splat(3.0)), ops.zero(), ops.splat(6.0));
            let product = ops.mul(x, gate);
            ops.mul_add(product, ops.splat(scale / 6.0), ops.splat(shift))
        }
        ConvActivation::HardSigmoid { scale, shift } => {
            let gate = ops.mul_add(x, ops.splat(scale), ops.splat(shift));
            ops.clamp(gate, ops.zero(), ops.one())
        }
    }
}

/// Whether a slice of `available` numbers holds `count` runs of `length` numbers that begin `step` numbers apart.
pub(super) fn holds(available: usize, count: usize, step: usize, length: usize) -> bool {
    match count.checked_sub(1) {
        None => true,
        Some(steps) => steps
            .checked_mul(step)
            .and_then(|start| start.checked_add(length))
            .is_some_and(|end| end <= available),
    }
}

/// The left operand of a product, a matrix of `count` rows.
///
/// Row `m` of the matrix is a window: for each of `rows` in turn, the `length` numbers from `m · step` on. For a convolution,
/// `rows` are the rows of the feature map under the kernel; for a plain product, one slice.
#[derive(Clone, Copy, Debug)]
pub struct SlidingWindows<'a, T> {
    /// The slices from which a window takes numbers, in this order.
    pub rows: &'a [&'a [T]],
    /// Numbers that a window takes from each row.
    pub length: usize,
    /// Numbers from the start of a window to the start of the next one.
    pub step: usize,
    /// Number of windows.
    pub count: usize,
}

impl<'a, T> SlidingWindows<'a, T> {
    /// Windows over these rows, with the fields of the same names.
    pub fn new(rows: &'a [&'a [T]], length: usize, step: usize, count: usize) -> Self {
        SlidingWindows {
            rows,
            length,
            step,
            count,
        }
    }

    /// Numbers in a window: columns of the matrix.
    pub fn size(&self) -> usize {
        self.rows.len() * self.length
    }

    /// Whether every window lies within every row.
    pub fn fit(&self) -> bool {
        self.rows
            .iter()
            .all(|row| holds(row.len(), self.count, self.step, self.length))
    }
}

/// The right operand of a product and its bias, laid out in panels of one to three vectors of this machine.
///
/// Invariant: `bias` has as many numbers as the panels have columns, `data` has `rows` numbers for each column.
#[derive(Clone, Debug)]
pub struct PackedWeights {
    /// Numbers in a vector of the instructions that the panels are for.
    lanes: usize,
    /// Vectors across each panel.
    panels: Vec<usize>,
    /// Panel after panel; within a panel, row after row.
    data: Aligned<f32>,
    bias: Vec<f32>,
    rows: usize,
}

/// Evaluates to the number of lanes of this machine's vectors of floats.
struct Lanes;

impl SimdOp for Lanes {
    type Output = usize;
    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) -> usize {
        isa.f32().len()
    }
}

/// Divides `vectors` vectors of columns into panels of at most `widest` vectors. Four vectors become two panels of two, if `widest` is three.
pub(super) fn panels(vectors: usize, widest: usize) -> Vec<usize> {
    let mut panels = Vec::new();
    let mut left = vectors;
    while left > 0 {
        let width = if left == 4 && widest == 3 {
            2
        } else {
            left.min(widest)
        };
        panels.push(width);
        left -= width;
    }
    panels
}

impl PackedWeights {
    /// Packs a (rows, columns) matrix for this machine; `bias` has a number for each column.
    ///
    /// # Panics
    /// If the number of columns is zero or not a multiple of [`CHANNEL_BLOCK`], or does not divide the number of weights.
    pub fn new(weights: &[f32], bias: Vec<f32>) -> PackedWeights {
        PackedWeights::with_lanes(weights, bias, Lanes.dispatch())
    }

    fn with_lanes(weights: &[f32], bias: Vec<f32>, lanes: usize) -> PackedWeights {
        let columns = bias.len();
        assert!(
            columns > 0
                && columns.is_multiple_of(CHANNEL_BLOCK)
                && CHANNEL_BLOCK.is_multiple_of(lanes)
                && weights.len().is_multiple_of(columns)
        );
        // tiles of three vectors by eight rows, or of two by twelve, fill 32 registers; two by six fill 16
        let widest = if lanes == 8 { 2 } else { 3 };
        let panels = panels(columns / lanes, widest);
        let mut data = Vec::with_capacity(weights.len());
        let mut first = 0;
        for width in &panels {
            for row in weights.chunks(columns) {
                data.extend_from_slice(&row[first..first + width * lanes]);
            }
            first += width * lanes;
        }
        PackedWeights {
            lanes,
            panels,
            data: Aligned::copy_of(&data),
            rows: weights.len() / columns,
            bias,
        }
    }

    /// The matrix (rows, columns) from which it was packed.
    pub fn matrix(&self) -> Vec<f32> {
        let mut matrix = vec![0.0; self.rows * self.columns()];
        let (mut data, mut first) = (&*self.data, 0);
        for width in &self.panels {
            let width = width * self.lanes;
            let (panel, rest) = data.split_at(self.rows * width);
            for (to, row) in matrix.chunks_mut(self.columns()).zip(panel.chunks(width)) {
                to[first..first + width].copy_from_slice(row);
            }
            (data, first) = (rest, first + width);
        }
        matrix
    }

    /// What is added to each column.
    pub fn bias(&self) -> &[f32] {
        &self.bias
    }

    /// Columns of the matrix, a multiple of [`CHANNEL_BLOCK`].
    pub fn columns(&self) -> usize {
        self.bias.len()
    }

    /// Rows of the matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

/// `out[m] = activation(bias + Σ window m · weights)` for each window.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a> {
    /// The left operand.
    pub windows: SlidingWindows<'a, f32>,
    /// The right operand and the bias.
    pub weights: &'a PackedWeights,
    /// Whether the sums begin with the numbers in `out` instead of the bias.
    pub accumulate: bool,
    /// The function that is applied to each sum.
    pub activation: ConvActivation,
}

/// Maximum number of weights that are read again for each small group of windows: a share of the second-level cache.
const MANY_WEIGHTS: usize = usual_or_miri(1 << 16, 1 << 8);
/// Windows in a group if there are more weights; both tile heights divide it.
const MANY_WINDOWS: usize = usual_or_miri(480, 48);

impl<'a> Product<'a> {
    /// The product whose sums begin with the bias.
    pub fn new(
        windows: SlidingWindows<'a, f32>,
        weights: &'a PackedWeights,
        activation: ConvActivation,
    ) -> Self {
        Product {
            windows,
            weights,
            accumulate: false,
            activation,
        }
    }

    /// Computes the product into `out`, which has a row for each window.
    ///
    /// # Panics
    /// If a window reaches beyond its rows or does not have as many numbers as the weights have rows, or if the results do not fit into `out`.
    pub fn run(self, out: &mut [f32]) {
        ProductInto { product: self, out }.dispatch();
    }
}

struct ProductInto<'a, 'b> {
    product: Product<'a>,
    out: &'b mut [f32],
}

impl SimdOp for ProductInto<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ProductInto { product, out } = self;
        let Product {
            windows, weights, ..
        } = product;
        let lanes = isa.f32().len();
        let columns = weights.columns();
        assert!(weights.lanes == lanes && windows.size() == weights.rows);
        assert!(windows.fit());
        assert!(holds(out.len(), windows.count, columns, columns));
        let (narrow, wide) = if lanes == 8 { (6, 6) } else { (12, 8) };
        let out = out.as_mut_ptr();
        let mut from = 0;
        // Both tile heights divide the groups of windows. The windows of a group stay in the first-level cache, or if the weights are too
        // many to be read again for each group, in the second.
        let most = if weights.data.len() > MANY_WEIGHTS {
            MANY_WINDOWS
        } else {
            narrow.max(wide) * 2
        };
        while from < windows.count {
            let group = (windows.count - from).min(most);
            let (mut column, mut data) = (0, &*weights.data);
            for &width in &weights.panels {
                let height = if width == 3 { wide } else { narrow };
                let (mut m, end) = (from, from + group);
                while m < end {
                    let left = end - m;
                    // SAFETY: `tile` needs its windows below `count`, and the arms take at most `left` of them; its columns
                    // below `columns`, and the panels' widths add up to that; and `data` to begin with the panel, which
                    // the slicing below keeps true. `out` has room for all results by the assertion above.
                    m += unsafe {
                        match (width, left) {
                            (3, 8..) if height == 8 => {
                                product.tile::<I, 8, 3>(isa, m, column, data, out)
                            }
                            (3, 4..) => product.tile::<I, 4, 3>(isa, m, column, data, out),
                            (3, 2..) => product.tile::<I, 2, 3>(isa, m, column, data, out),
                            (3, _) => product.tile::<I, 1, 3>(isa, m, column, data, out),
                            (2, 12..) if height == 12 => {
                                product.tile::<I, 12, 2>(isa, m, column, data, out)
                            }
                            (2, 6..) => product.tile::<I, 6, 2>(isa, m, column, data, out),
                            (2, 2..) => product.tile::<I, 2, 2>(isa, m, column, data, out),
                            (2, _) => product.tile::<I, 1, 2>(isa, m, column, data, out),
                            (_, 12..) if height == 12 => {
                                product.tile::<I, 12, 1>(isa, m, column, data, out)
                            }
                            (_, 4..) => product.tile::<I, 4, 1>(isa, m, column, data, out),
                            _ => product.tile::<I, 1, 1>(isa, m, column, data, out),
                        }
                    };
                }
                column += width * lanes;
                data = &data[width * lanes * weights.rows..];
            }
            from += group;
        }
    }
}

impl Product<'_> {
    /// Computes `HEIGHT` windows from `first` on by `WIDTH` vectors of columns from `column` on. Returns `HEIGHT`.
    ///
    /// # Safety
    /// - The windows fit into their rows (`SlidingWindows::fit`), their size is the number of the weights' rows, and
    ///   `first + HEIGHT <= count`.
    /// - `column + WIDTH · lanes <= columns`, and `panel` begins with the panel of these columns: `WIDTH · lanes` numbers for
    ///   each row of the weights.
    /// - `out` may be read and written up to the last result of window `first + HEIGHT - 1`.
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
        let columns = self.weights.columns();
        debug_assert!(first + HEIGHT <= self.windows.count);
        debug_assert!(column + WIDTH * lanes <= columns);
        debug_assert!(panel.len() >= WIDTH * lanes * self.weights.rows);
        // SAFETY: the bias has a number for each column, and so have the results of each window. Window `first + m` lies within each row up to
        // `length` numbers from its start. `weights` advances by WIDTH vectors for each number of a window, that is, for each row of the panel. The
        // results are within `out`.
        unsafe {
            let mut sums = [[ops.zero(); WIDTH]; HEIGHT];
            // the numbers that the sums begin with, one for each column, and how far they are from window to window
            let (begin, begin_step) = if self.accumulate {
                (out.add(first * columns + column).cast_const(), columns)
            } else {
                (self.weights.bias.as_ptr().add(column), 0)
            };
            for m in 0..HEIGHT {
                for v in 0..WIDTH {
                    sums[m][v] = ops.load_ptr(begin.add(m * begin_step + v * lanes));
                }
            }
            let mut weights = panel.as_ptr();
            let step = self.windows.step;
            for row in self.windows.rows {
                let base = row.as_ptr().add(first * step);
                for k in 0..self.windows.length {
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
            let out = out.add(first * columns + column);
            // each activation by itself, as a constant: with all of them in one loop, the compiler does not unroll it and keeps the sums in memory all the
            // time, which halves the speed
            match self.activation {
                ConvActivation::None => store(isa, &sums, ConvActivation::None, out, columns),
                ConvActivation::Relu => store(isa, &sums, ConvActivation::Relu, out, columns),
                ConvActivation::HardSwish { scale, shift } => {
                    store(
                        isa,
                        &sums,
                        ConvActivation::HardSwish { scale, shift },
                        out,
                        columns,
                    );
                }
                ConvActivation::HardSigmoid { scale, shift } => {
                    store(
                        isa,
                        &sums,
                        ConvActivation::HardSigmoid { scale, shift },
                        out,
                        columns,
                    );
                }
            }
        }
        HEIGHT
    }
}

/// Stores the results of the sums of some windows, which are `columns` numbers apart.
///
/// # Safety
/// `out` may be written up to the last result of the last window.
#[inline(always)]
unsafe fn store<I: Isa, const HEIGHT: usize, const WIDTH: usize>(
    isa: I,
    sums: &[[I::F32; WIDTH]; HEIGHT],
    activation: ConvActivation,
    out: *mut f32,
    columns: usize,
) {
    let ops = isa.f32();
    for (m, sums) in sums.iter().enumerate() {
        for (v, sum) in sums.iter().enumerate() {
            let x = activate(isa, *sum, activation);
            // SAFETY: the caller guarantees it
            unsafe { ops.store_ptr(x, out.add(m * columns + v * ops.len())) };
        }
    }
}

#[cfg(test)]
mod tests;
