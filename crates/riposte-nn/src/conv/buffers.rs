//! Feature maps, and the pool of the buffers that hold them.

use super::aligned::Aligned;
use super::quantised::{PairBuffers, Quantisation};
use crate::error::{Error, Result, ensure};
use crate::limits::MAX_NUMBERS;

/// Index of a feature map of the network. The inputs come first.
pub(super) type ValueId = usize;

/// Checks that the maps that a network needs at the same time have at most [`MAX_NUMBERS`] numbers.
pub(super) fn check_size(maps: &[Option<FeatureMap>]) -> Result<()> {
    let numbers: usize = maps.iter().flatten().map(|map| map.data.len()).sum();
    ensure!(
        numbers <= MAX_NUMBERS,
        Unsupported,
        "the network needs {numbers} numbers at a time, more than {MAX_NUMBERS}"
    );
    Ok(())
}

/// The map of a value that an earlier step has computed.
pub(super) fn computed(maps: &[Option<FeatureMap>], value: ValueId) -> Result<&FeatureMap> {
    maps[value]
        .as_ref()
        .ok_or_else(|| Error::Unsupported("a step reads a map that is not computed yet".to_owned()))
}

/// The shape of a map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shape {
    pub height: usize,
    pub width: usize,
    /// Numbers of a pixel, without padding.
    pub channels: usize,
    /// Numbers from a pixel to the next one.
    pub stride: usize,
}

impl Shape {
    /// Numbers in a row.
    pub fn row(&self) -> usize {
        self.width * self.stride
    }
}

/// A feature map of one image, (height, width, channels) with channels innermost; the network's input is one too.
///
/// Row follows row and pixel follows pixel, each pixel `stride` numbers after the one before. The numbers of a pixel from
/// `channels` to `stride` are padding: they are finite, and the weights for them are zero.
#[derive(Clone, Debug, Default)]
pub struct FeatureMap {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Numbers of a pixel, without padding.
    pub channels: usize,
    /// Numbers from a pixel to the next one.
    pub stride: usize,
    /// `height · width · stride` numbers.
    pub data: Buffer,
}

impl FeatureMap {
    /// A map without padding, every number of which is `value`.
    pub fn filled(height: usize, width: usize, channels: usize, value: f32) -> FeatureMap {
        let numbers = vec![value; height * width * channels];
        FeatureMap {
            height,
            width,
            channels,
            stride: channels,
            data: Buffer::copy_of(&numbers),
        }
    }

    /// The number at row `y`, column `x` and `channel`.
    ///
    /// # Panics
    /// If the map has no such pixel.
    pub fn at(&self, y: usize, x: usize, channel: usize) -> f32 {
        self.data[(y * self.width + x) * self.stride + channel]
    }

    pub(super) fn shape(&self) -> Shape {
        Shape {
            height: self.height,
            width: self.width,
            channels: self.channels,
            stride: self.stride,
        }
    }
}

/// Numbers of a map, in an allocation that can be larger.
pub type Buffer = Aligned<f32>;

/// Allocations that are reused from layer to layer and from image to image.
#[derive(Default)]
pub struct BufferPool {
    free: Vec<Buffer>,
    /// Scratch space for quantised inputs.
    pub(crate) bytes: Aligned<u8>,
    pub(crate) quantisations: Vec<Quantisation>,
    /// Scratch space for products in 16 bits.
    pub(crate) pairs: PairBuffers,
}

/// Maximum number of free buffers that are kept: more than the OCR networks use at a time.
const FREE: usize = 24;

impl BufferPool {
    /// A map with arbitrary finite contents.
    ///
    /// # Errors
    /// It would have more than 2^27 numbers (512 MiB).
    pub fn map(
        &mut self,
        height: usize,
        width: usize,
        channels: usize,
        stride: usize,
    ) -> Result<FeatureMap> {
        let numbers = height.checked_mul(width);
        let numbers = numbers.and_then(|pixels| pixels.checked_mul(stride));
        let numbers = numbers.filter(|&numbers| numbers <= MAX_NUMBERS);
        let numbers = numbers.ok_or_else(|| {
            Error::Unsupported(format!(
                "the network needs a map of {height} × {width} pixels with {channels} channels, which is too large"
            ))
        })?;
        Ok(FeatureMap {
            height,
            width,
            channels,
            stride,
            data: self.take(numbers),
        })
    }

    /// A map without padding and with arbitrary finite contents, to be filled with an image.
    pub fn image(&mut self, height: usize, width: usize, channels: usize) -> FeatureMap {
        FeatureMap {
            height,
            width,
            channels,
            stride: channels,
            data: self.take(height * width * channels),
        }
    }

    /// Takes the map's buffer back.
    pub fn recycle(&mut self, map: FeatureMap) {
        self.give_back(map.data);
    }

    /// A buffer of `length` numbers with arbitrary finite contents: the smallest free one that is large enough, or a new one.
    pub(crate) fn take(&mut self, length: usize) -> Buffer {
        let fitting = (0..self.free.len())
            .filter(|&n| self.free[n].capacity() >= length)
            .min_by_key(|&n| self.free[n].capacity());
        match fitting {
            Some(n) => self.free.swap_remove(n).with_length(length),
            None => Buffer::zeros(length),
        }
    }

    /// A buffer with these numbers.
    pub(crate) fn copy(&mut self, numbers: &[f32]) -> Buffer {
        let mut copy = self.take(numbers.len());
        copy.copy_from_slice(numbers);
        copy
    }

    /// How many numbers the largest free buffer can hold.
    #[cfg(test)]
    pub(super) fn largest(&self) -> usize {
        self.free.iter().map(Buffer::capacity).max().unwrap_or(0)
    }

    /// Takes a buffer back. If there are [`FREE`] already, the smallest of them is freed.
    pub(crate) fn give_back(&mut self, buffer: Buffer) {
        if self.free.len() == FREE {
            let smallest = (0..FREE).min_by_key(|&n| self.free[n].capacity());
            smallest.map(|n| self.free.swap_remove(n));
        }
        self.free.push(buffer);
    }
}
