//! Measures a row: ranks it, verifies the run, evaluates it, and compares the figures with the expected ones.

#[cfg(not(unix))]
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use riposte_eval::compare::interval;
use riposte_eval::verify::{Finding, Severity, is_valid};

use super::host::{FinishedJob, ReproduceHost};
use super::plan::{Job, Paths, Planned, PlannedRow, WORDNET, jobs};
use super::report::{RowReport, RowState, Took};
use crate::disk::TemporaryDir;
use crate::events::OnEvent;
use crate::files::NamedRun;
use crate::judge::evaluate::{EvaluationSettings, evaluate};
use crate::judge::verify::{VerificationSettings, Verifier};
use crate::runs::run_files::plain_word;
use crate::weights::{ModelStatus, Models};

/// The directory in the output directory with indexes, evidence and vectors, in a folder for each set of models: what was stored with another model
/// would change the figures.
const STORED: &str = "stored";

/// A row that is being measured.
pub(super) struct Measuring<'a> {
    /// The directory for runs.
    pub output: &'a Path,
    /// The file of tables, if it is one of the user's.
    pub tables: Option<&'a Path>,
    /// Whether the commands print no progress.
    pub quiet: bool,
    pub planned: &'a Planned<'a>,
    pub of_row: &'a PlannedRow,
}

impl Measuring<'_> {
    /// # Errors
    /// A command fails, or the run is not valid.
    pub fn measure(
        &self,
        line: &mut RowReport,
        host: &mut ReproduceHost,
        on_event: &mut OnEvent,
    ) -> Result<()> {
        let row = &self.of_row.row;
        let (dir, qrels) = self
            .planned
            .place
            .as_ref()
            .context("the collection has no place")?;
        let run = match &row.run {
            Some(run) => dir.join(run),
            None => {
                let run = self.rank(dir, line, host)?;
                self.verify(&run, dir)?;
                run
            }
        };
        self.evaluate(&run, qrels, line, on_event)?;
        let moved = line.figures.iter().filter(|figure| figure.moved);
        let moved = moved.map(|of| {
            let (value, expected) = (of.value.unwrap_or(0.0), of.expected.unwrap_or(0.0));
            format!("{} is {value:.4} and was {expected:.4}", of.column)
        });
        let moved: Vec<String> = moved.collect();
        line.state = match moved.is_empty() {
            true => RowState::Measured,
            false => RowState::Moved,
        };
        line.why = (!moved.is_empty()).then(|| moved.join("; "));
        Ok(())
    }

    /// Ranks the collection. Returns the directory of the run.
    fn rank(&self, dir: &Path, line: &mut RowReport, host: &mut ReproduceHost) -> Result<PathBuf> {
        let (table, row) = (self.planned.table, &self.of_row.row);
        let name = row.name();
        let folder = plain_word(name.trim_end_matches(".toml"));
        let output = self.output.join(&table.name).join(folder);
        let names = row.models(table);
        let label = match names {
            [] => "none".to_owned(),
            names => names.join("+"),
        };
        let models = self.show_models(names)?;
        let none = Path::new("");
        let paths = Paths {
            collection: dir,
            output: &output,
            models: models.path(),
            stored: &self.output.join(STORED).join(&label),
            recipes: self.tables.map_or(none, crate::disk::parent),
        };
        let [prepare, rank] = jobs(table, row, &paths, self.quiet);
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
    fn show_models(&self, names: &[String]) -> Result<TemporaryDir> {
        let all = Models::at(None)?;
        let writing = || format!("cannot write {}", self.output.display());
        let dir = TemporaryDir::new(self.output).with_context(writing)?;
        for name in names.iter().filter(|name| *name != WORDNET) {
            let ModelStatus::Ready(model) = all.find(name)? else {
                bail!("the model {name} is not installed");
            };
            let target = std::path::absolute(&model.dir)?;
            show(&target, &dir.path().join(name)).with_context(writing)?;
        }
        Ok(dir)
    }

    /// # Errors
    /// The run cannot be read, or it breaks a rule of the task.
    fn verify(&self, run: &Path, dir: &Path) -> Result<()> {
        let table = self.planned.table;
        let settings = VerificationSettings {
            task: Some(table.task),
            edition: table.year,
            input: Some(dir.to_owned()),
            topics: table.topics.as_ref().map(|file| dir.join(file)),
            ..VerificationSettings::default()
        };
        // the command that has ranked them has named broken topics
        let verdict = Verifier::new(&settings, &mut |_| {})?.verify(run)?;
        if is_valid(&verdict.findings) {
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
        let evaluation = evaluate(&settings, on_event)?;
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
fn ended(job: &Job, host: &mut ReproduceHost) -> Result<FinishedJob> {
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
