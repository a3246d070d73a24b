//! Matrix products in int8, on machines whose vectors multiply bytes four at a time (AVX-512 VNNI or AVX-VNNI).
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

use super::aligned::Aligned;
use super::kernel::{Activation, CHANNEL_BLOCK, Windows, holds, panels};

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

/// The place of a number in its row, and the number.
pub(crate) type Placed = (u32, f32);

/// What computes [`Int8Weights::scale`].
type Scale = unsafe fn(&[f32], &[f32], f32, &mut [f32], &mut Vec<Placed>);

/// Instructions that multiply bytes, and the kernels that use them.
///
/// Invariant: the machine has the instructions of each value that [`Instructions::detect`] returns or a test makes.
#[derive(Clone, Copy, Debug)]
struct Instructions {
    name: &'static str,
    /// 32-bit numbers in a vector.
    lanes: usize,
    range: unsafe fn(&[f32]) -> (f32, f32),
    quantise: unsafe fn(&[f32], Quantisation, &mut [u8]),
    scale: Scale,
    add_rows: unsafe fn(&Int8Weights, &[Placed], &mut [f32]),
    product: unsafe fn(Int8Product, &mut [f32]),
}

/// The name of the machine's instructions for products in int8; `None` where products are computed in floats.
pub fn int8_instructions() -> Option<&'static str> {
    Instructions::detect().map(|instructions| instructions.name)
}

impl Instructions {
    /// The panels of a matrix with these columns.
    fn panels(&self, columns: usize) -> Vec<usize> {
        let widest = if self.lanes == 8 { 2 } else { 3 };
        panels(columns / self.lanes, widest)
    }

    /// The fastest instructions that this machine has; None if int8 would not be faster than floats.
    fn detect() -> Option<Instructions> {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni")
            {
                return Some(avx512::INSTRUCTIONS);
            }
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("avxvnni")
            {
                return Some(avx2::INSTRUCTIONS);
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
        Some(Int8Weights::pack(weights, bias, Instructions::detect()?))
    }

    fn pack(weights: &[f32], bias: Vec<f32>, instructions: Instructions) -> Int8Weights {
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
        let mut sum = vec![0f32; columns];
        for (row, to) in weights.chunks(columns).zip(bytes.chunks_mut(columns)) {
            let columns = row.iter().zip(&scale).zip(&mut sum);
            for (to, ((weight, scale), sum)) in to.iter_mut().zip(columns) {
                if *scale > 0.0 {
                    *to = nearest(weight / scale) as i8;
                    *sum += f32::from(*to);
                }
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

    /// The weights that were packed by the instructions of this machine, with a bias of zero.
    ///
    /// # Panics
    /// If the bytes are not a matrix with the columns of the scales and sums, or there are no instructions.
    pub fn of_packed(data: &[i8], scale: Vec<f32>, sum: Vec<f32>) -> Int8Weights {
        let instructions = Instructions::detect().expect("they were packed by them");
        let columns = scale.len();
        assert!(
            columns > 0 && columns.is_multiple_of(CHANNEL_BLOCK) && sum.len() == columns,
            "there are {columns} scales and {} sums",
            sum.len()
        );
        let rows = data.len() / columns;
        assert!(rows.is_multiple_of(4) && data.len() == rows * columns);
        Int8Weights {
            panels: instructions.panels(columns),
            instructions,
            data: Aligned::copy_of(data),
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

/// The nearest whole number, as [`f32::round`] for numbers of less than 2^22. Without SSE 4.1, that is a call for each number.
fn nearest(x: f32) -> i32 {
    // not a half but the greatest float below it, because .49999997 + .5 would be rounded to 1
    (x + 0.499_999_97_f32.copysign(x)) as i32
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
    pub(crate) fn of_range(low: f32, high: f32) -> Quantisation {
        let scale = ((high - low) / 255.0).max(f32::MIN_POSITIVE);
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
    /// Pixel `p` is the `length` numbers from `p · step` on. `bytes` becomes (count, [`Int8Weights::rows`]); its padding is
    /// multiplied by zero. `quantisations` gets one entry for each pixel.
    ///
    /// # Panics
    /// If a pixel lies beyond the numbers or has another length than the weights have rows.
    pub(crate) fn quantise_pixels(
        &self,
        numbers: &[f32],
        length: usize,
        step: usize,
        count: usize,
        bytes: &mut Vec<u8>,
        quantisations: &mut Vec<Quantisation>,
    ) {
        assert!(length.next_multiple_of(4) == self.rows);
        assert!(holds(numbers.len(), count, step, length));
        bytes.resize(count * self.rows, 0);
        quantisations.clear();
        for (pixel, to) in bytes.chunks_mut(self.rows).enumerate() {
            let from = &numbers[pixel * step..pixel * step + length];
            let (low, high) = self.range(from);
            let quantisation = Quantisation::of_range(low, high);
            self.quantise(from, quantisation, to);
            quantisations.push(quantisation);
        }
    }

    /// The least and the greatest of the numbers and zero.
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

    /// Multiplies each number by its factor, and cuts off what lies more than `times` the root of the mean square from zero, so that the other
    /// numbers keep their precision. `beyond` gets the place of each number that was cut off, and what is missing.
    ///
    /// # Panics
    /// If there are not as many numbers, factors and places in `to`.
    pub fn scale(
        &self,
        numbers: &[f32],
        factors: &[f32],
        times: f32,
        to: &mut [f32],
        beyond: &mut Vec<Placed>,
    ) {
        assert!(numbers.len() == factors.len() && numbers.len() == to.len());
        // SAFETY: the machine has the instructions, by the invariant of `Instructions`
        unsafe { (self.instructions.scale)(numbers, factors, times, to, beyond) }
    }

    /// Adds the products of these numbers with their rows of the weights to `out`, which has a number for each column.
    ///
    /// # Panics
    /// If the weights have no such row, or `out` has other columns.
    pub fn add_rows(&self, numbers: &[Placed], out: &mut [f32]) {
        assert!(
            out.len() == self.columns()
                && numbers.iter().all(|(row, _)| (*row as usize) < self.rows)
        );
        // SAFETY: the machine has the instructions, by the invariant of `Instructions`; the bounds are asserted above
        unsafe { (self.instructions.add_rows)(self, numbers, out) }
    }
}

/// `out[m] = activation(bias + Σ window m · weights)` for each window, as [`super::kernel::Product`], with the operands in
/// bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Int8Product<'a> {
    /// `length` must be a multiple of four.
    pub windows: Windows<'a, u8>,
    /// How each window was quantised, or a single entry for all.
    pub quantisations: &'a [Quantisation],
    pub weights: &'a Int8Weights,
    /// (count, columns): what each result begins with in place of the bias, if given.
    pub base: Option<&'a [f32]>,
    pub activation: Activation,
}

impl<'a> Int8Product<'a> {
    /// The product whose results begin with the bias.
    pub fn new(
        windows: Windows<'a, u8>,
        quantisations: &'a [Quantisation],
        weights: &'a Int8Weights,
        activation: Activation,
    ) -> Self {
        Int8Product {
            windows,
            quantisations,
            weights,
            base: None,
            activation,
        }
    }

    /// Computes the product into `out`, which has a row for each window.
    ///
    /// # Panics
    /// If a window reaches beyond its rows or does not have as many bytes as the weights have rows, if there is neither one quantisation nor one for
    /// each window, if `base` is shorter than the results, or if these do not fit into `out`.
    pub fn run(self, out: &mut [f32]) {
        let windows = self.windows;
        let columns = self.weights.columns();
        assert!(windows.length.is_multiple_of(4) && windows.size() == self.weights.rows);
        assert!(windows.fit());
        assert!(self.quantisations.len() == 1 || self.quantisations.len() >= windows.count);
        let fits = |numbers: &[f32]| holds(numbers.len(), windows.count, columns, columns);
        assert!(self.base.is_none_or(fits) && fits(out));
        // SAFETY: the machine has the instructions, by the invariant of `Instructions`; the bounds are asserted above
        unsafe { (self.weights.instructions.product)(self, out) }
    }
}

/// The kinds of [`Activation`]. Each has a separate loop, so that no loop has to find out its kind for every vector.
const NONE: u8 = 0;
const RELU: u8 = 1;
const HARD_SWISH: u8 = 2;
const HARD_SIGMOID: u8 = 3;

/// Defines a module with the kernels for vectors of one width. The arguments after the tile heights are the module's
/// intrinsics, by what they do.
macro_rules! kernels {
    ($name:ident, $label:literal, $attribute:meta, $intrinsics:path, lanes $lanes:literal, narrow $narrow:literal, wide $wide:literal,
     $float:ty,
     $load:ident, $store:ident, $set:ident, $zero:ident, $add:ident, $sub:ident, $mul:ident, $fma:ident, $min:ident, $max:ident,
     $load_int:ident, $store_int:ident, $zero_int:ident, $set_int:ident, $dot:ident, $to_float:ident, |$x:ident, $to:ident| $narrowed:expr) => {
        mod $name {
            #[allow(clippy::wildcard_imports)]
            use $intrinsics::*;

            use std::ops::Range;

            use super::{
                Activation, HARD_SIGMOID, HARD_SWISH, Instructions, Int8Product, Int8Weights, NONE,
                Placed, Quantisation, RELU,
            };

            pub(super) const INSTRUCTIONS: Instructions = Instructions {
                name: $label,
                lanes: LANES,
                range,
                quantise,
                scale,
                add_rows,
                product,
            };

            /// 32-bit numbers in a vector.
            const LANES: usize = $lanes;
            /// Rows that [`add_rows`] takes at a time.
            const ROWS: usize = 4;

            /// Rounds the lanes to the nearest integers and stores them as bytes, clamped to [0, 255].
            ///
            /// # Safety
            /// The machine has the instructions of this module. `LANES` bytes may be written at `$to`.
            #[$attribute]
            unsafe fn store_bytes($x: $float, $to: *mut u8) {
                // SAFETY: the store is of `LANES` bytes
                unsafe { $narrowed }
            }

            /// The least and the greatest of the numbers and zero.
            ///
            /// # Safety
            /// The machine has the instructions of this module.
            #[$attribute]
            unsafe fn range(numbers: &[f32]) -> (f32, f32) {
                let (parts, rest) = numbers.as_chunks::<LANES>();
                let (mut low, mut high) = ($zero(), $zero());
                for part in parts {
                    // SAFETY: a part has as many numbers as a vector
                    let x = unsafe { $load(part.as_ptr()) };
                    (low, high) = ($min(low, x), $max(high, x));
                }
                let (mut lows, mut highs) = ([0f32; LANES], [0f32; LANES]);
                // SAFETY: the arrays have as many numbers as a vector
                unsafe {
                    $store(lows.as_mut_ptr(), low);
                    $store(highs.as_mut_ptr(), high);
                }
                // halves are compared with each other: if the numbers were compared one after the other, each would wait for the one before
                let mut half = LANES / 2;
                while half > 0 {
                    for n in 0..half {
                        lows[n] = lows[n].min(lows[n + half]);
                        highs[n] = highs[n].max(highs[n + half]);
                    }
                    half /= 2;
                }
                let low = rest.iter().fold(lows[0], |a, &b| a.min(b));
                let high = rest.iter().fold(highs[0], |a, &b| a.max(b));
                (low, high)
            }

            /// Quantises numbers into as many bytes.
            ///
            /// # Safety
            /// The machine has the instructions of this module.
            #[$attribute]
            unsafe fn quantise(numbers: &[f32], by: Quantisation, to: &mut [u8]) {
                debug_assert!(numbers.len() == to.len());
                let per_step = by.scale.recip();
                let (parts, rest) = numbers.as_chunks::<LANES>();
                let (to_parts, to_rest) = to.as_chunks_mut::<LANES>();
                for (part, to) in parts.iter().zip(to_parts) {
                    // SAFETY: a part has as many numbers as a vector, and as many bytes
                    unsafe {
                        let x = $fma($load(part.as_ptr()), $set(per_step), $set(by.zero_point));
                        store_bytes(x, to.as_mut_ptr());
                    }
                }
                for (number, to) in rest.iter().zip(to_rest) {
                    *to = number.mul_add(per_step, by.zero_point).round_ties_even() as u8;
                }
            }

            /// As [`Int8Weights::scale`].
            ///
            /// # Safety
            /// The machine has the instructions of this module.
            #[$attribute]
            unsafe fn scale(
                numbers: &[f32],
                factors: &[f32],
                times: f32,
                to: &mut [f32],
                beyond: &mut Vec<Placed>,
            ) {
                // sixteen sums, whatever a vector holds, so that all machines cut off the same
                let mut sums = [$zero(); 16 / LANES];
                let (parts, rest) = numbers.as_chunks::<16>();
                let (by, by_rest) = factors.as_chunks::<16>();
                let (to_parts, to_rest) = to.as_chunks_mut::<16>();
                for ((from, by), to) in parts.iter().zip(by).zip(to_parts) {
                    for (n, sum) in sums.iter_mut().enumerate() {
                        // SAFETY: `n` is below the number of vectors that sixteen numbers are
                        unsafe {
                            let x = $load(from.as_ptr().add(n * LANES));
                            let x = $mul(x, $load(by.as_ptr().add(n * LANES)));
                            $store(to.as_mut_ptr().add(n * LANES), x);
                            *sum = $fma(x, x, *sum);
                        }
                    }
                }
                let mut squares = [0f32; 16];
                for (n, sum) in sums.into_iter().enumerate() {
                    // SAFETY: as above
                    unsafe { $store(squares.as_mut_ptr().add(n * LANES), sum) }
                }
                for (((from, by), to), square) in
                    rest.iter().zip(by_rest).zip(to_rest).zip(&mut squares)
                {
                    *to = from * by;
                    *square += *to * *to;
                }
                let mean = squares.iter().sum::<f32>() / numbers.len() as f32;
                let limit = times * mean.sqrt();
                let mut cut = |first: usize, part: &mut [f32]| {
                    // each number is written, and the next one takes its place unless it was cut off: a branch would often be guessed wrongly
                    let mut end = beyond.len();
                    beyond.resize(end + part.len(), (0, 0.0));
                    for (n, x) in part.iter_mut().enumerate() {
                        // not `clamp`, which panics where damaged weights have made the limit no number
                        let most = x.max(-limit).min(limit);
                        beyond[end] = ((first + n) as u32, *x - most);
                        end += usize::from(most != *x);
                        *x = most;
                    }
                    beyond.truncate(end);
                };
                let (parts, rest) = to.as_chunks_mut::<16>();
                let count = parts.len();
                for (n, part) in parts.iter_mut().enumerate() {
                    // the sign of each difference, because the compiler joins signs with vectors
                    let signs = part.iter().map(|x| (limit - x.abs()).to_bits());
                    if signs.fold(0, |all, sign| all | sign) >> 31 == 1 {
                        cut(n * 16, part);
                    }
                }
                cut(count * 16, rest);
            }

            /// As [`Int8Weights::add_rows`].
            ///
            /// # Safety
            /// The machine has the instructions of this module. The weights have all these rows, and `out` has as many numbers as they have columns.
            #[$attribute]
            unsafe fn add_rows(weights: &Int8Weights, numbers: &[Placed], out: &mut [f32]) {
                // so many rows at a time that what does not depend on the column stays in vectors
                for numbers in numbers.chunks(ROWS) {
                    let (mut at, mut bytes, mut times) =
                        ([0; ROWS], [$zero_int(); ROWS], [$zero(); ROWS]);
                    for (n, &(row, by)) in numbers.iter().enumerate() {
                        at[n] = row as usize / 4;
                        // a product with 1 and three zeros is the byte of the row
                        bytes[n] = $set_int(1 << (8 * (row % 4)));
                        times[n] = $set(by);
                    }
                    let (mut column, mut panel) = (0, weights.data.as_ptr());
                    for &width in &weights.panels {
                        for vector in 0..width {
                            // SAFETY: a panel has `width` vectors of bytes for every four rows, and the caller guarantees the rows. The panels'
                            // widths add up to the columns, which the scales and `out` have.
                            unsafe {
                                let mut sum = $zero();
                                for n in 0..ROWS {
                                    let four = panel.add((at[n] * width + vector) * LANES * 4);
                                    let row = $load_int(four.cast());
                                    let row = $to_float($dot($zero_int(), bytes[n], row));
                                    sum = $fma(times[n], row, sum);
                                }
                                let scale = $load(weights.scale.as_ptr().add(column));
                                let out = out.as_mut_ptr().add(column);
                                $store(out, $fma(sum, scale, $load(out)));
                            }
                            column += LANES;
                        }
                        // SAFETY: the panel ends there
                        panel = unsafe { panel.add(width * LANES * weights.rows) };
                    }
                }
            }

            /// Computes the product into `out`.
            ///
            /// # Safety
            /// The machine has the instructions of this module. The windows fit into their rows and have as many bytes as the
            /// weights have rows, a multiple of four; there is one quantisation, or one for each window; `base` has the columns of
            /// each window; and the results fit into `out`.
            #[$attribute]
            // for some widths, the heights of narrow and wide tiles are the same
            #[allow(unreachable_patterns)]
            unsafe fn product(of: Int8Product, out: &mut [f32]) {
                let weights = of.weights;
                let count = of.windows.count;
                let out = out.as_mut_ptr();
                let mut from = 0;
                while from < count {
                    let group = (count - from).min($narrow * 2);
                    let (mut column, mut data) = (0, &*weights.data);
                    for &width in &weights.panels {
                        let (mut m, end) = (from, from + group);
                        while m < end {
                            // SAFETY: the arms take at most `end - m` windows, which end at `count`; the panels' widths add up to the columns; `data`
                            // begins with the panel, which the slicing below keeps true; and the caller guarantees the rest.
                            m += unsafe {
                                match (width, end - m) {
                                    (3, $wide..) => tile::<$wide, 3>(&of, m, column, data, out),
                                    (3, 4..) => tile::<4, 3>(&of, m, column, data, out),
                                    (3, _) => tile::<1, 3>(&of, m, column, data, out),
                                    (2, $narrow..) => tile::<$narrow, 2>(&of, m, column, data, out),
                                    (2, 4..) => tile::<4, 2>(&of, m, column, data, out),
                                    (2, _) => tile::<1, 2>(&of, m, column, data, out),
                                    (_, $narrow..) => tile::<$narrow, 1>(&of, m, column, data, out),
                                    (_, 4..) => tile::<4, 1>(&of, m, column, data, out),
                                    _ => tile::<1, 1>(&of, m, column, data, out),
                                }
                            };
                        }
                        column += width * LANES;
                        data = &data[width * LANES * weights.rows..];
                    }
                    let windows = from..from + group;
                    // SAFETY: the windows end at `count`, and the tiles have written the sums of all their columns
                    unsafe {
                        match of.activation {
                            Activation::None => finish::<NONE>(&of, windows, (0.0, 0.0), out),
                            Activation::Relu => finish::<RELU>(&of, windows, (0.0, 0.0), out),
                            Activation::HardSwish { scale, shift } => {
                                finish::<HARD_SWISH>(&of, windows, (scale / 6.0, shift), out);
                            }
                            Activation::HardSigmoid { scale, shift } => {
                                finish::<HARD_SIGMOID>(&of, windows, (scale, shift), out);
                            }
                        }
                    }
                    from += group;
                }
            }

            /// Replaces the integer sums of some windows by the results: dequantised, with bias and the activation of this kind,
            /// which has a scale and a shift.
            ///
            /// # Safety
            /// As for [`product`]. The windows end at `count` at the latest, `out` points to the results, and those of the windows
            /// are 32-bit integers.
            #[$attribute]
            unsafe fn finish<const KIND: u8>(
                of: &Int8Product,
                windows: Range<usize>,
                (by, plus): (f32, f32),
                out: *mut f32,
            ) {
                let weights = of.weights;
                debug_assert!(windows.end <= of.windows.count);
                let one = of.quantisations.len() == 1;
                let columns = weights.columns();
                // the numbers that the results of each window begin with, and how far they are from window to window
                let (base, step) = match of.base {
                    Some(base) => (base, columns),
                    None => (weights.bias.as_slice(), 0),
                };
                for column in (0..columns).step_by(LANES) {
                    // SAFETY: the columns are a multiple of the lanes, so that a vector from `column` on lies within the
                    // weights' sums, scales and biases, within the base and within the results of each window
                    unsafe {
                        let total = $load(weights.sum.as_ptr().add(column));
                        let column_scale = $load(weights.scale.as_ptr().add(column));
                        for m in windows.clone() {
                            let Quantisation { scale, zero_point } =
                                of.quantisations[if one { 0 } else { m }];
                            let out = out.add(m * columns + column);
                            let sum = $to_float($load_int(out.cast()));
                            let exact = $sub(sum, $mul(total, $set(zero_point)));
                            let begin = $load(base.as_ptr().add(m * step + column));
                            let x = $fma(exact, $mul(column_scale, $set(scale)), begin);
                            let x = match KIND {
                                RELU => $max(x, $zero()),
                                HARD_SWISH => {
                                    let gate = $min($max($add(x, $set(3.0)), $zero()), $set(6.0));
                                    $fma($mul(x, gate), $set(by), $set(plus))
                                }
                                HARD_SIGMOID => {
                                    let gate = $fma(x, $set(by), $set(plus));
                                    $min($max(gate, $zero()), $set(1.0))
                                }
                                _ => x,
                            };
                            $store(out, x);
                        }
                    }
                }
            }

            /// Computes the integer sums of `HEIGHT` windows from `first` on by `WIDTH` vectors of columns from `column` on.
            /// Returns `HEIGHT`.
            ///
            /// # Safety
            /// As for [`product`]. `first + HEIGHT <= count`, `column + WIDTH · LANES <= columns`, and `panel` begins with
            /// the panel of these columns: `WIDTH · LANES` bytes for each row of the weights. `out` points to the results.
            #[$attribute]
            #[allow(clippy::needless_range_loop)]
            unsafe fn tile<const HEIGHT: usize, const WIDTH: usize>(
                of: &Int8Product,
                first: usize,
                column: usize,
                panel: &[i8],
                out: *mut f32,
            ) -> usize {
                let (step, length) = (of.windows.step, of.windows.length);
                let columns = of.weights.columns();
                debug_assert!(first + HEIGHT <= of.windows.count && length % 4 == 0);
                debug_assert!(column + WIDTH * LANES <= columns);
                debug_assert!(panel.len() >= WIDTH * LANES * of.weights.rows);
                // SAFETY: window `first + m` is within each row up to `length` bytes from its start, and four bytes are read at multiples of four
                // below that. `panel` advances by WIDTH vectors for every four bytes of a window, that is, for every four rows of the panel. The
                // results are within `out`.
                unsafe {
                    let mut sums = [[$zero_int(); WIDTH]; HEIGHT];
                    let mut panel = panel.as_ptr();
                    for row in of.windows.rows {
                        let base = row.as_ptr().add(first * step);
                        for four in (0..length).step_by(4) {
                            let mut w = [$zero_int(); WIDTH];
                            for v in 0..WIDTH {
                                w[v] = $load_int(panel.add(v * LANES * 4).cast());
                            }
                            for m in 0..HEIGHT {
                                let a = $set_int(
                                    base.add(m * step + four).cast::<i32>().read_unaligned(),
                                );
                                for v in 0..WIDTH {
                                    sums[m][v] = $dot(sums[m][v], a, w[v]);
                                }
                            }
                            panel = panel.add(WIDTH * LANES * 4);
                        }
                    }
                    // The integers are stored where their results will be, and `finish` goes over them again: with more than
                    // a store after the loop, the compiler keeps the sums in memory during the loop, which halves the speed.
                    let out = out.add(first * columns + column);
                    for m in 0..HEIGHT {
                        for v in 0..WIDTH {
                            $store_int(out.add(m * columns + v * LANES).cast(), sums[m][v]);
                        }
                    }
                }
                HEIGHT
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
kernels!(
    avx512,
    "AVX-512 VNNI",
    target_feature(enable = "avx512f,avx512bw,avx512vnni"),
    std::arch::x86_64,
    lanes 16,
    narrow 12,
    wide 8,
    __m512,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_set1_ps,
    _mm512_setzero_ps,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_mul_ps,
    _mm512_fmadd_ps,
    _mm512_min_ps,
    _mm512_max_ps,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_setzero_si512,
    _mm512_set1_epi32,
    _mm512_dpbusd_epi32,
    _mm512_cvtepi32_ps,
    |x, to| _mm_storeu_si128(
        to.cast(),
        _mm512_cvtusepi32_epi8(_mm512_max_epi32(
            _mm512_cvtps_epi32(x),
            _mm512_setzero_si512()
        ))
    )
);
#[cfg(target_arch = "x86_64")]
kernels!(
    avx2,
    "AVX-VNNI",
    target_feature(enable = "avx2,fma,avxvnni"),
    std::arch::x86_64,
    lanes 8,
    narrow 6,
    wide 4,
    __m256,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_set1_ps,
    _mm256_setzero_ps,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps,
    _mm256_fmadd_ps,
    _mm256_min_ps,
    _mm256_max_ps,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_setzero_si256,
    _mm256_set1_epi32,
    _mm256_dpbusd_avx_epi32,
    _mm256_cvtepi32_ps,
    |x, to| {
        let whole = _mm256_cvtps_epi32(x);
        let words = _mm_packus_epi32(
            _mm256_castsi256_si128(whole),
            _mm256_extracti128_si256::<1>(whole),
        );
        _mm_storel_epi64(to.cast(), _mm_packus_epi16(words, words))
    }
);
// The same kernels over arrays: the reference for the vectors, and what Miri can run.
#[cfg(test)]
kernels!(
    portable,
    "none",
    inline,
    super::tests::arrays,
    lanes 4,
    narrow 6,
    wide 4,
    Floats,
    load,
    store,
    set,
    zero,
    add,
    sub,
    mul,
    fma,
    min,
    max,
    load_int,
    store_int,
    zero_int,
    set_int,
    dot,
    to_float,
    |x, to| to.cast::<[u8; 4]>().write(x.map(|x| (x.round_ties_even() as i32).clamp(0, 255) as u8))
);

#[cfg(test)]
mod tests;
