//! Compares several runs: which is best by each measure, and whether a difference is larger than chance.
//!
//! [`paired`] compares two runs, [`PairwiseTests`] all runs with each other, and [`ComparisonTable`] shows values and differences.
//!
//! ```
//! use riposte_eval::compare::{SignificanceTest, interval, paired};
//! use riposte_eval::{evaluate, qrels};
//!
//! let (qrels, _) = qrels::read("1 0 a 1\n2 0 a 1\n3 0 a 1\n");
//! let values = |run: &str| -> Result<_, riposte_eval::Error> {
//!     Ok(evaluate(run, &qrels, &["RR".parse()?])?.values.remove(0))
//! };
//! let first = values("1 Q0 b 1 2 one\n1 Q0 a 2 1 one\n2 Q0 b 1 2 one\n2 Q0 a 2 1 one\n3 Q0 a 1 1 one\n")?;
//! let second = values("1 Q0 a 1 1 two\n2 Q0 a 1 1 two\n3 Q0 a 1 1 two\n")?;
//!
//! let test = paired(&first, &second, SignificanceTest::Randomisation);
//! assert_eq!((test.difference, test.topics), (1.0 / 3.0, 3));
//! assert_eq!(test.p, 0.5); // two topics differ: a difference as large is found by chance in half of the cases
//! assert_eq!(interval(&second), (1.0, 1.0));
//! # Ok::<(), riposte_eval::Error>(())
//! ```

mod format;
mod paired;
mod pairs;
mod student;
mod table;

use crate::chance::SplitMix64;
use crate::confusion::Confusion;
use crate::values::{Aggregation, MeasureValues};

pub use format::TableFormat;
pub use paired::{PairedTest, SignificanceTest, paired};
pub use pairs::{Correction, PairwiseTests, RunPair};
pub use table::ComparisonTable;

/// The seed of all random numbers here, fixed so that the results are reproducible.
const SEED: u64 = 2022;

/// The number of samples for a confidence interval. With another seed, the ends of the interval hardly move.
const RESAMPLES: usize = 10_000;

/// The 95% confidence interval of a value for all topics. Both ends are 0 if there is no topic.
///
/// They are the percentiles 2.5 and 97.5 of the values of 10,000 samples of as many topics, drawn with replacement (percentile bootstrap; Efron,
/// 1979).
pub fn interval(values: &MeasureValues) -> (f64, f64) {
    let numbers: Vec<f64> = values.topics.values().copied().collect();
    match &values.aggregation {
        Aggregation::Mean => percentiles(numbers.len(), |drawn| {
            drawn.iter().map(|&at| numbers[at]).sum::<f64>() / drawn.len() as f64
        }),
        Aggregation::Sum => percentiles(numbers.len(), |drawn| {
            drawn.iter().map(|&at| numbers[at]).sum()
        }),
        Aggregation::Pooled(measure, confusions) => {
            let confusions: Vec<&Confusion> = confusions.values().collect();
            percentiles(confusions.len(), |drawn| {
                let pooled = drawn.iter().map(|&at| confusions[at]);
                let pooled = pooled.fold(Confusion::default(), |sum, c| sum.and(c));
                pooled.measure(measure.kind, measure.class)
            })
        }
    }
}

/// The percentiles 2.5 and 97.5 of `value` over random samples of `topics` topics. `value` gets the indices of the topics in a sample.
fn percentiles(topics: usize, value: impl Fn(&[usize]) -> f64) -> (f64, f64) {
    if topics == 0 {
        return (0.0, 0.0);
    }
    let mut random = SplitMix64(SEED);
    let mut drawn = vec![0; topics];
    let mut found: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            drawn.fill_with(|| random.below(topics));
            value(&drawn)
        })
        .collect();
    found.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| found[(share * (RESAMPLES - 1) as f64).round() as usize];
    (at(0.025), at(0.975))
}
