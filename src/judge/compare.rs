//! Compares several runs: which is best by each measure, and whether a difference is larger than chance.

use std::fmt;

use super::stances::Confusion;
use super::{Aggregation, Values};

/// Up to this many topics with a difference, all assignments are tried; with more topics, [`SAMPLES`] random ones.
const EXACT_UP_TO: usize = 16;

/// The number of random assignments. The standard error of p is then at most 0.0016.
const SAMPLES: u64 = 100_000;

/// The seed of the random assignments, fixed so that p is reproducible.
const SEED: u64 = 2022;

/// The number of samples for a confidence interval. With another seed, its ends would move by about a hundredth of its length.
const RESAMPLES: usize = 10_000;

/// The 95% confidence interval of a value for all topics: the percentiles 2.5 and 97.5 of the values of [`RESAMPLES`] samples of as many topics,
/// drawn with replacement (percentile bootstrap; Efron, 1979). Both ends are 0 if there is no topic.
pub fn interval(values: &Values) -> (f64, f64) {
    let numbers: Vec<f64> = values.topics.values().copied().collect();
    match &values.aggregation {
        Aggregation::Mean => percentiles(numbers.len(), |drawn| {
            drawn.iter().map(|&at| numbers[at]).sum::<f64>() / drawn.len() as f64
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

/// The percentiles 2.5 and 97.5 of `value` over samples of `topics` topics, which it gets by their numbers.
fn percentiles(topics: usize, value: impl Fn(&[usize]) -> f64) -> (f64, f64) {
    if topics == 0 {
        return (0.0, 0.0);
    }
    let mut random = SplitMix(SEED);
    let mut drawn = vec![0; topics];
    let mut found: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            drawn.fill_with(|| ((u128::from(random.next()) * topics as u128) >> 64) as usize);
            value(&drawn)
        })
        .collect();
    found.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| found[(share * (RESAMPLES - 1) as f64).round() as usize];
    (at(0.025), at(0.975))
}

/// The comparison of two runs on the topics for which both have a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedTest {
    /// The second run's value over these topics minus the first run's.
    pub difference: f64,
    /// The number of topics compared.
    pub topics: usize,
    /// The two-sided p-value: how often a difference is at least as large if each topic's two results are assigned to the runs at
    /// random.
    pub p: f64,
}

/// Compares two runs by the randomisation test for paired samples (Fisher; Smucker, Allan and Carterette, CIKM 2007).
pub fn paired(first: &Values, second: &Values) -> PairedTest {
    match (&first.aggregation, &second.aggregation) {
        (Aggregation::Pooled(measure, a), Aggregation::Pooled(_, b)) => {
            let pairs: Vec<(Confusion, Confusion)> = a
                .iter()
                .filter_map(|(topic, a)| Some((*a, *b.get(topic)?)))
                .collect();
            let value = |of: &Confusion| of.measure(measure.kind, measure.class);
            let difference = |swapped: &dyn Fn(usize) -> bool| {
                let (mut x, mut y) = (Confusion::default(), Confusion::default());
                for (at, (a, b)) in pairs.iter().enumerate() {
                    let (to_x, to_y) = if swapped(at) { (b, a) } else { (a, b) };
                    (x, y) = (x.and(to_x), y.and(to_y));
                }
                value(&y) - value(&x)
            };
            // a tenth of the samples, because each of them sums over all topics
            let p = p_value(pairs.len(), SAMPLES / 10, difference(&|_| false), |swaps| {
                difference(&|at| swaps.contains(at))
            });
            PairedTest {
                difference: difference(&|_| false),
                topics: pairs.len(),
                p,
            }
        }
        _ => {
            let differences: Vec<f64> = first
                .topics
                .iter()
                .filter_map(|(topic, value)| Some(second.topics.get(topic)? - value))
                .collect();
            let count = differences.len();
            let sum: f64 = differences.iter().sum::<f64>() + 0.0;
            let signed = SignedSums::new(differences.iter().copied().filter(|d| *d != 0.0));
            let p = p_value(signed.count, SAMPLES, sum, |swaps| signed.sum(swaps));
            PairedTest {
                difference: sum / count.max(1) as f64,
                topics: count,
                p,
            }
        }
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
    let mut random = SplitMix(SEED);
    let mut extremes = 0u64;
    for _ in 0..samples {
        swaps.0.fill_with(|| random.next());
        extremes += u64::from(extreme(&swaps));
    }
    (extremes + 1) as f64 / (samples + 1) as f64
}

/// Computes sums of differences with changed signs, eight differences at a time by a table.
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

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Its quality suffices here, and it gives the same numbers everywhere.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// The values of runs by measures; `Display` marks the best value of each column.
#[derive(Clone, Debug)]
pub struct Table {
    /// The names of the measures, preceded by the name of the judgements if there are several.
    pub columns: Vec<String>,
    /// The name of each run and its values, one per column.
    pub rows: Vec<(String, Vec<Values>)>,
}

impl Table {
    /// The width of the first column, in characters.
    fn name_width(&self) -> usize {
        let names = self.rows.iter().map(|(name, _)| name.chars().count());
        names.max().unwrap_or(0).max("run".len())
    }

    /// A table of each run's difference to the first, with the p-value of [`paired`].
    pub fn differences(&self) -> impl fmt::Display + '_ {
        Differences(self)
    }

    /// A table of the 95% confidence interval of each value ([`interval`]).
    pub fn intervals(&self) -> impl fmt::Display + '_ {
        Intervals(self)
    }

    /// A table of one run's values by topic.
    pub fn by_topic(&self, row: usize) -> impl fmt::Display + '_ {
        ByTopic(self, row)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.name_width();
        write!(f, "{:<names$}", "run")?;
        for column in &self.columns {
            write!(f, "  {column:>8}")?;
        }
        writeln!(f)?;
        let best: Vec<f64> = (0..self.columns.len())
            .map(|column| {
                let values = self.rows.iter().filter_map(|(_, row)| row.get(column));
                values.map(Values::all).fold(f64::MIN, f64::max)
            })
            .collect();
        for (name, row) in &self.rows {
            write!(f, "{name:<names$}")?;
            for ((value, column), best) in row.iter().zip(&self.columns).zip(&best) {
                let value = value.all();
                let mark = if self.rows.len() > 1 && value == *best {
                    "*"
                } else {
                    " "
                };
                let width = column.len().max(8) - 1;
                write!(f, "  {value:>width$.4}{mark}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

struct Intervals<'a>(&'a Table);

impl fmt::Display for Intervals<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "95% confidence intervals (bootstrap over topics)")?;
        let names = self.0.name_width();
        write!(f, "{:<names$}", "run")?;
        for column in &self.0.columns {
            write!(f, "  {column:>13}")?;
        }
        writeln!(f)?;
        for (name, row) in &self.0.rows {
            write!(f, "{name:<names$}")?;
            for (values, column) in row.iter().zip(&self.0.columns) {
                let (low, high) = interval(values);
                let width = column.chars().count().max(13);
                write!(f, "  {:>width$}", format!("{low:.4}–{high:.4}"))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

struct Differences<'a>(&'a Table);

impl fmt::Display for Differences<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(((first, baseline), others)) = self.0.rows.split_first() else {
            return Ok(());
        };
        let names = self.0.name_width();
        writeln!(
            f,
            "difference to {first} (p of a paired two-sided randomisation test)"
        )?;
        const CELL: usize = "+0.0000 (p 0.0000)".len();
        write!(f, "{:<names$}", "run")?;
        for column in &self.0.columns {
            write!(f, "  {column:>CELL$}")?;
        }
        writeln!(f)?;
        for (name, row) in others {
            write!(f, "{name:<names$}")?;
            for ((value, before), column) in row.iter().zip(baseline).zip(&self.0.columns) {
                let PairedTest { difference, p, .. } = paired(before, value);
                let width = column.len().max(CELL);
                let p = match p {
                    p if p < 0.00005 => "<.0001".to_owned(),
                    p => format!("{p:.4}"),
                };
                let cell = format!("{difference:+.4} (p {p})");
                write!(f, "  {cell:>width$}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

struct ByTopic<'a>(&'a Table, usize);

impl fmt::Display for ByTopic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ByTopic(table, row) = self;
        let Some((_, values)) = table.rows.get(*row) else {
            return Ok(());
        };
        write!(f, "{:<8}", "topic")?;
        for column in &table.columns {
            write!(f, "  {column:>7}")?;
        }
        writeln!(f)?;
        let mut topics: Vec<_> = values.iter().flat_map(|v| v.topics.keys()).collect();
        topics.sort();
        topics.dedup();
        for topic in topics {
            write!(f, "{topic:<8}")?;
            for (value, column) in values.iter().zip(&table.columns) {
                let width = column.len().max(7);
                match value.topics.get(topic) {
                    Some(value) => write!(f, "  {value:>width$.4}")?,
                    // the measure leaves this topic out
                    None => write!(f, "  {:>width$}", "-")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
