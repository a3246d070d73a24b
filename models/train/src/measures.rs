//! Measures of classification: F1, calibration and AUC.

use std::cmp::Ordering;

/// The mean F1 of the classes that occur in `truth`.
pub fn macro_f1<T: PartialEq>(
    truth: impl Iterator<Item = T>,
    found: impl Iterator<Item = T>,
) -> f64 {
    let pairs: Vec<(T, T)> = truth.zip(found).collect();
    let mut classes: Vec<&T> = Vec::new();
    for (truth, _) in &pairs {
        if !classes.contains(&truth) {
            classes.push(truth);
        }
    }
    let f1 = |class: &T| {
        let hits = pairs
            .iter()
            .filter(|(a, b)| a == class && b == class)
            .count() as f64;
        let missed = pairs
            .iter()
            .filter(|(a, b)| (a == class) != (b == class))
            .count() as f64;
        2.0 * hits / (2.0 * hits + missed).max(1.0)
    };
    classes.iter().map(|class| f1(class)).sum::<f64>() / classes.len().max(1) as f64
}

/// A probability of PRO given that the text takes a side, and whether it is PRO.
pub type Answer = (f64, bool);

/// The expected calibration error (Naeini et al. 2015): the mean distance between the probability of an answer and the share of
/// right answers, over ten bins of equal width between 0.5 and 1.
pub fn calibration_error(answers: &[Answer]) -> f64 {
    let bins = reliability(answers);
    let gaps = bins
        .iter()
        .map(|bin| bin.count * (bin.confidence - bin.accuracy).abs());
    gaps.sum::<f64>() / answers.len().max(1) as f64
}

/// The expected calibration error of answers of any number of classes: pairs of the probability of the answer that is given and whether it is right. Ten
/// bins over 0 to 1.
pub fn calibration_error_of(answers: impl Iterator<Item = (f64, bool)>) -> f64 {
    let mut bins = [[0f64; 3]; 10];
    for (confidence, right) in answers {
        let bin = &mut bins[((confidence * 10.0) as usize).min(9)];
        for (sum, x) in bin.iter_mut().zip([1.0, confidence, f64::from(right)]) {
            *sum += x;
        }
    }
    let all: f64 = bins.iter().map(|[count, ..]| count).sum();
    let gaps = bins
        .iter()
        .map(|[_, confidence, right]| (confidence - right).abs());
    gaps.sum::<f64>() / all.max(1.0)
}

/// The answers whose confidence lies in the same tenth of 0.5 to 1.
pub struct Bin {
    pub count: f64,
    /// Mean probability of the answers given.
    pub confidence: f64,
    /// Share of the answers that are right.
    pub accuracy: f64,
}

/// The ten bins, from the least to the most confident answers.
pub fn reliability(answers: &[Answer]) -> Vec<Bin> {
    let mut sums = vec![[0f64; 3]; 10];
    for (probability, truth) in answers {
        let confidence = probability.max(1.0 - probability);
        let bin = (((confidence - 0.5) * 20.0) as usize).min(9);
        let right = (*probability > 0.5) == *truth;
        for (sum, x) in sums[bin]
            .iter_mut()
            .zip([1.0, confidence, f64::from(right)])
        {
            *sum += x;
        }
    }
    sums.into_iter()
        .map(|[count, confidence, accuracy]| Bin {
            count,
            confidence: confidence / count.max(1.0),
            accuracy: accuracy / count.max(1.0),
        })
        .collect()
}

/// The share of pairs of a positive and a negative item of the same group in which the positive one has the higher score;
/// equal scores count half. Items are (group, score, is positive).
pub fn auc(items: impl Iterator<Item = (String, f64, bool)>) -> f64 {
    let items: Vec<_> = items.collect();
    let (mut right, mut pairs) = (0.0, 0.0);
    for (group, score, is_positive) in &items {
        for (other_group, other_score, other_is_positive) in &items {
            if *is_positive && !other_is_positive && group == other_group {
                pairs += 1.0;
                right += match score.total_cmp(other_score) {
                    Ordering::Greater => 1.0,
                    Ordering::Equal => 0.5,
                    Ordering::Less => 0.0,
                };
            }
        }
    }
    right / f64::max(pairs, 1.0)
}

/// Spearman's rank correlation; equal values share the mean of their ranks. 0 if all values of one side are equal.
pub fn spearman(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |values: Vec<f64>| -> Vec<f64> {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let mut ranks = vec![0.0; values.len()];
        let mut from = 0;
        for same in order.chunk_by(|a, b| values[*a] == values[*b]) {
            let mean = from as f64 + (same.len() as f64 - 1.0) / 2.0;
            same.iter().for_each(|&at| ranks[at] = mean);
            from += same.len();
        }
        ranks
    };
    let x = ranks(pairs.iter().map(|(x, _)| *x).collect());
    let y = ranks(pairs.iter().map(|(_, y)| *y).collect());
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let sum = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let scale = (sum(&x, &x) * sum(&y, &y)).sqrt();
    if scale > 0.0 {
        sum(&x, &y) / scale
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macro_f1_counts_each_class_alike() {
        let truth = [true, true, true, false];
        let found = [true, true, false, false];
        // F1 of true: precision 1, recall 2/3; of false: precision 1/2, recall 1
        let expected = (0.8 + 2.0 / 3.0) / 2.0;
        let f1 = macro_f1(truth.into_iter(), found.into_iter());
        assert!((f1 - expected).abs() < 1e-12, "{f1}");
    }

    #[test]
    fn calibration_error_is_zero_where_confidence_is_accuracy() {
        let answers: Vec<Answer> = (0..20).map(|n| (0.75, n < 15)).collect();
        assert!(calibration_error(&answers) < 1e-12);
        assert!((calibration_error(&[(1.0, false)]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn spearman_compares_ranks() {
        let pairs = [(1.0, 10.0), (2.0, 20.0), (3.0, 1000.0)];
        assert!((spearman(&pairs) - 1.0).abs() < 1e-12);
        // scipy.stats.spearmanr([1, 2, 2, 4], [3, 1, 4, 5])
        let tied = [(1.0, 3.0), (2.0, 1.0), (2.0, 4.0), (4.0, 5.0)];
        assert!((spearman(&tied) - 0.632_455_532_033_675_9).abs() < 1e-12);
        assert_eq!(spearman(&[(1.0, 2.0), (1.0, 3.0)]), 0.0);
    }

    #[test]
    fn auc_compares_within_groups_only() {
        let item = |group: &str, score, is| (group.to_owned(), score, is);
        let items = [
            item("a", 2.0, true),
            item("a", 1.0, false),
            item("a", 2.0, false),
            item("b", 9.0, false),
        ];
        assert_eq!(auc(items.into_iter()), 0.75);
    }
}
