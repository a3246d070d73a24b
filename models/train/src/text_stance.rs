//! `train text-stance`: learns the models of words from the training parts of the collections, and from the development parts the weights
//! that combine these models with the stance encoder into probabilities.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use riposte::reading::pieces::{ClaimedPieces, Pieces};
use riposte::reading::stance_encoder::{Logits, StanceClass, StanceEncoder};
use riposte::score::linear::LogisticLayout;
use riposte::score::logit;
use riposte::score::text_kind::{Kinds, MEASURES, measures};
use riposte::score::text_stance::{
    EncoderLogOdds, NEITHER, SIDES, Stances, TextStanceFile, TextStanceModel, TextStanceWeights,
    features, is_sentence,
};

use crate::base_model::BaseModel;
use crate::data::{self, StanceExample, StanceSet};
use crate::fit::{fit, logistic_regression, rounded, table};
use crate::measures::{Answer, calibration_error, calibration_error_of, macro_f1};
use crate::targets;

/// L2 penalties of the models of words, and of the weights that combine them with the encoder.
const WORDS_PENALTY: f64 = 10.0;
const WEIGHTS_PENALTY: f64 = 1.0;
/// Maximum number of texts of a development part that the weights are fitted on, so that all collections count equally.
const FITTED_ON: usize = 240;
/// The share of a source's texts, at each end of a measure, that are not usual.
const UNUSUAL: f64 = 0.005;
/// One in this many texts is also paired with an unrelated claim: an estimate of how often a retrieved text says nothing about
/// the topic.
const ONE_UNRELATED_IN: usize = 4;

/// Where the development data and models are.
pub struct Inputs<'a> {
    pub data: &'a Path,
    pub models: Option<&'a Path>,
    /// The weights of the second training that left out the parts of the collections of targets that are for measuring.
    pub held_out: &'a PathBuf,
}

/// A text with its label and the encoder's logits for each of its pieces.
pub struct Reading {
    pub claim: String,
    pub text: String,
    pub class: StanceClass,
    pub logits: Vec<Logits>,
}

impl Reading {
    /// The stance that a model gives.
    pub fn stances(&self, model: &TextStanceModel) -> Stances {
        model.stances(&self.claim, &self.text, Some(&self.logits))
    }
}

/// The readings of a collection's development part, with some unrelated claims if it has no texts that take no side.
pub struct Source {
    pub name: &'static str,
    pub readings: Vec<Reading>,
}

/// The weight file, with the figures in its first lines.
pub fn train(inputs: &Inputs) -> Result<String> {
    let sources = sources(inputs)?;
    let (sides, neither) = word_models(&data::stance_sets(inputs.data)?)?;
    let without = |left_out: Option<usize>, certainty: f64| -> Result<TextStanceFile> {
        let others = sources
            .iter()
            .enumerate()
            .filter(|(n, _)| Some(*n) != left_out);
        let others: Vec<&Source> = others.map(|(_, source)| source).collect();
        let rows: Vec<&Reading> = others.iter().flat_map(|of| sample(&of.readings)).collect();
        combine(&sides, &neither, &rows, kinds_of(&others, certainty))
    };
    let strangers = (0..sources.len())
        .map(|n| TextStanceModel::new(without(Some(n), 1.0)?))
        .collect::<Result<Vec<TextStanceModel>>>()?;
    let certainty = certainty(&sources, &strangers)?;
    let mut head = String::from(
        "# Stance of a text towards a claim: weights of src/score/text_stance.rs.\n\
         # train text-stance --data DATA --held-out WEIGHTS -o models/own/text-stance.toml\n\
         # The models of words are learned from the training parts of Perspectrum, IBM claims, ArgKP, argq30k, debates and tweets. The weights are\n\
         # learned from at most 240 texts of each development part, as the weights of a training read them that has left out these parts.\n\
         # Each source as a stranger's, by the weights that all others give: PRO against CON, macro-F1 and calibration error (ten bins); PRO, CON\n\
         # and NEITHER, macro-F1 and calibration error; the share of texts that are unlike those of all others. Of VAST and SemEval, the encoder has\n\
         # learned from the other part; of the others, one in four texts is also paired with an unrelated claim, whose stance is NEITHER.\n",
    );
    for (n, source) in sources.iter().enumerate() {
        let model = TextStanceModel::new(without(Some(n), certainty)?)?;
        let found = Figures::of(&source.readings, &model);
        let unlike = source
            .readings
            .iter()
            .filter(|r| model.unlike(&r.text).is_some());
        let unlike = unlike.count() as f64 / source.readings.len() as f64;
        let _ = writeln!(head, "# {}: {found}; {unlike:.3}", source.name);
    }
    print!("{head}");
    let all = without(None, certainty)?;
    let w = &all.weights;
    let _ = write!(
        head,
        "\n[weights]\nwhole = {}\nsentences = {}\nwords = {}\nneither = {}\nneither_bias = {}\n\n[kinds]\ncertainty = {certainty}\n\n[kinds.ranges]\n",
        w.whole, w.sentences, w.words, w.neither, w.neither_bias
    );
    for (name, [low, high]) in &all.kinds.ranges {
        let _ = writeln!(head, "{name:?} = [{low}, {high}]");
    }
    Ok(head + &table("sides", &all.sides, &SIDES) + &table("neither", &all.neither, &NEITHER))
}

/// How well a model reads a collection.
pub struct Figures {
    /// Macro-F1 and calibration error of PRO against CON, on the texts that take a side.
    pub sides: (f64, f64),
    /// The same of the three classes, on all texts.
    pub classes: (f64, f64),
    /// The mean F1 of PRO and CON among the three classes.
    pub pro_and_con: f64,
}

impl Figures {
    pub fn of(readings: &[Reading], model: &TextStanceModel) -> Figures {
        let stances: Vec<Stances> = readings.iter().map(|r| r.stances(model)).collect();
        let sided: Vec<Answer> = readings
            .iter()
            .zip(&stances)
            .filter(|(reading, _)| reading.class != StanceClass::Neither)
            .map(|(reading, s)| (s.pro_of_sides(), reading.class == StanceClass::Pro))
            .collect();
        let found: Vec<StanceClass> = stances.iter().map(likeliest).collect();
        let truth = || readings.iter().map(|reading| reading.class);
        let sure = stances.iter().map(|s| s.pro.max(s.con).max(s.neither));
        let right = truth().zip(&found).map(|(truth, found)| truth == *found);
        let of = |class: StanceClass| {
            let hits = truth()
                .zip(&found)
                .filter(|(a, b)| *a == class && **b == class);
            let missed = truth()
                .zip(&found)
                .filter(|(a, b)| (*a == class) != (**b == class));
            let hits = 2.0 * hits.count() as f64;
            hits / (hits + missed.count() as f64).max(1.0)
        };
        Figures {
            sides: (
                macro_f1(
                    sided.iter().map(|(_, truth)| *truth),
                    sided.iter().map(|(pro, _)| *pro > 0.5),
                ),
                calibration_error(&sided),
            ),
            classes: (
                macro_f1(truth(), found.iter().copied()),
                calibration_error_of(sure.zip(right)),
            ),
            pro_and_con: f64::midpoint(of(StanceClass::Pro), of(StanceClass::Con)),
        }
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ((f1, ece), (f1_of_three, ece_of_three)) = (self.sides, self.classes);
        write!(f, "{f1:.3}, {ece:.3}; {f1_of_three:.3}, {ece_of_three:.3}")
    }
}

/// The class with the highest probability.
fn likeliest(s: &Stances) -> StanceClass {
    match () {
        () if s.neither >= s.pro.max(s.con) => StanceClass::Neither,
        () if s.pro > s.con => StanceClass::Pro,
        () => StanceClass::Con,
    }
}

/// The readings of all collections, by the weights that left out the parts of VAST and SemEval that are measured.
pub fn sources(inputs: &Inputs) -> Result<Vec<Source>> {
    let base = BaseModel::find(inputs.models)?;
    let weights = fs::read(inputs.held_out)
        .with_context(|| format!("cannot read the weights {}", inputs.held_out.display()))?;
    let encoder = StanceEncoder::load_trained(&base.dir, &base.sha256, &weights, base.backend)?;
    let mut sources = Vec::new();
    for set in data::stance_sets(inputs.data)? {
        let mut rows = sided(&set);
        rows.extend(unrelated(&set));
        sources.push(Source {
            name: set.name,
            readings: read(&encoder, rows)?,
        });
    }
    for set in targets::target_sets(inputs.data)? {
        let rows = set.divided().dev.into_iter();
        let rows = rows.map(|row| (row.claim(), row.text, row.class)).collect();
        sources.push(Source {
            name: set.name,
            readings: read(&encoder, rows)?,
        });
    }
    Ok(sources)
}

/// The usual values of each measure: from the smallest of all sources to the largest, where each source leaves out the outermost texts at both ends.
fn kinds_of(sources: &[&Source], certainty: f64) -> Kinds {
    let ranges = MEASURES.into_iter().enumerate().map(|(n, name)| {
        let of_source = |source: &&Source| -> Option<[f64; 2]> {
            let texts = source.readings.iter().map(|r| Pieces::of(&r.text));
            let mut values: Vec<f64> = texts
                .filter_map(|pieces| measures(&pieces.whole))
                .map(|of_text| of_text[n])
                .collect();
            values.sort_by(f64::total_cmp);
            let outermost = (values.len() as f64 * UNUSUAL) as usize;
            let low = values.get(outermost)?;
            Some([*low, *values.iter().nth_back(outermost)?])
        };
        let of_all = sources.iter().filter_map(of_source);
        let range = of_all.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        (name.to_owned(), range.unwrap_or_default().map(rounded))
    });
    Kinds {
        certainty,
        ranges: ranges.collect(),
    }
}

/// By which factor the log-odds of texts must be smaller that are unlike all other sources: fitted on all of them, each read with the weights that the
/// other sources give.
fn certainty(sources: &[Source], strangers: &[TextStanceModel]) -> Result<f64> {
    let (mut log_odds, mut supports) = (Vec::new(), Vec::new());
    for (source, model) in sources.iter().zip(strangers) {
        for reading in &source.readings {
            if reading.class != StanceClass::Neither && model.unlike(&reading.text).is_some() {
                log_odds.push(vec![logit(reading.stances(model).pro_of_sides())]);
                supports.push(f64::from(reading.class == StanceClass::Pro));
            }
        }
    }
    let (_, weights) =
        logistic_regression(&log_odds, &supports, WEIGHTS_PENALTY, false).context("certainty")?;
    println!(
        "{} texts are unlike all other sources; factor {:.3}",
        supports.len(),
        weights[0]
    );
    Ok(rounded(weights[0].clamp(0.01, 1.0)))
}

/// A claim, a text, and the text's stance.
type Labelled = (String, String, StanceClass);

/// The development part of a collection.
pub fn sided(set: &StanceSet) -> Vec<Labelled> {
    let rows = set.dev.iter();
    rows.map(|row| {
        let class = if row.supports {
            StanceClass::Pro
        } else {
            StanceClass::Con
        };
        (row.claim.clone(), row.text.clone(), class)
    })
    .collect()
}

/// Reads each text with the encoder, piece by piece.
pub fn read(encoder: &StanceEncoder, rows: Vec<Labelled>) -> Result<Vec<Reading>> {
    let logits = {
        let texts = rows.iter();
        let pieces =
            ClaimedPieces::of(texts.map(|(claim, text, _)| (claim.as_str(), text.as_str())));
        pieces.by_text(encoder.logits(&pieces.pairs())?)
    };
    let rows = rows.into_iter().zip(logits);
    Ok(rows
        .map(|((claim, text, class), logits)| Reading {
            claim,
            text,
            class,
            logits,
        })
        .collect())
}

/// Texts of a development part, each with the claim of another group.
fn unrelated(set: &StanceSet) -> Vec<Labelled> {
    let shift = set.dev.len() / 2;
    let rows = set.dev.iter().enumerate().step_by(ONE_UNRELATED_IN);
    rows.filter_map(|(n, row)| {
        let other = &set.dev[(n + shift) % set.dev.len()];
        let is_other = other.group != row.group;
        is_other.then(|| (other.claim.clone(), row.text.clone(), StanceClass::Neither))
    })
    .collect()
}

/// At most [`FITTED_ON`] readings, spread over all.
fn sample(readings: &[Reading]) -> impl Iterator<Item = &Reading> {
    let step = readings.len().div_ceil(FITTED_ON).max(1);
    readings.iter().step_by(step)
}

/// The models of words from the training parts: PRO against CON, and unrelated against related texts.
fn word_models(sets: &[StanceSet]) -> Result<(LogisticLayout, LogisticLayout)> {
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

/// The weights of the encoder and the models of words. A weight that would be negative is 0.
fn combine(
    sides: &LogisticLayout,
    neither: &LogisticLayout,
    rows: &[&Reading],
    kinds: Kinds,
) -> Result<TextStanceFile> {
    let text = |weights| TextStanceFile {
        weights,
        kinds: kinds.clone(),
        sides: sides.clone(),
        neither: neither.clone(),
    };
    let none = TextStanceWeights {
        whole: 0.0,
        sentences: 0.0,
        words: 0.0,
        neither: 0.0,
        neither_bias: 0.0,
    };
    let words = TextStanceModel::new(text(none))?;
    let (mut opinions, mut supports) = (Vec::new(), Vec::new());
    let (mut says_neither, mut targets) = (Vec::new(), Vec::new());
    for reading in rows {
        let has_tags = Pieces::of(&reading.text).with_tags.is_some();
        let Some(o) = EncoderLogOdds::of(&reading.logits, has_tags) else {
            continue;
        };
        if !is_sentence(&reading.text) {
            continue;
        }
        says_neither.push(vec![o.neither]);
        targets.push(f64::from(reading.class == StanceClass::Neither));
        if reading.class != StanceClass::Neither {
            opinions.push(vec![
                o.whole + o.tags,
                o.sentences + o.tags,
                words.words(&reading.claim, &reading.text),
            ]);
            supports.push(f64::from(reading.class == StanceClass::Pro));
        }
    }
    let w = not_negative(&opinions, &supports).context("PRO against CON")?;
    let (bias, n) =
        logistic_regression(&says_neither, &targets, WEIGHTS_PENALTY, true).context("neither")?;
    Ok(text(TextStanceWeights {
        whole: rounded(w[0]),
        sentences: rounded(w[1]),
        words: rounded(w[2]),
        neither: rounded(n[0].max(0.0)),
        neither_bias: rounded(bias),
    }))
}

/// The weights of a logistic regression without a bias. While one is negative, its feature is left out.
fn not_negative(rows: &[Vec<f64>], targets: &[f64]) -> Result<Vec<f64>> {
    let mut rows = rows.to_vec();
    loop {
        let (_, weights) = logistic_regression(&rows, targets, WEIGHTS_PENALTY, false)?;
        let least = (0..weights.len()).min_by(|a, b| weights[*a].total_cmp(&weights[*b]));
        match least.filter(|at| weights[*at] < 0.0) {
            // a feature that is always 0 has the weight 0, because of the penalty
            Some(at) => rows.iter_mut().for_each(|row| row[at] = 0.0),
            None => return Ok(weights),
        }
    }
}
