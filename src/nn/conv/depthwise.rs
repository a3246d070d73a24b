//! Convolutions that keep channels apart.

use anyhow::Result;
use rten_simd::SimdOp;

use super::conv::{Conv, TOGETHER, Window};
use super::kernel::{Activation, Depthwise};
use super::memory::{Buffer, Map, Memory};

pub(super) struct DepthwiseConv {
    pub window: Window,
    pub channels: usize,
    /// (rows, columns, padded channels)
    pub weights: Vec<f32>,
    pub bias: Vec<f32>,
    pub activation: Activation,
}

impl DepthwiseConv {
    pub(super) fn run(&self, input: &Map, memory: &mut Memory) -> Result<Map> {
        let (height, width) = self.window.output(input)?;
        let mut out = memory.map(height, width, self.channels, input.stride);
        let mut edges = Edges::new(input, &self.window, width, memory);
        for (y, out) in out.data.chunks_mut(width * input.stride).enumerate() {
            self.row(input, &mut edges, y, out);
        }
        edges.done(memory);
        Ok(out)
    }

    /// The results of row `y`. Only windows that reach over the map's sides see a copy of it.
    fn row(&self, input: &Map, edges: &mut Edges, y: usize, out: &mut [f32]) {
        let stride = input.stride;
        let (rows, columns) = self.window.kernel;
        let row = |n: usize| {
            (y * self.window.stride.0 + n)
                .checked_sub(self.window.pads[0])
                .filter(|&row| row < input.height)
        };
        let compute = |rows: &[&[f32]], out: &mut [f32]| {
            Depthwise {
                rows,
                columns,
                channels: stride,
                stride: self.window.stride.1,
                weights: &self.weights,
                bias: &self.bias,
                activation: self.activation,
                out,
            }
            .dispatch();
        };
        let Edges {
            first,
            last,
            left,
            right,
            zeros,
        } = edges;
        let pad = self.window.pads[1];
        let across = self.window.stride.1;
        if *first < *last {
            let from = (*first * across - pad) * stride;
            let inner: Vec<&[f32]> = (0..rows)
                .map(|n| row(n).map_or(&zeros[from..], |row| &input.row(row)[from..]))
                .collect();
            compute(&inner, &mut out[*first * stride..*last * stride]);
        }
        let width = out.len() / stride;
        for (side, places) in [(left, 0..*first), (right, *last..width)] {
            if places.is_empty() {
                continue;
            }
            let length = ((places.len() - 1) * across + columns) * stride;
            // place of the map under the first window's first column, from the left padding on
            let start = places.start * across;
            for (n, copy) in side.chunks_mut(length).take(rows).enumerate() {
                let map = row(n).map(|row| input.row(row));
                for (column, to) in copy.chunks_mut(stride).enumerate() {
                    let at = (start + column)
                        .checked_sub(pad)
                        .filter(|&at| at < input.width);
                    match map.zip(at) {
                        Some((map, at)) => to.copy_from_slice(&map[at * stride..(at + 1) * stride]),
                        None => to.fill(0.0),
                    }
                }
            }
            let copies: Vec<&[f32]> = side.chunks(length).take(rows).collect();
            compute(
                &copies,
                &mut out[places.start * stride..places.end * stride],
            );
        }
    }
}

/// What a depthwise convolution needs besides the map.
struct Edges {
    /// Results from `first` up to `last` have windows within the map's sides.
    first: usize,
    last: usize,
    /// Copies of the rows under the windows of the results before and after these.
    left: Buffer,
    right: Buffer,
    /// A row above or below the map.
    zeros: Buffer,
}

impl Edges {
    /// `width`: results of a row.
    fn new(map: &Map, window: &Window, width: usize, memory: &mut Memory) -> Edges {
        let [_, pad, ..] = window.pads;
        let ((rows, columns), across) = (window.kernel, window.stride.1);
        let first = pad.div_ceil(across).min(width);
        // the last window that ends within the map begins at map.width - columns, counted from its left side
        let inner = (map.width + pad)
            .checked_sub(columns)
            .map_or(0, |last| last / across + 1);
        let last = inner.clamp(first, width.max(first));
        let room = |places: usize| match places {
            0 => 0,
            _ => ((places - 1) * across + columns) * map.stride * rows,
        };
        let mut zeros = memory.numbers(map.width * map.stride);
        zeros.fill(0.0);
        Edges {
            first,
            last,
            left: memory.numbers(room(first)),
            right: memory.numbers(room(width - last)),
            zeros,
        }
    }

    fn done(self, memory: &mut Memory) {
        [self.left, self.right, self.zeros]
            .into_iter()
            .for_each(|buffer| memory.give(buffer));
    }
}

/// The depthwise convolution, and the product at each place behind it.
pub(super) fn separable(
    depthwise: &DepthwiseConv,
    conv: &Conv,
    input: &Map,
    memory: &mut Memory,
) -> Result<Map> {
    let (height, width) = depthwise.window.output(input)?;
    let columns = conv.weights.columns();
    let mut out = memory.map(height, width, conv.gives, columns);
    let mut edges = Edges::new(input, &depthwise.window, width, memory);
    let together = TOGETHER.div_ceil(width.max(1)).min(height.max(1));
    let mut between = memory.map(together, width, depthwise.channels, input.stride);
    let length = width * input.stride;
    for top in (0..height).step_by(together) {
        let count = together.min(height - top);
        for n in 0..count {
            depthwise.row(
                input,
                &mut edges,
                top + n,
                &mut between.data[n * length..(n + 1) * length],
            );
        }
        let to = top * width * columns;
        conv.points(
            &between,
            &mut out.data[to..to + count * width * columns],
            count * width,
            memory,
        );
    }
    edges.done(memory);
    memory.keep(between);
    Ok(out)
}
