//! Text stance: the features of words from the collections' learned parts, and what the pair encoder's opinions and theirs
//! weigh from the development parts, which makes them probabilities.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use riposte::reading::pair::{Logits, PairEncoder};
use riposte::reading::pieces::pieces;
use riposte::score::linear::LinearText;
use riposte::score::text_stance::{
    EncoderLogOdds, Model, ModelText, NEITHER, SIDES, Weights, features,
};

use super::data::{self, StanceSet, Stanced};
use super::fit::{fit, logistic_regression, rounded, table};
use super::stance::{base, macro_f1};

/// On the features of words, and on the few weights.
const WORDS_PENALTY: f64 = 10.0;
const WEIGHTS_PENALTY: f64 = 1.0;
/// Texts of each development part that the weights are fitted on: all collections count the same.
const OF_EACH: usize = 240;
/// Of so many texts one is given a claim of another matter: how often a text that is shown for a topic says nothing of it.
const ONE_FOREIGN_OF: usize = 4;

/// A development text as the encoder reads it.
pub struct Read {
    pub row: Stanced,
    pub logits: Vec<Logits>,
}

/// The weight file, with its figures in the head.
pub fn train(dir: &Path, models: Option<&Path>) -> Result<String> {
    let (base, sha) = base(models)?;
    let encoder = PairEncoder::load(&base, &sha)?;
    let sets = data::stance_sets(dir)?;
    let (sides, unrelated) = words(&sets)?;
    let mut dev = Vec::new();
    for set in &sets {
        dev.push((set.name, read(&encoder, set.dev.clone())?));
    }
    let foreign = foreign(&encoder, &sets)?;
    let model = |halves: [bool; 2]| -> Result<ModelText> {
        let chosen: Vec<&Read> = dev
            .iter()
            .flat_map(|(_, rows)| some(rows, halves))
            .collect();
        let strangers: Vec<&Read> = some(&foreign, halves).collect();
        weigh(&sides, &unrelated, &chosen, &strangers)
    };
    // each half judged by the weights of the other
    let crossed = [
        Model::new(model([false, true])?)?,
        Model::new(model([true, false])?)?,
    ];
    let mut head = String::from(
        "# Stance of a text towards a claim: weights of src/score/text_stance.rs.\n\
         # collection-tools train text-stance --data DATA -o models/own/text-stance.toml\n\
         # Features of words from the learned parts of Perspectrum, IBM claims, ArgKP, debates and tweets; the weights from 240 texts\n\
         # of each development part. Macro-F1 and calibration error (ten bins) of PRO against CON on the development parts, each\n\
         # half by the weights of the other; then without the encoder; and how often neither was the likeliest:\n",
    );
    // share of the texts of which neither is the likeliest
    let neither = |rows: &[Read]| {
        let found = rows.iter().enumerate().filter(|(n, read)| {
            let model = &crossed[half(*n, rows.len())];
            let s = model.stances(&read.row.claim, &read.row.text, Some(&read.logits));
            s.neither > s.pro.max(s.con)
        });
        found.count() as f64 / rows.len() as f64
    };
    for (name, rows) in &dev {
        let mut line = format!("# {name}:");
        for encoder in [true, false] {
            let shares: Vec<(f64, bool)> = rows
                .iter()
                .zip(0..)
                .map(|(read, n)| {
                    let logits = encoder.then_some(read.logits.as_slice());
                    let s = crossed[half(n, rows.len())].stances(
                        &read.row.claim,
                        &read.row.text,
                        logits,
                    );
                    (s.pro / (s.pro + s.con), read.row.supports)
                })
                .collect();
            let f1 = macro_f1(
                shares.iter().map(|(_, truth)| *truth),
                shares.iter().map(|(share, _)| *share > 0.5),
            );
            let _ = write!(line, " {f1:.3}, {:.3};", calibration_error(&shares));
        }
        let share = neither(rows);
        let _ = writeln!(head, "{line} {share:.3}");
    }
    let share = neither(&foreign);
    let _ = writeln!(
        head,
        "# texts with a claim of another matter, neither the likeliest: {share:.3}"
    );
    print!("{head}");
    let all = model([true, true])?;
    let w = &all.weights;
    let _ = write!(
        head,
        "\n[weights]\nwhole = {}\nsentences = {}\nwords = {}\nneither = {}\nneither_bias = {}\n",
        w.whole, w.sentences, w.words, w.neither, w.neither_bias
    );
    Ok(head + &table("sides", &all.sides, &SIDES) + &table("neither", &all.neither, &NEITHER))
}

/// What the encoder says of texts.
pub fn read(encoder: &PairEncoder, rows: Vec<Stanced>) -> Result<Vec<Read>> {
    let texts: Vec<Vec<&str>> = rows.iter().map(|row| pieces(&row.text)).collect();
    let pairs: Vec<(&str, &str)> = rows
        .iter()
        .zip(&texts)
        .flat_map(|(row, texts)| texts.iter().map(|text| (row.claim.as_str(), *text)))
        .collect();
    let mut logits = encoder.logits(&pairs)?.into_iter();
    let counts: Vec<usize> = texts.iter().map(Vec::len).collect();
    Ok(rows
        .into_iter()
        .zip(counts)
        .map(|(row, count)| Read {
            row,
            logits: logits.by_ref().take(count).collect(),
        })
        .collect())
}

/// Texts of the development parts, each with the claim of a text far from it.
fn foreign(encoder: &PairEncoder, sets: &[StanceSet]) -> Result<Vec<Read>> {
    let mut rows = Vec::new();
    for set in sets.iter().filter(|set| set.name != "tweets") {
        let shift = set.dev.len() / 2;
        for (n, row) in set.dev.iter().enumerate().step_by(ONE_FOREIGN_OF) {
            let other = &set.dev[(n + shift) % set.dev.len()];
            if other.group != row.group {
                rows.push(Stanced {
                    claim: other.claim.clone(),
                    ..row.clone()
                });
            }
        }
    }
    read(encoder, rows)
}

/// So far from one another are the rows of so many that are fitted on.
fn step(count: usize) -> usize {
    count.div_ceil(OF_EACH).max(1)
}

/// Which half a row is of.
fn half(n: usize, count: usize) -> usize {
    n / step(count) % 2
}

/// Rows of the first and of the second half, at most 240 of them, spread over all.
fn some(rows: &[Read], halves: [bool; 2]) -> impl Iterator<Item = &Read> {
    rows.iter()
        .enumerate()
        .step_by(step(rows.len()))
        .filter(move |(n, _)| halves[half(*n, rows.len())])
        .map(|(_, row)| row)
}

/// The models of words, from the learned parts.
fn words(sets: &[StanceSet]) -> Result<(LinearText, LinearText)> {
    let rows: Vec<&Stanced> = sets.iter().flat_map(|set| &set.learned).collect();
    let (mut sides, mut truth) = (Vec::new(), Vec::new());
    let (mut rest, mut strange) = (Vec::new(), Vec::new());
    for (n, row) in rows.iter().enumerate() {
        let (of_sides, of_rest) = features(&row.claim, &row.text);
        sides.push(of_sides);
        truth.push(f64::from(row.supports));
        rest.push(of_rest);
        strange.push(0.0);
        if n % ONE_FOREIGN_OF == 0 {
            let other = rows[(n + rows.len() / 2) % rows.len()];
            rest.push(features(&other.claim, &row.text).1);
            strange.push(1.0);
        }
    }
    Ok((
        fit(&SIDES, &sides, &truth, WORDS_PENALTY, true)?,
        fit(&NEITHER, &rest, &strange, WORDS_PENALTY, false)?,
    ))
}

/// What the opinions weigh.
fn weigh(
    sides: &LinearText,
    neither: &LinearText,
    rows: &[&Read],
    strangers: &[&Read],
) -> Result<ModelText> {
    let text = |weights| ModelText {
        weights,
        sides: sides.clone(),
        neither: neither.clone(),
    };
    let none = Weights {
        whole: 0.0,
        sentences: 0.0,
        words: 0.0,
        neither: 0.0,
        neither_bias: 0.0,
    };
    let words = Model::new(text(none))?;
    let (mut opinions, mut truth) = (Vec::new(), Vec::new());
    let (mut rest, mut strange) = (Vec::new(), Vec::new());
    for (read, is_strange) in rows
        .iter()
        .map(|row| (row, false))
        .chain(strangers.iter().map(|row| (row, true)))
    {
        let Some(o) = EncoderLogOdds::of(&read.logits) else {
            continue;
        };
        rest.push(vec![o.neither]);
        strange.push(f64::from(is_strange));
        if !is_strange {
            opinions.push(vec![
                o.whole,
                o.sentences,
                words.words(&read.row.claim, &read.row.text),
            ]);
            truth.push(f64::from(read.row.supports));
        }
    }
    let (_, w) = logistic_regression(&opinions, &truth, WEIGHTS_PENALTY, false)?;
    let (bias, n) = logistic_regression(&rest, &strange, WEIGHTS_PENALTY, true)?;
    Ok(text(Weights {
        whole: rounded(w[0]),
        sentences: rounded(w[1]),
        words: rounded(w[2]),
        neither: rounded(n[0]),
        neither_bias: rounded(bias),
    }))
}

/// Expected calibration error (Naeini et al. 2015): how far the probability of the answer given is from how often it is right,
/// over ten bins of equal width between a half and one.
pub fn calibration_error(shares: &[(f64, bool)]) -> f64 {
    let bins = reliability(shares);
    let gap = bins
        .iter()
        .map(|bin| bin.count * (bin.sure - bin.right).abs());
    gap.sum::<f64>() / shares.len().max(1) as f64
}

/// Answers that were about as sure.
pub struct Bin {
    pub count: f64,
    /// Mean probability of the answers.
    pub sure: f64,
    /// Share of them that are right.
    pub right: f64,
}

/// Of P(pro | pro or con) and whether it is PRO.
pub fn reliability(shares: &[(f64, bool)]) -> Vec<Bin> {
    let mut sums = vec![[0f64; 3]; 10];
    for (share, truth) in shares {
        let sure = share.max(1.0 - share);
        let bin = (((sure - 0.5) * 20.0) as usize).min(9);
        let right = (*share > 0.5) == *truth;
        for (sum, x) in sums[bin].iter_mut().zip([1.0, sure, f64::from(right)]) {
            *sum += x;
        }
    }
    sums.into_iter()
        .map(|[count, sure, right]| Bin {
            count,
            sure: sure / count.max(1.0),
            right: right / count.max(1.0),
        })
        .collect()
}
