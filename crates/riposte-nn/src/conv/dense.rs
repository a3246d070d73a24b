//! Dense convolutions (each output channel reads all input channels), as products of windows and weights.

use std::ops::Range;

use super::aligned::Aligned;
use super::buffers::{Buffer, BufferPool, Shape};
use super::kernel::{CHANNEL_BLOCK, ConvActivation, PackedWeights, Product, SlidingWindows};
use super::quantised::{InitialSums, Int8Product, Int8Weights, Quantisation};
use super::rows::{ByRows, MapRows, PIXELS_AT_A_TIME, RowSpan};
use super::{Numeric, NumericMode};
use crate::error::{Error, Result};

/// The geometry of a convolution. Pairs are (vertical, horizontal).
#[derive(Clone)]
pub(super) struct ConvGeometry {
    /// Rows and columns of the kernel.
    pub kernel: (usize, usize),
    pub stride: (usize, usize),
    /// Rows or columns of zeros at the top, left, bottom and right.
    pub padding: [usize; 4],
}

impl ConvGeometry {
    /// Height and width of the convolution's output.
    ///
    /// # Errors
    /// The map is smaller than the kernel.
    pub(super) fn output_size(&self, map: Shape) -> Result<(usize, usize)> {
        let side = |length: usize, padding: usize, kernel: usize, stride: usize| {
            (length + padding)
                .checked_sub(kernel)
                .map(|rest| rest / stride + 1)
        };
        let [top, left, bottom, right] = self.padding;
        side(map.height, top + bottom, self.kernel.0, self.stride.0)
            .zip(side(map.width, left + right, self.kernel.1, self.stride.1))
            .ok_or_else(|| Error::Input("the image is too small for the network".to_owned()))
    }

    /// The input rows that it reads.
    pub(super) fn span(&self) -> RowSpan {
        RowSpan::Window {
            kernel: self.kernel.0,
            stride: self.stride.0,
            padding: self.padding[0],
        }
    }

    /// The index of the `n`th input row under the windows of the output rows from `top` on; None if it is above the map.
    pub(super) fn row_under(&self, top: usize, n: usize) -> Option<usize> {
        (top * self.stride.0 + n).checked_sub(self.padding[0])
    }

    /// How many numbers of a row a window takes, lie between the starts of neighbouring windows, and are padding on the left. A pixel has `stride`
    /// numbers.
    fn numbers_across(&self, stride: usize) -> [usize; 3] {
        [self.kernel.1, self.stride.1, self.padding[1]].map(|pixels| pixels * stride)
    }

    /// Input rows under the windows of `count` rows of the output.
    pub(super) fn rows_under(&self, count: usize) -> usize {
        match count.checked_sub(1) {
            Some(further) => further * self.stride.0 + self.kernel.0,
            None => 0,
        }
    }

    /// Whether each output pixel depends only on the input pixel at the same place.
    pub(crate) fn is_pointwise(&self) -> bool {
        self.kernel == (1, 1) && self.stride == (1, 1) && self.padding == [0; 4]
    }
}

/// The right operand of a product.
#[derive(Clone)]
pub(super) enum ConvWeights {
    Float(PackedWeights),
    /// One matrix for each row of the kernel, because each row of the map is quantised by itself. All have the bias of the convolution.
    Int8(Vec<Int8Weights>),
}

impl ConvWeights {
    /// Packs a (kernel rows · rows, columns) matrix; `bias` has a number for each column.
    ///
    /// The result is in int8 if `mode` and the machine allow it and there are at least [`MIN_INT8_ROWS`] rows.
    pub fn new(
        weights: &[f32],
        kernel_rows: usize,
        bias: Vec<f32>,
        mode: NumericMode,
    ) -> ConvWeights {
        let rows = weights.len() / bias.len().max(1);
        let int8 = (mode == NumericMode::Auto && rows >= MIN_INT8_ROWS).then(|| {
            let matrices = weights.chunks(weights.len() / kernel_rows);
            matrices
                .map(|matrix| Int8Weights::keeping_sums(matrix, bias.clone()))
                .collect()
        });
        match int8.flatten() {
            Some(matrices) => ConvWeights::Int8(matrices),
            None => ConvWeights::Float(PackedWeights::new(weights, bias)),
        }
    }

    /// Columns of the matrix.
    pub fn columns(&self) -> usize {
        match self {
            ConvWeights::Float(weights) => weights.columns(),
            ConvWeights::Int8(matrices) => matrices[0].columns(),
        }
    }

    pub fn numeric(&self) -> Numeric {
        match self {
            ConvWeights::Float(_) => Numeric::Float,
            ConvWeights::Int8(_) => Numeric::Int8,
        }
    }

    /// Multiplies the channels of consecutive pixels, which are in one row. The kernel has one row.
    pub(super) fn multiply(
        &self,
        pixels: SlidingWindows<f32>,
        activation: ConvActivation,
        out: &mut [f32],
        pool: &mut BufferPool,
    ) {
        let (weights, columns) = match self {
            ConvWeights::Float(weights) => {
                return Product::new(pixels, weights, activation).run(out);
            }
            ConvWeights::Int8(matrices) => (&matrices[0], matrices[0].columns()),
        };
        let BufferPool {
            bytes,
            quantisations,
            ..
        } = pool;
        for first in (0..pixels.count).step_by(PIXELS_AT_A_TIME) {
            let count = PIXELS_AT_A_TIME.min(pixels.count - first);
            let some = &pixels.rows[0][first * pixels.step..];
            let (length, step) = (pixels.length, pixels.step);
            let line = weights.quantise_pixels(some, length, step, count, bytes, quantisations);
            let rows = [&**bytes];
            let windows = SlidingWindows::new(&rows, weights.rows(), line, count);
            let out = &mut out[first * columns..(first + count) * columns];
            Int8Product::new(windows, quantisations, weights, activation).run(out);
        }
    }
}

/// Products with fewer rows gain too little from int8 to pay for quantising the input.
pub(super) const MIN_INT8_ROWS: usize = 64;

/// A dense convolution.
#[derive(Clone)]
pub(super) struct Conv {
    pub window: ConvGeometry,
    /// Channels of the input, without padding.
    pub in_channels: usize,
    /// Channels of the output, without padding.
    pub out_channels: usize,
    /// (kernel rows · kernel columns · input channels, output channels)
    pub weights: ConvWeights,
    pub activation: ConvActivation,
}

/// The rows of a map that are under a window, each with padding on its left and right.
///
/// A ring: row `y` lies in the buffer `y` modulo the kernel's height, so that a window that moves down by one row copies one row.
struct PaddedRows<T> {
    /// The row that each buffer holds, counted from the top of the padding.
    held: Vec<Option<usize>>,
    buffers: Vec<Aligned<T>>,
}

impl<T: Copy + Default> PaddedRows<T> {
    /// With room for the rows under a window. `allocate` returns a buffer for so many numbers.
    fn new(
        map: Shape,
        window: &ConvGeometry,
        mut allocate: impl FnMut(usize) -> Aligned<T>,
    ) -> Self {
        let [_, left, _, right] = window.padding;
        let rows = window.kernel.0;
        let length = (map.width + left + right) * map.stride;
        PaddedRows {
            held: vec![None; rows],
            buffers: (0..rows).map(|_| allocate(length)).collect(),
        }
    }

    /// The indices of the buffers that hold the rows under the window of output row `y`, from top to bottom. `fill(n, row, buffer)` writes a missing
    /// row into buffer `n`; the row is None above and below the map.
    fn under<'m>(
        &mut self,
        map: &MapRows<'m>,
        window: &ConvGeometry,
        y: usize,
        mut fill: impl FnMut(usize, Option<&'m [f32]>, &mut [T]),
    ) -> Vec<usize> {
        let rows = window.kernel.0;
        let under = (0..rows).map(|n| {
            let padded = y * window.stride.0 + n;
            let buffer = padded % rows;
            if self.held[buffer] != Some(padded) {
                let row = map.row(window.row_under(y, n));
                fill(buffer, row, &mut self.buffers[buffer]);
                self.held[buffer] = Some(padded);
            }
            buffer
        });
        under.collect()
    }
}

impl Conv {
    /// The convolution of a map of this shape.
    ///
    /// # Errors
    /// The map is smaller than the kernel.
    pub(super) fn by_rows(
        &self,
        input: Shape,
        pool: &mut BufferPool,
    ) -> Result<Box<dyn ByRows + '_>> {
        let (height, width) = self.window.output_size(input)?;
        let shape = Shape {
            height,
            width,
            channels: self.out_channels,
            stride: self.weights.columns(),
        };
        Ok(match &self.weights {
            _ if self.window.is_pointwise() => Box::new(Pointwise { conv: self, shape }),
            ConvWeights::Float(weights) => Box::new(FloatWindows {
                conv: self,
                shape,
                weights,
                rows: PaddedRows::new(input, &self.window, |length| {
                    let mut zeros = pool.take(length);
                    zeros.fill(0.0);
                    zeros
                }),
            }),
            ConvWeights::Int8(matrices) => Box::new(Int8Windows {
                conv: self,
                shape,
                matrices,
                rows: PaddedRows::new(input, &self.window, Aligned::zeros),
                quantisations: vec![Quantisation::of_range(0.0, 0.0); matrices.len()],
            }),
        })
    }

    /// Computes a pointwise convolution of `count` pixels that are `stride` numbers apart into `out`, (count, padded output channels).
    pub(super) fn run_pointwise(
        &self,
        pixels: &[f32],
        stride: usize,
        count: usize,
        out: &mut [f32],
        pool: &mut BufferPool,
    ) {
        let rows = [pixels];
        let pixels = SlidingWindows::new(&rows, self.in_channels, stride, count);
        self.weights.multiply(pixels, self.activation, out, pool);
    }
}

struct Pointwise<'a> {
    conv: &'a Conv,
    shape: Shape,
}

impl ByRows for Pointwise<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn span(&self) -> RowSpan {
        RowSpan::SAME
    }

    fn run(&mut self, input: &MapRows, rows: Range<usize>, out: &mut [f32], pool: &mut BufferPool) {
        let (row, stride) = (self.shape.row(), input.shape.stride);
        let mut left = out;
        for (rows, pixels) in input.pieces(rows) {
            let (out, rest) = left.split_at_mut(rows.len() * row);
            let count = rows.len() * self.shape.width;
            self.conv.run_pointwise(pixels, stride, count, out, pool);
            left = rest;
        }
    }
}

/// A convolution in floats whose windows have several pixels.
struct FloatWindows<'a> {
    conv: &'a Conv,
    shape: Shape,
    weights: &'a PackedWeights,
    rows: PaddedRows<f32>,
}

impl ByRows for FloatWindows<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn span(&self) -> RowSpan {
        self.conv.window.span()
    }

    fn run(&mut self, input: &MapRows, rows: Range<usize>, out: &mut [f32], _: &mut BufferPool) {
        let window = &self.conv.window;
        let [length, step, left] = window.numbers_across(input.shape.stride);
        for (y, out) in rows.zip(out.chunks_mut(self.shape.row())) {
            let under = self.rows.under(input, window, y, |_, row, to| {
                let to = &mut to[left..left + input.shape.row()];
                match row {
                    Some(row) => to.copy_from_slice(row),
                    None => to.fill(0.0),
                }
            });
            let under: Vec<&[f32]> = under.iter().map(|&n| &*self.rows.buffers[n]).collect();
            let windows = SlidingWindows::new(&under, length, step, self.shape.width);
            Product::new(windows, self.weights, self.conv.activation).run(out);
        }
    }

    fn end(&mut self, pool: &mut BufferPool) {
        let buffers: Vec<Buffer> = std::mem::take(&mut self.rows.buffers);
        buffers
            .into_iter()
            .for_each(|buffer| pool.give_back(buffer));
    }
}

/// A convolution in int8 whose windows have several pixels. Windows share pixels, so all pixels of a row have the same scale.
struct Int8Windows<'a> {
    conv: &'a Conv,
    shape: Shape,
    matrices: &'a [Int8Weights],
    rows: PaddedRows<u8>,
    /// How each of these rows is quantised.
    quantisations: Vec<Quantisation>,
}

impl ByRows for Int8Windows<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn span(&self) -> RowSpan {
        self.conv.window.span()
    }

    fn run(&mut self, input: &MapRows, rows: Range<usize>, out: &mut [f32], _: &mut BufferPool) {
        let window = &self.conv.window;
        let [length, step, left] = window.numbers_across(input.shape.stride);
        let quantisations = &mut self.quantisations;
        for (y, out) in rows.zip(out.chunks_mut(self.shape.row())) {
            let under = self.rows.under(input, window, y, |n, row, to| {
                let row = row.unwrap_or(&[]);
                let (low, high) = self.matrices[n].range(row);
                let quantisation = Quantisation::of_range(low, high);
                to.fill(quantisation.zero_byte());
                self.matrices[n].quantise(row, quantisation, &mut to[left..]);
                quantisations[n] = quantisation;
            });
            let last = under.len() - 1;
            for ((at, n), weights) in under.into_iter().enumerate().zip(self.matrices) {
                let under = [&*self.rows.buffers[n]];
                let windows = SlidingWindows::new(&under, length, step, self.shape.width);
                let quantisation = [quantisations[n]];
                let activation = if at == last {
                    self.conv.activation
                } else {
                    ConvActivation::None
                };
                Int8Product {
                    begin: if at == 0 {
                        InitialSums::Bias
                    } else {
                        InitialSums::Out
                    },
                    ..Int8Product::new(windows, &quantisation, weights, activation)
                }
                .run(out);
            }
        }
    }
}

/// A transposed convolution with a 2 × 2 kernel and stride 2: it doubles height and width, and each input pixel gives four
/// output pixels that no other contributes to.
pub(super) struct ConvTranspose {
    pub in_channels: usize,
    pub out_channels: usize,
    /// One matrix for the upper and one for the lower output row, whose columns are the padded channels of the left and then of
    /// the right pixel. With one output channel, a single matrix whose first four columns are the four pixels.
    pub weights: Vec<PackedWeights>,
    pub activation: ConvActivation,
}

impl ConvTranspose {
    /// The convolution of a map of this shape.
    pub(super) fn by_rows(&self, input: Shape, pool: &mut BufferPool) -> Box<dyn ByRows + '_> {
        let stride = match self.out_channels {
            1 => 1,
            channels => channels.next_multiple_of(CHANNEL_BLOCK),
        };
        Box::new(Doubling {
            conv: self,
            shape: Shape {
                height: 2 * input.height,
                width: 2 * input.width,
                channels: self.out_channels,
                stride,
            },
            row: pool.take(input.width * CHANNEL_BLOCK),
        })
    }
}

struct Doubling<'a> {
    conv: &'a ConvTranspose,
    shape: Shape,
    /// With one output channel: of each input pixel the four output pixels, and padding.
    row: Buffer,
}

impl ByRows for Doubling<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn span(&self) -> RowSpan {
        RowSpan::Repeated(2)
    }

    fn multiple(&self) -> usize {
        2
    }

    fn run(&mut self, input: &MapRows, rows: Range<usize>, out: &mut [f32], _: &mut BufferPool) {
        let conv = self.conv;
        let width = input.shape.width;
        let one_channel = conv.out_channels == 1;
        let from = rows.start / 2..rows.end.div_ceil(2);
        for (y, out) in from.zip(out.chunks_mut(2 * self.shape.row())) {
            let rows = [input.at(y)];
            let windows = SlidingWindows::new(&rows, conv.in_channels, input.shape.stride, width);
            let (upper, lower) = out.split_at_mut(self.shape.row());
            if !one_channel {
                for (weights, out) in conv.weights.iter().zip([upper, lower]) {
                    Product::new(windows, weights, conv.activation).run(out);
                }
                continue;
            }
            if let [weights] = conv.weights.as_slice() {
                Product::new(windows, weights, conv.activation).run(&mut self.row);
            }
            for ((four, upper), lower) in self
                .row
                .chunks(CHANNEL_BLOCK)
                .zip(upper.chunks_mut(2))
                .zip(lower.chunks_mut(2))
            {
                upper.copy_from_slice(&four[..2]);
                lower.copy_from_slice(&four[2..4]);
            }
        }
    }

    fn end(&mut self, pool: &mut BufferPool) {
        pool.give_back(std::mem::take(&mut self.row));
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffers::FeatureMap;
    use super::super::tests::{alone, map, numbers};
    use super::super::usual_or_miri;
    use super::*;

    /// The convolution by its definition, without bias: (rows, columns, input channels, output channels) weights.
    fn naive(
        input: &FeatureMap,
        window: &ConvGeometry,
        weights: &[f32],
        outputs: usize,
    ) -> Vec<f64> {
        let (height, width) = window.output_size(input.shape()).unwrap();
        let (rows, columns) = window.kernel;
        let mut out = vec![0.0; height * width * outputs];
        for (n, sum) in out.iter_mut().enumerate() {
            let (y, x, output) = (n / outputs / width, n / outputs % width, n % outputs);
            for (row, column) in (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))) {
                let from = (y * window.stride.0 + row).checked_sub(window.padding[0]);
                let at = (x * window.stride.1 + column).checked_sub(window.padding[1]);
                let (Some(from), Some(at)) = (from, at) else {
                    continue;
                };
                if from >= input.height || at >= input.width {
                    continue;
                }
                for channel in 0..input.channels {
                    let row = (row * columns + column) * input.channels + channel;
                    *sum += f64::from(input.at(from, at, channel))
                        * f64::from(weights[row * outputs + output]);
                }
            }
        }
        out
    }

    #[test]
    fn a_convolution_is_its_definition_in_floats_and_near_it_in_int8() {
        let mut pool = BufferPool::default();
        for (kernel, stride, padding, channels) in [
            ((3, 3), (1, 1), [1, 1, 1, 1], 16),
            ((3, 3), (2, 1), [1, 0, 0, 2], 16),
            ((1, 1), (1, 1), [0; 4], 80),
        ] {
            let window = ConvGeometry {
                kernel,
                stride,
                padding,
            };
            let input = map(usual_or_miri(5, 2), usual_or_miri(6, 3), channels);
            let weights = numbers(kernel.0 * kernel.1 * channels * CHANNEL_BLOCK, 5);
            let expected = naive(&input, &window, &weights, CHANNEL_BLOCK);
            let greatest = expected.iter().fold(0f64, |a, x| a.max(x.abs()));
            let packed =
                |mode| ConvWeights::new(&weights, kernel.0, vec![0.0; CHANNEL_BLOCK], mode);
            let mut conv = Conv {
                window,
                in_channels: channels,
                out_channels: CHANNEL_BLOCK,
                weights: packed(NumericMode::Float),
                activation: ConvActivation::None,
            };
            assert_eq!(conv.weights.numeric(), Numeric::Float);
            let run = |conv: &Conv, pool: &mut BufferPool| {
                let step = conv.by_rows(input.shape(), pool).unwrap();
                alone(step, &input, pool)
            };
            let floats = run(&conv, &mut pool);
            conv.weights = packed(NumericMode::Auto);
            let auto = run(&conv, &mut pool);
            for ((expected, float), auto) in expected.iter().zip(&*floats.data).zip(&*auto.data) {
                assert!((expected - f64::from(*float)).abs() < 1e-4);
                assert!((expected - f64::from(*auto)).abs() < greatest / 50.0);
            }
        }
    }

    #[test]
    fn products_of_few_rows_stay_in_floats() {
        let rows = MIN_INT8_ROWS - 1;
        let weights = numbers(rows * CHANNEL_BLOCK, 1);
        let weights = ConvWeights::new(&weights, 1, vec![0.0; CHANNEL_BLOCK], NumericMode::Auto);
        assert_eq!(weights.numeric(), Numeric::Float);
    }

    #[test]
    fn a_map_smaller_than_the_kernel_is_an_error() {
        let window = ConvGeometry {
            kernel: (3, 3),
            stride: (1, 1),
            padding: [0; 4],
        };
        assert!(window.output_size(map(2, 9, 1).shape()).is_err());
        assert_eq!(window.output_size(map(3, 9, 1).shape()).unwrap(), (1, 7));
    }
}
