//! P(pro) and P(con) of an image towards a topic. They need not add up to 1, because an image can support both sides or none.
//!
//! Both have the same prior, so only what can be read decides the side. More images are PRO than CON, but that says nothing about one of them.
//!
//! The text in the picture has the largest weight, then the words around the picture, then the similarity to arguments of both sides and to
//! the prompts for CLIP. [`super::text_stance`] computes the stance of the texts towards the topic's claim; it takes into account whether
//! the claim is for or against its subject.
//!
//! A picture can contain opposite texts side by side. If one section of its text supports the claim and another one attacks it, P(pro) uses the
//! section that supports it most, and P(con) the section that attacks it most, instead of the complete text ([`both_sides`]).

use riposte_eval::explained::ExplainedImage;
use riposte_eval::{Explanation, Stance};

use super::image_weights::ImageWeights;
use super::{MARGIN, belief, side_taken};

/// The probability that an image supports the topic's claim (`PRO`) or opposes it (`CON`). The parameter is one of these words.
pub(crate) const PROBABILITY: &str = "probability";

/// The contribution of a signal to the stance of an image, in log-odds. The parameter names it.
pub(crate) const SIGNAL: &str = "signal";

/// An opinion on the stance: positive for PRO, negative for CON.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StanceOpinion {
    pub value: f64,
    /// How the value was computed, for the explanation.
    pub how: String,
    /// The terms of the value, for the explanation.
    pub parts: Vec<Explanation>,
}

/// The opinions on the stance of one image. One is `None` if the image or the run lacks its input.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StanceOpinions {
    /// P(pro) - P(con) of the text in the picture.
    pub picture: Option<StanceOpinion>,
    /// The opinions that replace `picture` for P(pro) and for P(con) if the picture argues for both sides.
    pub both_sides: Option<[StanceOpinion; 2]>,
    /// P(pro) - P(con) of the words around the picture.
    pub around: Option<StanceOpinion>,
    /// Similarity of the text in the picture to arguments for the claim minus its similarity to arguments against it.
    pub picture_likeness: Option<StanceOpinion>,
    /// The difference of similarities for the words around the picture.
    pub around_likeness: Option<StanceOpinion>,
    /// The difference of similarities for the picture, by CLIP.
    pub clip_likeness: Option<StanceOpinion>,
    /// Similarity of the picture, by CLIP, to the PRO prompts minus that to the CON prompts.
    pub clip: Option<StanceOpinion>,
}

/// P(pro) and P(con), each with its explanation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Beliefs {
    pub pro: Explanation,
    pub con: Explanation,
}

/// Maximum absolute contribution of one opinion, in log-odds, so that none decides alone.
const CONTRIBUTION: f64 = 2.5;

/// What an opinion is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StanceSource {
    /// The subject of a sentence about the image: "the text in it".
    pub words: &'static str,
    pub is_plural: bool,
}

impl StanceSource {
    const fn singular(words: &'static str) -> StanceSource {
        let is_plural = false;
        StanceSource { words, is_plural }
    }
}

/// How explanations describe an opinion: its name, what its value measures, and what it is read from.
type OpinionWords = (&'static str, &'static str, StanceSource);

const IN_PICTURE: StanceSource = StanceSource::singular("the text in it");
const AROUND: StanceSource = StanceSource {
    words: "the words around it",
    is_plural: true,
};
const SHOWN: StanceSource = StanceSource::singular("what it shows");
const TO_ARGUMENTS: &str = "likeness to arguments for it minus against it";

/// All opinions, in the order of explanations.
const OPINIONS: [OpinionWords; 6] = [
    (
        "text in the picture",
        "stance of the text in the picture",
        IN_PICTURE,
    ),
    (
        "words around the picture",
        "stance of the words around",
        AROUND,
    ),
    (
        "likeness of the text in the picture to arguments",
        TO_ARGUMENTS,
        IN_PICTURE,
    ),
    (
        "likeness of the words around to arguments",
        TO_ARGUMENTS,
        AROUND,
    ),
    ("likeness of the picture to arguments", TO_ARGUMENTS, SHOWN),
    (
        "CLIP's prompts",
        "likeness to prompts for it minus against it",
        SHOWN,
    ),
];

/// What the opinion with this name is read from; `None` if there is no such opinion.
pub(crate) fn source(name: &str) -> Option<StanceSource> {
    let opinion = OPINIONS.iter().find(|(known, ..)| *known == name);
    opinion.map(|(.., source)| *source)
}

/// P(pro) and P(con) from the prior and the weighted opinions.
pub(crate) fn beliefs(opinions: &StanceOpinions) -> Beliefs {
    let w = &ImageWeights::committed().stance;
    let evidence = |side: usize, sign: f64| {
        let picture = match &opinions.both_sides {
            Some(sides) => sides.get(side),
            None => opinions.picture.as_ref(),
        };
        let weighted = [
            (picture, w.picture),
            (opinions.around.as_ref(), w.around),
            (opinions.picture_likeness.as_ref(), w.picture_likeness),
            (opinions.around_likeness.as_ref(), w.around_likeness),
            (opinions.clip_likeness.as_ref(), w.clip_likeness),
            (opinions.clip.as_ref(), w.clip),
        ];
        let described = OPINIONS.into_iter().zip(weighted);
        described
            .filter_map(|(of, (opinion, weight))| Some(contribution(of, opinion?, sign * weight)))
            .collect()
    };
    let (pro, con) = (evidence(0, 1.0), evidence(1, -1.0));
    let of = |stance: Stance, evidence| belief((PROBABILITY, stance.word()), w.prior, evidence);
    Beliefs {
        pro: of(Stance::Pro, pro).named("P(pro)"),
        con: of(Stance::Con, con).named("P(con)"),
    }
}

/// The probability of this stance, if it was estimated.
pub(crate) fn probability(image: &ExplainedImage, stance: Stance) -> Option<f64> {
    let part = image.score(stance)?.part((PROBABILITY, stance.word()))?;
    Some(part.value())
}

/// The log-odds that an opinion adds.
fn contribution(
    (name, what, _): OpinionWords,
    opinion: &StanceOpinion,
    weight: f64,
) -> Explanation {
    let StanceOpinion { value, how, .. } = opinion;
    let how = format!("weight {weight:.3} × {what} {value:.4}: {how}");
    let value = (weight * value).clamp(-CONTRIBUTION, CONTRIBUTION);
    Explanation::new((SIGNAL, name), value)
        .with_how(how)
        .with_parts(opinion.parts.clone())
}

/// The side that an image takes, by its estimates; `None` within the margin. If the approach estimates no probabilities, it is the list that the
/// image is in.
pub(crate) fn decided(probability: impl Fn(Stance) -> Option<f64>, list: Stance) -> Option<Stance> {
    let [pro, con] = Stance::BOTH.map(probability);
    let balance = pro.zip(con).map(|(pro, con)| pro - con);
    balance.map_or(Some(list), side_taken)
}

/// The section that supports the claim most and the one that attacks it most, if there are both. `sections` has P(pro) - P(con) of each section.
/// The strongest sections are used instead of means, because a column of reasons is often followed by a caption without a stance.
pub(crate) fn both_sides(sections: &[StanceOpinion]) -> Option<[StanceOpinion; 2]> {
    let by_value = |a: &&StanceOpinion, b: &&StanceOpinion| a.value.total_cmp(&b.value);
    let supporting = sections.iter().max_by(by_value)?;
    let attacking = sections.iter().min_by(by_value)?;
    let takes_both = supporting.value >= MARGIN && attacking.value <= -MARGIN;
    takes_both.then(|| [supporting.clone(), attacking.clone()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(value: f64) -> StanceOpinion {
        StanceOpinion {
            value,
            ..StanceOpinion::default()
        }
    }

    #[test]
    fn a_picture_with_a_section_for_and_one_against_is_likely_both() {
        let sections = [0.1, 0.7, -0.6, 0.5].map(section);
        let sides = both_sides(&sections).unwrap();
        assert_eq!(sides, [section(0.7), section(-0.6)]);
        let none = beliefs(&StanceOpinions::default());
        let both = beliefs(&StanceOpinions {
            // the complete text seems to attack the claim
            picture: Some(section(-0.5)),
            both_sides: Some(sides),
            ..StanceOpinions::default()
        });
        assert!(both.pro.value() > none.pro.value() && both.con.value() > none.con.value());
        // if the sections agree or have little stance, the complete text decides
        for agreeing in [&[0.7, 0.5][..], &[0.7, -0.1], &[-0.9], &[]] {
            let sections: Vec<StanceOpinion> = agreeing.iter().copied().map(section).collect();
            assert_eq!(both_sides(&sections), None);
        }
    }

    #[test]
    fn both_sides_may_be_likely_and_nothing_known_is_the_prior() {
        let none = beliefs(&StanceOpinions::default());
        let weights = ImageWeights::committed().stance;
        assert!((none.pro.value() - weights.prior).abs() < 1e-12);
        assert_eq!(none.pro.value(), none.con.value());
        let against = beliefs(&StanceOpinions {
            picture: Some(StanceOpinion {
                value: -0.8,
                ..StanceOpinion::default()
            }),
            ..StanceOpinions::default()
        });
        assert!(against.pro.value() < none.pro.value());
        assert!(against.con.value() > none.con.value());
    }

    #[test]
    fn the_list_is_the_side_only_where_nothing_is_estimated() {
        let of = |pro: Option<f64>, con: Option<f64>| {
            let probability = |stance| if stance == Stance::Pro { pro } else { con };
            decided(probability, Stance::Con)
        };
        assert_eq!(of(Some(0.8), Some(0.2)), Some(Stance::Pro));
        assert_eq!(of(Some(0.5), Some(0.4)), None);
        assert_eq!(of(None, Some(0.4)), Some(Stance::Con));
    }

    #[test]
    fn what_the_picture_says_outweighs_what_stands_around_it() {
        let w = ImageWeights::committed().stance;
        assert!(w.picture > w.around && w.around > 0.0);
        assert!(w.picture_likeness >= w.around_likeness && w.around_likeness >= 0.0);
    }
}
