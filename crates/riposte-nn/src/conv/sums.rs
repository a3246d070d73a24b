//! Means over a feature map, and weighted sums of feature maps.

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp};

use super::buffers::{BufferPool, FeatureMap, ValueId, computed};
use super::kernel::CHANNEL_BLOCK;
use crate::error::{Error, Result, ensure};

/// `map · (gate + constant)`, channel by channel, upsampled by nearest neighbour.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    pub map: ValueId,
    /// A map of one pixel: a factor for each channel. None counts as zero.
    pub gate: Option<ValueId>,
    pub constant: f32,
    /// Factor by which each pixel is repeated across and down.
    pub upsampling: usize,
}

/// Mean over all pixels: a map of one pixel.
///
/// # Errors
/// The map has too many channels.
pub(super) fn global_mean(input: &FeatureMap, pool: &mut BufferPool) -> Result<FeatureMap> {
    let mut out = pool.map(1, 1, input.channels, input.stride)?;
    SumPixels {
        pixels: &input.data,
        sums: &mut out.data,
    }
    .dispatch();
    let count = (input.height * input.width).max(1) as f32;
    out.data.iter_mut().for_each(|sum| *sum /= count);
    Ok(out)
}

/// `sums[channel] = Σ pixels[.., channel]`
struct SumPixels<'a, 'b> {
    pixels: &'a [f32],
    sums: &'b mut [f32],
}

/// Pixels in a partial sum. A single sum over a large map would lose precision.
const PARTIAL_SUM: usize = 256;

impl SimdOp for SumPixels<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ops = isa.f32();
        let stride = self.sums.len();
        self.sums.fill(0.0);
        let lanes = ops.len();
        for channel in (0..stride).step_by(lanes) {
            let mut total = ops.zero();
            for part in self.pixels.chunks(PARTIAL_SUM * stride) {
                let mut sum = ops.zero();
                for pixel in part.chunks_exact(stride) {
                    sum = ops.add(sum, ops.load(&pixel[channel..]));
                }
                total = ops.add(total, sum);
            }
            ops.store(total, &mut self.sums[channel..]);
        }
    }
}

/// Mean over windows of `rows` by `columns` pixels that do not overlap. Pixels at the right and bottom that fill no window are left out.
///
/// # Errors
/// The map is smaller than a window.
pub(super) fn average_pool(
    input: &FeatureMap,
    (rows, columns): (usize, usize),
    pool: &mut BufferPool,
) -> Result<FeatureMap> {
    let (height, width) = (input.height / rows, input.width / columns);
    ensure!(
        height > 0 && width > 0,
        Input,
        "the image is too small for the network"
    );
    let mut out = pool.map(height, width, input.channels, input.stride)?;
    let share = 1.0 / (rows * columns) as f32;
    for (n, pixel) in out.data.chunks_mut(input.stride).enumerate() {
        let (y, x) = (n / width, n % width);
        pixel.fill(0.0);
        for row in y * rows..(y + 1) * rows {
            for column in x * columns..(x + 1) * columns {
                let from = column * input.stride;
                for (sum, number) in pixel.iter_mut().zip(&input.row(row)[from..]) {
                    *sum += number * share;
                }
            }
        }
    }
    Ok(out)
}

fn without_terms() -> Error {
    Error::Unsupported("a sum without terms".to_owned())
}

/// Computes each part, a sum of terms, and concatenates the channels of the parts.
///
/// # Errors
/// A part has no terms, its terms have different sizes or channels, or a gate has other channels than its map.
pub(super) fn weighted_sum(
    parts: &[Vec<Term>],
    maps: &[Option<FeatureMap>],
    pool: &mut BufferPool,
) -> Result<FeatureMap> {
    let map = |value: ValueId| computed(maps, value);
    let mut size = None;
    let mut channels = 0;
    for part in parts {
        let first = map(part.first().ok_or_else(without_terms)?.map)?;
        channels += first.channels;
        for term in part {
            let map = map(term.map)?;
            // the factor is at most MAX_EXTENT
            let upsampled = (map.height * term.upsampling, map.width * term.upsampling);
            ensure!(
                *size.get_or_insert(upsampled) == upsampled,
                Unsupported,
                "the network adds maps of different sizes"
            );
            ensure!(
                map.channels == first.channels,
                Unsupported,
                "the network adds maps with different numbers of channels"
            );
        }
    }
    let (height, width) = size.ok_or_else(without_terms)?;
    let stride = channels.next_multiple_of(CHANNEL_BLOCK);
    let mut out = pool.map(height, width, channels, stride)?;
    // padding that no part writes must be finite
    if channels != stride {
        out.data.fill(0.0);
    }
    let parts = parts.iter().map(|part| {
        let terms = part.iter().map(|term| {
            let from = map(term.map)?;
            let factor: Vec<f32> = match term.gate {
                Some(gate) => map(gate)?.data.iter().map(|g| g + term.constant).collect(),
                None => vec![term.constant; from.stride],
            };
            ensure!(
                factor.len() == from.stride,
                Unsupported,
                "a map and its gate have different numbers of channels"
            );
            Ok((from, factor, term.upsampling))
        });
        terms.collect::<Result<Vec<_>>>()
    });
    let parts = parts.collect::<Result<Vec<_>>>()?;
    // all parts of a row before the next row, which moves the map through memory only once
    for (y, row) in out.data.chunks_mut(width * stride).enumerate() {
        let mut offset = 0;
        for terms in &parts {
            let channels = terms.first().map_or(0, |(map, ..)| map.channels);
            for (n, (map, factor, upsampling)) in terms.iter().enumerate() {
                AddScaled {
                    from: map.row(y / upsampling),
                    from_step: map.stride,
                    repeat: *upsampling,
                    factor,
                    // with one part, its padding may be written too, so that only whole vectors are computed
                    channels: if parts.len() > 1 {
                        channels
                    } else {
                        map.stride
                    },
                    overwrite: n == 0,
                    out: &mut row[offset..],
                    out_step: stride,
                }
                .dispatch();
            }
            offset += channels;
        }
    }
    Ok(out)
}

/// `out[x] += from[x / repeat] · factor` for each pixel of a row.
struct AddScaled<'a, 'b> {
    /// (pixels, `from_step`)
    from: &'a [f32],
    from_step: usize,
    repeat: usize,
    /// One number for each channel.
    factor: &'a [f32],
    /// Channels that are computed.
    channels: usize,
    /// Whether `out` is overwritten instead of added to.
    overwrite: bool,
    /// (repeated pixels, `out_step`)
    out: &'b mut [f32],
    out_step: usize,
}

impl SimdOp for AddScaled<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ops = isa.f32();
        let lanes = ops.len();
        let mut pixels = self.out.chunks_mut(self.out_step);
        for from in self.from.chunks_exact(self.from_step) {
            for _ in 0..self.repeat {
                let Some(out) = pixels.next() else { return };
                let mut channel = 0;
                while channel + lanes <= self.channels {
                    let x = ops.load(&from[channel..]);
                    let factor = ops.load(&self.factor[channel..]);
                    let sum = if self.overwrite {
                        ops.mul(x, factor)
                    } else {
                        ops.mul_add(x, factor, ops.load(&out[channel..]))
                    };
                    ops.store(sum, &mut out[channel..]);
                    channel += lanes;
                }
                // a product may be computed twice: the last vector ends at the last channel
                if self.overwrite && channel < self.channels && lanes <= self.channels {
                    channel = self.channels - lanes;
                    let x = ops.load(&from[channel..]);
                    let factor = ops.load(&self.factor[channel..]);
                    ops.store(ops.mul(x, factor), &mut out[channel..]);
                    channel = self.channels;
                }
                for channel in channel..self.channels {
                    let x = from[channel] * self.factor[channel];
                    out[channel] = if self.overwrite { x } else { out[channel] + x };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{map, numbers};
    use super::*;

    /// Parts of 24 channels end in half a vector, which is computed with channels of the vector before.
    #[test]
    fn parts_of_odd_widths_are_concatenated() {
        let mut pool = BufferPool::default();
        let mut maps = Vec::new();
        for side in [2, 4] {
            let mut part = map(side, side, 24);
            part.stride = 32;
            part.data = pool.copy(&numbers(side * side * 32, side as u64));
            maps.push(Some(part));
        }
        let mut gate = map(1, 1, 24);
        gate.stride = 32;
        gate.data = pool.copy(&numbers(32, 7));
        maps.push(Some(gate));
        let term = |map, gate, upsampling| Term {
            map,
            gate,
            constant: 0.5,
            upsampling,
        };
        let parts = [
            vec![term(0, Some(2), 2)],
            vec![term(1, None, 1), term(0, Some(2), 2)],
            vec![term(1, Some(2), 1)],
        ];
        let sum = weighted_sum(&parts, &maps, &mut pool).unwrap();
        assert_eq!((sum.channels, sum.stride), (72, 80));
        for (n, part) in parts.iter().enumerate() {
            for (y, x, channel) in (0..4 * 4 * 24).map(|n| (n / 96, n / 24 % 4, n % 24)) {
                let expected = part.iter().map(|term| {
                    let from = maps[term.map].as_ref().unwrap();
                    let gate = term
                        .gate
                        .map_or(0.0, |gate| maps[gate].as_ref().unwrap().data[channel]);
                    let at = from.at(y / term.upsampling, x / term.upsampling, channel);
                    at * (gate + term.constant)
                });
                let (result, expected) = (sum.at(y, x, 24 * n + channel), expected.sum::<f32>());
                assert!((result - expected).abs() < 1e-6, "{n} {y} {x} {channel}");
            }
        }
        // the numbers between the parts and the next pixel
        assert!(sum.data.chunks(80).all(|pixel| pixel[72..] == [0.0; 8]));
    }
}
