//! Means over a feature map, and weighted sums of feature maps.

use std::array;
use std::ops::Range;

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp};

use super::buffers::{BufferPool, FeatureMap, Shape, ValueId, computed};
use super::kernel::CHANNEL_BLOCK;
use super::rows::{ByRows, MapRows, RowSpan};
use super::usual_or_miri;
use crate::error::{Error, Result, ensure};

/// `map · (gate + constant)`, channel by channel, upsampled by nearest neighbour.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    pub map: ValueId,
    /// A map of one pixel: a factor for each channel. None counts as zero.
    pub gate: Option<ValueId>,
    pub constant: f32,
    /// Factor by which each pixel is repeated across and down.
    pub upsampling: usize,
}

/// Mean over all pixels: a map of one pixel.
///
/// # Errors
/// The map has too many channels.
pub(super) fn global_mean(input: &FeatureMap, pool: &mut BufferPool) -> Result<FeatureMap> {
    let mut out = pool.map(1, 1, input.channels, input.stride)?;
    SumPixels {
        pixels: &input.data,
        sums: &mut out.data,
    }
    .dispatch();
    let count = (input.height * input.width).max(1) as f32;
    out.data.iter_mut().for_each(|sum| *sum /= count);
    Ok(out)
}

/// `sums[channel] = Σ pixels[.., channel]`
struct SumPixels<'a, 'b> {
    pixels: &'a [f32],
    sums: &'b mut [f32],
}

/// Pixels in a partial sum. A single sum over a large map would lose precision.
const PARTIAL_SUM: usize = 256;

impl SimdOp for SumPixels<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(mut self, isa: I) {
        let lanes = isa.f32().len();
        self.sums.fill(0.0);
        let (mut channel, mut left) = (0, self.sums.len() / lanes);
        while left >= 4 {
            self.sum_vectors::<I, 4>(isa, channel);
            (channel, left) = (channel + 4 * lanes, left - 4);
        }
        while left >= 2 {
            self.sum_vectors::<I, 2>(isa, channel);
            (channel, left) = (channel + 2 * lanes, left - 2);
        }
        if left == 1 {
            self.sum_vectors::<I, 1>(isa, channel);
        }
    }
}

impl SumPixels<'_, '_> {
    /// Sums `N` vectors of channels from `first` on: several at once, because each addition waits for the one before.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    fn sum_vectors<I: Isa, const N: usize>(&mut self, isa: I, first: usize) {
        let ops = isa.f32();
        let (lanes, stride) = (ops.len(), self.sums.len());
        let mut totals = [ops.zero(); N];
        for part in self.pixels.chunks(PARTIAL_SUM * stride) {
            let mut sums = [ops.zero(); N];
            for pixel in part.chunks_exact(stride) {
                for n in 0..N {
                    sums[n] = ops.add(sums[n], ops.load(&pixel[first + n * lanes..]));
                }
            }
            for n in 0..N {
                totals[n] = ops.add(totals[n], sums[n]);
            }
        }
        for n in 0..N {
            ops.store(totals[n], &mut self.sums[first + n * lanes..]);
        }
    }
}

/// Mean over windows of `rows` by `columns` pixels that do not overlap. Pixels at the right and bottom that fill no window are left out.
///
/// # Errors
/// The map is smaller than a window.
pub(super) fn average_pool(
    input: Shape,
    (rows, columns): (usize, usize),
) -> Result<Box<dyn ByRows>> {
    let (height, width) = (input.height / rows, input.width / columns);
    ensure!(
        height > 0 && width > 0,
        Input,
        "the image is too small for the network"
    );
    Ok(Box::new(AveragePool {
        shape: Shape {
            height,
            width,
            ..input
        },
        kernel: (rows, columns),
    }))
}

struct AveragePool {
    shape: Shape,
    kernel: (usize, usize),
}

impl ByRows for AveragePool {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn span(&self) -> RowSpan {
        let (kernel, stride) = (self.kernel.0, self.kernel.0);
        RowSpan::Window {
            kernel,
            stride,
            padding: 0,
        }
    }

    fn run(&mut self, input: &MapRows, rows: Range<usize>, out: &mut [f32], _: &mut BufferPool) {
        let Shape { width, stride, .. } = self.shape;
        let (down, across) = self.kernel;
        let share = 1.0 / (down * across) as f32;
        for (n, pixel) in out.chunks_mut(stride).enumerate() {
            let (y, x) = (rows.start + n / width, n % width);
            pixel.fill(0.0);
            for row in y * down..(y + 1) * down {
                let row = input.at(row);
                for column in x * across..(x + 1) * across {
                    for (sum, number) in pixel.iter_mut().zip(&row[column * stride..]) {
                        *sum += number * share;
                    }
                }
            }
        }
    }
}

fn without_terms() -> Error {
    Error::Unsupported("a sum without terms".to_owned())
}

/// Computes each part, a sum of terms, and concatenates the channels of the parts. The rows of the value `before` are those that the step before computes; the
/// others are in `maps`.
///
/// # Errors
/// A part has no terms, its terms have different sizes or channels, or a gate has other channels than its map.
pub(super) fn weighted_sum<'a>(
    parts: &[Vec<Term>],
    maps: &'a [Option<FeatureMap>],
    before: Option<(ValueId, Shape)>,
) -> Result<Box<dyn ByRows + 'a>> {
    let mut span = RowSpan::SAME;
    let mut size = None;
    let mut channels = 0;
    let mut summed = Vec::new();
    for part in parts {
        let mut terms = Vec::new();
        for term in part {
            let (rows, shape) = match before {
                Some((value, shape)) if value == term.map => {
                    span = RowSpan::Repeated(term.upsampling);
                    (None, shape)
                }
                _ => {
                    let rows = MapRows::of(computed(maps, term.map)?);
                    (Some(rows), rows.shape)
                }
            };
            // the factor is at most MAX_EXTENT
            let upsampled = (
                shape.height * term.upsampling,
                shape.width * term.upsampling,
            );
            ensure!(
                *size.get_or_insert(upsampled) == upsampled,
                Unsupported,
                "the network adds maps of different sizes"
            );
            let factor: Vec<f32> = match term.gate {
                Some(gate) => {
                    let gate = &computed(maps, gate)?.data;
                    gate.iter().map(|g| g + term.constant).collect()
                }
                None => vec![term.constant; shape.stride],
            };
            ensure!(
                factor.len() == shape.stride,
                Unsupported,
                "a map and its gate have different numbers of channels"
            );
            terms.push(Summand {
                rows,
                channels: shape.channels,
                factor,
                upsampling: term.upsampling,
            });
        }
        let of_part = terms.first().ok_or_else(without_terms)?.channels;
        ensure!(
            terms.iter().all(|term| term.channels == of_part),
            Unsupported,
            "the network adds maps with different numbers of channels"
        );
        channels += of_part;
        summed.push(terms);
    }
    let (height, width) = size.ok_or_else(without_terms)?;
    Ok(Box::new(WeightedSum {
        parts: summed,
        shape: Shape {
            height,
            width,
            channels,
            stride: channels.next_multiple_of(CHANNEL_BLOCK),
        },
        span,
    }))
}

/// A term of a sum.
struct Summand<'a> {
    /// None if they are those of the step before.
    rows: Option<MapRows<'a>>,
    channels: usize,
    /// One number for each channel, padding included.
    factor: Vec<f32>,
    upsampling: usize,
}

struct WeightedSum<'a> {
    parts: Vec<Vec<Summand<'a>>>,
    shape: Shape,
    span: RowSpan,
}

impl ByRows for WeightedSum<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn span(&self) -> RowSpan {
        self.span
    }

    fn run(&mut self, input: &MapRows, rows: Range<usize>, out: &mut [f32], _: &mut BufferPool) {
        // padding that no part writes must be finite
        if self.shape.channels != self.shape.stride {
            out.fill(0.0);
        }
        SumRows {
            sum: self,
            input,
            rows,
            out,
        }
        .dispatch();
    }
}

/// Pixels of a row that are computed for all terms before the next ones. Those of 96 channels take 24 KB.
const PIXELS: usize = usual_or_miri(64, 8);

/// Rows of a [`WeightedSum`].
struct SumRows<'a, 'b> {
    sum: &'a WeightedSum<'a>,
    input: &'a MapRows<'a>,
    rows: Range<usize>,
    out: &'b mut [f32],
}

impl SimdOp for SumRows<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let WeightedSum { parts, shape, .. } = self.sum;
        let divides = |term: &Summand| PIXELS.is_multiple_of(term.upsampling);
        let pixels = match parts.iter().flatten().all(divides) {
            true => PIXELS,
            false => shape.width.max(1),
        };
        for (y, row) in self.rows.zip(self.out.chunks_mut(shape.row())) {
            for (n, some) in row.chunks_mut(pixels * shape.stride).enumerate() {
                let mut offset = 0;
                for terms in parts {
                    let channels = terms.first().map_or(0, |term| term.channels);
                    for (of_part, term) in terms.iter().enumerate() {
                        let from = term.rows.as_ref().unwrap_or(self.input);
                        let step = from.shape.stride;
                        let first = n * pixels / term.upsampling;
                        let scaled = Scaled {
                            from: &from.at(y / term.upsampling)[first * step..],
                            from_step: step,
                            repeat: term.upsampling,
                            factor: &term.factor,
                            // with one part, its padding may be written too, so that only whole vectors are computed
                            channels: if parts.len() > 1 { channels } else { step },
                            out_step: shape.stride,
                        };
                        match of_part {
                            0 => scaled.add::<I, true>(isa, &mut some[offset..]),
                            _ => scaled.add::<I, false>(isa, &mut some[offset..]),
                        }
                    }
                    offset += channels;
                }
            }
        }
    }
}

/// Some pixels of a row of a map, each multiplied by a factor for each channel, and repeated: `from[x / repeat] · factor`.
struct Scaled<'a> {
    /// (pixels, `from_step`)
    from: &'a [f32],
    from_step: usize,
    repeat: usize,
    /// One number for each channel.
    factor: &'a [f32],
    /// Channels that are computed.
    channels: usize,
    /// Numbers from a pixel of the output to the next one.
    out_step: usize,
}

impl Scaled<'_> {
    /// Adds the products to `out`, (repeated pixels, `out_step`). With `OVERWRITE`, they take the place of what is there.
    #[inline(always)]
    fn add<I: Isa, const OVERWRITE: bool>(&self, isa: I, out: &mut [f32]) {
        let lanes = isa.f32().len();
        let mut channel = 0;
        let mut left = self.channels / lanes;
        while left >= 6 {
            self.add_vectors::<I, OVERWRITE, 6>(isa, array::from_fn(|n| channel + n * lanes), out);
            (channel, left) = (channel + 6 * lanes, left - 6);
        }
        while left >= 2 {
            self.add_vectors::<I, OVERWRITE, 2>(isa, [channel, channel + lanes], out);
            (channel, left) = (channel + 2 * lanes, left - 2);
        }
        // a product may be computed twice: the last vector ends at the last channel
        let last = (OVERWRITE && channel + left * lanes < self.channels && lanes <= self.channels)
            .then(|| self.channels - lanes);
        match (left, last) {
            (1, Some(last)) => self.add_vectors::<I, OVERWRITE, 2>(isa, [channel, last], out),
            (1, None) => self.add_vectors::<I, OVERWRITE, 1>(isa, [channel], out),
            (_, Some(last)) => self.add_vectors::<I, OVERWRITE, 1>(isa, [last], out),
            (_, None) => {}
        }
        channel += left * lanes;
        if last.is_some() {
            channel = self.channels;
        }
        if channel == self.channels {
            return;
        }
        let pixels = out.chunks_mut(self.out_step * self.repeat);
        for (from, repeated) in self.from.chunks_exact(self.from_step).zip(pixels) {
            for out in repeated.chunks_mut(self.out_step) {
                for channel in channel..self.channels {
                    let x = from[channel] * self.factor[channel];
                    out[channel] = if OVERWRITE { x } else { out[channel] + x };
                }
            }
        }
    }

    /// Like [`Scaled::add`], for the channels of `N` vectors, which begin at `channels` and whose factors stay in registers.
    #[inline(always)]
    fn add_vectors<I: Isa, const OVERWRITE: bool, const N: usize>(
        &self,
        isa: I,
        channels: [usize; N],
        out: &mut [f32],
    ) {
        let ops = isa.f32();
        // loops, because closures would be calls
        let mut factors = [ops.zero(); N];
        for n in 0..N {
            factors[n] = ops.load(&self.factor[channels[n]..]);
        }
        let mut numbers = [ops.zero(); N];
        let from = self.from.chunks_exact(self.from_step);
        for (from, repeated) in from.zip(out.chunks_mut(self.out_step * self.repeat)) {
            for n in 0..N {
                numbers[n] = ops.load(&from[channels[n]..]);
            }
            for out in repeated.chunks_mut(self.out_step) {
                for n in 0..N {
                    let out = &mut out[channels[n]..];
                    let sum = match OVERWRITE {
                        true => ops.mul(numbers[n], factors[n]),
                        false => ops.mul_add(numbers[n], factors[n], ops.load(out)),
                    };
                    ops.store(sum, out);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::StepChain;
    use super::super::tests::{map, numbers};
    use super::*;

    /// Parts of 24 channels end in half a vector, which is computed with channels of the vector before. Rows have fewer pixels than are computed at a time, or
    /// more; a factor of three does not divide that number.
    #[test]
    fn parts_of_odd_widths_are_concatenated() {
        let sizes = [(4, 2), (usual_or_miri(200, 10), 2), (192, 8), (192, 3)];
        for (width, upsampling) in &sizes[..usual_or_miri(sizes.len(), 2)] {
            check_parts(*width, *upsampling);
        }
    }

    fn check_parts(width: usize, upsampling: usize) {
        let mut pool = BufferPool::default();
        let mut maps = Vec::new();
        let height = 2 * upsampling;
        for (height, width) in [(2, width / upsampling), (height, width)] {
            let mut part = map(height, width, 24);
            part.stride = 32;
            part.data = pool.copy(&numbers(height * width * 32, width as u64));
            maps.push(Some(part));
        }
        let mut gate = map(1, 1, 24);
        gate.stride = 32;
        gate.data = pool.copy(&numbers(32, 7));
        maps.push(Some(gate));
        let term = |map, gate, upsampling| Term {
            map,
            gate,
            constant: 0.5,
            upsampling,
        };
        let parts = [
            vec![term(0, Some(2), upsampling)],
            vec![term(1, None, 1), term(0, Some(2), upsampling)],
            vec![term(1, Some(2), 1)],
        ];
        // several parts, and one whose padding is computed, too
        for parts in [&parts[..], &parts[1..2]] {
            let sum = weighted_sum(parts, &maps, None).unwrap();
            let sum = StepChain::of(sum)
                .run(&MapRows::default(), &mut pool)
                .unwrap();
            let channels = 24 * parts.len();
            assert_eq!((sum.height, sum.width), (height, width));
            assert_eq!(
                (sum.channels, sum.stride),
                (channels, channels.next_multiple_of(16))
            );
            for (n, part) in parts.iter().enumerate() {
                for at in 0..height * width * 24 {
                    let (y, x, channel) = (at / 24 / width, at / 24 % width, at % 24);
                    let expected = part.iter().map(|term| {
                        let from = maps[term.map].as_ref().unwrap();
                        let gate = term
                            .gate
                            .map_or(0.0, |gate| maps[gate].as_ref().unwrap().data[channel]);
                        let at = from.at(y / term.upsampling, x / term.upsampling, channel);
                        at * (gate + term.constant)
                    });
                    let expected = expected.sum::<f32>();
                    let result = sum.at(y, x, 24 * n + channel);
                    assert!((result - expected).abs() < 1e-6, "{n} {y} {x} {channel}");
                }
            }
            if parts.len() > 1 {
                // the numbers between the parts and the next pixel
                assert!(sum.data.chunks(80).all(|pixel| pixel[72..] == [0.0; 8]));
            }
        }
    }
}
