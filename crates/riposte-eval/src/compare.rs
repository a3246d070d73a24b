//! Compares several runs: which is best by each measure, and whether a difference is larger than chance.
//!
//! ```
//! use riposte_eval::compare::{interval, paired};
//! use riposte_eval::{evaluate, qrels};
//!
//! let (qrels, _) = qrels::read("1 0 a 1\n2 0 a 1\n3 0 a 1\n");
//! let values = |run: &str| -> Result<_, riposte_eval::Error> {
//!     Ok(evaluate(run, &qrels, &["RR".parse()?])?.values.remove(0))
//! };
//! let first = values("1 Q0 b 1 2 one\n1 Q0 a 2 1 one\n2 Q0 b 1 2 one\n2 Q0 a 2 1 one\n3 Q0 a 1 1 one\n")?;
//! let second = values("1 Q0 a 1 1 two\n2 Q0 a 1 1 two\n3 Q0 a 1 1 two\n")?;
//!
//! let test = paired(&first, &second);
//! assert_eq!((test.difference, test.topics), (1.0 / 3.0, 3));
//! assert_eq!(test.p, 0.5); // two topics differ: a difference as large is found by chance in half of the cases
//! assert_eq!(interval(&second), (1.0, 1.0));
//! # Ok::<(), riposte_eval::Error>(())
//! ```

use std::collections::BTreeSet;
use std::fmt;

use crate::chance::SplitMix64;
use crate::confusion::Confusion;
use crate::escaped;
use crate::values::{Aggregation, Values};

/// Up to this many topics with a difference, all assignments are tried; with more topics, [`SAMPLES`] random ones.
const EXACT_UP_TO: usize = 16;

/// The number of random assignments. The standard error of p is then at most 0.0016.
const SAMPLES: u64 = 100_000;

/// The seed of the random assignments, fixed so that p is reproducible.
const SEED: u64 = 2022;

/// The number of samples for a confidence interval. Another seed then hardly moves the ends of the interval.
const RESAMPLES: usize = 10_000;

/// The 95% confidence interval of a value for all topics. Both ends are 0 if there is no topic.
///
/// They are the percentiles 2.5 and 97.5 of the values of 10,000 samples of as many topics, drawn with replacement (percentile bootstrap; Efron,
/// 1979).
pub fn interval(values: &Values) -> (f64, f64) {
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
            drawn.fill_with(|| ((u128::from(random.bits()) * topics as u128) >> 64) as usize);
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
    let (difference, topics, p);
    match (&first.aggregation, &second.aggregation) {
        (Aggregation::Pooled(measure, a), Aggregation::Pooled(_, b)) => {
            let pairs = a.iter().filter_map(|(topic, a)| Some((a, b.get(topic)?)));
            let pairs: Vec<(&Confusion, &Confusion)> = pairs.collect();
            let value = |of: &Confusion| of.measure(measure.kind, measure.class);
            let swapped = |is_swapped: &dyn Fn(usize) -> bool| {
                let (mut x, mut y) = (Confusion::default(), Confusion::default());
                for (at, (a, b)) in pairs.iter().enumerate() {
                    let (to_x, to_y) = if is_swapped(at) { (b, a) } else { (a, b) };
                    (x, y) = (x.and(to_x), y.and(to_y));
                }
                value(&y) - value(&x)
            };
            (difference, topics) = (swapped(&|_| false), pairs.len());
            // a tenth of the samples, because each of them sums over all topics
            p = p_value(topics, SAMPLES / 10, difference, |swaps| {
                swapped(&|at| swaps.contains(at))
            });
        }
        _ => {
            let values = first.topics.iter();
            let differences: Vec<f64> = values
                .filter_map(|(topic, value)| Some(second.topics.get(topic)? - value))
                .collect();
            let sum: f64 = differences.iter().sum::<f64>() + 0.0;
            let signed = SignedSums::new(differences.iter().copied().filter(|d| *d != 0.0));
            topics = differences.len();
            difference = match first.are_counts() {
                true => sum,
                false => sum / topics.max(1) as f64,
            };
            p = p_value(signed.count, SAMPLES, sum, |swaps| signed.sum(swaps));
        }
    }
    PairedTest {
        difference,
        topics,
        p,
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

/// The values of runs by measures; `Display` marks the best value of each column.
///
/// All tables here take a width (`{:80}`): columns that do not fit go into further blocks below, each of which names its rows again. With `#`
/// they have colours.
#[derive(Clone, Debug)]
pub struct Table {
    /// The names of the measures, preceded by the name of the judgements if there are several.
    pub columns: Vec<String>,
    /// The name of each run and its values, one per column.
    pub rows: Vec<(String, Vec<Values>)>,
    /// The highest values that each run can reach with the judgements, one per column; `None` where that is 1. Empty if it is 1 everywhere.
    pub attainable: Vec<Vec<Option<f64>>>,
}

/// What a table shows of one run, or of one topic, in one column.
type Cell = (String, Style);

fn plain(text: String) -> Cell {
    (text, Style::Plain)
}

/// How a terminal shows a text, as the parameter of the escape sequence `CSI … m`.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Plain = 0,
    Bold = 1,
    Dim = 2,
    Green = 32,
}

/// The name of a row with the highest values that runs can reach.
const AT_MOST: &str = "at most";
const AT_MOST_INDENTED: &str = "  at most";

impl Table {
    /// A table of each run's difference to the first, with the p-value of [`paired`].
    pub fn differences(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| {
            const CELL: usize = "+0.0000 (p 0.0000)".len();
            let Some(((first, baseline), others)) = self.rows.split_first() else {
                return Ok(());
            };
            writeln!(
                f,
                "difference to {first} (p of a paired two-sided randomisation test)"
            )?;
            let names: Vec<&str> = self.names().into_iter().skip(1).collect();
            self.write(f, ("run", &names), CELL, |row, at| {
                let PairedTest { difference, p, .. } = paired(&baseline[at], &others[row].1[at]);
                let p = match p {
                    p if p < 0.00005 => "<.0001".to_owned(),
                    p => format!("{p:.4}"),
                };
                plain(format!("{difference:+.4} (p {p})"))
            })
        })
    }

    /// A table of the 95% confidence interval of each value ([`interval`]).
    pub fn intervals(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| {
            writeln!(f, "95% confidence intervals (bootstrap over topics)")?;
            self.write(f, ("run", &self.names()), 13, |row, at| {
                let (low, high) = interval(&self.rows[row].1[at]);
                plain(format!("{low:.4}–{high:.4}"))
            })
        })
    }

    /// A table of one run's values by topic.
    pub fn by_topic(&self, row: usize) -> impl fmt::Display + '_ {
        fmt::from_fn(move |f| {
            let values = &self.rows[row].1;
            let topics: BTreeSet<_> = values.iter().flat_map(|of| of.topics.keys()).collect();
            let topics: Vec<_> = topics.into_iter().collect();
            let names = topics.iter().map(|topic| escaped(&topic.0).to_string());
            let names: Vec<String> = names.map(|topic| format!("{topic:<8}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            self.write(f, ("topic", &names), 7, |row, at| {
                let value = values[at].topics.get(topics[row]);
                // "-": the measure leaves this topic out
                plain(value.map_or("-".to_owned(), |value| format!("{value:.4}")))
            })
        })
    }

    fn names(&self) -> Vec<&str> {
        self.rows.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The rows of the table of values: their names, the numbers of their runs, and whether they show what runs can reach. This is one row at the end
    /// if it is the same for all, and otherwise a row below each run.
    fn lines(&self) -> Vec<(&str, usize, bool)> {
        let is_same = self.attainable.windows(2).all(|pair| pair[0] == pair[1]);
        let mut lines = Vec::new();
        for (run, name) in self.names().into_iter().enumerate() {
            lines.push((name, run, false));
            if !is_same {
                lines.push((AT_MOST_INDENTED, run, true));
            }
        }
        if is_same && !self.attainable.is_empty() {
            lines.push((AT_MOST, 0, true));
        }
        lines
    }

    /// Writes columns that are at least `narrowest` characters wide, to the right of the names of their rows. `cell` returns the cell of a row and a
    /// column. Rows without any text are left out.
    fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        (title, names): (&str, &[&str]),
        narrowest: usize,
        cell: impl Fn(usize, usize) -> Cell,
    ) -> fmt::Result {
        let length = |text: &str| text.chars().count();
        let lengths = names.iter().copied().chain([title]).map(length);
        let name_width = lengths.max().unwrap_or(0);
        let width_of = |at: usize| length(&self.columns[at]).max(narrowest);
        let colours = f.alternate();
        let styled = |text: String, style: Style| match colours && style != Style::Plain {
            true => format!("\x1b[{}m{text}\x1b[0m", style as u8),
            false => text,
        };
        let mut rest = 0..self.columns.len();
        loop {
            let mut used = name_width;
            let fitting = rest.clone().take_while(|at| {
                used += 2 + width_of(*at);
                f.width().is_none_or(|width| used <= width)
            });
            let fitting = fitting.count().max(1).min(rest.len());
            let block = rest.start..rest.start + fitting;
            let mut titles = format!("{title:<name_width$}");
            for at in block.clone() {
                titles += &format!("  {:>width$}", self.columns[at], width = width_of(at));
            }
            writeln!(f, "{}", styled(titles, Style::Bold))?;
            for (row, name) in names.iter().enumerate() {
                let cells: Vec<Cell> = block.clone().map(|at| cell(row, at)).collect();
                if cells.iter().all(|(text, _)| text.is_empty()) {
                    continue;
                }
                write!(f, "{name:<name_width$}")?;
                for (at, (text, style)) in block.clone().zip(cells) {
                    let text = format!("{text:>width$}", width = width_of(at));
                    write!(f, "  {}", styled(text, style))?;
                }
                writeln!(f)?;
            }
            rest.start = block.end;
            if rest.is_empty() {
                return Ok(());
            }
            writeln!(f)?;
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines();
        let names: Vec<&str> = lines.iter().map(|(name, ..)| *name).collect();
        self.write(f, ("run", &names), "0.0000*".len() + 1, |row, at| {
            let (_, run, is_attainable) = lines[row];
            if is_attainable {
                let most = self.attainable[run][at];
                let text = most.map_or(String::new(), |most| format!("{most:.4} "));
                return (text, Style::Dim);
            }
            let values = self.rows.iter().map(|(_, row)| row[at].all());
            let value = self.rows[run].1[at].all();
            match self.rows.len() > 1 && value == values.fold(f64::MIN, f64::max) {
                true => (format!("{value:.4}*"), Style::Green),
                false => plain(format!("{value:.4} ")),
            }
        })
    }
}
