//! Compares two runs on the topics for which both have a value.

use strum::{EnumString, IntoStaticStr, VariantNames};

use super::SEED;
use super::student::two_sided_p;
use crate::chance::SplitMix64;
use crate::confusion::Confusion;
use crate::measure::StanceMeasure;
use crate::values::{Aggregation, MeasureValues};

/// Up to this many topics with a difference, all assignments are tried; with more topics, [`SAMPLES`] random ones.
const EXACT_UP_TO: usize = 16;

/// The number of random assignments. The standard error of p is then at most 0.0016.
const SAMPLES: u64 = 100_000;

/// A paired two-sided test of the difference between two runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum SignificanceTest {
    /// The randomisation test (Fisher; Smucker, Allan and Carterette, CIKM 2007): p is how often a difference is at least as large if each topic's
    /// two results are assigned to the runs at random.
    #[default]
    Randomisation,
    /// Student's t-test of the mean difference.
    TTest,
}

impl SignificanceTest {
    /// The words for the test in a caption.
    pub fn words(self) -> &'static str {
        match self {
            SignificanceTest::Randomisation => "paired two-sided randomisation test",
            SignificanceTest::TTest => "paired two-sided t-test",
        }
    }

    /// Whether the test can be computed from these values. The t-test needs means over topics: measures of stances, which count the results of all
    /// topics together, have none.
    pub fn fits(self, values: &MeasureValues) -> bool {
        self == SignificanceTest::Randomisation
            || !matches!(values.aggregation, Aggregation::Pooled(..))
    }
}

/// The comparison of two runs on the topics for which both have a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedTest {
    /// The second run's value over these topics minus the first run's.
    pub difference: f64,
    /// The number of topics compared.
    pub topics: usize,
    /// The two-sided p-value, from 0 to 1.
    pub p: f64,
    /// Cohen's d of the paired differences: their mean divided by their standard deviation. `None` if the differences of all topics are equal, with
    /// fewer than two topics, and for measures that are no means over topics.
    pub effect: Option<f64>,
}

/// Compares two runs. Where the test does not fit ([`SignificanceTest::fits`]), p is that of the randomisation test.
pub fn paired(first: &MeasureValues, second: &MeasureValues, test: SignificanceTest) -> PairedTest {
    let paired = Paired::new(first, second);
    PairedTest {
        p: paired.p(test),
        ..paired.without_p()
    }
}

/// The results of two runs for the same topics.
pub(super) enum Paired<'a> {
    /// The difference of each topic.
    Differences {
        of: Vec<f64>,
        /// Whether the measure counts documents or topics: then the difference of the runs is the sum, and otherwise the mean.
        are_counts: bool,
    },
    Pooled(&'a StanceMeasure, Vec<(&'a Confusion, &'a Confusion)>),
}

impl<'a> Paired<'a> {
    pub fn new(first: &'a MeasureValues, second: &'a MeasureValues) -> Paired<'a> {
        match (&first.aggregation, &second.aggregation) {
            (Aggregation::Pooled(measure, a), Aggregation::Pooled(_, b)) => {
                let pairs = a.iter().filter_map(|(topic, a)| Some((a, b.get(topic)?)));
                Paired::Pooled(measure, pairs.collect())
            }
            _ => {
                let values = first.topics.iter();
                let differences =
                    values.filter_map(|(topic, value)| Some(second.topics.get(topic)? - value));
                Paired::Differences {
                    of: differences.collect(),
                    are_counts: first.are_counts(),
                }
            }
        }
    }

    /// The comparison with a p of 1: the test has not been made.
    pub fn without_p(&self) -> PairedTest {
        let (difference, topics) = match self {
            Paired::Differences {
                of,
                are_counts: true,
            } => (sum(of), of.len()),
            Paired::Differences { of, .. } => (sum(of) / of.len().max(1) as f64, of.len()),
            Paired::Pooled(measure, pairs) => (pooled(measure, pairs, |_| false), pairs.len()),
        };
        PairedTest {
            difference,
            topics,
            p: 1.0,
            effect: self.effect(),
        }
    }

    fn effect(&self) -> Option<f64> {
        let Paired::Differences {
            of: differences, ..
        } = self
        else {
            return None;
        };
        let (mean, deviation) = mean_and_deviation(differences)?;
        // equal differences can differ in the last digits
        (deviation > mean.abs() * 1e-12).then(|| mean / deviation)
    }

    fn p(&self, test: SignificanceTest) -> f64 {
        match self {
            Paired::Differences { of, .. } if test == SignificanceTest::TTest => p_of_t(of),
            Paired::Differences { of, .. } => {
                let signed = SignedSums::new(of.iter().copied().filter(|d| *d != 0.0));
                p_value(signed.count, SAMPLES, sum(of), |swaps| signed.sum(swaps))
            }
            Paired::Pooled(measure, pairs) => {
                let observed = pooled(measure, pairs, |_| false);
                // a tenth of the samples, because each of them sums over all topics
                p_value(pairs.len(), SAMPLES / 10, observed, |swaps| {
                    pooled(measure, pairs, |at| swaps.contains(at))
                })
            }
        }
    }
}

fn sum(of: &[f64]) -> f64 {
    // an empty sum is minus zero
    of.iter().sum::<f64>() + 0.0
}

/// The difference of two pooled values if some topics are swapped between the runs.
fn pooled(
    measure: &StanceMeasure,
    pairs: &[(&Confusion, &Confusion)],
    is_swapped: impl Fn(usize) -> bool,
) -> f64 {
    let (mut x, mut y) = (Confusion::default(), Confusion::default());
    for (at, (a, b)) in pairs.iter().enumerate() {
        let (to_x, to_y) = if is_swapped(at) { (b, a) } else { (a, b) };
        (x, y) = (x.and(to_x), y.and(to_y));
    }
    let value = |of: &Confusion| of.measure(measure.kind, measure.class);
    value(&y) - value(&x)
}

/// The mean, and the standard deviation as it is estimated for the population (by n - 1); `None` with fewer than two numbers.
fn mean_and_deviation(numbers: &[f64]) -> Option<(f64, f64)> {
    if numbers.len() < 2 {
        return None;
    }
    let mean = sum(numbers) / numbers.len() as f64;
    let squares = numbers.iter().map(|number| (number - mean).powi(2));
    let variance = squares.sum::<f64>() / (numbers.len() - 1) as f64;
    Some((mean, variance.sqrt()))
}

/// p of the t-test. One topic says nothing about chance, and neither do runs that are equal: p is 1.
fn p_of_t(differences: &[f64]) -> f64 {
    match mean_and_deviation(differences) {
        Some((mean, deviation)) if mean != 0.0 => {
            let t = mean / (deviation / (differences.len() as f64).sqrt());
            two_sided_p(t, differences.len() - 1)
        }
        _ => 1.0,
    }
}

/// The topics whose results are swapped between the two runs, as bits from the lowest on.
struct Swaps(Vec<u64>);

impl Swaps {
    fn contains(&self, topic: usize) -> bool {
        self.0[topic / 64] >> (topic % 64) & 1 == 1
    }
}

/// The share of assignments whose statistic is at least as far from 0 as `observed`. All assignments are tried if there are at most
/// 2^[`EXACT_UP_TO`]; otherwise `samples` random ones, to which the observed one is added.
fn p_value(topics: usize, samples: u64, observed: f64, statistic: impl Fn(&Swaps) -> f64) -> f64 {
    // the sum of the same numbers in another order differs in the last digits
    let extreme = |swaps: &Swaps| statistic(swaps).abs() >= observed.abs() - 1e-12;
    let mut swaps = Swaps(vec![0; topics.div_ceil(64).max(1)]);
    if topics <= EXACT_UP_TO {
        let all = 1u64 << topics;
        let extremes = (0..all).filter(|bits| {
            swaps.0[0] = *bits;
            extreme(&swaps)
        });
        return extremes.count() as f64 / all as f64;
    }
    let mut random = SplitMix64(SEED);
    let mut extremes = 0u64;
    for _ in 0..samples {
        swaps.0.fill_with(|| random.bits());
        extremes += u64::from(extreme(&swaps));
    }
    (extremes + 1) as f64 / (samples + 1) as f64
}

/// Computes sums of differences with changed signs, eight differences at a time with a table.
struct SignedSums {
    count: usize,
    tables: Vec<[f64; 256]>,
}

impl SignedSums {
    fn new(differences: impl Iterator<Item = f64>) -> SignedSums {
        let differences: Vec<f64> = differences.collect();
        let tables = differences
            .chunks(8)
            .map(|eight| {
                std::array::from_fn(|turned| {
                    let signed = eight.iter().enumerate();
                    signed
                        .map(|(at, d)| if turned >> at & 1 == 1 { -d } else { *d })
                        .sum()
                })
            })
            .collect();
        SignedSums {
            count: differences.len(),
            tables,
        }
    }

    fn sum(&self, swaps: &Swaps) -> f64 {
        let bytes = swaps.0.iter().flat_map(|bits| bits.to_le_bytes());
        self.tables
            .iter()
            .zip(bytes)
            .map(|(table, byte)| table[usize::from(byte)])
            .sum()
    }
}
