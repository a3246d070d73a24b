//! The tables that can be reproduced, and the figures that are expected: `datasets/reproduce.toml`, or a file of the user's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use riposte_eval::edition::Edition;
use riposte_eval::measure::TOUCHE_LEVELS;
use serde::Deserialize;

use crate::collection::task::Task;
use crate::disk::{is_plain_name, regular};
use crate::judge::evaluate::ChosenMeasure;
use crate::judge::leaderboards::System;

/// The tables that come with riposte.
const TABLES: &str = include_str!("../../../datasets/reproduce.toml");

/// Maximum size of a file of tables. riposte's has less than 64 kB.
const MAX_TABLES_BYTES: u64 = 4 << 20;

/// More minutes than a table can take: a year of them.
const MAX_MINUTES: f64 = 525_600.0;

/// A figure may differ by this much from the expected one, which has four decimals.
const TOLERANCE: f64 = 0.0005;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "table")]
    tables: Vec<ReproduceTable>,
}

/// A judged collection, and what is ranked on it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReproduceTable {
    pub name: String,
    pub about: String,
    /// The command that ranks the collection.
    pub task: Task,
    /// The name of the data set; `None` if `directory` has the collection.
    pub dataset: Option<String>,
    /// The directory of the collection: below that of `--data`, or of the file with the tables.
    pub directory: Option<PathBuf>,
    /// Files of judgements in the directory, each as FILE or NAME=FILE; empty for those of the data set.
    #[serde(default)]
    pub qrels: Vec<String>,
    /// The file of topics in the directory, if it is not the collection's own.
    pub topics: Option<PathBuf>,
    /// The year of the image task.
    pub year: Option<u32>,
    /// The columns: measures, each with the name of its judgements before it if there are several.
    pub columns: Vec<String>,
    /// The installed models that may be used, and `wordnet`. Others are hidden, because they would change the figures.
    #[serde(default)]
    pub models: Vec<String>,
    /// Whether all other approaches to the task are rows, too.
    #[serde(default)]
    pub all: bool,
    /// Approaches that cannot be measured on this collection, each with the reason.
    #[serde(default)]
    pub without: BTreeMap<String, String>,
    /// The title of the leaderboard whose systems are rows, too.
    pub leaderboard: Option<String>,
    /// For columns, the figure of the leaderboard that stands beside them.
    #[serde(default)]
    pub official: BTreeMap<String, String>,
    /// About how many minutes all rows take on two cores.
    pub minutes: f64,
    /// How much a figure may differ from the expected one.
    #[serde(default = "tolerance")]
    pub tolerance: f64,
    #[serde(default, rename = "row")]
    pub rows: Vec<ReproduceRow>,
}

/// What is ranked, or a stored run, and its figures.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReproduceRow {
    /// The name of an approach, or a file ending in .toml.
    pub approach: Option<String>,
    /// A stored run in the directory, which is only evaluated.
    pub run: Option<PathBuf>,
    /// Instead of those of the table.
    pub models: Option<Vec<String>>,
    /// What riposte has measured, by column. A column that is missing is unknown.
    #[serde(default)]
    pub expected: BTreeMap<String, f64>,
    /// What others have published, by column.
    #[serde(default)]
    pub published: BTreeMap<String, f64>,
    /// Who has published it.
    pub by: Option<String>,
}

fn tolerance() -> f64 {
    TOLERANCE
}

impl ReproduceRow {
    /// The name of the row in tables: that of the approach, or of the stored run.
    pub fn name(&self) -> String {
        match (&self.approach, &self.run) {
            (Some(name), _) => name.clone(),
            (None, Some(run)) => run.display().to_string(),
            (None, None) => String::new(),
        }
    }
}

impl ReproduceTable {
    /// The measures of all columns, without repetition.
    ///
    /// # Errors
    /// A column is no measure.
    pub fn measures(&self) -> Result<Vec<ChosenMeasure>> {
        let levels = TOUCHE_LEVELS.map(|(name, grade)| (name.to_owned(), grade));
        let words = self.columns.iter().map(|column| measure_of(column));
        let words: BTreeSet<&str> = words.collect();
        let chosen = words.into_iter();
        chosen
            .map(|word| ChosenMeasure::parse(word, &levels))
            .collect()
    }

    /// The edition that decides which grades of images count.
    ///
    /// # Errors
    /// There was no image task in the year.
    pub fn edition(&self) -> Result<&'static Edition> {
        match self.year {
            None => Ok(Edition::first()),
            Some(year) => Edition::find(None, year)
                .with_context(|| format!("there was no image task in {year}")),
        }
    }

    /// # Errors
    /// A key makes no sense.
    fn check(&self) -> Result<()> {
        ensure!(is_plain_name(&self.name), "the name is not a plain one");
        ensure!(
            self.dataset.is_some() != self.directory.is_some(),
            "it needs either `dataset` or `directory`"
        );
        ensure!(
            self.dataset.is_some() || !self.qrels.is_empty(),
            "it has no judgements (`qrels`)"
        );
        ensure!(!self.columns.is_empty(), "it has no `columns`");
        ensure!(
            (0.0..=MAX_MINUTES).contains(&self.minutes),
            "`minutes` is a number from 0 to {MAX_MINUTES}"
        );
        ensure!(self.tolerance >= 0.0, "`tolerance` is a number from 0 on");
        self.measures()?;
        self.edition()?;
        for (column, figure) in &self.official {
            self.check_column(column)?;
            ensure!(
                System::FIGURES.contains(&figure.as_str()),
                "{figure} is no figure of a leaderboard: there is {}",
                System::FIGURES.join(", ")
            );
        }
        let mut names = BTreeSet::new();
        for row in &self.rows {
            ensure!(
                row.approach.is_some() != row.run.is_some(),
                "a row needs either `approach` or `run`"
            );
            let name = row.name();
            ensure!(names.insert(name.clone()), "two rows are named {name}");
            for column in row.expected.keys().chain(row.published.keys()) {
                self.check_column(column)
                    .with_context(|| format!("the row {name}"))?;
            }
        }
        Ok(())
    }

    fn check_column(&self, column: &str) -> Result<()> {
        let columns = || self.columns.join(", ");
        ensure!(
            self.columns.iter().any(|other| other == column),
            "{column} is no column: there is {}",
            columns()
        );
        Ok(())
    }
}

/// The measure of a column: what follows the name of the judgements.
fn measure_of(column: &str) -> &str {
    match column.split_once(' ') {
        Some((_, measure)) => measure,
        None => column,
    }
}

/// Reads the tables in `file`, or those that come with riposte.
///
/// # Errors
/// The file cannot be read, or something in it is wrong.
pub fn read(file: Option<&Path>) -> Result<Vec<ReproduceTable>> {
    match file {
        None => parse(TABLES).context("cannot use the embedded datasets/reproduce.toml"),
        Some(file) => {
            let read = || parse(&regular::read_text(file, MAX_TABLES_BYTES)?);
            read().with_context(|| format!("cannot use the tables in {}", file.display()))
        }
    }
}

fn parse(toml: &str) -> Result<Vec<ReproduceTable>> {
    let file: File = toml::from_str(toml)?;
    let mut names = BTreeSet::new();
    for table in &file.tables {
        let name = &table.name;
        table.check().with_context(|| format!("table {name}"))?;
        ensure!(names.insert(name), "two tables are named {name}");
    }
    Ok(file.tables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::DatasetCatalogue;
    use crate::judge::leaderboards::leaderboards;
    use crate::recipes::approaches;

    #[test]
    fn the_embedded_tables_name_data_sets_approaches_and_leaderboards_that_exist() {
        let catalogue = DatasetCatalogue::embedded().unwrap();
        let boards = leaderboards().unwrap();
        for table in read(None).unwrap() {
            if let Some(name) = &table.dataset {
                let entry = catalogue.entry(name).unwrap();
                assert_eq!(entry.task, table.task, "{name}");
                // a data set whose judgements nobody has published cannot be a table
                assert!(!entry.qrels.is_empty() || !table.qrels.is_empty(), "{name}");
            }
            if let Some(title) = &table.leaderboard {
                let board = boards.iter().find(|board| board.title == *title).unwrap();
                assert_eq!(board.task, table.task, "{title}");
                assert!(!table.official.is_empty(), "{title}");
            }
            let known = approaches::all(table.task).unwrap();
            for row in &table.rows {
                let is_known = |name: &String| known.iter().any(|about| about.name == *name);
                assert!(row.approach.as_ref().is_none_or(is_known), "{}", row.name());
                assert_eq!(row.published.is_empty(), row.by.is_none(), "{}", row.name());
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let good = "[[table]]\nname = \"a\"\nabout = \"b\"\ntask = \"rank\"\ndirectory = \"a\"\nqrels = [\"q\"]\ncolumns = [\"AP\"]\nminutes = 1\n";
        assert_eq!(parse(good).unwrap().len(), 1);
        let row = format!("{good}[[table.row]]\napproach = \"bm25\"\n");
        for (from, to, why) in [
            ("name = \"a\"", "name = \"../a\"", "plain"),
            ("directory = \"a\"\n", "", "either `dataset` or `directory`"),
            ("qrels = [\"q\"]\n", "", "no judgements"),
            ("\"AP\"", "\"AQ\"", "no measure AQ"),
            ("\"AP\"", "", "no `columns`"),
            ("minutes = 1", "minutes = -1", "from 0 to 525600"),
            ("minutes = 1", "minutes = 1e300", "from 0 to 525600"),
            ("minutes = 1", "minutes = 1\ntolerance = nan", "from 0 on"),
            (
                "minutes = 1",
                "minutes = 1\nyear = 1999",
                "no image task in 1999",
            ),
            (
                "minutes = 1",
                "minutes = 1\nofficial = { AP = \"luck\" }",
                "no figure",
            ),
            (
                "minutes = 1",
                "minutes = 1\nofficial = { RR = \"quality\" }",
                "RR is no column",
            ),
            (
                "approach = \"bm25\"",
                "run = \"x\"\napproach = \"bm25\"",
                "either `approach` or `run`",
            ),
            (
                "approach = \"bm25\"",
                "approach = \"bm25\"\nexpected = { RR = 1 }",
                "RR is no column",
            ),
            ("minutes = 1", "hours = 1", "hours"),
        ] {
            let error = parse(&row.replacen(from, to, 1)).unwrap_err();
            assert!(format!("{error:#}").contains(why), "{to}: {error:#}");
        }
        let twice = parse(&format!("{good}{good}")).unwrap_err();
        assert!(twice.to_string().contains("two tables are named a"));
    }
}
