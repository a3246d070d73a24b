//! The kernels of products in int8, once for each width of vectors.

#![expect(
    unsafe_code,
    reason = "vectors are loaded and stored by pointer and need instructions that are detected at run time; the callers in `super` assert the bounds"
)]

use super::outliers::{OutlierRow, Outliers, clip_each, end_each};
#[cfg(target_arch = "x86_64")]
use super::outliers::{clip_vector, end_vectors};
use super::pairs::PairProduct;
use super::{InitialSums, Instructions, Int8Product, Pixels, Quantisation};
use crate::conv::kernel::ConvActivation;

/// The kinds of [`ConvActivation`], and a product with outliers. Each has a separate loop, so that no loop has to find out its kind for every vector.
const NONE: u8 = 0;
const OUTLIERS: u8 = 4;
const RELU: u8 = 1;
const HARD_SWISH: u8 = 2;
const HARD_SIGMOID: u8 = 3;

/// Where results of some columns come from and go to.
struct Results<'a> {
    column: usize,
    panel: &'a [i8],
    sums: *const i32,
    out: *mut f32,
}

/// Defines a module with the kernels for vectors of one width. The arguments after the tile heights are the module's
/// intrinsics, by what they do.
macro_rules! kernels {
    ($name:ident, $label:literal, $attribute:meta, $intrinsics:path, lanes $lanes:literal, narrow $narrow:literal, wide $wide:literal,
     $float:ty, $ints:ty,
     $load:ident, $store:ident, $set:ident, $zero:ident, $add:ident, $sub:ident, $mul:ident, $fma:ident, $min:ident, $max:ident,
     $load_int:ident, $store_int:ident, $zero_int:ident, $set_int:ident, $add_int:ident, $dot:ident, $dot_pairs:ident, $to_float:ident, $clip:ident, $end:ident, |$x:ident, $to:ident| $narrowed:expr,
     |$four:ident, $to_four:ident| $narrowed_four:expr) => {
        pub(super) mod $name {
            #[allow(clippy::wildcard_imports)]
            use $intrinsics::*;

            use std::mem::MaybeUninit;
            use std::ops::Range;

            use super::{
                ConvActivation, HARD_SIGMOID, HARD_SWISH, InitialSums, Instructions, Int8Product,
                NONE, OUTLIERS, OutlierRow, Outliers, PairProduct, Pixels, Quantisation, RELU,
                Results, $clip, $end,
            };

            pub(in super::super) const INSTRUCTIONS: Instructions = Instructions {
                name: $label,
                lanes: LANES,
                widest: if LANES == 8 { 2 } else { 3 },
                range,
                quantise,
                quantise_pixels,
                prepare,
                product,
                pair_product,
            };

            /// 32-bit numbers in a vector.
            const LANES: usize = $lanes;
            /// Rounds the lanes to the nearest integers and stores them as bytes, clamped to [0, 255].
            ///
            /// # Safety
            /// The machine has the instructions of this module. `LANES` bytes may be written at `$to`.
            #[$attribute]
            unsafe fn store_bytes($x: $float, $to: *mut u8) {
                // SAFETY: the store is of `LANES` bytes
                unsafe { $narrowed }
            }

            /// As `store_bytes`, for four vectors that follow each other.
            ///
            /// # Safety
            /// The machine has the instructions of this module. `4 · LANES` bytes may be written at `$to`.
            #[$attribute]
            unsafe fn store_four($four: [$float; 4], $to_four: *mut u8) {
                // SAFETY: the store is of `4 · LANES` bytes
                unsafe { $narrowed_four }
            }

            /// The least and the greatest of the numbers and zero.
            ///
            /// # Safety
            /// The machine has the instructions of this module.
            #[$attribute]
            unsafe fn range(numbers: &[f32]) -> (f32, f32) {
                // several at a time, because each comparison waits for the one before
                let (fours, rest) = numbers.as_chunks::<{ 4 * LANES }>();
                let (mut lows, mut highs) = ([$zero(); 4], [$zero(); 4]);
                for four in fours {
                    for n in 0..4 {
                        // SAFETY: there are four vectors
                        let x = unsafe { $load(four.as_ptr().add(n * LANES)) };
                        (lows[n], highs[n]) = ($min(lows[n], x), $max(highs[n], x));
                    }
                }
                let (parts, rest) = rest.as_chunks::<LANES>();
                for part in parts {
                    // SAFETY: a part has as many numbers as a vector
                    let x = unsafe { $load(part.as_ptr()) };
                    (lows[0], highs[0]) = ($min(lows[0], x), $max(highs[0], x));
                }
                let low = $min($min(lows[0], lows[1]), $min(lows[2], lows[3]));
                let high = $max($max(highs[0], highs[1]), $max(highs[2], highs[3]));
                // SAFETY: the machine has the instructions
                let (low, high) = unsafe { ends(low, high) };
                let low = rest.iter().fold(low, |a, &b| a.min(b));
                let high = rest.iter().fold(high, |a, &b| a.max(b));
                (low, high)
            }

            /// Quantises numbers into as many bytes.
            ///
            /// # Safety
            /// The machine has the instructions of this module.
            #[$attribute]
            unsafe fn quantise(numbers: &[f32], by: Quantisation, to: &mut [u8]) {
                debug_assert!(numbers.len() == to.len());
                // SAFETY: the machine has the instructions
                unsafe { quantise_by(numbers, by.scale.recip(), by.zero_point, to) }
            }

            /// Quantises numbers into as many bytes: `number · per_step + zero_point`.
            ///
            /// # Safety
            /// The machine has the instructions of this module.
            #[$attribute]
            unsafe fn quantise_by(numbers: &[f32], per_step: f32, zero_point: f32, to: &mut [u8]) {
                let (fours, rest) = numbers.as_chunks::<{ 4 * LANES }>();
                let (to_fours, to_rest) = to.as_chunks_mut::<{ 4 * LANES }>();
                // SAFETY: it is only called with the address of a whole vector of numbers
                let steps = |from: *const f32| unsafe {
                    $fma($load(from), $set(per_step), $set(zero_point))
                };
                for (four, to) in fours.iter().zip(to_fours) {
                    // SAFETY: `four` has the numbers of four vectors, and `to` as many bytes
                    unsafe {
                        let four = [0, 1, 2, 3].map(|n| steps(four.as_ptr().add(n * LANES)));
                        store_four(four, to.as_mut_ptr());
                    }
                }
                let (parts, rest) = rest.as_chunks::<LANES>();
                let (to_parts, to_rest) = to_rest.as_chunks_mut::<LANES>();
                for (part, to) in parts.iter().zip(to_parts) {
                    // SAFETY: a part has as many numbers as a vector, and as many bytes
                    unsafe { store_bytes(steps(part.as_ptr()), to.as_mut_ptr()) };
                }
                for (number, to) in rest.iter().zip(to_rest) {
                    *to = number.mul_add(per_step, zero_point).round_ties_even() as u8;
                }
            }

            /// As [`Int8Weights::quantise_pixels`], with `line` bytes for each pixel. The scales of several pixels are computed together, with
            /// divisions of vectors; otherwise, each pixel would wait for its own division.
            ///
            /// # Safety
            /// The machine has the instructions of this module.
            #[$attribute]
            #[allow(clippy::needless_range_loop)]
            unsafe fn quantise_pixels(
                pixels: Pixels,
                line: usize,
                bytes: &mut [u8],
                quantisations: &mut [Quantisation],
            ) {
                const SOME: usize = 16;
                let (mut lows, mut highs, mut per_step) =
                    ([0f32; SOME], [0f32; SOME], [0f32; SOME]);
                let mut by = [Quantisation::of_range(0.0, 0.0); SOME];
                let groups = quantisations
                    .chunks_mut(SOME)
                    .zip(bytes.chunks_mut(SOME * line));
                for (group, (quantisations, bytes)) in groups.enumerate() {
                    let count = quantisations.len();
                    let pixel = |n: usize| {
                        let from = (SOME * group + n) * pixels.step;
                        &pixels.numbers[from..from + pixels.length]
                    };
                    for n in 0..count {
                        // SAFETY: the machine has the instructions
                        (lows[n], highs[n]) = unsafe { range(pixel(n)) };
                    }
                    for n in 0..SOME {
                        by[n] = Quantisation::of_range(lows[n], highs[n]);
                        per_step[n] = by[n].scale.recip();
                    }
                    quantisations.copy_from_slice(&by[..count]);
                    for (n, to) in bytes.chunks_mut(line).take(count).enumerate() {
                        let to = &mut to[..pixels.length];
                        // SAFETY: the machine has the instructions
                        unsafe { quantise_by(pixel(n), per_step[n], by[n].zero_point, to) };
                    }
                }
            }

            /// As [`Int8Weights::prepare`].
            ///
            /// # Safety
            /// The machine has the instructions of this module.
            #[$attribute]
            unsafe fn prepare(
                numbers: &[f32],
                factors: &[f32],
                times: f32,
                row: &mut [f32],
                outliers: &mut Outliers,
                to: &mut [u8],
            ) -> Quantisation {
                // sixteen sums, whatever a vector holds, so that all machines clip at the same limit
                let mut sums = [$zero(); 16 / LANES];
                let (mut least, mut greatest) = ($zero(), $zero());
                let (parts, rest) = numbers.as_chunks::<16>();
                let (by, by_rest) = factors.as_chunks::<16>();
                let (row_parts, row_rest) = row.as_chunks_mut::<16>();
                for ((from, by), to) in parts.iter().zip(by).zip(row_parts) {
                    for (n, sum) in sums.iter_mut().enumerate() {
                        // SAFETY: `n` is below the number of vectors that sixteen numbers are
                        unsafe {
                            let x = $load(from.as_ptr().add(n * LANES));
                            let x = $mul(x, $load(by.as_ptr().add(n * LANES)));
                            $store(to.as_mut_ptr().add(n * LANES), x);
                            *sum = $fma(x, x, *sum);
                            (least, greatest) = ($min(least, x), $max(greatest, x));
                        }
                    }
                }
                let mut squares = [0f32; 16];
                for (n, sum) in sums.into_iter().enumerate() {
                    // SAFETY: as above
                    unsafe { $store(squares.as_mut_ptr().add(n * LANES), sum) }
                }
                // SAFETY: the machine has the instructions
                let (mut low, mut high) = unsafe { ends(least, greatest) };
                for (((from, by), to), square) in
                    rest.iter().zip(by_rest).zip(row_rest).zip(&mut squares)
                {
                    *to = from * by;
                    *square += *to * *to;
                    (low, high) = (low.min(*to), high.max(*to));
                }
                let mut half = 8;
                while half > 0 {
                    for n in 0..half {
                        squares[n] += squares[n + half];
                    }
                    half /= 2;
                }
                let limit = times * (squares[0] / numbers.len() as f32).sqrt();
                outliers.begin_row(numbers.len());
                let (parts, rest) = row.as_chunks_mut::<16>();
                // in most rows nothing is clipped
                let any = !(low >= -limit && high <= limit);
                let mut place = 0;
                for part in parts.iter_mut().filter(|_| any) {
                    // SAFETY: there is room for all numbers, and the machine has the instructions of this module
                    unsafe { $clip(part, limit, place, outliers) };
                    place += 16;
                }
                for (place, x) in (place..).zip(rest).filter(|_| any) {
                    outliers.clip(place, x, limit);
                }
                let by = Quantisation::of_range(low.max(-limit), high.min(limit));
                // SAFETY: the machine has the instructions, and the places are those of the row
                unsafe {
                    $end(row, limit, outliers);
                    quantise(row, by, to);
                }
                by
            }

            /// The least number in one vector and the greatest number in the other.
            ///
            /// # Safety
            /// The machine has the instructions of this module.
            #[$attribute]
            unsafe fn ends(low: $float, high: $float) -> (f32, f32) {
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
                        // not `min` and `max`, which take several instructions each because of NaN
                        let (low, high) = (lows[n + half], highs[n + half]);
                        lows[n] = if low < lows[n] { low } else { lows[n] };
                        highs[n] = if high > highs[n] { high } else { highs[n] };
                    }
                    half /= 2;
                }
                (lows[0], highs[0])
            }

            /// Computes the product into `out`.
            ///
            /// # Safety
            /// The machine has the instructions of this module. The windows fit into their rows and have as many bytes as the weights have
            /// rows, a multiple of four; there is one quantisation, or one for each window; there are as many initial sums as results; `outliers` has
            /// a row for each window, with positions that the weights have; and the results fit into `out`.
            #[$attribute]
            // for some widths, the heights of narrow and wide tiles are the same
            #[allow(unreachable_patterns)]
            pub(in super::super) unsafe fn product(of: Int8Product, out: &mut [f32]) {
                /// Windows whose sums are computed before they are finished, so that they stay in the cache.
                const GROUP: usize = $narrow * 2;
                let count = of.windows.count;
                let mut sums = [const { MaybeUninit::<i32>::uninit() }; GROUP * 3 * LANES];
                let sums = sums.as_mut_ptr().cast::<i32>();
                let mut from = 0;
                while from < count {
                    let group = (count - from).min(GROUP);
                    let (mut column, mut data) = (0, &*of.weights.data);
                    for &width in &of.weights.panels {
                        let mut done = 0;
                        while done < group {
                            let m = from + done;
                            // SAFETY: the arms take at most as many windows as are left, which end at `count`; `data` begins with the panel, which the
                            // slicing below keeps true; there is room for the sums of a group; and the caller guarantees the rest.
                            done += unsafe {
                                let to = sums.add(done * width * LANES);
                                match (width, group - done) {
                                    (3, $wide..) => tile::<$wide, 3>(&of, m, data, to),
                                    (3, 4..) => tile::<4, 3>(&of, m, data, to),
                                    (3, _) => tile::<1, 3>(&of, m, data, to),
                                    (2, $narrow..) => tile::<$narrow, 2>(&of, m, data, to),
                                    (2, 4..) => tile::<4, 2>(&of, m, data, to),
                                    (2, _) => tile::<1, 2>(&of, m, data, to),
                                    (_, $narrow..) => tile::<$narrow, 1>(&of, m, data, to),
                                    (_, 4..) => tile::<4, 1>(&of, m, data, to),
                                    _ => tile::<1, 1>(&of, m, data, to),
                                }
                            };
                        }
                        let windows = from..from + group;
                        // SAFETY: the windows end at `count`, and the panels' widths add up to the columns; the tiles have written the sums
                        unsafe {
                            match width {
                                3 => finish_panel::<3>(&of, windows, column, data, sums, out),
                                2 => finish_panel::<2>(&of, windows, column, data, sums, out),
                                _ => finish_panel::<1>(&of, windows, column, data, sums, out),
                            }
                        }
                        column += width * LANES;
                        data = &data[width * LANES * of.weights.rows..];
                    }
                    from += group;
                }
            }

            /// Makes results of the integer sums of some windows: those of `WIDTH` vectors of columns from `column` on, whose panel is given.
            ///
            /// # Safety
            /// As for [`finish`].
            #[$attribute]
            pub(in super::super) unsafe fn finish_panel<const WIDTH: usize>(
                of: &Int8Product,
                windows: Range<usize>,
                column: usize,
                panel: &[i8],
                sums: *const i32,
                out: &mut [f32],
            ) {
                let out = Results {
                    column,
                    panel,
                    sums,
                    out: out.as_mut_ptr(),
                };
                let none = (0.0, 0.0);
                // SAFETY: the caller guarantees it
                unsafe {
                    match (of.activation, of.outliers) {
                        (ConvActivation::None, None) => {
                            finish::<NONE, WIDTH>(of, windows, none, out)
                        }
                        (ConvActivation::None, Some(_)) => {
                            finish::<OUTLIERS, WIDTH>(of, windows, none, out)
                        }
                        (ConvActivation::Relu, _) => finish::<RELU, WIDTH>(of, windows, none, out),
                        (ConvActivation::HardSwish { scale, shift }, _) => {
                            finish::<HARD_SWISH, WIDTH>(of, windows, (scale / 6.0, shift), out);
                        }
                        (ConvActivation::HardSigmoid { scale, shift }, _) => {
                            finish::<HARD_SIGMOID, WIDTH>(of, windows, (scale, shift), out);
                        }
                    }
                }
            }

            /// Makes results of the integer sums of some windows: dequantised, with the bias, and with the activation of this kind, which has a scale
            /// and a shift, or the products of the outliers.
            ///
            /// # Safety
            /// As for [`product`]. The windows end at `count` at the latest, `WIDTH` vectors from the column on end at the columns, `panel` begins with their
            /// panel, `sums` points to their sums, window after window, and `out` to the results of all windows.
            #[$attribute]
            #[allow(clippy::needless_range_loop)]
            unsafe fn finish<const KIND: u8, const WIDTH: usize>(
                of: &Int8Product,
                windows: Range<usize>,
                (by, plus): (f32, f32),
                Results {
                    column,
                    panel,
                    mut sums,
                    out,
                }: Results,
            ) {
                let weights = of.weights;
                debug_assert!(windows.end <= of.windows.count);
                let one = of.quantisations.len() == 1;
                let columns = weights.columns();
                // the initial sums of each window, and how far they are from window to window
                let (begin, step) = match of.begin {
                    InitialSums::Bias => (weights.bias.as_ptr(), 0),
                    InitialSums::Numbers(numbers) => (numbers.as_ptr(), columns),
                    InitialSums::Out => (out.cast_const(), columns),
                };
                // SAFETY: vectors from the column on lie within the weights' sums, scales and biases, and within the results and the initial sums of
                // each window, as the caller guarantees
                unsafe {
                    let mut totals = [$zero(); WIDTH];
                    let mut scales = [$zero(); WIDTH];
                    for v in 0..WIDTH {
                        totals[v] = $load(weights.sum.as_ptr().add(column + v * LANES));
                        scales[v] = $load(weights.scale.as_ptr().add(column + v * LANES));
                    }
                    for m in windows {
                        let Quantisation { scale, zero_point } =
                            of.quantisations[if one { 0 } else { m }];
                        let mut results = [$zero(); WIDTH];
                        for v in 0..WIDTH {
                            let sum = $to_float($load_int(sums.add(v * LANES).cast()));
                            let exact = $sub(sum, $mul(totals[v], $set(zero_point)));
                            let begin = $load(begin.add(m * step + column + v * LANES));
                            let x = $fma(exact, $mul(scales[v], $set(scale)), begin);
                            results[v] = match KIND {
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
                        }
                        if let (OUTLIERS, Some(outliers)) = (KIND, of.outliers) {
                            let OutlierRow {
                                above,
                                below,
                                end,
                                step,
                            } = outliers.rows[m];
                            if above < end {
                                let beyond = outlier_sums::<WIDTH>(outliers, above..below, panel);
                                let under = outlier_sums::<WIDTH>(outliers, below..end, panel);
                                for v in 0..WIDTH {
                                    let steps = $sub($to_float(beyond[v]), $to_float(under[v]));
                                    results[v] =
                                        $fma(steps, $mul(scales[v], $set(step)), results[v]);
                                }
                            }
                        }
                        for v in 0..WIDTH {
                            $store(out.add(m * columns + column + v * LANES), results[v]);
                        }
                        sums = sums.add(WIDTH * LANES);
                    }
                }
            }

            /// The sums of the amounts times the bytes of their rows.
            ///
            /// # Safety
            /// For each of the numbers, `panel` has `WIDTH` vectors with the bytes of its four rows.
            #[$attribute]
            #[allow(clippy::needless_range_loop)]
            unsafe fn outlier_sums<const WIDTH: usize>(
                outliers: &Outliers,
                numbers: Range<usize>,
                panel: &[i8],
            ) -> [$ints; WIDTH] {
                // two sums for each vector, because each addition would wait for the one before
                let mut sums = [[$zero_int(); WIDTH]; 2];
                let (fours, amounts) =
                    (&outliers.fours[numbers.clone()], &outliers.amounts[numbers]);
                let (pairs, last) = fours.as_chunks::<2>();
                let (pair_amounts, last_amount) = amounts.as_chunks::<2>();
                // SAFETY: the caller guarantees that the panel has the vectors
                unsafe {
                    for (fours, amounts) in pairs.iter().zip(pair_amounts) {
                        for n in 0..2 {
                            let four = panel.as_ptr().add(fours[n] as usize * WIDTH * LANES * 4);
                            let amount = $set_int(amounts[n].cast_signed());
                            for v in 0..WIDTH {
                                let bytes = $load_int(four.add(v * LANES * 4).cast());
                                sums[n][v] = $dot(sums[n][v], amount, bytes);
                            }
                        }
                    }
                    for (four, amount) in last.iter().zip(last_amount) {
                        let four = panel.as_ptr().add(*four as usize * WIDTH * LANES * 4);
                        let amount = $set_int(amount.cast_signed());
                        for v in 0..WIDTH {
                            let bytes = $load_int(four.add(v * LANES * 4).cast());
                            sums[0][v] = $dot(sums[0][v], amount, bytes);
                        }
                    }
                    for v in 0..WIDTH {
                        sums[0][v] = $add_int(sums[0][v], sums[1][v]);
                    }
                }
                sums[0]
            }

            /// Computes the integer sums of `HEIGHT` windows from `first` on by the `WIDTH` vectors of columns of a panel, window after window. Returns `HEIGHT`.
            ///
            /// # Safety
            /// As for [`product`]. `first + HEIGHT <= count`, and `panel` begins with the panel of these columns: `WIDTH · LANES` bytes for each row of the
            /// weights. There is room for the sums in `to`.
            #[$attribute]
            #[allow(clippy::needless_range_loop)]
            pub(in super::super) unsafe fn tile<const HEIGHT: usize, const WIDTH: usize>(
                of: &Int8Product,
                first: usize,
                panel: &[i8],
                to: *mut i32,
            ) -> usize {
                let (step, length) = (of.windows.step, of.windows.length);
                debug_assert!(first + HEIGHT <= of.windows.count && length % 4 == 0);
                debug_assert!(panel.len() >= WIDTH * LANES * of.weights.rows);
                // SAFETY: window `first + m` is within each row up to `length` bytes from its start, and four bytes are read at multiples of four
                // below that. `panel` advances by WIDTH vectors for every four bytes of a window, that is, for every four rows of the panel.
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
                    // `finish` goes over the sums again: with more than a store after the loop, the compiler keeps the sums in memory during the loop,
                    // which halves the speed
                    for m in 0..HEIGHT {
                        for v in 0..WIDTH {
                            $store_int(to.add((m * WIDTH + v) * LANES).cast(), sums[m][v]);
                        }
                    }
                }
                HEIGHT
            }

            /// Computes the sums of a product of 16-bit numbers.
            ///
            /// # Safety
            /// The machine has the instructions of this module, and what [`PairProduct::run`] asserts is true.
            #[$attribute]
            unsafe fn pair_product(of: PairProduct, out: &mut [i32]) {
                let out = out.as_mut_ptr();
                for column in (0..of.columns).step_by(2 * LANES) {
                    let mut m = 0;
                    while m < of.count {
                        // SAFETY: the arms take at most as many rows as are left; the columns are a multiple of two vectors; and the caller guarantees
                        // the rest
                        m += unsafe {
                            match of.count - m {
                                $narrow.. => pair_tile::<$narrow>(&of, m, column, out),
                                4.. => pair_tile::<4>(&of, m, column, out),
                                _ => pair_tile::<1>(&of, m, column, out),
                            }
                        };
                    }
                }
            }

            /// Computes the sums of `HEIGHT` rows from `first` on by two vectors of columns from `column` on. Returns `HEIGHT`.
            ///
            /// # Safety
            /// As for [`pair_product`]. `first + HEIGHT <= count`, `column + 2 · LANES <= columns`, and `out` points to the sums.
            #[$attribute]
            #[allow(clippy::needless_range_loop)]
            unsafe fn pair_tile<const HEIGHT: usize>(
                of: &PairProduct,
                first: usize,
                column: usize,
                out: *mut i32,
            ) -> usize {
                // SAFETY: row `first + m` has `pairs` pairs of numbers from its beginning on; the matrix has a row of `columns` pairs for each of them, and the
                // caller guarantees the columns and the sums
                unsafe {
                    let mut sums = [[$zero_int(); 2]; HEIGHT];
                    let rows = of.rows.as_ptr().add(first * of.step);
                    for pair in 0..of.pairs {
                        let pairs = of.matrix.as_ptr().add(pair * of.columns + column);
                        let w = [0, 1].map(|v| $load_int(pairs.add(v * LANES).cast()));
                        for m in 0..HEIGHT {
                            let row = rows.add(m * of.step + 2 * pair);
                            let a = $set_int(row.cast::<i32>().read_unaligned());
                            for v in 0..2 {
                                sums[m][v] = $dot_pairs(sums[m][v], a, w[v]);
                            }
                        }
                    }
                    for m in 0..HEIGHT {
                        for v in 0..2 {
                            let out = out.add((first + m) * of.columns + column + v * LANES);
                            $store_int(out.cast(), sums[m][v]);
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
    __m512i,
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
    _mm512_add_epi32,
    _mm512_dpbusd_epi32,
    _mm512_dpwssd_epi32,
    _mm512_cvtepi32_ps,
    clip_vector,
    end_vectors,
    |x, to| _mm_storeu_si128(
        to.cast(),
        _mm512_cvtusepi32_epi8(_mm512_max_epi32(
            _mm512_cvtps_epi32(x),
            _mm512_setzero_si512()
        ))
    ),
    |four, to| {
        let [a, b, c, d] = four.map(|x| _mm512_cvtps_epi32(x));
        let bytes = _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
        let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        _mm512_storeu_si512(to.cast(), _mm512_permutexvar_epi32(order, bytes));
    }
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
    __m256i,
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
    _mm256_add_epi32,
    _mm256_dpbusd_avx_epi32,
    _mm256_dpwssd_avx_epi32,
    _mm256_cvtepi32_ps,
    clip_each,
    end_each,
    |x, to| {
        let whole = _mm256_cvtps_epi32(x);
        let words = _mm_packus_epi32(
            _mm256_castsi256_si128(whole),
            _mm256_extracti128_si256::<1>(whole),
        );
        _mm_storel_epi64(to.cast(), _mm_packus_epi16(words, words))
    },
    |four, to| {
        let [a, b, c, d] = four.map(|x| _mm256_cvtps_epi32(x));
        let bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(bytes, order));
    }
);
// The same kernels over arrays: the reference for the vectors, and what Miri can run.
#[cfg(test)]
kernels!(
    portable,
    "none",
    inline,
    super::super::tests::arrays,
    lanes 4,
    narrow 6,
    wide 4,
    Floats,
    Ints,
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
    add_int,
    dot,
    dot_pairs,
    to_float,
    clip_each,
    end_each,
    |x, to| to.cast::<[u8; 4]>().write(x.map(|x| (x.round_ties_even() as i32).clamp(0, 255) as u8)),
    |four, to| for (n, x) in four.into_iter().enumerate() {
        store_bytes(x, to.add(4 * n));
    }
);
