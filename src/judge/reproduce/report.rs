//! What was measured, beside what was expected and what others have published.

use serde::Serialize;

/// All tables of a run of `reproduce`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReproduceReport {
    /// The version of riposte.
    pub riposte: String,
    pub tables: Vec<TableReport>,
}

/// A table, as far as it has been measured.
#[derive(Clone, Debug, Serialize)]
pub struct TableReport {
    pub name: String,
    pub about: String,
    /// The command that ranks the collection.
    pub task: String,
    /// The name of the data set; `None` for a directory of the user's.
    pub dataset: Option<String>,
    /// Why nothing can be measured: the collection is not here.
    pub absent: Option<String>,
    pub columns: Vec<String>,
    pub rows: Vec<RowReport>,
}

/// An approach or a stored run.
#[derive(Clone, Debug, Serialize)]
pub struct RowReport {
    pub name: String,
    /// The team and the run that the approach rebuilds, or that nobody can rebuild.
    pub system: Option<String>,
    /// Who has published the figures.
    pub by: Option<String>,
    pub state: RowState,
    /// What is wrong, or why the row was not measured.
    pub why: Option<String>,
    /// The words of the command that makes the run, without the options that hide other models and what they have stored.
    pub command: Option<Vec<String>>,
    /// One for each column.
    pub figures: Vec<Figure>,
    pub took: Option<Took>,
}

/// What has become of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowState {
    Measured,
    /// A figure differs from the expected one by more than the tolerance.
    Moved,
    /// It could not be ranked, or its run is not valid.
    Failed,
    /// It cannot be measured here: the collection, a model or a published method is missing.
    Absent,
    /// It has not had its turn.
    Waiting,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figure {
    pub column: String,
    /// What was measured now.
    pub value: Option<f64>,
    /// Its 95% confidence interval.
    pub interval: Option<(f64, f64)>,
    /// The number of topics.
    pub topics: usize,
    /// What riposte has measured before; `None` if nobody knows.
    pub expected: Option<f64>,
    /// What others have published.
    pub published: Option<f64>,
    /// Whether the value differs from the expected one by more than the tolerance.
    pub moved: bool,
}

/// What a row took.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Took {
    /// For the index, the evidence and the vectors, as far as they were not stored already, in seconds.
    pub preparing: f64,
    /// For the ranking, in seconds.
    pub ranking: f64,
    /// The most memory that one of the two commands had, in units of 1000 bytes; `None` if the system does not say.
    pub peak_kilobytes: Option<u64>,
}

impl ReproduceReport {
    pub fn rows(&self) -> impl Iterator<Item = &RowReport> {
        self.tables.iter().flat_map(|table| &table.rows)
    }

    /// The number of rows in this state.
    pub fn count(&self, state: RowState) -> usize {
        self.rows().filter(|row| row.state == state).count()
    }
}
