//! Resizes and crops pictures as Pillow does.
//!
//! Resizing computes exactly what Pillow computes (`ImagingResample` in its Resample.c: filters widened by the scale, 22-bit fixed-point
//! weights, rows first, rounding to bytes after each of the two passes), because the published models were trained and evaluated with
//! it. fast_image_resize is faster, but has coarser weights: a difference of one level in a pixel is 0.015 after normalisation. Two
//! cases differ from Pillow: Pillow 13 chooses the order of the passes by the sizes, and Pillow swaps them for images more than 100
//! times taller than wide.

use std::f64::consts::PI;

use image::RgbImage;

/// Halves of a pixel in the offset of a crop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rounding {
    /// As Hugging Face's processors, which divide integers.
    Down,
    /// To the even number, as torchvision, which rounds as Python does.
    Even,
}

/// Pillow's resampling filters, with the numbers 1 to 5 in this order.
#[derive(Clone, Copy, Debug, PartialEq, strum::FromRepr)]
#[repr(u8)]
pub(super) enum Filter {
    Lanczos = 1,
    Bilinear,
    Bicubic,
    Box,
    Hamming,
}

/// The part of an axis within the centre crop.
pub(super) struct AxisCrop {
    /// The first position of the full axis in the crop.
    pub start: usize,
    /// The number of positions in the crop that are on the axis.
    pub length: usize,
    /// The number of black positions before the first one.
    pub pad: usize,
}

impl AxisCrop {
    /// A crop to `out` positions removes half of the others before it or, if `full` is smaller, adds black ones.
    pub fn centred(full: usize, out: usize, rounding: Rounding) -> Self {
        let others = full.saturating_sub(out);
        // of the numbers that leave half a pixel, every second one has an odd half below it
        let up = rounding == Rounding::Even && others % 4 == 3;
        AxisCrop {
            start: others / 2 + usize::from(up),
            length: full.min(out),
            pad: out.saturating_sub(full).div_ceil(2),
        }
    }
}

/// For each position of a resized axis: the first source pixel, and the fixed-point weights of the pixels from there on.
pub(super) struct Axis {
    taps: Vec<(usize, Vec<i32>)>,
}

/// The fraction bits of a weight. The sum of bytes times weights, with negative weights, fits into 32 bits.
const PRECISION: u32 = 32 - 8 - 2;

impl Axis {
    pub fn new(filter: Filter, from: usize, to: usize, window: &AxisCrop) -> Self {
        let scale = from as f64 / to as f64;
        let stretch = scale.max(1.0);
        let support = filter.support() * stretch;
        let taps = (window.start..window.start + window.length)
            .map(|position| {
                let centre = (position as f64 + 0.5) * scale;
                // the cast turns negative numbers into 0
                let first = (centre - support + 0.5) as usize;
                let end = ((centre + support + 0.5) as usize).min(from);
                let weights: Vec<f64> = (first..end)
                    .map(|x| filter.weight((x as f64 - centre + 0.5) * (1.0 / stretch)))
                    .collect();
                let sum: f64 = weights.iter().sum();
                let fixed = |weight: &f64| {
                    let weight = if sum != 0.0 { weight / sum } else { *weight };
                    // rounds half away from zero
                    (weight * f64::from(1 << PRECISION) + 0.5_f64.copysign(weight)) as i32
                };
                (first, weights.iter().map(fixed).collect())
            })
            .collect();
        Axis { taps }
    }
}

impl Filter {
    /// The distance from the centre beyond which weights are zero, in pixels of the coarser axis.
    fn support(self) -> f64 {
        match self {
            Filter::Box => 0.5,
            Filter::Bilinear | Filter::Hamming => 1.0,
            Filter::Bicubic => 2.0,
            Filter::Lanczos => 3.0,
        }
    }

    /// The weight at a distance of `x` from the centre.
    fn weight(self, x: f64) -> f64 {
        let sinc = |x: f64| match PI * x {
            0.0 => 1.0,
            x => x.sin() / x,
        };
        let distance = x.abs();
        match self {
            Filter::Box if x > -0.5 && x <= 0.5 => 1.0,
            Filter::Bilinear if distance < 1.0 => 1.0 - distance,
            Filter::Hamming if distance < 1.0 => {
                sinc(distance) * (0.54 + 0.46 * (PI * distance).cos())
            }
            // Keys' cubic with a = -1/2 (Catmull-Rom)
            Filter::Bicubic if distance < 1.0 => (1.5 * distance - 2.5) * distance * distance + 1.0,
            Filter::Bicubic if distance < 2.0 => {
                (((distance - 5.0) * distance + 8.0) * distance - 4.0) * -0.5
            }
            Filter::Lanczos if (-3.0..3.0).contains(&x) => sinc(x) * sinc(x / 3.0),
            _ => 0.0,
        }
    }
}

/// Resizes the columns in the crop and then the rows, each by weighted sums that are rounded to bytes. The result is in the order row,
/// column, colour component.
pub(super) fn resample(image: &RgbImage, columns: &Axis, rows: &Axis) -> Vec<u8> {
    let first = rows.taps.iter().map(|(from, _)| *from).min().unwrap_or(0);
    let ends = rows.taps.iter().map(|(from, weights)| from + weights.len());
    let end = ends.max().unwrap_or(0);
    let stride = 3 * image.width() as usize;
    let line = 3 * columns.taps.len();

    let mut narrow = Vec::with_capacity((end - first) * line);
    let lines = image.as_raw().chunks_exact(stride.max(1));
    for source in lines.take(end).skip(first) {
        for (from, weights) in &columns.taps {
            let mut sums = [1i32 << (PRECISION - 1); 3];
            for (pixel, weight) in source[3 * from..].chunks_exact(3).zip(weights) {
                for (sum, &byte) in sums.iter_mut().zip(pixel) {
                    *sum += i32::from(byte) * weight;
                }
            }
            narrow.extend(sums.map(to_byte));
        }
    }

    let mut small = Vec::with_capacity(rows.taps.len() * line);
    let mut sums = vec![0i32; line];
    for (from, weights) in &rows.taps {
        sums.fill(1 << (PRECISION - 1));
        let sources = narrow[(from - first) * line..].chunks_exact(line.max(1));
        for (source, weight) in sources.zip(weights) {
            for (sum, &byte) in sums.iter_mut().zip(source) {
                *sum += i32::from(byte) * weight;
            }
        }
        small.extend(sums.iter().map(|&sum| to_byte(sum)));
    }
    small
}

/// Rounds a fixed-point sum to a byte.
fn to_byte(sum: i32) -> u8 {
    (sum >> PRECISION).clamp(0, 255) as u8
}

/// Crops an image without resizing it. The result is in the order row, column, colour component.
pub(super) fn crop(image: &RgbImage, columns: &AxisCrop, rows: &AxisCrop) -> Vec<u8> {
    let stride = 3 * image.width() as usize;
    let lines = image.as_raw().chunks_exact(stride.max(1));
    let lines = lines.skip(rows.start).take(rows.length);
    let within = lines.flat_map(|line| &line[3 * columns.start..][..3 * columns.length]);
    within.copied().collect()
}
