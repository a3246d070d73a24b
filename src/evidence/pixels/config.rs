//! What `preprocessor_config.json` and `open_clip_config.json` say about pictures, with nothing missing.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use riposte_nn::checkpoint::{read_json, read_json_if_there};
use riposte_nn::transformer::clip::open_clip;
use serde::Deserialize;

use super::resample::{Filter, Rounding};

/// The processors of Hugging Face, which differ in what a missing key means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::evidence) enum Processor {
    Clip,
    Siglip,
    ChineseClip,
}

impl Processor {
    /// The processor of this class; a class of another name is unknown.
    fn of_class(class: &str) -> Option<Processor> {
        Some(match class {
            "CLIPImageProcessor" | "CLIPImageProcessorFast" | "CLIPFeatureExtractor" => {
                Processor::Clip
            }
            "SiglipImageProcessor" | "SiglipImageProcessorFast" => Processor::Siglip,
            "ChineseCLIPImageProcessor"
            | "ChineseCLIPImageProcessorFast"
            | "ChineseCLIPFeatureExtractor" => Processor::ChineseClip,
            _ => return None,
        })
    }
}

/// The mean and standard deviation of the published CLIP models.
const CLIP_MEAN: [f64; 3] = [0.48145466, 0.4578275, 0.40821073];
const CLIP_STD: [f64; 3] = [0.26862954, 0.26130258, 0.27577711];

/// The content of `preprocessor_config.json`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PreprocessorFile {
    image_processor_type: Option<String>,
    /// The name of the same before 2023.
    feature_extractor_type: Option<String>,
    do_resize: Option<bool>,
    size: Option<PictureSize>,
    resample: Option<u8>,
    do_center_crop: Option<bool>,
    crop_size: Option<PictureSize>,
    do_rescale: Option<bool>,
    rescale_factor: Option<f64>,
    do_normalize: Option<bool>,
    image_mean: Option<[f64; 3]>,
    image_std: Option<[f64; 3]>,
}

/// What is done with a picture, with nothing missing.
pub(super) struct PixelSteps {
    /// The file that says so.
    pub source: PathBuf,
    pub resize: Option<(PictureSize, Filter)>,
    pub crop: Option<PictureSize>,
    pub rounding: Rounding,
    pub factor: f64,
    pub normalise: Option<([f64; 3], [f64; 3])>,
}

/// `preprocess_cfg` of `open_clip_config.json`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct OpenClipFile {
    size: Option<OpenClipSide>,
    mode: Option<String>,
    mean: Option<[f64; 3]>,
    std: Option<[f64; 3]>,
    interpolation: Option<String>,
    resize_mode: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum OpenClipSide {
    One(usize),
    Both([usize; 2]),
}

#[derive(Deserialize)]
struct OpenClipConfig {
    #[serde(default)]
    preprocess_cfg: OpenClipFile,
}

/// A size in the file.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(super) enum PictureSize {
    One(usize),
    Shortest { shortest_edge: usize },
    Both { height: usize, width: usize },
}

impl PixelSteps {
    /// Reads `preprocessor_config.json` in `dir`. If there is none, or if a key is missing, `family` says what the model expects (224 × 224).
    ///
    /// Errors: the file cannot be read, or describes something that is not supported.
    pub fn read(dir: &Path, family: Processor) -> Result<PixelSteps> {
        let path = dir.join("preprocessor_config.json");
        let file: PreprocessorFile = read_json_if_there(&path)?.unwrap_or_default();
        let using = format!("cannot use {}", path.display());
        file.steps(family, path).context(using)
    }

    /// Reads `preprocess_cfg` of OpenCLIP's configuration in `dir`, for a model whose pictures have `side` rows and columns.
    ///
    /// Errors: as for [`PixelSteps::read`].
    pub fn read_open_clip(dir: &Path, side: usize) -> Result<PixelSteps> {
        let path = dir.join(open_clip::FILES.config);
        let file: OpenClipConfig = read_json(&path)?;
        let using = format!("cannot use preprocess_cfg of {}", path.display());
        file.preprocess_cfg.steps(side, path).context(using)
    }
}

impl PreprocessorFile {
    /// Fills in what is missing, as the processor does.
    fn steps(&self, family: Processor, source: PathBuf) -> Result<PixelSteps> {
        let class = self.image_processor_type.as_ref();
        let class = class.or(self.feature_extractor_type.as_ref());
        let processor = match class.map(|class| (class, Processor::of_class(class))) {
            None => family,
            Some((_, Some(known))) => known,
            // many classes have been used for CLIP, and all of them do the same
            Some((_, None)) if family == Processor::Clip => family,
            Some((class, None)) => {
                bail!("image_processor_type is {class}, which is not known here")
            }
        };
        let siglip = processor == Processor::Siglip;
        let size = self.size.unwrap_or(match processor {
            Processor::Siglip => PictureSize::Both {
                height: 224,
                width: 224,
            },
            _ => PictureSize::One(224),
        });
        let number = self.resample.unwrap_or(3);
        let filter = Filter::from_repr(number);
        let filter = filter.with_context(|| format!("resample is {number}: expected 1 to 5"))?;
        let mean = if siglip { [0.5; 3] } else { CLIP_MEAN };
        let std = if siglip { [0.5; 3] } else { CLIP_STD };
        let normalise = (
            self.image_mean.unwrap_or(mean),
            self.image_std.unwrap_or(std),
        );
        let rescaled = self.do_rescale.unwrap_or(true);
        Ok(PixelSteps {
            source,
            resize: self.do_resize.unwrap_or(true).then_some((size, filter)),
            crop: Some(self.crop_size.unwrap_or(PictureSize::One(224)))
                .filter(|_| self.do_center_crop.unwrap_or(!siglip)),
            rounding: Rounding::Down,
            factor: match rescaled {
                true => self.rescale_factor.unwrap_or(1.0 / 255.0),
                false => 1.0,
            },
            normalise: self.do_normalize.unwrap_or(true).then_some(normalise),
        })
    }
}

impl OpenClipFile {
    /// The steps for a model whose pictures have `side` rows and columns.
    fn steps(&self, side: usize, source: PathBuf) -> Result<PixelSteps> {
        if let Some(mode) = self.mode.as_ref().filter(|mode| *mode != "RGB") {
            bail!("mode is {mode}: expected RGB");
        }
        let side = match self.size {
            Some(OpenClipSide::One(side)) => side,
            Some(OpenClipSide::Both([height, width])) if height == width => height,
            Some(OpenClipSide::Both([height, width])) => {
                bail!("size is {height} × {width}: only squares are computed")
            }
            None => side,
        };
        let filter = match self.interpolation.as_deref().unwrap_or("bicubic") {
            "bilinear" => Filter::Bilinear,
            // random is for training: a picture is then resized as by default
            "bicubic" | "random" => Filter::Bicubic,
            other => bail!("interpolation is {other}: expected bicubic or bilinear"),
        };
        let square = PictureSize::Both {
            height: side,
            width: side,
        };
        let (size, crop) = match self.resize_mode.as_deref().unwrap_or("shortest") {
            "shortest" => (PictureSize::One(side), Some(square)),
            "squash" => (square, None),
            other => bail!("resize_mode is {other}: expected shortest or squash"),
        };
        let mean = self.mean.unwrap_or(CLIP_MEAN);
        Ok(PixelSteps {
            source,
            resize: Some((size, filter)),
            crop,
            rounding: Rounding::Even,
            factor: 1.0 / 255.0,
            normalise: Some((mean, self.std.unwrap_or(CLIP_STD))),
        })
    }
}
