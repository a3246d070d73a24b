//! Chinese CLIP (Yang et al. 2022, <https://arxiv.org/abs/2211.01335>): the picture tower of CLIP, and BERT for texts.

use std::sync::Arc;

use candle_core::{Device, Module, Tensor};
use candle_nn::linear_no_bias;
use candle_transformers::models::chinese_clip::Activation as CandleActivation;
use candle_transformers::models::chinese_clip::text_model::{
    ChineseClipTextConfig, ChineseClipTextTransformer, PositionEmbeddingType,
};
use candle_transformers::models::chinese_clip::vision_model::{
    ChineseClipVisionConfig, ChineseClipVisionTransformer,
};
use riposte_nn::checkpoint::{Checkpoint, ExpectedTensor};
use riposte_nn::towers::{ImageTower, TextTower};
use riposte_nn::transformer::text::CheckpointConfig;
use riposte_nn::transformer::{LayerNames, bert, clip, expected_affine, expected_tensors};
use riposte_nn::{Error, Result};
use serde::Deserialize;

use super::{
    CHANNELS, TowerSizes, check_encoder, check_picture, check_sizes, during, image_tower, padded,
    reading, square, text_tower,
};

const TEXT_LAYERS: LayerNames = LayerNames {
    layers: "text_model.encoder.layer",
    ..bert::BARE.layers
};

const VISION_LAYERS: LayerNames = clip::layer_names("vision_model.encoder.layers");

/// `config.json`. Missing values are those of Hugging Face's ChineseCLIPConfig.
#[derive(Clone, Debug)]
pub struct ChineseClipConfig {
    projection: usize,
    text: ChineseTextConfig,
    vision: ChineseVisionConfig,
}

/// `config.json` as files have it. Those of 2022 also have the towers under names with `_dict`, and these take precedence.
#[derive(Deserialize)]
struct ChineseClipConfigFile {
    projection_dim: Option<usize>,
    text_config: Option<ChineseTextConfig>,
    text_config_dict: Option<ChineseTextConfig>,
    vision_config: Option<ChineseVisionConfig>,
    vision_config_dict: Option<ChineseVisionConfig>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
struct ChineseTextConfig {
    #[serde(flatten)]
    sizes: TowerSizes,
    vocab_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    hidden_act: ChineseClipActivation,
    layer_norm_eps: f64,
    position_embedding_type: Option<String>,
    is_decoder: bool,
    add_cross_attention: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
struct ChineseVisionConfig {
    #[serde(flatten)]
    sizes: TowerSizes,
    num_channels: usize,
    #[serde(deserialize_with = "square")]
    image_size: usize,
    #[serde(deserialize_with = "square")]
    patch_size: usize,
    hidden_act: ChineseClipActivation,
    layer_norm_eps: f64,
}

/// The activations that candle-transformers knows. It panics on others.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ChineseClipActivation {
    QuickGelu,
    Gelu,
    GeluNew,
    Relu,
}

impl ChineseClipActivation {
    fn candle(self) -> CandleActivation {
        match self {
            ChineseClipActivation::QuickGelu => CandleActivation::QuickGelu,
            ChineseClipActivation::Gelu => CandleActivation::Gelu,
            ChineseClipActivation::GeluNew => CandleActivation::GeluNew,
            ChineseClipActivation::Relu => CandleActivation::Relu,
        }
    }
}

impl Default for ChineseTextConfig {
    fn default() -> Self {
        ChineseTextConfig {
            sizes: TowerSizes::default(),
            vocab_size: 30522,
            max_position_embeddings: 512,
            type_vocab_size: 2,
            hidden_act: ChineseClipActivation::Gelu,
            layer_norm_eps: 1e-12,
            position_embedding_type: None,
            is_decoder: false,
            add_cross_attention: false,
        }
    }
}

impl Default for ChineseVisionConfig {
    fn default() -> Self {
        ChineseVisionConfig {
            sizes: TowerSizes::default(),
            num_channels: CHANNELS,
            image_size: 224,
            patch_size: 32,
            hidden_act: ChineseClipActivation::QuickGelu,
            layer_norm_eps: 1e-5,
        }
    }
}

impl ChineseClipConfig {
    /// Reads and checks the settings of a Chinese CLIP.
    ///
    /// # Errors
    /// A size is out of range, or a setting asks for something that is not computed here; the message names it.
    pub fn read(file: &CheckpointConfig) -> Result<Self> {
        let spelled: ChineseClipConfigFile = file.parse()?;
        let config = ChineseClipConfig {
            projection: spelled.projection_dim.unwrap_or(512),
            text: spelled
                .text_config_dict
                .or(spelled.text_config)
                .unwrap_or_default(),
            vision: spelled
                .vision_config_dict
                .or(spelled.vision_config)
                .unwrap_or_default(),
        };
        during(&reading(file), config.check())?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        let (text, vision) = (&self.text, &self.vision);
        check_encoder("text_config", &text.sizes.encoder(text.layer_norm_eps))?;
        check_encoder(
            "vision_config",
            &vision.sizes.encoder(vision.layer_norm_eps),
        )?;
        check_sizes(
            "text_config",
            &[
                ("vocab_size", text.vocab_size),
                ("max_position_embeddings", text.max_position_embeddings),
                ("type_vocab_size", text.type_vocab_size),
            ],
        )?;
        check_sizes("config", &[("projection_dim", self.projection)])?;
        check_picture(vision.num_channels, vision.image_size, vision.patch_size)?;
        let positions = text.position_embedding_type.as_deref();
        if let Some(kind) = positions.filter(|kind| *kind != "absolute") {
            return Err(Error::Model(format!(
                "text_config: position_embedding_type is {kind}: expected absolute"
            )));
        }
        for (name, is_on) in [
            ("is_decoder", text.is_decoder),
            ("add_cross_attention", text.add_cross_attention),
        ] {
            if is_on {
                return Err(Error::Model(format!(
                    "text_config: {name} is true: expected false"
                )));
            }
        }
        Ok(())
    }

    /// The height and the width of a picture.
    pub fn side(&self) -> usize {
        self.vision.image_size
    }

    /// The number of tokens in the vocabulary.
    pub fn vocabulary(&self) -> usize {
        self.text.vocab_size
    }

    /// The number of tokens of the longest text.
    pub fn tokens(&self) -> usize {
        self.text.max_position_embeddings
    }

    /// The tensors that the model needs, with their shapes.
    pub fn expected_tensors(&self) -> Vec<ExpectedTensor> {
        let (text, vision) = (&self.text, &self.vision);
        let (words, pixels) = (text.sizes.hidden_size, vision.sizes.hidden_size);
        let patch = vision.patch_size;
        let patches = (vision.image_size / patch.max(1)).pow(2);
        let mut all: Vec<ExpectedTensor> = [
            (
                "text_model.embeddings.word_embeddings.weight",
                vec![text.vocab_size, words],
            ),
            (
                "text_model.embeddings.position_embeddings.weight",
                vec![text.max_position_embeddings, words],
            ),
            (
                "text_model.embeddings.token_type_embeddings.weight",
                vec![text.type_vocab_size, words],
            ),
            ("text_projection.weight", vec![self.projection, words]),
            ("vision_model.embeddings.class_embedding", vec![pixels]),
            (
                "vision_model.embeddings.patch_embedding.weight",
                vec![pixels, CHANNELS, patch, patch],
            ),
            (
                "vision_model.embeddings.position_embedding.weight",
                vec![patches + 1, pixels],
            ),
            ("visual_projection.weight", vec![self.projection, pixels]),
        ]
        .map(|(name, shape)| (name.to_owned(), shape))
        .into();
        for (name, width) in [
            ("text_model.embeddings.LayerNorm", words),
            ("vision_model.pre_layrnorm", pixels),
            ("vision_model.post_layernorm", pixels),
        ] {
            all.extend(expected_affine(name, vec![width]));
        }
        let (of_text, of_vision) = (text.layer_norm_eps, vision.layer_norm_eps);
        all.extend(expected_tensors(&text.sizes.encoder(of_text), &TEXT_LAYERS));
        all.extend(expected_tensors(
            &vision.sizes.encoder(of_vision),
            &VISION_LAYERS,
        ));
        all
    }

    /// Reads the tower of texts.
    ///
    /// # Errors
    /// The checkpoint cannot be read, or the device fails.
    pub fn text_tower(&self, checkpoint: Arc<Checkpoint>) -> Result<Box<dyn TextTower>> {
        let text = &self.text;
        let settings = ChineseClipTextConfig {
            vocab_size: text.vocab_size,
            hidden_size: text.sizes.hidden_size,
            intermediate_size: text.sizes.intermediate_size,
            num_hidden_layers: text.sizes.num_hidden_layers,
            num_attention_heads: text.sizes.num_attention_heads,
            max_position_embeddings: text.max_position_embeddings,
            type_vocab_size: text.type_vocab_size,
            hidden_act: text.hidden_act.candle(),
            layer_norm_eps: text.layer_norm_eps,
            position_embedding_type: PositionEmbeddingType::Absolute,
            // the others are for training
            ..ChineseClipTextConfig::default()
        };
        let (words, projection) = (text.sizes.hidden_size, self.projection);
        let positions = text.max_position_embeddings;
        text_tower(checkpoint, text.vocab_size, positions, |weights| {
            let model = ChineseClipTextTransformer::new(weights.pp("text_model"), &settings)?;
            let projection = linear_no_bias(words, projection, weights.pp("text_projection"))?;
            Ok(move |texts: &[&[u32]], device: &Device| {
                let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
                let ones: Vec<Vec<u32>> = texts.iter().map(|text| vec![1; text.len()]).collect();
                let ones: Vec<&[u32]> = ones.iter().map(Vec::as_slice).collect();
                let mask = padded(&ones, longest, 0, device)?;
                // the mask hides what follows a text, so any token can follow it
                let ids = padded(texts, longest, 0, device)?;
                let rows = model.forward(&ids, None, Some(&mask))?;
                projection.forward(&rows.contiguous()?)
            })
        })
    }

    /// Reads the tower of pictures.
    ///
    /// # Errors
    /// The checkpoint cannot be read, or the device fails.
    pub fn image_tower(&self, checkpoint: Arc<Checkpoint>) -> Result<Box<dyn ImageTower>> {
        let vision = &self.vision;
        let settings = ChineseClipVisionConfig {
            hidden_size: vision.sizes.hidden_size,
            intermediate_size: vision.sizes.intermediate_size,
            projection_dim: self.projection,
            num_hidden_layers: vision.sizes.num_hidden_layers,
            num_attention_heads: vision.sizes.num_attention_heads,
            num_channels: CHANNELS,
            image_size: vision.image_size,
            patch_size: vision.patch_size,
            hidden_act: vision.hidden_act.candle(),
            layer_norm_eps: vision.layer_norm_eps,
            // the others are for training
            ..ChineseClipVisionConfig::default()
        };
        let (pixels, projection) = (vision.sizes.hidden_size, self.projection);
        image_tower(checkpoint, vision.image_size, |weights| {
            let model = ChineseClipVisionTransformer::new(weights.pp("vision_model"), &settings)?;
            let projection = linear_no_bias(pixels, projection, weights.pp("visual_projection"))?;
            Ok(move |pixels: &Tensor| projection.forward(&model.forward(pixels)?.contiguous()?))
        })
    }
}
