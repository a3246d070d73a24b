//! The scores of the candidates besides relevance: whether they are argumentative, and their stance.

use anyhow::Result;

use super::super::approach::{ArgumentRecipe, ImageApproach, Sentiment, StanceRecipe, StanceTexts};
use super::super::likeness::Likeness;
use super::embeddings::{KindVector, TopicVectors};
use crate::evidence::Part;
use crate::evidence::sentiment::Vader;
use crate::index::images::Image;
use crate::reading::Reader;
use crate::reading::pair::{Logits, PairReading};
use crate::reading::pieces::beginning;
use crate::reading::sections::{Heading, Sections};
use crate::score::aramis::{self, AramisFeatures};
use crate::score::aramis_neural::{self, ArgumentInputs, ArgumentNetwork, StanceNetwork};
use crate::score::argument::{self, PictureFeatures};
use crate::score::logistic;
use crate::score::stance::{self, Signal, StanceSignals};
use crate::score::text_stance::{self, Stances};
use crate::topic::question::{self, Question};
use crate::topic::words::{alphanumeric_words, trimmed_words};
use crate::trec::{Explanation, Stance};

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
                Explanation {
                name: "argues by the network of Aramis".to_owned(),
                value: network.argues(&ArgumentInputs::of(image)),
                how: "from the place and length of the text in the picture, its sentiment, colours and diagram".to_owned(),
                parts: Vec::new(),
            }
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

/// VADER's score of the words of the query that are no stop words, as Aramis computes it.
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
                .map(|mean| by_sign("sign of the formula of Aramis", mean.value))
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
            let claims = texts.iter().map(|texts| texts.claimed(of));
            claims.map(of_claimed).collect()
        }
        // this baseline lists images without choosing candidates
        StanceRecipe::Crawl => Vec::new(),
    }
}

/// PRO if the value is positive, CON if it is negative. The score of either is 0, so that relevance alone decides the order.
fn by_sign(name: &str, value: f64) -> StanceScores {
    by_side(name, value, format!("{value:.4}"))
}

/// As [`by_sign`], with another text about the value.
fn by_side(name: &str, value: f64, how: String) -> StanceScores {
    let score = |is_listed: bool| {
        is_listed.then(|| Explanation {
            name: name.to_owned(),
            value: 0.0,
            how: how.clone(),
            parts: Vec::new(),
        })
    };
    StanceScores {
        pro: score(value > 0.0),
        con: score(value < 0.0),
    }
}

fn on_both_sides() -> StanceScores {
    let side = || Explanation {
        name: "on both sides".to_owned(),
        value: 0.0,
        how: "no stance is estimated".to_owned(),
        parts: Vec::new(),
    };
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
    const NEITHER: Claimed = Claimed {
        side: None,
        probability: 1.0,
    };

    /// Of equal probabilities CON is first, then PRO.
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

    /// Of two texts together, as in the program of Jean-Luc Picard.
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
        (claimed.side == Some(stance)).then(|| Explanation {
            name: "stance of the texts".to_owned(),
            value: claimed.probability,
            how: format!("the likeliest is {stance}"),
            parts: Vec::new(),
        })
    };
    StanceScores {
        pro: score(Stance::Pro),
        con: score(Stance::Con),
    }
}

/// The stances of an image's texts towards the topic's claim; `None` where there is no text. The value of an explanation is
/// P(pro) - P(con).
#[derive(Clone, Debug, Default)]
pub(super) struct TextStances {
    /// Of the text in the picture.
    picture: Option<Explanation>,
    /// The probabilities of the text in the picture.
    picture_stances: Option<Stances>,
    /// Of the words around the picture.
    around: Option<Explanation>,
    /// The probabilities of these words.
    around_stances: Option<Stances>,
    /// Of the sections of the text in the picture, if there are several or they have headings.
    sections: Vec<Signal>,
}

impl TextStances {
    /// The probability that the text in the picture takes a side; `None` without text. A text whose sections are for both sides takes one
    /// in each, however it reads as a whole.
    fn side_of_picture(&self) -> Option<f64> {
        let whole = self.picture_stances.map(|s| s.pro + s.con)?;
        let sections = stance::both_sides(&self.sections);
        let surest = sections.into_iter().flatten().map(|s| s.value.abs());
        Some(surest.fold(whole, f64::max))
    }

    /// The stance that the texts take.
    fn claimed(&self, of: StanceTexts) -> Claimed {
        let page = Claimed::likeliest(self.around_stances);
        let picture = Claimed::likeliest(self.picture_stances);
        match of {
            StanceTexts::Page => page,
            StanceTexts::Picture => picture,
            StanceTexts::Both => page.together(picture),
        }
    }
}

fn stances_of(readings: &[PairReading]) -> Vec<Logits> {
    readings.iter().map(|reading| reading.stance).collect()
}

/// The probability that a text is about the topic, by its first piece, which is its beginning.
fn on_topic(readings: &[PairReading]) -> f64 {
    readings
        .first()
        .map_or(0.0, |whole| logistic(f64::from(whole.relevance)))
}

/// The texts of the candidates for a topic, and the pair encoder's logits of each with the topic's claim.
pub(super) struct PoolTexts {
    /// For each candidate the text in the picture, then the words around it.
    texts: Vec<String>,
    /// For each text the logits of its pieces; `None` without an encoder.
    logits: Option<Vec<Vec<Logits>>>,
    /// For each text the probability, by the encoder, that it is about the topic; 0 without words. `None` without an encoder.
    on_topic: Option<Vec<f64>>,
    /// For each candidate the sections of the text in the picture.
    sections: Vec<Sections>,
    /// For each section of each candidate the logits of its pieces; `None` without an encoder.
    section_logits: Option<Vec<Vec<Logits>>>,
}

impl PoolTexts {
    /// # Errors
    /// The store of model outputs or the encoder fails.
    pub fn read(
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
        let pairs: Vec<(&str, &str)> = texts.iter().map(|text| (claim, text.as_str())).collect();
        let readings = reader.piece_readings(&pairs)?;
        let logits = readings
            .as_ref()
            .map(|all| all.iter().map(|of_text| stances_of(of_text)).collect());
        let on_topic = readings.map(|all| {
            let with_text = texts.iter().zip(&all);
            with_text
                .map(|(text, of_text)| {
                    if has_words(text) {
                        on_topic(of_text)
                    } else {
                        0.0
                    }
                })
                .collect()
        });
        let sections: Vec<Sections> = pool
            .iter()
            .map(|(image, _)| Sections::of(image.ocr_lines.as_deref().unwrap_or_default()))
            .collect();
        let all = sections.iter().flat_map(|of_image| &of_image.sections);
        let pairs: Vec<(&str, &str)> = all.map(|s| (claim, beginning(&s.text))).collect();
        // asked separately: a store of an earlier build may have the outputs for whole texts alone
        let section_logits = reader.piece_logits(&pairs)?;
        Ok(PoolTexts {
            texts,
            logits,
            on_topic,
            sections,
            section_logits,
        })
    }

    /// The relevance of candidate number `at`, together with the probability that one of its texts is about the topic; as it is without
    /// an encoder.
    pub fn relevance(&self, at: usize, relevance: Explanation, weight: f64) -> Explanation {
        let of_image = self
            .on_topic
            .as_ref()
            .and_then(|all| all.get(2 * at..2 * at + 2));
        let Some(&[picture, around]) = of_image.filter(|_| weight > 0.0) else {
            return relevance;
        };
        let read = picture.max(around);
        Explanation {
            name: relevance.name.clone(),
            value: (relevance.value + weight * read) / (1.0 + weight),
            how: format!(
                "({:.4} + {weight} × {read:.4}) / (1 + {weight})",
                relevance.value
            ),
            parts: vec![
                relevance,
                Explanation {
                    name: "on topic, as the pair encoder reads the texts".to_owned(),
                    value: read,
                    how: format!(
                        "the largest of the text in the picture {picture:.4} and the words around {around:.4}"
                    ),
                    parts: Vec::new(),
                },
            ],
        }
    }

    /// The stances of each candidate's texts.
    pub fn stances(&self, question: &Question) -> Vec<TextStances> {
        let claim = question.claim.as_str();
        let model = text_stance::Model::committed();
        let stance = |at: usize, name: &str| {
            let text = self.texts.get(at).filter(|text| has_words(text))?;
            let logits: Option<&[Logits]> = self
                .logits
                .as_ref()
                .and_then(|all| all.get(at))
                .map(Vec::as_slice);
            Some(model.stances_with_explanation(name, claim, text, logits))
        };
        let mut sections = self.section_signals(question).into_iter();
        (0..self.texts.len() / 2)
            .map(|at| {
                let picture = stance(2 * at, "stance of the text in the picture");
                let around = stance(2 * at + 1, "stance of the words around");
                TextStances {
                    picture_stances: picture.as_ref().map(|(stances, _)| *stances),
                    around_stances: around.as_ref().map(|(stances, _)| *stances),
                    picture: picture.map(|(_, explanation)| explanation),
                    around: around.map(|(_, explanation)| explanation),
                    sections: sections.next().unwrap_or_default(),
                }
            })
            .collect()
    }

    /// For each candidate P(pro) - P(con) of each section of the text in its picture. Where the encoder has read whole texts but not the
    /// sections, only those with headings count.
    fn section_signals(&self, question: &Question) -> Vec<Vec<Signal>> {
        let claim = question.claim.as_str();
        let model = text_stance::Model::committed();
        let mut logits = self.section_logits.iter().flatten();
        let is_unread = self.section_logits.is_none() && self.logits.is_some();
        let mut signals = Vec::new();
        for Sections { title, sections } in &self.sections {
            let mut of_image = Vec::new();
            for section in sections {
                let logits = logits.next().map(Vec::as_slice);
                if let Some(heading) = &section.heading {
                    of_image.push(headed(heading, title, question, &section.text));
                } else if !is_unread {
                    let name = "stance of the section";
                    let text = beginning(&section.text);
                    let (stances, read) = model.stances_with_explanation(name, claim, text, logits);
                    of_image.push(Signal {
                        value: stances.balance(),
                        how: format!("section \"{}\": {}", text_stance::shown(text), read.how),
                        parts: read.parts,
                    });
                }
            }
            signals.push(of_image);
        }
        signals
    }
}

/// P(pro) - P(con) of a section below a heading that names its side. People who head a list take that side in it, whatever the words of a
/// single reason suggest to a model.
const HEADED: f64 = 0.8;

/// The stance of a section by its heading. "Cons" speaks against the subject that the title or the heading names: of "zoos", or of "should
/// zoos be closed?". If that subject and the topic's claim have opposite polarities, it speaks for the claim.
fn headed(heading: &Heading, title: &str, question: &Question, text: &str) -> Signal {
    let subject = question::polarity(&format!("{title} {}", heading.text));
    let is_turned = subject != question.polarity;
    let supports = heading.supports != is_turned;
    let side = if heading.supports { "for" } else { "against" };
    let turned = if is_turned {
        ", of which the claim is the opposite"
    } else {
        ""
    };
    Signal {
        value: if supports { HEADED } else { -HEADED },
        how: format!(
            "section \"{}\" headed \"{}\", {side} its subject{turned}",
            text_stance::shown(text),
            text_stance::shown(&heading.text)
        ),
        parts: Vec::new(),
    }
}

/// Whether a text has a word of at least two letters or digits. OCR often reads marks and single letters where there is no text.
fn has_words(text: &str) -> bool {
    alphanumeric_words(text).any(|word| word.chars().count() > 1)
}

fn stance_signals(image: &Image, vectors: &TopicVectors, texts: &TextStances) -> StanceSignals {
    let text_signal = |stance: &Option<Explanation>| {
        stance.as_ref().map(|stance| Signal {
            value: stance.value,
            how: stance.how.clone(),
            // `how` contains P(neither), so the part is needed only if it has parts
            parts: stance
                .parts
                .iter()
                .filter(|part| part.name != "neither" || !part.parts.is_empty())
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
        clip: vectors.clip.as_ref().and_then(|[_, pro, con]| {
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
    fn relevance_and_the_surer_of_two_texts_are_averaged() {
        let texts = PoolTexts {
            texts: vec![String::new(); 4],
            logits: None,
            on_topic: Some(vec![0.2, 0.8, 0.0, 0.0]),
            sections: Vec::new(),
            section_logits: None,
        };
        let relevance = |at, weight| {
            let found = Explanation {
                name: "relevance".into(),
                value: 0.5,
                how: String::new(),
                parts: Vec::new(),
            };
            texts.relevance(at, found, weight)
        };
        // (.5 + .5 × .8) / 1.5
        assert!((relevance(0, 0.5).value - 0.6).abs() < 1e-12);
        // without text, (.5 + .5 × 0) / 1.5
        assert!((relevance(1, 0.5).value - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(relevance(0, 0.0).value, 0.5);
        let unread = PoolTexts {
            on_topic: None,
            ..texts
        };
        let found = unread.relevance(0, on_both_sides().pro.unwrap(), 0.5);
        assert_eq!(found.name, "on both sides");
        assert_eq!(found.value, 0.0);
        // by the first piece
        let of = |relevance| PairReading {
            stance: [0.0; 3],
            quality: 0.0,
            relevance,
        };
        assert_eq!(on_topic(&[of(0.0), of(2.0)]), 0.5);
        assert_eq!(on_topic(&[]), 0.0);
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
