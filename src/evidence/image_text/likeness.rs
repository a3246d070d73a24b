//! How likely it is that a text describes a picture, from the cosine of their vectors.

use anyhow::{Result, ensure};
use riposte_nn::checkpoint::Checkpoint;

/// What a model was trained to make of a cosine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ImageTextLikeness {
    /// The softmax over several texts or pictures of scale × cosine (CLIP). A cosine alone says nothing: only those of one model can be compared.
    Softmax {
        /// The factor of a cosine.
        scale: f32,
    },
    /// The sigmoid of scale × cosine + bias (SigLIP): the probability that a pair belongs together.
    Sigmoid {
        /// The factor of a cosine.
        scale: f32,
        /// What is added; negative, because most pairs do not belong together.
        bias: f32,
    },
}

/// The scale of checkpoints without one. It is that of all models that OpenAI has published.
const CLIP_SCALE: f32 = 100.0;

impl Default for ImageTextLikeness {
    /// That of CLIP.
    fn default() -> Self {
        ImageTextLikeness::Softmax { scale: CLIP_SCALE }
    }
}

impl ImageTextLikeness {
    /// Reads the scale and, if the model has one, the bias.
    ///
    /// # Errors
    /// They cannot be read, or they contradict what a cosine is.
    pub(super) fn read(checkpoint: &Checkpoint, has_bias: bool) -> Result<ImageTextLikeness> {
        let scale = match checkpoint.number("logit_scale")? {
            // the logarithm is stored
            Some(scale) => f64::from(scale).exp() as f32,
            None => CLIP_SCALE,
        };
        let path = checkpoint.path().display();
        ensure!(
            scale.is_finite() && scale > 0.0,
            "{path}: logit_scale is the logarithm of {scale}: expected that of a positive number"
        );
        if !has_bias {
            return Ok(ImageTextLikeness::Softmax { scale });
        }
        let bias = checkpoint.number("logit_bias")?.unwrap_or(f32::NAN);
        ensure!(
            bias.is_finite() && bias < 0.0,
            "{path}: logit_bias is {bias}: expected a negative number, because most pairs do not belong together"
        );
        Ok(ImageTextLikeness::Sigmoid { scale, bias })
    }

    /// A cosine as a value in \[0, 1\], which is averaged with those of other signals.
    ///
    /// CLIP's cosines between images and texts are between about 0.15 (unrelated) and 0.35.
    ///
    /// The sigmoid itself would not do for a ranking. It is below 0.001 for nearly all pictures, because a topic is no caption: all would count as 0
    /// beside the other signals, and the order of the best ones would count for nothing. So its logit is scaled: 0 where the cosine is 0, which is
    /// what the model was trained to give unrelated pairs; 1/2 where the probability is; and 1 at twice that cosine. For the published models this is
    /// a range of 0.22, nearly as wide as CLIP's, so recipes weight both alike.
    pub fn to_unit(self, cosine: f64) -> f64 {
        let value = match self {
            ImageTextLikeness::Softmax { .. } => (cosine - 0.15) / 0.2,
            ImageTextLikeness::Sigmoid { scale, bias } => {
                let logit = f64::from(scale) * cosine + f64::from(bias);
                0.5 - logit / (2.0 * f64::from(bias))
            }
        };
        value.clamp(0.0, 1.0)
    }

    /// As it is stored: the scale, and the bias if there is one.
    pub(crate) fn numbers(self) -> Vec<f32> {
        match self {
            ImageTextLikeness::Softmax { scale } => vec![scale],
            ImageTextLikeness::Sigmoid { scale, bias } => vec![scale, bias],
        }
    }

    /// The reverse of [`ImageTextLikeness::numbers`]; `None` if the numbers are those of no model.
    pub(crate) fn of_numbers(numbers: &[f32]) -> Option<ImageTextLikeness> {
        match *numbers {
            [scale] => Some(ImageTextLikeness::Softmax { scale }),
            [scale, bias] if bias < 0.0 => Some(ImageTextLikeness::Sigmoid { scale, bias }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That of google/siglip-base-patch16-224, rounded.
    const SIGLIP: ImageTextLikeness = ImageTextLikeness::Sigmoid {
        scale: 117.3,
        bias: -12.9,
    };

    #[test]
    fn the_value_of_a_sigmoid_is_a_half_where_the_probability_is_and_saturates_nowhere_near() {
        let even = 12.9 / 117.3;
        assert!((SIGLIP.to_unit(even) - 0.5).abs() < 1e-6);
        assert_eq!((SIGLIP.to_unit(0.0), SIGLIP.to_unit(-0.1)), (0.0, 0.0));
        assert_eq!(SIGLIP.to_unit(2.1 * even), 1.0);
        // cosines of a topic with pictures that more or less show it, which all have a probability below 0.02
        let values = [0.02, 0.04, 0.06, 0.07].map(|cosine| SIGLIP.to_unit(cosine));
        assert!(values.is_sorted() && values[0] > 0.05 && values[3] - values[0] > 0.2);
    }

    #[test]
    fn the_value_of_a_softmax_is_that_of_clip_whatever_its_scale() {
        for scale in [1.0, 100.0] {
            let likeness = ImageTextLikeness::Softmax { scale };
            for (cosine, value) in [(0.1, 0.0), (0.15, 0.0), (0.25, 0.5), (0.4, 1.0)] {
                assert!((likeness.to_unit(cosine) - value).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn numbers_are_stored_and_read() {
        for likeness in [SIGLIP, ImageTextLikeness::default()] {
            assert_eq!(
                ImageTextLikeness::of_numbers(&likeness.numbers()),
                Some(likeness)
            );
        }
        assert_eq!(ImageTextLikeness::of_numbers(&[]), None);
        assert_eq!(ImageTextLikeness::of_numbers(&[1.0, 2.0]), None);
    }
}
