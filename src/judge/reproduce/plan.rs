//! Which rows can be measured here, and with which commands.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::report::{Figure, RowReport, RowState, TableReport};
use super::tables::{ReproduceRow, ReproduceTable};
use crate::collection::task::Task;
use crate::datasets;
use crate::disk::regular;
use crate::index::wordnet::WordNet;
use crate::judge::leaderboards::{Leaderboard, System};
use crate::recipes::approaches;
use crate::weights::{ModelStatus, Models};

/// What stands for WordNet's files in a list of models.
pub(super) const WORDNET: &str = "wordnet";

/// A table with the places of its files.
pub(super) struct Planned<'t> {
    pub table: &'t ReproduceTable,
    /// The directory of the collection, and the judgements, each as FILE or NAME=FILE.
    pub place: Option<(PathBuf, Vec<String>)>,
    pub rows: Vec<PlannedRow>,
    pub absent: Option<String>,
}

/// A row that is measured, or why it is not.
pub(super) struct PlannedRow {
    pub row: ReproduceRow,
    /// The team and the run.
    pub system: Option<String>,
    /// Why it cannot be measured.
    pub absent: Option<String>,
}

impl<'t> Planned<'t> {
    /// Plans a table. `data` is the directory of collections that are no data sets, if the user has named one, and `only` are the approaches that
    /// are asked for; all if it is empty.
    ///
    /// # Errors
    /// A catalogue or a model on the disk cannot be read.
    pub fn new(
        table: &'t ReproduceTable,
        data: Option<&Path>,
        only: &[String],
        leaderboards: &[Leaderboard],
        models: &Models,
    ) -> Result<Planned<'t>> {
        let (place, absent) = match place(table, data) {
            Ok(place) => (Some(place), None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        let mut rows = rows(table, leaderboards)?;
        rows.retain(|of| only.is_empty() || only.contains(&of.row.name()));
        for of in &mut rows {
            let without = table.without.get(&of.row.name()).cloned();
            of.absent = of.absent.take().or(absent.clone()).or(without);
            if of.absent.is_none() {
                of.absent = missing(table, &of.row, place.as_ref(), models)?;
            }
        }
        Ok(Planned {
            table,
            place,
            rows,
            absent,
        })
    }

    /// The number of rows that will be measured.
    pub(crate) fn to_measure(&self) -> usize {
        self.rows.iter().filter(|of| of.absent.is_none()).count()
    }

    /// About how many minutes one of the rows takes.
    pub(crate) fn minutes_of_row(&self) -> f64 {
        self.table.minutes / self.rows.len().max(1) as f64
    }

    /// The report before anything is measured.
    pub fn report(&self) -> TableReport {
        let table = self.table;
        TableReport {
            name: table.name.clone(),
            about: table.about.clone(),
            task: table.task.word().to_owned(),
            dataset: table.dataset.clone(),
            absent: self.absent.clone(),
            columns: table.columns.clone(),
            rows: self.rows.iter().map(|of| of.report(table)).collect(),
        }
    }
}

impl PlannedRow {
    fn report(&self, table: &ReproduceTable) -> RowReport {
        let row = &self.row;
        let figures = table.columns.iter().map(|column| Figure {
            column: column.clone(),
            expected: row.expected.get(column).copied(),
            published: row.published.get(column).copied(),
            ..Figure::default()
        });
        RowReport {
            name: row.name(),
            system: self.system.clone(),
            by: row.by.clone(),
            state: match self.absent {
                Some(_) => RowState::Absent,
                None => RowState::Waiting,
            },
            why: self.absent.clone(),
            command: None,
            figures: figures.collect(),
            took: None,
        }
    }
}

/// The directory of the collection, and its judgements.
///
/// # Errors
/// They are not here.
fn place(table: &ReproduceTable, data: Option<&Path>) -> Result<(PathBuf, Vec<String>)> {
    let (dir, mut qrels) = match (&table.dataset, &table.directory) {
        (Some(name), _) => {
            let word = format!("dataset:{name}");
            let dir = datasets::directory(Path::new(&word))?;
            let qrels = match table.qrels.is_empty() {
                true => datasets::judgements(&word)?.unwrap_or_default(),
                false => Vec::new(),
            };
            (dir, qrels)
        }
        (None, Some(below)) => {
            let Some(root) = data else {
                bail!(
                    "it is no data set that can be fetched: --data names the directory that has {}",
                    below.display()
                );
            };
            (root.join(below), Vec::new())
        }
        (None, None) => bail!("it has no place"),
    };
    let reading = || format!("cannot read {}", dir.display());
    if !regular::exists(&dir).with_context(reading)? {
        bail!("there is no directory {}", dir.display());
    }
    for word in &table.qrels {
        let (name, file) = word.split_once('=').unwrap_or(("", word));
        let path = dir.join(file);
        if !regular::is_file(&path)? {
            bail!("there is no file {}", path.display());
        }
        let path = path.to_str().context("a path is not UTF-8")?;
        qrels.push(match name {
            "" => path.to_owned(),
            name => format!("{name}={path}"),
        });
    }
    Ok((dir, qrels))
}

/// The rows of the table itself, then the other systems of its leaderboard, then all other approaches if they are asked for.
fn rows(table: &ReproduceTable, leaderboards: &[Leaderboard]) -> Result<Vec<PlannedRow>> {
    let title = table.leaderboard.as_ref();
    let board = leaderboards.iter().find(|of| Some(&of.title) == title);
    let systems: &[System] = board.map_or(&[], |of| &of.rows);
    let mut rebuilt: Vec<&System> = Vec::new();
    let own = table.rows.iter().map(|row| {
        let is_it = |of: &&System| of.recipe.is_some() && of.recipe == row.approach;
        let system = systems.iter().find(is_it);
        rebuilt.extend(system);
        planned(table, row.clone(), system)
    });
    let mut rows: Vec<PlannedRow> = own.collect();
    for system in systems {
        if rebuilt.iter().any(|other| other.run == system.run) {
            continue;
        }
        let row = ReproduceRow {
            approach: Some(system.recipe.clone().unwrap_or_default()),
            ..ReproduceRow::default()
        };
        let mut of = planned(table, row, Some(system));
        if system.recipe.is_none() {
            of.absent = Some(system.why.clone().unwrap_or_default());
        }
        rows.push(of);
    }
    if table.all {
        for about in approaches::all(table.task)? {
            let is_listed = rows
                .iter()
                .any(|of| of.row.approach.as_ref() == Some(&about.name));
            let ranks_it = about.service.is_none() && about.form.as_deref() != Some("claims");
            if !is_listed && ranks_it {
                let row = ReproduceRow {
                    approach: Some(about.name),
                    ..ReproduceRow::default()
                };
                rows.push(planned(table, row, None));
            }
        }
    }
    Ok(rows)
}

/// A row with the official figures of the system that it rebuilds.
fn planned(table: &ReproduceTable, mut row: ReproduceRow, system: Option<&System>) -> PlannedRow {
    if let Some(system) = system {
        for (column, figure) in &table.official {
            if let Some(value) = system.figure(figure) {
                row.published.entry(column.clone()).or_insert(value);
            }
        }
        row.by = row.by.or_else(|| table.leaderboard.clone());
    }
    PlannedRow {
        row,
        system: system.map(|of| format!("{}: {}", of.team, of.run)),
        absent: None,
    }
}

/// What a row needs and this machine lacks.
///
/// # Errors
/// A model on the disk cannot be read.
fn missing(
    table: &ReproduceTable,
    row: &ReproduceRow,
    place: Option<&(PathBuf, Vec<String>)>,
    models: &Models,
) -> Result<Option<String>> {
    if let (Some(run), Some((dir, _))) = (&row.run, place) {
        let path = dir.join(run);
        let is_there = regular::is_file(&path)?;
        return Ok((!is_there).then(|| format!("there is no file {}", path.display())));
    }
    if let Some(name) = row
        .approach
        .as_ref()
        .filter(|name| !name.ends_with(".toml"))
    {
        let known = approaches::all(table.task)?;
        let Some(about) = known.iter().find(|about| about.name == *name) else {
            return Ok(Some(format!("this version has no approach {name}")));
        };
        if about.service.is_some() {
            return Ok(Some("it asks a service on the web".to_owned()));
        }
    }
    for name in row.models(table) {
        if name == WORDNET {
            if WordNet::find().is_none() {
                return Ok(Some("WordNet is not installed".to_owned()));
            }
            continue;
        }
        match models.find(name)? {
            ModelStatus::Ready(_) => {}
            ModelStatus::Missing { .. } => {
                return Ok(Some(format!(
                    "the model {name} is not installed: `riposte models fetch {name}`"
                )));
            }
            ModelStatus::Wrong { file, why } => {
                return Ok(Some(format!("the model {name} is damaged: {file}: {why}")));
            }
        }
    }
    Ok(None)
}

impl ReproduceRow {
    /// The models that may be used.
    pub(super) fn models<'a>(&'a self, table: &'a ReproduceTable) -> &'a [String] {
        self.models.as_ref().unwrap_or(&table.models)
    }
}

/// A command of riposte: its words after the name of the program, and the environment that differs.
pub struct Job {
    pub words: Vec<OsString>,
    /// More words: the directories of models and of what is stored, which are of this run of `reproduce` alone.
    pub places: Vec<OsString>,
    pub environment: Vec<(&'static str, OsString)>,
}

/// The files of a row's commands.
pub(super) struct Paths<'a> {
    pub collection: &'a Path,
    /// The directory of the run.
    pub output: &'a Path,
    /// A directory with the models that may be used, and with nothing else.
    pub models: &'a Path,
    /// The directory for indexes, evidence and vectors.
    pub stored: &'a Path,
    /// The directory of a file of tables, from which an approach in a file is named.
    pub recipes: &'a Path,
}

/// The commands that prepare the collection for a row, and that rank it.
pub(super) fn jobs(
    table: &ReproduceTable,
    row: &ReproduceRow,
    paths: &Paths,
    quiet: bool,
) -> [Job; 2] {
    let approach = row.approach.clone().unwrap_or_default();
    let approach = match approach.ends_with(".toml") {
        true => paths.recipes.join(approach).into_os_string(),
        false => approach.into(),
    };
    let task = table.task.word();
    let is_images = table.task == Task::Images;
    let common = |first: &[&str]| {
        let mut words: Vec<OsString> = vec!["--no-config".into()];
        words.extend(first.iter().map(OsString::from));
        words.extend(["-i".into(), paths.collection.into()]);
        // int8 is faster, but not the same on every machine
        words.extend(["--numeric".into(), "float".into()]);
        if quiet {
            words.push("--quiet".into());
        }
        words
    };
    let mut prepare = match is_images {
        true => common(&["extract"]),
        false => common(&["index", "--task", task]),
    };
    let mut rank = common(&[task]);
    rank.extend(["-o".into(), paths.output.into()]);
    rank.extend(["--approach".into(), approach.clone()]);
    if !is_images {
        prepare.extend(["--approach".into(), approach]);
    }
    if let Some(file) = &table.topics {
        rank.extend(["--topics".into(), paths.collection.join(file).into()]);
    }
    if let (true, Some(year)) = (is_images, table.year) {
        rank.extend(["--edition".into(), year.to_string().into()]);
    }
    let hides_wordnet = !row.models(table).iter().any(|name| name == WORDNET);
    [prepare, rank].map(|words| Job {
        words,
        places: vec![
            "--models".into(),
            paths.models.into(),
            "--cache".into(),
            paths.stored.into(),
        ],
        environment: match hides_wordnet {
            true => vec![("WNSEARCHDIR", paths.models.into())],
            false => Vec::new(),
        },
    })
}
