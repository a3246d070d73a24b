//! Exports the tables of evidence as Parquet files.

use std::fs;
use std::path::Path;

use anyhow::{Context, Error, Result, ensure};
use rusqlite::{Connection, ffi};

use super::Store;
use super::checksum::{self, ALL};
use super::parquet::TableFile;
use super::tables::with_checksums;
use crate::disk::{self, TemporaryDir};
use crate::events::{Event, OnEvent, Progress, Stage, run_stage};
use crate::evidence::channel::Channels;
use crate::evidence::table::EvidenceTable;

/// Number of rows between two reports of progress.
const REPORTED: u64 = 1024;

/// The names of all files that an export writes.
pub fn exported_files(channels: Channels) -> impl Iterator<Item = String> {
    with_checksums(channels).map(file_of)
}

fn file_of(table: &EvidenceTable) -> String {
    format!("{}.parquet", table.name)
}

impl Store {
    /// Writes each table as a Parquet file into a directory, `page` as `page.parquet`. Rows are in the order of the primary key. The files get
    /// their names when all are complete, and replace those of an earlier export. Returns their names, each with its number of rows.
    /// `on_event` receives the table that is being written, and the number of rows of all tables.
    ///
    /// # Errors
    /// A record is damaged ([`super::DamagedRecord`]), the store cannot be read or is empty, or a file cannot be written.
    pub fn export(&self, dir: &Path, on_event: &mut OnEvent) -> Result<Vec<(String, u64)>> {
        let writing = || format!("cannot write to {}", dir.display());
        fs::create_dir_all(dir).with_context(writing)?;
        for name in exported_files(self.place.channels) {
            let path = dir.join(name);
            ensure!(!path.is_dir(), "{}: it is a directory", path.display());
        }
        let draft = TemporaryDir::new(dir).with_context(writing)?;
        let mut failed = None;
        // in one transaction, so that all files have the same state of the store
        let export = |on_event: &mut OnEvent| {
            self.reading(|c| {
                let total = count_rows(c, self.place.channels)?;
                ensure!(total > 0, "there is nothing to export: it is empty");
                let mut done = 0;
                let mut exported = Vec::new();
                for table in with_checksums(self.place.channels) {
                    let before = done;
                    let on_row = &mut || {
                        if done % REPORTED == 0 {
                            let detail = table.name.to_owned();
                            let items = Progress::Items {
                                done,
                                total,
                                detail,
                            };
                            on_event(Event::Progress(items));
                        }
                        done += 1;
                    };
                    write_table(c, table, draft.path(), on_row, &mut failed)?;
                    exported.push((file_of(table), done - before));
                }
                Ok(exported)
            })
        };
        let exported = run_stage(Stage::Exporting, 0, on_event, export);
        if let Some(error) = failed {
            return Err(error.context(writing()));
        }
        let exported = exported?;
        for (name, _) in &exported {
            disk::rename_draft(&draft.path().join(name), &dir.join(name)).with_context(writing)?;
        }
        Ok(exported)
    }
}

fn count_rows(c: &Connection, channels: Channels) -> Result<u64> {
    let mut rows = 0;
    for table in with_checksums(channels) {
        // Without a condition, SQLite counts the rows in a single step, and no limit of steps stops that if the file is hostile.
        let sql = format!("SELECT count(*) FROM {} WHERE document >= ''", table.name);
        rows += c.query_row(&sql, [], |row| row.get::<_, i64>(0))?;
    }
    Ok(rows.cast_unsigned())
}

/// Writes a table into a directory. A failure to write goes to `failed`, because the returned error is about the store.
fn write_table(
    c: &Connection,
    table: &EvidenceTable,
    dir: &Path,
    on_row: &mut dyn FnMut(),
    failed: &mut Option<Error>,
) -> Result<()> {
    let begin = || TableFile::new(disk::create_draft(&dir.join(file_of(table)))?, table);
    let mut file = begin().map_err(|error| abort(failed, error))?;
    checksum::read(c, table, ALL, |row| {
        on_row();
        file.add(row)?;
        if file.is_full() {
            file.write_rows().map_err(|error| abort(failed, error))?;
        }
        Ok(())
    })?;
    Ok(file.finish().map_err(|error| abort(failed, error))?)
}

/// The error that ends the reading of rows after `failed`.
fn abort(failed: &mut Option<Error>, error: Error) -> rusqlite::Error {
    *failed = Some(error);
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ABORT), None)
}
