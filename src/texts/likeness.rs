//! Likeness of images to arguments: how similar the words of an image are to what people have argued for and against the claim of a
//! topic. At Touché 2023, the strongest published signal of an image's stance was its likeness to arguments of one side (Neville
//! Longbottom, with arguments written by a language model). The arguments here are from a collection in the args.me format.

use std::borrow::Cow;

use anyhow::Result;
use riposte_claims::claims;
use riposte_eval::{DocId, Stance};

use crate::index::inverted::InvertedIndex;
use crate::index::search::{IndexQuery, QueryPart, SearchOptions};
use crate::index::{ScoredDoc, vector};
use crate::reading::Reader;
use crate::reading::clauses::{clauses, is_question};
use crate::reading::pieces::Pieces;
use crate::recipes::text_approach::Retrieval;
use crate::score::side_taken;
use crate::score::text_stance::TextStanceModel;
use crate::topic::question::Question;

/// Number of arguments that are retrieved for a topic. Further down the ranking, more and more are about something else.
const ARGUMENTS: usize = 40;
/// Number of sentences of an argument that are used, the first ones.
const SENTENCES: usize = 2;
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
/// The label of an argument is its stance towards its own conclusion: an argument for a conclusion that attacks the claim is an argument against the
/// claim. The text decides if the conclusion is a question, which has no side, or if its stance towards the claim is uncertain. Arguments whose stance
/// remains uncertain are left out. (An image is compared with several sentences of a side, so that a wrong label does less harm than a missing argument.)
///
/// # Errors
/// The index, the store of model outputs or the encoder fails.
pub fn argument_sentences(
    arguments: &Arguments,
    question: &Question,
    reader: &mut Reader,
) -> Result<Vec<ArgumentSentence>> {
    let found = retrieve(arguments, question)?;
    let opinions = opinions(&question.claim, &found, reader)?;
    let mut sentences = Vec::new();
    for (argument, [label, text]) in found.iter().zip(opinions) {
        let Some(side) = label.or(text).and_then(side_taken) else {
            continue;
        };
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

/// P(pro) - P(con) of each argument towards the claim, in [-1, 1]: its label and its text weighed together.
///
/// # Errors
/// The store of model outputs or the encoder fails.
pub(crate) fn balances(
    claim: &str,
    arguments: &[FoundArgument],
    reader: &mut Reader,
) -> Result<Vec<f64>> {
    let opinions = opinions(claim, arguments, reader)?.into_iter();
    Ok(opinions.map(|[label, text]| weighed(label, text)).collect())
}

/// P(pro) - P(con) of each argument towards the claim, in [-1, 1], by its label and by its text; `None` if there is no label, its conclusion takes no
/// clear side, or there is no text.
fn opinions(
    claim: &str,
    arguments: &[FoundArgument],
    reader: &mut Reader,
) -> Result<Vec<[Option<f64>; 2]>> {
    // each argument has two pairs: the claim with its conclusion, then the claim with its premise
    let texts = arguments
        .iter()
        .flat_map(|of| [&of.conclusion, &of.premise]);
    let texts: Vec<Cow<str>> = texts.map(|text| clauses(text)).collect();
    let pairs: Vec<(&str, &str)> = texts.iter().map(|text| (claim, text.as_ref())).collect();
    let logits = reader.piece_logits(&pairs, &mut |_| ())?;
    let model = TextStanceModel::committed();
    let balance = |at: usize| {
        let (claim, text) = *pairs.get(at)?;
        let logits = logits.as_ref().and_then(|all| all.get(at));
        let stances = || model.stances(claim, text, logits.map(Vec::as_slice));
        (!text.trim().is_empty()).then(|| stances().balance())
    };
    let of_argument = |(at, argument): (usize, &FoundArgument)| {
        let of_label = argument.side_of_conclusion(balance(2 * at));
        [of_label, balance(2 * at + 1)]
    };
    Ok(arguments.iter().enumerate().map(of_argument).collect())
}

/// The label of an argument and its text weighed together: their mean, because nothing says which of the two is wrong if they contradict each other.
fn weighed(label: Option<f64>, text: Option<f64>) -> f64 {
    match (label, text) {
        (Some(label), Some(text)) => f64::midpoint(label, text),
        (one, other) => one.or(other).unwrap_or(0.0),
    }
}

/// An argument that was retrieved for a topic.
pub(crate) struct FoundArgument {
    pub id: DocId,
    /// The conclusion as a claim.
    pub conclusion: String,
    pub premise: String,
    /// The stance of the premise towards the conclusion; `None` if that is a question.
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
        let conclusion = field("conclusion");
        Ok(FoundArgument {
            premise: field("premises"),
            stance: document.stance.filter(|_| !is_question(&conclusion)),
            conclusion: claims(&conclusion).0,
            id: document.id,
        })
    }

    /// P(pro) - P(con) by the label alone, if the conclusion has this balance; `None` without a label or if the conclusion takes no clear side.
    fn side_of_conclusion(&self, balance: Option<f64>) -> Option<f64> {
        let balance = balance.filter(|balance| side_taken(*balance).is_some())?;
        Some(match self.stance? {
            Stance::Pro => balance,
            Stance::Con => -balance,
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
    let query = IndexQuery {
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
    sentences: Vec<ArgumentSentence>,
    /// The number of dimensions of the vectors.
    width: usize,
    /// The vectors of the sentences, one after another.
    vectors: Vec<f32>,
}

/// The likeness of something to the arguments of each side.
#[derive(Clone, Debug, PartialEq)]
pub struct SideLikeness {
    /// Mean cosine to the most similar sentences for the claim, in [-1, 1].
    pub pro: f64,
    /// Mean cosine to the most similar sentences against the claim, in [-1, 1].
    pub con: f64,
    /// The most similar sentence of both sides.
    pub nearest: ArgumentSentence,
}

impl ArgumentVectors {
    /// `vectors` has one vector of unit length for each sentence, all by the same model. Returns `None` if a side has too few sentences to be compared.
    pub fn new(
        sentences: Vec<ArgumentSentence>,
        vectors: Vec<Vec<f32>>,
    ) -> Option<ArgumentVectors> {
        let count = |side| sentences.iter().filter(|s| s.side == side).count();
        let enough = Stance::BOTH.iter().all(|side| count(*side) >= NEAREST);
        enough.then(|| ArgumentVectors {
            width: vectors.first().map_or(0, Vec::len),
            vectors: vectors.concat(),
            sentences,
        })
    }

    /// The likeness of something that these vectors of unit length describe. For each sentence, the largest cosine counts. `None` if no vector has as
    /// many dimensions as the vectors of the sentences.
    pub fn likeness<'v>(&self, vectors: impl Iterator<Item = &'v [f32]>) -> Option<SideLikeness> {
        let mut best: Vec<Option<f64>> = vec![None; self.sentences.len()];
        let mut cosines = Vec::with_capacity(self.sentences.len());
        for vector in vectors.filter(|vector| vector.len() == self.width) {
            vector::dots(&self.vectors, vector, &mut cosines);
            for (best, cosine) in best.iter_mut().zip(&cosines) {
                let cosine = f64::from(*cosine);
                *best = Some(best.map_or(cosine, |b| b.max(cosine)));
            }
        }
        let mean = |side: Stance| {
            let sentences = self.sentences.iter().zip(&best);
            let mut cosines: Vec<f64> = sentences
                .filter(|(sentence, _)| sentence.side == side)
                .filter_map(|(_, best)| *best)
                .collect();
            cosines.sort_by(|a, b| b.total_cmp(a));
            let nearest = cosines.get(..NEAREST)?;
            Some(nearest.iter().sum::<f64>() / NEAREST as f64)
        };
        let compared = self.sentences.iter().zip(&best);
        let nearest = compared
            .filter_map(|(sentence, best)| Some((sentence, (*best)?)))
            .reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        Some(SideLikeness {
            pro: mean(Stance::Pro)?,
            con: mean(Stance::Con)?,
            nearest: nearest.0.clone(),
        })
    }
}

impl SideLikeness {
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
    fn label_and_text_are_weighed_together() {
        let argument = |stance| FoundArgument {
            id: DocId("a".into()),
            conclusion: "zoos should be closed".into(),
            premise: "It is cruel.".into(),
            stance,
        };
        let (pro, con) = (Some(Stance::Pro), Some(Stance::Con));
        for (stance, conclusion, text, balance) in [
            (pro, Some(0.8), Some(0.6), 0.7),
            (con, Some(0.8), Some(-0.4), -0.6),
            // they contradict each other
            (pro, Some(0.8), Some(-0.6), 0.1),
            // without a label, or with a conclusion that takes no side, the text decides
            (None, Some(0.8), Some(-0.4), -0.4),
            (pro, Some(0.2), Some(-0.4), -0.4),
            (pro, None, Some(0.4), 0.4),
            (pro, Some(0.8), None, 0.8),
            (pro, None, None, 0.0),
        ] {
            let label = argument(stance).side_of_conclusion(conclusion);
            assert!((weighed(label, text) - balance).abs() < 1e-12, "{balance}");
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
