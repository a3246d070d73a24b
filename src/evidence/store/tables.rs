//! The tables of the store, and those that older builds lack.

use rusqlite::Connection;

/// The version of the tables. It must be increased when they change.
pub(super) const SCHEMA_VERSION: i64 = 1;

pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// Tables that stores of older builds lack, apart from the checksums.
const ADDED: [&str; 6] = [
    include_str!("text_hash.sql"),
    include_str!("backend.sql"),
    include_str!("ocr_block.sql"),
    include_str!("file_state.sql"),
    include_str!("passed_over.sql"),
    include_str!("given_text.sql"),
];

/// The tables from which the words of a document are read, whose changes delete its hash in `text_hash`.
const WORDS: [&str; 3] = ["page", "ocr_line", "given_text"];

/// Empty stand-ins for the tables of [`ADDED`] and for the checksums, for one connection. With them, a store of an older build that is opened for
/// reading is read as if it had the tables.
const STAND_INS: [(&str, &str); 7] = [
    ("text_hash", "document, hash"),
    ("backend", "document, channel, backend, numeric"),
    ("ocr_block", "document, block, first_line"),
    ("file_state", "document, state, content"),
    ("given_text", "document, caption, text"),
    ("checksum", "document, of_table, sum"),
    (
        "passed_over",
        "document, fingerprint, content, producers, path, what",
    ),
];

/// The commands that add the tables and triggers that stores of older builds lack, apart from the checksums. They change nothing in a store that has
/// them.
pub(super) fn added() -> String {
    let mut commands = ADDED.concat();
    for table in WORDS {
        for (name, event, documents) in [
            ("added", "INSERT", "= NEW.document"),
            ("removed", "DELETE", "= OLD.document"),
            ("changed", "UPDATE", "IN (OLD.document, NEW.document)"),
        ] {
            commands.push_str(&format!(
                "CREATE TRIGGER IF NOT EXISTS {table}_{name} AFTER {event} ON {table} \
                 BEGIN DELETE FROM text_hash WHERE document {documents}; END;\n"
            ));
        }
    }
    commands
}

/// Adds empty tables, only for this connection, in place of those that a store of an older build lacks.
pub(super) fn add_stand_ins(connection: &Connection) -> rusqlite::Result<()> {
    for (name, columns) in STAND_INS {
        let exists = connection
            .prepare("SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?")?
            .exists([name])?;
        if !exists {
            connection.execute_batch(&format!(
                "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE {name} ({columns});"
            ))?;
        }
    }
    Ok(())
}
