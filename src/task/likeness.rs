//! Likeness of images to arguments: how similar the words of an image are to what people have argued for and against the claim of a
//! topic. At Touché 2023, the strongest published signal of an image's stance was its likeness to arguments of one side (Neville
//! Longbottom, with arguments written by a language model). The arguments here are from a collection in the args.me format.

use anyhow::Result;
use riposte_claims::claims;
use riposte_eval::{DocId, Stance};

use super::text_approach::Retrieval;
use crate::index::inverted::InvertedIndex;
use crate::index::search::{Query, QueryPart, SearchOptions};
use crate::index::{ScoredDoc, vector};
use crate::reading::Reader;
use crate::reading::pieces::Pieces;
use crate::score::text_stance::Model;
use crate::topic::question::Question;

/// Number of arguments that are retrieved for a topic. Further down the ranking, more and more are about something else.
const ARGUMENTS: usize = 40;
/// Number of sentences of an argument that are used, the first ones.
const SENTENCES: usize = 2;
/// An argument is used if the absolute value of P(pro) - P(con) is at least this.
pub(super) const MIN_BALANCE: f64 = 0.25;
/// The likeness to a side is the mean cosine to this many sentences, the most similar ones.
const NEAREST: usize = 5;

/// A collection of arguments, and how it is searched.
#[derive(Clone, Copy)]
pub struct Arguments<'a> {
    pub index: &'a InvertedIndex,
    pub retrieval: &'a Retrieval,
}

/// A sentence of an argument about a topic.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgumentSentence {
    pub text: String,
    pub argument: DocId,
    /// Whether the argument is for or against the claim of the topic.
    pub side: Stance,
}

/// Sentences of the arguments about a topic, those of the most relevant argument first.
///
/// The stance of a premise is towards its own conclusion. Therefore the stance of the conclusion towards the claim is detected first: an
/// argument for a conclusion that attacks the claim is an argument against the claim. If there is no conclusion, or its stance is
/// uncertain, the stance of the premise is detected. Arguments whose stance remains uncertain are left out.
///
/// # Errors
/// The index, the store of model outputs or the encoder fails.
pub fn argument_sentences(
    arguments: &Arguments,
    question: &Question,
    reader: &mut Reader,
) -> Result<Vec<ArgumentSentence>> {
    let found = retrieve(arguments, question)?;
    let balances = balances(&question.claim, &found, reader)?;
    let mut sentences = Vec::new();
    for (argument, balance) in found.iter().zip(balances) {
        let Some(balance) = balance else { continue };
        let side = side_of(balance);
        let pieces = Pieces::of(&argument.premise);
        let alone = pieces.sentences.is_empty().then_some(pieces.whole);
        let texts = pieces.sentences.into_iter().chain(alone).take(SENTENCES);
        sentences.extend(texts.map(|text| ArgumentSentence {
            text: text.trim().to_owned(),
            argument: argument.id.clone(),
            side,
        }));
    }
    Ok(sentences)
}

/// The side that an argument with this P(pro) - P(con) is on.
pub(super) fn side_of(balance: f64) -> Stance {
    if balance > 0.0 {
        Stance::Pro
    } else {
        Stance::Con
    }
}

/// P(pro) - P(con) of each argument towards the claim, in [-1, 1]; `None` if its side is uncertain. [`argument_sentences`] describes the method.
///
/// # Errors
/// The store of model outputs or the encoder fails.
pub(super) fn balances(
    claim: &str,
    arguments: &[FoundArgument],
    reader: &mut Reader,
) -> Result<Vec<Option<f64>>> {
    // each argument has two pairs: the claim with its conclusion, then the claim with its premise
    let texts = arguments
        .iter()
        .flat_map(|of| [&of.conclusion, &of.premise]);
    let pairs: Vec<(&str, &str)> = texts.map(|text| (claim, text.as_str())).collect();
    let logits = reader.piece_logits(&pairs, &mut |_| ())?;
    let model = Model::committed();
    let balance = |at: usize| {
        let (claim, text) = *pairs.get(at)?;
        let logits = logits.as_ref().and_then(|all| all.get(at));
        let stances = || model.stances(claim, text, logits.map(Vec::as_slice));
        (!text.trim().is_empty()).then(|| stances().balance())
    };
    let is_certain = |balance: &f64| balance.abs() >= MIN_BALANCE;
    let of_argument = |(at, argument): (usize, &FoundArgument)| {
        let sign = match argument.stance {
            Some(Stance::Pro) => 1.0,
            Some(Stance::Con) => -1.0,
            None => 0.0,
        };
        let by_conclusion = balance(2 * at).map(|balance| balance * sign);
        let by_conclusion = by_conclusion.filter(is_certain);
        by_conclusion.or_else(|| balance(2 * at + 1).filter(is_certain))
    };
    Ok(arguments.iter().enumerate().map(of_argument).collect())
}

/// An argument that was retrieved for a topic.
pub(super) struct FoundArgument {
    pub id: DocId,
    /// The conclusion as a claim.
    pub conclusion: String,
    pub premise: String,
    /// The stance of the premise towards the conclusion.
    pub stance: Option<Stance>,
}

impl FoundArgument {
    /// Reads an argument from its index.
    ///
    /// # Errors
    /// The index is damaged, or has no such argument.
    pub fn read(index: &InvertedIndex, id: &DocId) -> Result<Self> {
        let document = index.document(id)?;
        let field = |name: &str| -> String {
            let text = index.field(name).and_then(|at| document.texts.get(at));
            text.cloned().unwrap_or_default()
        };
        let (conclusion, _) = claims(&field("conclusion"));
        Ok(FoundArgument {
            conclusion,
            premise: field("premises"),
            stance: document.stance,
            id: document.id,
        })
    }
}

/// The arguments that are most relevant to the topic, the best first.
fn retrieve(arguments: &Arguments, question: &Question) -> Result<Vec<FoundArgument>> {
    let Arguments { index, retrieval } = arguments;
    let (mut analyzer, words) = (retrieval.analyzer.build(), &question.words);
    let parts = retrieval.fields.iter().filter_map(|(name, weight)| {
        let field = index.field(name)?;
        Some(QueryPart::of_text(field, *weight, &mut analyzer, words))
    });
    let query = Query {
        parts: parts.collect(),
    };
    let options = SearchOptions {
        k: ARGUMENTS,
        ..SearchOptions::default()
    };
    let found = index.search(&query, &retrieval.similarity, options)?;
    let read = |scored: &ScoredDoc| FoundArgument::read(index, &scored.doc);
    found.iter().map(read).collect()
}

/// The sentences of arguments for and against a claim, with their vectors.
pub struct ArgumentVectors {
    sentences: Vec<(ArgumentSentence, Vec<f32>)>,
}

/// The likeness of something to the arguments of each side.
#[derive(Clone, Debug, PartialEq)]
pub struct Likeness {
    /// Mean cosine to the most similar sentences for the claim, in [-1, 1].
    pub pro: f64,
    /// Mean cosine to the most similar sentences against the claim, in [-1, 1].
    pub con: f64,
    /// The most similar sentence of both sides.
    pub nearest: ArgumentSentence,
}

impl ArgumentVectors {
    /// `vectors` has one vector of unit length for each sentence. Returns `None` if a side has too few sentences to be compared.
    pub fn new(
        sentences: Vec<ArgumentSentence>,
        vectors: Vec<Vec<f32>>,
    ) -> Option<ArgumentVectors> {
        let count = |side| sentences.iter().filter(|s| s.side == side).count();
        let enough = Stance::BOTH.iter().all(|side| count(*side) >= NEAREST);
        enough.then(|| ArgumentVectors {
            sentences: sentences.into_iter().zip(vectors).collect(),
        })
    }

    /// The likeness of something that these vectors of unit length describe. For each sentence, the largest cosine counts. `None` if no vector has as
    /// many dimensions as the vectors of the sentences.
    pub fn likeness<'v>(&self, vectors: impl Iterator<Item = &'v [f32]>) -> Option<Likeness> {
        let mut best: Vec<Option<f64>> = vec![None; self.sentences.len()];
        for vector in vectors {
            for (best, (_, own)) in best.iter_mut().zip(&self.sentences) {
                if own.len() == vector.len() {
                    let cosine = f64::from(vector::dot(own, vector));
                    *best = Some(best.map_or(cosine, |b| b.max(cosine)));
                }
            }
        }
        let mean = |side: Stance| {
            let sentences = self.sentences.iter().zip(&best);
            let mut cosines: Vec<f64> = sentences
                .filter(|((sentence, _), _)| sentence.side == side)
                .filter_map(|(_, best)| *best)
                .collect();
            cosines.sort_by(|a, b| b.total_cmp(a));
            let nearest = cosines.get(..NEAREST)?;
            Some(nearest.iter().sum::<f64>() / NEAREST as f64)
        };
        let compared = self.sentences.iter().zip(&best);
        let nearest = compared
            .filter_map(|((sentence, _), best)| Some((sentence, (*best)?)))
            .reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        Some(Likeness {
            pro: mean(Stance::Pro)?,
            con: mean(Stance::Con)?,
            nearest: nearest.0.clone(),
        })
    }
}

impl Likeness {
    /// Likeness to the arguments for the claim minus likeness to those against it, in [-2, 2].
    pub fn difference(&self) -> f64 {
        self.pro - self.con
    }

    /// Likeness to the more similar side, in [-1, 1].
    pub fn best(&self) -> f64 {
        self.pro.max(self.con)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(side: Stance, n: usize) -> ArgumentSentence {
        ArgumentSentence {
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
            // six for the claim along the first axis and six against it along the second; one of each points the other way
            let is_opposite = n == 5;
            all.push(sentence(Stance::Pro, n));
            vectors.push(if is_opposite {
                vec![-1.0, 0.0]
            } else {
                vec![1.0, 0.0]
            });
            all.push(sentence(Stance::Con, n));
            vectors.push(if is_opposite {
                vec![0.0, -1.0]
            } else {
                vec![0.0, 1.0]
            });
        }
        let arguments = ArgumentVectors::new(all.clone(), vectors.clone()).unwrap();
        let image: [&[f32]; 2] = [&[0.6, 0.8], &[1.0, 2.0, 3.0]];
        let found = arguments.likeness(image.into_iter()).unwrap();
        assert!((found.pro - 0.6).abs() < 1e-6 && (found.con - 0.8).abs() < 1e-6);
        assert!((found.difference() + 0.2).abs() < 1e-6);
        assert_eq!(found.nearest.text, "CON 0");
        assert_eq!(arguments.likeness([&[1.0f32][..]].into_iter()), None);
        assert!(ArgumentVectors::new(all[..8].to_vec(), vectors[..8].to_vec()).is_none());
    }
}
