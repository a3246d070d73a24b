//! What is thought of the candidates: whether they argue, and for which side.

use anyhow::Result;

use super::super::approach::{ArgumentRecipe, Sentiment, StanceRecipe};
use super::super::likeness::Likeness;
use super::embeddings::TopicVectors;
use crate::evidence::Part;
use crate::index::images::Image;
use crate::reading::Reader;
use crate::reading::pair::Logits;
use crate::reading::pieces::beginning;
use crate::score::argument::{self, AramisFeatures, PictureFeatures};
use crate::score::stance::{self, Signal, StanceSignals};
use crate::score::text_stance;
use crate::topic::question::{Polarity, Question};
use crate::topic::words::alphanumeric_words;
use crate::trec::Explanation;

pub(super) fn argues(
    pool: &[(&Image, Explanation)],
    kinds: &[(bool, Vec<f32>)],
    said: &[TextsSay],
    recipe: ArgumentRecipe,
) -> Vec<Option<Explanation>> {
    match recipe {
        ArgumentRecipe::None => pool.iter().map(|_| None).collect(),
        ArgumentRecipe::Picture => pool
            .iter()
            .zip(said)
            .map(|((image, _), said)| {
                Some(argument::argues(&picture_features(
                    image,
                    kinds,
                    said.picture_side(),
                )))
            })
            .collect(),
        ArgumentRecipe::Aramis => {
            let rows: Vec<[f64; 4]> = pool
                .iter()
                .map(|(image, _)| argument::aramis_argument(&aramis_features(image)))
                .collect();
            argument::mean_of_normalised(&rows)
                .into_iter()
                .map(|value| Some(Explanation::leaf("argues by the formula of Aramis", value)))
                .collect()
        }
    }
}

fn picture_features(
    image: &Image,
    kinds: &[(bool, Vec<f32>)],
    side: Option<f64>,
) -> PictureFeatures {
    let (words, claim_words, numbers) = argument::count_words(&image.ocr_text);
    let likest = |argues: bool| {
        kinds
            .iter()
            .filter(|(a, _)| *a == argues)
            .filter_map(|(_, vector)| image.clip_likeness(vector))
            .reduce(f64::max)
    };
    PictureFeatures {
        words,
        claim_words,
        numbers,
        // without a readable image there is nothing that could argue
        photograph: image
            .picture
            .as_ref()
            .map_or(1.0, |p| f64::from(p.photograph)),
        side,
        clip_kinds: likest(true).zip(likest(false)).map(|(a, b)| a - b),
    }
}

fn aramis_features(image: &Image) -> AramisFeatures {
    let sentiment = |part| image.vader_of(part).unwrap_or(0.0);
    let mut features = AramisFeatures {
        words: image.ocr_text.split_whitespace().count(),
        ocr_sentiment: sentiment(Part::Ocr),
        page_sentiment: sentiment(Part::Main),
        ..AramisFeatures::default()
    };
    if let Some(p) = &image.picture {
        features.area = f64::from(p.text_fraction);
        features.graphic = p.photograph < 0.5;
        features.red = f64::from(p.red);
        features.green = f64::from(p.green);
        features.bright = f64::from(p.bright);
        features.dark = f64::from(p.dark);
    }
    features
}

type BothWorths = (Option<Explanation>, Option<Explanation>);

pub(super) fn sides(
    pool: &[(&Image, Explanation)],
    question: &Question,
    vectors: &TopicVectors,
    said: &[TextsSay],
    recipe: StanceRecipe,
) -> Vec<BothWorths> {
    match recipe {
        StanceRecipe::Beliefs => pool
            .iter()
            .zip(said)
            .map(|((image, _), said)| {
                let beliefs = stance::beliefs(&stance_signals(image, vectors, said));
                (Some(beliefs.pro), Some(beliefs.con))
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
                };
                by_sign(name, value.unwrap_or(0.0))
            })
            .collect(),
        StanceRecipe::Aramis => {
            let negative = question.polarity == Polarity::Against;
            let rows: Vec<[f64; 3]> = pool
                .iter()
                .map(|(image, _)| argument::aramis_stance(&aramis_features(image), negative))
                .collect();
            argument::mean_of_normalised(&rows)
                .into_iter()
                .map(|value| by_sign("sign of the formula of Aramis", value))
                .collect()
        }
        // the crawl's lists are made without candidates
        StanceRecipe::Crawl => Vec::new(),
    }
}

/// PRO above 0, CON below; the side itself is worth nothing more.
fn by_sign(name: &str, value: f64) -> BothWorths {
    let side = |wanted: bool| {
        wanted.then(|| Explanation {
            name: name.to_owned(),
            value: 0.0,
            how: format!("{value:.4}"),
            parts: Vec::new(),
        })
    };
    (side(value > 0.0), side(value < 0.0))
}

/// What the texts of an image say of the topic's claim: the one in the picture, and the words around it.
#[derive(Clone, Debug, Default)]
pub(super) struct TextsSay {
    picture: Option<Explanation>,
    /// P(pro) + P(con) of the text in the picture.
    picture_side: f64,
    around: Option<Explanation>,
}

impl TextsSay {
    /// Probability that the text in the picture takes a side; none without text.
    fn picture_side(&self) -> Option<f64> {
        self.picture.as_ref().map(|_| self.picture_side)
    }
}

/// The texts of the candidates, two each, and what the pair encoder made of each of them with the topic's claim.
pub(super) struct TextsRead {
    texts: Vec<String>,
    logits: Option<Vec<Vec<Logits>>>,
}

impl TextsRead {
    /// Errors: the store or the encoder fails.
    pub fn of(
        pool: &[(&Image, Explanation)],
        question: &Question,
        reader: &mut Reader,
    ) -> Result<Self> {
        let texts: Vec<String> = pool
            .iter()
            .flat_map(|(image, _)| [&image.ocr_text, &image.near_text])
            .map(|text| beginning(text).to_owned())
            .collect();
        let claim = question.claim.as_str();
        let asked: Vec<(&str, &str)> = texts.iter().map(|text| (claim, text.as_str())).collect();
        let logits = reader.piece_logits(&asked)?;
        Ok(TextsRead { texts, logits })
    }

    /// What they say of the topic's claim, one a candidate.
    pub fn say(&self, question: &Question) -> Vec<TextsSay> {
        let claim = question.claim.as_str();
        let model = text_stance::Model::committed();
        let of = |at: usize, name: &str| {
            let text = self.texts.get(at).filter(|text| says_something(text))?;
            let logits: Option<&[Logits]> = self
                .logits
                .as_ref()
                .and_then(|all| all.get(at))
                .map(Vec::as_slice);
            Some(model.stances_with_explanation(name, claim, text, logits))
        };
        (0..self.texts.len() / 2)
            .map(|n| {
                let picture = of(2 * n, "stance of the text in the picture");
                TextsSay {
                    picture_side: picture.as_ref().map_or(0.0, |(s, _)| s.pro + s.con),
                    picture: picture.map(|(_, opened)| opened),
                    around: of(2 * n + 1, "stance of the words around").map(|(_, opened)| opened),
                }
            })
            .collect()
    }
}

/// Marks and single letters are no text.
fn says_something(text: &str) -> bool {
    alphanumeric_words(text).any(|word| word.chars().count() > 1)
}

fn stance_signals(image: &Image, vectors: &TopicVectors, said: &TextsSay) -> StanceSignals {
    let text = |said: &Option<Explanation>| {
        said.as_ref().map(|opened| Signal {
            value: opened.value,
            how: opened.how.clone(),
            // how says it already, unless there is more to open
            parts: opened
                .parts
                .iter()
                .filter(|part| part.name != "neither" || !part.parts.is_empty())
                .cloned()
                .collect(),
        })
    };
    let like = |likeness: Option<Likeness>| {
        likeness.map(|l| Signal {
            value: l.difference(),
            how: format!(
                "{:.3} to arguments for it, {:.3} to those against, nearest {} of {} \"{}\"",
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
        let sides = vectors.sides.as_ref()?;
        like(sides.likeness(image.vectors_of(part)))
    };
    StanceSignals {
        picture: text(&said.picture),
        around: text(&said.around),
        picture_likeness: by_words(Part::Ocr),
        around_likeness: by_words(Part::Near),
        clip_likeness: vectors
            .clip_sides
            .as_ref()
            .and_then(|sides| like(sides.likeness(image.clip.as_deref().into_iter()))),
        clip: vectors.clip.as_ref().and_then(|[_, pro, con]| {
            let (pro, con) = (image.clip_likeness(pro)?, image.clip_likeness(con)?);
            Some(Signal {
                value: pro - con,
                how: "likeness to the prompts for it minus those against".into(),
                parts: Vec::new(),
            })
        }),
    }
}
