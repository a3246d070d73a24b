//! Checksums of the stored rows of each document. They are verified whenever the rows are read.
//!
//! SQLite's own checks do not see changed values, and a flipped bit in an interior page of a table makes rows vanish. So the table `checksum` has a
//! row for each document and table, over all values of the document's rows in that table, in the order of the primary key. A document without a row
//! in a table has a checksum for it, too. When rows change, triggers delete their checksum. riposte then writes the new one, but an older riposte or
//! `sqlite3` does not: rows without a checksum are read unverified, and the next extraction adds the checksum.

use std::fmt;

use anyhow::{Error, Result, bail};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use crate::workspace::checksum::ValueHash;

use super::tables::with_checksums;
use crate::evidence::channel::Channels;
use crate::evidence::table::EvidenceTable;

/// Greater than the id of any document.
pub(super) const LAST: &str = "\u{10FFFF}";

/// The range of all documents.
pub(in crate::evidence) const ALL: (&str, &str) = ("", LAST);

/// The error for stored rows of a document that do not match their checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRecord {
    pub document: String,
    /// The name of the table that has the rows.
    pub table: &'static str,
}

impl fmt::Display for DamagedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DamagedRecord { document, table } = self;
        write!(
            f,
            "the record of {document} in the table {table} is damaged: `riposte extract` with this evidence file computes it again"
        )
    }
}

impl std::error::Error for DamagedRecord {}

/// Whether an error is about damaged records, which [`super::Store::remove_damaged`] removes.
pub fn is_damaged_record(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<DamagedRecord>())
}

/// A document, and its stored checksum for a table, unless that is damaged.
type Sum = (String, Option<i64>);

/// The stored checksums of neighbouring documents for all tables, in the order of the documents. Those who read several tables of a few documents read them
/// once: SQLite steps over the checksums for all other tables to find those for one.
pub(super) struct AllSums(Vec<(String, Sum)>);

impl AllSums {
    /// The checksums of the documents from `first` to `last`.
    pub fn read(c: &Connection, (first, last): (&str, &str)) -> Result<AllSums> {
        let mut sums = c.prepare_cached(
            "SELECT document, of_table, sum FROM checksum
             WHERE document BETWEEN ?1 AND ?2 ORDER BY document",
        )?;
        let mut rows = sums.query([first, last])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let sum = (text(row.get_ref(0)?), readable(row.get(2))?);
            all.push((text(row.get_ref(1)?), sum));
        }
        Ok(AllSums(all))
    }

    fn of(&self, table: &'static str) -> impl Iterator<Item = Result<Sum>> {
        let of_table = self.0.iter().filter(move |(name, _)| name == table);
        of_table.map(|(_, sum)| Ok(sum.clone()))
    }
}

/// The stored checksums of neighbouring documents for one table, in the order of the documents.
struct Checksums<'s> {
    sums: &'s mut dyn Iterator<Item = Result<Sum>>,
    /// The next document.
    next: Option<Sum>,
}

impl Checksums<'_> {
    fn advance(&mut self) -> Result<()> {
        self.next = self.sums.next().transpose()?;
        Ok(())
    }

    /// Skips the documents before `until`, or all that are left if it is `None`. They have no rows, so their checksum must be that of no rows;
    /// `damaged` is called for each one that has another checksum.
    fn pass(
        &mut self,
        until: Option<&str>,
        damaged: &mut dyn FnMut(String) -> Result<()>,
    ) -> Result<()> {
        while let Some((document, sum)) = &self.next
            && until.is_none_or(|until| document.as_str() < until)
        {
            if *sum != Some(ValueHash::default().finish()) {
                damaged(document.clone())?;
            }
            self.advance()?;
        }
        Ok(())
    }

    /// Whether the rows of the document have this checksum, or none is stored.
    fn accept(&mut self, document: &str, found: i64) -> Result<bool> {
        let mut accepted = true;
        while let Some((next, sum)) = &self.next
            && next == document
        {
            accepted &= *sum == Some(found);
            self.advance()?;
        }
        Ok(accepted)
    }
}

/// The value read from a row; `None` if the stored value has another type, because the file is damaged. For rows that the caller can do without.
///
/// # Errors
/// SQLite fails.
pub(super) fn readable<T>(row: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match row {
        Err(error @ rusqlite::Error::SqliteFailure(..)) => Err(error),
        row => Ok(row.ok()),
    }
}

/// The text of a value. Damaged text may not be UTF-8.
pub(super) fn text(value: ValueRef) -> String {
    match value {
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    }
}

/// Reads the rows of the documents from `first` to `last`, and compares the rows of each document with its checksum.
///
/// # Errors
/// The rows of a document are damaged ([`DamagedRecord`]), perhaps after `each` has read them, or SQLite fails.
pub(super) fn read(
    c: &Connection,
    table: &EvidenceTable,
    range: (&str, &str),
    mut each: impl FnMut(&Row) -> rusqlite::Result<()>,
) -> Result<()> {
    scan(c, table, range, &mut each, &mut refuse(table))
}

/// Like [`read`], with the checksums of these documents.
pub(super) fn read_with(
    c: &Connection,
    sums: &AllSums,
    table: &EvidenceTable,
    range: (&str, &str),
    mut each: impl FnMut(&Row) -> rusqlite::Result<()>,
) -> Result<()> {
    let mut sums = sums.of(table.name);
    scan_with(c, &mut sums, table, range, &mut each, &mut refuse(table))
}

/// The error about a damaged record of the table.
fn refuse(table: &EvidenceTable) -> impl FnMut(String) -> Result<()> {
    let table = table.name;
    move |document| bail!(DamagedRecord { document, table })
}

/// Like [`read`], but calls `damaged` with each document whose rows are damaged.
pub(super) fn scan(
    c: &Connection,
    table: &EvidenceTable,
    range: (&str, &str),
    each: &mut dyn FnMut(&Row) -> rusqlite::Result<()>,
    damaged: &mut dyn FnMut(String) -> Result<()>,
) -> Result<()> {
    let mut sums = c.prepare_cached(
        "SELECT document, sum FROM checksum
         WHERE document BETWEEN ?1 AND ?2 AND of_table = ?3 ORDER BY document",
    )?;
    let mut rows = sums.query(params![range.0, range.1, table.name])?;
    let mut sums = std::iter::from_fn(|| {
        let row = rows.next().transpose()?;
        Some(row.map_err(Error::from).and_then(|row| {
            let sum = readable(row.get(1))?;
            Ok((text(row.get_ref(0)?), sum))
        }))
    });
    scan_with(c, &mut sums, table, range, each, damaged)
}

fn scan_with(
    c: &Connection,
    sums: &mut dyn Iterator<Item = Result<Sum>>,
    table: &EvidenceTable,
    (first, last): (&str, &str),
    each: &mut dyn FnMut(&Row) -> rusqlite::Result<()>,
    damaged: &mut dyn FnMut(String) -> Result<()>,
) -> Result<()> {
    let mut sums = Checksums { sums, next: None };
    sums.advance()?;
    let mut statement = c.prepare_cached(&table.select())?;
    let columns = statement.column_count();
    let mut rows = statement.query([first, last])?;
    // the document whose rows are being read, and the hash over them
    let mut current: Option<(String, ValueHash)> = None;
    while let Some(row) = rows.next()? {
        let is_next = match (&current, row.get_ref(0)?) {
            (Some((document, _)), ValueRef::Text(bytes)) => document.as_bytes() != bytes,
            _ => true,
        };
        if is_next {
            let document = text(row.get_ref(0)?);
            if let Some((former, hash)) = current.take() {
                // an index with a damaged key returns documents in another order
                if former >= document {
                    damaged(document.clone())?;
                }
                if !sums.accept(&former, hash.finish())? {
                    damaged(former)?;
                }
            }
            sums.pass(Some(&document), damaged)?;
            current = Some((document, ValueHash::default()));
        }
        let Some((document, hash)) = &mut current else {
            continue;
        };
        for column in 0..columns {
            hash.add(row.get_ref(column)?);
        }
        match each(row) {
            Err(error @ rusqlite::Error::SqliteFailure(..)) => return Err(error.into()),
            // a value of another type, or text that is not UTF-8
            Err(_) => damaged(document.clone())?,
            Ok(()) => {}
        }
    }
    if let Some((document, hash)) = current
        && !sums.accept(&document, hash.finish())?
    {
        damaged(document)?;
    }
    sums.pass(None, damaged)
}

/// The missing checksums of a document, computed from the rows that are stored now, each with the name of its table.
pub(super) fn lacking(
    c: &Connection,
    channels: Channels,
    document: &str,
) -> Result<Vec<(&'static str, i64)>> {
    let stored: Vec<String> = c
        .prepare_cached("SELECT of_table FROM checksum WHERE document = ?")?
        .query_map([document], |row| row.get(0))?
        .filter_map(|name| readable(name).transpose())
        .collect::<rusqlite::Result<_>>()?;
    let mut sums = Vec::new();
    for table in with_checksums(channels) {
        if stored.iter().any(|name| name == table.name) {
            continue;
        }
        let mut hash = ValueHash::default();
        let mut statement = c.prepare_cached(&table.select())?;
        let columns = statement.column_count();
        let mut rows = statement.query([document, document])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                hash.add(row.get_ref(column)?);
            }
        }
        sums.push((table.name, hash.finish()));
    }
    Ok(sums)
}

/// Stores checksums of a document.
pub(super) fn put(c: &Connection, document: &str, sums: &[(&str, i64)]) -> Result<()> {
    let mut insert = c.prepare_cached("INSERT OR REPLACE INTO checksum VALUES (?, ?, ?)")?;
    for (table, sum) in sums {
        insert.execute(params![document, table, sum])?;
    }
    Ok(())
}

/// Stores the missing checksums of a document.
pub(super) fn add(c: &Connection, channels: Channels, document: &str) -> Result<()> {
    put(c, document, &lacking(c, channels, document)?)
}
