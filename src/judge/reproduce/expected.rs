//! Writes what was measured as rows of a file of tables, so that it is expected the next time.

use std::fmt::Write as _;

use toml::Value;

use super::report::{ReproduceReport, RowState};

/// The rows that were measured. Whoever accepts them copies them into the file of tables.
pub(super) fn write(report: &ReproduceReport) -> String {
    let mut file = String::new();
    for table in &report.tables {
        let is_measured = |state| matches!(state, RowState::Measured | RowState::Moved);
        let rows = table.rows.iter().filter(|row| is_measured(row.state));
        for (n, row) in rows.enumerate() {
            let figures = row.figures.iter().filter_map(|figure| {
                let value = figure.value?;
                Some(format!(
                    "{} = {value:.4}",
                    Value::from(figure.column.as_str())
                ))
            });
            let figures: Vec<String> = figures.collect();
            // a stored run has no command
            let key = match row.command {
                Some(_) => "approach",
                None => "run",
            };
            let name = Value::from(row.name.as_str());
            if n == 0 {
                let _ = writeln!(file, "# table {}", Value::from(table.name.as_str()));
            }
            let _ = writeln!(
                file,
                "[[table.row]]\n{key} = {name}\nexpected = {{ {} }}\n",
                figures.join(", ")
            );
        }
    }
    file
}
