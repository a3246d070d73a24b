//! Copies evidence from a directory of Parquet files that `riposte-spark` has written. They have a row for each document, with a list of the rows of
//! each table (docs/scale.md).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use parquet::record::{Field, Row};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};

use super::merge::{MergeResult, RowValues, TableRows, write};
use super::rows::{delete, is_stored};
use super::tables::{BESIDE, DOCUMENT, PASSED_OVER, WORK, portable, with_checksums};
use super::{Store, explain, tables};
use crate::collection::parquet::{each_row, files};
use crate::disk::Stamp;
use crate::evidence::channel::Channels;
use crate::evidence::table::{ColumnType, EvidenceTable, TableColumn};
use crate::workspace::checksum::checksum_of;

/// The column with the id of the document.
const ID: &str = "id";

/// The column with the number of the run that has computed the document. If a document has several rows, the one of the latest run counts.
const RUN: &str = "run";

impl Store {
    /// Copies from all Parquet files in a directory the documents that this store lacks, or of which it has fewer channels. All rows are compared
    /// with their checksums. After an error, nothing is copied.
    ///
    /// # Errors
    /// A file cannot be read or has other columns, a record is damaged, one run has two different rows of a document, or this store cannot be
    /// written.
    pub fn merge_parquet(&mut self, dir: &Path) -> Result<MergeResult> {
        self.producers.take();
        let (path, channels) = (self.path().to_owned(), self.channels);
        let files = files(dir)?;
        let before = stamps(&files)?;
        let mut latest: HashMap<String, i64> = HashMap::new();
        for file in &files {
            each_row(file, Some(&[ID, RUN]), &mut |row| {
                let row = ParquetRow::new(row)?;
                let run = latest.entry(row.id).or_insert(row.run);
                *run = (*run).max(row.run);
                Ok(())
            })?;
        }
        let mut merged = MergeResult::default();
        let mut seen: HashMap<String, i64> = HashMap::new();
        let steps = self.steps.clone();
        let transaction = self.connection.transaction()?;
        for file in &files {
            each_row(file, None, &mut |row| {
                let row = ParquetRow::new(row)?;
                if latest.get(&row.id) != Some(&row.run) {
                    return Ok(());
                }
                let id = row.id.clone();
                let tables = rows(row, channels)?;
                let sum = sum_of(&tables);
                if let Some(former) = seen.insert(id.clone(), sum) {
                    let what = "the same run has two rows of it, which differ";
                    ensure!(former == sum, "{id}: {what}");
                    return Ok(());
                }
                merged.found += 1;
                // Parquet is compressed, and the store may be empty, so no size of a file says how many steps all rows need
                steps.renew(&[&path]);
                merged.documents += usize::from(copy(&transaction, channels, &id, tables)?);
                Ok(())
            })?;
        }
        // the ids were read before the rows: if a file has been replaced in between, some rows were left out without a word
        for ((file, before), after) in files.iter().zip(before).zip(stamps(&files)?) {
            ensure!(
                before == after,
                "{} has changed while it was read: nothing is merged",
                file.display()
            );
        }
        let committed = transaction.commit();
        committed.map_err(|error| explain(error.into(), &path, "cannot write to"))?;
        Ok(merged)
    }
}

/// The metadata of files, which show whether one has been written to.
fn stamps(files: &[PathBuf]) -> Result<Vec<Stamp>> {
    let stamp = |file: &PathBuf| {
        let found = fs::metadata(file).with_context(|| format!("cannot read {}", file.display()));
        Ok(Stamp::of(&found?))
    };
    files.iter().map(stamp).collect()
}

/// A row of a file.
struct ParquetRow {
    id: String,
    run: i64,
    /// The other columns that are read.
    columns: HashMap<String, Field>,
}

impl ParquetRow {
    fn new(row: Row) -> Result<ParquetRow> {
        let mut columns: HashMap<String, Field> = row.into_columns().into_iter().collect();
        let id = match columns.remove(ID) {
            Some(Field::Str(id)) if !id.is_empty() => id,
            _ => bail!("a row has no {ID}"),
        };
        let run = match columns.remove(RUN) {
            Some(Field::Int(run)) => i64::from(run),
            Some(Field::Long(run)) => run,
            _ => bail!("{id}: there is no number in the column {RUN}"),
        };
        Ok(ParquetRow { id, run, columns })
    }
}

/// The rows of a document, with the values of all columns in their order.
fn rows(mut document: ParquetRow, channels: Channels) -> Result<Vec<TableRows>> {
    let id = &document.id;
    let mut tables = Vec::new();
    for table in portable(channels) {
        let name = table.name;
        let rows = match document.columns.remove(name) {
            Some(Field::ListInternal(rows)) => rows,
            None if table.is_later => continue,
            _ => bail!("{id}: there is no list of rows in the column {name}"),
        };
        let rows = rows.elements().iter().map(|row| match row {
            Field::Group(row) => values(row, table, id),
            _ => bail!("an element of the list is not a row"),
        });
        let rows: Result<Vec<RowValues>> = rows.collect();
        let rows = rows.with_context(|| format!("{id}: the table {name}"))?;
        tables.push((table, rows));
    }
    Ok(tables)
}

/// The values of a row of the document `id`.
fn values(row: &Row, table: &EvidenceTable, id: &str) -> Result<RowValues> {
    let columns = table.columns();
    ensure!(
        row.len() == columns.len(),
        "a row has {} columns, but this version of riposte knows {}",
        row.len(),
        columns.len()
    );
    let value = |column: TableColumn| -> Result<Value> {
        let name = column.name;
        let mut fields = row.get_column_iter();
        let field = fields.find(|(other, _)| *other == name);
        let (_, field) = field.with_context(|| format!("there is no column {name}"))?;
        Ok(match (column.kind, field) {
            (_, Field::Null) if column.nullable => Value::Null,
            (ColumnType::Text, Field::Str(text)) => Value::Text(text.clone()),
            (ColumnType::Integer, Field::Long(number)) => Value::Integer(*number),
            (ColumnType::Real, Field::Double(number)) => Value::Real(*number),
            (ColumnType::Vector, Field::Bytes(bytes)) => Value::Blob(bytes.data().to_vec()),
            _ => bail!("the column {name} has another type, or no value"),
        })
    };
    let values: RowValues = columns.into_iter().map(value).collect::<Result<_>>()?;
    ensure!(
        values.first() == Some(&Value::Text(id.to_owned())),
        "a row belongs to another document"
    );
    Ok(values)
}

/// A checksum over all rows.
fn sum_of(tables: &[TableRows]) -> i64 {
    let rows = tables.iter().flat_map(|(table, rows)| {
        let name = ValueRef::Text(table.name.as_bytes());
        rows.iter().flat_map(move |values| {
            let values = values.iter().map(ValueRef::from);
            std::iter::once(name).chain(values)
        })
    });
    checksum_of(&rows.collect::<Vec<_>>())
}

/// Copies the rows of a document, unless the store has at least as many channels of it. Returns whether it was copied.
fn copy(c: &Connection, channels: Channels, id: &str, mut tables: Vec<TableRows>) -> Result<bool> {
    let rows_of = |wanted: &EvidenceTable| {
        let table = tables.iter().find(|(table, _)| table.name == wanted.name);
        table.map_or(&[][..], |(_, rows)| rows.as_slice())
    };
    let is_stored = is_stored(c, id)?;
    if rows_of(&DOCUMENT).is_empty() {
        // riposte has died in it
        let [values] = rows_of(&PASSED_OVER) else {
            bail!("{id}: there is neither evidence nor a record that riposte died in it");
        };
        let count: usize = tables.iter().map(|(_, rows)| rows.len()).sum();
        ensure!(count == 1, "{id}: parts of its evidence are missing");
        if !is_stored {
            c.prepare_cached(&PASSED_OVER.insert())?
                .execute(params_from_iter(values))?;
        }
        return Ok(false);
    }
    let stored: i64 = c
        .prepare_cached("SELECT count(*) FROM work WHERE document = ?")?
        .query_row([id], |row| row.get(0))?;
    if is_stored && stored >= rows_of(&WORK).len() as i64 {
        return Ok(false);
    }
    let sums = rows_of(&tables::CHECKSUM);
    for table in with_checksums(channels) {
        let name = Value::Text(table.name.to_owned());
        let has_sum = sums.iter().any(|values| values.get(1) == Some(&name));
        ensure!(
            has_sum || table.is_later,
            "{id}: the table {} has no checksum",
            table.name
        );
    }
    for table in with_checksums(channels).chain(BESIDE) {
        delete(c, table.name, id)?;
    }
    // the triggers delete checksums and file states, so these come last
    tables.retain(|(table, _)| table.name != PASSED_OVER.name);
    write(c, channels, tables, id)?;
    Ok(true)
}
