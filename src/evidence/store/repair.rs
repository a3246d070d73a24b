//! Finds damaged records, and removes them so that they are computed again.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow, bail};
use rayon::prelude::*;
use rusqlite::{Connection, TransactionBehavior};

use super::checksum::{DamagedRecord, LAST, add, lacking, put, scan, text};
use super::rows::clear;
use super::tables::{BACKEND, with_checksums};
use super::{Place, Store, explain};
use crate::evidence::channel::{Channel, Channels};
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
            let documents = c
                .prepare(
                    "SELECT document FROM document d
                     WHERE (SELECT count(*) FROM checksum s WHERE s.document = d.document) < ?",
                )?
                .query_map([tables], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(documents)
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
        // nobody can change the rows between the computation of a checksum and its writing
        let transaction =
            (self.connection).transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sums = documents
            .par_chunks(CHUNK)
            .map_init(
                || place.open_to_read(),
                |store, documents| {
                    let store = store.as_ref().map_err(|error| anyhow!("{error:#}"))?;
                    store.reading(|c| {
                        documents
                            .iter()
                            .map(|id| lacking(c, place.channels, id))
                            .collect()
                    })
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
            let sql =
                "SELECT document FROM document UNION SELECT document FROM checksum ORDER BY 1";
            let mut statement = c.prepare(sql)?;
            let mut rows = statement.query([])?;
            let mut documents = BTreeSet::new();
            while let Some(row) = rows.next()? {
                documents.insert(text(row.get_ref(0)?));
            }
            Ok(documents.into_iter().collect())
        })?;
        let place = self.place();
        let batches: Vec<&[String]> = documents.chunks(BATCH).collect();
        let found = batches
            .par_iter()
            .enumerate()
            .map(|(at, batch)| {
                // rows of unknown documents belong to the range of a batch, too
                let first = if at == 0 { Some("") } else { None };
                let next = batches.get(at + 1).and_then(|next| next.first());
                let first = first.or_else(|| batch.first().map(String::as_str));
                verify(&place, first.unwrap_or_default(), next.map(String::as_str))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    /// All channels that any document has.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn stored_channels(&self) -> Result<BTreeSet<String>> {
        self.reading(|c| {
            let mut statement = c.prepare("SELECT DISTINCT channel FROM work")?;
            let mut rows = statement.query([])?;
            let mut channels = BTreeSet::new();
            while let Some(row) = rows.next()? {
                channels.insert(text(row.get_ref(0)?));
            }
            Ok(channels)
        })
    }

    /// Removes damaged records, so that the next extraction computes [`DamagedRecord::channels`] again.
    ///
    /// # Errors
    /// The store cannot be read or written, or removing records does not mend its damage.
    pub(crate) fn remove_damaged(&mut self, damaged: &[DamagedRecord]) -> Result<()> {
        let channels = self.channels;
        self.writing(|c| {
            let mut damaged = damaged.iter();
            damaged.try_for_each(|record| remove(c, channels, record))
        })?;
        let left = self.damaged_records()?;
        if !left.is_empty() {
            let named: Vec<String> = left.iter().take(NAMED).map(|d| d.to_string()).collect();
            bail!(beyond_repair(self.path(), &named.join("; ")));
        }
        Ok(())
    }
}

impl DamagedRecord {
    /// The channels that have to be computed again: that of the record, and those that are computed from it.
    pub(crate) fn channels(&self, all: Channels) -> Vec<&'static dyn Channel> {
        let has_table =
            |channel: &dyn Channel| channel.tables().iter().any(|t| t.name == self.table);
        match all.iter().find(|channel| has_table(**channel)) {
            Some(own) => {
                let is_affected = |channel: &dyn Channel| {
                    channel.name() == own.name() || channel.uses().contains(&own.name())
                };
                all.iter().copied().filter(|c| is_affected(*c)).collect()
            }
            None if self.table == BACKEND.name => Vec::new(),
            None => all.to_vec(),
        }
    }
}

/// The damaged records of the documents from `first` to before `next`.
fn verify(place: &Place, first: &str, next: Option<&str>) -> Result<Vec<DamagedRecord>> {
    let store = place.open_to_read()?;
    let mut found: Vec<DamagedRecord> = Vec::new();
    let last = next.unwrap_or(LAST);
    store.reading(|c| {
        for table in with_checksums(place.channels) {
            scan(c, table, (first, last), &mut |_| Ok(()), &mut |document| {
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
    for channel in &channels {
        clear(c, document, *channel)?;
    }
    let is_whole_document = channels.len() == all.len();
    let others: &[&str] = if is_whole_document {
        &["document", "backend", "file_state", "text_hash", "checksum"]
    } else if record.table == BACKEND.name {
        &["backend"]
    } else {
        &[]
    };
    for table in others {
        let sql = format!("DELETE FROM {table} WHERE document = ?");
        c.execute(&sql, [document])?;
    }
    // no trigger deletes the checksum of rows that have vanished
    let sql = "DELETE FROM checksum WHERE document = ? AND of_table = ?";
    c.execute(sql, [document, record.table])?;
    let is_known = c
        .prepare_cached("SELECT 1 FROM document WHERE document = ?")?
        .exists([document])?;
    if is_known {
        add(c, all, document)
    } else {
        Ok(())
    }
}
