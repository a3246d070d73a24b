//! Copies evidence from one store into another.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::rows::is_stored;
use super::tables::{BESIDE, with_checksums};
use super::{StepBudget, Store, check_schema, checksum};
use crate::evidence::channel::Channels;
use crate::evidence::table::EvidenceTable;
use crate::workspace::file::{has_table, is_malformed, malformed, open_read_only, read_only_uri};

/// The result of a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeResult {
    /// The number of documents that were copied.
    pub documents: usize,
    /// The number of documents of the other store.
    pub found: usize,
    /// Whether the other store's file is damaged.
    pub is_damaged: bool,
    /// The number of documents of a damaged store that are known, but cannot be read.
    pub lost: usize,
}

impl Store {
    /// Copies from another store the documents that this one lacks, or of which it has fewer channels. Both stores are shards of one collection. From
    /// a damaged store, each readable document is copied separately. The other store is not written.
    ///
    /// # Errors
    /// This store cannot be written, or the other file is not an evidence store.
    pub fn merge(&mut self, other: &Path) -> Result<MergeResult> {
        let (from, into) = (other.display(), self.path().display());
        let merging = format!("cannot merge {from} into {into}");
        let channels = self.channels;
        if let Err(error) = Store::open_read_only(other, channels)
            && !is_malformed(&error)
        {
            return Err(error.context(merging));
        }
        self.steps.renew(&[&self.path, other]);
        let merged = match merge_attached(&mut self.connection, channels, other) {
            Err(error) if is_malformed(&error) => merge_each(&mut self.connection, channels, other),
            merged => merged,
        };
        merged.context(merging)
    }
}

/// Attaches the other store, copies all documents that are missing here, and detaches it.
fn merge_attached(c: &mut Connection, channels: Channels, other: &Path) -> Result<MergeResult> {
    // this reads the file, so it fails if the file is too short
    c.execute("ATTACH DATABASE ? AS shard", [read_only_uri(other)?])?;
    let merged = check_attached(c, channels).and_then(|()| merge_all(c, channels));
    c.execute_batch("DETACH DATABASE shard")?;
    merged
}

/// Checks the attached store before anything is copied from it: its tables, indexes and triggers, and the structure of its pages.
///
/// # Errors
/// It has a table, index or trigger that riposte does not create, or it is damaged ([`is_malformed`]).
fn check_attached(c: &Connection, channels: Channels) -> Result<()> {
    check_schema(c, "shard", channels)?;
    let sql = "PRAGMA shard.quick_check(1)";
    let found: String = c.query_row(sql, [], |row| row.get(0))?;
    if found != "ok" {
        bail!(malformed(found));
    }
    Ok(())
}

/// Copies all documents that are missing here, in one transaction.
fn merge_all(connection: &mut Connection, channels: Channels) -> Result<MergeResult> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(
        "CREATE TEMP TABLE coming AS
         SELECT s.document FROM shard.document s LEFT JOIN main.document d USING (document)
         WHERE d.document IS NULL
            OR (SELECT count(*) FROM main.work w WHERE w.document = s.document)
             < (SELECT count(*) FROM shard.work w WHERE w.document = s.document);",
    )?;
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        transaction.query_row(&sql, [], |row| Ok(row.get::<_, i64>(0)? as usize))
    };
    let (documents, found) = (count("coming")?, count("shard.document")?);
    // the triggers delete checksums and file states, so these come last
    for table in with_checksums(channels).chain(BESIDE) {
        let table = table.name;
        transaction.execute_batch(&format!(
            "DELETE FROM main.{table} WHERE document IN (SELECT document FROM coming);"
        ))?;
        if has_table(&transaction, "shard", table)? {
            transaction.execute_batch(&format!(
                "INSERT INTO main.{table} SELECT * FROM shard.{table} WHERE document IN (SELECT document FROM coming);"
            ))?;
        }
    }
    if has_table(&transaction, "shard", "passed_over")? {
        transaction.execute_batch(
            "INSERT OR REPLACE INTO main.passed_over SELECT * FROM shard.passed_over
             WHERE document NOT IN (SELECT document FROM main.document);",
        )?;
    }
    transaction.execute_batch("DROP TABLE coming;")?;
    transaction.commit()?;
    Ok(MergeResult {
        documents,
        found,
        ..MergeResult::default()
    })
}

/// Copies from a damaged store the documents that this one lacks, if they can be read and agree with their checksums. The damaged store has a
/// separate connection, so that its errors do not end the transaction.
fn merge_each(
    connection: &mut Connection,
    channels: Channels,
    other: &Path,
) -> Result<MergeResult> {
    let mut shard = open_read_only(other)?;
    // without this, SQLite reads nothing from a file that is too short
    shard.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    shard.pragma_update(None, "writable_schema", true)?;
    check_schema(&shard, "main", channels)?;
    let _steps = StepBudget::of(&mut shard, other)?;
    let mut tables = Vec::new();
    for table in with_checksums(channels).chain(BESIDE) {
        if has_table(&shard, "main", table.name)? {
            tables.push(table);
        }
    }
    let mut merged = MergeResult {
        is_damaged: true,
        ..MergeResult::default()
    };
    let transaction = connection.transaction()?;
    for document in readable_ids(&shard) {
        merged.found += 1;
        if is_stored(&transaction, &document)? {
            continue;
        }
        let Ok(rows) = rows_of(&shard, &tables, &document) else {
            merged.lost += 1;
            continue;
        };
        transaction.execute_batch("SAVEPOINT one")?;
        match write(&transaction, channels, rows, &document) {
            Ok(()) => merged.documents += 1,
            Err(_) => {
                transaction.execute_batch("ROLLBACK TO one")?;
                merged.lost += 1;
            }
        }
        transaction.execute_batch("RELEASE one")?;
    }
    transaction.commit()?;
    Ok(merged)
}

/// The ids in a damaged store. They are read from the first and from the last one, up to where the list cannot be read.
fn readable_ids(shard: &Connection) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for table in ["document", "checksum"] {
        for order in ["ASC", "DESC"] {
            let sql = format!("SELECT document FROM {table} ORDER BY document {order}");
            if let Ok(mut statement) = shard.prepare(&sql)
                && let Ok(rows) = statement.query_map([], |row| row.get(0))
            {
                ids.extend(rows.map_while(rusqlite::Result::ok));
            }
        }
    }
    ids
}

/// The values of one row.
pub(super) type RowValues = Vec<Value>;

/// Rows of a document in one table.
pub(super) type TableRows = (&'static EvidenceTable, Vec<RowValues>);

/// All rows of a document, by table.
pub(super) fn rows_of(
    shard: &Connection,
    tables: &[&'static EvidenceTable],
    document: &str,
) -> rusqlite::Result<Vec<TableRows>> {
    let mut all = Vec::new();
    for table in tables {
        let sql = format!("SELECT * FROM {} WHERE document = ?", table.name);
        let mut statement = shard.prepare_cached(&sql)?;
        let columns = statement.column_count();
        let values = |row: &rusqlite::Row| (0..columns).map(|column| row.get(column)).collect();
        let rows = statement.query_map([document], values)?;
        all.push((*table, rows.collect::<rusqlite::Result<_>>()?));
    }
    Ok(all)
}

/// Writes the rows of one document, and compares them with its checksums.
pub(super) fn write(
    c: &Connection,
    channels: Channels,
    rows: Vec<TableRows>,
    document: &str,
) -> Result<()> {
    for (table, rows) in rows {
        for values in rows {
            c.prepare_cached(&table.insert())?
                .execute(params_from_iter(values))?;
        }
    }
    ensure!(is_stored(c, document)?, "{document} has vanished");
    for table in with_checksums(channels) {
        checksum::read(c, table, (document, document), |_| Ok(()))?;
    }
    Ok(())
}
