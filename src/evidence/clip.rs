//! CLIP: images and short texts as vectors of one space (Radford et al. 2021, <https://arxiv.org/abs/2103.00020>).
//!
//! Any checkpoint directory in the Hugging Face layout can be loaded: `config.json`, `model.safetensors`, `tokenizer.json` and, if there is one,
//! `preprocessor_config.json`. All sizes come from the configuration, so ViT-B/32, B/16 and L/14 need no separate code. The vectors agree with those
//! of Hugging Face's `CLIPModel` within 1e-4 (tests/it/clip.rs). Without `model.safetensors`, the towers can be two ONNX files ([`onnx_towers`]).

mod channel;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use image::RgbImage;
use riposte_nn::checkpoint::Checkpoint;
use riposte_nn::conv::Numeric;
use riposte_nn::tokens::{Input, Tokenizer};
use riposte_nn::towers::{ImageTower, TextTower};
use riposte_nn::transformer::{Backend, clip, examples};

use super::onnx_towers;
pub use super::pixels::Pixels;
use super::pixels::Preprocessing;
use crate::lazy::Lazy;
pub(crate) use channel::{CLIP, IMAGE_TEXT};
pub use channel::{ImageTextModel, ImageTextVectors, Slot};

/// Part of the producer's name. It changes whenever the same checkpoint would give other vectors.
const VERSION: u32 = 2;

/// A loaded model. Several threads can call its methods at the same time.
pub struct Clip {
    config: clip::ClipConfig,
    preprocessing: Preprocessing,
    tokenizer: Tokenizer,
    backend: Backend,
    /// A ranking needs only the text tower, an extraction only the vision tower.
    text: Lazy<Box<dyn TextTower>>,
    vision: Lazy<Box<dyn ImageTower>>,
}

impl Clip {
    /// Loads the checkpoint in `dir`. With [`Numeric::Int8`], the towers are computed in int8 if the machine has instructions for it;
    /// [`Clip::agreement`] measures the loss of precision. The weights of a tower are read when it is first used.
    ///
    /// # Errors
    /// A file is missing or damaged, the configuration makes no sense, or a tensor is missing or has another shape or number type
    /// than the configuration says. All of this is found before weights are read, and the message names it.
    pub fn load(dir: &Path, backend: Backend, numeric: Numeric) -> Result<Self> {
        let examples = match numeric {
            Numeric::Float => "".lines(),
            Numeric::Int8 => examples::texts(),
        };
        let load = || -> Result<Self> {
            if let Some(files) = onnx_towers::Files::find(dir)? {
                return Self::of_onnx(dir, files);
            }
            let (config, preprocessing, tokenizer, checkpoint) = open(dir)?;
            let examples = tokenizer.encode(examples)?;
            let int8 = !examples.is_empty();
            let checkpoint = Arc::new(checkpoint);
            let (of_text, source) = (config.clone(), checkpoint.clone());
            let text = move || -> Result<Box<dyn TextTower>> {
                let tower = clip::TextTower::read(&of_text, &*source, backend, &examples)?;
                Ok(Box::new(tower))
            };
            let of_vision = config.clone();
            let vision = move || -> Result<Box<dyn ImageTower>> {
                let tower = clip::VisionTower::read(&of_vision, &*checkpoint, backend, int8)?;
                Ok(Box::new(tower))
            };
            Ok(Clip {
                text: Lazy::new("text tower".to_owned(), text),
                vision: Lazy::new("vision tower".to_owned(), vision),
                config,
                preprocessing,
                tokenizer,
                backend,
            })
        };
        load().with_context(|| format!("loading CLIP from {}", dir.display()))
    }

    /// Loads a model whose towers are ONNX files.
    fn of_onnx(dir: &Path, files: onnx_towers::Files) -> Result<Self> {
        files.check(dir)?;
        let (config, preprocessing, tokenizer) = describe(dir, true)?;
        let files = Arc::new(files);
        let (of_text, of_vision) = ((files.clone(), config.clone()), (files, config.clone()));
        let text =
            move || -> Result<Box<dyn TextTower>> { Ok(Box::new(of_text.0.text(&of_text.1)?)) };
        let vision = move || -> Result<Box<dyn ImageTower>> {
            Ok(Box::new(of_vision.0.vision(&of_vision.1)?))
        };
        Ok(Clip {
            text: Lazy::new("text tower".to_owned(), text),
            vision: Lazy::new("vision tower".to_owned(), vision),
            config,
            preprocessing,
            tokenizer,
            backend: Backend::Float,
        })
    }

    /// Whether the towers that have been used compute any product in int8.
    pub fn numeric(&self) -> Numeric {
        let text = self.text.loaded().map(|tower| tower.numeric());
        let vision = self.vision.loaded().map(|tower| tower.numeric());
        text.max(vision).unwrap_or(Numeric::Float)
    }

    /// What computes the model.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The least cosine between vectors in int8 and vectors in floats, over the few texts and pictures with which the towers in use were quantised;
    /// `None` in floats.
    pub fn agreement(&self) -> Option<f32> {
        let text = self.text.loaded().and_then(|tower| tower.agreement());
        let vision = self.vision.loaded().and_then(|tower| tower.agreement());
        text.into_iter().chain(vision).reduce(f32::min)
    }

    /// Checks all files of a checkpoint as [`Clip::load`] does, without reading the weights.
    ///
    /// # Errors
    /// Those of [`Clip::load`].
    pub fn check(dir: &Path) -> Result<()> {
        let check = || match onnx_towers::Files::find(dir)? {
            Some(files) => Self::of_onnx(dir, files).map(drop),
            None => open(dir).map(drop),
        };
        check().with_context(|| format!("checking CLIP in {}", dir.display()))
    }

    /// The name under which the vectors of the checkpoint with this sha256 are stored: extractor, version and checkpoint. Vectors of different
    /// producers must not be compared.
    pub fn producer_of(sha: &str) -> String {
        format!("clip/{VERSION} {sha}")
    }

    /// The length of every vector: `projection_dim` (512 for ViT-B, 768 for L/14).
    pub fn dimension(&self) -> usize {
        self.config.projection_dim
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
        let side = self.config.vision.image_size;
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
        let vectors = values.and_then(|values| Ok(self.vision.get()?.embed(&values)?));
        vectors.with_context(|| format!("computing CLIP vectors of {} images", images.len()))
    }

    /// A vector of unit length for each text. Texts are truncated to the model's maximum (77 tokens, including two special ones). An empty text has a
    /// vector, too.
    ///
    /// # Errors
    /// The tokenizer or the device fails.
    pub fn embed_texts(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let tokens = self.tokenizer.encode(texts.iter().copied())?;
        let embed = || -> Result<_> { Ok(self.text.get()?.embed(&tokens)?) };
        embed().context("computing CLIP vectors of texts")
    }
}

/// Reads and checks everything but the weights.
fn open(dir: &Path) -> Result<(clip::ClipConfig, Preprocessing, Tokenizer, Checkpoint)> {
    let (config, preprocessing, tokenizer) = describe(dir, false)?;
    let checkpoint = Checkpoint::open(dir, &config.expected_tensors())?;
    Ok((config, preprocessing, tokenizer, checkpoint))
}

/// Reads and checks the settings. Those of ONNX models often leave out the size of pictures, which their networks have.
fn describe(dir: &Path, is_onnx: bool) -> Result<(clip::ClipConfig, Preprocessing, Tokenizer)> {
    let mut config = clip::ClipConfig::read(dir)?;
    let preprocessing = Preprocessing::read(dir)?;
    if let (true, Some((height, width))) = (is_onnx, preprocessing.output())
        && height == width
    {
        config.vision.image_size = height;
    }
    let side = config.vision.image_size;
    ensure!(
        preprocessing.output() == Some((side, side)),
        "preprocessor_config.json makes images of {}, config.json requires {side} × {side}",
        match preprocessing.output() {
            Some((height, width)) => format!("{height} × {width} (height × width)"),
            None => "any size".to_owned(),
        }
    );
    let text = &config.text;
    let (most, vocabulary) = (text.max_position_embeddings, text.vocab_size);
    let tokenizer = Tokenizer::read(dir, Input::Single, most, vocabulary)?;
    Ok((config, preprocessing, tokenizer))
}
