//! Writes and reads the evidence of one document as rows.

use std::path::PathBuf;

use anyhow::Result;
use riposte_eval::DocId;
use rusqlite::{Connection, ToSql, params};

use super::checksum::{self, AllSums};
use super::tables;
use crate::collection::images::FileState;
use crate::collection::{Fault, FaultKind};
use crate::evidence::Evidence;
use crate::evidence::channel::{Channel, Channels, NewEvidence, Provenance};
use crate::evidence::table::EvidenceTable;

/// Whether the store has the document.
pub(super) fn is_stored(c: &Connection, document: &str) -> rusqlite::Result<bool> {
    c.prepare_cached("SELECT 1 FROM document WHERE document = ?")?
        .exists([document])
}

/// Whether the store has the document, computed from other files than these.
pub(super) fn is_stale(
    c: &Connection,
    document: &str,
    fingerprint: &str,
    content: Option<&str>,
) -> rusqlite::Result<bool> {
    c.prepare_cached(
        "SELECT 1 FROM document LEFT JOIN file_state USING (document)
         WHERE document = ? AND (fingerprint <> ? OR content <> ?)",
    )?
    .exists(params![document, fingerprint, content])
}

/// Removes a document's rows of a table.
pub(super) fn delete(c: &Connection, table: &str, document: &str) -> rusqlite::Result<()> {
    c.prepare_cached(&format!("DELETE FROM {table} WHERE document = ?"))?
        .execute([document])?;
    Ok(())
}

/// Removes a channel of a document.
pub(super) fn clear(c: &Connection, document: &str, channel: &dyn Channel) -> rusqlite::Result<()> {
    for table in channel.tables() {
        delete(c, table.name, document)?;
    }
    for table in ["work", "fault"] {
        c.prepare_cached(&format!(
            "DELETE FROM {table} WHERE document = ? AND channel = ?"
        ))?
        .execute([document, channel.name()])?;
    }
    Ok(())
}

/// Writes a record, and the checksums of the rows that it changes.
pub(super) fn write_record(c: &Connection, channels: Channels, record: &NewEvidence) -> Result<()> {
    let id = record.evidence.id.0.as_str();
    let content = record.files.as_ref().map(|files| files.content.as_str());
    let is_stale = is_stale(c, id, &record.fingerprint, content)?;
    c.prepare_cached(&tables::DOCUMENT.insert())?.execute([
        id,
        &record.fingerprint,
        &record.evidence.url,
    ])?;
    if let Some(files) = &record.files {
        write_file_state(c, id, files)?;
    }
    for channel in channels {
        let mut inputs = channel.uses().iter().copied().chain([channel.name()]);
        if is_stale || inputs.any(|name| record.made.contains_key(name)) {
            clear(c, id, *channel)?;
        }
    }
    for channel in channels {
        if let Some(made) = record.made.get(channel.name()) {
            write_made(c, id, channel.name(), made)?;
            let mut put = |table: &EvidenceTable, values: &[&dyn ToSql]| {
                let all = [&[&id as &dyn ToSql], values].concat();
                c.prepare_cached(&table.insert())?.execute(&*all)?;
                Ok(())
            };
            channel.rows(&record.evidence, &mut put)?;
        }
    }
    checksum::add(c, channels, id)
}

/// Records the files of a document.
pub(super) fn write_file_state(c: &Connection, document: &str, files: &FileState) -> Result<()> {
    c.prepare_cached(&tables::FILE_STATE.insert())?.execute([
        document,
        &files.state,
        &files.content,
    ])?;
    Ok(())
}

fn write_made(c: &Connection, id: &str, channel: &str, made: &Provenance) -> rusqlite::Result<()> {
    c.prepare_cached(&tables::WORK.insert())?
        .execute([id, channel, &made.producer])?;
    for (number, fault) in (0i64..).zip(&made.faults) {
        c.prepare_cached(&tables::FAULT.insert())?.execute(params![
            id,
            channel,
            number,
            fault.kind.word(),
            fault.path.to_string_lossy(),
            fault.line.map(|line| line as i64),
            fault.what
        ])?;
    }
    if let Some(backend) = &made.backend {
        c.prepare_cached(&tables::BACKEND.insert())?.execute([
            id,
            channel,
            &backend.name,
            backend.numeric.word(),
        ])?;
    }
    Ok(())
}

/// Reads the evidence of a document by these channels; `None` if the store does not have the document. See [`read_channels`].
pub(super) fn read_document(
    c: &Connection,
    channels: &[&dyn Channel],
    id: &DocId,
    with_seldom_read: bool,
) -> Result<Option<Evidence>> {
    let key = id.0.as_str();
    let mut url: Option<String> = None;
    let sums = AllSums::read(c, (key, key))?;
    checksum::read_with(c, &sums, &tables::DOCUMENT, (key, key), |row| {
        url = Some(row.get(2)?);
        Ok(())
    })?;
    let Some(url) = url else { return Ok(None) };
    let mut evidence = Evidence::of(id.clone());
    evidence.url = url;
    let all = std::slice::from_mut(&mut evidence);
    read_channels(c, &sums, channels, &[id], with_seldom_read, all)?;
    Ok(Some(evidence))
}

/// Reads the evidence of documents that are stored one after another, in the order of their ids, without tables that are seldom read.
pub(super) fn read_neighbours(
    c: &Connection,
    channels: &[&dyn Channel],
    ids: &[&DocId],
) -> Result<Vec<Evidence>> {
    let mut all: Vec<Evidence> = ids.iter().map(|_| Evidence::default()).collect();
    if let (Some(first), Some(last)) = (ids.first(), ids.last()) {
        let sums = AllSums::read(c, (&first.0, &last.0))?;
        read_channels(c, &sums, channels, ids, false, &mut all)?;
    }
    Ok(all)
}

/// Adds what these channels have of documents to their evidence, which is in the order of `ids`. Tables that are seldom read are left out unless
/// they are wanted.
fn read_channels(
    c: &Connection,
    sums: &AllSums,
    channels: &[&dyn Channel],
    ids: &[&DocId],
    with_seldom_read: bool,
    evidence: &mut [Evidence],
) -> Result<()> {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
        return Ok(());
    };
    for channel in channels {
        let tables = channel.tables().iter();
        for table in tables.filter(|table| with_seldom_read || !table.is_seldom_read) {
            checksum::read_with(c, sums, table, (&first.0, &last.0), |row| {
                let id = row.get_ref(0)?.as_str()?;
                let at = ids.binary_search_by(|known| known.0.as_str().cmp(id));
                match at.ok().and_then(|at| evidence.get_mut(at)) {
                    Some(evidence) => channel.read(table, row, evidence),
                    None => Ok(()),
                }
            })?;
        }
    }
    Ok(())
}

/// A row of the table of faults.
pub(super) fn fault_of(row: &rusqlite::Row) -> rusqlite::Result<Fault> {
    let kind = row.get_ref(3)?.as_str()?.parse();
    let path = PathBuf::from(row.get::<_, String>(4)?);
    let line = row.get::<_, Option<i64>>(5)?.map(|line| line as u64);
    let fault = Fault::stored(kind.unwrap_or(FaultKind::Layout), &path, line, row.get(6)?);
    Ok(fault.of(&DocId(row.get(0)?)))
}
