//! Preprocesses an image for an image-text model, as `preprocessor_config.json` or `open_clip_config.json` describes.

mod config;
mod resample;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use image::RgbImage;

pub(super) use config::Processor;
use config::{PictureSize, PixelSteps};
use resample::{Axis, AxisCrop, Filter, Rounding, crop, resample};

/// The preprocessed pixels of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Pixels {
    pub height: usize,
    pub width: usize,
    /// 3 × height × width values in the order colour plane (red first), row, column, normalised by the model's mean and standard deviation.
    pub values: Vec<f32>,
}

/// The steps that a `preprocessor_config.json` describes.
#[derive(Clone, Debug)]
pub(super) struct Preprocessing {
    resize: Option<(TargetSize, Filter)>,
    /// The height and width of the centre crop. Smaller images get a black border.
    crop: Option<(usize, usize)>,
    /// How the offset of the crop is rounded.
    rounding: Rounding,
    /// The normalised value of a byte b in colour plane c is b × `scale[c]` + `shift[c]`.
    scale: [f64; 3],
    shift: [f64; 3],
}

/// The size to which an image is resized.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TargetSize {
    /// The length of the shorter side. The longer side is in proportion, rounded down.
    Shorter(usize),
    Fixed {
        height: usize,
        width: usize,
    },
}

/// The maximum side length in a configuration. A larger one means that the file is damaged.
const LARGEST: usize = 1 << 14;

impl Preprocessing {
    /// Reads `preprocessor_config.json` in `dir`. If there is none, or if a key is missing, `family` says what the model expects (224 × 224).
    ///
    /// Errors: the file cannot be read, or describes something that is not supported.
    pub(super) fn read(dir: &Path, family: Processor) -> Result<Self> {
        Self::checked(&PixelSteps::read(dir, family)?)
    }

    /// Reads `preprocess_cfg` of OpenCLIP's configuration in `dir`, for a model whose pictures have `side` rows and columns.
    ///
    /// Errors: as for [`Preprocessing::read`].
    pub(super) fn read_open_clip(dir: &Path, side: usize) -> Result<Self> {
        Self::checked(&PixelSteps::read_open_clip(dir, side)?)
    }

    fn checked(steps: &PixelSteps) -> Result<Self> {
        Self::new(steps).with_context(|| format!("cannot use {}", steps.source.display()))
    }

    fn new(steps: &PixelSteps) -> Result<Self> {
        let target = |size: PictureSize| match size {
            PictureSize::One(side) => TargetSize::Shorter(side),
            PictureSize::Shortest { shortest_edge } => TargetSize::Shorter(shortest_edge),
            PictureSize::Both { height, width } => TargetSize::Fixed { height, width },
        };
        let resize = steps.resize.map(|(size, filter)| (target(size), filter));
        let crop = match steps.crop {
            None => None,
            Some(PictureSize::One(side)) => Some((side, side)),
            Some(PictureSize::Both { height, width }) => Some((height, width)),
            Some(PictureSize::Shortest { .. }) => {
                bail!("crop_size has a shortest_edge: expected height and width")
            }
        };
        let mut sides = Vec::new();
        match resize {
            Some((TargetSize::Shorter(side), _)) => sides.push(side),
            Some((TargetSize::Fixed { height, width }, _)) => sides.extend([height, width]),
            None => {}
        }
        sides.extend(crop.iter().flat_map(|(height, width)| [*height, *width]));
        ensure!(
            sides.iter().all(|side| (1..=LARGEST).contains(side)),
            "size and crop_size must be 1 to {LARGEST}, found {sides:?}"
        );
        let factor = steps.factor;
        let (mut scale, mut shift) = ([factor; 3], [0.0; 3]);
        if let Some((mean, std)) = steps.normalise {
            for c in 0..3 {
                ensure!(std[c] != 0.0, "image_std contains a zero");
                scale[c] = factor / std[c];
                shift[c] = -mean[c] / std[c];
            }
        }
        Ok(Preprocessing {
            resize,
            crop,
            rounding: steps.rounding,
            scale,
            shift,
        })
    }

    /// The height and width of all preprocessed images; `None` if they depend on the image.
    pub(super) fn output(&self) -> Option<(usize, usize)> {
        match (self.crop, self.resize) {
            (Some(crop), _) => Some(crop),
            (None, Some((TargetSize::Fixed { height, width }, _))) => Some((height, width)),
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
            Some((TargetSize::Fixed { height, width }, _)) => (height, width),
            Some((TargetSize::Shorter(side), _)) => {
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
        let rows = AxisCrop::centred(full_height, out_height, self.rounding);
        let columns = AxisCrop::centred(full_width, out_width, self.rounding);
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
