//! A trial of a model before it is installed: a few texts and pictures, of which riposte knows what their vectors must be like.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use image::{Rgb, RgbImage};
use riposte_nn::conv::Numeric;
use riposte_nn::transformer::Backend;

use crate::evidence::clip::Clip;
use crate::evidence::sentence::Sentences;
use crate::reading::cross::CrossEncoder;
use crate::weights::ModelRole;

/// Texts that mean different things.
const TEXTS: [&str; 4] = [
    "",
    "a photo of a cat on a sofa",
    "Nuclear power should be abolished, because nobody knows where to store its waste.",
    "School uniforms",
];

/// The side of the pictures, in pixels.
const SIDE: u32 = 64;

/// By how much the length of a vector may differ from 1.
const TOLERANCE: f32 = 1e-3;

/// Vectors with a larger cosine count as the same.
const SAME: f32 = 0.999_999;

/// Loads a model and computes something with it. Returns what it gives.
///
/// # Errors
/// It cannot be loaded, or what it computes makes no sense.
pub(super) fn run(role: ModelRole, dir: &Path) -> Result<String> {
    match role {
        ModelRole::Clip => {
            let clip = Clip::load(dir, Backend::Auto, Numeric::Float)?;
            let texts = clip.embed_texts(&TEXTS)?;
            check(&texts, "texts")?;
            let pixels: Vec<_> = pictures()
                .iter()
                .map(|picture| clip.preprocess(picture))
                .collect();
            let pictures = clip.embed_images(&pixels)?;
            check(&pictures, "pictures")?;
            let (of_text, of_picture) = (length(&texts), length(&pictures));
            ensure!(
                of_text == of_picture,
                "a text has a vector of {of_text} numbers, a picture one of {of_picture}"
            );
            Ok(format!(
                "vectors of {of_text} numbers for pictures and texts"
            ))
        }
        ModelRole::Sentence => {
            let vectors = Sentences::load(dir, Backend::Auto)?.embed(&TEXTS)?;
            check(&vectors, "texts")?;
            Ok(format!("vectors of {} numbers for texts", length(&vectors)))
        }
        ModelRole::Cross => {
            let [_, first, texts @ ..] = &TEXTS;
            let scores = CrossEncoder::load(dir, "", Backend::Auto)?.score(first, texts)?;
            ensure!(
                scores.windows(2).all(|two| two[0] != two[1]),
                "different texts have the same score: the weights are damaged, or not trained"
            );
            Ok("a score for a topic and a text".to_owned())
        }
        ModelRole::Ocr | ModelRole::Lexicon => {
            anyhow::bail!("a model of the role {role} cannot be added")
        }
    }
}

fn length(vectors: &[Vec<f32>]) -> usize {
    vectors.first().map_or(0, Vec::len)
}

/// Black, white, a gradient and stripes.
fn pictures() -> [RgbImage; 4] {
    let of =
        |pixel: fn(u32, u32) -> [u8; 3]| RgbImage::from_fn(SIDE, SIDE, |x, y| Rgb(pixel(x, y)));
    [
        of(|_, _| [0; 3]),
        of(|_, _| [255; 3]),
        of(|x, y| [x as u8 * 3, y as u8 * 3, 90]),
        of(|x, _| {
            if x / 8 % 2 == 0 {
                [220, 30, 30]
            } else {
                [20, 60, 200]
            }
        }),
    ]
}

/// Checks vectors of different inputs.
fn check(vectors: &[Vec<f32>], what: &str) -> Result<()> {
    for vector in vectors {
        ensure!(
            vector.iter().all(|number| number.is_finite()),
            "a vector of the {what} has numbers that are not finite: the weights are damaged"
        );
        let length = vector
            .iter()
            .map(|number| number * number)
            .sum::<f32>()
            .sqrt();
        ensure!(
            (length - 1.0).abs() < TOLERANCE,
            "a vector of the {what} has length {length}, not 1: the weights are damaged"
        );
    }
    for (n, one) in vectors.iter().enumerate() {
        for other in vectors.get(n + 1..).context("vectors")? {
            let cosine: f32 = one.iter().zip(other).map(|(a, b)| a * b).sum();
            ensure!(
                cosine < SAME,
                "different {what} have the same vector: the weights are damaged, or not trained"
            );
        }
    }
    Ok(())
}
