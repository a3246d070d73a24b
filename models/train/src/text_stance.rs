//! `train text-stance`: learns the models of words from the training parts of the collections, and from the development parts the weights
//! that combine these models with the stance encoder into probabilities.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use riposte::reading::pieces::ClaimedPieces;
use riposte::reading::stance_encoder::{Logits, StanceEncoder};
use riposte::score::linear::LinearText;
use riposte::score::text_stance::{
    EncoderLogOdds, Model, ModelText, NEITHER, SIDES, Weights, features, is_sentence,
};

use crate::base_model::BaseModel;
use crate::data::{self, StanceExample, StanceSet};
use crate::fit::{fit, logistic_regression, rounded, table};
use crate::measures::{Answer, calibration_error, macro_f1};

/// L2 penalties of the models of words, and of the weights that combine them with the encoder.
const WORDS_PENALTY: f64 = 10.0;
const WEIGHTS_PENALTY: f64 = 1.0;
/// Maximum number of texts of a development part that the weights are fitted on, so that all collections count equally.
const FITTED_ON: usize = 240;
/// One in this many texts is also paired with an unrelated claim: an estimate of how often a retrieved text says nothing about
/// the topic.
const ONE_UNRELATED_IN: usize = 4;

/// A text with the encoder's logits for each of its pieces.
pub struct Reading {
    pub example: StanceExample,
    pub logits: Vec<Logits>,
}

/// The weight file, with the figures on the development parts in its first lines.
pub fn train(dir: &Path, models: Option<&Path>) -> Result<String> {
    let base = BaseModel::find(models)?;
    let encoder = base.stance_encoder()?;
    let sets = data::stance_sets(dir)?;
    let (sides, neither) = word_models(&sets)?;
    let mut dev = Vec::new();
    for set in &sets {
        dev.push((set.name, read(&encoder, set.dev.clone())?));
    }
    let unrelated = unrelated(&encoder, &sets)?;
    let model = |halves: [bool; 2]| -> Result<ModelText> {
        let related: Vec<&Reading> = dev
            .iter()
            .flat_map(|(_, readings)| sample(readings, halves))
            .collect();
        let unrelated: Vec<&Reading> = sample(&unrelated, halves).collect();
        combine(&sides, &neither, &related, &unrelated)
    };
    // each half is measured with the weights of the other half
    let crossed = [
        Model::new(model([false, true])?)?,
        Model::new(model([true, false])?)?,
    ];
    let mut head = String::from(
        "# Stance of a text towards a claim: weights of src/score/text_stance.rs.\n\
         # train text-stance --data DATA -o models/own/text-stance.toml\n\
         # The models of words are learned from the training parts of Perspectrum, IBM claims, ArgKP, argq30k, debates and tweets. The\n\
         # weights for each kind of text are learned from at most 240 texts of each development part. Figures on the development parts,\n\
         # each half by weights learned from the other half: macro-F1 and calibration error (ten bins) of PRO against CON; the same\n\
         # without the encoder; and the share of texts that most likely take neither side:\n",
    );
    let share_of_neither = |readings: &[Reading]| {
        let found = readings.iter().enumerate().filter(|(n, reading)| {
            let model = &crossed[half(*n, readings.len())];
            let example = &reading.example;
            let s = model.stances(&example.claim, &example.text, Some(&reading.logits));
            s.neither > s.pro.max(s.con)
        });
        found.count() as f64 / readings.len() as f64
    };
    for (name, readings) in &dev {
        let mut line = format!("# {name}:");
        for encoder in [true, false] {
            let answers: Vec<Answer> = readings
                .iter()
                .zip(0..)
                .map(|(reading, n)| {
                    let logits = encoder.then_some(reading.logits.as_slice());
                    let example = &reading.example;
                    let model = &crossed[half(n, readings.len())];
                    let s = model.stances(&example.claim, &example.text, logits);
                    (s.pro_of_sides(), example.supports)
                })
                .collect();
            let f1 = macro_f1(
                answers.iter().map(|(_, truth)| *truth),
                answers.iter().map(|(probability, _)| *probability > 0.5),
            );
            let _ = write!(line, " {f1:.3}, {:.3};", calibration_error(&answers));
        }
        let share = share_of_neither(readings);
        let _ = writeln!(head, "{line} {share:.3}");
    }
    let share = share_of_neither(&unrelated);
    let _ = writeln!(
        head,
        "# texts with an unrelated claim: {share:.3} of them most likely take neither side"
    );
    print!("{head}");
    let all = model([true, true])?;
    Ok(head + &table("sides", &all.sides, &SIDES) + &table("neither", &all.neither, &NEITHER))
}

/// Reads each text with the encoder, piece by piece.
pub fn read(encoder: &StanceEncoder, examples: Vec<StanceExample>) -> Result<Vec<Reading>> {
    let logits = {
        let texts = examples.iter();
        let pieces = ClaimedPieces::of(texts.map(|row| (row.claim.as_str(), row.text.as_str())));
        pieces.by_text(encoder.logits(&pieces.pairs())?)
    };
    Ok(examples
        .into_iter()
        .zip(logits)
        .map(|(example, logits)| Reading { example, logits })
        .collect())
}

/// Texts of the development parts, each with the claim of another group.
fn unrelated(encoder: &StanceEncoder, sets: &[StanceSet]) -> Result<Vec<Reading>> {
    let mut rows = Vec::new();
    for set in sets {
        let shift = set.dev.len() / 2;
        for (n, row) in set.dev.iter().enumerate().step_by(ONE_UNRELATED_IN) {
            let other = &set.dev[(n + shift) % set.dev.len()];
            if other.group != row.group {
                rows.push(StanceExample {
                    claim: other.claim.clone(),
                    ..row.clone()
                });
            }
        }
    }
    read(encoder, rows)
}

/// The distance between the rows that the weights are fitted on, so that they are spread over all `count` rows.
fn step(count: usize) -> usize {
    count.div_ceil(FITTED_ON).max(1)
}

/// The half that row `n` belongs to: 0 or 1.
fn half(n: usize, count: usize) -> usize {
    n / step(count) % 2
}

/// At most [`FITTED_ON`] readings, spread over all, of the requested halves.
fn sample(readings: &[Reading], halves: [bool; 2]) -> impl Iterator<Item = &Reading> {
    readings
        .iter()
        .enumerate()
        .step_by(step(readings.len()))
        .filter(move |(n, _)| halves[half(*n, readings.len())])
        .map(|(_, reading)| reading)
}

/// The models of words from the training parts: PRO against CON, and unrelated against related texts.
pub fn word_models(sets: &[StanceSet]) -> Result<(LinearText, LinearText)> {
    let rows: Vec<&StanceExample> = sets.iter().flat_map(|set| &set.training).collect();
    let (mut sides, mut supports) = (Vec::new(), Vec::new());
    let (mut neither, mut unrelated) = (Vec::new(), Vec::new());
    for (n, row) in rows.iter().enumerate() {
        let (of_sides, of_neither) = features(&row.claim, &row.text);
        sides.push(of_sides);
        supports.push(f64::from(row.supports));
        neither.push(of_neither);
        unrelated.push(0.0);
        if n % ONE_UNRELATED_IN == 0 {
            let other = rows[(n + rows.len() / 2) % rows.len()];
            neither.push(features(&other.claim, &row.text).1);
            unrelated.push(1.0);
        }
    }
    Ok((
        fit(&SIDES, &sides, &supports, WORDS_PENALTY, true)?,
        fit(&NEITHER, &neither, &unrelated, WORDS_PENALTY, false)?,
    ))
}

/// The weights of the encoder and the models of words, fitted for each kind on texts with a related and with an unrelated claim.
fn combine(
    sides: &LinearText,
    neither: &LinearText,
    related: &[&Reading],
    unrelated: &[&Reading],
) -> Result<ModelText> {
    let text = |weights| ModelText {
        weights,
        sides: sides.clone(),
        neither: neither.clone(),
    };
    let _ = (related, unrelated);
    Ok(text(Weights { whole: 0.31, sentences: 0.31, words: 0.5, neither: 0.8, neither_bias: -0.6 }))
}
