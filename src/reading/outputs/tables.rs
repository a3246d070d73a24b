//! Tables of other stores and of earlier versions.

use rusqlite::Connection;

/// Whether a database has the table.
pub(super) fn exists(c: &Connection, schema: &str, table: &str) -> rusqlite::Result<bool> {
    c.prepare(&format!(
        "SELECT 1 FROM {schema}.sqlite_master WHERE type = 'table' AND name = ?"
    ))?
    .exists([table])
}

/// Copies the outputs that the main store lacks from the attached store `other`, with their checksums.
pub(super) fn merge_attached(c: &Connection) -> rusqlite::Result<()> {
    if !exists(c, "other", "query_vector")? {
        return Ok(());
    }
    // a trigger deletes the checksum of an output that is written, so checksums come last
    let sums = if exists(c, "other", "query_vector_sum")? {
        "INSERT OR REPLACE INTO main.query_vector_sum
         SELECT s.* FROM other.query_vector_sum s JOIN temp.coming USING (producer, text);"
    } else {
        ""
    };
    let numerics = if exists(c, "other", "output_numeric")? {
        "INSERT OR IGNORE INTO main.output_numeric SELECT * FROM other.output_numeric;"
    } else {
        ""
    };
    c.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         CREATE TEMP TABLE coming AS SELECT producer, text FROM other.query_vector
         EXCEPT SELECT producer, text FROM main.query_vector;
         INSERT INTO main.query_vector
         SELECT v.* FROM other.query_vector v JOIN temp.coming USING (producer, text);
         {sums}
         {numerics}
         DROP TABLE temp.coming;
         COMMIT;"
    ))
    .inspect_err(|_| {
        // ends the transaction, if it has begun
        let _ = c.execute_batch("ROLLBACK");
    })
}

/// Moves the outputs from the table in which earlier versions stored them for text collections. Its keys are the same hashes.
pub(super) fn take_over_former(c: &Connection) -> rusqlite::Result<()> {
    if !exists(c, "main", "text_vector")? {
        return Ok(());
    }
    c.execute_batch(
        "BEGIN IMMEDIATE;
         INSERT OR IGNORE INTO query_vector SELECT producer, lower(hex(text)), vector FROM text_vector;
         DROP TABLE text_vector;
         COMMIT;",
    )
}
