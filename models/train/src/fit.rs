//! Logistic regression with an L2 penalty by Newton's method, and its weights as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use riposte::score::linear::{FeatureWeight, LogisticLayout, LogisticModel, MAX_DEVIATIONS};
use riposte::score::logistic;

/// Maximum number of Newton steps. Each step squares the error, so a fit that needs more steps has faulty data.
const MAX_STEPS: usize = 60;

/// Minimises the summed cross-entropy plus penalty/2 × |weights|² (scikit-learn's C is 1/penalty), and returns the bias and
/// the weights. Targets are probabilities. The bias is not penalised; without one it is 0.
///
/// # Errors
/// There are no rows, a feature is not finite, or the method does not converge.
pub fn logistic_regression(
    rows: &[Vec<f64>],
    targets: &[f64],
    penalty: f64,
    with_bias: bool,
) -> Result<(f64, Vec<f64>)> {
    minimise(rows, targets, &vec![0.0; rows.len()], penalty, with_bias)
}

/// As [`logistic_regression`], but without a bias, and the log-odds of each row start from the row's offset.
///
/// # Errors
/// As [`logistic_regression`].
pub fn logistic_regression_from(
    rows: &[Vec<f64>],
    targets: &[f64],
    offsets: &[f64],
    penalty: f64,
) -> Result<Vec<f64>> {
    minimise(rows, targets, offsets, penalty, false).map(|(_, weights)| weights)
}

fn minimise(
    rows: &[Vec<f64>],
    targets: &[f64],
    offsets: &[f64],
    penalty: f64,
    with_bias: bool,
) -> Result<(f64, Vec<f64>)> {
    let width = rows
        .first()
        .context("there are no examples to learn from")?
        .len();
    let bias = usize::from(with_bias);
    let n = width + bias;
    let rows: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| (0..bias).map(|_| 1.0).chain(row.iter().copied()).collect())
        .collect();
    let penalties: Vec<f64> = (0..n)
        .map(|i| if i < bias { 0.0 } else { penalty })
        .collect();
    let loss = |beta: &[f64]| -> f64 {
        let data: f64 = rows
            .iter()
            .zip(targets)
            .zip(offsets)
            .map(|((row, t), offset)| {
                let x = offset + dot(row, beta);
                // log(1 + e^x) - t·x without overflow
                x.max(0.0) + (-x.abs()).exp().ln_1p() - t * x
            })
            .sum();
        data + beta
            .iter()
            .zip(&penalties)
            .map(|(b, p)| p * b * b / 2.0)
            .sum::<f64>()
    };
    let mut beta = vec![0.0; n];
    let mut last = loss(&beta);
    for _ in 0..MAX_STEPS {
        let mut gradient: Vec<f64> = beta.iter().zip(&penalties).map(|(b, p)| b * p).collect();
        let mut hessian = vec![vec![0.0; n]; n];
        for ((row, target), offset) in rows.iter().zip(targets).zip(offsets) {
            let p = logistic(offset + dot(row, &beta));
            let spread = p * (1.0 - p);
            for i in 0..n {
                gradient[i] += (p - target) * row[i];
                let x = spread * row[i];
                for (h, y) in hessian[i][..=i].iter_mut().zip(row) {
                    *h += x * y;
                }
            }
        }
        for i in 0..n {
            hessian[i][i] += penalties[i] + 1e-10;
        }
        let step = solve(hessian, gradient)?;
        // halve the step until the loss falls
        let mut factor = 1.0;
        let (next, now) = loop {
            let next: Vec<f64> = beta
                .iter()
                .zip(&step)
                .map(|(b, s)| b - factor * s)
                .collect();
            let now = loss(&next);
            if now <= last || factor < 1e-6 {
                break (next, now);
            }
            factor /= 2.0;
        };
        beta = next;
        if (last - now).abs() <= 1e-12 * last.abs() {
            let weights = beta.split_off(bias);
            return Ok((beta.first().copied().unwrap_or(0.0), weights));
        }
        last = now;
    }
    anyhow::bail!("logistic regression did not converge in {MAX_STEPS} steps")
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Solves a·x = b by Cholesky decomposition; only the lower triangle of `a` is read.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Result<Vec<f64>> {
    let n = b.len();
    for i in 0..n {
        for j in 0..=i {
            let sum = a[i][j] - dot(&a[i][..j], &a[j][..j]);
            a[i][j] = if i == j {
                ensure!(sum > 0.0, "the features are not finite or not independent");
                sum.sqrt()
            } else {
                sum / a[j][j]
            };
        }
    }
    for i in 0..n {
        b[i] = (b[i] - dot(&a[i][..i], &b[..i])) / a[i][i];
    }
    for i in (0..n).rev() {
        let below: f64 = (i + 1..n).map(|k| a[k][i] * b[k]).sum();
        b[i] = (b[i] - below) / a[i][i];
    }
    Ok(b)
}

/// Rounds to four decimals, so that differences in the last bits between machines do not reach the file.
pub fn rounded(x: f64) -> f64 {
    // adding 0.0 turns -0 into 0
    (x * 1e4).round() / 1e4 + 0.0
}

/// Standardises the features, learns the weights, and rounds them. `odd` leaves out the bias and the means, for features that
/// change their sign when the two sides are exchanged.
///
/// # Errors
/// As [`logistic_regression`].
pub fn fit(
    names: &[&'static str],
    rows: &[Vec<f64>],
    targets: &[f64],
    penalty: f64,
    odd: bool,
) -> Result<LogisticLayout> {
    let count = rows.len().max(1) as f64;
    let mut weights: Vec<FeatureWeight> = (0..names.len())
        .map(|n| {
            let column = rows.iter().map(|row| row[n]);
            let mean = if odd {
                0.0
            } else {
                rounded(column.clone().sum::<f64>() / count)
            };
            let square = column.map(|x| (x - mean).powi(2)).sum::<f64>() / count;
            FeatureWeight {
                mean,
                // a constant feature gets no weight
                deviation: rounded(square.sqrt()).max(1e-3),
                weight: 0.0,
            }
        })
        .collect();
    let standardised: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| {
            weights
                .iter()
                .zip(row)
                .map(|(w, x)| w.standardise(*x))
                .collect()
        })
        .collect();
    debug_assert!(
        standardised
            .iter()
            .flatten()
            .all(|z| z.abs() <= MAX_DEVIATIONS)
    );
    let (bias, learned) = logistic_regression(&standardised, targets, penalty, !odd)?;
    for (weight, learned) in weights.iter_mut().zip(learned) {
        weight.weight = rounded(learned);
    }
    Ok(LogisticLayout {
        bias: rounded(bias),
        features: names.iter().map(|n| (*n).to_owned()).zip(weights).collect(),
    })
}

/// The model of the weights, for use in cross-validation.
///
/// # Errors
/// The weights are not those of the named features.
pub fn model(text: &LogisticLayout, names: &[&'static str]) -> Result<LogisticModel> {
    LogisticModel::new(text.clone(), names)
}

/// The weights as a TOML table, in the order of the names.
pub fn table(title: &str, text: &LogisticLayout, names: &[&'static str]) -> String {
    let mut out = format!("\n[{title}]\nbias = {}\n\n[{title}.features]\n", text.bias);
    let features: &BTreeMap<String, FeatureWeight> = &text.features;
    for (name, w) in names.iter().filter_map(|n| features.get_key_value(*n)) {
        let _ = writeln!(
            out,
            "{name:?} = {{ mean = {}, deviation = {}, weight = {} }}",
            w.mean, w.deviation, w.weight
        );
    }
    out
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
    const TARGETS: [f64; 8] = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0];

    /// `LogisticRegression(C=1/penalty, fit_intercept=…, tol=1e-12).fit(ROWS, TARGETS)` of scikit-learn 1.9.1:
    /// penalty, whether there is a bias, the bias, and the weights.
    const REFERENCE: [(f64, bool, f64, [f64; 2]); 3] = [
        (1.0, true, -0.01623717, [0.46074789, 0.67514074]),
        (0.1, true, 0.05145103, [0.72311275, 1.20792551]),
        (0.5, false, 0.00000000, [0.56430849, 0.87373614]),
    ];

    #[test]
    fn the_weights_equal_those_of_scikit_learn() {
        let rows: Vec<Vec<f64>> = ROWS.iter().map(|row| row.to_vec()).collect();
        for (penalty, with_bias, bias, weights) in REFERENCE {
            let found = logistic_regression(&rows, &TARGETS, penalty, with_bias).unwrap();
            assert!((found.0 - bias).abs() < 1e-6, "{found:?}");
            for (found, weight) in found.1.iter().zip(weights) {
                assert!((found - weight).abs() < 1e-6, "{found} {weight}");
            }
        }
    }

    #[test]
    fn features_that_are_not_finite_are_refused() {
        let rows = vec![vec![f64::NAN], vec![1.0]];
        assert!(logistic_regression(&rows, &[0.0, 1.0], 1.0, true).is_err());
        assert!(logistic_regression(&[], &[], 1.0, true).is_err());
    }
}
