//! Depthwise convolutions: each output channel reads the input channel of the same number.

use std::ops::Range;

use super::aligned::Aligned;
use super::buffers::{Buffer, BufferPool, Shape};
use super::dense::{Conv, ConvGeometry};
use super::kernel::{ConvActivation, Depthwise};
use super::rows::{ByRows, MapRows, PIXELS_AT_A_TIME, RowSpan, rows_at_a_time};
use super::usual_or_miri;
use crate::error::Result;

pub(super) struct DepthwiseConv {
    pub window: ConvGeometry,
    /// Channels of input and output, without padding.
    pub channels: usize,
    /// (blocks of channels, kernel rows, kernel columns, [`CHANNEL_BLOCK`])
    pub weights: Aligned<f32>,
    /// One number for each padded channel.
    pub bias: Vec<f32>,
    pub activation: ConvActivation,
}

impl DepthwiseConv {
    /// The convolution of a map of this shape.
    ///
    /// # Errors
    /// The map is smaller than the kernel.
    pub(super) fn by_rows(&self, input: Shape) -> Result<Box<dyn ByRows + '_>> {
        Ok(Box::new(self.alone(input)?))
    }

    /// # Errors
    /// The map is smaller than the kernel.
    fn alone(&self, input: Shape) -> Result<DepthwiseRows<'_>> {
        let (height, width) = self.window.output_size(input)?;
        Ok(DepthwiseRows {
            conv: self,
            shape: Shape {
                height,
                width,
                channels: self.channels,
                stride: input.stride,
            },
            at_a_time: rows_at_a_time(width).min(height.max(1)),
        })
    }

    /// Computes these rows and columns of the output into `out`, where a row begins `out_step` numbers after the one before.
    fn run_part(
        &self,
        input: &MapRows,
        (tops, across): (Range<usize>, Range<usize>),
        out_step: usize,
        out: &mut [f32],
    ) {
        let under = 0..self.window.rows_under(tops.len());
        let row = |n| input.row(self.window.row_under(tops.start, n));
        let rows: Vec<&[f32]> = under.map(|n| row(n).unwrap_or_default()).collect();
        Depthwise {
            rows: &rows,
            pixels: input.shape.width,
            kernel: self.window.kernel,
            channels: input.shape.stride,
            stride: self.window.stride,
            padding: self.window.padding[1],
            columns: (across.start, across.end),
            out_step,
            weights: &self.weights,
            bias: &self.bias,
            activation: self.activation,
        }
        .run(out);
    }
}

/// A depthwise convolution by itself.
struct DepthwiseRows<'a> {
    conv: &'a DepthwiseConv,
    shape: Shape,
    /// Rows that are computed together.
    at_a_time: usize,
}

impl ByRows for DepthwiseRows<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn span(&self) -> RowSpan {
        self.conv.window.span()
    }

    fn run(&mut self, input: &MapRows, rows: Range<usize>, out: &mut [f32], _: &mut BufferPool) {
        let row = self.shape.row();
        for (tops, across) in self.parts(&rows) {
            let at = (tops.start - rows.start) * row + across.start * self.shape.stride;
            self.conv
                .run_part(input, (tops, across), row, &mut out[at..]);
        }
    }
}

impl DepthwiseRows<'_> {
    /// The rows and columns that are computed together, in order. Where many rows are computed, the map is divided into strips of columns, and each strip is computed
    /// from top to bottom before the next one: what its upper rows have read is still in the cache for the rows below.
    fn parts(&self, rows: &Range<usize>) -> Vec<(Range<usize>, Range<usize>)> {
        let Shape { width, stride, .. } = self.shape;
        let strips = if rows.len() > self.at_a_time {
            let under = self.conv.window.rows_under(self.at_a_time) * self.conv.window.stride.1;
            (under * width * stride * size_of::<f32>()).div_ceil(STRIP_BYTES)
        } else {
            1
        };
        let strip = width.div_ceil(strips).next_multiple_of(PIXELS_AT_A_TIME);
        let mut parts = Vec::new();
        for left in (0..width).step_by(strip) {
            for top in rows.clone().step_by(self.at_a_time) {
                let bottom = rows.end.min(top + self.at_a_time);
                parts.push((top..bottom, left..width.min(left + strip)));
            }
        }
        parts
    }
}

/// In a strip, the rows under a kernel have about this number of bytes at most. All rows of such a strip of the recogniser's maps then fit into the second-level
/// cache.
const STRIP_BYTES: usize = usual_or_miri(1 << 19, 1 << 10);

/// A depthwise convolution followed by a pointwise one.
pub(super) struct Separable {
    pub depthwise: DepthwiseConv,
    pub pointwise: Conv,
}

impl Separable {
    /// Both convolutions of a map of this shape.
    ///
    /// # Errors
    /// The map is smaller than the kernel.
    pub(super) fn by_rows(
        &self,
        input: Shape,
        pool: &mut BufferPool,
    ) -> Result<Box<dyn ByRows + '_>> {
        let first = self.depthwise.alone(input)?;
        Ok(Box::new(SeparableRows {
            pointwise: &self.pointwise,
            between: pool.take(first.at_a_time * first.shape.row()),
            first,
        }))
    }
}

/// Some rows of the first convolution at a time, so that they are in the nearest cache when the second reads them.
struct SeparableRows<'a> {
    first: DepthwiseRows<'a>,
    pointwise: &'a Conv,
    between: Buffer,
}

impl ByRows for SeparableRows<'_> {
    fn shape(&self) -> Shape {
        Shape {
            channels: self.pointwise.out_channels,
            stride: self.pointwise.weights.columns(),
            ..self.first.shape
        }
    }

    fn span(&self) -> RowSpan {
        self.first.span()
    }

    fn run(&mut self, input: &MapRows, rows: Range<usize>, out: &mut [f32], pool: &mut BufferPool) {
        let (stride, row) = (self.first.shape.stride, self.shape().row());
        let columns = self.shape().stride;
        for (tops, across) in self.first.parts(&rows) {
            let (top, count, width) = (tops.start - rows.start, tops.len(), across.len());
            let from = across.start * columns;
            let between = &mut self.between[..count * width * stride];
            let conv = self.first.conv;
            conv.run_part(input, (tops, across), width * stride, between);
            // whole rows of the result follow each other; strips of them do not
            let (runs, pixels) = if width * columns == row {
                (1, count * width)
            } else {
                (count, width)
            };
            for n in 0..runs {
                let between = &between[n * pixels * stride..];
                let at = (top + n) * row + from;
                let out = &mut out[at..at + pixels * columns];
                self.pointwise
                    .run_pointwise(between, stride, pixels, out, pool);
            }
        }
    }

    fn end(&mut self, pool: &mut BufferPool) {
        pool.give_back(std::mem::take(&mut self.between));
    }
}

#[cfg(test)]
mod tests {
    use super::super::NumericMode;
    use super::super::dense::ConvWeights;
    use super::super::tests::{alone, map, numbers};
    use super::*;

    fn depthwise(
        kernel: (usize, usize),
        stride: (usize, usize),
        padding: [usize; 4],
    ) -> DepthwiseConv {
        DepthwiseConv {
            window: ConvGeometry {
                kernel,
                stride,
                padding,
            },
            channels: 16,
            weights: Aligned::copy_of(&numbers(kernel.0 * kernel.1 * 16, 3)),
            bias: numbers(16, 4),
            activation: ConvActivation::None,
        }
    }

    /// Kernels with and without specialised tiles, a kernel wider than the map, and kernels with more padding on one side. Under Miri only the first two.
    fn geometries() -> impl Iterator<Item = DepthwiseConv> {
        let all = [
            depthwise((3, 3), (2, 1), [0, 1, 1, 0]),
            depthwise((5, 5), (2, 2), [2; 4]),
            depthwise((2, 4), (1, 3), [1, 3, 0, 0]),
            depthwise((3, 3), (1, 1), [1; 4]),
            depthwise((3, 3), (1, 2), [1, 2, 1, 2]),
            depthwise((3, 3), (2, 2), [1, 2, 1, 2]),
            depthwise((5, 5), (1, 1), [2; 4]),
            depthwise((5, 5), (2, 1), [2; 4]),
            depthwise((1, 9), (1, 1), [0, 4, 0, 4]),
        ];
        let count = usual_or_miri(all.len(), 2);
        all.into_iter().take(count)
    }

    #[test]
    fn a_depthwise_convolution_is_its_definition() {
        let input = map(6, 7, 16);
        let mut pool = BufferPool::default();
        for conv in geometries() {
            let window = &conv.window;
            let step = conv.by_rows(input.shape()).unwrap();
            let out = alone(step, &input, &mut pool);
            let (rows, columns) = window.kernel;
            for (n, result) in out.data.iter().enumerate() {
                let (y, x, channel) = (n / 16 / out.width, n / 16 % out.width, n % 16);
                let mut sum = f64::from(conv.bias[channel]);
                for (row, column) in (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))) {
                    let from = (y * window.stride.0 + row).wrapping_sub(window.padding[0]);
                    let at = (x * window.stride.1 + column).wrapping_sub(window.padding[1]);
                    if from < input.height && at < input.width {
                        sum += f64::from(input.at(from, at, channel))
                            * f64::from(conv.weights[(row * columns + column) * 16 + channel]);
                    }
                }
                assert!(
                    (f64::from(*result) - sum).abs() < 1e-4,
                    "{:?} {n}",
                    window.kernel
                );
            }
        }
    }

    #[test]
    fn a_separable_convolution_has_the_bits_of_its_two_parts() {
        let input = map(6, 7, 16);
        let mut pool = BufferPool::default();
        let pointwise = Conv {
            window: ConvGeometry {
                kernel: (1, 1),
                stride: (1, 1),
                padding: [0; 4],
            },
            in_channels: 16,
            out_channels: 32,
            weights: ConvWeights::new(&numbers(16 * 32, 5), 1, numbers(32, 6), NumericMode::Auto),
            activation: ConvActivation::Relu,
        };
        for depthwise in geometries() {
            let first = depthwise.by_rows(input.shape()).unwrap();
            let between = alone(first, &input, &mut pool);
            let second = pointwise.by_rows(between.shape(), &mut pool).unwrap();
            let expected = alone(second, &between, &mut pool);
            let both = Separable {
                depthwise,
                pointwise: pointwise.clone(),
            };
            let both = both.by_rows(input.shape(), &mut pool).unwrap();
            assert_eq!(*alone(both, &input, &mut pool).data, *expected.data);
        }
    }
    #[test]
    fn strips_of_columns_have_the_bits_of_whole_rows() {
        // sixteen channels of six rows of these maps are more than a strip has, and the last strip is narrower
        let shape = |width| Shape {
            height: 7,
            width,
            channels: 16,
            stride: 16,
        };
        let both = Separable {
            depthwise: depthwise((5, 5), (1, 1), [2; 4]),
            pointwise: Conv {
                window: ConvGeometry {
                    kernel: (1, 1),
                    stride: (1, 1),
                    padding: [0; 4],
                },
                in_channels: 16,
                out_channels: 16,
                weights: ConvWeights::new(
                    &numbers(16 * 16, 5),
                    1,
                    numbers(16, 6),
                    NumericMode::Float,
                ),
                activation: ConvActivation::None,
            },
        };
        let mut pool = BufferPool::default();
        let widths = [usual_or_miri(2_000, 5), 4_001];
        for &width in &widths[..usual_or_miri(widths.len(), 1)] {
            let input = map(7, width, 16);
            let first = both.depthwise.alone(shape(width)).unwrap();
            let strips = first.parts(&(0..7)).len();
            assert!(strips > 4, "{strips} parts of four pairs of rows");
            let depthwise = both.depthwise.by_rows(shape(width)).unwrap();
            let both = both.by_rows(shape(width), &mut pool).unwrap();
            for mut step in [depthwise, both] {
                let rows = MapRows::of(&input);
                let mut expected = vec![0.0; 7 * width * 16];
                for (n, out) in expected.chunks_mut(2 * width * 16).enumerate() {
                    let some = 2 * n..7.min(2 * n + 2);
                    step.run(&rows, some, out, &mut pool);
                }
                assert_eq!(*alone(step, &input, &mut pool).data, *expected);
            }
        }
    }
}
