//! CLIP: images and short texts as vectors of one space (Radford et al. 2021, <https://arxiv.org/abs/2103.00020>).
//!
//! Any checkpoint directory of the Hugging Face layout loads: `config.json`, `model.safetensors`, `tokenizer.json` and,
//! where it is there, `preprocessor_config.json`. All sizes come from the configuration, so ViT-B/32, B/16 and L/14
//! differ in nothing here. Held to Hugging Face's `CLIPModel` within 1e-4 (tests/reference/encoders.py, tests/it/clip.rs).

use std::path::Path;

mod candle;
mod packed;

use anyhow::{Context, Result, ensure};
use image::RgbImage;
use serde::Deserialize;
use tokenizers::Tokenizer;

use super::checkpoint::{Checkpoint, Expected, Texts, device, read_json, read_tokenizer};
use super::encoder::{Activation, Encoder, Names, Norms, Road, Size, check_size, expected_norm};
pub use super::pixels::Pixels;
use super::pixels::Preprocessing;

/// Part of the producer: changes whenever the same checkpoint would give other vectors.
const VERSION: u32 = 2;

/// Texts that go through the text tower together; memory, not the result, depends on it.
const TEXTS: usize = 64;

const TEXT: Names = names("text_model.encoder.layers");
const VISION: Names = names("vision_model.encoder.layers");

const fn names(layers: &'static str) -> Names {
    Names {
        layers,
        query: "self_attn.q_proj",
        key: "self_attn.k_proj",
        value: "self_attn.v_proj",
        output: "self_attn.out_proj",
        attention_norm: "layer_norm1",
        up: "mlp.fc1",
        down: "mlp.fc2",
        mlp_norm: "layer_norm2",
    }
}

const TOKENS: &str = "text_model.embeddings.token_embedding.weight";
const TEXT_POSITIONS: &str = "text_model.embeddings.position_embedding.weight";
const TEXT_NORM: &str = "text_model.final_layer_norm";
const TEXT_PROJECTION: &str = "text_projection.weight";
const CLASS: &str = "vision_model.embeddings.class_embedding";
const PATCHES: &str = "vision_model.embeddings.patch_embedding.weight";
const VISION_POSITIONS: &str = "vision_model.embeddings.position_embedding.weight";
/// Spelled as the published checkpoints spell it.
const BEFORE_NORM: &str = "vision_model.pre_layrnorm";
const AFTER_NORM: &str = "vision_model.post_layernorm";
const VISION_PROJECTION: &str = "visual_projection.weight";

/// A loaded model. Its methods may be called from several threads.
pub struct Clip {
    sha: String,
    config: Config,
    preprocessing: Preprocessing,
    tokenizer: Tokenizer,
    towers: Towers,
}

enum Towers {
    Packed(Box<packed::Towers>),
    Candle(Box<candle::Towers>),
}

impl Clip {
    /// Loads the checkpoint in `dir`; `sha` names its weights in [`Clip::producer`].
    ///
    /// Runs on the first CUDA device with the cargo feature `cuda` and such a device, on the CPU otherwise; in f32 on both.
    /// [`Clip::load_by`] chooses how.
    ///
    /// # Errors
    /// A missing or damaged file, a configuration without meaning here, or a tensor that is missing or has another shape
    /// or number type than the configuration says: all found before weights are read, and named.
    pub fn load(dir: &Path, sha: &str) -> Result<Self> {
        Self::load_by(dir, sha, Road::default())
    }

    /// As [`Clip::load`], computing by the road given.
    ///
    /// # Errors
    /// As [`Clip::load`].
    pub fn load_by(dir: &Path, sha: &str, road: Road) -> Result<Self> {
        Self::load_from(dir, sha, road)
            .with_context(|| format!("loading CLIP from {}", dir.display()))
    }

    fn load_from(dir: &Path, sha: &str, road: Road) -> Result<Self> {
        let (config, preprocessing, tokenizer, mut checkpoint) = open(dir)?;
        let device = device();
        let towers = match road.is_packed(&device) {
            true => Towers::Packed(Box::new(packed::Towers::read(&config, &mut checkpoint)?)),
            false => Towers::Candle(Box::new(candle::Towers::read(
                &config,
                &mut checkpoint,
                device,
            )?)),
        };
        Ok(Clip {
            sha: sha.to_owned(),
            towers,
            config,
            preprocessing,
            tokenizer,
        })
    }

    /// Checks all files of a checkpoint as [`Clip::load`] does, without reading the weights themselves.
    ///
    /// # Errors
    /// As [`Clip::load`].
    pub fn check(dir: &Path) -> Result<()> {
        open(dir).with_context(|| format!("checking CLIP in {}", dir.display()))?;
        Ok(())
    }

    /// Extractor, its version and the checkpoint's sha: vectors of different producers must not be compared.
    pub fn producer(&self) -> String {
        Self::producer_of(&self.sha)
    }

    /// The producer that the checkpoint with that sha will be.
    pub fn producer_of(sha: &str) -> String {
        format!("clip/{VERSION} {sha}")
    }

    /// Length of every vector: `projection_dim` (512 for ViT-B, 768 for L/14).
    pub fn dimension(&self) -> usize {
        self.config.projection_dim
    }

    /// Resizes, crops and normalises an image (8-bit RGB, upright, at least one pixel) for [`Clip::embed_images`].
    ///
    /// Costs about what decoding costs and touches no model: meant for worker threads.
    pub fn preprocess(&self, image: &RgbImage) -> Pixels {
        self.preprocessing.apply(image)
    }

    /// A vector of unit length for each image. The caller chooses how many go together: 8 to 32 suit a CPU.
    ///
    /// # Errors
    /// Pixels of another size than the model's (those of another model), or a failure of the device.
    pub fn embed_images(&self, images: &[Pixels]) -> Result<Vec<Vec<f32>>> {
        if images.is_empty() {
            return Ok(Vec::new());
        }
        self.vision_rows(images)
            .with_context(|| format!("computing CLIP vectors of {} images", images.len()))
    }

    fn vision_rows(&self, images: &[Pixels]) -> Result<Vec<Vec<f32>>> {
        let (side, patch) = (self.config.vision.image_size, self.config.vision.patch_size);
        for image in images {
            ensure!(
                (image.height, image.width) == (side, side)
                    && image.values.len() == 3 * side * side,
                "pixels of {} × {}: the model takes {side} × {side}",
                image.height,
                image.width
            );
        }
        match &self.towers {
            Towers::Packed(towers) => towers.images(images, side, patch),
            Towers::Candle(towers) => towers.images(images, side, patch),
        }
    }

    /// A vector of unit length for each text. Texts are cut after the model's longest (77 tokens, the two special ones
    /// counted in); an empty text has a vector too, that of no words.
    ///
    /// # Errors
    /// A tokenizer or device that fails.
    pub fn embed_texts(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(TEXTS) {
            vectors.extend(
                self.text_rows(texts)
                    .context("computing CLIP vectors of texts")?,
            );
        }
        Ok(vectors)
    }

    fn text_rows(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let tokenized = self
            .tokenizer
            .encode_batch_fast(texts.to_vec(), true)
            .map_err(|error| anyhow::anyhow!("{error}"))
            .context("splitting texts into tokens")?;
        let ids: Vec<&[u32]> = tokenized.iter().map(|text| text.get_ids()).collect();
        let ends: Vec<usize> = ids
            .iter()
            .map(|ids| self.config.text.end_of_text(ids))
            .collect();
        match &self.towers {
            Towers::Packed(towers) => towers.texts(&ids, &ends),
            Towers::Candle(towers) => towers.texts(&ids, &ends),
        }
    }
}

/// Everything but the weights, each file checked against the configuration.
fn open(dir: &Path) -> Result<(Config, Preprocessing, Tokenizer, Checkpoint)> {
    let config = Config::read(dir)?;
    let preprocessing = Preprocessing::read(dir)?;
    let side = config.vision.image_size;
    ensure!(
        preprocessing.output() == Some((side, side)),
        "preprocessor_config.json makes images of {}, config.json wants {side} × {side}",
        match preprocessing.output() {
            Some((height, width)) => format!("{height} × {width} (height × width)"),
            None => "any size".to_owned(),
        }
    );
    let tokenizer = read_tokenizer(
        dir,
        Texts::Single,
        config.text.max_position_embeddings,
        config.text.vocab_size,
    )?;
    let checkpoint = Checkpoint::open(dir, &config.expected())?;
    Ok((config, preprocessing, tokenizer, checkpoint))
}

/// `config.json`. What a file leaves out has the value that Hugging Face's CLIPConfig gives it.
#[derive(Debug)]
struct Config {
    projection_dim: usize,
    text: TextConfig,
    vision: VisionConfig,
}

/// `config.json` as files spell it: files of 2021 and 2022 hold the towers under the `_dict` names (too), which win.
#[derive(Deserialize)]
struct ConfigFile {
    projection_dim: Option<usize>,
    text_config: Option<TextConfig>,
    text_config_dict: Option<TextConfig>,
    vision_config: Option<VisionConfig>,
    vision_config_dict: Option<VisionConfig>,
}

#[derive(Debug, Deserialize)]
#[serde(default)]
struct TextConfig {
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    max_position_embeddings: usize,
    hidden_act: Activation,
    layer_norm_eps: f64,
    eos_token_id: u32,
}

#[derive(Debug, Deserialize)]
#[serde(default)]
struct VisionConfig {
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_channels: usize,
    image_size: usize,
    patch_size: usize,
    hidden_act: Activation,
    layer_norm_eps: f64,
}

impl Default for TextConfig {
    fn default() -> Self {
        TextConfig {
            vocab_size: 49408,
            hidden_size: 512,
            intermediate_size: 2048,
            num_hidden_layers: 12,
            num_attention_heads: 8,
            max_position_embeddings: 77,
            hidden_act: Activation::QuickGelu,
            layer_norm_eps: 1e-5,
            eos_token_id: 49407,
        }
    }
}

impl Default for VisionConfig {
    fn default() -> Self {
        VisionConfig {
            hidden_size: 768,
            intermediate_size: 3072,
            num_hidden_layers: 12,
            num_attention_heads: 12,
            num_channels: 3,
            image_size: 224,
            patch_size: 32,
            hidden_act: Activation::QuickGelu,
            layer_norm_eps: 1e-5,
        }
    }
}

impl TextConfig {
    fn size(&self) -> Size {
        Size {
            hidden: self.hidden_size,
            heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            layers: self.num_hidden_layers,
            epsilon: self.layer_norm_eps,
            activation: self.hidden_act,
            norms: Norms::Before,
        }
    }

    /// The position whose row stands for the whole text: the first end-of-text token, as Hugging Face finds it.
    ///
    /// Files made before transformers 4.31 say 2, which no CLIP tokenizer uses so; there it is the largest id.
    fn end_of_text(&self, ids: &[u32]) -> usize {
        let end = match self.eos_token_id {
            2 => ids.iter().max().copied(),
            id => Some(id),
        };
        ids.iter().position(|id| Some(*id) == end).unwrap_or(0)
    }
}

impl VisionConfig {
    fn size(&self) -> Size {
        Size {
            hidden: self.hidden_size,
            heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            layers: self.num_hidden_layers,
            epsilon: self.layer_norm_eps,
            activation: self.hidden_act,
            norms: Norms::Before,
        }
    }
}

impl Config {
    fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("config.json");
        let file: ConfigFile = read_json(&path)?;
        let config = Config {
            projection_dim: file.projection_dim.unwrap_or(512),
            text: file
                .text_config_dict
                .or(file.text_config)
                .unwrap_or_default(),
            vision: file
                .vision_config_dict
                .or(file.vision_config)
                .unwrap_or_default(),
        };
        config
            .check()
            .with_context(|| format!("reading {}", path.display()))?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        self.text.size().check().context("text_config")?;
        self.vision.size().check().context("vision_config")?;
        for (name, value) in [
            ("projection_dim", self.projection_dim),
            ("text_config: vocab_size", self.text.vocab_size),
            (
                "text_config: max_position_embeddings",
                self.text.max_position_embeddings,
            ),
            ("vision_config: image_size", self.vision.image_size),
            ("vision_config: patch_size", self.vision.patch_size),
        ] {
            check_size(name, value)?;
        }
        ensure!(
            self.vision.num_channels == 3,
            "vision_config: num_channels is {}: expected 3",
            self.vision.num_channels
        );
        ensure!(
            self.vision.patch_size <= self.vision.image_size,
            "vision_config: patch_size {} is larger than image_size {}",
            self.vision.patch_size,
            self.vision.image_size
        );
        Ok(())
    }

    /// Every tensor that the model needs; shapes as PyTorch stores them.
    fn expected(&self) -> Vec<Expected> {
        let (text, vision) = (&self.text, &self.vision);
        let patches = (vision.image_size / vision.patch_size).pow(2);
        let mut all: Vec<Expected> = [
            (TOKENS, vec![text.vocab_size, text.hidden_size]),
            (
                TEXT_POSITIONS,
                vec![text.max_position_embeddings, text.hidden_size],
            ),
            (TEXT_PROJECTION, vec![self.projection_dim, text.hidden_size]),
            (CLASS, vec![vision.hidden_size]),
            (
                PATCHES,
                vec![vision.hidden_size, 3, vision.patch_size, vision.patch_size],
            ),
            (VISION_POSITIONS, vec![patches + 1, vision.hidden_size]),
            (
                VISION_PROJECTION,
                vec![self.projection_dim, vision.hidden_size],
            ),
        ]
        .map(|(name, shape)| (name.to_owned(), shape))
        .into();
        all.extend(expected_norm(TEXT_NORM, text.hidden_size));
        all.extend(expected_norm(BEFORE_NORM, vision.hidden_size));
        all.extend(expected_norm(AFTER_NORM, vision.hidden_size));
        all.extend(Encoder::expected(&text.size(), &TEXT));
        all.extend(Encoder::expected(&vision.size(), &VISION));
        all
    }
}
