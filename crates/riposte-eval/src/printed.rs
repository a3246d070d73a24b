//! What the programs riposte and riposte-eval both print of runs.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::images::ImageEvaluation;
use crate::verify::Finding;
use crate::{Detail, escaped, escaped_lines};

/// Number of findings of each kind that are listed, unless all are wanted.
const LISTED: usize = 5;

/// The file names of the runs, or as many of the last components of their paths as make them distinct. They are safe to print.
pub fn run_names(runs: &[PathBuf]) -> Vec<String> {
    let last_components = |run: &PathBuf, count: usize| {
        let all: Vec<_> = run.components().collect();
        let last: PathBuf = all[all.len().saturating_sub(count)..].iter().collect();
        escaped(&last.to_string_lossy()).to_string()
    };
    let depth = runs.iter().map(|run| run.components().count()).max();
    for count in 1..depth.unwrap_or(1) {
        let names: Vec<String> = runs.iter().map(|run| last_components(run, count)).collect();
        if names.iter().collect::<HashSet<_>>().len() == names.len() {
            return names;
        }
    }
    let whole = |run: &PathBuf| escaped(&run.to_string_lossy()).to_string();
    runs.iter().map(whole).collect()
}

/// The path and the figures of a single image run, in the layout of the organisers' tables.
pub fn image_tables(run: &Path, evaluation: &ImageEvaluation, by_topic: bool) -> String {
    let mut text = format!("{}\n", escaped(&run.to_string_lossy()));
    text += &escaped_lines(&evaluation.to_string()).to_string();
    if by_topic {
        let by_topic = evaluation.by_topic().to_string();
        text += &format!("\n{}", escaped_lines(&by_topic));
    }
    text
}

/// The confusion matrices of the run of this name, one after another. Empty if no judgements are of stances.
pub fn stance_tables(name: &str, details: &[Detail]) -> String {
    let mut text = String::new();
    for detail in details {
        if let Detail::Stances { qrels, all, first } = detail {
            let of_first = format!("{name}, {qrels}, first five results of each topic\n{first}");
            text += &format!("\n{name}, {qrels}, all results\n{all}\n{of_first}");
        }
    }
    text
}

/// A line for each finding about a run, and how many were left out: of each kind, only the first five are listed unless `all` are wanted.
pub fn finding_lines(run: &str, findings: &[Finding], all: bool) -> String {
    let run = escaped(run);
    let (mut lines, mut more) = (String::new(), 0);
    let mut seen = BTreeMap::new();
    for finding in findings {
        let count = seen.entry((finding.severity, finding.rule)).or_insert(0);
        *count += 1;
        if all || *count <= LISTED {
            let finding = finding.to_string();
            let _ = writeln!(lines, "{run}: {}", escaped(&finding));
        } else {
            more += 1;
        }
    }
    if more > 0 {
        lines += &format!("{run}: {more} more of these kinds (--verbose prints them)\n");
    }
    lines
}
