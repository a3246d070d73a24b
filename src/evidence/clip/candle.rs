//! CLIP's towers in candle: on a GPU, and what the packed ones are held to.

use anyhow::Result;
use candle_core::{Device, Tensor};
use candle_nn::{LayerNorm, Module};

use super::{
    AFTER_NORM, BEFORE_NORM, CLASS, Config, PATCHES, Pixels, TEXT, TEXT_NORM, TEXT_POSITIONS,
    TEXT_PROJECTION, TOKENS, VISION, VISION_POSITIONS, VISION_PROJECTION,
};
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::encoder::{Encoder, Run, Size, by_length, project_rows, read_norm, unit_rows};

pub(super) struct Towers {
    device: Device,
    text: Text,
    vision: Vision,
}

struct Text {
    /// (vocabulary, hidden)
    tokens: Tensor,
    /// (longest text, hidden)
    positions: Tensor,
    encoder: Encoder,
    norm: LayerNorm,
    /// (dimension, hidden)
    projection: Tensor,
}

struct Vision {
    /// (hidden, 3 × patch × patch)
    patches: Tensor,
    /// (1 + patches, hidden): the position vectors, the class vector added to the first.
    positions: Tensor,
    before: LayerNorm,
    encoder: Encoder,
    after: LayerNorm,
    /// (dimension, hidden)
    projection: Tensor,
}

impl Towers {
    pub(super) fn read(
        config: &Config,
        checkpoint: &mut Checkpoint,
        device: Device,
    ) -> Result<Self> {
        let mut read = |name| checkpoint.read(name, &device);

        let mut positions = read(VISION_POSITIONS)?;
        let class = read(CLASS)?.unsqueeze(0)?;
        let rest = positions.dim(0)? - 1;
        positions = Tensor::cat(
            &[
                (positions.narrow(0, 0, 1)? + class)?,
                positions.narrow(0, 1, rest)?,
            ],
            0,
        )?;
        let patches = read(PATCHES)?.flatten_from(1)?;
        let (tokens, text_positions) = (read(TOKENS)?, read(TEXT_POSITIONS)?);
        let (text_projection, vision_projection) =
            (read(TEXT_PROJECTION)?, read(VISION_PROJECTION)?);

        let (text_size, vision_size) = (config.text.size(), config.vision.size());
        let mut norm = |name, size: &Size| read_norm(checkpoint, name, size.epsilon, &device);
        let (before, after) = (
            norm(BEFORE_NORM, &vision_size)?,
            norm(AFTER_NORM, &vision_size)?,
        );
        let text_norm = norm(TEXT_NORM, &text_size)?;
        Ok(Towers {
            text: Text {
                tokens,
                positions: text_positions,
                encoder: Encoder::read(&text_size, &TEXT, checkpoint, &device)?,
                norm: text_norm,
                projection: text_projection,
            },
            vision: Vision {
                patches,
                positions,
                before,
                encoder: Encoder::read(&vision_size, &VISION, checkpoint, &device)?,
                after,
                projection: vision_projection,
            },
            device,
        })
    }

    /// Vectors of images of `side` pixels a side, cut into squares of `patch`.
    pub(super) fn images(
        &self,
        images: &[Pixels],
        side: usize,
        patch: usize,
    ) -> Result<Vec<Vec<f32>>> {
        let Vision {
            patches,
            positions,
            before,
            encoder,
            after,
            projection,
        } = &self.vision;
        let grid = side / patch;
        let values = images
            .iter()
            .flat_map(|image| image.values.iter().copied())
            .collect();
        // What is left over at the right and the bottom of a side that is no multiple of the patch belongs to no patch.
        let cut = grid * patch;
        let count = images.len();
        let squares = Tensor::from_vec(values, (count * 3, side, side), &self.device)?
            .narrow(1, 0, cut)?
            .narrow(2, 0, cut)?
            .reshape(&[count, 3, grid, patch, grid, patch])?
            .permute([0, 2, 4, 1, 3, 5])?
            .reshape((count * grid * grid, 3 * patch * patch))?;
        let hidden = positions.dim(1)?;
        let embedded = squares
            .matmul(&patches.t()?)?
            .reshape((count, grid * grid, hidden))?;
        let length = 1 + grid * grid;
        let x = embedded
            .pad_with_zeros(1, 1, 0)?
            .broadcast_add(positions)?
            .reshape((count * length, hidden))?;
        let x = encoder.forward(before.forward(&x)?, &[Run { count, length }], false)?;
        let class = x
            .reshape((count, length, hidden))?
            .narrow(1, 0, 1)?
            .squeeze(1)?
            .contiguous()?;
        unit_rows(&project_rows(&after.forward(&class)?, projection)?)
    }

    /// Vectors of texts by their tokens; `ends`: the token whose row stands for each text.
    pub(super) fn texts(&self, ids: &[&[u32]], ends: &[usize]) -> Result<Vec<Vec<f32>>> {
        let Text {
            tokens,
            positions,
            encoder,
            norm,
            projection,
        } = &self.text;
        let (order, runs) = by_length(&ids.iter().map(|ids| ids.len()).collect::<Vec<_>>());

        let (mut rows, mut places, mut pooled) = (Vec::new(), Vec::new(), Vec::new());
        for &n in &order {
            // Attention looks back only, so what would stand after the end of the text changes nothing: no padding.
            pooled.push((rows.len() + ends[n]) as u32);
            places.extend(0..ids[n].len() as u32);
            rows.extend_from_slice(ids[n]);
        }
        let select = |table: &Tensor, rows: Vec<u32>| {
            let rows = Tensor::new(rows, &self.device)?;
            table.index_select(&rows, 0)
        };
        let x = (select(tokens, rows)? + select(positions, places)?)?;
        let x = encoder.forward(x, &runs, true)?;
        let sorted = unit_rows(&project_rows(
            &norm.forward(&select(&x, pooled)?)?,
            projection,
        )?)?;
        let mut vectors = vec![Vec::new(); ids.len()];
        for (vector, n) in sorted.into_iter().zip(order) {
            vectors[n] = vector;
        }
        Ok(vectors)
    }
}
