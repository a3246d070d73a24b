//! Writes and reads the evidence of one document as rows.

use std::path::PathBuf;

use anyhow::Result;
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use super::{checksum, tables};
use crate::collection::images::FileState;
use crate::evidence::Evidence;
use crate::evidence::channel::{Channel, Channels, Made, Record};
use crate::evidence::table::Table;
use crate::trec::{DocId, Fault, FaultKind};

/// Removes a channel of a document.
pub(super) fn clear(c: &Connection, document: &str, channel: &dyn Channel) -> rusqlite::Result<()> {
    for table in channel.tables() {
        c.prepare_cached(&format!("DELETE FROM {} WHERE document = ?", table.name))?
            .execute([document])?;
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
pub(super) fn write_record(c: &Connection, channels: Channels, record: &Record) -> Result<()> {
    let id = record.evidence.id.0.as_str();
    clear_changed(c, channels, record)?;
    c.prepare_cached(&tables::DOCUMENT.insert())?.execute([
        id,
        &record.fingerprint,
        &record.evidence.url,
    ])?;
    if let Some(files) = &record.files {
        write_file_state(c, id, files)?;
    }
    for channel in channels {
        let is_derived = channel
            .uses()
            .iter()
            .any(|used| record.made.contains_key(used));
        if is_derived || record.made.contains_key(channel.name()) {
            clear(c, id, *channel)?;
        }
    }
    for channel in channels {
        if let Some(made) = record.made.get(channel.name()) {
            write_made(c, id, channel.name(), made)?;
            let mut put = |table: &Table, values: &[&dyn ToSql]| {
                let all: Vec<&dyn ToSql> = std::iter::once(&id as &dyn ToSql)
                    .chain(values.iter().copied())
                    .collect();
                c.prepare_cached(&table.insert())?
                    .execute(&*all)
                    .map(|_| ())
            };
            channel.rows(&record.evidence, &mut put)?;
        }
    }
    checksum::add(c, channels, id)
}

/// Removes all evidence of a document if its files have changed.
fn clear_changed(c: &Connection, channels: Channels, record: &Record) -> Result<()> {
    let id = record.evidence.id.0.as_str();
    let content: Option<String> = c
        .prepare_cached("SELECT content FROM file_state WHERE document = ?")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    let has_other_content = match (&content, &record.files) {
        (Some(before), Some(files)) => *before != files.content,
        _ => false,
    };
    let before: Option<String> = c
        .prepare_cached("SELECT fingerprint FROM document WHERE document = ?")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    if has_other_content || before.is_some_and(|before| before != record.fingerprint) {
        for channel in channels {
            clear(c, id, *channel)?;
        }
    }
    Ok(())
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

fn write_made(c: &Connection, id: &str, channel: &str, made: &Made) -> rusqlite::Result<()> {
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

/// Reads the evidence of a document, apart from the tables `left_out`; `None` if the store does not have the document.
pub(super) fn read_document(
    c: &Connection,
    channels: Channels,
    id: &DocId,
    left_out: &[&Table],
) -> Result<Option<Evidence>> {
    let key = id.0.as_str();
    let mut url: Option<String> = None;
    checksum::read(c, &tables::DOCUMENT, (key, key), |row| {
        url = Some(row.get(2)?);
        Ok(())
    })?;
    let Some(url) = url else { return Ok(None) };
    let mut evidence = Evidence {
        id: id.clone(),
        url,
        ..Evidence::default()
    };
    for channel in channels {
        read_channel(c, *channel, id, left_out, &mut evidence)?;
    }
    Ok(Some(evidence))
}

/// Adds a channel of a document to its evidence.
pub(super) fn read_channel(
    c: &Connection,
    channel: &dyn Channel,
    id: &DocId,
    left_out: &[&Table],
    evidence: &mut Evidence,
) -> Result<()> {
    let key = id.0.as_str();
    let is_wanted = |table: &Table| !left_out.iter().any(|other| other.name == table.name);
    for table in channel.tables().iter().filter(|table| is_wanted(table)) {
        checksum::read(c, table, (key, key), |row| {
            channel.read(table, row, evidence)
        })?;
    }
    Ok(())
}

/// A row of the table of faults.
pub(super) fn fault_of(row: &rusqlite::Row) -> rusqlite::Result<Fault> {
    let kind: String = row.get(3)?;
    Ok(Fault {
        kind: kind.parse().unwrap_or(FaultKind::Layout),
        path: PathBuf::from(row.get::<_, String>(4)?),
        line: row.get::<_, Option<i64>>(5)?.map(|line| line as u64),
        what: row.get(6)?,
    })
}
