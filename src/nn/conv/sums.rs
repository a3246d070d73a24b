//! Sums over a map and of maps.

use anyhow::{Context, Result, ensure};
use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp};

use super::kernel::BLOCK;
use super::memory::{Map, Memory};
use super::steps::Value;

/// `map · (scale + plus)`, each place repeated `enlarged` times across and down.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    pub map: Value,
    /// A map of one place.
    pub scale: Option<Value>,
    pub plus: f32,
    pub enlarged: usize,
}

/// Mean over all places.
pub(super) fn mean(input: &Map, memory: &mut Memory) -> Map {
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

/// `sums[channel] = Σ` over the rows.
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

/// Mean over windows of so many rows and columns that do not overlap.
pub(super) fn pool(
    input: &Map,
    (rows, columns): (usize, usize),
    memory: &mut Memory,
) -> Result<Map> {
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

/// For each part, a sum; parts lie one after another in the channels.
pub(super) fn sum(parts: &[Vec<Term>], maps: &[Option<Map>], memory: &mut Memory) -> Result<Map> {
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
    // what no part writes must be finite
    if channels != stride {
        out.data.fill(0.0);
    }
    let mut offset = 0;
    for part in parts {
        let terms = part
            .iter()
            .map(|term| {
                let map = of(term.map)?;
                let factor: Vec<f32> = match term.scale {
                    Some(scale) => of(scale)?.data.iter().map(|s| s + term.plus).collect(),
                    None => vec![term.plus; map.stride],
                };
                ensure!(
                    factor.len() == map.stride,
                    "a map is scaled by another's channels"
                );
                Ok((map, factor, term.enlarged))
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
