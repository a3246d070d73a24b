//! The overview of several runs: what each has, its measures, and the topics in which the first two differ most.

use std::collections::HashSet;

use anyhow::Result;
use riposte_eval::compare::interval;
use riposte_page::words::three_decimals;

use super::MeasureColumn;
use super::shown::{RunLine, ShownRun};

/// Number of topics that are listed because the first two runs differ most in them.
const NAMED: usize = 5;

/// A run beside others.
pub(crate) struct RunRow {
    pub(super) name: String,
    /// How many topics and documents it has.
    pub(super) topics: usize,
    pub(super) documents: usize,
    pub(super) values: Vec<Measured>,
}

/// A measure of a run.
pub(super) struct Measured {
    pub name: String,
    pub value: String,
    /// The 95% interval of the mean; `None` for fewer than two topics.
    pub interval: Option<String>,
}

/// A topic in which two runs differ.
pub(super) struct Differing {
    pub href: String,
    pub text: String,
    /// By how much.
    pub by: String,
    pub class: &'static str,
}

impl RunRow {
    /// A row for each run; none if there is only one run. `measures_of` computes the measures of a run.
    ///
    /// # Errors
    /// A measure cannot be computed.
    pub(super) fn of_all<T: RunLine>(
        run: &ShownRun<T>,
        measures_of: impl Fn(&[T]) -> Result<Vec<MeasureColumn>>,
    ) -> Result<Vec<RunRow>> {
        if run.against.is_none() {
            return Ok(Vec::new());
        }
        let others = run.against.iter().chain(&run.others);
        let lines = std::iter::once(&run.lines).chain(others);
        let row = |(name, lines): (&String, &Vec<T>)| {
            let parts = || lines.iter().map(RunLine::parts);
            Ok(RunRow {
                name: name.clone(),
                topics: parts().map(|parts| parts.0).collect::<HashSet<_>>().len(),
                documents: parts().map(|parts| parts.1).collect::<HashSet<_>>().len(),
                values: measures_of(lines)?.iter().map(Measured::of).collect(),
            })
        };
        run.names.iter().zip(lines).map(row).collect()
    }
}

impl Measured {
    fn of(column: &MeasureColumn) -> Measured {
        let several = column.values.topics.len() > 1;
        let (low, high) = interval(&column.values);
        Measured {
            name: column.name.clone(),
            value: three_decimals(column.values.all()),
            interval: several
                .then(|| format!("{} to {}", three_decimals(low), three_decimals(high))),
        }
    }
}

/// The topics with the largest differences, the largest first. Those without a difference are left out.
pub(super) fn most<T>(
    mut differing: Vec<(f64, T)>,
    shown: impl Fn(f64, T) -> Differing,
) -> Vec<Differing> {
    differing.retain(|(by, _)| by.abs() > 5e-4);
    differing.sort_by(|(a, _), (b, _)| b.abs().total_cmp(&a.abs()));
    let most = differing.into_iter().take(NAMED);
    most.map(|(by, topic)| shown(by, topic)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_differences_come_first_and_none_are_left_out() {
        let differing = vec![(0.1, "a"), (0.0, "b"), (-0.4, "c"), (0.1, "d")];
        let shown = most(differing, |by, text| Differing {
            href: String::new(),
            text: text.into(),
            by: format!("{by}"),
            class: "same",
        });
        let texts: Vec<&str> = shown.iter().map(|of| of.text.as_str()).collect();
        assert_eq!(texts, ["c", "a", "d"]);
    }
}
