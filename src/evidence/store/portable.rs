//! Converts everything that is stored about one document to JSON. Another program keeps it, and later merges it into a store.

use anyhow::Result;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::json;

use super::merge::{RowValues, rows_of};
use super::rows::write_record;
use super::{PassedOver, passed_over, tables};
use crate::evidence::channel::{Channels, NewEvidence};
use crate::evidence::table::TableColumn;

/// A store in memory that is empty again after each document. So the rows of a document are the same as in a store on disk, including checksums.
pub struct MemoryStore {
    connection: Connection,
    channels: Channels,
}

impl MemoryStore {
    /// # Errors
    /// SQLite fails.
    pub fn new(channels: Channels) -> Result<MemoryStore> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(&tables::schema(channels))?;
        Ok(MemoryStore {
            connection,
            channels,
        })
    }

    /// All rows of a new document, by table: `{"work": [["I0…", "page", "page/3"], …], …}`. Vectors are in base64.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn evidence(&mut self, record: &NewEvidence) -> Result<serde_json::Value> {
        let channels = self.channels;
        self.rows(&record.evidence.id.0, |c| write_record(c, channels, record))
    }

    /// Like [`MemoryStore::evidence`], for a document in which riposte died.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn passed_over(&mut self, document: &PassedOver) -> Result<serde_json::Value> {
        let id = &document.document.0;
        self.rows(id, |c| passed_over::insert(c, document))
    }

    fn rows(
        &mut self,
        document: &str,
        write: impl FnOnce(&Connection) -> Result<()>,
    ) -> Result<serde_json::Value> {
        // the transaction is dropped without a commit, so the store is empty again
        let transaction = self.connection.transaction()?;
        write(&transaction)?;
        let portable: Vec<_> = tables::portable(self.channels).collect();
        let tables = rows_of(&transaction, &portable, document)?.into_iter();
        let tables = tables.map(|(table, rows)| {
            let rows = rows.into_iter().map(json_row).collect();
            (table.name.to_owned(), rows)
        });
        Ok(serde_json::Value::Object(tables.collect()))
    }
}

/// The names of all tables, each with its columns: `{"work": [{"name": "document", "type": "text", "nullable": false}, …], …}`
pub fn describe(channels: Channels) -> serde_json::Value {
    let column =
        |TableColumn {
             name,
             kind,
             nullable,
         }| { json!({"name": name, "type": <&str>::from(kind), "nullable": nullable}) };
    let tables = tables::portable(channels).map(|table| {
        let columns = table.columns().into_iter().map(column).collect();
        (table.name.to_owned(), columns)
    });
    serde_json::Value::Object(tables.collect())
}

fn json_row(values: RowValues) -> serde_json::Value {
    let values = values.into_iter().map(|value| match value {
        Value::Null => serde_json::Value::Null,
        Value::Integer(number) => number.into(),
        Value::Real(number) => number.into(),
        Value::Text(text) => text.into(),
        Value::Blob(bytes) => BASE64_STANDARD.encode(bytes).into(),
    });
    values.collect()
}
