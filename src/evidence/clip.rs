//! Image-text models: images and short texts as vectors of one space, by CLIP (Radford et al. 2021, <https://arxiv.org/abs/2103.00020>) or a model of
//! another family ([`super::image_text`]).
//!
//! Any checkpoint directory can be loaded: a configuration, weights, a tokenizer and, if there is one, `preprocessor_config.json`. All sizes come from
//! the configuration, so ViT-B/32, B/16 and L/14 need no separate code. The vectors agree with those of Hugging Face's models within 1e-4
//! (tests/it/clip.rs, tests/it/image_families.rs).

use std::path::Path;

use anyhow::{Context, Result, ensure};
use image::RgbImage;
use riposte_nn::conv::Numeric;
use riposte_nn::tokens::Encoding;
use riposte_nn::transformer::Backend;
use rusqlite::Row;

use super::Evidence;
use super::channel::{self, Channel, Extractor, Precision, Put, Waiting};
use super::document::Document;
pub use super::image_text::Likeness;
use super::image_text::{self, Texts, Towers};
pub use super::pixels::Pixels;
use super::pixels::Preprocessing;
use super::table::{ColumnType::Vector, Table, blob_of, vector_of};
use crate::lazy::Lazy;
use crate::weights::{CheckedModel, Role};

/// Part of the producer's name. It changes whenever the same checkpoint would give other vectors.
const VERSION: u32 = 2;

/// The vector of each image.
pub(crate) static CLIP: Table = Table::new("clip", 0, &[(Vector, "vector")]).with_large_rows();

/// A loaded model. Several threads can call its methods at the same time.
pub struct Clip {
    side: usize,
    dimension: usize,
    preprocessing: Preprocessing,
    texts: Texts,
    likeness: Likeness,
    towers: Towers,
}

impl Clip {
    /// Loads the checkpoint in `dir`. With [`Numeric::Int8`], the towers of a CLIP are computed in int8 if the machine has instructions for it;
    /// [`Clip::agreement`] measures the loss of precision. The weights of a tower are read when it is first used.
    ///
    /// # Errors
    /// A file is missing or damaged, the configuration makes no sense, or a tensor is missing or has another shape or number type
    /// than the configuration says. All of this is found before weights are read, and the message names it.
    pub fn load(dir: &Path, backend: Backend, numeric: Numeric) -> Result<Self> {
        let load = || -> Result<Self> {
            let model = image_text::open(dir)?;
            Ok(Clip {
                towers: model.towers(backend, numeric)?,
                side: model.side(),
                dimension: model.dimension(),
                likeness: model.likeness,
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

    /// The length of every vector: `projection_dim` of CLIP (512 for ViT-B, 768 for L/14), `hidden_size` of SigLIP.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// What the model was trained to make of a cosine.
    pub fn likeness(&self) -> Likeness {
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

/// The channel of CLIP's image vectors. The images of a group are embedded in one batch.
pub struct ClipVectors;

impl Channel for ClipVectors {
    fn name(&self) -> &'static str {
        "clip"
    }

    fn tables(&self) -> &'static [&'static Table] {
        const { &[&CLIP] }
    }

    fn role(&self) -> Option<Role> {
        Some(Role::Clip)
    }

    fn values_in_int8(&self) -> Option<&'static str> {
        Some("CLIP vectors that were computed in int8 are kept")
    }

    fn extractor(
        &self,
        model: Option<CheckedModel>,
        precision: Precision,
    ) -> Result<Box<dyn Extractor>> {
        let model = model.context("CLIP needs a model")?;
        let producer = Clip::producer_of(&model.sha256);
        let load = move || Clip::load(&model.dir, Backend::Auto, precision.clip);
        Ok(Box::new(Lazy::new(producer, load)))
    }

    fn rows(&self, evidence: &Evidence, put: &mut Put) -> rusqlite::Result<()> {
        match &evidence.clip {
            Some(vector) => put(&CLIP, &[&blob_of(vector)]),
            None => Ok(()),
        }
    }

    fn read(&self, _: &Table, row: &Row, evidence: &mut Evidence) -> rusqlite::Result<()> {
        evidence.clip = Some(vector_of(row.get_ref(1)?.as_blob()?)?);
        Ok(())
    }
}

impl Extractor for Lazy<Clip> {
    fn producer(&self) -> String {
        Lazy::producer(self).to_owned()
    }

    fn compute(&self, document: &mut Document) -> Result<()> {
        document.evidence.clip = None;
        if let Some(image) = document.image() {
            let pixels = self.get()?.preprocess(&image.picture.image);
            document.later = Some(Box::new(pixels));
        }
        Ok(())
    }

    fn complete(&self, waiting: Vec<Waiting>) -> Result<()> {
        let (mut records, mut batch) = (Vec::new(), Vec::new());
        for Waiting { input, record } in waiting {
            let pixels = input.downcast().ok().context("pixels are expected")?;
            batch.push(*pixels);
            records.push(record);
        }
        let clip = self.get()?;
        let vectors = clip.embed_images(&batch);
        let vectors = vectors.context("CLIP failed on a batch of images")?;
        for (record, vector) in records.into_iter().zip(vectors) {
            record.evidence.clip = Some(vector);
            if let Some(made) = record.made.get_mut(ClipVectors.name()) {
                made.backend = Some(channel::Backend::of_transformer(clip.numeric()));
            }
        }
        Ok(())
    }

    fn describe(&self) -> Option<String> {
        let model = self.loaded()?;
        let numeric = model.numeric();
        Some(match model.agreement() {
            Some(least) => {
                format!("{numeric}, with a cosine of at least {least:.4} to floats on its examples")
            }
            None => numeric.to_string(),
        })
    }
}
