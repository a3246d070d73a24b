//! Convolutions of all channels with all, as products of windows and weights.

use std::ops::DerefMut;

use anyhow::{Context, Result, ensure};
use rten_simd::SimdOp;
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};
use rten_vecmath::Softmax;

use super::kernel::{Activation, BLOCK, Packed, Product};
use super::memory::{Buffer, Map, Memory};
use super::quantised::{ByteProduct, Quantised, Scale};

pub(super) struct Window {
    /// Rows and columns.
    pub kernel: (usize, usize),
    pub stride: (usize, usize),
    /// Top, left, bottom, right.
    pub pads: [usize; 4],
}

impl Window {
    pub(super) fn output(&self, map: &Map) -> Result<(usize, usize)> {
        let side = |length: usize, pads: usize, kernel: usize, stride: usize| {
            (length + pads)
                .checked_sub(kernel)
                .map(|rest| rest / stride + 1)
        };
        let [top, left, bottom, right] = self.pads;
        side(map.height, top + bottom, self.kernel.0, self.stride.0)
            .zip(side(map.width, left + right, self.kernel.1, self.stride.1))
            .context("a picture too small for the network")
    }

    pub fn is_point(&self) -> bool {
        self.kernel == (1, 1) && self.stride == (1, 1) && self.pads == [0; 4]
    }
}

pub(super) enum Weights {
    Floats(Packed),
    Bytes(Quantised),
}

impl Weights {
    /// Those of (rows, columns) numbers: bytes, if there are so many rows that making bytes of the other side pays.
    pub fn new(weights: &[f32], bias: Vec<f32>, may_be_bytes: bool) -> Weights {
        let rows = weights.len() / bias.len().max(1);
        let bytes = (may_be_bytes && rows >= BYTES_FROM)
            .then(|| Quantised::new(weights, bias.clone()))
            .flatten();
        match bytes {
            Some(bytes) => Weights::Bytes(bytes),
            None => Weights::Floats(Packed::new(weights, bias)),
        }
    }

    pub fn columns(&self) -> usize {
        match self {
            Weights::Floats(weights) => weights.columns(),
            Weights::Bytes(weights) => weights.columns(),
        }
    }
}

/// Products of fewer rows take as long in floats: measured, 48 rows 0.9 to 1.4 times as fast in bytes, 64 twice, 240 six times.
pub(super) const BYTES_FROM: usize = 64;

/// Places that go from the depthwise convolution to the product at one time, at least: they stay in the nearest caches,
/// and fill the product's tiles.
pub(super) const TOGETHER: usize = 96;

pub(super) struct Conv {
    pub window: Window,
    /// What its input has.
    pub channels: usize,
    pub weights: Weights,
    pub activation: Activation,
    /// Channels of its output, without padding.
    pub gives: usize,
}

/// The rows of a map under a window, each padded with zeros on the left and right.
struct PaddedRows<T, B> {
    /// The row that lies in each buffer; a row's buffer is its number modulo the kernel's height.
    held: Vec<Option<isize>>,
    buffers: Vec<B>,
    left: usize,
    zero: T,
    /// Of a row of the map.
    length: usize,
    height: usize,
}

impl<T: Copy, B: DerefMut<Target = [T]>> PaddedRows<T, B> {
    /// `buffer` gives room for so many numbers, with anything in it.
    fn new(map: &Map, window: &Window, zero: T, mut buffer: impl FnMut(usize) -> B) -> Self {
        let [_, left, _, right] = window.pads;
        let rows = window.kernel.0;
        let buffers = (0..rows)
            .map(|_| {
                let mut buffer = buffer((map.width + left + right) * map.stride);
                buffer.fill(zero);
                buffer
            })
            .collect();
        PaddedRows {
            held: vec![None; rows],
            buffers,
            left: left * map.stride,
            zero,
            length: map.width * map.stride,
            height: map.height,
        }
    }

    /// The kernel's rows of the map with these numbers, for a row of results, from the top.
    fn under(&mut self, numbers: &[T], window: &Window, y: usize) -> Vec<&[T]> {
        let rows = window.kernel.0;
        let first = (y * window.stride.0) as isize - window.pads[0] as isize;
        let place = |row: isize| row.rem_euclid(rows as isize) as usize;
        for row in first..first + rows as isize {
            let at = place(row);
            if self.held[at] == Some(row) {
                continue;
            }
            let buffer = &mut self.buffers[at][self.left..self.left + self.length];
            match usize::try_from(row).ok().filter(|&row| row < self.height) {
                Some(row) => {
                    buffer.copy_from_slice(&numbers[row * self.length..(row + 1) * self.length])
                }
                None => buffer.fill(self.zero),
            }
            self.held[at] = Some(row);
        }
        (first..first + rows as isize)
            .map(|row| &*self.buffers[place(row)])
            .collect()
    }
}

impl PaddedRows<f32, Buffer> {
    fn of(map: &Map, window: &Window, memory: &mut Memory) -> Self {
        PaddedRows::new(map, window, 0.0, |length| memory.numbers(length))
    }

    fn done(self, memory: &mut Memory) {
        self.buffers
            .into_iter()
            .for_each(|buffer| memory.give(buffer));
    }
}

impl Conv {
    pub(super) fn run(&self, input: &Map, memory: &mut Memory) -> Result<Map> {
        let (height, width) = self.window.output(input)?;
        let columns = self.weights.columns();
        let mut out = memory.map(height, width, self.gives, columns);
        if self.window.is_point() {
            self.points(input, &mut out.data, height * width, memory);
            return Ok(out);
        }
        let length = self.window.kernel.1 * input.stride;
        let step = self.window.stride.1 * input.stride;
        match &self.weights {
            Weights::Floats(weights) => {
                let mut rows = PaddedRows::of(input, &self.window, memory);
                for (y, out) in out.data.chunks_mut(width * columns).enumerate() {
                    Product {
                        rows: &rows.under(&input.data, &self.window, y),
                        length,
                        step,
                        count: width,
                        weights,
                        activation: self.activation,
                        out,
                        out_step: columns,
                    }
                    .dispatch();
                }
                rows.done(memory);
            }
            Weights::Bytes(weights) => {
                // windows overlap places, so that all places have one scale
                let (low, high) = weights.range(&input.data);
                let scale = Scale::of(low, high);
                let mut bytes = std::mem::take(&mut memory.bytes);
                bytes.resize(input.data.len(), 0);
                weights.bytes(&input.data, scale, &mut bytes);
                let mut rows = PaddedRows::new(input, &self.window, scale.zero_byte(), |length| {
                    vec![0; length]
                });
                for (y, out) in out.data.chunks_mut(width * columns).enumerate() {
                    ByteProduct {
                        rows: &rows.under(&bytes, &self.window, y),
                        length,
                        step,
                        count: width,
                        scales: &[scale],
                        weights,
                        activation: self.activation,
                        out,
                        out_step: columns,
                    }
                    .run();
                }
                memory.bytes = bytes;
            }
        }
        Ok(out)
    }

    /// The product at each of `count` places.
    pub(super) fn points(&self, input: &Map, out: &mut [f32], count: usize, memory: &mut Memory) {
        Points {
            numbers: &input.data,
            length: self.channels,
            step: input.stride,
            count,
        }
        .times(&self.weights, self.activation, out, memory);
    }
}

/// The first `length` of the `step` numbers of each of `count` places.
struct Points<'a> {
    numbers: &'a [f32],
    length: usize,
    step: usize,
    count: usize,
}

impl Points<'_> {
    fn times(
        &self,
        weights: &Weights,
        activation: Activation,
        out: &mut [f32],
        memory: &mut Memory,
    ) {
        let &Points {
            numbers,
            length,
            step,
            count,
        } = self;
        let out_step = weights.columns();
        match weights {
            Weights::Floats(weights) => Product {
                rows: &[numbers],
                length,
                step,
                count,
                weights,
                activation,
                out,
                out_step,
            }
            .dispatch(),
            Weights::Bytes(weights) => {
                let Memory { bytes, scales, .. } = memory;
                // a part at a time, so that its bytes stay in the nearest caches
                for first in (0..count).step_by(TOGETHER) {
                    let count = TOGETHER.min(count - first);
                    weights.places(&numbers[first * step..], length, step, count, bytes, scales);
                    ByteProduct {
                        rows: &[bytes],
                        length: weights.rows(),
                        step: weights.rows(),
                        count,
                        scales,
                        weights,
                        activation,
                        out: &mut out[first * out_step..(first + count) * out_step],
                        out_step,
                    }
                    .run();
                }
            }
        }
    }
}

/// What a network of labels ends in: softmax(x · weights + bias).
pub struct Classes {
    pub(super) input_name: String,
    /// x is transposed first.
    pub(super) turned: bool,
    pub(super) rows: usize,
    pub(super) labels: usize,
    pub(super) weights: Weights,
}

impl Classes {
    /// What the model file calls x.
    pub fn input_name(&self) -> &str {
        &self.input_name
    }

    /// The probability of each label, for each of the rows of `x`: (1, rows, numbers), or turned (1, numbers, rows).
    ///
    /// # Errors
    /// Rows of another length than the weights'.
    pub fn run(
        &self,
        x: NdTensorView<'_, f32, 3>,
        memory: &mut Memory,
    ) -> Result<NdTensor<f32, 3>> {
        let x = if self.turned {
            x.permuted([0, 2, 1])
        } else {
            x
        };
        let [batch, count, length] = x.shape();
        ensure!(
            batch == 1 && length == self.rows,
            "rows of {length} numbers: {} are wanted",
            self.rows
        );
        let columns = self.weights.columns();
        let mut out = vec![0.0; count * columns];
        let x = x.to_contiguous();
        Points {
            numbers: x.data(),
            length,
            step: length,
            count,
        }
        .times(&self.weights, Activation::None, &mut out, memory);
        for row in out.chunks_mut(columns) {
            Softmax::new_mut(&mut row[..self.labels]).dispatch();
        }
        let strides = [count * columns, columns, 1];
        NdTensor::from_data_with_strides([1, count, self.labels], out, strides)
            .context("laying out labels")
    }
}

/// A factor 2 of a map, each place by a matrix of its own for each of the four that become of it.
pub(super) struct Enlarge {
    pub channels: usize,
    pub gives: usize,
    /// For the upper and the lower row: left and right place, padded channels of each. If it gives one channel, all four
    /// in the first.
    pub weights: Vec<Packed>,
    pub activation: Activation,
}

impl Enlarge {
    pub(super) fn run(&self, input: &Map, memory: &mut Memory) -> Result<Map> {
        let (height, width) = (input.height, input.width);
        let single = self.gives == 1;
        let stride = if single {
            1
        } else {
            self.gives.next_multiple_of(BLOCK)
        };
        let mut out = memory.map(2 * height, 2 * width, self.gives, stride);
        let mut row = memory.numbers(width * BLOCK);
        for y in 0..height {
            for (down, weights) in self.weights.iter().enumerate() {
                let columns = weights.columns();
                let from = (2 * y + down) * 2 * width * stride;
                let out = match single {
                    true => &mut row,
                    false => &mut out.data[from..from + 2 * width * stride],
                };
                Product {
                    rows: &[input.row(y)],
                    length: self.channels,
                    step: input.stride,
                    count: width,
                    weights,
                    activation: self.activation,
                    out,
                    out_step: columns,
                }
                .dispatch();
            }
            if single {
                let (upper, lower) =
                    out.data[4 * y * width..4 * (y + 1) * width].split_at_mut(2 * width);
                for ((four, upper), lower) in row
                    .chunks(BLOCK)
                    .zip(upper.chunks_mut(2))
                    .zip(lower.chunks_mut(2))
                {
                    upper.copy_from_slice(&four[..2]);
                    lower.copy_from_slice(&four[2..4]);
                }
            }
        }
        memory.give(row);
        Ok(out)
    }
}
