//! Compares all runs with each other.

use std::collections::BTreeSet;

use strum::{EnumString, IntoStaticStr, VariantNames};

use super::SEED;
use super::paired::{Paired, PairedTest, SignificanceTest, paired};
use crate::TopicId;
use crate::chance::SplitMix64;
use crate::confusion::Confusion;
use crate::values::{Aggregation, MeasureValues};

/// The number of random assignments for Tukey's test. The standard error of p is then at most 0.005, and 0.0022 where p is 0.05.
const SAMPLES: u64 = 10_000;

/// How p-values are corrected, because one of many comparisons is easily significant by chance. The comparisons of one measure belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Correction {
    /// Not at all.
    #[default]
    None,
    /// p times the number of comparisons.
    Bonferroni,
    /// Holm's method (1979): the smallest p times the number of comparisons, the next one times that number less one, and so on.
    Holm,
    /// The randomised version of Tukey's test of honestly significant differences (Carterette, TOIS 2012), in place of another test: p is how often the
    /// difference between the best and the worst run is at least as large if each topic's results are assigned to the runs at random.
    Tukey,
}

/// The comparison of two runs among several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunPair {
    /// The numbers of the first and the second run, from 0; the first is lower.
    pub runs: (usize, usize),
    /// The comparison, with the corrected p.
    pub test: PairedTest,
}

/// The comparisons of all pairs of runs.
#[derive(Clone, Debug)]
pub struct PairwiseTests {
    /// The test. [`Correction::Tukey`] is a test of its own.
    pub test: SignificanceTest,
    /// How the p-values are corrected.
    pub correction: Correction,
    /// A difference is significant if p is at most this.
    pub level: f64,
    /// The comparisons by each measure, in the order of the runs.
    pub columns: Vec<Vec<RunPair>>,
}

impl PairwiseTests {
    /// Compares all runs. `rows` has the values of each run, one per measure.
    pub fn new(
        rows: &[&[MeasureValues]],
        test: SignificanceTest,
        correction: Correction,
        level: f64,
    ) -> PairwiseTests {
        let measures = rows.iter().map(|row| row.len()).min().unwrap_or(0);
        let columns = (0..measures).map(|at| {
            let column: Vec<&MeasureValues> = rows.iter().filter_map(|row| row.get(at)).collect();
            compared(&column, test, correction)
        });
        PairwiseTests {
            test,
            correction,
            level,
            columns: columns.collect(),
        }
    }

    /// The runs that a run is significantly better than, by a measure.
    pub fn beaten(&self, run: usize, column: usize) -> Vec<usize> {
        let pairs = self.columns.get(column).into_iter().flatten();
        let significant = pairs.filter(|pair| self.is_significant(pair));
        significant
            .filter_map(|RunPair { runs, test }| match *runs {
                (first, second) if first == run && test.difference < 0.0 => Some(second),
                (first, second) if second == run && test.difference > 0.0 => Some(first),
                _ => None,
            })
            .collect()
    }

    /// Whether p is small enough.
    pub fn is_significant(&self, pair: &RunPair) -> bool {
        pair.test.p <= self.level
    }

    /// The words for the test and the correction in a caption.
    pub fn words(&self) -> String {
        let test = self.test.words();
        match self.correction {
            Correction::None => test.to_owned(),
            Correction::Bonferroni => format!("{test}, Bonferroni's correction"),
            Correction::Holm => format!("{test}, Holm's correction"),
            Correction::Tukey => "randomised Tukey HSD test".to_owned(),
        }
    }
}

/// The comparisons of all pairs of a column.
fn compared(
    column: &[&MeasureValues],
    test: SignificanceTest,
    correction: Correction,
) -> Vec<RunPair> {
    if correction == Correction::Tukey {
        return tukey(column);
    }
    let mut pairs: Vec<RunPair> = all_pairs(column.len())
        .map(|(a, b)| RunPair {
            runs: (a, b),
            test: paired(column[a], column[b], test),
        })
        .collect();
    let p_values: Vec<f64> = pairs.iter().map(|pair| pair.test.p).collect();
    for (pair, p) in pairs.iter_mut().zip(corrected(&p_values, correction)) {
        pair.test.p = p;
    }
    pairs
}

fn all_pairs(runs: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..runs).flat_map(move |a| (a + 1..runs).map(move |b| (a, b)))
}

/// The corrected p-values, in the same order.
fn corrected(p_values: &[f64], correction: Correction) -> Vec<f64> {
    let count = p_values.len();
    let times = |p: f64, factor: usize| (p * factor as f64).min(1.0);
    match correction {
        Correction::None | Correction::Tukey => p_values.to_vec(),
        Correction::Bonferroni => p_values.iter().map(|p| times(*p, count)).collect(),
        Correction::Holm => {
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
            let mut corrected = vec![1.0; count];
            let mut largest = 0.0;
            for (rank, at) in order.into_iter().enumerate() {
                // a larger p cannot become more significant than a smaller one
                largest = times(p_values[at], count - rank).max(largest);
                corrected[at] = largest;
            }
            corrected
        }
    }
}

/// Tukey's test, on the topics for which all runs have a value.
fn tukey(column: &[&MeasureValues]) -> Vec<RunPair> {
    let mut shared: BTreeSet<&TopicId> = column.iter().flat_map(|of| of.topics.keys()).collect();
    shared.retain(|topic| column.iter().all(|of| of.topics.contains_key(*topic)));
    let column: Vec<MeasureValues> = column.iter().map(|values| values.of(&shared)).collect();
    let ranges = random_ranges(&column);
    all_pairs(column.len())
        .map(|(a, b)| {
            let mut test = Paired::new(&column[a], &column[b]).without_p();
            // the sum of the same numbers in another order differs in the last digits
            let least = test.difference.abs() - 1e-12;
            let larger = ranges.iter().filter(|range| **range >= least).count();
            test.p = (larger + 1) as f64 / (ranges.len() + 1) as f64;
            RunPair { runs: (a, b), test }
        })
        .collect()
}

/// The differences between the best and the worst run if each topic's results are assigned to the runs at random, for many assignments. All runs have
/// the same topics.
fn random_ranges(column: &[MeasureValues]) -> Vec<f64> {
    match column.first().map(|first| &first.aggregation) {
        Some(Aggregation::Pooled(measure, _)) => {
            let of_runs = column.iter().map(|values| match &values.aggregation {
                Aggregation::Pooled(_, confusions) => confusions.values().copied().collect(),
                _ => Vec::new(),
            });
            let value = |of: &Confusion| of.measure(measure.kind, measure.class);
            ranges(
                &by_topic(of_runs.collect()),
                column.len(),
                Confusion::and,
                value,
            )
        }
        Some(aggregation) => {
            let of_runs = column
                .iter()
                .map(|of| of.topics.values().copied().collect());
            let of_topics = by_topic(of_runs.collect());
            let divisor = match aggregation {
                Aggregation::Sum => 1.0,
                _ => of_topics.len().max(1) as f64,
            };
            let value = |sum: &f64| sum / divisor;
            ranges(&of_topics, column.len(), |sum, of| sum + of, value)
        }
        None => Vec::new(),
    }
}

/// The results of all runs for each topic, from the results of each run.
fn by_topic<T: Copy>(of_runs: Vec<Vec<T>>) -> Vec<Vec<T>> {
    let topics = of_runs.iter().map(Vec::len).min().unwrap_or(0);
    let of_topic = |topic: usize| of_runs.iter().map(|run| run[topic]).collect();
    (0..topics).map(of_topic).collect()
}

/// The range of the runs' values in each random assignment. `of_topics` has the results of all runs for each topic; `add` joins the results of a run, and
/// `value` is the value of the joined ones.
fn ranges<T: Copy + Default>(
    of_topics: &[Vec<T>],
    runs: usize,
    add: impl Fn(T, &T) -> T,
    value: impl Fn(&T) -> f64,
) -> Vec<f64> {
    let mut random = SplitMix64(SEED);
    let mut order: Vec<usize> = (0..runs).collect();
    (0..SAMPLES)
        .map(|_| {
            let mut sums = vec![T::default(); runs];
            for results in of_topics {
                // Fisher and Yates
                for at in (1..runs).rev() {
                    order.swap(at, random.below(at + 1));
                }
                for (sum, from) in sums.iter_mut().zip(&order) {
                    *sum = add(*sum, &results[*from]);
                }
            }
            let values = || sums.iter().map(&value);
            values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn values(of: &[f64]) -> MeasureValues {
        let topics = (1..)
            .zip(of)
            .map(|(topic, value): (u32, _)| (TopicId(topic.to_string()), *value));
        MeasureValues::new(topics.collect::<BTreeMap<_, _>>(), Aggregation::Mean)
    }

    /// Values of statsmodels.stats.multitest.multipletests.
    #[test]
    fn p_values_are_corrected_as_in_statsmodels() {
        let p_values = [0.01, 0.04, 0.03, 0.005, 0.5, 0.04];
        let close = |found: Vec<f64>, expected: [f64; 6]| {
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
            }
        };
        close(corrected(&p_values, Correction::Bonferroni), BONFERRONI);
        close(corrected(&p_values, Correction::Holm), HOLM);
    }

    /// Tukey's test of two runs is the randomisation test, except that its assignments are drawn.
    #[test]
    fn tukey_of_two_runs_is_the_randomisation_test() {
        let one = values(&[0.1, 0.5, 0.4, 0.3, 0.2, 0.6, 0.7, 0.1, 0.2, 0.3]);
        let two = values(&[0.3, 0.5, 0.6, 0.2, 0.5, 0.7, 0.8, 0.1, 0.4, 0.5]);
        let rows = [vec![one], vec![two]];
        let rows: Vec<&[MeasureValues]> = rows.iter().map(Vec::as_slice).collect();
        let of = |correction| {
            PairwiseTests::new(&rows, SignificanceTest::Randomisation, correction, 0.05).columns[0]
                [0]
            .test
        };
        let (tukey, plain) = (of(Correction::Tukey), of(Correction::None));
        assert!((tukey.p - plain.p).abs() < 0.01, "{tukey:?}, {plain:?}");
        assert_eq!(
            (tukey.difference, tukey.effect),
            (plain.difference, plain.effect)
        );
    }

    #[test]
    fn a_run_beats_those_that_are_worse_on_nearly_all_topics() {
        let noise = |n: usize| (n % 7) as f64 * 0.01;
        let make = |level: f64| values(&(0..40).map(|n| level + noise(n * 3)).collect::<Vec<_>>());
        let mut close = make(0.2);
        for (n, value) in close.topics.values_mut().enumerate() {
            *value += if n % 2 == 0 { 0.01 } else { -0.01 };
        }
        let rows = [vec![make(0.2)], vec![close], vec![make(0.6)]];
        let rows: Vec<&[MeasureValues]> = rows.iter().map(Vec::as_slice).collect();
        for correction in [
            Correction::None,
            Correction::Bonferroni,
            Correction::Holm,
            Correction::Tukey,
        ] {
            for test in [SignificanceTest::Randomisation, SignificanceTest::TTest] {
                let pairs = PairwiseTests::new(&rows, test, correction, 0.01);
                assert_eq!(pairs.beaten(2, 0), [0, 1], "{correction:?}: {pairs:?}");
                assert!(
                    pairs.beaten(0, 0).is_empty() && pairs.beaten(1, 0).is_empty(),
                    "{pairs:?}"
                );
            }
        }
    }

    const BONFERRONI: [f64; 6] = [0.06, 0.24, 0.18, 0.03, 1.0, 0.24];

    const HOLM: [f64; 6] = [0.05, 0.12, 0.12, 0.03, 0.5, 0.12];
}
