//! The kernels of products in int8, once for each width of vectors.

#![expect(
    unsafe_code,
    reason = "vectors are loaded and stored by pointer and need instructions that are detected at run time; the callers in `super` assert the bounds"
)]

#[cfg(target_arch = "x86_64")]
use super::far::cut_vector;
use super::far::{Far, cut_each};
use super::{Instructions, Int8Product, Quantisation};
use crate::conv::kernel::Activation;

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
     $load_int:ident, $store_int:ident, $zero_int:ident, $set_int:ident, $dot:ident, $to_float:ident, $cut:ident, |$x:ident, $to:ident| $narrowed:expr) => {
        pub(super) mod $name {
            #[allow(clippy::wildcard_imports)]
            use $intrinsics::*;

            use std::ops::Range;

            use super::{
                Activation, Far, HARD_SIGMOID, HARD_SWISH, Instructions, Int8Product, NONE,
                Quantisation, RELU, $cut,
            };

            pub(in super::super) const INSTRUCTIONS: Instructions = Instructions {
                name: $label,
                lanes: LANES,
                range,
                quantise,
                scale,
                product,
            };

            /// 32-bit numbers in a vector.
            const LANES: usize = $lanes;
            /// Rows that [`add_far`] takes at a time.
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
                far: &mut Far,
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
                far.make_room(numbers.len());
                let (parts, rest) = to.as_chunks_mut::<16>();
                let mut place = 0;
                for part in parts {
                    // SAFETY: there is room for all numbers, and the machine has the instructions of this module
                    unsafe { $cut(part, limit, place, far) };
                    place += 16;
                }
                for (place, x) in (place..).zip(rest) {
                    far.cut(place, x, limit);
                }
                far.end_row();
            }

            /// Multiplies what was cut off some windows by its rows of the weights, and adds the products to the results: those of `WIDTH` vectors of columns
            /// from `column` on.
            ///
            /// # Safety
            /// As for [`tile`], and the weights have a row for each place in `far`.
            #[$attribute]
            #[allow(clippy::needless_range_loop)]
            unsafe fn add_far<const WIDTH: usize>(
                of: &Int8Product,
                windows: Range<usize>,
                far: &Far,
                column: usize,
                panel: &[i8],
                out: *mut f32,
            ) {
                let weights = of.weights;
                let columns = weights.columns();
                for m in windows {
                    let numbers = far.row(m);
                    let places = far.places[numbers.clone()].chunks(ROWS);
                    let missing = far.missing[numbers].chunks(ROWS);
                    // four at a time, because the last bits of stored outputs depend on how many numbers are summed before the scale
                    for (places, missing) in places.zip(missing) {
                        // SAFETY: a panel has `WIDTH` vectors of bytes for every four rows, and the caller guarantees the rows, the columns, which the scales
                        // have, too, and that the results of window `m` are in `out`
                        unsafe {
                            let mut sums = [$zero(); WIDTH];
                            for (&row, &by) in places.iter().zip(missing) {
                                // a product with 1 and three zeros is the byte of the row
                                let one = $set_int(1 << (8 * (row % 4)));
                                let by = $set(by);
                                let four = row as usize / 4 * WIDTH * LANES * 4;
                                let four = panel.as_ptr().add(four);
                                for v in 0..WIDTH {
                                    let bytes = $load_int(four.add(v * LANES * 4).cast());
                                    let bytes = $to_float($dot($zero_int(), one, bytes));
                                    sums[v] = $fma(by, bytes, sums[v]);
                                }
                            }
                            for v in 0..WIDTH {
                                let scale = $load(weights.scale.as_ptr().add(column + v * LANES));
                                let out = out.add(m * columns + column + v * LANES);
                                $store(out, $fma(sums[v], scale, $load(out)));
                            }
                        }
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
                        let windows = from..from + group;
                        // SAFETY: the windows end at `count`, and the tiles have written the sums of the panel's columns
                        unsafe {
                            match width {
                                3 => finish_panel::<3>(&of, windows, column, data, out),
                                2 => finish_panel::<2>(&of, windows, column, data, out),
                                _ => finish_panel::<1>(&of, windows, column, data, out),
                            }
                        }
                        column += width * LANES;
                        data = &data[width * LANES * weights.rows..];
                    }
                    from += group;
                }
            }

            /// Replaces the integer sums of some windows by the results: those of `WIDTH` vectors of columns from `column` on.
            ///
            /// # Safety
            /// As for [`finish`] and [`add_far`].
            #[$attribute]
            unsafe fn finish_panel<const WIDTH: usize>(
                of: &Int8Product,
                windows: Range<usize>,
                column: usize,
                panel: &[i8],
                out: *mut f32,
            ) {
                let columns = column..column + WIDTH * LANES;
                let rows = windows.clone();
                // SAFETY: the caller guarantees it
                unsafe {
                    match of.activation {
                        Activation::None => finish::<NONE>(of, rows, columns, (0.0, 0.0), out),
                        Activation::Relu => finish::<RELU>(of, rows, columns, (0.0, 0.0), out),
                        Activation::HardSwish { scale, shift } => {
                            finish::<HARD_SWISH>(of, rows, columns, (scale / 6.0, shift), out);
                        }
                        Activation::HardSigmoid { scale, shift } => {
                            finish::<HARD_SIGMOID>(of, rows, columns, (scale, shift), out);
                        }
                    }
                    if let Some(far) = of.far {
                        add_far::<WIDTH>(of, windows, far, column, panel, out);
                    }
                }
            }

            /// Replaces the integer sums of some windows by the results: dequantised, with bias and the activation of this kind,
            /// which has a scale and a shift.
            ///
            /// # Safety
            /// As for [`product`]. The windows end at `count` at the latest, `out` points to the results, and those of the windows
            /// in these columns are 32-bit integers. The columns are whole vectors.
            #[$attribute]
            unsafe fn finish<const KIND: u8>(
                of: &Int8Product,
                windows: Range<usize>,
                wanted: Range<usize>,
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
                for column in wanted.step_by(LANES) {
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
    cut_vector,
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
    cut_each,
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
    super::super::tests::arrays,
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
    cut_each,
    |x, to| to.cast::<[u8; 4]>().write(x.map(|x| (x.round_ties_even() as i32).clamp(0, 255) as u8))
);
