//! Measures approaches on judged collections, and compares their figures with those that were expected and those that others have published.
//!
//! Each approach is ranked by riposte's own commands, in a process of their own: so the figures are those that a user gets, and time and memory are
//! those of one approach. A run that is stopped goes on where it was, because indexes, evidence and vectors are stored.

mod expected;
mod host;
mod markdown;
mod measure;
mod plan;
mod report;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use indicatif::HumanDuration;
use riposte_eval::escaped;

use super::leaderboards::leaderboards;
use crate::events::{Event, OnEvent};
use crate::files::write_atomically;
use crate::stopped::Stopped;
use crate::weights::Models;
use crate::wording::nearest;
use measure::Measuring;
use plan::Planned;
use tables::ReproduceTable;

pub use host::{FinishedJob, ReproduceHost};
pub use plan::Job;
pub use report::{Figure, ReproduceReport, RowReport, RowState, TableReport, Took};

/// The files with the report, in the output directory.
pub const REPORT: &str = "reproduce.md";
pub const REPORT_JSON: &str = "reproduce.json";

/// What was measured, as rows of a file of tables.
pub(crate) const EXPECTED: &str = "expected.toml";

/// The number of tables for which an error says why they cannot be measured.
const REASONS: usize = 5;

/// What is measured.
#[derive(Debug, Default)]
pub struct ReproduceSettings {
    /// The names of tables; all that are here if it is empty.
    pub names: Vec<String>,
    /// The names of approaches; all if it is empty.
    pub approaches: Vec<String>,
    /// A file of tables, instead of those that come with riposte.
    pub tables: Option<PathBuf>,
    /// The directory of the collections that are no data sets.
    pub data: Option<PathBuf>,
    /// The directory for runs and the report.
    pub output: PathBuf,
    /// Whether the commands print no progress.
    pub quiet: bool,
}

/// A table in a list.
#[derive(Debug, serde::Serialize)]
pub struct ListedTable {
    pub name: String,
    pub about: String,
    /// The rows that would be measured.
    pub rows: Vec<String>,
    /// The number of all rows.
    pub of: usize,
    /// About how long the rows to measure take on two cores.
    pub minutes: f64,
    /// Why nothing can be measured.
    pub absent: Option<String>,
}

/// The names of the tables that come with riposte.
///
/// # Errors
/// The program was built with broken tables.
pub fn names() -> Result<Vec<String>> {
    let tables = tables::read(None)?;
    Ok(tables.into_iter().map(|table| table.name).collect())
}

/// Lists the tables, and how long it would take to measure them.
///
/// # Errors
/// The tables cannot be used, or there is none of a given name.
pub fn list(settings: &ReproduceSettings) -> Result<Vec<ListedTable>> {
    let tables = chosen(settings)?;
    let planned = planned(settings, &tables)?;
    let listed = planned.iter().map(|of| ListedTable {
        name: of.table.name.clone(),
        about: of.table.about.clone(),
        rows: of
            .rows
            .iter()
            .filter(|row| row.absent.is_none())
            .map(|row| row.row.name())
            .collect(),
        of: of.rows.len(),
        minutes: of.to_measure() as f64 * of.minutes_of_row(),
        absent: of.absent.clone(),
    });
    Ok(listed.collect())
}

/// Measures what can be measured here. The report is written after each row, so a run that is killed leaves what it has measured.
///
/// # Errors
/// The tables cannot be used, nothing can be measured, or the output cannot be written.
pub fn reproduce(
    settings: &ReproduceSettings,
    host: &mut ReproduceHost,
    on_event: &mut OnEvent,
) -> Result<ReproduceReport> {
    let tables = chosen(settings)?;
    let planned = planned(settings, &tables)?;
    let of: usize = planned.iter().map(Planned::to_measure).sum();
    if of == 0 {
        bail!(nothing(settings, &planned));
    }
    let output = &settings.output;
    let writing = || format!("cannot write {}", output.display());
    fs::create_dir_all(output).with_context(writing)?;
    let mut report = ReproduceReport {
        riposte: env!("CARGO_PKG_VERSION").to_owned(),
        tables: planned.iter().map(Planned::report).collect(),
    };
    let mut left: f64 = planned
        .iter()
        .map(|of| of.to_measure() as f64 * of.minutes_of_row())
        .sum();
    let mut number = 0;
    for (at, planned) in planned.iter().enumerate() {
        let rows = planned.rows.iter().enumerate();
        for (row, of_row) in rows.filter(|(_, of)| of.absent.is_none()) {
            number += 1;
            let name = of_row.row.name();
            on_event(Event::step(format!(
                "[{number}/{of}] {}: {}, about {} left",
                escaped(&planned.table.name),
                escaped(&name),
                HumanDuration(Duration::from_secs_f64(left * 60.0))
            )));
            left = (left - planned.minutes_of_row()).max(0.0);
            let Some(line) = report.tables.get_mut(at).and_then(|t| t.rows.get_mut(row)) else {
                bail!("a row of {} is missing", planned.table.name);
            };
            let measured = Measuring {
                output,
                tables: settings.tables.as_deref(),
                quiet: settings.quiet,
                planned,
                of_row,
            }
            .measure(line, host, on_event);
            Stopped::Run.check(host.stop)?;
            if let Err(error) = measured {
                line.state = RowState::Failed;
                line.why = Some(format!("{error:#}"));
            }
            write(output, &report).with_context(writing)?;
        }
    }
    Ok(report)
}

/// Why nothing can be measured.
fn nothing(settings: &ReproduceSettings, planned: &[Planned]) -> String {
    let absent = planned.iter().flat_map(|of| {
        let of_rows = of.rows.iter().filter_map(|row| row.absent.as_deref());
        of.absent.as_deref().into_iter().chain(of_rows).take(1)
    });
    let why: Vec<&str> = match settings.names.is_empty() && settings.tables.is_none() {
        true => vec!["no collection is here (`riposte reproduce --list` says how each is got)"],
        false => absent.take(REASONS).collect(),
    };
    format!("nothing can be measured: {}", why.join("; "))
}

/// The tables that are asked for.
fn chosen(settings: &ReproduceSettings) -> Result<Vec<ReproduceTable>> {
    let tables = tables::read(settings.tables.as_deref())?;
    let known: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    for name in &settings.names {
        if !known.contains(&name.as_str()) {
            let meant =
                nearest(name, &known).map_or(String::new(), |n| format!("did you mean {n}? "));
            bail!("there is no table {name}: {meant}`riposte reproduce --list` lists all");
        }
    }
    let is_asked =
        |table: &ReproduceTable| settings.names.is_empty() || settings.names.contains(&table.name);
    Ok(tables
        .iter()
        .filter(|table| is_asked(table))
        .cloned()
        .collect())
}

fn planned<'t>(
    settings: &ReproduceSettings,
    tables: &'t [ReproduceTable],
) -> Result<Vec<Planned<'t>>> {
    let beside = settings.tables.as_deref().map(crate::disk::parent);
    let data = settings.data.as_deref().or(beside);
    let (boards, models) = (leaderboards()?, Models::at(None)?);
    let planned = tables.iter();
    let planned = planned
        .map(|table| Planned::new(table, data, &settings.approaches, &boards, &models))
        .collect::<Result<Vec<Planned>>>()?;
    let names = planned
        .iter()
        .flat_map(|of| &of.rows)
        .map(|of| of.row.name());
    let names: Vec<String> = names.collect();
    for approach in &settings.approaches {
        ensure!(
            names.contains(approach),
            "none of these tables has a row {approach}"
        );
    }
    Ok(planned)
}

fn write(output: &Path, report: &ReproduceReport) -> Result<()> {
    write_atomically(&output.join(REPORT), markdown::write(report).as_bytes())?;
    let json = serde_json::to_string_pretty(report)?;
    write_atomically(&output.join(REPORT_JSON), json.as_bytes())?;
    write_atomically(&output.join(EXPECTED), expected::write(report).as_bytes())?;
    Ok(())
}

impl ReproduceReport {
    /// The report as a Markdown page.
    pub fn markdown(&self) -> String {
        markdown::write(self)
    }
}
