//! P(pro) and P(con) of an image towards a topic: each for itself, since an image may be both.
//!
//! What the picture itself says weighs most, then the words around it, then its likeness to what people argued for either side,
//! and CLIP's prompts. What a text says is read by [`super::text_stance`], which knows on which side of its subject the topic's
//! claim stands. The few weights were set by hand and then moved as far as labelled pictures ask for it
//! (`train images`, in models/train).

use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::argument::ArgumentWeights;
use super::belief;
use crate::trec::Explanation;

/// The learned weights of images.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImageWeights {
    pub argument: ArgumentWeights,
    pub stance: StanceWeights,
}

/// What speaks for PRO and against CON, in log-odds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StanceWeights {
    /// Share of PRO and of CON among the on-topic judgements of 2022 (49 and 16 of 67 in a hundred).
    pub prior_pro: f64,
    pub prior_con: f64,
    /// On P(pro) - P(con) of the text in the picture, and of the words around it.
    pub picture: f64,
    pub around: f64,
    /// On the difference of the likenesses to arguments of both sides: text in the picture, words around it.
    pub picture_likeness: f64,
    pub around_likeness: f64,
    /// On differences of CLIP's cosines, which are of the order of 0.02; set by hand, since no CLIP weights were at hand.
    pub clip_likeness: f64,
    pub clip: f64,
}

static COMMITTED: LazyLock<ImageWeights> = LazyLock::new(|| {
    // part of the program, not input: the tests below read it
    ImageWeights::parse(include_str!("../../models/own/images.toml"))
        .expect("models/own/images.toml holds weights")
});

impl ImageWeights {
    /// The weights that come with the program.
    pub fn committed() -> &'static ImageWeights {
        &COMMITTED
    }

    /// Reads a weight file.
    ///
    /// # Errors
    /// No TOML, weights that are missing or unknown, priors that are no probabilities.
    pub fn parse(text: &str) -> Result<ImageWeights> {
        let weights: ImageWeights = toml::from_str(text).context("reading weights of images")?;
        let StanceWeights {
            prior_pro,
            prior_con,
            ..
        } = weights.stance;
        for prior in [weights.argument.prior, prior_pro, prior_con] {
            ensure!(prior > 0.0 && prior < 1.0, "a prior lies between 0 and 1");
        }
        Ok(weights)
    }
}

/// A signal and where it comes from: positive speaks for PRO, negative for CON.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Signal {
    pub value: f64,
    /// What made it.
    pub how: String,
    pub parts: Vec<Explanation>,
}

/// What speaks for PRO (positive) and CON (negative) in one image. What is none is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StanceSignals {
    /// P(pro) - P(con) of the text in the picture.
    pub picture: Option<Signal>,
    /// The same of the words around it.
    pub around: Option<Signal>,
    /// Likeness to arguments for the claim minus likeness to those against it: text in the picture.
    pub picture_likeness: Option<Signal>,
    /// The same of the words around it.
    pub around_likeness: Option<Signal>,
    /// The same of the picture by CLIP.
    pub clip_likeness: Option<Signal>,
    /// Likeness by CLIP to the PRO prompts minus likeness to the CON prompts.
    pub clip: Option<Signal>,
}

/// P(pro) and P(con), opened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Beliefs {
    pub pro: Explanation,
    pub con: Explanation,
}

/// No signal alone moves a belief further than this, in log-odds.
const FARTHEST: f64 = 2.5;

/// Weighs the signals.
pub(crate) fn beliefs(signals: &StanceSignals) -> Beliefs {
    let w = &ImageWeights::committed().stance;
    let weighed = [
        ("text in the picture", &signals.picture, w.picture),
        ("words around the picture", &signals.around, w.around),
        (
            "likeness of the text in the picture to arguments",
            &signals.picture_likeness,
            w.picture_likeness,
        ),
        (
            "likeness of the words around to arguments",
            &signals.around_likeness,
            w.around_likeness,
        ),
        (
            "likeness of the picture to arguments",
            &signals.clip_likeness,
            w.clip_likeness,
        ),
        ("CLIP's prompts", &signals.clip, w.clip),
    ];
    let evidence = |sign: f64| {
        weighed
            .iter()
            .filter_map(|(name, signal, weight)| {
                let signal = signal.as_ref()?;
                let weight = sign * weight;
                Some(Explanation {
                    name: (*name).into(),
                    value: (weight * signal.value).clamp(-FARTHEST, FARTHEST),
                    how: format!("{weight} × {:.4}: {}", signal.value, signal.how),
                    parts: signal.parts.clone(),
                })
            })
            .collect::<Vec<_>>()
    };
    Beliefs {
        pro: belief("P(pro)", w.prior_pro, evidence(1.0)),
        con: belief("P(con)", w.prior_con, evidence(-1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_may_be_likely_and_nothing_known_is_the_prior() {
        let none = beliefs(&StanceSignals::default());
        assert!((none.pro.value - 0.73).abs() < 1e-12);
        assert!((none.con.value - 0.24).abs() < 1e-12);
        let against = beliefs(&StanceSignals {
            picture: Some(Signal {
                value: -0.8,
                ..Signal::default()
            }),
            ..StanceSignals::default()
        });
        assert!(against.pro.value < none.pro.value);
        assert!(against.con.value > none.con.value);
    }

    #[test]
    fn a_signal_in_the_picture_counts_more_than_the_same_signal_around_it() {
        let signal = |value: f64| {
            Some(Signal {
                value,
                ..Signal::default()
            })
        };
        let none = StanceSignals::default;
        let prior = beliefs(&none());
        // small enough that no signal reaches its bound
        for value in [0.2, -0.2] {
            let [picture, around, picture_likeness, around_likeness] = [
                StanceSignals {
                    picture: signal(value),
                    ..none()
                },
                StanceSignals {
                    around: signal(value),
                    ..none()
                },
                StanceSignals {
                    picture_likeness: signal(value),
                    ..none()
                },
                StanceSignals {
                    around_likeness: signal(value),
                    ..none()
                },
            ]
            .map(|signals| {
                let beliefs = beliefs(&signals);
                // what speaks for PRO speaks against CON
                assert_eq!(beliefs.pro.value > prior.pro.value, value > 0.0);
                assert_eq!(beliefs.con.value < prior.con.value, value > 0.0);
                (beliefs.pro.value - prior.pro.value) * value.signum()
            });
            assert!(picture > around && around > 0.0);
            assert!(picture_likeness > around_likeness && around_likeness > 0.0);
        }
    }
}
