//! The scores of the candidates other than relevance: argumentativeness and stance.

use riposte_eval::{Explanation, Stance};

use super::embeddings::{KindVector, TopicVectors};
use super::systems;
use super::texts::TextStances;
use crate::evidence::clip::Slot;
use crate::evidence::picture::PictureStatistics;
use crate::evidence::{Evidence, SentenceVector, TextPart};
use crate::index::images::ImageEvidence;
use crate::recipes::image_approach::{
    ArgumentRecipe, ImageApproach, Sentiment, StanceRecipe, StanceTexts,
};
use crate::score::argument::{self, PictureFeatures};
use crate::score::side::Sides;
use crate::score::stance::{self, StanceOpinion, StanceOpinions};
use crate::score::text_stance::{self, NO_SIDE, Stances};
use crate::texts::likeness::SideLikeness;
use crate::topic::question::Question;

/// The probability of the likeliest stance of an image's texts.
pub(crate) const LIKELIEST_STANCE: &str = "likeliest-stance";

/// The argumentativeness of each candidate; `None` if the approach does not estimate it.
pub(super) fn argument_scores(
    pool: &[(&ImageEvidence, Explanation)],
    kinds: &[KindVector],
    texts: &[TextStances],
    recipe: ArgumentRecipe,
) -> Vec<Option<Explanation>> {
    if let Some(model) = systems::argument_model(recipe) {
        let argues = model.argues(&images_of(pool));
        return argues.into_iter().map(Some).collect();
    }
    let argues = |((image, _), texts): (&(&ImageEvidence, _), &TextStances)| {
        let features = || picture_features(image, kinds, texts.side_of_picture());
        (recipe == ArgumentRecipe::Picture).then(|| argument::argues(&features()))
    };
    pool.iter().zip(texts).map(argues).collect()
}

fn images_of<'a>(pool: &[(&'a ImageEvidence, Explanation)]) -> Vec<&'a ImageEvidence> {
    pool.iter().map(|(image, _)| *image).collect()
}

fn picture_features(
    image: &ImageEvidence,
    kinds: &[KindVector],
    side: Option<f64>,
) -> PictureFeatures {
    let (words, claim_words, numbers) = argument::count_words(&image.ocr_text);
    let largest_likeness = |is_argumentative: bool| {
        kinds
            .iter()
            .filter(|kind| kind.is_argumentative == is_argumentative)
            .filter_map(|kind| image.clip_likeness(&kind.vector))
            .reduce(f64::max)
    };
    let picture = image.evidence.get::<PictureStatistics>();
    PictureFeatures {
        words,
        claim_words,
        numbers,
        // an image that cannot be read counts as a photograph, which rarely argues
        photograph: picture.map_or(1.0, |p| f64::from(p.photograph)),
        side,
        clip_kinds: largest_likeness(true)
            .zip(largest_likeness(false))
            .map(|(argumentative, other)| argumentative - other),
    }
}

/// The stance scores of each candidate.
pub(super) fn stance_scores(
    pool: &[(&ImageEvidence, Explanation)],
    question: &Question,
    vectors: &TopicVectors,
    texts: &[TextStances],
    approach: &ImageApproach,
) -> Vec<Sides> {
    if let Some(model) = systems::side_model(approach.stance) {
        let analyzer = &approach.relevance.analyzer;
        return model.sides(&images_of(pool), &question.words, analyzer);
    }
    match approach.stance {
        StanceRecipe::Beliefs => pool
            .iter()
            .zip(texts)
            .map(|((image, _), texts)| {
                let beliefs = stance::beliefs(&stance_opinions(image, vectors, texts));
                Sides {
                    pro: Some(beliefs.pro),
                    con: Some(beliefs.con),
                }
            })
            .collect(),
        StanceRecipe::Sign { signal } => pool
            .iter()
            .map(|(image, _)| sentiment_of(&image.evidence, signal))
            .map(|(name, value)| Sides::by_sign(name, value))
            .collect(),
        StanceRecipe::Both => pool.iter().map(|_| Sides::both()).collect(),
        StanceRecipe::Texts { of } => (texts.iter())
            .map(|texts| of_claimed(Claimed::of(texts, of)))
            .collect(),
        // the baseline "crawl" lists images without scoring candidates, and `side_model` has handled the others
        _ => Vec::new(),
    }
}

/// The sentiment of an image, whose sign puts it on a side, and what reports call that. It is 0 without a text.
pub(super) fn sentiment_of(evidence: &Evidence, which: Sentiment) -> (&'static str, f64) {
    let (name, value) = match which {
        Sentiment::AfinnMain => (
            "sign of AFINN over the page",
            evidence.afinn_of(TextPart::Main),
        ),
        Sentiment::VaderTitle => (
            "sign of VADER over the title",
            evidence.vader_of(TextPart::Title),
        ),
        Sentiment::VaderMainAndOcr => (
            "sign of VADER over the page and the text in the picture",
            Some(evidence.vader_sum([TextPart::Main, TextPart::Ocr])),
        ),
    };
    (name, value.unwrap_or(0.0))
}

/// The likeliest stance of a text, and its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Claimed {
    /// `None` for neither.
    pub side: Option<Stance>,
    pub probability: f64,
}

impl Claimed {
    /// The stance that an image's texts take.
    fn of(texts: &TextStances, which: StanceTexts) -> Claimed {
        let likeliest =
            |read: &Option<(Stances, _)>| Claimed::likeliest(read.as_ref().map(|r| r.0));
        let (page, picture) = (likeliest(&texts.around), likeliest(&texts.picture));
        match which {
            StanceTexts::Page => page,
            StanceTexts::Picture => picture,
            StanceTexts::Both => page.together(picture),
        }
    }

    const NEITHER: Claimed = Claimed {
        side: None,
        probability: 1.0,
    };

    /// The likeliest stance. If probabilities are equal, CON is preferred to PRO, and PRO to neither.
    fn likeliest(stances: Option<Stances>) -> Self {
        let Some(Stances { pro, con, neither }) = stances else {
            return Claimed::NEITHER;
        };
        let (side, probability) = if con >= pro && con >= neither {
            (Some(Stance::Con), con)
        } else if pro >= neither {
            (Some(Stance::Pro), pro)
        } else {
            (None, neither)
        };
        Claimed { side, probability }
    }

    /// The stance of two texts together, computed as in the program of the team Jean-Luc Picard.
    pub fn together(self, other: Claimed) -> Self {
        match (self.side, other.side) {
            (Some(a), Some(b)) if a == b => Claimed {
                side: self.side,
                probability: (self.probability + other.probability) / 2.0,
            },
            (Some(_), None) => Claimed {
                side: self.side,
                probability: self.probability / 2.0 + (1.0 - other.probability) / 4.0,
            },
            (None, Some(_)) => other.together(self),
            _ => Claimed::NEITHER,
        }
    }
}

fn of_claimed(claimed: Claimed) -> Sides {
    let score = |stance: Stance| {
        (claimed.side == Some(stance)).then(|| {
            Explanation::new(LIKELIEST_STANCE, claimed.probability)
                .named("stance of the texts")
                .with_how(format!("the likeliest is {stance}"))
        })
    };
    Sides {
        pro: score(Stance::Pro),
        con: score(Stance::Con),
    }
}

fn stance_opinions(
    image: &ImageEvidence,
    vectors: &TopicVectors,
    texts: &TextStances,
) -> StanceOpinions {
    let text_opinion = |read: &Option<(Stances, Explanation)>| {
        read.as_ref().map(|(_, stance)| StanceOpinion {
            value: stance.value(),
            how: stance.how().to_owned(),
            // `how` contains P(neither), so the part is needed only if it has parts
            parts: stance
                .parts()
                .iter()
                .filter(|part| !part.is(NO_SIDE) || !part.parts().is_empty())
                .cloned()
                .collect(),
        })
    };
    let likeness_opinion = |likeness: Option<SideLikeness>| {
        likeness.map(|l| StanceOpinion {
            value: l.difference(),
            how: format!(
                "{:.3} to arguments for the claim, {:.3} to arguments against it, nearest {} of {} \"{}\"",
                l.pro,
                l.con,
                l.nearest.side,
                l.nearest.argument,
                text_stance::shown(&l.nearest.text),
            ),
            parts: Vec::new(),
        })
    };
    let by_words = |part: TextPart| {
        let arguments = vectors.arguments.as_ref()?;
        let vectors = image.evidence.of_part(part);
        let vectors = vectors.map(|SentenceVector(vector)| vector.as_slice());
        likeness_opinion(arguments.likeness(vectors))
    };
    let by_picture = || {
        let arguments = vectors.clip_arguments.as_ref()?;
        let vector = image.evidence.image_vector(Slot::First);
        likeness_opinion(arguments.likeness(vector.into_iter()))
    };
    StanceOpinions {
        picture: text_opinion(&texts.picture),
        both_sides: stance::both_sides(&texts.sections),
        around: text_opinion(&texts.around),
        picture_likeness: by_words(TextPart::Ocr),
        around_likeness: by_words(TextPart::Near),
        clip_likeness: by_picture(),
        clip: vectors.prompts[0].as_ref().and_then(|of_topic| {
            let [pro, con] = of_topic.sides.as_ref()?;
            let (pro, con) = (image.clip_likeness(pro)?, image.clip_likeness(con)?);
            Some(StanceOpinion {
                value: pro - con,
                how: "likeness to the prompts for the claim minus likeness to those against it"
                    .into(),
                parts: Vec::new(),
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(side: Option<Stance>, probability: f64) -> Claimed {
        Claimed { side, probability }
    }

    #[test]
    fn the_likeliest_of_three_stances_is_taken() {
        for ((pro, con, neither), expected) in [
            ((0.5, 0.2, 0.3), claimed(Some(Stance::Pro), 0.5)),
            ((0.2, 0.5, 0.3), claimed(Some(Stance::Con), 0.5)),
            ((0.3, 0.2, 0.5), claimed(None, 0.5)),
        ] {
            let stances = Some(Stances { pro, con, neither });
            assert_eq!(Claimed::likeliest(stances), expected);
        }
        assert_eq!(Claimed::likeliest(None), claimed(None, 1.0));
    }

    #[test]
    fn two_texts_decide_together() {
        let (pro, con) = (Some(Stance::Pro), Some(Stance::Con));
        for (page, picture, expected) in [
            (claimed(pro, 0.75), claimed(pro, 0.5), claimed(pro, 0.625)),
            // .75 / 2 + (1 - .5) / 4
            (claimed(con, 0.75), claimed(None, 0.5), claimed(con, 0.5)),
            (claimed(None, 0.5), claimed(con, 0.75), claimed(con, 0.5)),
            // a picture without text
            (claimed(pro, 0.75), claimed(None, 1.0), claimed(pro, 0.375)),
            (claimed(pro, 0.9), claimed(con, 0.6), claimed(None, 1.0)),
            (claimed(None, 0.9), claimed(None, 0.6), claimed(None, 1.0)),
        ] {
            assert_eq!(page.together(picture), expected);
        }
    }
}
