//! The kernel of depthwise convolutions.

#![expect(
    unsafe_code,
    reason = "vectors are loaded and stored by pointer, because the compiler keeps a bounds check for every load; the entry point asserts the bounds once"
)]

use std::ops::Range;

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp};

use super::{CHANNEL_BLOCK, ConvActivation, activate, holds};

/// A depthwise convolution of some rows of output pixels: for each pixel and channel, the bias and the sum over the kernel's
/// rows and columns of the channel's inputs times its weights. What lies outside the map counts as zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depthwise<'a> {
    /// The input rows under the kernels of the first to the last output row, each (`pixels`, channels). Those above and below the map are empty.
    pub rows: &'a [&'a [f32]],
    /// Pixels in an input row.
    pub pixels: usize,
    /// Rows and columns of the kernel.
    pub kernel: (usize, usize),
    /// Channels, a multiple of [`CHANNEL_BLOCK`].
    pub channels: usize,
    /// Input rows from an output row to the next one, and input pixels from a window to the next one.
    pub stride: (usize, usize),
    /// Columns of padding on the left of the map.
    pub padding: usize,
    /// The columns of the output that are computed: the first one, and the one after the last.
    pub columns: (usize, usize),
    /// Numbers from an output row to the next one.
    pub out_step: usize,
    /// (blocks of channels, kernel rows, kernel columns, [`CHANNEL_BLOCK`])
    pub weights: &'a [f32],
    /// One number for each channel.
    pub bias: &'a [f32],
    pub activation: ConvActivation,
}

impl Depthwise<'_> {
    /// Computes the rows into `out`, each (columns, channels). Their number follows from that of the input rows.
    ///
    /// # Panics
    /// If an input row has another length, the channels are not a multiple of [`CHANNEL_BLOCK`], the weights or the bias have another shape, or the
    /// results do not fit into `out`.
    pub fn run(self, out: &mut [f32]) {
        DepthwiseInto { of: self, out }.dispatch();
    }

    /// The pixel of an input row at which the window of output column `x` begins; negative on the left of the map.
    fn start(&self, x: usize) -> isize {
        (x * self.stride.1) as isize - self.padding as isize
    }

    /// Which of `count` pixels from `start` on lie in the map.
    fn within(&self, start: isize, count: usize) -> Range<usize> {
        let at = |pixel: isize| (pixel - start).clamp(0, count as isize) as usize;
        at(0)..at(self.pixels as isize)
    }

    /// Where the weights of a channel begin. Those of the next element of the kernel are [`CHANNEL_BLOCK`] numbers further.
    fn first_weight(&self, channel: usize) -> usize {
        let in_block = channel % CHANNEL_BLOCK;
        (channel - in_block) * self.kernel.0 * self.kernel.1 + in_block
    }
}

/// Channels that a depthwise convolution computes at a time: the pixels under a tile's windows stay in the first-level cache until the
/// next tile, which reads most of them again.
const CHANNELS_AT_A_TIME: usize = 96;

struct DepthwiseInto<'a, 'b> {
    of: Depthwise<'a>,
    out: &'b mut [f32],
}

impl SimdOp for DepthwiseInto<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let DepthwiseInto { of, out } = self;
        let (channels, (left, right)) = (of.channels, of.columns);
        let (rows, columns) = of.kernel;
        let (down, across) = of.stride;
        assert!(channels.is_multiple_of(CHANNEL_BLOCK) && of.bias.len() == channels);
        assert!(CHANNEL_BLOCK.is_multiple_of(isa.f32().len()));
        assert!(of.weights.len() == rows * columns * channels);
        // the number of output rows that have all their input rows
        let height = match of.rows.len().checked_sub(rows) {
            Some(further) => further / down + 1,
            None => 0,
        };
        let width = right.saturating_sub(left);
        assert!(holds(out.len(), height, of.out_step, width * channels));
        for row in of.rows {
            assert!(row.is_empty() || row.len() == of.pixels * channels);
        }
        // so that places of pixels, also in the padding, can be subtracted without overflow
        let is_place = |n: usize| n <= isize::MAX as usize / 4;
        let last = right
            .checked_mul(across)
            .and_then(|n| n.checked_add(columns));
        assert!(last.is_some_and(is_place) && is_place(of.padding));
        let out = out.as_mut_ptr();
        // columns of a tile
        let together = match (of.kernel, of.stride) {
            ((3, 3), (1 | 2, 1)) => 6,
            ((5, 5), (1 | 2, 1)) => 5,
            ((3, 3), (1 | 2, 2)) | ((5, 5), (2, 2)) => 4,
            _ => 1,
        };
        for from in (0..channels).step_by(CHANNELS_AT_A_TIME) {
            let some = from..channels.min(from + CHANNELS_AT_A_TIME);
            let mut y = 0;
            while y < height {
                let both = y + 2 <= height;
                let mut x = left;
                while x < right {
                    // the last tile begins where it ends with the row: it computes some columns again, which is faster than each by itself
                    if right - x < together && width >= together {
                        x = right - together;
                    }
                    let at = (y, x, &some);
                    // SAFETY: the assertions above hold for all results of the rows below `height` and the columns from `left` to `right`, and `some` are
                    // channels. Each arm takes at most `right - x` columns, and no more rows than there are.
                    x += unsafe {
                        match (of.kernel, of.stride, right - x) {
                            ((3, 3), (1, 1), 6..) => of.tile::<I, 3, 1, 1, 6>(isa, at, both, out),
                            ((3, 3), (2, 1), 6..) => of.tile::<I, 3, 2, 1, 6>(isa, at, both, out),
                            ((3, 3), (1, 2), 4..) => of.tile::<I, 3, 1, 2, 4>(isa, at, both, out),
                            ((3, 3), (2, 2), 4..) => of.tile::<I, 3, 2, 2, 4>(isa, at, both, out),
                            ((5, 5), (1, 1), 5..) => of.tile::<I, 5, 1, 1, 5>(isa, at, both, out),
                            ((5, 5), (2, 1), 5..) => of.tile::<I, 5, 2, 1, 5>(isa, at, both, out),
                            ((5, 5), (2, 2), 4..) => of.tile::<I, 5, 2, 2, 4>(isa, at, both, out),
                            _ => {
                                for y in y..height.min(y + 2) {
                                    of.any_kernel(isa, (y, x, &some), out);
                                }
                                1
                            }
                        }
                    };
                }
                y += 2;
            }
        }
    }
}

/// Loads the cache line at `address` into the cache in advance; the address need not be valid. The pixels of a map lie far apart, so the processor
/// does not foresee the loads of a tile, and a depthwise convolution would spend much of its time waiting for them.
#[inline(always)]
fn prefetch(address: *const f32) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch only moves data into the cache, and an address that is not valid does no harm
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

impl Depthwise<'_> {
    /// Computes `some` channels of `PIXELS` output pixels from column `x` on, in row `top` and, for `both`, in the next one, for a kernel of `SIDE` rows and columns
    /// that moves by `DOWN` rows and `ACROSS` columns. Returns `PIXELS`.
    ///
    /// # Safety
    /// - `some` are channels, from one multiple of the lanes to another.
    /// - `SIDE`, `DOWN` and `ACROSS` are those of the convolution, and the input rows, the weights and the bias have their documented shapes.
    /// - The rows of the windows are in `rows`.
    /// - `x` is not before the first column, and `out` may be written up to the last channel of column `x + PIXELS - 1` of the last row.
    #[inline(always)]
    unsafe fn tile<
        I: Isa,
        const SIDE: usize,
        const DOWN: usize,
        const ACROSS: usize,
        const PIXELS: usize,
    >(
        &self,
        isa: I,
        at: (usize, usize, &Range<usize>),
        both: bool,
        out: *mut f32,
    ) -> usize {
        let reach = (PIXELS - 1) * ACROSS + SIDE;
        let within = self.within(self.start(at.1), reach);
        let is_edge = within != (0..reach);
        // SAFETY: the caller guarantees it
        unsafe {
            match (both, is_edge) {
                (true, false) => {
                    self.tile_part::<I, SIDE, DOWN, ACROSS, PIXELS, 2, false>(isa, at, within, out);
                }
                (true, true) => {
                    self.tile_part::<I, SIDE, DOWN, ACROSS, PIXELS, 2, true>(isa, at, within, out);
                }
                (false, false) => {
                    self.tile_part::<I, SIDE, DOWN, ACROSS, PIXELS, 1, false>(isa, at, within, out);
                }
                (false, true) => {
                    self.tile_part::<I, SIDE, DOWN, ACROSS, PIXELS, 1, true>(isa, at, within, out);
                }
            }
        }
        PIXELS
    }

    /// Computes a tile of `ROWS` rows. At an `EDGE`, only the pixels `within` lie in the map; elsewhere all pixels under the windows do.
    ///
    /// Neighbouring windows read mostly the same pixels. Each is loaded once for all of them, so that the processor waits for arithmetic and not for loads.
    ///
    /// # Safety
    /// As for [`Depthwise::tile`].
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    unsafe fn tile_part<
        I: Isa,
        const SIDE: usize,
        const DOWN: usize,
        const ACROSS: usize,
        const PIXELS: usize,
        const ROWS: usize,
        const EDGE: bool,
    >(
        &self,
        isa: I,
        (top, x, some): (usize, usize, &Range<usize>),
        within: Range<usize>,
        out: *mut f32,
    ) {
        let ops = isa.f32();
        let step = self.channels;
        let reach = (PIXELS - 1) * ACROSS + SIDE;
        let rows = &self.rows[top * DOWN..top * DOWN + (ROWS - 1) * DOWN + SIDE];
        debug_assert!(self.kernel == (SIDE, SIDE) && self.stride == (DOWN, ACROSS));
        debug_assert!(step.is_multiple_of(ops.len()) && x >= self.columns.0);
        debug_assert!(EDGE || within == (0..reach));
        // SAFETY: `channel` is a multiple of the lanes and below `some.end`, which is one, too. So a vector from it on lies within the bias, and within the channels
        // of a pixel, of an element of the kernel and of a result. Only pixels in the map are loaded, and only those of rows that are not empty.
        unsafe {
            let mut channel = some.start;
            while channel < some.end {
                let mut sums = [[ops.load_ptr(self.bias.as_ptr().add(channel)); PIXELS]; ROWS];
                let weights = self.weights.as_ptr().add(self.first_weight(channel));
                for (row, pixels) in rows.iter().enumerate() {
                    if pixels.is_empty() {
                        continue;
                    }
                    let first = self.start(x) * step as isize + channel as isize;
                    let under = KernelRow {
                        pixels: pixels.as_ptr().wrapping_offset(first),
                        step,
                        within: within.clone(),
                        weights: weights.wrapping_add(row * SIDE * CHANNEL_BLOCK),
                    };
                    // the row is under one of the output rows or under both
                    if ROWS == 1 || row < DOWN {
                        under
                            .add::<I, SIDE, DOWN, ACROSS, PIXELS, ROWS, EDGE, 0, 1>(isa, &mut sums);
                    } else if row < SIDE {
                        under
                            .add::<I, SIDE, DOWN, ACROSS, PIXELS, ROWS, EDGE, 0, 2>(isa, &mut sums);
                    } else {
                        under
                            .add::<I, SIDE, DOWN, ACROSS, PIXELS, ROWS, EDGE, 1, 2>(isa, &mut sums);
                    }
                }
                for n in 0..ROWS {
                    let column = x - self.columns.0;
                    let out = out.add((top + n) * self.out_step + column * step + channel);
                    for to in 0..PIXELS {
                        ops.store_ptr(
                            activate(isa, sums[n][to], self.activation),
                            out.add(to * step),
                        );
                    }
                }
                channel += ops.len();
            }
        }
    }

    /// Computes `some` channels of column `x` of output row `y`, for a kernel of any size.
    ///
    /// # Safety
    /// As for [`Depthwise::tile`], for one pixel.
    #[inline(always)]
    unsafe fn any_kernel<I: Isa>(
        &self,
        isa: I,
        (y, x, some): (usize, usize, &Range<usize>),
        out: *mut f32,
    ) {
        let ops = isa.f32();
        let (step, (height, width)) = (self.channels, self.kernel);
        let rows = &self.rows[y * self.stride.0..][..height];
        let start = self.start(x);
        let within = self.within(start, width);
        debug_assert!(step.is_multiple_of(ops.len()) && x >= self.columns.0);
        // SAFETY: as in `tile_part`.
        unsafe {
            let mut channel = some.start;
            while channel < some.end {
                let mut sum = ops.load_ptr(self.bias.as_ptr().add(channel));
                let weights = self.weights.as_ptr().add(self.first_weight(channel));
                for (row, pixels) in rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
                    for column in within.clone() {
                        let pixel = (start + column as isize) as usize;
                        let number = ops.load_ptr(pixels.as_ptr().add(pixel * step + channel));
                        let w = weights.add((row * width + column) * CHANNEL_BLOCK);
                        sum = ops.mul_add(number, ops.load_ptr(w), sum);
                    }
                }
                let at = y * self.out_step + (x - self.columns.0) * step + channel;
                ops.store_ptr(activate(isa, sum, self.activation), out.add(at));
                channel += ops.len();
            }
        }
    }
}

/// The channels of one vector in an input row under a tile.
struct KernelRow {
    /// The first pixel under the tile. It may lie before the row.
    pixels: *const f32,
    /// Numbers from a pixel to the next one.
    step: usize,
    /// The pixels that lie in the map.
    within: Range<usize>,
    /// The weights by which the row is multiplied for the first output row. Those for the second one begin earlier, by as many rows of the kernel as it moves down.
    weights: *const f32,
}

impl KernelRow {
    /// Adds the products of the row's pixels to the sums of the output rows `FROM..TO`, which it is under.
    ///
    /// # Safety
    /// The pixels `within` and the weights of these output rows can be loaded.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    unsafe fn add<
        I: Isa,
        const SIDE: usize,
        const DOWN: usize,
        const ACROSS: usize,
        const PIXELS: usize,
        const ROWS: usize,
        const EDGE: bool,
        const FROM: usize,
        const TO: usize,
    >(
        &self,
        isa: I,
        sums: &mut [[I::F32; PIXELS]; ROWS],
    ) {
        let ops = isa.f32();
        let reach = (PIXELS - 1) * ACROSS + SIDE;
        let mut w = [[ops.zero(); SIDE]; ROWS];
        let mut numbers = [ops.zero(); 16];
        // SAFETY: the caller guarantees it
        unsafe {
            for n in FROM..TO {
                let weights = self.weights.wrapping_sub(n * DOWN * SIDE * CHANNEL_BLOCK);
                for column in 0..SIDE {
                    w[n][column] = ops.load_ptr(weights.add(column * CHANNEL_BLOCK));
                }
            }
            let mut pixel = self.pixels;
            for at in 0..reach {
                if !EDGE || self.within.contains(&at) {
                    numbers[at] = ops.load_ptr(pixel);
                }
                // the pixels of the next tile that this one does not read
                if !EDGE && at + PIXELS * ACROSS >= reach {
                    prefetch(pixel.wrapping_add(PIXELS * ACROSS * self.step));
                }
                pixel = pixel.wrapping_add(self.step);
            }
        }
        for column in 0..SIDE {
            for to in 0..PIXELS {
                for n in FROM..TO {
                    let number = numbers[to * ACROSS + column];
                    sums[n][to] = ops.mul_add(number, w[n][column], sums[n][to]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rten_simd::isa::GenericIsa;

    use super::super::super::tests::{cases, numbers};
    use super::super::super::usual_or_miri;
    use super::*;

    /// Rows and columns of kernels: those with tiles of their own, most often, and others.
    const KERNELS: [(usize, usize); 8] = [
        (3, 3),
        (5, 5),
        (3, 3),
        (5, 5),
        (1, 9),
        (2, 4),
        (4, 1),
        (6, 5),
    ];

    /// The triples of numbers below the three bounds.
    fn triples(a: usize, b: usize, c: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..a).flat_map(move |x| (0..b).flat_map(move |y| (0..c).map(move |z| (x, y, z))))
    }

    proptest! {
        #![proptest_config(cases())]

        #[test]
        fn a_depthwise_convolution_keeps_channels_apart(
            kernel in prop::sample::select(&KERNELS[..]), down in 1usize..4, across in 1usize..4, padding in 0usize..7, left in 0usize..3,
            height in 1usize..usual_or_miri(6, 4), width in 0usize..usual_or_miri(20, 14), pixels in 1usize..usual_or_miri(24, 12),
            blocks in 1usize..usual_or_miri(4, 3), apart in 0usize..3, outside in any::<u16>(), seed: u64
        ) {
            let channels = blocks * CHANNEL_BLOCK;
            let (rows, columns) = kernel;
            // some rows are above or below the map
            let map: Vec<Vec<f32>> = (0..(height - 1) * down + rows)
                .map(|n| if outside >> (n % 16) & 1 == 0 { numbers(pixels * channels, seed ^ n as u64) } else { Vec::new() })
                .collect();
            let slices: Vec<&[f32]> = map.iter().map(Vec::as_slice).collect();
            let weights = numbers(rows * columns * channels, seed.rotate_left(9));
            let bias = numbers(channels, seed.rotate_left(17));
            let out_step = width * channels + apart;
            let of = Depthwise {
                rows: &slices, pixels, kernel, channels, stride: (down, across), padding, columns: (left, left + width), out_step, weights: &weights,
                bias: &bias, activation: ConvActivation::Relu,
            };
            // exactly as many numbers as the results need
            let size = (height - 1) * out_step + width * channels;
            let mut fast = vec![f32::NAN; size];
            of.run(&mut fast);
            let mut portable = vec![f32::NAN; size];
            DepthwiseInto { of, out: &mut portable }.eval(GenericIsa::new());
            for out in [fast, portable] {
                for (y, x, c) in triples(height, width, channels) {
                    let mut sum = bias[c];
                    for (row, map) in map[y * down..y * down + rows].iter().enumerate() {
                        for column in 0..columns {
                            let at = ((left + x) * across + column).checked_sub(padding).filter(|at| *at < pixels && !map.is_empty());
                            let number = at.map_or(0.0, |at| map[at * channels + c]);
                            let element = (c / CHANNEL_BLOCK * rows + row) * columns + column;
                            sum += number * weights[element * CHANNEL_BLOCK + c % CHANNEL_BLOCK];
                        }
                    }
                    let result = out[y * out_step + x * channels + c];
                    prop_assert!((result - sum.max(0.0)).abs() < 1e-4, "{y} {x} {c}");
                }
            }
        }
    }
}
