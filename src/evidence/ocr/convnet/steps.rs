//! What a compiled network does, step by step.

use std::ops::{Deref, DerefMut};

use anyhow::{Context, Result, ensure};
use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp, SimdUnaryOp};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};
use rten_vecmath::{Sigmoid, Softmax};

use super::kernel::{Activation, BLOCK, Depthwise, Packed, Product};
use super::quantised::{ByteProduct, Quantised, Scale};

/// A map of `height` × `width` places, row after row, with `channels` numbers at each, `stride` apart.
///
/// Numbers between `channels` and `stride` are finite and mean nothing: weights for them are zero.
#[derive(Clone, Debug, Default)]
pub struct Map {
    pub height: usize,
    pub width: usize,
    pub channels: usize,
    pub stride: usize,
    pub data: Buffer,
}

impl Map {
    /// A picture of `channels` colours, all of them `number`.
    pub fn picture(height: usize, width: usize, channels: usize, number: f32) -> Map {
        Map {
            height,
            width,
            channels,
            stride: channels,
            data: vec![number; height * width * channels].into(),
        }
    }

    pub fn at(&self, y: usize, x: usize, channel: usize) -> f32 {
        self.data[(y * self.width + x) * self.stride + channel]
    }

    fn row(&self, y: usize) -> &[f32] {
        let length = self.width * self.stride;
        &self.data[y * length..(y + 1) * length]
    }
}

/// Numbers, of a buffer that may be longer.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    numbers: Vec<f32>,
    length: usize,
}

impl From<Vec<f32>> for Buffer {
    fn from(numbers: Vec<f32>) -> Self {
        Buffer {
            length: numbers.len(),
            numbers,
        }
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.numbers[..self.length]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.numbers[..self.length]
    }
}

/// Buffers that were used before and wait to be used again.
#[derive(Default)]
pub struct Memory {
    numbers: Vec<Vec<f32>>,
    bytes: Vec<u8>,
    scales: Vec<Scale>,
}

impl Memory {
    /// A map with anything in it.
    pub fn map(&mut self, height: usize, width: usize, channels: usize, stride: usize) -> Map {
        Map {
            height,
            width,
            channels,
            stride,
            data: self.numbers(height * width * stride),
        }
    }

    /// A picture of `channels` colours, with anything in it.
    pub fn picture(&mut self, height: usize, width: usize, channels: usize) -> Map {
        self.map(height, width, channels, channels)
    }

    fn numbers(&mut self, length: usize) -> Buffer {
        let fitting = (0..self.numbers.len())
            .filter(|&n| self.numbers[n].len() >= length)
            .min_by_key(|&n| self.numbers[n].len());
        Buffer {
            numbers: match fitting {
                Some(n) => self.numbers.swap_remove(n),
                None => vec![0.0; length],
            },
            length,
        }
    }

    /// Keeps a buffer for later.
    fn give(&mut self, buffer: Buffer) {
        if self.numbers.len() == KEPT {
            let smallest = (0..KEPT).min_by_key(|&n| self.numbers[n].len());
            smallest.map(|n| self.numbers.swap_remove(n));
        }
        self.numbers.push(buffer.numbers);
    }

    pub fn keep(&mut self, map: Map) {
        self.give(map.data);
    }
}

/// More buffers than the networks use at one time.
const KEPT: usize = 24;

/// Number of a value of the network.
pub(super) type Value = usize;

pub(super) struct Window {
    /// Rows and columns.
    pub kernel: (usize, usize),
    pub stride: (usize, usize),
    /// Top, left, bottom, right.
    pub pads: [usize; 4],
}

impl Window {
    fn output(&self, map: &Map) -> Result<(usize, usize)> {
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

    fn columns(&self) -> usize {
        match self {
            Weights::Floats(weights) => weights.columns(),
            Weights::Bytes(weights) => weights.columns(),
        }
    }
}

/// Products of fewer rows take as long in floats: measured, 48 rows 0.9 to 1.4 times as fast in bytes, 64 twice, 240 six times.
pub(super) const BYTES_FROM: usize = 64;

pub(super) struct Conv {
    pub window: Window,
    /// What its input has.
    pub channels: usize,
    pub weights: Weights,
    pub activation: Activation,
    /// Channels of its output, without padding.
    pub gives: usize,
}

pub(super) struct DepthwiseConv {
    pub window: Window,
    pub channels: usize,
    /// (rows, columns, padded channels)
    pub weights: Vec<f32>,
    pub bias: Vec<f32>,
    pub activation: Activation,
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

/// `map · (scale + plus)`, each place repeated `enlarged` times across and down.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    pub map: Value,
    /// A map of one place.
    pub scale: Option<Value>,
    pub plus: f32,
    pub enlarged: usize,
}

pub(super) enum Kind {
    Conv(Conv),
    Depthwise(DepthwiseConv),
    /// A depthwise convolution and the product behind it.
    Separable(DepthwiseConv, Conv),
    Enlarge(Enlarge),
    /// Mean over all places.
    Mean,
    /// Mean over windows that do not overlap.
    Pool {
        kernel: (usize, usize),
    },
    /// For each part, a sum; parts lie one after another in the channels.
    Sum(Vec<Vec<Term>>),
    Sigmoid,
}

pub(super) struct Step {
    pub kind: Kind,
    /// Of a sum, none: its terms say.
    pub input: Option<Value>,
    pub output: Value,
}

impl Step {
    pub fn uses(&self) -> Vec<Value> {
        match &self.kind {
            Kind::Sum(parts) => parts
                .iter()
                .flatten()
                .flat_map(|term| [Some(term.map), term.scale])
                .flatten()
                .collect(),
            _ => self.input.into_iter().collect(),
        }
    }
}

/// A network of one input and one output.
pub struct ConvNet {
    pub(super) steps: Vec<Step>,
    pub(super) values: usize,
    /// Of the input; it is value 0.
    pub(super) channels: usize,
    pub(super) output: Value,
    pub(super) output_name: String,
}

impl ConvNet {
    /// What the model file calls this network's output.
    pub fn output_name(&self) -> &str {
        &self.output_name
    }

    /// Runs it on one picture.
    ///
    /// # Errors
    /// A picture with other channels than the network's, or too small for it.
    pub fn run(&self, input: Map, memory: &mut Memory) -> Result<Map> {
        ensure!(
            input.channels == self.channels,
            "{} channels: the network takes {}",
            input.channels,
            self.channels
        );
        let mut maps: Vec<Option<Map>> = Vec::new();
        maps.resize_with(self.values, || None);
        maps[0] = Some(input);
        for (n, step) in self.steps.iter().enumerate() {
            let map = step.run(&maps, memory)?;
            maps[step.output] = Some(map);
            for value in step.uses() {
                let again = value == self.output
                    || self.steps[n + 1..]
                        .iter()
                        .any(|step| step.uses().contains(&value));
                if !again && let Some(map) = maps[value].take() {
                    memory.keep(map);
                }
            }
        }
        maps[self.output].take().context("a network without output")
    }
}

impl Step {
    fn run(&self, maps: &[Option<Map>], memory: &mut Memory) -> Result<Map> {
        let of = |value: Value| maps[value].as_ref().context("a map that is not there yet");
        let input = || of(self.input.context("a step without input")?);
        match &self.kind {
            Kind::Conv(conv) => conv.run(input()?, memory),
            Kind::Depthwise(conv) => conv.run(input()?, memory),
            Kind::Separable(depthwise, conv) => separable(depthwise, conv, input()?, memory),
            Kind::Enlarge(enlarge) => enlarge.run(input()?, memory),
            Kind::Mean => Ok(mean(input()?, memory)),
            Kind::Pool { kernel } => pool(input()?, *kernel, memory),
            Kind::Sum(parts) => sum(parts, maps, memory),
            Kind::Sigmoid => {
                let input = input()?;
                let mut map = memory.map(input.height, input.width, input.channels, input.stride);
                map.data.copy_from_slice(&input.data);
                Sigmoid {}.map_mut(&mut map.data);
                Ok(map)
            }
        }
    }
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
    fn run(&self, input: &Map, memory: &mut Memory) -> Result<Map> {
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
    fn points(&self, input: &Map, out: &mut [f32], count: usize, memory: &mut Memory) {
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

impl DepthwiseConv {
    fn run(&self, input: &Map, memory: &mut Memory) -> Result<Map> {
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

/// Places that go from the depthwise convolution to the product at one time, at least: they stay in the nearest caches,
/// and fill the product's tiles.
const TOGETHER: usize = 96;

fn separable(
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

impl Enlarge {
    fn run(&self, input: &Map, memory: &mut Memory) -> Result<Map> {
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

fn mean(input: &Map, memory: &mut Memory) -> Map {
    let mut out = memory.map(1, 1, input.channels, input.stride);
    AddRows {
        rows: &input.data,
        sums: &mut out.data,
    }
    .dispatch();
    let count = (input.height * input.width).max(1) as f32;
    out.data.iter_mut().for_each(|sum| *sum /= count);
    out
}

struct AddRows<'a, 'b> {
    rows: &'a [f32],
    sums: &'b mut [f32],
}

impl SimdOp for AddRows<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ops = isa.f32();
        let width = self.sums.len();
        // a partial sum for each few hundred places: a single one would lose digits over a large map
        self.sums.fill(0.0);
        let lanes = ops.len();
        for channel in (0..width).step_by(lanes) {
            let mut total = ops.zero();
            for part in self.rows.chunks(256 * width) {
                let mut sum = ops.zero();
                for row in part.chunks_exact(width) {
                    sum = ops.add(sum, ops.load(&row[channel..]));
                }
                total = ops.add(total, sum);
            }
            ops.store(total, &mut self.sums[channel..]);
        }
    }
}

fn pool(input: &Map, (rows, columns): (usize, usize), memory: &mut Memory) -> Result<Map> {
    let (height, width) = (input.height / rows, input.width / columns);
    ensure!(
        height > 0 && width > 0,
        "a picture too small for the network"
    );
    let mut out = memory.map(height, width, input.channels, input.stride);
    let share = 1.0 / (rows * columns) as f32;
    for (n, place) in out.data.chunks_mut(input.stride).enumerate() {
        let (y, x) = (n / width, n % width);
        place.fill(0.0);
        for row in y * rows..(y + 1) * rows {
            for column in x * columns..(x + 1) * columns {
                let from = column * input.stride;
                for (sum, number) in place.iter_mut().zip(&input.row(row)[from..]) {
                    *sum += number * share;
                }
            }
        }
    }
    Ok(out)
}

fn sum(parts: &[Vec<Term>], maps: &[Option<Map>], memory: &mut Memory) -> Result<Map> {
    let of = |value: Value| maps[value].as_ref().context("a map that is not there yet");
    let mut size = None;
    let mut channels = 0;
    for part in parts {
        let first = of(part.first().context("a sum of nothing")?.map)?;
        channels += first.channels;
        for term in part {
            let map = of(term.map)?;
            let extent = (map.height * term.enlarged, map.width * term.enlarged);
            ensure!(
                *size.get_or_insert(extent) == extent,
                "maps of different sizes are added"
            );
            ensure!(
                map.channels == first.channels,
                "maps of different channels are added"
            );
        }
    }
    let (height, width) = size.context("a sum of nothing")?;
    let stride = channels.next_multiple_of(BLOCK);
    let mut out = memory.map(height, width, channels, stride);
    if parts.len() > 1 {
        out.data.fill(0.0);
    }
    let mut factors = Vec::new();
    for term in parts.iter().flatten() {
        let map = of(term.map)?;
        factors.push(match term.scale {
            Some(scale) => of(scale)?.data.iter().map(|s| s + term.plus).collect(),
            None => vec![term.plus; map.stride],
        });
    }
    let mut factors = factors.into_iter();
    let mut offset = 0;
    for part in parts {
        let terms = part
            .iter()
            .map(|term| {
                Ok((
                    of(term.map)?,
                    factors.next().unwrap_or_default(),
                    term.enlarged,
                ))
            })
            .collect::<Result<Vec<_>>>()?;
        let channels = terms.first().map_or(0, |(map, ..)| map.channels);
        for (y, row) in out.data.chunks_mut(width * stride).enumerate() {
            for (n, (map, factor, enlarged)) in terms.iter().enumerate() {
                AddScaled {
                    from: map.row(y / enlarged),
                    from_step: map.stride,
                    repeat: *enlarged,
                    factor,
                    // whole blocks, where no other part begins in the last one
                    channels: if parts.len() > 1 {
                        channels
                    } else {
                        map.stride
                    },
                    first: n == 0,
                    out: &mut row[offset..],
                    out_step: stride,
                }
                .dispatch();
            }
        }
        offset += channels;
    }
    Ok(out)
}

/// `out[x] (+)= from[x / repeat] · factor` for each place of a row.
struct AddScaled<'a, 'b> {
    from: &'a [f32],
    from_step: usize,
    repeat: usize,
    factor: &'a [f32],
    channels: usize,
    /// Overwrite and do not add.
    first: bool,
    out: &'b mut [f32],
    out_step: usize,
}

impl SimdOp for AddScaled<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ops = isa.f32();
        let lanes = ops.len();
        let mut places = self.out.chunks_mut(self.out_step);
        for from in self.from.chunks_exact(self.from_step) {
            for _ in 0..self.repeat {
                let Some(out) = places.next() else { return };
                let mut channel = 0;
                while channel + lanes <= self.channels {
                    let x = ops.load(&from[channel..]);
                    let factor = ops.load(&self.factor[channel..]);
                    let sum = match self.first {
                        true => ops.mul(x, factor),
                        false => ops.mul_add(x, factor, ops.load(&out[channel..])),
                    };
                    ops.store(sum, &mut out[channel..]);
                    channel += lanes;
                }
                for channel in channel..self.channels {
                    let x = from[channel] * self.factor[channel];
                    out[channel] = if self.first { x } else { out[channel] + x };
                }
            }
        }
    }
}
