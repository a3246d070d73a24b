//! Depthwise convolutions: each output channel reads the input channel of the same number.

use super::aligned::Aligned;
use super::buffers::{Buffer, BufferPool, FeatureMap};
use super::dense::{Conv, PIXELS_AT_A_TIME, Window};
use super::kernel::{Activation, Depthwise};
use crate::error::Result;

/// Minimum number of output rows that are computed together, because their windows share most of their pixels.
const ROWS_AT_A_TIME: usize = 2;

pub(super) struct DepthwiseConv {
    pub window: Window,
    /// Channels of input and output, without padding.
    pub channels: usize,
    /// (kernel rows, kernel columns, padded channels)
    pub weights: Aligned<f32>,
    /// One number for each padded channel.
    pub bias: Vec<f32>,
    pub activation: Activation,
}

impl DepthwiseConv {
    /// # Errors
    /// The map is smaller than the kernel.
    pub(super) fn run(&self, input: &FeatureMap, pool: &mut BufferPool) -> Result<FeatureMap> {
        let (height, width) = self.window.output_size(input)?;
        let mut out = pool.map(height, width, self.channels, input.stride)?;
        let mut edges = Edges::new(input, &self.window, width, ROWS_AT_A_TIME, pool);
        let length = width * input.stride;
        for (n, out) in out.data.chunks_mut(ROWS_AT_A_TIME * length).enumerate() {
            self.run_rows(input, &mut edges, n * ROWS_AT_A_TIME, width, out);
        }
        edges.give_back(pool);
        Ok(out)
    }

    /// Computes rows of the output, which has this `width`, into `out`. The first is row `top`; there are as many as `out` holds, which must not be
    /// more than `edges` has room for.
    ///
    /// Most windows lie within the map's sides and read it in place; only the pixels under the other windows are copied, with padding.
    fn run_rows(
        &self,
        input: &FeatureMap,
        edges: &mut Edges,
        top: usize,
        width: usize,
        out: &mut [f32],
    ) {
        let stride = input.stride;
        let columns = self.window.kernel.1;
        let out_step = width * stride;
        let rows = self.window.rows_under(out.len() / out_step);
        let row = |n: usize| {
            (top * self.window.stride.0 + n)
                .checked_sub(self.window.padding[0])
                .filter(|&row| row < input.height)
        };
        let compute = |rows: &[&[f32]], width: usize, out: &mut [f32]| {
            Depthwise {
                rows,
                kernel: self.window.kernel,
                channels: stride,
                stride: self.window.stride,
                width,
                out_step,
                weights: &self.weights,
                bias: &self.bias,
                activation: self.activation,
            }
            .run(out);
        };
        let Edges {
            first,
            last,
            left,
            right,
            zeros,
        } = edges;
        let padding = self.window.padding[1];
        let across = self.window.stride.1;
        if *first < *last {
            let from = (*first * across - padding) * stride;
            let inner: Vec<&[f32]> = (0..rows)
                .map(|n| row(n).map_or(&zeros[from..], |row| &input.row(row)[from..]))
                .collect();
            compute(&inner, *last - *first, &mut out[*first * stride..]);
        }
        for (side, pixels) in [(left, 0..*first), (right, *last..width)] {
            if pixels.is_empty() {
                continue;
            }
            let length = ((pixels.len() - 1) * across + columns) * stride;
            // column of the padded map where the first window begins
            let start = pixels.start * across;
            for (n, copy) in side.chunks_mut(length).take(rows).enumerate() {
                let map = row(n).map(|row| input.row(row));
                for (column, to) in copy.chunks_mut(stride).enumerate() {
                    let at = (start + column)
                        .checked_sub(padding)
                        .filter(|&at| at < input.width);
                    match map.zip(at) {
                        Some((map, at)) => to.copy_from_slice(&map[at * stride..(at + 1) * stride]),
                        None => to.fill(0.0),
                    }
                }
            }
            let copies: Vec<&[f32]> = side.chunks(length).take(rows).collect();
            compute(&copies, pixels.len(), &mut out[pixels.start * stride..]);
        }
    }
}

/// What a depthwise convolution reads besides the map: the padded pixels at its sides, and a row of padding.
struct Edges {
    /// The windows of output pixels from `first` up to `last` lie within the map's sides.
    first: usize,
    last: usize,
    /// For the windows before `first` and from `last` on: the pixels under them, row after row of the kernel.
    left: Buffer,
    right: Buffer,
    /// A row above or below the map.
    zeros: Buffer,
}

impl Edges {
    /// `width` is the width of the output, and `count` the number of its rows that are computed at a time.
    fn new(
        map: &FeatureMap,
        window: &Window,
        width: usize,
        count: usize,
        pool: &mut BufferPool,
    ) -> Edges {
        let [_, padding, ..] = window.padding;
        let (columns, across) = (window.kernel.1, window.stride.1);
        let rows = window.rows_under(count);
        let first = padding.div_ceil(across).min(width);
        // the last window within the map begins at its column map.width - columns
        let inner = (map.width + padding)
            .checked_sub(columns)
            .map_or(0, |last| last / across + 1);
        let last = inner.clamp(first, width.max(first));
        let room = |pixels: usize| match pixels {
            0 => 0,
            _ => ((pixels - 1) * across + columns) * map.stride * rows,
        };
        let mut zeros = pool.take(map.width * map.stride);
        zeros.fill(0.0);
        Edges {
            first,
            last,
            left: pool.take(room(first)),
            right: pool.take(room(width - last)),
            zeros,
        }
    }

    fn give_back(self, pool: &mut BufferPool) {
        [self.left, self.right, self.zeros]
            .into_iter()
            .for_each(|buffer| pool.give_back(buffer));
    }
}

/// A depthwise convolution followed by a pointwise one, some rows at a time, so that the map between them stays in the cache.
///
/// # Errors
/// The map is smaller than the kernel.
pub(super) fn run_separable(
    depthwise: &DepthwiseConv,
    pointwise: &Conv,
    input: &FeatureMap,
    pool: &mut BufferPool,
) -> Result<FeatureMap> {
    let (height, width) = depthwise.window.output_size(input)?;
    let columns = pointwise.weights.columns();
    let mut out = pool.map(height, width, pointwise.out_channels, columns)?;
    let rows_at_a_time = PIXELS_AT_A_TIME
        .div_ceil(width.max(1))
        .max(ROWS_AT_A_TIME)
        .min(height.max(1));
    let mut edges = Edges::new(input, &depthwise.window, width, rows_at_a_time, pool);
    let mut between = pool.map(rows_at_a_time, width, depthwise.channels, input.stride)?;
    let length = width * input.stride;
    for top in (0..height).step_by(rows_at_a_time) {
        let count = rows_at_a_time.min(height - top);
        let rows = &mut between.data[..count * length];
        depthwise.run_rows(input, &mut edges, top, width, rows);
        let to = top * width * columns;
        pointwise.run_pointwise(
            &between,
            &mut out.data[to..to + count * width * columns],
            count * width,
            pool,
        );
    }
    edges.give_back(pool);
    pool.recycle(between);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::NumericMode;
    use super::super::dense::Weights;
    use super::super::tests::{map, numbers};
    use super::*;

    fn depthwise(
        kernel: (usize, usize),
        stride: (usize, usize),
        padding: [usize; 4],
    ) -> DepthwiseConv {
        DepthwiseConv {
            window: Window {
                kernel,
                stride,
                padding,
            },
            channels: 16,
            weights: Aligned::copy_of(&numbers(kernel.0 * kernel.1 * 16, 3)),
            bias: numbers(16, 4),
            activation: Activation::None,
        }
    }

    /// Kernels with and without specialised tiles, a kernel wider than the map, and kernels with more padding on one side.
    fn geometries() -> [DepthwiseConv; 5] {
        [
            depthwise((3, 3), (1, 1), [1; 4]),
            depthwise((5, 5), (2, 2), [2; 4]),
            depthwise((3, 3), (2, 1), [0, 1, 1, 0]),
            depthwise((1, 9), (1, 1), [0, 4, 0, 4]),
            depthwise((2, 4), (1, 3), [1, 3, 0, 0]),
        ]
    }

    #[test]
    fn a_depthwise_convolution_is_its_definition() {
        let input = map(6, 7, 16);
        let mut pool = BufferPool::default();
        for conv in geometries() {
            let window = &conv.window;
            let out = conv.run(&input, &mut pool).unwrap();
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
            window: Window {
                kernel: (1, 1),
                stride: (1, 1),
                padding: [0; 4],
            },
            in_channels: 16,
            out_channels: 32,
            weights: Weights::new(&numbers(16 * 32, 5), numbers(32, 6), NumericMode::Auto),
            activation: Activation::Relu,
        };
        for conv in geometries() {
            let between = conv.run(&input, &mut pool).unwrap();
            let expected = pointwise.run(&between, &mut pool).unwrap();
            let out = run_separable(&conv, &pointwise, &input, &mut pool).unwrap();
            assert_eq!(*out.data, *expected.data);
        }
    }
}
