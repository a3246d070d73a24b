//! Preprocesses an image for CLIP, as `preprocessor_config.json` describes.
//!
//! Resizing computes exactly what Pillow computes (`ImagingResample` in its Resample.c: filters widened by the scale, 22-bit fixed-point
//! weights, rows first, rounding to bytes after each of the two passes), because the published models were trained and evaluated with
//! it. fast_image_resize is faster, but has coarser weights: a difference of one level in a pixel is 0.015 after normalisation. Two
//! cases differ from Pillow: Pillow 13 chooses the order of the passes by the sizes, and Pillow swaps them for images more than 100
//! times taller than wide.

use std::f64::consts::PI;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use image::RgbImage;
use riposte_nn::checkpoint::read_json;
use serde::Deserialize;

/// The preprocessed pixels of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Pixels {
    pub height: usize,
    pub width: usize,
    /// 3 × height × width values in the order channel (red first), row, column, normalised by the model's mean and standard deviation.
    pub values: Vec<f32>,
}

/// The steps that a `preprocessor_config.json` describes.
#[derive(Clone, Debug)]
pub(super) struct Preprocessing {
    resize: Option<(Target, Filter)>,
    /// The height and width of the centre crop. Smaller images get a black border.
    crop: Option<(usize, usize)>,
    /// The normalised value of a byte b in channel c is b × `scale[c]` + `shift[c]`.
    scale: [f64; 3],
    shift: [f64; 3],
}

/// The size to which an image is resized.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    /// The length of the shorter side. The longer side is in proportion, rounded down.
    Shorter(usize),
    Fixed {
        height: usize,
        width: usize,
    },
}

/// Pillow's resampling filters, with the numbers 1 to 5 in this order.
#[derive(Clone, Copy, Debug, PartialEq, strum::FromRepr)]
#[repr(u8)]
enum Filter {
    Lanczos = 1,
    Bilinear,
    Bicubic,
    Box,
    Hamming,
}

/// The maximum side length in a configuration. A larger one means that the file is damaged.
const LARGEST: usize = 1 << 14;

/// The content of `preprocessor_config.json`. Keys that are missing have the values of the published CLIP models.
#[derive(Deserialize)]
#[serde(default)]
struct ConfigFile {
    do_resize: bool,
    size: Side,
    resample: u8,
    do_center_crop: bool,
    crop_size: Side,
    do_rescale: bool,
    rescale_factor: f64,
    do_normalize: bool,
    image_mean: [f64; 3],
    image_std: [f64; 3],
}

/// A size in the file.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Side {
    One(usize),
    Shortest { shortest_edge: usize },
    Both { height: usize, width: usize },
}

impl Default for ConfigFile {
    fn default() -> Self {
        ConfigFile {
            do_resize: true,
            size: Side::One(224),
            resample: 3,
            do_center_crop: true,
            crop_size: Side::One(224),
            do_rescale: true,
            rescale_factor: 1.0 / 255.0,
            do_normalize: true,
            image_mean: [0.48145466, 0.4578275, 0.40821073],
            image_std: [0.26862954, 0.26130258, 0.27577711],
        }
    }
}

impl Preprocessing {
    /// Reads `preprocessor_config.json` in `dir`; if there is none, returns the preprocessing of the published CLIP models (224 × 224).
    ///
    /// Errors: the file cannot be read, or describes something that is not supported.
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("preprocessor_config.json");
        let file = match path.try_exists() {
            Ok(false) => ConfigFile::default(),
            _ => read_json(&path)?,
        };
        Self::new(&file).with_context(|| format!("cannot use {}", path.display()))
    }

    fn new(file: &ConfigFile) -> Result<Self> {
        let target = match file.size {
            Side::One(side) => Target::Shorter(side),
            Side::Shortest { shortest_edge } => Target::Shorter(shortest_edge),
            Side::Both { height, width } => Target::Fixed { height, width },
        };
        let crop = match file.crop_size {
            Side::One(side) => (side, side),
            Side::Both { height, width } => (height, width),
            Side::Shortest { .. } => {
                bail!("crop_size has a shortest_edge: expected height and width")
            }
        };
        let sides = match target {
            Target::Shorter(side) => [side, side, crop.0, crop.1],
            Target::Fixed { height, width } => [height, width, crop.0, crop.1],
        };
        ensure!(
            sides.iter().all(|side| (1..=LARGEST).contains(side)),
            "size and crop_size must be 1 to {LARGEST}, found {sides:?}"
        );
        let filter = Filter::from_repr(file.resample);
        let filter =
            filter.with_context(|| format!("resample is {}: expected 1 to 5", file.resample))?;
        let rescaled = file.do_rescale.then_some(file.rescale_factor);
        let factor = rescaled.unwrap_or(1.0);
        let (mut scale, mut shift) = ([factor; 3], [0.0; 3]);
        if file.do_normalize {
            for c in 0..3 {
                ensure!(file.image_std[c] != 0.0, "image_std contains a zero");
                scale[c] = factor / file.image_std[c];
                shift[c] = -file.image_mean[c] / file.image_std[c];
            }
        }
        Ok(Preprocessing {
            resize: file.do_resize.then_some((target, filter)),
            crop: file.do_center_crop.then_some(crop),
            scale,
            shift,
        })
    }

    /// The height and width of all preprocessed images; `None` if they depend on the image.
    pub(super) fn output(&self) -> Option<(usize, usize)> {
        match (self.crop, self.resize) {
            (Some(crop), _) => Some(crop),
            (None, Some((Target::Fixed { height, width }, _))) => Some((height, width)),
            _ => None,
        }
    }

    /// Resizes, crops and normalises an image, which must have pixels.
    ///
    /// Only the pixels in the crop are computed, so a banner of 10,000 × 1 pixels costs no more than a square.
    pub(super) fn apply(&self, image: &RgbImage) -> Pixels {
        let (width, height) = (image.width() as usize, image.height() as usize);
        let (full_height, full_width) = match self.resize {
            None => (height, width),
            Some((Target::Fixed { height, width }, _)) => (height, width),
            Some((Target::Shorter(side), _)) => {
                // divided in floating point and truncated, as by the Python code with which the models were trained
                let longer = |long: usize, short: usize| {
                    (side as f64 * long as f64 / short.max(1) as f64) as usize
                };
                if width <= height {
                    (longer(height, width), side)
                } else {
                    (side, longer(width, height))
                }
            }
        };
        let (out_height, out_width) = self.crop.unwrap_or((full_height, full_width));
        let rows = Window::centred(full_height, out_height);
        let columns = Window::centred(full_width, out_width);
        let pixels = match self.resize {
            Some((_, filter)) => resample(
                image,
                &Axis::new(filter, width, full_width, &columns),
                &Axis::new(filter, height, full_height, &rows),
            ),
            None => crop(image, &columns, &rows),
        };
        // outside the image, the crop is black before normalisation, so not 0 after it
        let mut values = Vec::with_capacity(3 * out_height * out_width);
        for c in 0..3 {
            let start = values.len();
            values.resize(start + out_height * out_width, self.shift[c] as f32);
            let plane = &mut values[start..];
            for (row, line) in pixels.chunks_exact((3 * columns.length).max(1)).enumerate() {
                let from = (row + rows.pad) * out_width + columns.pad;
                for (value, pixel) in plane[from..].iter_mut().zip(line.chunks_exact(3)) {
                    *value = (f64::from(pixel[c]) * self.scale[c] + self.shift[c]) as f32;
                }
            }
        }
        Pixels {
            height: out_height,
            width: out_width,
            values,
        }
    }
}

/// The part of an axis within the centre crop.
struct Window {
    /// The first position of the full axis in the crop.
    start: usize,
    /// The number of positions in the crop that are on the axis.
    length: usize,
    /// The number of black positions before the first one.
    pad: usize,
}

impl Window {
    /// A crop to `out` positions removes `(full - out) // 2` positions before it or, if `full` is smaller, adds black ones.
    fn centred(full: usize, out: usize) -> Self {
        Window {
            start: full.saturating_sub(out) / 2,
            length: full.min(out),
            pad: out.saturating_sub(full).div_ceil(2),
        }
    }
}

/// For each position of a resized axis: the first source pixel, and the fixed-point weights of the pixels from there on.
struct Axis {
    taps: Vec<(usize, Vec<i32>)>,
}

/// The fraction bits of a weight. The sum of bytes times weights, with negative weights, fits into 32 bits.
const PRECISION: u32 = 32 - 8 - 2;

impl Axis {
    fn new(filter: Filter, from: usize, to: usize, window: &Window) -> Self {
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
/// column, channel.
fn resample(image: &RgbImage, columns: &Axis, rows: &Axis) -> Vec<u8> {
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

/// Crops an image without resizing it. The result is in the order row, column, channel.
fn crop(image: &RgbImage, columns: &Window, rows: &Window) -> Vec<u8> {
    let stride = 3 * image.width() as usize;
    let lines = image.as_raw().chunks_exact(stride.max(1));
    let lines = lines.skip(rows.start).take(rows.length);
    let within = lines.flat_map(|line| &line[3 * columns.start..][..3 * columns.length]);
    within.copied().collect()
}
