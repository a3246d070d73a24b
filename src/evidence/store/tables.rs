//! The tables of the store.

use super::checksum;

/// The version of the tables. It must be increased when they change.
pub(super) const SCHEMA_VERSION: i64 = 1;

/// The tables from which the words of a document are read, whose changes delete its hash in `text_hash`.
const WORDS: [&str; 3] = ["page", "ocr_line", "given_text"];

/// The commands that create all tables and triggers. They change nothing in a store that has them.
pub(super) fn schema() -> String {
    let mut commands = include_str!("schema.sql").to_owned();
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
    commands + &checksum::schema()
}
