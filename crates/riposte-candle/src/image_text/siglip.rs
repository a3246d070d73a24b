//! SigLIP (Zhai et al. 2023, <https://arxiv.org/abs/2303.15343>), and SigLIP 2 with pictures of one size (<https://arxiv.org/abs/2502.14786>).

use std::sync::Arc;

use candle_core::{Device, Module, Tensor};
use candle_transformers::models::siglip;
use riposte_nn::checkpoint::{Checkpoint, ExpectedTensor};
use riposte_nn::towers::{ImageTower, TextTower};
use riposte_nn::transformer::text::CheckpointConfig;
use riposte_nn::transformer::{LayerNames, clip, expected_affine, expected_tensors};
use riposte_nn::{Error, Result};
use serde::Deserialize;

use super::{
    CHANNELS, TowerSizes, check_encoder, check_picture, check_sizes, during, image_tower, padded,
    reading, square, text_tower,
};

const TEXT_LAYERS: LayerNames = clip::layer_names("text_model.encoder.layers");
const VISION_LAYERS: LayerNames = clip::layer_names("vision_model.encoder.layers");

/// `config.json`. Missing values are those of Hugging Face's SiglipConfig.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SiglipConfig {
    text_config: SiglipTextConfig,
    vision_config: SiglipVisionConfig,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
struct SiglipTextConfig {
    #[serde(flatten)]
    sizes: TowerSizes,
    vocab_size: usize,
    max_position_embeddings: usize,
    hidden_act: SiglipActivation,
    layer_norm_eps: f64,
    projection_size: Option<usize>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
struct SiglipVisionConfig {
    #[serde(flatten)]
    sizes: TowerSizes,
    num_channels: usize,
    #[serde(deserialize_with = "square")]
    image_size: usize,
    #[serde(deserialize_with = "square")]
    patch_size: usize,
    hidden_act: SiglipActivation,
    layer_norm_eps: f64,
    vision_use_head: bool,
}

/// The activations with which SigLIPs were trained.
#[derive(Clone, Copy, Debug, Deserialize)]
enum SiglipActivation {
    #[serde(rename = "gelu_pytorch_tanh", alias = "gelu_new")]
    Tanh,
    #[serde(rename = "gelu")]
    Erf,
}

impl SiglipActivation {
    fn candle(self) -> candle_nn::Activation {
        match self {
            SiglipActivation::Tanh => candle_nn::Activation::GeluPytorchTanh,
            SiglipActivation::Erf => candle_nn::Activation::Gelu,
        }
    }
}

impl Default for SiglipTextConfig {
    fn default() -> Self {
        SiglipTextConfig {
            sizes: TowerSizes::default(),
            vocab_size: 32000,
            max_position_embeddings: 64,
            hidden_act: SiglipActivation::Tanh,
            layer_norm_eps: 1e-6,
            projection_size: None,
        }
    }
}

impl Default for SiglipVisionConfig {
    fn default() -> Self {
        SiglipVisionConfig {
            sizes: TowerSizes::default(),
            num_channels: CHANNELS,
            image_size: 224,
            patch_size: 16,
            hidden_act: SiglipActivation::Tanh,
            layer_norm_eps: 1e-6,
            vision_use_head: true,
        }
    }
}

impl SiglipConfig {
    /// Reads and checks the settings of a SigLIP.
    ///
    /// # Errors
    /// A size is out of range, or a setting asks for something that is not computed here; the message names it.
    pub fn read(file: &CheckpointConfig) -> Result<Self> {
        let config: SiglipConfig = file.parse()?;
        during(&reading(file), config.check())?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        let (text, vision) = (&self.text_config, &self.vision_config);
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
            ],
        )?;
        check_picture(vision.num_channels, vision.image_size, vision.patch_size)?;
        if !vision.vision_use_head {
            return Err(Error::Model(
                "vision_config: vision_use_head is false: without its head the model has no vector of a picture"
                    .to_owned(),
            ));
        }
        let (of_text, of_pictures) = (text.sizes.hidden_size, vision.sizes.hidden_size);
        if let Some(size) = text.projection_size.filter(|size| *size != of_text) {
            return Err(Error::Model(format!(
                "text_config: projection_size is {size}, which is not computed here: expected hidden_size, {of_text}"
            )));
        }
        if of_text != of_pictures {
            return Err(Error::Model(format!(
                "hidden_size is {of_text} in text_config and {of_pictures} in vision_config: vectors of texts and pictures must have one length"
            )));
        }
        Ok(())
    }

    /// The height and the width of a picture.
    pub fn side(&self) -> usize {
        self.vision_config.image_size
    }

    /// The number of tokens in the vocabulary.
    pub fn vocabulary(&self) -> usize {
        self.text_config.vocab_size
    }

    /// The number of tokens to which each text is padded.
    pub fn tokens(&self) -> usize {
        self.text_config.max_position_embeddings
    }

    /// The tensors that the model needs, with their shapes.
    pub fn expected_tensors(&self) -> Vec<ExpectedTensor> {
        let (text, vision) = (&self.text_config, &self.vision_config);
        let (hidden, inner) = (vision.sizes.hidden_size, vision.sizes.intermediate_size);
        let (patch, grid) = (
            vision.patch_size,
            vision.image_size / vision.patch_size.max(1),
        );
        let mut all: Vec<ExpectedTensor> = [
            ("logit_scale", vec![1]),
            ("logit_bias", vec![1]),
            (
                "text_model.embeddings.token_embedding.weight",
                vec![text.vocab_size, hidden],
            ),
            (
                "text_model.embeddings.position_embedding.weight",
                vec![text.max_position_embeddings, hidden],
            ),
            (
                "vision_model.embeddings.position_embedding.weight",
                vec![grid * grid, hidden],
            ),
            ("vision_model.head.probe", vec![1, 1, hidden]),
            (
                "vision_model.head.attention.in_proj_weight",
                vec![3 * hidden, hidden],
            ),
            ("vision_model.head.attention.in_proj_bias", vec![3 * hidden]),
        ]
        .map(|(name, shape)| (name.to_owned(), shape))
        .into();
        for (name, shape) in [
            ("text_model.final_layer_norm", vec![hidden]),
            ("text_model.head", vec![hidden, hidden]),
            (
                "vision_model.embeddings.patch_embedding",
                vec![hidden, CHANNELS, patch, patch],
            ),
            ("vision_model.post_layernorm", vec![hidden]),
            ("vision_model.head.attention.out_proj", vec![hidden, hidden]),
            ("vision_model.head.layernorm", vec![hidden]),
            ("vision_model.head.mlp.fc1", vec![inner, hidden]),
            ("vision_model.head.mlp.fc2", vec![hidden, inner]),
        ] {
            all.extend(expected_affine(name, shape));
        }
        let (of_text, of_vision) = (text.layer_norm_eps, vision.layer_norm_eps);
        all.extend(expected_tensors(&text.sizes.encoder(of_text), &TEXT_LAYERS));
        all.extend(expected_tensors(
            &vision.sizes.encoder(of_vision),
            &VISION_LAYERS,
        ));
        all
    }

    /// Reads the tower of texts, which are padded with the token `padding`.
    ///
    /// # Errors
    /// The checkpoint cannot be read, or the device fails.
    pub fn text_tower(
        &self,
        checkpoint: Arc<Checkpoint>,
        padding: u32,
    ) -> Result<Box<dyn TextTower>> {
        let text = &self.text_config;
        let settings = siglip::TextConfig {
            vocab_size: text.vocab_size,
            hidden_size: text.sizes.hidden_size,
            intermediate_size: text.sizes.intermediate_size,
            num_hidden_layers: text.sizes.num_hidden_layers,
            num_attention_heads: text.sizes.num_attention_heads,
            max_position_embeddings: text.max_position_embeddings,
            hidden_act: text.hidden_act.candle(),
            layer_norm_eps: text.layer_norm_eps,
            // these ids are not used: `padded` pads texts
            pad_token_id: padding,
            bos_token_id: 0,
            eos_token_id: 0,
        };
        let tokens = text.max_position_embeddings;
        text_tower(checkpoint, text.vocab_size, tokens, |weights| {
            let model = siglip::TextModel::new(&settings, weights.pp("text_model"))?;
            // the last row represents a text, and the model was trained without a mask, so each text is padded to the end
            Ok(move |texts: &[&[u32]], device: &Device| {
                model.forward(&padded(texts, tokens, padding, device)?)
            })
        })
    }

    /// Reads the tower of pictures.
    ///
    /// # Errors
    /// The checkpoint cannot be read, or the device fails.
    pub fn image_tower(&self, checkpoint: Arc<Checkpoint>) -> Result<Box<dyn ImageTower>> {
        let vision = &self.vision_config;
        let settings = siglip::VisionConfig {
            hidden_size: vision.sizes.hidden_size,
            intermediate_size: vision.sizes.intermediate_size,
            num_hidden_layers: vision.sizes.num_hidden_layers,
            num_attention_heads: vision.sizes.num_attention_heads,
            num_channels: CHANNELS,
            image_size: vision.image_size,
            patch_size: vision.patch_size,
            hidden_act: vision.hidden_act.candle(),
            layer_norm_eps: vision.layer_norm_eps,
        };
        image_tower(checkpoint, vision.image_size, |weights| {
            let model = siglip::VisionModel::new(&settings, true, weights.pp("vision_model"))?;
            Ok(move |pixels: &Tensor| model.forward(pixels))
        })
    }
}
