//! Likeness to arguments: what people who argued about the topic said for it and against it, and how much an image is like
//! either. The strongest published signal of an image's stance is its likeness to arguments of that side (Neville Longbottom
//! at Touché 2023, by arguments that a language model wrote); these are real ones, of an args.me corpus.

use anyhow::Result;

use super::text_approach::Retrieval;
use crate::index::corpus::Corpus;
use crate::index::search::{Cut, Part, Query};
use crate::index::vector;
use crate::reading::Reader;
use crate::reading::pieces::pieces;
use crate::score::text_stance::Model;
use crate::topic::question::{self, Question};
use crate::trec::{DocId, Stance};

/// Arguments that are looked at for a topic: of the next ones ever more are about something else.
const ARGUMENTS: usize = 40;
/// Sentences of an argument: what it says first.
const SENTENCES: usize = 2;
/// An argument whose side is less sure than this says nothing of sides.
const SURE: f64 = 0.25;
/// The likeness to a side is the mean over its so many likest sentences.
const NEAREST: usize = 5;

/// Where arguments are looked for.
#[derive(Clone, Copy)]
pub struct Arguments<'a> {
    pub corpus: &'a Corpus,
    pub retrieval: &'a Retrieval,
}

/// A sentence of an argument about the topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    pub text: String,
    pub argument: DocId,
    /// For the topic's claim, or against it.
    pub side: Stance,
}

/// What was said about the topic, the most relevant arguments first.
///
/// A premise's stance is towards its conclusion: so the conclusion is read first, and an argument for a conclusion that attacks
/// the claim is an argument against it. Where there is no conclusion, or it says nothing of the claim, the premise itself is read.
///
/// Errors: the index, the store of outputs or the encoder fails.
pub fn said(arguments: &Arguments, question: &Question, reader: &mut Reader) -> Result<Vec<Said>> {
    let Arguments { corpus, retrieval } = arguments;
    let mut analyzer = retrieval.analyzer.build();
    let parts = retrieval.fields.iter().filter_map(|(name, weight)| {
        let field = corpus.field(name)?;
        Some(Part::of_text(
            field,
            *weight,
            &mut analyzer,
            &question.words,
        ))
    });
    let query = Query {
        parts: parts.collect(),
    };
    let cut = Cut {
        k: ARGUMENTS,
        ..Cut::default()
    };
    let mut documents = Vec::new();
    for found in corpus.search(&query, &retrieval.similarity, cut)? {
        documents.push(corpus.document(&found.doc)?);
    }
    let field = |document: &crate::index::corpus::Document, name: &str| {
        let at = corpus.field(name);
        at.and_then(|at| document.texts.get(at))
            .cloned()
            .unwrap_or_default()
    };
    let texts: Vec<(String, String)> = documents
        .iter()
        .map(|d| {
            (
                question::claims(&field(d, "conclusion")).0,
                field(d, "premises"),
            )
        })
        .collect();
    let asked: Vec<(&str, &str)> = texts
        .iter()
        .flat_map(|(conclusion, premise)| [conclusion, premise])
        .map(|text| (question.claim.as_str(), text.as_str()))
        .collect();
    let logits = reader.piece_logits(&asked)?;
    let model = Model::committed();
    let balance = |at: usize| {
        let (claim, text) = *asked.get(at)?;
        let logits = logits.as_ref().and_then(|all| all.get(at));
        (!text.trim().is_empty()).then(|| {
            model
                .stances(claim, text, logits.map(Vec::as_slice))
                .balance()
        })
    };
    let mut said = Vec::new();
    for (n, (document, (_, premise))) in documents.iter().zip(&texts).enumerate() {
        let of_premise = match document.stance {
            Some(Stance::Pro) => 1.0,
            Some(Stance::Con) => -1.0,
            None => 0.0,
        };
        let by_conclusion = balance(2 * n).map(|b| b * of_premise);
        let side = by_conclusion
            .filter(|b| b.abs() >= SURE)
            .or_else(|| balance(2 * n + 1));
        let Some(side) = side.filter(|b| b.abs() >= SURE) else {
            continue;
        };
        let side = if side > 0.0 { Stance::Pro } else { Stance::Con };
        let all = pieces(premise);
        let alone = all.len() == 1;
        let sentences = all.into_iter().skip(usize::from(!alone)).take(SENTENCES);
        said.extend(sentences.map(|text| Said {
            text: text.trim().to_owned(),
            argument: document.id.clone(),
            side,
        }));
    }
    Ok(said)
}

/// The sentences of both sides with their vectors.
pub struct Sides {
    said: Vec<(Said, Vec<f32>)>,
}

/// How much something is like each side.
#[derive(Clone, Debug, PartialEq)]
pub struct Likeness {
    /// Mean cosine to the nearest sentences for the claim, and against it.
    pub pro: f64,
    pub con: f64,
    /// The nearest of all.
    pub nearest: Said,
}

impl Sides {
    /// Nothing, if one side has too few sentences to be compared.
    pub fn new(said: Vec<Said>, vectors: Vec<Vec<f32>>) -> Option<Sides> {
        let count = |side| said.iter().filter(|s| s.side == side).count();
        let enough = Stance::BOTH.iter().all(|side| count(*side) >= NEAREST);
        enough.then(|| Sides {
            said: said.into_iter().zip(vectors).collect(),
        })
    }

    /// Of any of these vectors, which must be of unit length; none without one of the sentences' length.
    pub fn likeness<'v>(&self, vectors: impl Iterator<Item = &'v [f32]>) -> Option<Likeness> {
        let mut best: Vec<Option<f64>> = vec![None; self.said.len()];
        for vector in vectors {
            for (best, (_, own)) in best.iter_mut().zip(&self.said) {
                if own.len() == vector.len() {
                    let cosine = f64::from(vector::dot(own, vector));
                    *best = Some(best.map_or(cosine, |b| b.max(cosine)));
                }
            }
        }
        let mean = |side: Stance| {
            let of_side = self.said.iter().zip(&best);
            let mut cosines: Vec<f64> = of_side
                .filter(|((said, _), _)| said.side == side)
                .filter_map(|(_, best)| *best)
                .collect();
            cosines.sort_by(|a, b| b.total_cmp(a));
            let nearest = cosines.get(..NEAREST)?;
            Some(nearest.iter().sum::<f64>() / NEAREST as f64)
        };
        let nearest = self
            .said
            .iter()
            .zip(&best)
            .filter_map(|((said, _), best)| Some((said, (*best)?)))
            .reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        Some(Likeness {
            pro: mean(Stance::Pro)?,
            con: mean(Stance::Con)?,
            nearest: nearest.0.clone(),
        })
    }
}

impl Likeness {
    /// In [-2, 2]: above 0 it is more like what was said for the claim.
    pub fn difference(&self) -> f64 {
        self.pro - self.con
    }

    /// To what was said at all.
    pub fn best(&self) -> f64 {
        self.pro.max(self.con)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(side: Stance, n: usize) -> Said {
        Said {
            text: format!("{side} {n}"),
            argument: DocId(format!("a{n}")),
            side,
        }
    }

    #[test]
    fn the_nearest_sentences_of_each_side_are_compared() {
        let mut all = Vec::new();
        let mut vectors = Vec::new();
        for n in 0..6 {
            // six for it along the first axis, six against it along the second; one of each is far off
            let far = n == 5;
            all.push(said(Stance::Pro, n));
            vectors.push(if far { vec![-1.0, 0.0] } else { vec![1.0, 0.0] });
            all.push(said(Stance::Con, n));
            vectors.push(if far { vec![0.0, -1.0] } else { vec![0.0, 1.0] });
        }
        let sides = Sides::new(all.clone(), vectors.clone()).unwrap();
        let image: [&[f32]; 2] = [&[0.6, 0.8], &[1.0, 2.0, 3.0]];
        let found = sides.likeness(image.into_iter()).unwrap();
        assert!((found.pro - 0.6).abs() < 1e-6 && (found.con - 0.8).abs() < 1e-6);
        assert!((found.difference() + 0.2).abs() < 1e-6);
        assert_eq!(found.nearest.text, "CON 0");
        assert_eq!(sides.likeness([&[1.0f32][..]].into_iter()), None);
        assert!(Sides::new(all[..8].to_vec(), vectors[..8].to_vec()).is_none());
    }
}
