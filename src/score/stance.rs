//! P(pro) and P(con) of an image towards a topic. They need not add up to 1, because an image may support both sides or none.
//!
//! The text in the picture has the largest weight, then the words around the picture, then the similarity to arguments of both sides and to
//! the prompts for CLIP. [`super::text_stance`] computes the stance of the texts towards the topic's claim; it takes into account whether
//! the claim is for or against its subject.

use super::belief;
use super::image_weights::ImageWeights;
use crate::trec::Explanation;

/// A signal of the stance: positive for PRO, negative for CON.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Signal {
    pub value: f64,
    /// How the value was computed, for the explanation.
    pub how: String,
    /// The terms of the value, for the explanation.
    pub parts: Vec<Explanation>,
}

/// The signals of the stance of one image. A signal is none if the image, or the run, lacks what it is computed from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StanceSignals {
    /// P(pro) - P(con) of the text in the picture.
    pub picture: Option<Signal>,
    /// P(pro) - P(con) of the words around the picture.
    pub around: Option<Signal>,
    /// Similarity of the text in the picture to arguments for the claim, minus its similarity to arguments against it.
    pub picture_likeness: Option<Signal>,
    /// The same for the words around the picture.
    pub around_likeness: Option<Signal>,
    /// The same for the picture, by CLIP.
    pub clip_likeness: Option<Signal>,
    /// Similarity of the picture, by CLIP, to the PRO prompts minus that to the CON prompts.
    pub clip: Option<Signal>,
}

/// P(pro) and P(con), each with its explanation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Beliefs {
    pub pro: Explanation,
    pub con: Explanation,
}

/// Maximum size of one signal's contribution, in log-odds, so that no signal decides alone.
const MAX_CONTRIBUTION: f64 = 2.5;

/// P(pro) and P(con) from the priors and the weighted signals.
pub(crate) fn beliefs(signals: &StanceSignals) -> Beliefs {
    let w = &ImageWeights::committed().stance;
    let weighted = [
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
        weighted
            .iter()
            .filter_map(|(name, signal, weight)| {
                let signal = signal.as_ref()?;
                let weight = sign * weight;
                Some(Explanation {
                    name: (*name).into(),
                    value: (weight * signal.value).clamp(-MAX_CONTRIBUTION, MAX_CONTRIBUTION),
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
    fn what_the_picture_says_outweighs_what_stands_around_it() {
        let w = ImageWeights::committed().stance;
        assert!(w.picture > w.around && w.around > 0.0);
        assert!(w.picture_likeness >= w.around_likeness && w.around_likeness >= 0.0);
    }
}
