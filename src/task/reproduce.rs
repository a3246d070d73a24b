//! Measures approaches on judged collections, and compares their figures with those that were expected and those that others have published.
//!
//! Each approach is ranked by riposte's own commands, in a process of their own: so the figures are those that a user gets, and time and memory are
//! those of one approach. A run that is stopped goes on where it was, because indexes, evidence and vectors are stored.

mod expected;
mod markdown;
mod plan;
mod report;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use riposte_eval::compare::interval;
use riposte_eval::verify::{Finding, Severity, is_valid};

use super::evaluate::{EvaluationSettings, evaluate};
use super::files::{NamedRun, write_atomically};
use super::leaderboards::leaderboards;
use super::recipe::nearest;
use super::verify::{VerificationSettings, Verifier};
use super::{Event, OnEvent, Task};
use crate::weights::{ModelStatus, Models};
use plan::{Paths, Planned, PlannedRow, Roots, WORDNET, jobs};
use tables::Table;

pub use plan::Job;
pub use report::{Figure, Report, RowReport, State, TableReport, Took};

/// The files with the report, in the output directory.
pub const REPORT: &str = "reproduce.md";
pub const REPORT_JSON: &str = "reproduce.json";

/// What was measured, as rows of a file of tables.
pub const EXPECTED: &str = "expected.toml";

/// The number of tables for which an error says why they cannot be measured.
const REASONS: usize = 5;

/// The directory in the output directory with indexes, evidence and vectors, in a folder for each set of models: what was stored with another model
/// would change the figures.
const STORED: &str = "stored";

/// The directory in the output directory whose folders show the commands only some of the installed models.
const MODELS: &str = ".models";

/// What is measured.
#[derive(Debug, Default)]
pub struct Settings {
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

/// How a command has ended, and what it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ended {
    /// Its exit code; `None` if a signal has ended it.
    pub code: Option<i32>,
    pub seconds: f64,
    /// In units of 1000 bytes; `None` if the system does not say.
    pub peak_kilobytes: Option<u64>,
}

/// A row that is next.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// From 1.
    pub number: usize,
    pub of: usize,
    pub table: &'a str,
    pub row: &'a str,
    /// About how long all rows from this one on take.
    pub left: Duration,
}

/// What the caller does for the task.
pub struct Host<'a> {
    /// Runs a command of this program, and waits until it has ended.
    pub run: &'a mut dyn FnMut(&Job) -> Result<Ended>,
    pub on_turn: &'a mut dyn FnMut(Turn),
    /// Set if the user wants to stop.
    pub stop: &'a AtomicBool,
}

/// A table in a list.
#[derive(Debug, serde::Serialize)]
pub struct Listed {
    pub name: String,
    pub about: String,
    /// The number of rows that would be measured, and of all.
    pub rows: usize,
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
pub fn list(settings: &Settings) -> Result<Vec<Listed>> {
    let tables = chosen(settings)?;
    let planned = planned(settings, &tables)?;
    let listed = planned.iter().map(|of| Listed {
        name: of.table.name.clone(),
        about: of.table.about.clone(),
        rows: of.to_measure(),
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
pub fn reproduce(settings: &Settings, host: &mut Host, on_event: &mut OnEvent) -> Result<Report> {
    let tables = chosen(settings)?;
    let planned = planned(settings, &tables)?;
    let of: usize = planned.iter().map(Planned::to_measure).sum();
    if of == 0 {
        bail!(nothing(settings, &planned));
    }
    let output = &settings.output;
    let writing = || format!("cannot write {}", output.display());
    fs::create_dir_all(output).with_context(writing)?;
    let mut report = Report {
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
            (host.on_turn)(Turn {
                number,
                of,
                table: &planned.table.name,
                row: &name,
                left: Duration::from_secs_f64(left * 60.0),
            });
            left = (left - planned.minutes_of_row()).max(0.0);
            let Some(line) = report.tables.get_mut(at).and_then(|t| t.rows.get_mut(row)) else {
                bail!("a row of {} is missing", planned.table.name);
            };
            let measured = Measuring {
                settings,
                planned,
                of_row,
            }
            .measure(line, host, on_event);
            if host.stop.load(Ordering::Relaxed) {
                bail!("{}", super::STOPPED);
            }
            if let Err(error) = measured {
                line.state = State::Failed;
                line.why = Some(format!("{error:#}"));
            }
            write(output, &report).with_context(writing)?;
        }
    }
    // the links to models are of use to nobody
    let _ = fs::remove_dir_all(output.join(MODELS));
    Ok(report)
}

/// Why nothing can be measured.
fn nothing(settings: &Settings, planned: &[Planned]) -> String {
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
fn chosen(settings: &Settings) -> Result<Vec<Table>> {
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
        |table: &Table| settings.names.is_empty() || settings.names.contains(&table.name);
    Ok(tables
        .iter()
        .filter(|table| is_asked(table))
        .cloned()
        .collect())
}

fn planned<'t>(settings: &Settings, tables: &'t [Table]) -> Result<Vec<Planned<'t>>> {
    let roots = match &settings.tables {
        Some(file) => Roots {
            data: Some(
                settings
                    .data
                    .as_deref()
                    .unwrap_or(crate::disk::parent(file)),
            ),
            option: "--data",
        },
        None => Roots {
            data: settings.data.as_deref(),
            option: "--data",
        },
    };
    let (boards, models) = (leaderboards()?, Models::at(None)?);
    let planned = tables.iter();
    let planned = planned
        .map(|table| Planned::new(table, &roots, &settings.approaches, &boards, &models))
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

fn write(output: &Path, report: &Report) -> Result<()> {
    write_atomically(&output.join(REPORT), markdown::write(report).as_bytes())?;
    let json = serde_json::to_string_pretty(report)?;
    write_atomically(&output.join(REPORT_JSON), json.as_bytes())?;
    write_atomically(&output.join(EXPECTED), expected::write(report).as_bytes())?;
    Ok(())
}

impl Report {
    /// The report as a Markdown page.
    pub fn markdown(&self) -> String {
        markdown::write(self)
    }
}

/// A row that is being measured.
struct Measuring<'a> {
    settings: &'a Settings,
    planned: &'a Planned<'a>,
    of_row: &'a PlannedRow,
}

impl Measuring<'_> {
    /// # Errors
    /// A command fails, or the run is not valid.
    fn measure(&self, line: &mut RowReport, host: &mut Host, on_event: &mut OnEvent) -> Result<()> {
        let row = &self.of_row.row;
        let (dir, qrels) = self
            .planned
            .place
            .as_ref()
            .context("the collection has no place")?;
        let run = match &row.run {
            Some(run) => dir.join(run),
            None => self.rank(dir, line, host)?,
        };
        self.verify(&run, dir, on_event)?;
        self.evaluate(&run, qrels, line, on_event)?;
        let moved = line.figures.iter().filter(|figure| figure.moved);
        let moved = moved.map(|of| {
            let (value, expected) = (of.value.unwrap_or(0.0), of.expected.unwrap_or(0.0));
            format!("{} is {value:.4} and was {expected:.4}", of.column)
        });
        let moved: Vec<String> = moved.collect();
        line.state = match moved.is_empty() {
            true => State::Measured,
            false => State::Moved,
        };
        line.why = (!moved.is_empty()).then(|| moved.join("; "));
        Ok(())
    }

    /// Ranks the collection. Returns the directory of the run.
    fn rank(&self, dir: &Path, line: &mut RowReport, host: &mut Host) -> Result<PathBuf> {
        let (table, row) = (self.planned.table, &self.of_row.row);
        let name = row.name();
        let name = name.trim_end_matches(".toml");
        let folder: String = name
            .chars()
            .map(|c| {
                if c.is_alphanumeric() || "-_.".contains(c) {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        let output = self.settings.output.join(&table.name).join(folder);
        let names = row.models(table);
        let label = match names {
            [] => "none".to_owned(),
            names => names.join("+"),
        };
        let models = self.show_models(names, &label)?;
        let none = Path::new("");
        let paths = Paths {
            collection: dir,
            output: &output,
            models: &models,
            stored: &self.settings.output.join(STORED).join(&label),
            recipes: self
                .settings
                .tables
                .as_deref()
                .map_or(none, crate::disk::parent),
        };
        let [prepare, rank] = jobs(table, row, &paths, self.settings.quiet);
        let words = rank
            .words
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        line.command = Some(std::iter::once("riposte".to_owned()).chain(words).collect());
        let prepared = ended(&prepare, host)?;
        let ranked = ended(&rank, host)?;
        line.took = Some(Took {
            preparing: prepared.seconds,
            ranking: ranked.seconds,
            peak_kilobytes: prepared.peak_kilobytes.max(ranked.peak_kilobytes),
        });
        Ok(output)
    }

    /// Makes a directory that has these of the installed models, and no other.
    fn show_models(&self, names: &[String], label: &str) -> Result<PathBuf> {
        let all = Models::at(None)?;
        let dir = std::path::absolute(self.settings.output.join(MODELS).join(label))?;
        let writing = || format!("cannot write {}", dir.display());
        fs::create_dir_all(&dir).with_context(writing)?;
        for name in names.iter().filter(|name| *name != WORDNET) {
            let ModelStatus::Ready(model) = all.find(name)? else {
                bail!("the model {name} is not installed");
            };
            let link = dir.join(name);
            if fs::symlink_metadata(&link).is_err() {
                show(&std::path::absolute(&model.dir)?, &link).with_context(writing)?;
            }
        }
        Ok(dir)
    }

    /// # Errors
    /// The run cannot be read, or it breaks a rule of the task.
    fn verify(&self, run: &Path, dir: &Path, on_event: &mut OnEvent) -> Result<()> {
        let table = self.planned.table;
        // a stored run can have topics that are not judged here
        let is_stored = self.of_row.row.run.is_some();
        let settings = VerificationSettings {
            task: Some(Task::from(table.text_task())),
            edition: table.year,
            input: (!is_stored).then(|| dir.to_owned()),
            topics: table
                .topics
                .as_ref()
                .map(|file| dir.join(file))
                .filter(|_| !is_stored),
            ..VerificationSettings::default()
        };
        let verdict = Verifier::new(&settings, &mut without_faults(on_event))?.verify(run)?;
        if is_stored || is_valid(&verdict.findings) {
            return Ok(());
        }
        let is_error = |finding: &&Finding| finding.severity == Severity::Error;
        let first = verdict.findings.iter().find(is_error);
        bail!(
            "the run is not valid: {}",
            first.map(ToString::to_string).unwrap_or_default()
        )
    }

    fn evaluate(
        &self,
        run: &Path,
        qrels: &[String],
        line: &mut RowReport,
        on_event: &mut OnEvent,
    ) -> Result<()> {
        let table = self.planned.table;
        let settings = EvaluationSettings {
            edition: table.edition()?,
            judgements: qrels.to_vec(),
            runs: vec![NamedRun {
                name: Some(line.name.clone()),
                path: run.to_owned(),
            }],
            measures: table.measures()?,
        };
        let evaluation = evaluate(&settings, &mut without_faults(on_event))?;
        let evaluated = evaluation.runs.first().context("no run was evaluated")?;
        let several = evaluation.judgements.len() > 1;
        let columns = evaluation.judgements.iter().flat_map(|of| {
            let name = move |measure: &_| match several {
                true => format!("{} {measure}", of.name),
                false => format!("{measure}"),
            };
            of.measures.iter().map(name)
        });
        let columns: Vec<String> = columns.collect();
        for figure in &mut line.figures {
            let at = columns.iter().position(|column| *column == figure.column);
            let values = at
                .and_then(|at| evaluated.values.get(at))
                .with_context(|| {
                    let (column, there) = (&figure.column, columns.join(", "));
                    format!("the judgements give no {column}, but {there}")
                })?;
            let value = values.all();
            figure.value = Some(value);
            figure.interval = Some(interval(values));
            figure.topics = values.topics.len();
            figure.moved = figure
                .expected
                .is_some_and(|expected| (value - expected).abs() > table.tolerance);
        }
        Ok(())
    }
}

/// Runs a command.
///
/// # Errors
/// It cannot be started, or it fails.
fn ended(job: &Job, host: &mut Host) -> Result<Ended> {
    let ended = (host.run)(job)?;
    match ended.code {
        Some(0) => Ok(ended),
        code => {
            let words = job.words.iter().skip(1).map(|word| word.to_string_lossy());
            let words: Vec<_> = words.collect();
            let code = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            bail!("`riposte {}` ended with {code}", words.join(" "))
        }
    }
}

/// Notes and faults of a run are the concern of the commands that have printed them already.
fn without_faults<'a>(on_event: &'a mut OnEvent) -> impl FnMut(Event) + 'a {
    move |event| {
        if !matches!(event, Event::Note(_) | Event::Fault(_)) {
            on_event(event);
        }
    }
}

/// Shows the directory of a model at another place.
fn show(dir: &Path, at: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(dir, at);
    #[cfg(not(unix))]
    {
        fs::create_dir_all(at)?;
        for file in fs::read_dir(dir)? {
            let file = file?;
            if file.file_type()?.is_file() {
                fs::copy(file.path(), at.join(file.file_name()))?;
            }
        }
        Ok(())
    }
}
