//! Maps, and the buffers that they lie in.

use std::ops::{Deref, DerefMut};

use super::quantised::Scale;

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

    pub(super) fn row(&self, y: usize) -> &[f32] {
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
    pub(super) bytes: Vec<u8>,
    pub(super) scales: Vec<Scale>,
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

    pub(super) fn numbers(&mut self, length: usize) -> Buffer {
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
    pub(super) fn give(&mut self, buffer: Buffer) {
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
