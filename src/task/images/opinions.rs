//! The scores of the candidates other than relevance: argumentativeness and stance.

use super::super::approach::{ArgumentRecipe, ImageApproach, Sentiment, StanceRecipe, StanceTexts};
use super::super::likeness::Likeness;
use super::embeddings::{KindVector, TopicVectors};
use super::texts::TextStances;
use crate::evidence::Part;
use crate::evidence::sentiment::Vader;
use crate::index::images::Image;
use crate::score::aramis::{self, AramisFeatures};
use crate::score::aramis_neural::{self, ArgumentInputs, ArgumentNetwork, StanceNetwork};
use crate::score::argument::{self, PictureFeatures};
use crate::score::stance::{self, Signal, StanceSignals};
use crate::score::text_stance::{self, Stances};
use crate::topic::question::Question;
use crate::topic::words::trimmed_words;
use crate::trec::{Explanation, NumberId, Stance};

/// The argumentativeness of each candidate; `None` if the approach does not estimate it.
pub(super) fn argument_scores(
    pool: &[(&Image, Explanation)],
    kinds: &[KindVector],
    texts: &[TextStances],
    recipe: ArgumentRecipe,
) -> Vec<Option<Explanation>> {
    match recipe {
        ArgumentRecipe::None => pool.iter().map(|_| None).collect(),
        ArgumentRecipe::Picture => pool
            .iter()
            .zip(texts)
            .map(|((image, _), texts)| {
                let features = picture_features(image, kinds, texts.side_of_picture());
                Some(argument::argues(&features))
            })
            .collect(),
        ArgumentRecipe::AramisNeural => {
            let network = ArgumentNetwork::committed();
            let explained = |(image, _): &(&Image, Explanation)| {
                let argues = network.argues(&ArgumentInputs::of(image));
                Explanation::new(NumberId::Argues, argues)
                    .named("argues by the network of Aramis")
                    .with_how("from the place and length of the text in the picture, its sentiment, colours and diagram")
            };
            pool.iter().map(|of| Some(explained(of))).collect()
        }
        ArgumentRecipe::Aramis { weights } => {
            let rows: Vec<[f64; 5]> = pool
                .iter()
                .map(|(image, _)| aramis::argument_terms(&AramisFeatures::of(image)))
                .collect();
            let name = "argues by the formula of Aramis";
            let means = aramis::weighted_means(name, aramis::ARGUMENT_TERMS, weights, &rows);
            means.into_iter().map(Some).collect()
        }
    }
}

fn picture_features(image: &Image, kinds: &[KindVector], side: Option<f64>) -> PictureFeatures {
    let (words, claim_words, numbers) = argument::count_words(&image.ocr_text);
    let largest_likeness = |is_argumentative: bool| {
        kinds
            .iter()
            .filter(|kind| kind.is_argumentative == is_argumentative)
            .filter_map(|kind| image.clip_likeness(&kind.vector))
            .reduce(f64::max)
    };
    PictureFeatures {
        words,
        claim_words,
        numbers,
        // an image that cannot be read counts as a photograph, which rarely argues
        photograph: image
            .picture
            .as_ref()
            .map_or(1.0, |p| f64::from(p.photograph)),
        side,
        clip_kinds: largest_likeness(true)
            .zip(largest_likeness(false))
            .map(|(argumentative, other)| argumentative - other),
    }
}

/// VADER's score of the query without its stop words, as Aramis computes it.
fn sentiment_of_query(question: &Question, approach: &ImageApproach) -> f64 {
    let stop_words = &approach.relevance.analyzer.stop;
    let words: Vec<String> = trimmed_words(&question.words)
        .map(str::to_lowercase)
        .filter(|word| !stop_words.contains(word))
        .collect();
    Vader::new().compound(&words.join(" "))
}

/// The scores of a candidate as PRO and as CON; `None` keeps it out of that list.
pub(super) struct StanceScores {
    pub pro: Option<Explanation>,
    pub con: Option<Explanation>,
}

/// The stance scores of each candidate.
pub(super) fn stance_scores(
    pool: &[(&Image, Explanation)],
    question: &Question,
    vectors: &TopicVectors,
    texts: &[TextStances],
    approach: &ImageApproach,
) -> Vec<StanceScores> {
    match approach.stance {
        StanceRecipe::Beliefs => pool
            .iter()
            .zip(texts)
            .map(|((image, _), texts)| {
                let beliefs = stance::beliefs(&stance_signals(image, vectors, texts));
                StanceScores {
                    pro: Some(beliefs.pro),
                    con: Some(beliefs.con),
                }
            })
            .collect(),
        StanceRecipe::Sign { signal } => pool
            .iter()
            .map(|(image, _)| {
                let (name, value) = match signal {
                    Sentiment::AfinnMain => {
                        ("sign of AFINN over the page", image.afinn_of(Part::Main))
                    }
                    Sentiment::VaderTitle => {
                        ("sign of VADER over the title", image.vader_of(Part::Title))
                    }
                    Sentiment::VaderMainAndOcr => (
                        "sign of VADER over the page and the text in the picture",
                        Some(image.vader_sum([Part::Main, Part::Ocr])),
                    ),
                };
                by_sign(name, value.unwrap_or(0.0))
            })
            .collect(),
        StanceRecipe::Aramis {
            weights,
            turn_below,
        } => {
            let turned = sentiment_of_query(question, approach) < turn_below;
            let rows: Vec<[f64; 3]> = pool
                .iter()
                .map(|(image, _)| aramis::stance_terms(&AramisFeatures::of(image), turned))
                .collect();
            let name = "formula of Aramis";
            let means = aramis::weighted_means(name, aramis::STANCE_TERMS, weights, &rows);
            means
                .into_iter()
                .map(|mean| by_sign("sign of the formula of Aramis", mean.value()))
                .collect()
        }
        StanceRecipe::AramisNeural => {
            let network = StanceNetwork::committed();
            let analyzer = &approach.relevance.analyzer;
            let query = aramis_neural::tokens(analyzer, &question.words);
            pool.iter()
                .map(|(image, _)| {
                    let inputs = aramis_neural::stance_inputs(image, &query, analyzer);
                    let [con, neutral, pro] = network.probabilities(&inputs);
                    let side = aramis_neural::side([con, neutral, pro]);
                    by_side(
                        "side by the network of Aramis",
                        f64::from(side),
                        format!("PRO {pro:.4}, CON {con:.4}, neutral {neutral:.4}"),
                    )
                })
                .collect()
        }
        StanceRecipe::Both => pool.iter().map(|_| on_both_sides()).collect(),
        StanceRecipe::Texts { of } => {
            let claims = texts.iter().map(|texts| Claimed::of(texts, of));
            claims.map(of_claimed).collect()
        }
        // this baseline lists images without choosing candidates
        StanceRecipe::Crawl => Vec::new(),
    }
}

/// PRO if the value is positive, CON if it is negative. Both scores are 0, so only relevance decides the order.
fn by_sign(name: &'static str, value: f64) -> StanceScores {
    by_side(name, value, format!("{value:.4}"))
}

/// As [`by_sign`]. `how` describes the value.
fn by_side(name: &'static str, value: f64, how: String) -> StanceScores {
    let score = |is_listed: bool| {
        let score = || Explanation::new(NumberId::Side, 0.0).named(name);
        is_listed.then(|| score().with_how(how.clone()))
    };
    StanceScores {
        pro: score(value > 0.0),
        con: score(value < 0.0),
    }
}

fn on_both_sides() -> StanceScores {
    let side = || Explanation::new(NumberId::BothSides, 0.0).with_how("no stance is estimated");
    StanceScores {
        pro: Some(side()),
        con: Some(side()),
    }
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
        let page = Claimed::likeliest(texts.around_stances);
        let picture = Claimed::likeliest(texts.picture_stances);
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

fn of_claimed(claimed: Claimed) -> StanceScores {
    let score = |stance: Stance| {
        (claimed.side == Some(stance)).then(|| {
            Explanation::new(NumberId::LikeliestStance, claimed.probability)
                .with_how(format!("the likeliest is {stance}"))
        })
    };
    StanceScores {
        pro: score(Stance::Pro),
        con: score(Stance::Con),
    }
}

fn stance_signals(image: &Image, vectors: &TopicVectors, texts: &TextStances) -> StanceSignals {
    let text_signal = |stance: &Option<Explanation>| {
        stance.as_ref().map(|stance| Signal {
            value: stance.value(),
            how: stance.how().to_owned(),
            // `how` contains P(neither), so the part is needed only if it has parts
            parts: stance
                .parts()
                .iter()
                .filter(|part| !part.is(&NumberId::Neither) || !part.parts().is_empty())
                .cloned()
                .collect(),
        })
    };
    let likeness_signal = |likeness: Option<Likeness>| {
        likeness.map(|l| Signal {
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
    let by_words = |part: Part| {
        let arguments = vectors.arguments.as_ref()?;
        likeness_signal(arguments.likeness(image.vectors_of(part)))
    };
    let by_picture = || {
        let arguments = vectors.clip_arguments.as_ref()?;
        likeness_signal(arguments.likeness(image.clip.as_deref().into_iter()))
    };
    StanceSignals {
        picture: text_signal(&texts.picture),
        both_sides: stance::both_sides(&texts.sections),
        around: text_signal(&texts.around),
        picture_likeness: by_words(Part::Ocr),
        around_likeness: by_words(Part::Near),
        clip_likeness: by_picture(),
        clip: vectors.clip.as_ref().and_then(|of_topic| {
            let [pro, con] = of_topic.sides.as_ref()?;
            let (pro, con) = (image.clip_likeness(pro)?, image.clip_likeness(con)?);
            Some(Signal {
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
