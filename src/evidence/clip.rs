//! Image-text models: images and short texts as vectors of one space, by CLIP (Radford et al. 2021, <https://arxiv.org/abs/2103.00020>) or a model of
//! another family ([`super::image_text`]).
//!
//! Any checkpoint directory can be loaded: a configuration, weights, a tokenizer and, if there is one, `preprocessor_config.json`. All sizes come from
//! the configuration, so ViT-B/32, B/16 and L/14 need no separate code. The vectors agree with those of Hugging Face's models within 1e-4
//! (tests/it/clip.rs, tests/it/image_families.rs). Without `model.safetensors`, the towers can be two ONNX files.

mod channel;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use image::RgbImage;
use riposte_nn::conv::Numeric;
use riposte_nn::tokens::Encoding;
use riposte_nn::transformer::EncoderBackend;

pub use super::image_text::ImageTextLikeness;
use super::image_text::{self, Texts, Towers};
pub use super::pixels::Pixels;
use super::pixels::Preprocessing;
use crate::device::Runtime;
pub use channel::{ImageTextModel, ImageTextVectors, ImageVectors, Slot};

/// Part of the producer's name. It changes whenever the same checkpoint would give other vectors.
const VERSION: u32 = 4;

/// A loaded model. Several threads can call its methods at the same time.
pub struct Clip {
    side: usize,
    preprocessing: Preprocessing,
    texts: Texts,
    likeness: ImageTextLikeness,
    towers: Towers,
    /// What computes the model.
    pub(super) runtime: Runtime,
}

impl Clip {
    /// Loads the checkpoint in `dir`. With [`Numeric::Int8`], the towers of a CLIP are computed in int8 if the machine has instructions for it;
    /// [`Clip::agreement`] measures the loss of precision. The weights of a tower are read when it is first used.
    ///
    /// # Errors
    /// A file is missing or damaged, the configuration makes no sense, or a tensor is missing or has another shape or number type
    /// than the configuration says. All of this is found before weights are read, and the message names it.
    pub fn load(dir: &Path, backend: EncoderBackend, numeric: Numeric) -> Result<Self> {
        let load = || -> Result<Self> {
            let model = image_text::open(dir)?;
            Ok(Clip {
                towers: model.towers(backend, numeric)?,
                side: model.side(),
                likeness: model.likeness,
                runtime: model.runtime(backend),
                preprocessing: model.preprocessing,
                texts: model.texts,
            })
        };
        load().with_context(|| format!("loading the image-text model in {}", dir.display()))
    }

    /// Whether the towers that have been used compute any product in int8.
    pub fn numeric(&self) -> Numeric {
        let text = self.towers.text.loaded().map(|tower| tower.numeric());
        let vision = self.towers.image.loaded().map(|tower| tower.numeric());
        text.max(vision).unwrap_or(Numeric::Float)
    }

    /// The least cosine between vectors in int8 and vectors in floats, over the few texts and pictures with which the towers in use were quantised;
    /// `None` in floats.
    pub fn agreement(&self) -> Option<f32> {
        let text = self
            .towers
            .text
            .loaded()
            .and_then(|tower| tower.agreement());
        let vision = self
            .towers
            .image
            .loaded()
            .and_then(|tower| tower.agreement());
        text.into_iter().chain(vision).reduce(f32::min)
    }

    /// Checks all files of a checkpoint as [`Clip::load`] does, without reading the weights.
    ///
    /// # Errors
    /// Those of [`Clip::load`].
    pub fn check(dir: &Path) -> Result<()> {
        let opened = image_text::open(dir);
        opened.with_context(|| format!("checking the image-text model in {}", dir.display()))?;
        Ok(())
    }

    /// The name under which the vectors of the checkpoint with this sha256 are stored: extractor, version and checkpoint. Vectors of different
    /// producers must not be compared.
    pub fn producer_of(sha: &str) -> String {
        format!("clip/{VERSION} {sha}")
    }

    /// What the model was trained to make of a cosine.
    pub fn likeness(&self) -> ImageTextLikeness {
        self.likeness
    }

    /// The tokens of each text, as [`Clip::embed_texts`] reads them. SigLIP's texts are then filled up.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn tokens(&self, texts: &[&str]) -> Result<Vec<Encoding>> {
        self.texts.encode(texts.iter().copied())
    }

    /// Resizes, crops and normalises an image (8-bit RGB, upright, at least one pixel) for [`Clip::embed_images`].
    ///
    /// This takes about as long as decoding and does not use the model, so worker threads can do it.
    pub fn preprocess(&self, image: &RgbImage) -> Pixels {
        self.preprocessing.apply(image)
    }

    /// A vector of unit length for each image. The caller chooses the size of a batch: 8 to 32 images suit a CPU.
    ///
    /// # Errors
    /// Pixels of another size than the model's, or a device that fails.
    pub fn embed_images(&self, images: &[Pixels]) -> Result<Vec<Vec<f32>>> {
        let side = self.side;
        let values = images.iter().map(
            |Pixels {
                 height,
                 width,
                 values,
             }| {
                ensure!(
                    (*height, *width) == (side, side) && values.len() == 3 * side * side,
                    "pixels of {height} × {width}: the model takes {side} × {side}"
                );
                Ok(values.as_slice())
            },
        );
        let values: Result<Vec<&[f32]>> = values.collect();
        let vectors = values.and_then(|values| Ok(self.towers.image.get()?.embed(&values)?));
        vectors.with_context(|| format!("computing CLIP vectors of {} images", images.len()))
    }

    /// A vector of unit length for each text. Texts are truncated to the model's maximum (77 tokens of CLIP, including two special ones). An empty text has
    /// a vector, too.
    ///
    /// # Errors
    /// The tokenizer or the device fails.
    pub fn embed_texts(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let tokens = self.tokens(texts)?;
        let embed = || -> Result<_> { Ok(self.towers.text.get()?.embed(&tokens)?) };
        embed().context("computing CLIP vectors of texts")
    }
}
