//! Tables of values and differences.

use std::collections::BTreeSet;
use std::fmt;

use super::format::{Cell, Grid, Style, TableFormat};
use super::{PairedTest, PairwiseTests, RunPair, SignificanceTest, interval, paired};
use crate::escaped;
use crate::measure::{ImageMeasure, Measure};
use crate::values::MeasureValues;

/// The values of runs by measures; `Display` marks the best value of each column.
///
/// All tables here take a width (`{:80}`): in [`TableFormat::Text`], columns that do not fit go into further blocks below, each of which names its rows again.
/// With `#` they have colours.
#[derive(Clone, Debug, Default)]
pub struct ComparisonTable {
    /// The names of the measures, preceded by the name of the judgements if there are several.
    pub columns: Vec<String>,
    /// The name of each run and its values, one per column.
    pub rows: Vec<(String, Vec<MeasureValues>)>,
    /// The highest values that each run can reach with the judgements, one per column; `None` where that is 1. Empty if it is 1 everywhere.
    pub attainable: Vec<Vec<Option<f64>>>,
    /// How a run is compared with the first one.
    pub test: SignificanceTest,
    /// The comparisons of all runs with each other, by the same columns: then a letter names each run, and a value has the letters of the runs that it is
    /// significantly better than.
    pub pairs: Option<PairwiseTests>,
    /// How the tables are written.
    pub format: TableFormat,
}

/// The name of a row with the highest values that runs can reach.
const BOUND: &str = "at most";
const BOUND_INDENTED: &str = "  at most";

/// The meaning of these rows.
const MEANING_OF_BOUND: &str = "at most: what a perfect run has, because some topics have fewer relevant images than the lists have places";

/// The letter of a run.
fn letter(run: usize) -> char {
    u8::try_from(run).map_or('?', |run| char::from(b'a' + run % 26))
}

/// A value, with four decimals; a number of documents or topics without any.
fn number(value: f64, values: &MeasureValues) -> String {
    match values.are_counts() {
        true => value.to_string(),
        false => format!("{value:.4}"),
    }
}

impl ComparisonTable {
    /// A table of differences with their p-values and effect sizes: each run's difference to the first, or those of all [`pairs`](Self::pairs).
    pub fn differences(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| match &self.pairs {
            Some(pairs) => self.write_pairs(f, pairs),
            None => self.write_differences_to_first(f),
        })
    }

    fn write_differences_to_first(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(((first, baseline), others)) = self.rows.split_first() else {
            return Ok(());
        };
        let caption = format!(
            "difference to {first} (p: {}; d: Cohen's d)",
            self.test.words()
        );
        let names: Vec<String> = self.names().skip(1).collect();
        self.write(f, Some(&caption), ("run", &names), DIFFERENCE, |row, at| {
            let test = paired(&baseline[at], &others[row].1[at], self.test);
            difference(&test, &baseline[at])
        })
    }

    fn write_pairs(&self, f: &mut fmt::Formatter<'_>, pairs: &PairwiseTests) -> fmt::Result {
        let caption = format!(
            "second run minus first (p: {}; d: Cohen's d)",
            pairs.words()
        );
        let Some((_, values)) = self.rows.first() else {
            return Ok(());
        };
        let of_first: Vec<RunPair> = pairs.columns.first().cloned().unwrap_or_default();
        let names = of_first.iter().map(|RunPair { runs: (a, b), .. }| {
            let name = |run: usize| self.rows.get(run).map_or("", |(name, _)| name);
            format!("{}, {}", name(*a), name(*b))
        });
        let names: Vec<String> = names.collect();
        self.write(
            f,
            Some(&caption),
            ("runs", &names),
            DIFFERENCE,
            |row, at| {
                let pair = pairs.columns.get(at).and_then(|column| column.get(row));
                pair.map_or(Cell::default(), |pair| difference(&pair.test, &values[at]))
            },
        )
    }

    /// A table of the 95% confidence interval of each value ([`interval`]).
    pub fn intervals(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| {
            let caption = "95% confidence intervals (bootstrap over topics)";
            let names: Vec<String> = self.names().collect();
            self.write(f, Some(caption), ("run", &names), 13, |row, at| {
                let values = &self.rows[row].1[at];
                let (low, high) = interval(values);
                let [low, high] = [low, high].map(|end| number(end, values));
                Cell::from(format!("{low}–{high}"))
            })
        })
    }

    /// A table of one run's values by topic.
    pub fn by_topic(&self, row: usize) -> impl fmt::Display + '_ {
        fmt::from_fn(move |f| {
            let (name, values) = &self.rows[row];
            let topics: BTreeSet<_> = values.iter().flat_map(|of| of.topics.keys()).collect();
            let topics: Vec<_> = topics.into_iter().collect();
            let names = topics.iter().map(|topic| escaped(&topic.0).to_string());
            let names: Vec<String> = match self.format {
                TableFormat::Text => names.map(|topic| format!("{topic:<8}")).collect(),
                _ => names.collect(),
            };
            self.write(f, Some(name), ("topic", &names), 7, |row, at| {
                let value = values[at].topics.get(topics[row]);
                // "-": the measure leaves this topic out
                let text = value.map_or("-".to_owned(), |value| number(*value, &values[at]));
                Cell::from(text)
            })
        })
    }

    /// Leaves out each measure over all judged topics that equals the same measure over the topics of the run, by the same judgements. They are equal if
    /// every run has all judged topics. `measures` has the measure of each column.
    pub fn leave_out_repeated(&mut self, measures: &[&Measure]) {
        let columns = 0..self.columns.len();
        let kept: Vec<usize> = columns.filter(|at| !self.repeats(*at, measures)).collect();
        self.columns = kept.iter().map(|at| self.columns[*at].clone()).collect();
        for (_, values) in &mut self.rows {
            *values = kept.iter().map(|at| values[*at].clone()).collect();
        }
        for attainable in &mut self.attainable {
            *attainable = kept.iter().map(|at| attainable[*at]).collect();
        }
    }

    /// What is said below the table: the meanings of the measures, and that of the rows "at most". There are none of these rows if no measure has a bound.
    pub fn legend(&mut self, measures: &[&Measure]) -> BTreeSet<String> {
        let meanings = measures.iter().filter_map(|measure| measure.explanation());
        let mut legend: BTreeSet<String> = meanings.collect();
        match self.attainable.iter().flatten().any(Option::is_some) {
            true => drop(legend.insert(MEANING_OF_BOUND.to_owned())),
            false => self.attainable.clear(),
        }
        legend
    }

    fn repeats(&self, at: usize, measures: &[&Measure]) -> bool {
        let Some(&measure @ Measure::Image(of_judged)) = measures.get(at) else {
            return false;
        };
        let of_run = Measure::Image(ImageMeasure {
            all_judged: false,
            ..*of_judged
        });
        let judgements = self.columns[at].strip_suffix(&measure.to_string());
        let of_run = format!("{}{of_run}", judgements.unwrap_or_default());
        let first = self.columns.iter().position(|column| *column == of_run);
        let same = |(_, values): &(String, Vec<MeasureValues>)| {
            first.is_some_and(|first| values[first].topics == values[at].topics)
        };
        of_judged.all_judged && self.rows.iter().all(same)
    }

    fn names(&self) -> impl Iterator<Item = String> + '_ {
        let names = self.rows.iter().enumerate();
        names.map(|(run, (name, _))| match &self.pairs {
            Some(_) => format!("{} {name}", letter(run)),
            None => name.clone(),
        })
    }

    /// The rows of the table of values: their names, the numbers of their runs, and whether they show what runs can reach. This is one row at the end
    /// if it is the same for all, and otherwise a row below each run.
    fn lines(&self) -> Vec<(String, usize, bool)> {
        let is_same = self.attainable.windows(2).all(|pair| pair[0] == pair[1]);
        let mut lines = Vec::new();
        for (run, name) in self.names().enumerate() {
            lines.push((name, run, false));
            if !is_same {
                lines.push((BOUND_INDENTED.to_owned(), run, true));
            }
        }
        if is_same && !self.attainable.is_empty() {
            lines.push((BOUND.to_owned(), 0, true));
        }
        lines
    }

    /// The cell of a run's value.
    fn value(&self, run: usize, at: usize) -> Cell {
        let values = self.rows.iter().map(|(_, row)| row[at].all());
        let of_run = &self.rows[run].1[at];
        let value = of_run.all();
        let (best, worst) = (
            values.clone().fold(f64::MIN, f64::max),
            values.fold(f64::MAX, f64::min),
        );
        // where all are equal, none is best
        let is_best = value == best && best > worst;
        let beaten = self.pairs.iter().flat_map(|pairs| pairs.beaten(run, at));
        Cell {
            text: number(value, of_run),
            style: if is_best { Style::Green } else { Style::Plain },
            is_best: Some(is_best),
            letters: beaten.map(letter).collect(),
        }
    }

    /// Writes columns that are at least `narrowest` characters wide, to the right of the names of their rows. `cell` returns the cell of a row and a
    /// column.
    fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        caption: Option<&str>,
        (title, names): (&str, &[String]),
        narrowest: usize,
        cell: impl Fn(usize, usize) -> Cell,
    ) -> fmt::Result {
        let cells = |row| (0..self.columns.len()).map(|at| cell(row, at)).collect();
        let grid = Grid {
            caption,
            title,
            names,
            columns: &self.columns,
            cells: (0..names.len()).map(cells).collect(),
            narrowest,
        };
        grid.write(f, self.format)
    }
}

/// The width of a difference in a text.
const DIFFERENCE: usize = "+0.0000 (p 0.0000, d +0.00)".len();

/// A difference, with p and, if there is one, d.
fn difference(test: &PairedTest, values: &MeasureValues) -> Cell {
    let PairedTest { difference, p, .. } = *test;
    let difference = match values.are_counts() {
        true => format!("{difference:+}"),
        false => format!("{difference:+.4}"),
    };
    let p = match p {
        p if p < 0.00005 => "<.0001".to_owned(),
        p => format!("{p:.4}"),
    };
    Cell::from(match test.effect {
        Some(d) => format!("{difference} (p {p}, d {d:+.2})"),
        None => format!("{difference} (p {p})"),
    })
}

impl fmt::Display for ComparisonTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines();
        let names: Vec<String> = lines.iter().map(|(name, ..)| name.clone()).collect();
        let legend = self.pairs.as_ref().map(|pairs| {
            format!(
                "a letter after a value: significantly better than that run ({}, p at most {})",
                pairs.words(),
                pairs.level
            )
        });
        let width = "0.0000*".len() + 1;
        self.write(f, legend.as_deref(), ("run", &names), width, |row, at| {
            let (_, run, is_attainable) = lines[row];
            if is_attainable {
                let most = self.attainable[run][at];
                return Cell {
                    text: most.map_or(String::new(), |most| format!("{most:.4}")),
                    style: Style::Dim,
                    is_best: most.map(|_| false),
                    letters: String::new(),
                };
            }
            self.value(run, at)
        })
    }
}
