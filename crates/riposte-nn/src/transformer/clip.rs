//! The two towers of CLIP (Radford et al. 2021, <https://arxiv.org/abs/2103.00020>): from pixels and tokens to vectors of one space.

pub mod open_clip;

use std::path::Path;

use serde::Deserialize;

use super::linear::LinearLayer;
use super::packed::{CalibrationRows, LayerNorm, Sequence};
use super::source::CheckedSource;
use super::{
    Activation, Attention, EncoderBackend, EncoderConfig, EncoderLayers, LayerNames, NormOrder,
    TensorSource, WantedRows, check_size, expected_affine, expected_tensors, prefixes, row,
};
use crate::checkpoint::{EmbeddingTable, ExpectedTensor, read_json};
use crate::conv::Numeric;
use crate::error::{Error, Result, While, ensure};
use crate::normalise;
use crate::tokens::Encoding;
use crate::towers::{ImageTower, TextTower};

const TEXT_LAYERS: LayerNames = layer_names("text_model.encoder.layers");
const VISION_LAYERS: LayerNames = layer_names("vision_model.encoder.layers");

/// The names of the parts of a layer in a tower, which other families have taken over. `layers` is the common name of its layers.
pub const fn layer_names(layers: &'static str) -> LayerNames {
    LayerNames {
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
/// Published checkpoints spell it in this way.
const BEFORE_NORM: &str = "vision_model.pre_layrnorm";
const AFTER_NORM: &str = "vision_model.post_layernorm";
const VISION_PROJECTION: &str = "visual_projection.weight";

/// The colours of a pixel.
const CHANNELS: usize = 3;

/// `config.json`. Missing values are those of Hugging Face's CLIPConfig.
#[derive(Clone, Debug)]
pub struct ClipConfig {
    /// The length of every vector.
    pub projection_dim: usize,
    /// The text tower.
    pub text: ClipTextConfig,
    /// The vision tower.
    pub vision: ClipVisionConfig,
}

/// `config.json` as files have it. Those of 2021 and 2022 also have the towers under names with `_dict`, and these take precedence.
#[derive(Deserialize)]
struct ClipConfigFile {
    projection_dim: Option<usize>,
    text_config: Option<ClipTextConfig>,
    text_config_dict: Option<ClipTextConfig>,
    vision_config: Option<ClipVisionConfig>,
    vision_config_dict: Option<ClipVisionConfig>,
}

/// The text tower.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct ClipTextConfig {
    /// The number of tokens.
    pub vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    /// The number of tokens of the longest text.
    pub max_position_embeddings: usize,
    hidden_act: Activation,
    layer_norm_eps: f64,
    eos_token_id: u32,
}

/// The vision tower.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct ClipVisionConfig {
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_channels: usize,
    /// The height and the width of a picture, in pixels.
    pub image_size: usize,
    patch_size: usize,
    hidden_act: Activation,
    layer_norm_eps: f64,
}

impl Default for ClipTextConfig {
    fn default() -> Self {
        ClipTextConfig {
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

impl Default for ClipVisionConfig {
    fn default() -> Self {
        ClipVisionConfig {
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

impl ClipTextConfig {
    fn encoder(&self) -> EncoderConfig {
        EncoderConfig {
            hidden: self.hidden_size,
            heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            layers: self.num_hidden_layers,
            epsilon: self.layer_norm_eps,
            activation: self.hidden_act,
            norms: NormOrder::Before,
        }
    }

    /// The position of the first end-of-text token, whose row represents the text.
    ///
    /// Files made before transformers 4.31 say that its id is 2, which is not true of any CLIP tokenizer. For those it is the largest id,
    /// as in Hugging Face's code.
    fn end_of_text(&self, ids: &[u32]) -> usize {
        let end = match self.eos_token_id {
            2 => ids.iter().max().copied(),
            id => Some(id),
        };
        ids.iter().position(|id| Some(*id) == end).unwrap_or(0)
    }
}

impl ClipVisionConfig {
    fn encoder(&self) -> EncoderConfig {
        EncoderConfig {
            hidden: self.hidden_size,
            heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            layers: self.num_hidden_layers,
            epsilon: self.layer_norm_eps,
            activation: self.hidden_act,
            norms: NormOrder::Before,
        }
    }

    /// The number of whole patches along a side. A remainder at the right and at the bottom belongs to no patch.
    fn grid(&self) -> usize {
        self.image_size / self.patch_size
    }
}

impl ClipConfig {
    /// Reads and checks `config.json` in `dir`.
    ///
    /// # Errors
    /// The file is missing or damaged, or a size is out of range.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("config.json");
        let file: ClipConfigFile = read_json(&path)?;
        let text = file.text_config_dict.or(file.text_config);
        let vision = file.vision_config_dict.or(file.vision_config);
        let config = ClipConfig {
            projection_dim: file.projection_dim.unwrap_or(512),
            text: text.unwrap_or_default(),
            vision: vision.unwrap_or_default(),
        };
        config
            .check()
            .during(|| format!("reading {}", path.display()))?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        let (text, vision) = (&self.text, &self.vision);
        text.encoder().check().during(|| "text_config")?;
        vision.encoder().check().during(|| "vision_config")?;
        let positions = text.max_position_embeddings;
        check_size("projection_dim", self.projection_dim)?;
        check_size("text_config: vocab_size", text.vocab_size)?;
        check_size("text_config: max_position_embeddings", positions)?;
        check_size("vision_config: image_size", vision.image_size)?;
        check_size("vision_config: patch_size", vision.patch_size)?;
        ensure!(
            vision.num_channels == CHANNELS,
            Model,
            "vision_config: num_channels is {}: expected {CHANNELS}",
            vision.num_channels
        );
        ensure!(
            vision.patch_size <= vision.image_size,
            Model,
            "vision_config: patch_size {} is larger than image_size {}",
            vision.patch_size,
            vision.image_size
        );
        Ok(())
    }

    /// The tensors that the model needs, with their shapes.
    pub fn expected_tensors(&self) -> Vec<ExpectedTensor> {
        let (text, vision) = (&self.text, &self.vision);
        let (patch, patches) = (vision.patch_size, vision.grid().pow(2));
        let dimension = self.projection_dim;
        let mut all: Vec<ExpectedTensor> = [
            (TOKENS, vec![text.vocab_size, text.hidden_size]),
            (
                TEXT_POSITIONS,
                vec![text.max_position_embeddings, text.hidden_size],
            ),
            (TEXT_PROJECTION, vec![dimension, text.hidden_size]),
            (CLASS, vec![vision.hidden_size]),
            (PATCHES, vec![vision.hidden_size, CHANNELS, patch, patch]),
            (VISION_POSITIONS, vec![patches + 1, vision.hidden_size]),
            (VISION_PROJECTION, vec![dimension, vision.hidden_size]),
        ]
        .map(|(name, shape)| (name.to_owned(), shape))
        .into();
        all.extend(expected_affine(TEXT_NORM, vec![text.hidden_size]));
        all.extend(expected_affine(BEFORE_NORM, vec![vision.hidden_size]));
        all.extend(expected_affine(AFTER_NORM, vec![vision.hidden_size]));
        all.extend(expected_tensors(&text.encoder(), &TEXT_LAYERS));
        all.extend(expected_tensors(&vision.encoder(), &VISION_LAYERS));
        all
    }
}

/// The text tower. Its methods can be called from several threads.
pub struct ClipTextTower {
    input: ClipTextInput,
    output: Tower,
}

/// The vision tower. Its methods can be called from several threads.
pub struct ClipVisionTower {
    input: ClipVisionInput,
    output: Tower,
}

/// Turns tokens into the rows that the first layer reads.
struct ClipTextInput {
    config: ClipTextConfig,
    /// (vocabulary, hidden)
    tokens: EmbeddingTable,
    /// (positions, hidden)
    positions: Vec<f32>,
}

/// What follows the embeddings of a tower's input: layers, a norm and a projection.
struct Tower {
    encoder: EncoderLayers,
    norm: LayerNorm,
    projection: LinearLayer,
    agreement: Option<f32>,
}

/// Turns pictures into the rows that the first layer reads.
struct ClipVisionInput {
    config: ClipVisionConfig,
    patches: LinearLayer,
    /// (1 + patches, hidden), with the class vector added to the first row.
    positions: Vec<f32>,
    before: LayerNorm,
}

impl ClipVisionTower {
    /// Reads the tower from `source`, with tensors as [`ClipConfig::expected_tensors`] lists them. With `int8`, a few pictures decide how it is
    /// quantised, if `backend` is [`EncoderBackend::Auto`] and the machine has instructions for it.
    ///
    /// # Errors
    /// A size in `config` is out of range, `source` fails or has a tensor of another size, or a given backend fails.
    pub fn read(
        config: &ClipConfig,
        source: &impl TensorSource,
        backend: EncoderBackend,
        int8: bool,
    ) -> Result<Self> {
        config.check()?;
        let source = &CheckedSource::new(source, config.expected_tensors());
        let vision = &config.vision;
        let mut positions = source.tensor(VISION_POSITIONS)?;
        let class = source.tensor(CLASS)?;
        positions.iter_mut().zip(&class).for_each(|(p, c)| *p += c);
        let epsilon = vision.layer_norm_eps;
        let projection = source.tensor(VISION_PROJECTION)?;
        let input = ClipVisionInput {
            config: vision.clone(),
            patches: LinearLayer::new(&source.tensor(PATCHES)?, vision.hidden_size, None)?,
            positions,
            before: LayerNorm::read(source, BEFORE_NORM, epsilon)?,
        };
        let int8 = int8 && matches!(backend, EncoderBackend::Auto);
        let images = calibration_images(vision.image_size);
        let images: Vec<&[f32]> = images.iter().map(Vec::as_slice).collect();
        let tokens = 1 + vision.grid().pow(2);
        let mut calibration = int8
            .then(|| -> Result<_> {
                Ok(CalibrationRows {
                    rows: input.rows(&images)?,
                    sequences: Sequence::of(&vec![tokens; images.len()]),
                    attention: Attention::Full,
                })
            })
            .transpose()?;
        let encoder = vision.encoder();
        let encoder = EncoderLayers::read(
            &encoder,
            &VISION_LAYERS,
            source,
            backend,
            calibration.as_mut(),
            None,
        )?;
        let output = Tower {
            encoder,
            norm: LayerNorm::read(source, AFTER_NORM, epsilon)?,
            projection: LinearLayer::new(&projection, config.projection_dim, None)?,
            agreement: None,
        };
        let mut tower = ClipVisionTower { input, output };
        if let (Some(calibration), Numeric::Int8) = (calibration, tower.numeric()) {
            let rows = calibration.rows.chunks(tokens * vision.hidden_size);
            let classes = rows.flat_map(|rows| &rows[..vision.hidden_size]);
            let floats = tower.output.project(classes.copied().collect())?;
            tower.output.agreement = least_cosine(&floats, &tower.batch(&images)?);
        }
        Ok(tower)
    }

    fn batch(&self, images: &[&[f32]]) -> Result<Vec<Vec<f32>>> {
        let x = self.input.rows(images)?;
        let lengths = vec![1 + self.input.config.grid().pow(2); images.len()];
        let classes = vec![0; images.len()];
        let rows = WantedRows::OneEach(&classes);
        let encoder = &self.output.encoder;
        self.output
            .project(encoder.forward(x, &lengths, rows, Attention::Full)?)
    }
}

impl ImageTower for ClipVisionTower {
    fn embed(&self, images: &[&[f32]]) -> Result<Vec<Vec<f32>>> {
        let tokens = 1 + self.input.config.grid().pow(2);
        let lengths = vec![tokens; images.len()];
        self.output.encoder.in_batches(&lengths, |batch| {
            let images: Vec<&[f32]> = batch.iter().map(|&n| images[n]).collect();
            self.batch(&images)
        })
    }

    fn numeric(&self) -> Numeric {
        self.output.encoder.numeric()
    }

    fn agreement(&self) -> Option<f32> {
        self.output.agreement
    }
}

impl ClipVisionInput {
    /// The rows of pictures, (tokens, hidden), one picture after another.
    fn rows(&self, images: &[&[f32]]) -> Result<Vec<f32>> {
        let (side, patch) = (self.config.image_size, self.config.patch_size);
        let (hidden, grid) = (self.config.hidden_size, self.config.grid());
        let mut patches = Vec::with_capacity(images.len() * CHANNELS * side * side);
        for image in images {
            ensure!(
                image.len() == CHANNELS * side * side,
                Input,
                "an image has {} numbers: expected {CHANNELS} × {side} × {side}",
                image.len()
            );
            for (down, across) in (0..grid).flat_map(|down| (0..grid).map(move |a| (down, a))) {
                for line in 0..CHANNELS * patch {
                    let (colour, y) = (line / patch, down * patch + line % patch);
                    let from = (colour * side + y) * side + across * patch;
                    patches.extend_from_slice(&image[from..from + patch]);
                }
            }
        }
        let embedded = self.patches.forward(&patches)?;
        let mut x = Vec::with_capacity(images.len() * self.positions.len());
        let (class, positions) = self.positions.split_at(hidden);
        for patches in embedded.chunks(grid * grid * hidden) {
            x.extend_from_slice(class);
            x.extend(patches.iter().zip(positions).map(|(x, p)| x + p));
        }
        self.before.forward(&mut x);
        Ok(x)
    }
}

/// Pictures that decide how the vision tower is quantised, each (colour, row, column) in the range of normalised pixels: a gradient, stripes that
/// resemble lines of text, a disc, and noise.
fn calibration_images(side: usize) -> Vec<Vec<f32>> {
    let picture = |of: &dyn Fn(usize, f32, f32) -> f32| -> Vec<f32> {
        let mut pixels = Vec::with_capacity(CHANNELS * side * side);
        for (colour, y) in (0..CHANNELS).flat_map(|c| (0..side).map(move |y| (c, y))) {
            for x in 0..side {
                let (across, down) = (x as f32 / side as f32, y as f32 / side as f32);
                // pixels between 0 and 1 become numbers between about -1.8 and 2.2
                pixels.push(of(colour, across, down) * 4.0 - 1.8);
            }
        }
        pixels
    };
    let noise = |colour: usize, x: f32, y: f32| {
        let mixed = (x * 12_345.67 + y * 7_654.321 + colour as f32 * 91.7).sin() * 43_758.547;
        mixed - mixed.floor()
    };
    vec![
        picture(&|colour, x, y| (x + y * colour as f32 / 2.0) / 2.0),
        picture(&|colour, x, y| {
            let ink =
                (y * 28.0).fract() < 0.5 && noise(colour / 3, (x * 60.0).floor(), y.floor()) < 0.6;
            if ink { 0.1 } else { 0.95 }
        }),
        picture(&|colour, x, y| {
            let inside = (x - 0.5).powi(2) + (y - 0.5).powi(2) < 0.1;
            if inside {
                [0.9, 0.2, 0.1][colour % 3]
            } else {
                [0.3, 0.5, 0.8][colour % 3]
            }
        }),
        picture(&noise),
    ]
}

/// The least cosine between vectors of unit length.
fn least_cosine(a: &[Vec<f32>], b: &[Vec<f32>]) -> Option<f32> {
    let cosine = |(a, b): (&Vec<f32>, &Vec<f32>)| a.iter().zip(b).map(|(a, b)| a * b).sum();
    a.iter().zip(b).map(cosine).reduce(f32::min)
}

impl ClipTextTower {
    /// Reads the tower from `source`, with tensors as [`ClipConfig::expected_tensors`] lists them. `calibration`: texts that decide how it is quantised,
    /// if `backend` is [`EncoderBackend::Auto`]; without any, it is computed in floats.
    ///
    /// # Errors
    /// A size in `config` is out of range, `source` fails or has a tensor of another size, the model lacks a token of the calibration texts,
    /// or a given backend fails.
    pub fn read(
        config: &ClipConfig,
        source: &impl TensorSource,
        backend: EncoderBackend,
        calibration: &[Encoding],
    ) -> Result<Self> {
        config.check()?;
        let source = &CheckedSource::new(source, config.expected_tensors());
        let text = &config.text;
        let projection = source.tensor(TEXT_PROJECTION)?;
        let input = ClipTextInput {
            config: text.clone(),
            tokens: source.table(TOKENS)?,
            positions: source.tensor(TEXT_POSITIONS)?,
        };
        let ids: Vec<&[u32]> = calibration.iter().map(Encoding::get_ids).collect();
        let lengths: Vec<usize> = ids.iter().map(|ids| ids.len()).collect();
        let mut calibration = CalibrationRows {
            rows: input.rows(&ids, |_| 0)?,
            sequences: Sequence::of(&lengths),
            attention: Attention::Causal,
        };
        let by = (!ids.is_empty()).then_some(&mut calibration);
        let output = Tower {
            encoder: EncoderLayers::read(&text.encoder(), &TEXT_LAYERS, source, backend, by, None)?,
            norm: LayerNorm::read(source, TEXT_NORM, text.layer_norm_eps)?,
            projection: LinearLayer::new(&projection, config.projection_dim, None)?,
            agreement: None,
        };
        let mut tower = ClipTextTower { input, output };
        if tower.numeric() == Numeric::Int8 {
            let (hidden, ends) = (text.hidden_size, tower.input.ends(&ids));
            let mut rows = Vec::new();
            let mut first = 0;
            for (length, end) in lengths.iter().zip(&ends) {
                let from = (first + end) * hidden;
                rows.extend_from_slice(&calibration.rows[from..from + hidden]);
                first += length;
            }
            let floats = tower.output.project(rows)?;
            let found = tower.batch(&ids, &lengths)?;
            tower.output.agreement = least_cosine(&floats, &found);
        }
        Ok(tower)
    }

    fn batch(&self, ids: &[&[u32]], lengths: &[usize]) -> Result<Vec<Vec<f32>>> {
        let (x, ends) = (self.input.rows(ids, |_| 0)?, self.input.ends(ids));
        let rows = WantedRows::OneEach(&ends);
        let encoder = &self.output.encoder;
        self.output
            .project(encoder.forward(x, lengths, rows, Attention::Causal)?)
    }
}

impl TextTower for ClipTextTower {
    fn embed(&self, texts: &[Encoding]) -> Result<Vec<Vec<f32>>> {
        let ids: Vec<&[u32]> = texts.iter().map(Encoding::get_ids).collect();
        match &self.output.encoder {
            EncoderLayers::Packed(encoder) => prefixes::in_batches(&ids, |texts, sequences| {
                let x = self.input.rows(texts, |n| sequences[n].shared.len())?;
                let ends = self.input.ends(texts);
                let rows = WantedRows::OneEach(&ends);
                self.output
                    .project(encoder.forward(x, sequences, rows, Attention::Causal)?)
            }),
            EncoderLayers::Given(_) => {
                let lengths: Vec<usize> = ids.iter().map(|ids| ids.len()).collect();
                self.output.encoder.in_batches(&lengths, |batch| {
                    let ids: Vec<&[u32]> = batch.iter().map(|&n| ids[n]).collect();
                    let lengths: Vec<usize> = batch.iter().map(|&n| lengths[n]).collect();
                    self.batch(&ids, &lengths)
                })
            }
        }
    }

    fn numeric(&self) -> Numeric {
        self.output.encoder.numeric()
    }

    fn agreement(&self) -> Option<f32> {
        self.output.agreement
    }
}

impl ClipTextInput {
    /// The embeddings of the tokens of texts, (tokens, hidden). The first `shared(n)` tokens of text n are left out.
    fn rows(&self, texts: &[&[u32]], shared: impl Fn(usize) -> usize) -> Result<Vec<f32>> {
        let mut x = Vec::new();
        for (n, ids) in texts.iter().enumerate() {
            for (position, &id) in ids.iter().enumerate().skip(shared(n)) {
                let token = self.tokens.row(id as usize)?;
                let token = token.ok_or_else(|| {
                    Error::Input("the tokenizer gives a token that the model lacks".to_owned())
                })?;
                let position = row(&self.positions, self.config.hidden_size, position);
                let position = position.ok_or_else(|| {
                    Error::Input("a text has more tokens than the model has positions".to_owned())
                })?;
                x.extend(token.iter().zip(position).map(|(t, p)| t + p));
            }
        }
        Ok(x)
    }

    /// The position of the end of each text. No token sees a later one, so what follows the end changes nothing.
    fn ends(&self, texts: &[&[u32]]) -> Vec<usize> {
        let end = |ids: &&[u32]| self.config.end_of_text(ids);
        texts.iter().map(end).collect()
    }
}

impl Tower {
    /// Vectors of unit length from the last layer's rows.
    fn project(&self, mut rows: Vec<f32>) -> Result<Vec<Vec<f32>>> {
        self.norm.forward(&mut rows);
        let mut projected = self.projection.forward(&rows)?;
        let vectors = projected.chunks_mut(self.projection.out()).map(|vector| {
            normalise(vector);
            vector.to_vec()
        });
        Ok(vectors.collect())
    }
}
