//! CLIP's towers over packed matrices, for CPUs.

use anyhow::{Context, Result};
use rayon::prelude::*;
use rten_gemm::GemmExecutor;

use super::{
    AFTER_NORM, BEFORE_NORM, CLASS, Config, PATCHES, Pixels, TEXT, TEXT_NORM, TEXT_POSITIONS,
    TEXT_PROJECTION, TOKENS, VISION, VISION_POSITIONS, VISION_PROJECTION,
};
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::encoder::{Size, make_unit};
use crate::evidence::packed::{Dense, Kept, Norm, PackedEncoder, Published, executor, reader};

/// Rows that go through a tower together, at most: more do not fill the matrix products better, and push each other out of
/// the caches.
const ROWS: usize = 512;

pub(super) struct Towers {
    text: Text,
    vision: Vision,
}

struct Text {
    /// (vocabulary, hidden)
    tokens: Vec<f32>,
    /// (longest text, hidden)
    positions: Vec<f32>,
    hidden: usize,
    encoder: PackedEncoder,
    norm: Norm,
    projection: Dense,
}

struct Vision {
    patches: Dense,
    /// (1 + patches, hidden): the position vectors, the class vector added to the first.
    positions: Vec<f32>,
    hidden: usize,
    before: Norm,
    encoder: PackedEncoder,
    after: Norm,
    projection: Dense,
}

impl Towers {
    /// # Errors
    /// Tensors that cannot be read.
    pub(super) fn read(config: &Config, checkpoint: &mut Checkpoint) -> Result<Self> {
        let gemm = executor();
        let mut read = reader(checkpoint, &Published);
        let (text_size, vision_size): (Size, Size) = (config.text.size(), config.vision.size());
        let mut positions = read(VISION_POSITIONS)?;
        let class = read(CLASS)?;
        positions.iter_mut().zip(&class).for_each(|(p, c)| *p += c);
        let dimension = config.projection_dim;
        let patches = Dense::new(gemm, &read(PATCHES)?, vision_size.hidden, None)?;
        let projection = Dense::new(gemm, &read(VISION_PROJECTION)?, dimension, None)?;
        let vision = Vision {
            patches,
            positions,
            hidden: vision_size.hidden,
            before: Norm::read(&mut read, BEFORE_NORM, vision_size.epsilon)?,
            encoder: PackedEncoder::read(&vision_size, &VISION, &mut read)?,
            after: Norm::read(&mut read, AFTER_NORM, vision_size.epsilon)?,
            projection,
        };
        let projection = Dense::new(gemm, &read(TEXT_PROJECTION)?, dimension, None)?;
        let text = Text {
            tokens: read(TOKENS)?,
            positions: read(TEXT_POSITIONS)?,
            hidden: text_size.hidden,
            encoder: PackedEncoder::read(&text_size, &TEXT, &mut read)?,
            norm: Norm::read(&mut read, TEXT_NORM, text_size.epsilon)?,
            projection,
        };
        Ok(Towers { text, vision })
    }

    /// Vectors of images of `side` pixels a side, cut into squares of `patch`. Threads share the images evenly.
    pub(super) fn images(
        &self,
        images: &[Pixels],
        side: usize,
        patch: usize,
    ) -> Result<Vec<Vec<f32>>> {
        let length = 1 + (side / patch) * (side / patch);
        let share = images.len().div_ceil(rayon::current_num_threads());
        let together = share.min((ROWS / length).max(1));
        let vectors: Vec<Vec<Vec<f32>>> = images
            .par_chunks(together)
            .map(|images| self.vision.embed(images, side, patch))
            .collect::<Result<_>>()?;
        Ok(vectors.into_iter().flatten().collect())
    }

    /// Vectors of texts by their tokens; `ends`: the token whose row stands for each text.
    pub(super) fn texts(&self, ids: &[&[u32]], ends: &[usize]) -> Result<Vec<Vec<f32>>> {
        let longest = ids.iter().map(|ids| ids.len()).max().unwrap_or(1);
        let share = ids.len().div_ceil(rayon::current_num_threads());
        let together = share.clamp(1, (ROWS / longest.max(1)).max(1));
        let vectors: Vec<Vec<Vec<f32>>> = ids
            .par_chunks(together)
            .zip(ends.par_chunks(together))
            .map(|(ids, ends)| self.text.embed(ids, ends))
            .collect::<Result<_>>()?;
        Ok(vectors.into_iter().flatten().collect())
    }
}

impl Vision {
    fn embed(&self, images: &[Pixels], side: usize, patch: usize) -> Result<Vec<Vec<f32>>> {
        // What is left over at the right and the bottom of a side that is no multiple of the patch belongs to no patch.
        let grid = side / patch;
        let mut squares = Vec::with_capacity(images.len() * 3 * side * side);
        for image in images {
            for (down, across) in (0..grid).flat_map(|down| (0..grid).map(move |a| (down, a))) {
                for line in 0..3 * patch {
                    let (colour, y) = (line / patch, down * patch + line % patch);
                    let from = (colour * side + y) * side + across * patch;
                    squares.extend_from_slice(&image.values[from..from + patch]);
                }
            }
        }
        let hidden = self.hidden;
        let embedded = self.patches.forward(self.encoder.gemm(), &squares)?;
        let mut x = Vec::with_capacity(images.len() * self.positions.len());
        for patches in embedded.chunks(grid * grid * hidden) {
            let (class, positions) = self.positions.split_at(hidden);
            x.extend_from_slice(class);
            x.extend(patches.iter().zip(positions).map(|(x, p)| x + p));
        }
        self.before.forward(&mut x);
        let lengths = vec![1 + grid * grid; images.len()];
        let firsts = vec![0; images.len()];
        let mut class = self
            .encoder
            .forward(x, &lengths, Kept::One(&firsts), false)?;
        self.after.forward(&mut class);
        project(&self.projection, self.encoder.gemm(), &class)
    }
}

impl Text {
    fn embed(&self, ids: &[&[u32]], ends: &[usize]) -> Result<Vec<Vec<f32>>> {
        let row = |table: &[f32], at: usize| -> Result<Vec<f32>> {
            let from = at * self.hidden;
            let row = table.get(from..from + self.hidden);
            Ok(row.context("a token beyond the model's")?.to_vec())
        };
        let mut x = Vec::new();
        for ids in ids {
            for (place, &id) in ids.iter().enumerate() {
                let mut token = row(&self.tokens, id as usize)?;
                let position = row(&self.positions, place)?;
                token.iter_mut().zip(position).for_each(|(t, p)| *t += p);
                x.extend(token);
            }
        }
        let lengths: Vec<usize> = ids.iter().map(|ids| ids.len()).collect();
        let mut ends = self.encoder.forward(x, &lengths, Kept::One(ends), true)?;
        self.norm.forward(&mut ends);
        project(&self.projection, self.encoder.gemm(), &ends)
    }
}

fn project(projection: &Dense, gemm: &GemmExecutor, rows: &[f32]) -> Result<Vec<Vec<f32>>> {
    let mut vectors: Vec<Vec<f32>> = projection
        .forward(gemm, rows)?
        .chunks(projection.gives())
        .map(<[f32]>::to_vec)
        .collect();
    vectors.iter_mut().for_each(|vector| make_unit(vector));
    Ok(vectors)
}
