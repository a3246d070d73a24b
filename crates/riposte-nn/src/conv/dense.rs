//! Dense convolutions (each output channel reads all input channels), as products of windows and weights.

use std::ops::DerefMut;

use super::buffers::{BufferPool, FeatureMap};
use super::kernel::{Activation, CHANNEL_BLOCK, PackedWeights, Product, Windows};
use super::quantised::{Int8Product, Int8Weights, Quantisation};
use super::{Numeric, NumericMode};
use crate::error::{Error, Result};

/// The geometry of a convolution. Pairs are (vertical, horizontal).
pub(super) struct Window {
    /// Rows and columns of the kernel.
    pub kernel: (usize, usize),
    pub stride: (usize, usize),
    /// Rows or columns of zeros at the top, left, bottom and right.
    pub padding: [usize; 4],
}

impl Window {
    /// Height and width of the convolution's output.
    ///
    /// # Errors
    /// The map is smaller than the kernel.
    pub(super) fn output_size(&self, map: &FeatureMap) -> Result<(usize, usize)> {
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
pub(super) enum Weights {
    Float(PackedWeights),
    Int8(Int8Weights),
}

impl Weights {
    /// Packs a (rows, columns) matrix; `bias` has a number for each column.
    ///
    /// The result is in int8 if `mode` and the machine allow it and there are at least [`MIN_INT8_ROWS`] rows.
    pub fn new(weights: &[f32], bias: Vec<f32>, mode: NumericMode) -> Weights {
        let rows = weights.len() / bias.len().max(1);
        let int8 = (mode == NumericMode::Auto && rows >= MIN_INT8_ROWS)
            .then(|| Int8Weights::new(weights, bias.clone()))
            .flatten();
        match int8 {
            Some(weights) => Weights::Int8(weights),
            None => Weights::Float(PackedWeights::new(weights, bias)),
        }
    }

    /// Columns of the matrix.
    pub fn columns(&self) -> usize {
        match self {
            Weights::Float(weights) => weights.columns(),
            Weights::Int8(weights) => weights.columns(),
        }
    }

    pub fn numeric(&self) -> Numeric {
        match self {
            Weights::Float(_) => Numeric::Float,
            Weights::Int8(_) => Numeric::Int8,
        }
    }

    /// Multiplies the channels of consecutive pixels, which are in one row.
    pub(super) fn multiply(
        &self,
        pixels: Windows<f32>,
        activation: Activation,
        out: &mut [f32],
        pool: &mut BufferPool,
    ) {
        let (weights, columns) = match self {
            Weights::Float(weights) => return Product::new(pixels, weights, activation).run(out),
            Weights::Int8(weights) => (weights, weights.columns()),
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
            weights.quantise_pixels(some, length, step, count, bytes, quantisations);
            let rows = [bytes.as_slice()];
            let windows = Windows::new(&rows, weights.rows(), weights.rows(), count);
            let out = &mut out[first * columns..(first + count) * columns];
            Int8Product::new(windows, quantisations, weights, activation).run(out);
        }
    }
}

/// Products with fewer rows gain too little from int8 to pay for quantising the input.
pub(super) const MIN_INT8_ROWS: usize = 64;

/// Minimum number of pixels that one loop hands to the next at a time: enough to fill the product's tiles, and few enough to stay in the nearest
/// caches.
pub(super) const PIXELS_AT_A_TIME: usize = 96;

/// A dense convolution.
pub(super) struct Conv {
    pub window: Window,
    /// Channels of the input, without padding.
    pub in_channels: usize,
    /// Channels of the output, without padding.
    pub out_channels: usize,
    /// (kernel rows · kernel columns · input channels, output channels)
    pub weights: Weights,
    pub activation: Activation,
}

/// The rows of a map that are under a window, each with zeros on its left and right.
///
/// A ring buffer: row `y` of the map lies in the buffer `y` modulo the kernel's height, so that a window that moves down by one
/// row copies one row.
struct PaddedRows<T, B> {
    /// The row that each buffer holds.
    held: Vec<Option<isize>>,
    buffers: Vec<B>,
    /// Numbers of padding on the left.
    left: usize,
    /// The number that stands for zero.
    zero: T,
    /// Numbers in a row of the map.
    row_length: usize,
    height: usize,
}

impl<T: Copy, B: DerefMut<Target = [T]>> PaddedRows<T, B> {
    /// `allocate` returns a buffer of a given length, with any contents.
    fn new(
        map: &FeatureMap,
        window: &Window,
        zero: T,
        mut allocate: impl FnMut(usize) -> B,
    ) -> Self {
        let [_, left, _, right] = window.padding;
        let rows = window.kernel.0;
        let buffers = (0..rows)
            .map(|_| {
                let mut buffer = allocate((map.width + left + right) * map.stride);
                buffer.fill(zero);
                buffer
            })
            .collect();
        PaddedRows {
            held: vec![None; rows],
            buffers,
            left: left * map.stride,
            zero,
            row_length: map.width * map.stride,
            height: map.height,
        }
    }

    /// The padded rows under the window of output row `y`, from top to bottom. `numbers` are those of the map.
    fn under(&mut self, numbers: &[T], window: &Window, y: usize) -> Vec<&[T]> {
        let rows = window.kernel.0;
        let first = (y * window.stride.0) as isize - window.padding[0] as isize;
        let slot = |row: isize| row.rem_euclid(rows as isize) as usize;
        for row in first..first + rows as isize {
            let at = slot(row);
            if self.held[at] == Some(row) {
                continue;
            }
            let buffer = &mut self.buffers[at][self.left..self.left + self.row_length];
            match usize::try_from(row).ok().filter(|&row| row < self.height) {
                Some(row) => buffer
                    .copy_from_slice(&numbers[row * self.row_length..(row + 1) * self.row_length]),
                None => buffer.fill(self.zero),
            }
            self.held[at] = Some(row);
        }
        (first..first + rows as isize)
            .map(|row| &*self.buffers[slot(row)])
            .collect()
    }
}

impl Conv {
    /// # Errors
    /// The map is smaller than the kernel.
    pub(super) fn run(&self, input: &FeatureMap, pool: &mut BufferPool) -> Result<FeatureMap> {
        let (height, width) = self.window.output_size(input)?;
        let columns = self.weights.columns();
        let mut out = pool.map(height, width, self.out_channels, columns)?;
        if self.window.is_pointwise() {
            self.run_pointwise(input, &mut out.data, height * width, pool);
            return Ok(out);
        }
        let length = self.window.kernel.1 * input.stride;
        let step = self.window.stride.1 * input.stride;
        match &self.weights {
            Weights::Float(weights) => {
                let mut rows =
                    PaddedRows::new(input, &self.window, 0.0, |length| pool.take(length));
                for (y, out) in out.data.chunks_mut(width * columns).enumerate() {
                    let rows = rows.under(&input.data, &self.window, y);
                    let windows = Windows::new(&rows, length, step, width);
                    Product::new(windows, weights, self.activation).run(out);
                }
                let buffers = rows.buffers.into_iter();
                buffers.for_each(|buffer| pool.give_back(buffer));
            }
            Weights::Int8(weights) => {
                // windows share pixels, so all pixels need the same scale
                let (low, high) = weights.range(&input.data);
                let quantisation = Quantisation::of_range(low, high);
                let mut bytes = std::mem::take(&mut pool.bytes);
                bytes.resize(input.data.len(), 0);
                weights.quantise(&input.data, quantisation, &mut bytes);
                let zero = quantisation.zero_byte();
                let mut rows = PaddedRows::new(input, &self.window, zero, |length| vec![0; length]);
                for (y, out) in out.data.chunks_mut(width * columns).enumerate() {
                    let rows = rows.under(&bytes, &self.window, y);
                    let windows = Windows::new(&rows, length, step, width);
                    Int8Product::new(windows, &[quantisation], weights, self.activation).run(out);
                }
                pool.bytes = bytes;
            }
        }
        Ok(out)
    }

    /// Computes the first `count` pixels of a pointwise convolution into `out`, (count, padded output channels).
    pub(super) fn run_pointwise(
        &self,
        input: &FeatureMap,
        out: &mut [f32],
        count: usize,
        pool: &mut BufferPool,
    ) {
        let rows = [&*input.data];
        let pixels = Windows::new(&rows, self.in_channels, input.stride, count);
        self.weights.multiply(pixels, self.activation, out, pool);
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
    pub activation: Activation,
}

impl ConvTranspose {
    pub(super) fn run(&self, input: &FeatureMap, pool: &mut BufferPool) -> Result<FeatureMap> {
        let (height, width) = (input.height, input.width);
        let one_channel = self.out_channels == 1;
        let stride = if one_channel {
            1
        } else {
            self.out_channels.next_multiple_of(CHANNEL_BLOCK)
        };
        let mut out = pool.map(2 * height, 2 * width, self.out_channels, stride)?;
        let mut row = pool.take(width * CHANNEL_BLOCK);
        for y in 0..height {
            for (down, weights) in self.weights.iter().enumerate() {
                let from = (2 * y + down) * 2 * width * stride;
                let out = if one_channel {
                    &mut row
                } else {
                    &mut out.data[from..from + 2 * width * stride]
                };
                let rows = [input.row(y)];
                let windows = Windows::new(&rows, self.in_channels, input.stride, width);
                Product::new(windows, weights, self.activation).run(out);
            }
            if one_channel {
                let (upper, lower) =
                    out.data[4 * y * width..4 * (y + 1) * width].split_at_mut(2 * width);
                for ((four, upper), lower) in row
                    .chunks(CHANNEL_BLOCK)
                    .zip(upper.chunks_mut(2))
                    .zip(lower.chunks_mut(2))
                {
                    upper.copy_from_slice(&four[..2]);
                    lower.copy_from_slice(&four[2..4]);
                }
            }
        }
        pool.give_back(row);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{map, numbers};
    use super::*;

    /// The convolution by its definition, without bias: (rows, columns, input channels, output channels) weights.
    fn naive(input: &FeatureMap, window: &Window, weights: &[f32], outputs: usize) -> Vec<f64> {
        let (height, width) = window.output_size(input).unwrap();
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
            let window = Window {
                kernel,
                stride,
                padding,
            };
            let input = map(5, 6, channels);
            let weights = numbers(kernel.0 * kernel.1 * channels * CHANNEL_BLOCK, 5);
            let expected = naive(&input, &window, &weights, CHANNEL_BLOCK);
            let greatest = expected.iter().fold(0f64, |a, x| a.max(x.abs()));
            let mut conv = Conv {
                window,
                in_channels: channels,
                out_channels: CHANNEL_BLOCK,
                weights: Weights::new(&weights, vec![0.0; CHANNEL_BLOCK], NumericMode::Float),
                activation: Activation::None,
            };
            assert_eq!(conv.weights.numeric(), Numeric::Float);
            let floats = conv.run(&input, &mut pool).unwrap();
            conv.weights = Weights::new(&weights, vec![0.0; CHANNEL_BLOCK], NumericMode::Auto);
            let auto = conv.run(&input, &mut pool).unwrap();
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
        let weights = Weights::new(&weights, vec![0.0; CHANNEL_BLOCK], NumericMode::Auto);
        assert_eq!(weights.numeric(), Numeric::Float);
    }

    #[test]
    fn a_map_smaller_than_the_kernel_is_an_error() {
        let window = Window {
            kernel: (3, 3),
            stride: (1, 1),
            padding: [0; 4],
        };
        assert!(window.output_size(&map(2, 9, 1)).is_err());
        assert_eq!(window.output_size(&map(3, 9, 1)).unwrap(), (1, 7));
    }
}
