//! Matrix products in 8 bits, on machines whose vectors multiply bytes four at a time (VNNI).
//!
//! Weights have a scale for each column. The left side has a scale and a zero for each place, taken from the numbers that
//! are there, so that a bright spot does not take digits from the rest. Sums are exact; what is lost is lost in rounding
//! both sides to 8 bits.

use super::kernel::Activation;

/// The right side of a product, for the machine's byte instructions.
#[derive(Clone, Debug)]
pub struct Quantised {
    instructions: Instructions,
    /// Vectors of each panel.
    panels: Vec<usize>,
    /// Panel after panel: four rows of a column next to each other, then the next column, then the next four rows.
    data: Vec<i8>,
    /// Of each column: its scale, the sum of its weights, and its bias.
    scale: Vec<f32>,
    sum: Vec<f32>,
    bias: Vec<f32>,
    rows: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Instructions {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Instructions {
    fn of_this_machine() -> Option<Instructions> {
        #[cfg(target_arch = "x86_64")]
        {
            let has = |all: &[bool]| all.iter().all(|&one| one);
            if has(&[
                is_x86_feature_detected!("avx512f"),
                is_x86_feature_detected!("avx512bw"),
                is_x86_feature_detected!("avx512vnni"),
            ]) {
                return Some(Instructions::Avx512);
            }
            if has(&[
                is_x86_feature_detected!("avx2"),
                is_x86_feature_detected!("fma"),
                is_x86_feature_detected!("avxvnni"),
            ]) {
                return Some(Instructions::Avx2);
            }
        }
        None
    }

    fn lanes(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => 16,
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => 8,
        }
    }
}

impl Quantised {
    /// `weights` is (rows, columns), `bias` one for each column; columns a multiple of 16. None on machines without such
    /// instructions.
    pub fn new(weights: &[f32], bias: Vec<f32>) -> Option<Quantised> {
        let instructions = Instructions::of_this_machine()?;
        let lanes = instructions.lanes();
        let columns = bias.len();
        let rows = weights.len() / columns.max(1);
        let mut scale = vec![0f32; columns];
        for row in weights.chunks(columns) {
            for (scale, weight) in scale.iter_mut().zip(row) {
                *scale = scale.max(weight.abs() / 127.0);
            }
        }
        let byte = |row: usize, column: usize| match weights.get(row * columns + column) {
            Some(weight) if scale[column] > 0.0 => (weight / scale[column]).round() as i8,
            _ => 0,
        };
        let widest = if lanes == 8 { 2 } else { 3 };
        let mut panels = Vec::new();
        let mut data = Vec::new();
        let (mut at, mut left) = (0, columns / lanes);
        while left > 0 {
            let width = if left == 4 && widest == 3 {
                2
            } else {
                left.min(widest)
            };
            for four in (0..rows).step_by(4) {
                for column in at..at + width * lanes {
                    data.extend((four..four + 4).map(|row| byte(row, column)));
                }
            }
            at += width * lanes;
            left -= width;
            panels.push(width);
        }
        let sum = (0..columns)
            .map(|column| (0..rows).map(|row| f32::from(byte(row, column))).sum())
            .collect();
        Some(Quantised {
            instructions,
            panels,
            data,
            scale,
            sum,
            bias,
            rows: rows.next_multiple_of(4),
        })
    }

    pub fn columns(&self) -> usize {
        self.bias.len()
    }

    /// Bytes of a place's left side.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

/// Numbers as bytes: number = (byte - zero) · scale.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub scale: f32,
    pub zero: f32,
}

impl Quantised {
    /// Each of `count` places, the first `length` of its `step` numbers, as [`Quantised::rows`] bytes.
    pub fn places(
        &self,
        numbers: &[f32],
        length: usize,
        step: usize,
        count: usize,
        bytes: &mut Vec<u8>,
        scales: &mut Vec<Scale>,
    ) {
        assert!(
            self.rows - length < 4 && (count == 0 || numbers.len() >= (count - 1) * step + length)
        );
        bytes.resize(count * self.rows, 0);
        scales.clear();
        for (place, to) in bytes.chunks_mut(self.rows).enumerate() {
            let from = &numbers[place * step..place * step + length];
            let (low, high) = self.range(from);
            let scale = Scale::of(low, high);
            self.bytes(from, scale, to);
            scales.push(scale);
        }
    }

    /// The least and the largest of the numbers and zero.
    pub fn range(&self, numbers: &[f32]) -> (f32, f32) {
        match self.instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the machine has these instructions, as they were chosen by it
            Instructions::Avx512 => unsafe { avx512::range(numbers) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above
            Instructions::Avx2 => unsafe { avx2::range(numbers) },
        }
    }

    /// As many bytes as there are numbers.
    pub fn bytes(&self, numbers: &[f32], scale: Scale, to: &mut [u8]) {
        assert!(to.len() >= numbers.len());
        match self.instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the machine has these instructions, as they were chosen by it, and there is a byte for each number
            Instructions::Avx512 => unsafe { avx512::bytes(numbers, scale, to) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above
            Instructions::Avx2 => unsafe { avx2::bytes(numbers, scale, to) },
        }
    }
}

impl Scale {
    /// For numbers from `low` to `high`, zero among them.
    pub fn of(low: f32, high: f32) -> Scale {
        let scale = ((high - low) / 255.0).max(f32::MIN_POSITIVE);
        Scale {
            scale,
            // to the nearest: it is not below zero
            zero: (0.5 - low / scale) as i32 as f32,
        }
    }

    /// What zero is.
    pub fn zero_byte(self) -> u8 {
        self.zero as u8
    }
}

/// `out[m] = activation(bias + Σ window m · weights)` for `count` windows, as [`super::kernel::Product`] has them.
pub struct ByteProduct<'a, 'b> {
    pub rows: &'a [&'a [u8]],
    pub length: usize,
    pub step: usize,
    pub count: usize,
    /// Of each window, or one of all.
    pub scales: &'a [Scale],
    pub weights: &'a Quantised,
    pub activation: Activation,
    pub out: &'b mut [f32],
    pub out_step: usize,
}

impl ByteProduct<'_, '_> {
    pub fn run(self) {
        let columns = self.weights.columns();
        assert!(
            self.length.is_multiple_of(4) && self.rows.len() * self.length == self.weights.rows
        );
        assert!(self.scales.len() == 1 || self.scales.len() >= self.count);
        assert!(
            self.out_step >= columns
                && (self.count == 0
                    || self.out.len() >= (self.count - 1) * self.out_step + columns)
        );
        for row in self.rows {
            assert!(self.count == 0 || row.len() >= (self.count - 1) * self.step + self.length);
        }
        match self.weights.instructions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the machine has these instructions, as they were chosen by it; bounds are asserted above
            Instructions::Avx512 => unsafe { avx512::product(self) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above
            Instructions::Avx2 => unsafe { avx2::product(self) },
        }
    }
}

/// The same code for vectors of both widths.
#[cfg(target_arch = "x86_64")]
macro_rules! instructions {
    ($name:ident, $features:literal, $lanes:literal, $tall:literal, $flat:literal, $float:ty,
     $load:ident, $store:ident, $set:ident, $zero:ident, $add:ident, $sub:ident, $mul:ident, $fma:ident, $min:ident, $max:ident,
     $load_int:ident, $store_int:ident, $zero_int:ident, $set_int:ident, $dot:ident, $to_float:ident, |$x:ident, $to:ident| $narrowed:expr) => {
        mod $name {
            use std::arch::x86_64::*;

            use super::{Activation, ByteProduct, Scale};

            /// Rounds to bytes, as many as there are lanes.
            ///
            /// # Safety
            /// There is so much room at `$to`.
            #[target_feature(enable = $features)]
            unsafe fn narrow($x: $float, $to: *mut u8) {
                // SAFETY: the caller's
                unsafe { $narrowed }
            }

            /// # Safety
            /// None: the vectors' loads and stores are of whole arrays.
            #[target_feature(enable = $features)]
            pub unsafe fn range(numbers: &[f32]) -> (f32, f32) {
                let (parts, rest) = numbers.as_chunks::<$lanes>();
                let (mut low, mut high) = ($zero(), $zero());
                for part in parts {
                    // SAFETY: a part has as many numbers as a vector
                    let x = unsafe { $load(part.as_ptr()) };
                    (low, high) = ($min(low, x), $max(high, x));
                }
                let (mut lows, mut highs) = ([0f32; $lanes], [0f32; $lanes]);
                // SAFETY: as above
                unsafe {
                    $store(lows.as_mut_ptr(), low);
                    $store(highs.as_mut_ptr(), high);
                }
                let low = lows.iter().chain(rest).fold(0f32, |a, &b| a.min(b));
                let high = highs.iter().chain(rest).fold(0f32, |a, &b| a.max(b));
                (low, high)
            }

            /// # Safety
            /// `to` has a byte for each number.
            #[target_feature(enable = $features)]
            pub unsafe fn bytes(numbers: &[f32], scale: Scale, to: &mut [u8]) {
                let by = scale.scale.recip();
                let (parts, rest) = numbers.as_chunks::<$lanes>();
                for (n, part) in parts.iter().enumerate() {
                    // SAFETY: the caller's
                    unsafe {
                        let x = $fma($load(part.as_ptr()), $set(by), $set(scale.zero));
                        narrow(x, to.as_mut_ptr().add(n * $lanes));
                    }
                }
                for (number, to) in rest.iter().zip(&mut to[parts.len() * $lanes..]) {
                    *to = number.mul_add(by, scale.zero).round_ties_even() as u8;
                }
            }

            /// # Safety
            /// The windows lie within `of.rows`, and what they give within `of.out`.
            #[target_feature(enable = $features)]
            // the heights of narrow and wide tiles may be the same
            #[allow(unreachable_patterns)]
            pub unsafe fn product(of: ByteProduct) {
                let weights = of.weights;
                let count = of.count;
                let out = of.out.as_mut_ptr();
                let mut from = 0;
                while from < count {
                    let group = (count - from).min($tall * 2);
                    let (mut column, mut data) = (0, weights.data.as_ptr());
                    for &width in &weights.panels {
                        let (mut m, end) = (from, from + group);
                        while m < end {
                            // SAFETY: the caller's, for tiles that end at `count`
                            m += unsafe {
                                match (width, end - m) {
                                    (3, $flat..) => tile::<$flat, 3>(&of, m, column, data, out),
                                    (3, 4..) => tile::<4, 3>(&of, m, column, data, out),
                                    (3, _) => tile::<1, 3>(&of, m, column, data, out),
                                    (2, $tall..) => tile::<$tall, 2>(&of, m, column, data, out),
                                    (2, 4..) => tile::<4, 2>(&of, m, column, data, out),
                                    (2, _) => tile::<1, 2>(&of, m, column, data, out),
                                    (_, $tall..) => tile::<$tall, 1>(&of, m, column, data, out),
                                    (_, 4..) => tile::<4, 1>(&of, m, column, data, out),
                                    _ => tile::<1, 1>(&of, m, column, data, out),
                                }
                            };
                        }
                        column += width * $lanes;
                        // SAFETY: a panel has so many bytes
                        data = unsafe { data.add(width * $lanes * weights.rows) };
                    }
                    for m in from..from + group {
                        // SAFETY: the tiles have written whole numbers there
                        unsafe { finish(&of, m, out) };
                    }
                    from += group;
                }
            }

            /// Makes of the sums of window `m` what they stand for.
            ///
            /// # Safety
            /// The results begin at `out`, and those of the window are whole numbers.
            #[target_feature(enable = $features)]
            unsafe fn finish(of: &ByteProduct, m: usize, out: *mut f32) {
                let weights = of.weights;
                let one = of.scales.len() == 1;
                let Scale { scale, zero } = of.scales[if one { 0 } else { m }];
                for at in (0..weights.columns()).step_by($lanes) {
                    // SAFETY: the caller's
                    unsafe {
                        let out = out.add(m * of.out_step + at);
                        let sum = $to_float($load_int(out.cast()));
                        let total = $load(weights.sum.as_ptr().add(at));
                        let exact = $sub(sum, $mul(total, $set(zero)));
                        let scales = $mul($load(weights.scale.as_ptr().add(at)), $set(scale));
                        let x = $fma(exact, scales, $load(weights.bias.as_ptr().add(at)));
                        let x = match of.activation {
                            Activation::None => x,
                            Activation::Relu => $max(x, $zero()),
                            Activation::HardSwish { scale, shift } => {
                                let gate = $min($max($add(x, $set(3.0)), $zero()), $set(6.0));
                                $fma($mul(x, gate), $set(scale / 6.0), $set(shift))
                            }
                            Activation::HardSigmoid { scale, shift } => {
                                $min($max($fma(x, $set(scale), $set(shift)), $zero()), $set(1.0))
                            }
                        };
                        $store(out, x);
                    }
                }
            }

            /// As the tiles of floats.
            ///
            /// # Safety
            /// As for `product`, for HEIGHT windows from `first` on; `panel` has WIDTH vectors for each four rows, and
            /// the results begin at `out`.
            #[target_feature(enable = $features)]
            #[allow(clippy::needless_range_loop)]
            unsafe fn tile<const HEIGHT: usize, const WIDTH: usize>(
                of: &ByteProduct,
                first: usize,
                column: usize,
                panel: *const i8,
                out: *mut f32,
            ) -> usize {
                // SAFETY: the caller's
                unsafe {
                    let mut sums = [[$zero_int(); WIDTH]; HEIGHT];
                    let mut panel = panel;
                    for row in of.rows {
                        let base = row.as_ptr().add(first * of.step);
                        for four in (0..of.length).step_by(4) {
                            let mut w = [$zero_int(); WIDTH];
                            for v in 0..WIDTH {
                                w[v] = $load_int(panel.add(v * $lanes * 4).cast());
                            }
                            for m in 0..HEIGHT {
                                let a = $set_int(
                                    base.add(m * of.step + four).cast::<i32>().read_unaligned(),
                                );
                                for v in 0..WIDTH {
                                    sums[m][v] = $dot(sums[m][v], a, w[v]);
                                }
                            }
                            panel = panel.add(WIDTH * $lanes * 4);
                        }
                    }
                    // whole numbers for now, in the place of what they become: with more than a store behind it, the
                    // compiler keeps the sums in memory all along, at half the speed
                    let out = out.add(first * of.out_step + column);
                    for m in 0..HEIGHT {
                        for v in 0..WIDTH {
                            $store_int(out.add(m * of.out_step + v * $lanes).cast(), sums[m][v]);
                        }
                    }
                }
                HEIGHT
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
instructions!(
    avx512,
    "avx512f,avx512bw,avx512vnni",
    16,
    12,
    8,
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
instructions!(
    avx2,
    "avx2,fma,avxvnni",
    8,
    6,
    4,
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Within what rounding both sides to 8 bits can lose, for places of very different brightness.
        #[test]
        fn bytes_give_nearly_the_product_of_floats(
            length in 1usize..70, count in 1usize..40, blocks in 1usize..7,
            seed in prop::collection::vec(-1f32..1.0, 64), bright in prop::collection::vec(0.01f32..100.0, 40)
        ) {
            let columns = blocks * 16;
            let at = |n: usize| seed[n % 64] * seed[(n / 64 + 7 * n) % 64];
            let weights: Vec<f32> = (0..length * columns).map(at).collect();
            let bias: Vec<f32> = (0..columns).map(at).collect();
            let Some(quantised) = Quantised::new(&weights, bias.clone()) else {
                eprintln!("skipped: products in bytes, which this machine has no instructions for");
                return Ok(());
            };
            let step = length + 3;
            let map: Vec<f32> = (0..count * step).map(|n| at(n + 5) * bright[n / step]).collect();
            let (mut bytes, mut scales) = (Vec::new(), Vec::new());
            quantised.places(&map, length, step, count, &mut bytes, &mut scales);
            let mut out = vec![f32::NAN; count * columns];
            ByteProduct {
                rows: &[&bytes], length: quantised.rows(), step: quantised.rows(), count, scales: &scales,
                weights: &quantised, activation: Activation::None, out: &mut out, out_step: columns,
            }
            .run();
            for m in 0..count {
                let place = &map[m * step..m * step + length];
                for n in 0..columns {
                    let column: Vec<f32> = (0..length).map(|k| weights[k * columns + n]).collect();
                    let sum: f32 = place.iter().zip(&column).map(|(x, w)| x * w).sum();
                    let largest = column.iter().fold(0f32, |a, w| a.max(w.abs()));
                    // half a step of each side, times the other side, and both
                    let (x_step, w_step) = (scales[m].scale, largest / 127.0);
                    let lost: f32 = place.iter().zip(&column)
                        .map(|(x, w)| x_step * w.abs() + w_step * x.abs() / 2.0 + x_step * w_step)
                        .sum();
                    let difference = (out[m * columns + n] - sum - bias[n]).abs();
                    prop_assert!(difference <= lost + 1e-4, "{m} {n}: {difference}, at most {lost}");
                }
            }
        }
    }
}
