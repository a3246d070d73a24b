//! The learned weights of images: whether they argue ([`super::argument`]) and for which side ([`super::stance`]).
//!
//! They were set by hand and then fitted to labelled pictures, with a penalty for changing the values set by hand (`train images`). The weights
//! of CLIP were only set by hand, because no CLIP model was available.

use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The learned weights of images, in the layout of the weight file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImageWeights {
    pub argument: ArgumentWeights,
    pub stance: StanceWeights,
}

/// Weights of the features of an argument, in log-odds for a feature at its full strength.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArgumentWeights {
    /// P(argues) of a picture without any evidence, in (0, 1).
    pub prior: f64,
    pub words: f64,
    pub claim_words: f64,
    pub numbers: f64,
    pub graphic: f64,
    pub side: f64,
    /// Weight of a difference of CLIP's cosines, set by hand.
    pub clip: f64,
}

/// Weights of the opinions on a stance, in log-odds for PRO and against CON.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StanceWeights {
    /// P(pro) and P(con) without any opinion, in (0, 1): the mean of the shares of PRO and of CON among the judgements of 2022 that are on topic.
    /// With a prior for each, an image of which nothing can be read would be PRO, and many that attack the claim, too.
    pub prior: f64,
    /// Weight of P(pro) - P(con) of the text in the picture.
    pub picture: f64,
    /// Weight of P(pro) - P(con) of the words around the picture.
    pub around: f64,
    /// Weight of the difference between the similarities of the text in the picture to arguments of both sides.
    pub picture_likeness: f64,
    /// Weight of this difference for the words around the picture.
    pub around_likeness: f64,
    /// Weight of this difference for the picture, by CLIP; set by hand. Differences of CLIP's cosines are of the order of 0.02.
    pub clip_likeness: f64,
    /// Weight of the difference between CLIP's similarities to the prompts of both sides; set by hand.
    pub clip: f64,
}

static COMMITTED: LazyLock<ImageWeights> = LazyLock::new(|| {
    // The file is compiled in; the tests of `super::stance` read it.
    ImageWeights::parse(include_str!("../../models/own/images.toml"))
        .expect("models/own/images.toml contains weights of images")
});

impl ImageWeights {
    /// The weights that are compiled into the program.
    pub fn committed() -> &'static ImageWeights {
        &COMMITTED
    }

    /// Reads a weight file.
    ///
    /// # Errors
    /// The text is not TOML, a weight is missing or unknown, or a prior is not strictly between 0 and 1.
    pub fn parse(text: &str) -> Result<ImageWeights> {
        let weights: ImageWeights =
            toml::from_str(text).context("reading the weights of images")?;
        for prior in [weights.argument.prior, weights.stance.prior] {
            ensure!(
                prior > 0.0 && prior < 1.0,
                "a prior must be between 0 and 1, not {prior}"
            );
        }
        Ok(weights)
    }
}
