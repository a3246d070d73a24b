//! The texts of the candidates for a topic, as the stance encoder reads them: the clauses of the texts in pictures, their sections, and those of the
//! words around the pictures.

use anyhow::Result;
use rayon::prelude::*;
use riposte_claims::polarity;
use riposte_claims::words::alphanumeric_words;
use riposte_eval::Explanation;

use crate::evidence::ocr_text;
use crate::index::images::ImageEvidence;
use crate::reading::Reader;
use crate::reading::clauses::clauses;
use crate::reading::clauses::picture::of_picture;
use crate::reading::pieces::beginning;
use crate::reading::sections::{Heading, Sections};
use crate::reading::stance_encoder::{Logits, StanceReading};
use crate::score::logistic;
use crate::score::stance::{self, StanceOpinion};
use crate::score::text_stance::{self, Stances};
use crate::topic::question::Question;

/// The probability that the texts of an image are about the topic, as the stance encoder reads them.
pub(crate) const ON_TOPIC: &str = "on-topic";

/// The stances of an image's texts towards the topic's claim; `None` where there is no text. The value of an explanation is
/// P(pro) - P(con).
#[derive(Clone, Debug, Default)]
pub(super) struct TextStances {
    /// The probabilities and the stance of the text in the picture.
    pub picture: Option<(Stances, Explanation)>,
    /// The probabilities and the stance of the words around the picture.
    pub around: Option<(Stances, Explanation)>,
    /// The stances of the sections of the text in the picture, if there are several sections or they have headings.
    pub sections: Vec<StanceOpinion>,
}

impl TextStances {
    /// The probability that the text in the picture takes a side; `None` without text. A text with sections for both sides takes a side in each
    /// section, even if it seems neutral as a whole.
    pub fn side_of_picture(&self) -> Option<f64> {
        let whole = self.picture.as_ref().map(|(s, _)| s.pro + s.con)?;
        let sections = stance::both_sides(&self.sections);
        let surest = sections.into_iter().flatten().map(|s| s.value.abs());
        Some(surest.fold(whole, f64::max))
    }
}

/// The probability that a text is about the topic, by its first piece, which is its beginning.
fn on_topic(readings: &[StanceReading]) -> f64 {
    readings
        .first()
        .map_or(0.0, |whole| logistic(f64::from(whole.relevance)))
}

/// The texts of the candidates for a topic, and the stance encoder's logits of each with the topic's claim.
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
        pool: &[(&ImageEvidence, Explanation)],
        question: &Question,
        reader: &mut Reader,
    ) -> Result<Self> {
        let prepared: Vec<([String; 2], Sections)> = pool
            .par_iter()
            // a thread takes several images at once, because waking it takes as long as preparing one
            .with_min_len(8)
            .map(|(image, _)| {
                let lines = image.ocr_lines().map(of_picture);
                let picture = match &lines {
                    Some(lines) => ocr_text(lines),
                    None => clauses(&image.ocr_text).into_owned(),
                };
                let texts = [picture, clauses(&image.near_text).into_owned()];
                let texts = texts.map(|text| beginning(&text).to_owned());
                (texts, Sections::of(lines.as_deref().unwrap_or_default()))
            })
            .collect();
        let (texts, sections): (Vec<[String; 2]>, Vec<Sections>) = prepared.into_iter().unzip();
        let texts: Vec<String> = texts.into_iter().flatten().collect();
        let claim = question.claim.as_str();
        let pairs: Vec<(&str, &str)> = texts.iter().map(|text| (claim, text.as_str())).collect();
        let readings = reader.piece_readings(&pairs, &mut |_| ())?;
        let stances = |read: &Vec<StanceReading>| read.iter().map(|piece| piece.stance).collect();
        let logits = (readings.as_ref()).map(|all| all.iter().map(stances).collect());
        let on_topic = readings.map(|all| {
            let of_text = |(text, read): (&String, &Vec<_>)| {
                if has_words(text) { on_topic(read) } else { 0.0 }
            };
            texts.iter().zip(&all).map(of_text).collect()
        });
        let all = sections.iter().flat_map(|of_image| &of_image.sections);
        let pairs: Vec<(&str, &str)> = all.map(|s| (claim, beginning(&s.text))).collect();
        // requested separately, because a store of an earlier build may have only the outputs for whole texts
        let section_logits = reader.piece_logits(&pairs, &mut |_| ())?;
        Ok(PoolTexts {
            texts,
            logits,
            on_topic,
            sections,
            section_logits,
        })
    }

    /// The weighted mean of the relevance of candidate number `at` and the probability that one of its texts is about the topic. Without an encoder,
    /// the relevance is unchanged.
    pub fn relevance(&self, at: usize, relevance: Explanation, weight: f64) -> Explanation {
        let all = self.on_topic.as_ref();
        let of_image = all.and_then(|all| all.get(2 * at..2 * at + 2));
        let Some(&[picture, around]) = of_image.filter(|_| weight > 0.0) else {
            return relevance;
        };
        let read = picture.max(around);
        let found = relevance.value();
        let how = format!("({found:.4} + {weight} × {read:.4}) / (1 + {weight})");
        let mut relevance = relevance.revised((found + weight * read) / (1.0 + weight), how);
        let on_topic = Explanation::new(ON_TOPIC, read)
            .named("on topic, as the stance encoder reads the texts");
        relevance.add_part(on_topic.with_how(format!(
            "the largest of the text in the picture {picture:.4} and the words around {around:.4}"
        )));
        relevance
    }

    /// The stances of each candidate's texts.
    pub fn stances(&self, question: &Question) -> Vec<TextStances> {
        let claim = question.claim.as_str();
        let model = text_stance::TextStanceModel::committed();
        let stance = |at: usize| {
            let text = self.texts.get(at).filter(|text| has_words(text))?;
            let logits = self.logits.as_ref().and_then(|all| all.get(at));
            Some(model.stances_with_explanation(claim, text, logits.map(Vec::as_slice)))
        };
        let mut sections = self.section_signals(question).into_iter();
        (0..self.texts.len() / 2)
            .map(|at| TextStances {
                picture: stance(2 * at),
                around: stance(2 * at + 1),
                sections: sections.next().unwrap_or_default(),
            })
            .collect()
    }

    /// For each candidate P(pro) - P(con) of each section of the text in its picture. If the encoder has read the whole texts but not their sections,
    /// only sections with headings count.
    fn section_signals(&self, question: &Question) -> Vec<Vec<StanceOpinion>> {
        let claim = question.claim.as_str();
        let model = text_stance::TextStanceModel::committed();
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
                    let text = beginning(&section.text);
                    let (stances, read) = model.stances_with_explanation(claim, text, logits);
                    of_image.push(StanceOpinion {
                        value: stances.balance(),
                        how: format!("section \"{}\": {}", text_stance::shown(text), read.how()),
                        parts: read.into_parts(),
                    });
                }
            }
            signals.push(of_image);
        }
        signals
    }
}

/// P(pro) - P(con) of a section below a heading that names its side. The section is on the side of its heading, whatever side a model reads in a
/// single reason.
const HEADED: f64 = 0.8;

/// The stance of a section by its heading. "Cons" is against the subject that the title or the heading names, such as "zoos" or "should zoos be
/// closed?". If that subject and the topic's claim have opposite polarities, the section is for the claim.
fn headed(heading: &Heading, title: &str, question: &Question, text: &str) -> StanceOpinion {
    let subject = polarity(&format!("{title} {}", heading.text));
    let is_turned = subject != question.polarity;
    let supports = heading.supports != is_turned;
    let side = if heading.supports { "for" } else { "against" };
    let turned = if is_turned {
        ", of which the claim is the opposite"
    } else {
        ""
    };
    StanceOpinion {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevance_and_the_surer_of_two_texts_are_averaged() {
        let texts = PoolTexts {
            texts: vec![String::new(); 4],
            logits: None,
            on_topic: Some(vec![0.2, 0.8, 0.0, 0.0]),
            sections: Vec::new(),
            section_logits: None,
        };
        use crate::score::RELEVANCE;
        let relevance = |at, weight| {
            let found = Explanation::new(RELEVANCE, 0.5);
            texts.relevance(at, found, weight).value()
        };
        // (.5 + .5 × .8) / 1.5
        assert!((relevance(0, 0.5) - 0.6).abs() < 1e-12);
        // without text, (.5 + .5 × 0) / 1.5
        assert!((relevance(1, 0.5) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(relevance(0, 0.0), 0.5);
        let unread = PoolTexts {
            on_topic: None,
            ..texts
        };
        let found = Explanation::new(RELEVANCE, 0.0);
        assert_eq!(unread.relevance(0, found.clone(), 0.5), found);
        // by the first piece
        let of = |relevance| StanceReading {
            stance: [0.0; 3],
            quality: 0.0,
            relevance,
        };
        assert_eq!(on_topic(&[of(0.0), of(2.0)]), 0.5);
        assert_eq!(on_topic(&[]), 0.0);
    }
}
