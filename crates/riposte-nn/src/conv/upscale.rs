//! Two transposed convolutions one after the other, the second with one output channel: the end of a text detector.
//!
//! One after the other they move a map with four times the pixels of the input through memory, and compute a whole vector for the four numbers that
//! an output pixel of the first gives. Here vectors go along a row of the input: each has one channel of neighbouring pixels. Every sum takes its
//! products in the same order, so it has the same bits.

use std::ops::Range;

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp};

use super::buffers::{BufferPool, Shape};
use super::dense::ConvTranspose;
use super::kernel::{ConvActivation, activate};
use super::rows::{ByRows, MapRows, RowSpan};

/// Pixels of the input that are computed together.
const PIXELS: usize = 32;
/// Channels that are computed together. With two vectors of pixels they keep the processor busy, and leave registers free.
const CHANNELS: usize = 4;
/// Output pixels of an input pixel for each of the convolutions.
const ELEMENTS: usize = 4;
/// Output rows of an input row, and output columns of an input column, for both.
const TIMES: usize = 4;

/// Two transposed convolutions with a 2 × 2 kernel and stride 2.
pub(super) struct Upscale {
    in_channels: usize,
    /// For each of the four elements of the first kernel, and each group of [`CHANNELS`] of its output channels: (input channels, [`CHANNELS`]).
    weights: Vec<[f32; CHANNELS]>,
    /// One number for each channel between the convolutions.
    bias: Vec<f32>,
    activation: ConvActivation,
    /// (channels between the convolutions, elements of the second kernel)
    last_weights: Vec<[f32; ELEMENTS]>,
    last_bias: [f32; ELEMENTS],
    last_activation: ConvActivation,
}

impl Upscale {
    /// The two convolutions as one; None if they do not fit together.
    pub(super) fn new(first: &ConvTranspose, last: &ConvTranspose) -> Option<Upscale> {
        let between = first.out_channels;
        let ([upper, lower], [second]) = (first.weights.as_slice(), last.weights.as_slice()) else {
            return None;
        };
        if !between.is_multiple_of(CHANNELS)
            || last.in_channels != between
            || last.out_channels != 1
        {
            return None;
        }
        let mut weights = Vec::new();
        for rows in [upper, lower] {
            let (matrix, columns) = (rows.matrix(), rows.columns());
            for side in [0, columns / 2] {
                for channel in (0..between).step_by(CHANNELS) {
                    let some = side + channel..side + channel + CHANNELS;
                    let rows = matrix.chunks(columns);
                    weights.extend(rows.map(|row| row[some.clone()].first_chunk().copied()));
                }
            }
        }
        let matrix = second.matrix();
        let last_weights = matrix
            .chunks(second.columns())
            .map(|row| row.first_chunk().copied());
        Some(Upscale {
            in_channels: first.in_channels,
            weights: weights.into_iter().collect::<Option<_>>()?,
            bias: upper.bias()[..between].to_vec(),
            activation: first.activation,
            last_weights: last_weights.collect::<Option<_>>()?,
            last_bias: *second.bias().first_chunk()?,
            last_activation: last.activation,
        })
    }

    /// Both convolutions of a map of this shape.
    pub(super) fn by_rows(&self, input: Shape) -> Box<dyn ByRows + '_> {
        Box::new(Quadrupling {
            of: self,
            shape: Shape {
                height: TIMES * input.height,
                width: TIMES * input.width,
                channels: 1,
                stride: 1,
            },
            pixels: vec![[0.0; PIXELS]; self.in_channels],
            between: vec![[0.0; PIXELS]; self.bias.len()],
        })
    }
}

struct Quadrupling<'a> {
    of: &'a Upscale,
    shape: Shape,
    /// (input channels, pixels)
    pixels: Vec<[f32; PIXELS]>,
    /// (channels between the convolutions, pixels)
    between: Vec<[f32; PIXELS]>,
}

impl ByRows for Quadrupling<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn span(&self) -> RowSpan {
        RowSpan::Repeated(TIMES)
    }

    fn multiple(&self) -> usize {
        TIMES
    }

    fn run(&mut self, input: &MapRows, rows: Range<usize>, out: &mut [f32], _: &mut BufferPool) {
        let Shape { width, stride, .. } = input.shape;
        let from = rows.start / TIMES..rows.end.div_ceil(TIMES);
        for (y, out) in from.zip(out.chunks_mut(TIMES * self.shape.row())) {
            let row = input.at(y);
            for first in (0..width).step_by(PIXELS) {
                let from = &row[first * stride..];
                let count = PIXELS.min(width - first);
                for (n, pixel) in from.chunks(stride).take(count).enumerate() {
                    for (to, from) in self.pixels.iter_mut().zip(pixel) {
                        to[n] = *from;
                    }
                }
                // of a last group of fewer pixels, the results of the others are not used
                let mut results = [[[0.0; PIXELS]; TIMES]; TIMES];
                UpscaleInto {
                    of: self.of,
                    pixels: &self.pixels,
                    between: &mut self.between,
                    results: &mut results,
                }
                .dispatch();
                for (out, [a, b, c, d]) in out.chunks_mut(self.shape.row()).zip(&results) {
                    let four = a.iter().zip(b).zip(c).zip(d);
                    let pixels = out[TIMES * first..].as_chunks_mut().0;
                    for (out, (((a, b), c), d)) in pixels.iter_mut().zip(four) {
                        *out = [*a, *b, *c, *d];
                    }
                }
            }
        }
    }
}

/// The output pixels of [`PIXELS`] input pixels.
struct UpscaleInto<'a, 'b> {
    of: &'a Upscale,
    /// (input channels, pixels)
    pixels: &'a [[f32; PIXELS]],
    /// (channels between the convolutions, pixels)
    between: &'b mut [[f32; PIXELS]],
    /// (output rows of an input row, output columns of an input column, pixels)
    results: &'b mut [[[f32; PIXELS]; TIMES]; TIMES],
}

impl SimdOp for UpscaleInto<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ops = isa.f32();
        let lanes = ops.len();
        let of = self.of;
        let mut weights = of.weights.chunks_exact(of.in_channels);
        for element in 0..ELEMENTS {
            let groups = self.between.as_chunks_mut::<CHANNELS>().0.iter_mut();
            for (to, bias) in groups.zip(of.bias.as_chunks::<CHANNELS>().0) {
                let Some(weights) = weights.next() else {
                    return;
                };
                for at in (0..PIXELS).step_by(2 * lanes) {
                    let mut sums = bias.map(|bias| [ops.splat(bias); 2]);
                    for (pixels, weights) in self.pixels.iter().zip(weights) {
                        let x = [ops.load(&pixels[at..]), ops.load(&pixels[at + lanes..])];
                        for (sums, weight) in sums.iter_mut().zip(weights) {
                            let weight = ops.splat(*weight);
                            *sums = [0, 1].map(|n| ops.mul_add(x[n], weight, sums[n]));
                        }
                    }
                    for (sums, to) in sums.into_iter().zip(to.iter_mut()) {
                        for (n, sum) in sums.into_iter().enumerate() {
                            let result = activate(isa, sum, of.activation);
                            ops.store(result, &mut to[at + n * lanes..]);
                        }
                    }
                }
            }
            let (down, across) = (element / 2, element % 2);
            for at in (0..PIXELS).step_by(2 * lanes) {
                let mut sums = of.last_bias.map(|bias| [ops.splat(bias); 2]);
                for (pixels, weights) in self.between.iter().zip(&of.last_weights) {
                    let x = [ops.load(&pixels[at..]), ops.load(&pixels[at + lanes..])];
                    for (sums, weight) in sums.iter_mut().zip(weights) {
                        let weight = ops.splat(*weight);
                        *sums = [0, 1].map(|n| ops.mul_add(x[n], weight, sums[n]));
                    }
                }
                for (n, sums) in sums.into_iter().enumerate() {
                    let to = &mut self.results[2 * down + n / 2][2 * across + n % 2];
                    for (n, sum) in sums.into_iter().enumerate() {
                        let result = activate(isa, sum, of.last_activation);
                        ops.store(result, &mut to[at + n * lanes..]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::PackedWeights;
    use super::super::tests::{alone, map, numbers};
    use super::super::usual_or_miri;
    use super::*;

    #[test]
    fn it_has_the_bits_of_its_two_convolutions() {
        let mut pool = BufferPool::default();
        let bias = numbers(8, 3);
        let mut biases = vec![0.0; 32];
        biases[..8].copy_from_slice(&bias);
        biases[16..24].copy_from_slice(&bias);
        let packed = |seed| {
            let mut matrix = numbers(12 * 32, seed);
            // the padding of each of the two pixels
            for row in matrix.chunks_mut(16) {
                row[8..].fill(0.0);
            }
            PackedWeights::new(&matrix, biases.clone())
        };
        let first = ConvTranspose {
            in_channels: 12,
            out_channels: 8,
            weights: vec![packed(1), packed(2)],
            activation: ConvActivation::Relu,
        };
        let mut last_matrix = numbers(8 * 16, 4);
        for row in last_matrix.chunks_mut(16) {
            row[4..].fill(0.0);
        }
        let last = ConvTranspose {
            in_channels: 8,
            out_channels: 1,
            weights: vec![PackedWeights::new(&last_matrix, vec![0.25; 16])],
            activation: ConvActivation::None,
        };
        let both = Upscale::new(&first, &last).unwrap();
        // whole groups of pixels, and a rest
        let height = usual_or_miri(3, 1);
        for width in [1, usual_or_miri(32, 2), usual_or_miri(37, 33)] {
            let mut input = map(height, width, 12);
            input.stride = 16;
            input.data = pool.copy(&numbers(height * width * 16, 5));
            let step = first.by_rows(input.shape(), &mut pool);
            let between = alone(step, &input, &mut pool);
            let step = last.by_rows(between.shape(), &mut pool);
            let expected = alone(step, &between, &mut pool);
            let out = alone(both.by_rows(input.shape()), &input, &mut pool);
            assert_eq!((out.height, out.width), (4 * height, 4 * width));
            assert_eq!(*out.data, *expected.data);
        }
        // the second does not read what the first computes
        assert!(
            Upscale::new(
                &first,
                &ConvTranspose {
                    in_channels: 12,
                    ..last
                }
            )
            .is_none()
        );
    }
}
