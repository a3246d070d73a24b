//! Image-text models of other families than CLIP: SigLIP and Chinese CLIP, computed by candle-transformers.
//!
//! candle-transformers trusts a configuration: it divides by its sizes and panics on names that it does not know, and it fills some missing tensors
//! with random numbers. So the files here check all settings and list all tensors before it sees any of them.

pub mod chinese_clip;
pub mod siglip;

use std::sync::Arc;

use candle_core::{Device, Result, Tensor};
use candle_nn::VarBuilder;
use rayon::prelude::*;
use riposte_nn::checkpoint::Checkpoint;
use riposte_nn::tokens::Encoding;
use riposte_nn::towers::{ImageTower, TextTower};
use riposte_nn::transformer::text::CheckpointConfig;
use riposte_nn::transformer::{Activation, EncoderConfig, NormOrder, check_size};
use riposte_nn::{Error, normalise};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::device;
use crate::weights::CheckpointTensors;

/// The pictures or texts that a GPU computes at once.
const GPU_BATCH: usize = 32;

/// The colours of a pixel.
const CHANNELS: usize = 3;

/// The sizes of a tower's layers in `config.json`. Missing ones have the same values in all families.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default)]
struct TowerSizes {
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
}

impl Default for TowerSizes {
    fn default() -> Self {
        TowerSizes {
            hidden_size: 768,
            intermediate_size: 3072,
            num_hidden_layers: 12,
            num_attention_heads: 12,
        }
    }
}

impl TowerSizes {
    /// What riposte-nn checks, and names the tensors of. The activation and the order of the norms are candle's.
    fn encoder(&self, epsilon: f64) -> EncoderConfig {
        EncoderConfig {
            hidden: self.hidden_size,
            heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            layers: self.num_hidden_layers,
            epsilon,
            activation: Activation::Gelu,
            norms: NormOrder::Before,
        }
    }
}

/// A side of a square, which some configurations give as two numbers.
fn square<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<usize, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let side = value.as_u64().and_then(|side| usize::try_from(side).ok());
    side.ok_or_else(|| {
        serde::de::Error::custom(format!(
            "image_size or patch_size is {value}: expected one number, because only squares are computed"
        ))
    })
}

/// Says in an error what was being done.
fn during<T>(doing: &str, result: riposte_nn::Result<T>) -> riposte_nn::Result<T> {
    result.map_err(|error| Error::While {
        doing: doing.to_owned(),
        error: Box::new(error),
    })
}

fn reading(file: &CheckpointConfig) -> String {
    format!("reading {}", file.path().display())
}

/// Refuses an encoder that no model has. `part` is its name in the configuration.
fn check_encoder(part: &str, config: &EncoderConfig) -> riposte_nn::Result<()> {
    during(part, config.check())?;
    if config.epsilon > 0.0 && config.epsilon < 1.0 {
        return Ok(());
    }
    Err(Error::Model(format!(
        "{part}: layer_norm_eps is {}: expected a number between 0 and 1",
        config.epsilon
    )))
}

/// Refuses a size that no model has.
fn check_sizes(part: &str, sizes: &[(&str, usize)]) -> riposte_nn::Result<()> {
    let check = |(name, value): &(&str, usize)| check_size(name, *value);
    during(part, sizes.iter().try_for_each(check))
}

/// Refuses pictures that are not divided into patches as the model expects.
fn check_picture(channels: usize, side: usize, patch: usize) -> riposte_nn::Result<()> {
    const PART: &str = "vision_config";
    check_sizes(PART, &[("image_size", side), ("patch_size", patch)])?;
    if channels != CHANNELS {
        return Err(Error::Model(format!(
            "{PART}: num_channels is {channels}: expected {CHANNELS}"
        )));
    }
    if patch > side {
        return Err(Error::Model(format!(
            "{PART}: patch_size {patch} is larger than image_size {side}"
        )));
    }
    Ok(())
}

/// A tower of pictures with this many rows of pixels. `make` reads the model that maps pixels (picture, colour, row, column) to vectors.
fn image_tower<M: Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static>(
    checkpoint: Arc<Checkpoint>,
    side: usize,
    make: impl FnOnce(VarBuilder) -> Result<M>,
) -> riposte_nn::Result<Box<dyn ImageTower>> {
    let device = device();
    let model = make(CheckpointTensors::all(checkpoint, &device)).map_err(Error::other)?;
    Ok(Box::new(Pictures {
        model,
        device,
        side,
    }))
}

struct Pictures<M> {
    model: M,
    device: Device,
    side: usize,
}

impl<M: Fn(&Tensor) -> Result<Tensor> + Send + Sync> ImageTower for Pictures<M> {
    fn embed(&self, images: &[&[f32]]) -> riposte_nn::Result<Vec<Vec<f32>>> {
        check_images(images, self.side)?;
        embed(&self.device, images, |images| {
            let shape = (images.len(), CHANNELS, self.side, self.side);
            (self.model)(&Tensor::from_vec(images.concat(), shape, &self.device)?)
        })
    }
}

/// A tower of texts with ids below `vocabulary` and at most `tokens` of them. `make` reads the model that maps the ids of texts to vectors.
fn text_tower<M: Fn(&[&[u32]], &Device) -> Result<Tensor> + Send + Sync + 'static>(
    checkpoint: Arc<Checkpoint>,
    vocabulary: usize,
    tokens: usize,
    make: impl FnOnce(VarBuilder) -> Result<M>,
) -> riposte_nn::Result<Box<dyn TextTower>> {
    let device = device();
    let model = make(CheckpointTensors::all(checkpoint, &device)).map_err(Error::other)?;
    Ok(Box::new(Texts {
        model,
        device,
        vocabulary,
        tokens,
    }))
}

struct Texts<M> {
    model: M,
    device: Device,
    vocabulary: usize,
    tokens: usize,
}

impl<M: Fn(&[&[u32]], &Device) -> Result<Tensor> + Send + Sync> TextTower for Texts<M> {
    fn embed(&self, texts: &[Encoding]) -> riposte_nn::Result<Vec<Vec<f32>>> {
        let ids = ids(texts, self.vocabulary, self.tokens)?;
        embed(&self.device, &ids, |texts| {
            (self.model)(texts, &self.device)
        })
    }
}

/// Vectors of unit length. `compute` maps inputs to rows, one for each. On a CPU, each input is computed by itself: so its vector does not depend on
/// the others, and the inputs are divided among the threads.
fn embed<I: Sync>(
    device: &Device,
    inputs: &[I],
    compute: impl Fn(&[I]) -> Result<Tensor> + Sync,
) -> riposte_nn::Result<Vec<Vec<f32>>> {
    let vectors = |inputs: &[I]| -> riposte_nn::Result<Vec<Vec<f32>>> {
        let rows = compute(inputs).and_then(|rows| rows.to_vec2::<f32>());
        let mut vectors = rows.map_err(Error::other)?;
        vectors.iter_mut().for_each(|vector| normalise(vector));
        Ok(vectors)
    };
    let batches: Vec<Vec<Vec<f32>>> = if device.is_cpu() {
        let batches = inputs.par_chunks(1).map(vectors);
        batches.collect::<riposte_nn::Result<_>>()?
    } else {
        let batches = inputs.chunks(GPU_BATCH).map(vectors);
        batches.collect::<riposte_nn::Result<_>>()?
    };
    Ok(batches.into_iter().flatten().collect())
}

/// Refuses pictures of another size than the model's.
fn check_images(images: &[&[f32]], side: usize) -> riposte_nn::Result<()> {
    let mut lengths = images.iter().map(|image| image.len());
    match lengths.find(|length| *length != CHANNELS * side * side) {
        None => Ok(()),
        Some(length) => Err(Error::Input(format!(
            "an image has {length} numbers: expected {CHANNELS} × {side} × {side}"
        ))),
    }
}

/// The ids of texts. A `tokenizer.json` can contain any ids, and a GPU does not check them.
fn ids(texts: &[Encoding], vocabulary: usize, positions: usize) -> riposte_nn::Result<Vec<&[u32]>> {
    let ids: Vec<&[u32]> = texts.iter().map(Encoding::get_ids).collect();
    for text in &ids {
        if !(1..=positions).contains(&text.len()) {
            return Err(Error::Input(format!(
                "the tokenizer gives {} tokens: expected 1 to {positions}",
                text.len()
            )));
        }
        if let Some(id) = text.iter().find(|id| **id as usize >= vocabulary) {
            return Err(Error::Input(format!(
                "the tokenizer gives token {id}: the model has {vocabulary}"
            )));
        }
    }
    Ok(ids)
}

/// Texts as a tensor (text, token), padded with `padding` to `length` tokens.
fn padded(texts: &[&[u32]], length: usize, padding: u32, device: &Device) -> Result<Tensor> {
    let mut ids = Vec::with_capacity(texts.len() * length);
    for (n, text) in texts.iter().enumerate() {
        ids.extend_from_slice(text);
        ids.resize((n + 1) * length, padding);
    }
    Tensor::from_vec(ids, (texts.len(), length), device)
}
