//! Matrix products in int8, on machines that multiply bytes: whole matrices of them (AMX) or vectors, four at a time (AVX-512 VNNI or AVX-VNNI).
//!
//! Weights are signed bytes with a scale for each column. Inputs are unsigned bytes with a scale and a zero point for each
//! window, taken from the range of its numbers, so that a bright pixel does not cost the others precision. The sums of
//! products are exact 32-bit integers; the only loss is in rounding both operands to 8 bits.
//!
//! As in [`super::kernel`], each entry point asserts the bounds once and takes the output's pointer once from its `&mut` slice.

#![expect(
    unsafe_code,
    reason = "vectors are loaded and stored by pointer and need instructions that are detected at run time; each entry point asserts the bounds once"
)]

use super::aligned::{Aligned, LINE};
use super::kernel::{CHANNEL_BLOCK, ConvActivation, SlidingWindows, holds, panels};

#[cfg(target_arch = "x86_64")]
mod amx;
mod kernels;
mod outliers;
mod pairs;

pub(crate) use outliers::Outliers;
pub(crate) use pairs::{PairBuffers, PairProduct};

/// The right operand of an int8 product and its bias, laid out for this machine's instructions.
///
/// Invariant: `scale`, `sum` and `bias` have a number for each column, a multiple of [`CHANNEL_BLOCK`]; `data` has `rows`
/// bytes for each column; and the machine has the `instructions`.
#[derive(Clone, Debug)]
pub(crate) struct Int8Weights {
    instructions: Instructions,
    /// Vectors across each panel.
    panels: Vec<usize>,
    /// Panel after panel. Within a panel: four rows of a column next to each other, then the next column, then the next
    /// four rows.
    data: Aligned<i8>,
    /// Scale of each column: weight = byte · scale.
    scale: Vec<f32>,
    /// Sum of the bytes of each column.
    sum: Vec<f32>,
    bias: Vec<f32>,
    /// Rows, padded with zeros to a multiple of four.
    rows: usize,
}

/// The kernel of [`Int8Weights::prepare`].
type Prepare = unsafe fn(&[f32], &[f32], f32, &mut [f32], &mut Outliers, &mut [u8]) -> Quantisation;

/// Instructions that multiply bytes, and the kernels that use them.
///
/// Invariant: the machine has the instructions of each value that [`Instructions::detect`] returns or a test makes.
#[derive(Clone, Copy, Debug)]
struct Instructions {
    name: &'static str,
    /// 32-bit numbers in a vector.
    lanes: usize,
    /// Vectors across the widest panel.
    widest: usize,
    range: unsafe fn(&[f32]) -> (f32, f32),
    quantise: unsafe fn(&[f32], Quantisation, &mut [u8]),
    quantise_pixels: unsafe fn(Pixels<'_>, usize, &mut [u8], &mut [Quantisation]),
    prepare: Prepare,
    product: unsafe fn(Int8Product, &mut [f32]),
    pair_product: unsafe fn(PairProduct, &mut [i32]),
}

/// The name of the machine's instructions for products in int8; `None` where products are computed in floats.
pub fn int8_instructions() -> Option<&'static str> {
    Instructions::detect().map(|instructions| instructions.name)
}

impl Instructions {
    /// The panels of a matrix with these columns.
    fn panels(&self, columns: usize) -> Vec<usize> {
        panels(columns / self.lanes, self.widest)
    }

    /// The fastest instructions that this machine has; None if int8 would not be faster than floats.
    fn detect() -> Option<Instructions> {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni")
            {
                return Some(if amx::is_available() {
                    amx::INSTRUCTIONS
                } else {
                    kernels::avx512::INSTRUCTIONS
                });
            }
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("avxvnni")
            {
                return Some(kernels::avx2::INSTRUCTIONS);
            }
        }
        None
    }
}

impl Int8Weights {
    /// Quantises and packs a (rows, columns) matrix; `bias` has a number for each column. None on machines without
    /// instructions that multiply bytes.
    ///
    /// # Panics
    /// If the number of columns is zero or not a multiple of [`CHANNEL_BLOCK`], or does not divide the number of weights.
    pub fn new(weights: &[f32], bias: Vec<f32>) -> Option<Int8Weights> {
        let instructions = Instructions::detect()?;
        let rounding = Rounding::Nearest;
        Some(Int8Weights::pack(weights, bias, rounding, instructions))
    }

    /// As [`Int8Weights::new`], but the bytes of each column keep the sum of its weights ([`Rounding::KeepingSums`]).
    pub fn keeping_sums(weights: &[f32], bias: Vec<f32>) -> Option<Int8Weights> {
        let instructions = Instructions::detect()?;
        let rounding = Rounding::KeepingSums;
        Some(Int8Weights::pack(weights, bias, rounding, instructions))
    }

    fn pack(
        weights: &[f32],
        bias: Vec<f32>,
        rounding: Rounding,
        instructions: Instructions,
    ) -> Int8Weights {
        let lanes = instructions.lanes;
        let columns = bias.len();
        assert!(
            columns > 0
                && columns.is_multiple_of(CHANNEL_BLOCK)
                && CHANNEL_BLOCK.is_multiple_of(lanes)
                && weights.len().is_multiple_of(columns)
        );
        let rows = weights.len() / columns;
        let mut scale = vec![0f32; columns];
        for row in weights.chunks(columns) {
            for (scale, weight) in scale.iter_mut().zip(row) {
                *scale = scale.max(weight.abs() / 127.0);
            }
        }
        let padded = rows.next_multiple_of(4);
        let mut bytes = vec![0i8; padded * columns];
        for (row, to) in weights.chunks(columns).zip(bytes.chunks_mut(columns)) {
            for (to, (weight, scale)) in to.iter_mut().zip(row.iter().zip(&scale)) {
                if *scale > 0.0 {
                    *to = nearest(weight / scale) as i8;
                }
            }
        }
        if rounding == Rounding::KeepingSums {
            keep_sums(weights, &scale, &mut bytes);
        }
        let mut sum = vec![0f32; columns];
        for row in bytes.chunks(columns) {
            for (sum, byte) in sum.iter_mut().zip(row) {
                *sum += f32::from(*byte);
            }
        }
        let panels = instructions.panels(columns);
        let mut data = Vec::with_capacity(bytes.len());
        let mut first = 0;
        for width in &panels {
            for four in bytes.chunks(4 * columns) {
                for column in first..first + width * lanes {
                    data.extend((0..4).map(|row| four[row * columns + column]));
                }
            }
            first += width * lanes;
        }
        Int8Weights {
            instructions,
            panels,
            data: Aligned::copy_of(&data),
            scale,
            sum,
            bias,
            rows: padded,
        }
    }

    /// The packed bytes, and the scale and the sum of each column, from which [`Int8Weights::of_packed`] makes the same weights.
    pub fn packed(&self) -> (&[i8], &[f32], &[f32]) {
        (&self.data, &self.scale, &self.sum)
    }

    /// Makes the weights again from what [`Int8Weights::packed`] returned on a machine with the same instructions. The bias is zero. `data` has
    /// signed bytes in two's complement.
    ///
    /// # Panics
    /// If the bytes are not a matrix with the columns of the scales and sums, or there are no instructions.
    pub fn of_packed(data: &[u8], scale: Vec<f32>, sum: Vec<f32>) -> Int8Weights {
        let instructions = Instructions::detect().expect("they were packed by them");
        let columns = scale.len();
        assert!(
            columns > 0 && columns.is_multiple_of(CHANNEL_BLOCK) && sum.len() == columns,
            "there are {columns} scales and {} sums",
            sum.len()
        );
        let rows = data.len() / columns;
        assert!(rows.is_multiple_of(4) && data.len() == rows * columns);
        let mut signed = Aligned::zeros(data.len());
        for (to, byte) in signed.iter_mut().zip(data) {
            *to = byte.cast_signed();
        }
        Int8Weights {
            panels: instructions.panels(columns),
            instructions,
            data: signed,
            scale,
            sum,
            bias: vec![0.0; columns],
            rows,
        }
    }

    /// Whether this machine has instructions that multiply bytes.
    pub fn are_available() -> bool {
        Instructions::detect().is_some()
    }

    /// Columns of the matrix, a multiple of [`CHANNEL_BLOCK`].
    pub fn columns(&self) -> usize {
        self.bias.len()
    }

    /// Rows of the matrix, padded to a multiple of four: bytes in a window of the left operand.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

/// How weights become bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rounding {
    /// Each is rounded to the nearest byte.
    Nearest,
    /// In each column, the weights nearest to the middle between two bytes are rounded the other way, until the sum of the bytes is that of the
    /// weights to half a step. Most inputs of a convolution come from an activation and have one sign, so an error of the sum would be an error of
    /// every result.
    KeepingSums,
}

/// Changes bytes that are the nearest to the weights, in steps of `scale`, as [`Rounding::KeepingSums`] says.
fn keep_sums(weights: &[f32], scale: &[f32], bytes: &mut [i8]) {
    let columns = scale.len();
    let mut errors: Vec<(f32, usize)> = Vec::new();
    for (column, scale) in scale.iter().enumerate().filter(|(_, scale)| **scale > 0.0) {
        let places = (column..weights.len()).step_by(columns);
        errors.clear();
        errors.extend(places.map(|n| (weights[n] / scale - f32::from(bytes[n]), n)));
        let total: f32 = errors.iter().map(|(error, _)| error).sum();
        let step = if total < 0.0 { -1i8 } else { 1 };
        let count = (nearest(total.abs()) as usize).min(errors.len());
        let Some(last) = count.checked_sub(1) else {
            continue;
        };
        // the greatest errors in this direction come first; ties are broken by index
        let order = |(error, n): &(f32, usize)| (*error * f32::from(-step), *n);
        errors.select_nth_unstable_by(last, |a, b| {
            let (a, b) = (order(a), order(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
        });
        for (_, n) in &errors[..count] {
            bytes[*n] = (bytes[*n].saturating_add(step)).max(-127);
        }
    }
}

/// The nearest whole number, as [`f32::round`] for numbers of less than 2^22. Without SSE 4.1, that is a call for each number.
fn nearest(x: f32) -> i32 {
    // not a half but the greatest float below it, because .49999997 + .5 would be rounded to 1
    (x + 0.499_999_97_f32.copysign(x)) as i32
}

/// Pixels to be quantised. Each has `length` numbers and begins `step` numbers after the one before.
#[derive(Clone, Copy)]
struct Pixels<'a> {
    numbers: &'a [f32],
    length: usize,
    step: usize,
}

/// How floats are mapped to unsigned bytes: number = (byte - zero_point) · scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantisation {
    pub scale: f32,
    /// A whole number in [0, 255].
    pub zero_point: f32,
}

impl Quantisation {
    /// Maps the range from `low` to `high`, which includes zero, to [0, 255].
    // inlined, so that the kernels divide several at once
    #[inline(always)]
    pub(crate) fn of_range(low: f32, high: f32) -> Quantisation {
        // Not the least positive number: multiplied by the scale of a column of weights, it would become a subnormal float, and Intel's processors are slow
        // with those.
        let scale = ((high - low) / 255.0).max(1e-30);
        Quantisation {
            scale,
            // rounded to the nearest: low is not above zero, so the sum is positive
            zero_point: (0.5 - low / scale) as i32 as f32,
        }
    }

    /// The byte that stands for zero.
    pub(crate) fn zero_byte(self) -> u8 {
        self.zero_point as u8
    }
}

impl Int8Weights {
    /// Quantises `count` pixels, each by the range of its own numbers.
    ///
    /// Pixel `p` is the `length` numbers from `p · step` on. Returns the number of bytes from one pixel to the next: whole cache lines, because AMX
    /// loads tiles line by line. The padding behind the bytes of a pixel is multiplied by zero. `quantisations` gets one entry for each pixel.
    ///
    /// # Panics
    /// If a pixel lies beyond the numbers or has another length than the weights have rows.
    pub(crate) fn quantise_pixels(
        &self,
        numbers: &[f32],
        length: usize,
        step: usize,
        count: usize,
        bytes: &mut Aligned<u8>,
        quantisations: &mut Vec<Quantisation>,
    ) -> usize {
        assert!(length.next_multiple_of(4) == self.rows);
        assert!(holds(numbers.len(), count, step, length));
        let line = self.rows.next_multiple_of(LINE);
        bytes.grow(count * line);
        quantisations.clear();
        quantisations.resize(count, Quantisation::of_range(0.0, 0.0));
        let pixels = Pixels {
            numbers,
            length,
            step,
        };
        let bytes = &mut bytes[..count * line];
        // SAFETY: the machine has the instructions, by the invariant of `Instructions`
        unsafe { (self.instructions.quantise_pixels)(pixels, line, bytes, quantisations) }
        line
    }

    /// The least and the greatest number, with zero as one of them.
    pub fn range(&self, numbers: &[f32]) -> (f32, f32) {
        // SAFETY: the machine has the instructions, by the invariant of `Instructions`
        unsafe { (self.instructions.range)(numbers) }
    }

    /// Quantises the numbers into the first bytes of `to`.
    ///
    /// # Panics
    /// If there are fewer bytes than numbers.
    pub(crate) fn quantise(&self, numbers: &[f32], quantisation: Quantisation, to: &mut [u8]) {
        let to = &mut to[..numbers.len()];
        // SAFETY: the machine has the instructions, by the invariant of `Instructions`
        unsafe { (self.instructions.quantise)(numbers, quantisation, to) }
    }

    /// Multiplies each number of a row by its factor, clips the products at `times` their RMS, so that outliers do not cost the other numbers
    /// precision, and quantises them. `row` gets the clipped products, and `outliers` a row with the excess of each.
    ///
    /// # Panics
    /// If the numbers, the factors and `row` differ in length, or `to` is shorter.
    pub fn prepare(
        &self,
        numbers: &[f32],
        (factors, times): (&[f32], f32),
        row: &mut [f32],
        outliers: &mut Outliers,
        to: &mut [u8],
    ) -> Quantisation {
        assert!(numbers.len() == factors.len() && numbers.len() == row.len());
        let to = &mut to[..numbers.len()];
        // SAFETY: the machine has the instructions, by the invariant of `Instructions`
        unsafe { (self.instructions.prepare)(numbers, factors, times, row, outliers, to) }
    }
}

/// What is added to the sums of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InitialSums<'a> {
    Bias,
    /// (count, columns)
    Numbers(&'a [f32]),
    /// The numbers in `out`.
    Out,
}

/// `out[m] = activation(bias + Σ window m · weights)` for each window, as [`super::kernel::Product`], with the operands in
/// bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Int8Product<'a> {
    /// `length` must be a multiple of four.
    pub windows: SlidingWindows<'a, u8>,
    /// How each window was quantised, or a single entry for all.
    pub quantisations: &'a [Quantisation],
    pub weights: &'a Int8Weights,
    pub begin: InitialSums<'a>,
    /// The excess of clipped numbers ([`Int8Weights::prepare`]), a row for each window. Excludes an activation.
    pub outliers: Option<&'a Outliers>,
    pub activation: ConvActivation,
}

impl<'a> Int8Product<'a> {
    /// The product with the bias.
    pub fn new(
        windows: SlidingWindows<'a, u8>,
        quantisations: &'a [Quantisation],
        weights: &'a Int8Weights,
        activation: ConvActivation,
    ) -> Self {
        Int8Product {
            windows,
            quantisations,
            weights,
            begin: InitialSums::Bias,
            outliers: None,
            activation,
        }
    }

    /// Computes the product into `out`, which has a row for each window.
    ///
    /// # Panics
    /// - A window reaches beyond its rows, or does not have as many bytes as the weights have rows.
    /// - There is neither one quantisation nor one for each window.
    /// - There are fewer initial sums than results.
    /// - `outliers` has fewer rows than there are windows, has positions that the weights lack, or comes with an activation.
    /// - The results do not fit into `out`.
    pub fn run(self, out: &mut [f32]) {
        let windows = self.windows;
        let columns = self.weights.columns();
        assert!(windows.length.is_multiple_of(4) && windows.size() == self.weights.rows);
        assert!(windows.fit());
        assert!(self.quantisations.len() == 1 || self.quantisations.len() >= windows.count);
        let fits = |numbers: &[f32]| holds(numbers.len(), windows.count, columns, columns);
        let begins = match self.begin {
            InitialSums::Numbers(numbers) => fits(numbers),
            InitialSums::Bias | InitialSums::Out => true,
        };
        assert!(begins && fits(out));
        let has_rows = |outliers: &Outliers| {
            let fours = self.weights.rows / 4;
            outliers.rows.len() >= windows.count
                && outliers.fours.iter().all(|four| (*four as usize) < fours)
        };
        assert!(self.outliers.is_none_or(has_rows));
        assert!(self.outliers.is_none() || self.activation == ConvActivation::None);
        // SAFETY: the machine has the instructions, by the invariant of `Instructions`; the bounds are asserted above
        unsafe { (self.weights.instructions.product)(self, out) }
    }
}

#[cfg(test)]
mod tests;
