//! `train svr-quality`: a linear support vector regression of the quality of arguments over their words, like Heimdall's.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use riposte::systems::svr::{SvrModel, TfIdf, Vocabulary, words};
use riposte_eval::TopicId;
use seeded_random::Random;

use crate::data::{self, JudgedText};
use crate::quality::agreement;

/// Words that fewer judged texts have are left out of the vocabulary.
const MIN_TEXTS: u64 = 3;
/// The same for IBM-ArgQ-Rank-30k, which has 35 times as many texts, of a sentence each.
const MIN_SENTENCES: u64 = 5;

/// What the regression minimises: half of the squared length of the weights and the intercept, plus `cost` times the sum of
/// the errors beyond `epsilon`.
struct Penalties {
    cost: f64,
    epsilon: f64,
    /// Training ends when no gradient of the dual problem is further from its optimum than this.
    tolerance: f64,
    passes: usize,
}

/// The settings of scikit-learn's `LinearSVR()`, but with a smaller tolerance.
const HEIMDALL: Penalties = Penalties {
    cost: 1.0,
    epsilon: 0.0,
    tolerance: 1e-6,
    passes: 10_000,
};

/// A row: the column and the value of each feature that is not 0.
type Sparse = [(usize, f64)];

/// The weights and the intercept of a support vector regression with the epsilon-insensitive loss, by coordinate descent in the dual
/// problem (Ho and Lin 2012, "Large-scale linear support vector regression"). The intercept is the weight of a feature that is always 1, as
/// in LIBLINEAR.
fn linear_svr(
    rows: &[Vec<(usize, f64)>],
    targets: &[f64],
    columns: usize,
    penalties: &Penalties,
) -> (Vec<f64>, f64) {
    let Penalties { cost, epsilon, .. } = *penalties;
    let (mut weights, mut intercept) = (vec![0.0; columns], 0.0);
    let mut duals = vec![0.0; rows.len()];
    let squares: Vec<f64> = rows.iter().map(|row| 1.0 + square(row)).collect();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let mut random = Random::new(1, "svr", 0);
    for _ in 0..penalties.passes {
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last + 1));
        }
        let mut worst = 0f64;
        for &at in &order {
            let row = rows[at].as_slice();
            let dual: f64 = duals[at];
            let error = intercept + row.iter().map(|(c, x)| weights[*c] * x).sum::<f64>();
            let error = error - targets[at];
            let (up, down) = (error + epsilon, error - epsilon);
            worst = worst.max(violation(dual, up, down, cost));
            let step = if up < squares[at] * dual {
                -up / squares[at]
            } else if down > squares[at] * dual {
                -down / squares[at]
            } else {
                -dual
            };
            let new = (dual + step).clamp(-cost, cost);
            let change = new - dual;
            if change != 0.0 {
                duals[at] = new;
                intercept += change;
                for (column, x) in row {
                    weights[*column] += change * x;
                }
            }
        }
        if worst <= penalties.tolerance {
            break;
        }
    }
    (weights, intercept)
}

fn square(row: &Sparse) -> f64 {
    row.iter().map(|(_, x)| x * x).sum()
}

/// How far a dual variable in [-cost, cost] is from its optimum, given the derivatives of the objective in both directions.
fn violation(dual: f64, up: f64, down: f64, cost: f64) -> f64 {
    if dual == 0.0 {
        (-up).max(down).max(0.0)
    } else if dual >= cost {
        up.max(0.0)
    } else if dual <= -cost {
        (-down).max(0.0)
    } else if dual > 0.0 {
        up.abs()
    } else {
        down.abs()
    }
}

/// The weight file without its first lines.
fn learn(texts: &[&JudgedText<f64>], min_texts: u64) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for of in texts {
        let mut seen: Vec<String> = words(&of.text).collect();
        seen.sort_unstable();
        seen.dedup();
        for word in seen {
            *counts.entry(word).or_default() += 1;
        }
    }
    counts.retain(|_, count| *count >= min_texts);
    let vocabulary = Vocabulary::new(texts.len() as u64, counts.clone());
    let columns: BTreeMap<&str, usize> = vocabulary.words().zip(0..).collect();
    let column = |vector: TfIdf| -> Vec<(usize, f64)> {
        let known = vector.into_iter();
        known.map(|(word, x)| (columns[word], x)).collect()
    };
    let rows: Vec<_> = texts
        .iter()
        .map(|of| column(vocabulary.vector(&of.text)))
        .collect();
    let targets: Vec<f64> = texts.iter().map(|of| of.judgement).collect();
    let (weights, intercept) = linear_svr(&rows, &targets, columns.len(), &HEIMDALL);
    let mut file = format!("{}\t{intercept:.5}\n", texts.len());
    for ((word, count), weight) in counts.iter().zip(weights) {
        let _ = writeln!(file, "{word}\t{count}\t{weight:.5}");
    }
    file
}

/// The weight file, with the figures of cross-validation in its first lines.
pub fn train(dir: &Path) -> Result<String> {
    let arguments = data::arguments(&dir.join("args/argquality20/args-me.json"))?;
    let mut judged = data::grades(&dir.join("args/argquality20/quality.qrels"), &arguments)?;
    let highest = judged.iter().map(|of| of.judgement).fold(1.0, f64::max);
    for of in &mut judged {
        // a grade below 0 means that the text is not an argument
        of.judgement = of.judgement.max(0.0) / highest;
    }
    let mut sentences = Vec::new();
    for part in ["train", "dev"] {
        let path = dir.join(format!("stance/argq30k-{part}.csv.gz"));
        sentences.extend(data::rated_arguments(&path)?.into_iter().filter_map(|row| {
            Some(JudgedText {
                topic: TopicId(row.group),
                text: row.text,
                judgement: row.quality?,
            })
        }));
    }
    let sentences: Vec<&JudgedText<f64>> = sentences.iter().collect();
    let mut head = String::from(
        "# Quality by words (Heimdall): a linear support vector regression, for src/systems/svr.rs.\n\
         # train svr-quality --data DATA -o models/own/svr-quality.tsv\n\
         # From args/argquality20/quality.qrels, grades divided by 3; C 1, epsilon 0, seed 1; words of at least three texts.\n\
         # For topics left out of training: R² over all texts; within topics, the share of pairs with different grades that are\n\
         # in the right order, and Kendall's tau-b (mean of the topics):\n",
    );
    for (what, scores) in [
        ("this model", cross_validated(&judged)?),
        (
            "the same learned from IBM-ArgQ-Rank-30k alone",
            predictions(&learn(&sentences, MIN_SENTENCES), &judged)?,
        ),
        (
            "length alone",
            judged.iter().map(|of| of.text.len() as f64).collect(),
        ),
    ] {
        let truth: Vec<(&TopicId, f64)> =
            judged.iter().map(|of| (&of.topic, of.judgement)).collect();
        let (pairs, tau) = agreement(&truth, &scores);
        let fit = match what {
            "length alone" => "-".to_owned(),
            _ => format!("{:.3}", r_squared(&truth, &scores)),
        };
        let _ = writeln!(head, "# {what}: {fit}, {pairs:.3}, {tau:.3}");
    }
    print!("{head}");
    let all: Vec<&JudgedText<f64>> = judged.iter().collect();
    Ok(head + &learn(&all, MIN_TEXTS))
}

fn predictions(file: &str, texts: &[JudgedText<f64>]) -> Result<Vec<f64>> {
    let model = SvrModel::parse(file)?;
    Ok(texts.iter().map(|of| model.predict(&of.text)).collect())
}

/// The prediction for each text by a model that is learned from the other topics.
fn cross_validated(judged: &[JudgedText<f64>]) -> Result<Vec<f64>> {
    let mut found = Vec::with_capacity(judged.len());
    for of_topic in judged.chunk_by(|a, b| a.topic == b.topic) {
        let others = judged.iter().filter(|of| of.topic != of_topic[0].topic);
        let file = learn(&others.collect::<Vec<_>>(), MIN_TEXTS);
        found.extend(predictions(&file, of_topic)?);
    }
    Ok(found)
}

/// The share of the variance of the grades that the predictions explain.
fn r_squared(truth: &[(&TopicId, f64)], found: &[f64]) -> f64 {
    let mean = truth.iter().map(|(_, y)| y).sum::<f64>() / truth.len() as f64;
    let total: f64 = truth.iter().map(|(_, y)| (y - mean).powi(2)).sum();
    let left = truth.iter().zip(found).map(|((_, y), x)| (y - x).powi(2));
    1.0 - left.sum::<f64>() / total
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [[f64; 2]; 8] = [
        [0.5, 1.2],
        [-1.0, 0.3],
        [1.5, -0.7],
        [0.2, 0.1],
        [-0.4, -1.1],
        [2.0, 0.9],
        [-1.3, -0.2],
        [0.8, -1.6],
    ];
    const TARGETS: [f64; 8] = [1.0, 0.0, 0.6, 0.3, 0.1, 0.9, 0.4, 0.2];

    /// `LinearSVR(C=…, epsilon=…, tol=1e-12).fit(ROWS, TARGETS)` of scikit-learn 1.9.1: C, epsilon, the intercept, and the weights.
    const REFERENCE: [(f64, f64, f64, [f64; 2]); 3] = [
        (1.0, 0.0, 0.38666667, [0.16666667, 0.2]),
        (0.1, 0.0, 0.23904762, [0.23780952, 0.13390476]),
        (1.0, 0.2, 0.44615385, [0.15384615, 0.23076923]),
    ];

    #[test]
    fn the_weights_equal_those_of_scikit_learn() {
        let rows = ROWS.map(|row| row.into_iter().enumerate().collect());
        for (cost, epsilon, intercept, weights) in REFERENCE {
            let penalties = Penalties {
                cost,
                epsilon,
                tolerance: 1e-10,
                passes: 1_000_000,
            };
            let found = linear_svr(&rows, &TARGETS, 2, &penalties);
            assert!((found.1 - intercept).abs() < 1e-6, "{found:?}");
            for (found, weight) in found.0.iter().zip(weights) {
                assert!((found - weight).abs() < 1e-6, "{found} {weight}");
            }
        }
    }
}
