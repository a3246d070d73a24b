//! Compares several runs: which is best by each measure, and whether a difference is larger than chance.

use std::fmt;

use console::Style;

use super::stances::Confusion;
use super::{Aggregation, Values};
use crate::trec::chance::SplitMix64;
use crate::trec::escaped;

/// Up to this many topics with a difference, all assignments are tried; with more topics, [`SAMPLES`] random ones.
const EXACT_UP_TO: usize = 16;

/// The number of random assignments. The standard error of p is then at most 0.0016.
const SAMPLES: u64 = 100_000;

/// The seed of the random assignments, fixed so that p is reproducible.
const SEED: u64 = 2022;

/// The number of samples for a confidence interval. Another seed then hardly moves the ends of the interval.
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

impl Table {
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

    /// A column of the table: its title, and a cell for each of `rows`.
    fn column<'a, R>(
        &'a self,
        at: usize,
        rows: impl Iterator<Item = R>,
        cell: impl Fn(R) -> Cell,
    ) -> Column<'a> {
        Column {
            title: &self.columns[at],
            cells: rows.map(cell).collect(),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.rows.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// What a table shows of one run, or of one topic, in one column.
struct Cell {
    text: String,
    style: Style,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell {
            text,
            style: Style::new(),
        }
    }
}

struct Column<'a> {
    title: &'a str,
    cells: Vec<Cell>,
}

/// Writes columns that are at least `narrowest` characters wide, to the right of the names of their rows. Rows without any text are left out.
fn write_columns(
    f: &mut fmt::Formatter<'_>,
    (title, names): (&str, &[&str]),
    narrowest: usize,
    columns: &[Column],
) -> fmt::Result {
    let length = |text: &str| text.chars().count();
    let lengths = names.iter().copied().chain([title]).map(length);
    let name_width = lengths.max().unwrap_or(0);
    let width_of = |column: &Column| length(column.title).max(narrowest);
    let colours = f.alternate();
    let styled = |text: String, style: Style| {
        let style = style.force_styling(colours);
        style.apply_to(text).to_string()
    };
    let mut rest = columns;
    loop {
        let mut used = name_width;
        let fitting = rest.iter().take_while(|column| {
            used += 2 + width_of(column);
            f.width().is_none_or(|width| used <= width)
        });
        let (block, others) = rest.split_at(fitting.count().clamp(rest.len().min(1), rest.len()));
        let mut titles = format!("{title:<name_width$}");
        for column in block {
            titles += &format!("  {:>width$}", column.title, width = width_of(column));
        }
        writeln!(f, "{}", styled(titles, Style::new().bold()))?;
        for (row, name) in names.iter().enumerate() {
            let cells = || block.iter().map(|column| (column, column.cells.get(row)));
            if cells().all(|(_, cell)| cell.is_none_or(|cell| cell.text.is_empty())) {
                continue;
            }
            write!(f, "{name:<name_width$}")?;
            for (column, cell) in cells() {
                let Some(cell) = cell else {
                    continue;
                };
                let text = format!("{:>width$}", cell.text, width = width_of(column));
                write!(f, "  {}", styled(text, cell.style.clone()))?;
            }
            writeln!(f)?;
        }
        if others.is_empty() {
            return Ok(());
        }
        rest = others;
        writeln!(f)?;
    }
}

/// A row of the table of values.
#[derive(Clone, Copy)]
enum TableRow {
    /// The values of the run with this number.
    Values(usize),
    /// What the run with this number can reach.
    Attainable(usize),
}

impl Table {
    /// The rows of the table of values, and their names. What runs can reach is one row at the end if it is the same for all, and otherwise a row
    /// below each run.
    fn lines(&self) -> Vec<(TableRow, &str)> {
        let runs = || self.names().into_iter().enumerate();
        if self.attainable.windows(2).all(|pair| pair[0] == pair[1]) {
            let values = runs().map(|(run, name)| (TableRow::Values(run), name));
            let first = self.attainable.first();
            return values
                .chain(first.map(|_| (TableRow::Attainable(0), AT_MOST)))
                .collect();
        }
        runs()
            .flat_map(|(run, name)| {
                [
                    (TableRow::Values(run), name),
                    (TableRow::Attainable(run), AT_MOST_INDENTED),
                ]
            })
            .collect()
    }
}

/// The name of a row with the highest values that runs can reach.
const AT_MOST: &str = "at most";
const AT_MOST_INDENTED: &str = "  at most";

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |run: usize, at: usize| Some(self.rows.get(run)?.1.get(at)?.all());
        let lines = self.lines();
        let columns: Vec<Column> = (0..self.columns.len())
            .map(|at| {
                let values = (0..self.rows.len()).filter_map(|run| value(run, at));
                let best = values.fold(f64::MIN, f64::max);
                let cell = |(line, _): &(TableRow, &str)| match *line {
                    TableRow::Values(run) => {
                        let value = value(run, at).unwrap_or_default();
                        if self.rows.len() > 1 && value == best {
                            Cell {
                                text: format!("{value:.4}*"),
                                style: Style::new().green(),
                            }
                        } else {
                            format!("{value:.4} ").into()
                        }
                    }
                    TableRow::Attainable(run) => {
                        let most = self.attainable.get(run).and_then(|most| *most.get(at)?);
                        Cell {
                            text: most.map_or(String::new(), |most| format!("{most:.4} ")),
                            style: Style::new().dim(),
                        }
                    }
                };
                self.column(at, lines.iter(), cell)
            })
            .collect();
        let names: Vec<&str> = lines.iter().map(|(_, name)| *name).collect();
        write_columns(f, ("run", &names), "0.0000*".len() + 1, &columns)
    }
}

struct Intervals<'a>(&'a Table);

impl fmt::Display for Intervals<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.0;
        writeln!(f, "95% confidence intervals (bootstrap over topics)")?;
        let columns: Vec<Column> = (0..table.columns.len())
            .map(|at| {
                let of_rows = table.rows.iter().filter_map(|(_, row)| row.get(at));
                table.column(at, of_rows, |values| {
                    let (low, high) = interval(values);
                    format!("{low:.4}–{high:.4}").into()
                })
            })
            .collect();
        write_columns(f, ("run", &table.names()), 13, &columns)
    }
}

struct Differences<'a>(&'a Table);

impl fmt::Display for Differences<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CELL: usize = "+0.0000 (p 0.0000)".len();
        let table = self.0;
        let Some(((first, baseline), others)) = table.rows.split_first() else {
            return Ok(());
        };
        writeln!(
            f,
            "difference to {first} (p of a paired two-sided randomisation test)"
        )?;
        let columns: Vec<Column> = (0..table.columns.len())
            .map(|at| {
                let of_rows = others
                    .iter()
                    .filter_map(|(_, row)| Some((baseline.get(at)?, row.get(at)?)));
                table.column(at, of_rows, |(before, value)| {
                    let PairedTest { difference, p, .. } = paired(before, value);
                    let p = match p {
                        p if p < 0.00005 => "<.0001".to_owned(),
                        p => format!("{p:.4}"),
                    };
                    format!("{difference:+.4} (p {p})").into()
                })
            })
            .collect();
        let names: Vec<&str> = table.names().into_iter().skip(1).collect();
        write_columns(f, ("run", &names), CELL, &columns)
    }
}

struct ByTopic<'a>(&'a Table, usize);

impl fmt::Display for ByTopic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ByTopic(table, row) = self;
        let Some((_, values)) = table.rows.get(*row) else {
            return Ok(());
        };
        let mut topics: Vec<_> = values.iter().flat_map(|v| v.topics.keys()).collect();
        topics.sort();
        topics.dedup();
        let columns: Vec<Column> = values
            .iter()
            .enumerate()
            .map(|(at, values)| {
                table.column(at, topics.iter(), |topic| {
                    let value = values.topics.get(*topic);
                    // "-": the measure leaves this topic out
                    let text = value.map_or("-".to_owned(), |value| format!("{value:.4}"));
                    text.into()
                })
            })
            .collect();
        let names = topics.iter().map(|topic| escaped(&topic.0).to_string());
        let names: Vec<String> = names.map(|topic| format!("{topic:<8}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        write_columns(f, ("topic", &names), 7, &columns)
    }
}
