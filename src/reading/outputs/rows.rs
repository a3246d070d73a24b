//! The rows of model outputs. Each has a checksum in another table.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};

use crate::evidence::store::{blob_of, checksum_of, vector_of};

/// A stored output.
pub(super) enum Stored {
    /// Its checksum is right.
    Whole(Vec<f32>),
    /// Stored by an earlier version, without a checksum. The number is its checksum.
    Unverified(Vec<f32>, i64),
    Damaged,
    Missing,
}

/// The checksum of an output and its key.
fn checksum(producer: &str, key: &str, blob: &[u8]) -> i64 {
    checksum_of(&[
        ValueRef::Text(producer.as_bytes()),
        ValueRef::Text(key.as_bytes()),
        ValueRef::Blob(blob),
    ])
}

/// Reads an output.
pub(super) fn read(c: &Connection, producer: &str, key: &str) -> rusqlite::Result<Stored> {
    let mut query = c.prepare_cached(
        "SELECT vector, sum FROM query_vector LEFT JOIN query_vector_sum USING (producer, text)
         WHERE producer = ? AND text = ?",
    )?;
    let mut rows = query.query([producer, key])?;
    let Some(row) = rows.next()? else {
        let has_vanished = c
            .prepare_cached("SELECT 1 FROM query_vector_sum WHERE producer = ? AND text = ?")?
            .exists([producer, key])?;
        return Ok(if has_vanished {
            Stored::Damaged
        } else {
            Stored::Missing
        });
    };
    let ValueRef::Blob(blob) = row.get_ref(0)? else {
        return Ok(Stored::Damaged);
    };
    let found = checksum(producer, key, blob);
    Ok(match (vector_of(blob), row.get_ref(1)?) {
        (Ok(output), ValueRef::Null) => Stored::Unverified(output, found),
        (Ok(output), ValueRef::Integer(sum)) if sum == found => Stored::Whole(output),
        _ => Stored::Damaged,
    })
}

/// Writes an output and its checksum.
pub(super) fn write(
    c: &Connection,
    producer: &str,
    key: &str,
    output: &[f32],
) -> rusqlite::Result<()> {
    let blob = blob_of(output);
    c.prepare_cached("INSERT OR REPLACE INTO query_vector VALUES (?, ?, ?)")?
        .execute(params![producer, key, blob])?;
    write_checksum(c, producer, key, checksum(producer, key, &blob))
}

/// Writes the checksum of an output.
pub(super) fn write_checksum(
    c: &Connection,
    producer: &str,
    key: &str,
    sum: i64,
) -> rusqlite::Result<()> {
    c.prepare_cached("INSERT OR REPLACE INTO query_vector_sum VALUES (?, ?, ?)")?
        .execute(params![producer, key, sum])?;
    Ok(())
}
