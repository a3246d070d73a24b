//! Finds damaged records, and removes them so that they are computed again.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow, bail};
use rayon::prelude::*;
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, Row, TransactionBehavior, params};

use super::checksum::{DamagedRecord, LAST, add, lacking, put, readable, scan, text};
use super::rows::{clear, delete, is_stored};
use super::tables::{self, BACKEND, with_checksums};
use super::{Store, StoreFile, explain};
use crate::evidence::channel::{Channel, Channels};
use crate::evidence::table::fits;
use crate::workspace::file::beyond_repair;

/// Number of documents whose records a thread verifies in one batch.
const BATCH: usize = 512;

/// Number of documents whose checksums are added in one transaction.
const ADDED: usize = 4096;

/// Number of documents whose checksums a thread computes in one batch.
const CHUNK: usize = 128;

/// Number of damaged records that are named in an error.
const NAMED: usize = 3;

impl Store {
    /// Adds checksums to documents that lack some, because an earlier version of riposte wrote them or somebody changed them by hand.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub(crate) fn add_checksums(&mut self) -> Result<()> {
        let tables = with_checksums(self.channels).count() as i64;
        let wanting: Vec<String> = self.reading(|c| {
            let mut statement = c.prepare(
                "SELECT document FROM document d
                 WHERE (SELECT count(*) FROM checksum s WHERE s.document = d.document) < ?",
            )?;
            // [`Store::remove_misfits`] removes rows whose id is damaged
            let documents = statement.query_map([tables], |row| row.get(0))?;
            let documents = documents.filter_map(|id| readable(id).transpose());
            Ok(documents.collect::<rusqlite::Result<_>>()?)
        })?;
        for batch in wanting.chunks(ADDED) {
            self.add_checksums_of(batch)
                .map_err(|error| explain(error, self.path(), "cannot write to"))?;
        }
        Ok(())
    }

    /// Adds the checksums that these documents lack. Other connections read their rows on all threads.
    fn add_checksums_of(&mut self, documents: &[String]) -> Result<()> {
        let place = self.place();
        self.steps.renew(&[self.path()]);
        // nobody can change the rows between the computation of a checksum and its writing
        let transaction =
            (self.connection).transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sums = documents
            .par_chunks(CHUNK)
            .map_init(
                || place.open_to_read(),
                |store, documents| {
                    let store = store.as_ref().map_err(|error| anyhow!("{error:#}"))?;
                    let documents = documents.iter().map(String::as_str);
                    store.reading(|c| documents.map(|id| lacking(c, place.channels, id)).collect())
                },
            )
            .collect::<Result<Vec<Vec<_>>>>()?;
        for (document, sums) in documents.iter().zip(sums.iter().flatten()) {
            put(&transaction, document, sums)?;
        }
        Ok(transaction.commit()?)
    }

    /// The damaged records of all documents, including documents that have vanished.
    ///
    /// # Errors
    /// The store cannot be read, or is damaged in a way that hides which records are.
    pub fn damaged_records(&self) -> Result<Vec<DamagedRecord>> {
        let documents: Vec<String> = self.reading(|c| {
            let documents = texts(
                c,
                "SELECT document FROM document UNION SELECT document FROM checksum",
            )?;
            Ok(documents.into_iter().collect())
        })?;
        let place = self.place();
        let batches: Vec<&[String]> = documents.chunks(BATCH).collect();
        let found = batches
            .par_iter()
            .enumerate()
            .map(|(at, batch)| {
                // rows of unknown documents belong to the range of a batch, too
                let first = if at == 0 { "" } else { &batch[0] };
                let next = batches.get(at + 1).map(|next| next[0].as_str());
                verify(&place, first, next)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Removes rows that a flipped bit has made unusable and that [`Store::remove_damaged`] does not find: rows whose document is not a text and, in
    /// tables without checksums, rows with values that do not have the type of their column. What they belonged to is computed again.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub(crate) fn remove_misfits(&mut self) -> Result<()> {
        let channels = self.channels;
        self.writing(|c| {
            for table in tables::all(channels) {
                let name = table.name;
                if !with_checksums(channels).any(|other| other.name == name) {
                    c.execute(&format!("DELETE FROM {name} WHERE {}", table.misfits()), [])?;
                }
                for (kind, document) in misfits(c, name)? {
                    let sql = format!(
                        "DELETE FROM {name} WHERE typeof(document) = ? AND CAST(document AS BLOB) IS ?"
                    );
                    c.execute(&sql, params![kind, document])?;
                }
            }
            Ok(())
        })
    }

    /// All channels that any document has.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn stored_channels(&self) -> Result<BTreeSet<String>> {
        self.reading(|c| texts(c, "SELECT DISTINCT channel FROM work"))
    }

    /// Removes damaged records, so that the next extraction computes [`DamagedRecord::channels`] again.
    ///
    /// # Errors
    /// The store cannot be read or written, or removing records does not mend its damage.
    pub(crate) fn remove_damaged(&mut self, damaged: &[DamagedRecord]) -> Result<()> {
        let channels = self.channels;
        let mut damaged = damaged.iter();
        self.producers.take();
        self.writing(|c| damaged.try_for_each(|record| remove(c, channels, record)))?;
        let left = self.damaged_records()?;
        if !left.is_empty() {
            let named: Vec<String> = left.iter().take(NAMED).map(|d| d.to_string()).collect();
            bail!(beyond_repair(self.path(), &named.join("; ")));
        }
        Ok(())
    }
}

/// The values in a table's column `document` that are not UTF-8 texts: the type and the bytes of each.
fn misfits(c: &Connection, table: &str) -> Result<Vec<(String, Option<Vec<u8>>)>> {
    let mut found = Vec::new();
    let mut statement = c.prepare(&format!("SELECT DISTINCT document FROM {table}"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let is_text = row.get_ref(0)?.as_str().is_ok();
        if !is_text {
            let sql = "SELECT typeof(?1), CAST(?1 AS BLOB)";
            let document = ToSqlOutput::Borrowed(row.get_ref(0)?);
            found.push(c.query_row(sql, [document], |row| Ok((row.get(0)?, row.get(1)?)))?);
        }
    }
    Ok(found)
}

/// The texts in the first column of a query's rows, in order.
fn texts(c: &Connection, query: &str) -> Result<BTreeSet<String>> {
    let mut statement = c.prepare(query)?;
    let texts = statement.query_map([], |row| Ok(text(row.get_ref(0)?)))?;
    Ok(texts.collect::<rusqlite::Result<_>>()?)
}

impl DamagedRecord {
    /// The channels that have to be computed again: that of the record, and those that are computed from it.
    pub(crate) fn channels(&self, all: Channels) -> Vec<&'static dyn Channel> {
        let mut channels = all.to_vec();
        let has_table = |c: &&&dyn Channel| c.tables().iter().any(|t| t.name == self.table);
        if let Some(own) = all.iter().find(has_table).map(|own| own.name()) {
            channels.retain(|channel| channel.name() == own || channel.uses().contains(&own));
        } else if self.table == BACKEND.name {
            channels.clear();
        }
        channels
    }
}

/// The damaged records of the documents from `first` to before `next`.
fn verify(place: &StoreFile, first: &str, next: Option<&str>) -> Result<Vec<DamagedRecord>> {
    let store = place.open_to_read()?;
    let mut found: Vec<DamagedRecord> = Vec::new();
    let last = next.unwrap_or(LAST);
    store.reading(|c| {
        for table in with_checksums(place.channels) {
            let columns = table.columns();
            let mut fits = |row: &Row| match fits(&columns, row)? {
                true => Ok(()),
                false => Err(rusqlite::Error::InvalidQuery),
            };
            scan(c, table, (first, last), &mut fits, &mut |document| {
                let table = table.name;
                found.push(DamagedRecord { document, table });
                Ok(())
            })?;
        }
        Ok(())
    })?;
    // the range of the query includes `next`
    found.retain(|record| next.is_none_or(|next| record.document.as_str() < next));
    found.dedup();
    Ok(found)
}

fn remove(c: &Connection, all: Channels, record: &DamagedRecord) -> Result<()> {
    let document = record.document.as_str();
    let channels = record.channels(all);
    if channels.len() == all.len() {
        // all rows, because the damage may be in the name of a channel
        for table in tables::all(all) {
            delete(c, table.name, document)?;
        }
        return Ok(());
    }
    for channel in &channels {
        clear(c, document, *channel)?;
    }
    if record.table == BACKEND.name {
        delete(c, BACKEND.name, document)?;
    }
    // no trigger deletes the checksum of rows that have vanished
    let sql = "DELETE FROM checksum WHERE document = ? AND of_table = ?";
    c.execute(sql, [document, record.table])?;
    if is_stored(c, document)? {
        add(c, all, document)?;
    }
    Ok(())
}
