//! Converts everything that is stored about one document to JSON. Another program keeps it, and later merges it into a store.

use anyhow::{Context, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::{Map, json};

use super::checksum::TABLES;
use super::merge::{BESIDE, Values, rows_of};
use super::parquet::{Column, Kind};
use super::rows::write_record;
use super::tables::schema;
use super::{PassedOver, Record, passed_over};

/// The table of documents in which riposte died.
pub(super) const PASSED_OVER: &str = "passed_over";

/// A table, with its columns in the order in which SQLite has them.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub name: &'static str,
    pub columns: Vec<Column>,
}

/// The tables that have rows about a document. Checksums and file states come after the evidence, because writing evidence removes them.
///
/// # Errors
/// SQLite fails.
pub(super) fn layouts() -> Result<Vec<Layout>> {
    layouts_of(&empty()?)
}

fn layouts_of(c: &Connection) -> Result<Vec<Layout>> {
    let mut declared =
        c.prepare("SELECT name, type, \"notnull\" OR pk FROM pragma_table_info(?) ORDER BY cid")?;
    let mut layout = |name: &'static str| {
        let columns =
            declared.query_map([name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let columns = columns.map(|column| {
            let (column, kind, required): (String, String, bool) = column?;
            Ok(Column {
                kind: Kind::parse(&kind)
                    .with_context(|| format!("{name}.{column} has the type {kind}"))?,
                name: column,
                nullable: !required,
            })
        });
        Ok(Layout {
            name,
            columns: columns.collect::<Result<_>>()?,
        })
    };
    names().into_iter().map(&mut layout).collect()
}

/// A new store in memory.
fn empty() -> Result<Connection> {
    let c = Connection::open_in_memory()?;
    c.execute_batch(&schema())?;
    Ok(c)
}

/// The names of the tables that have rows about a document.
pub(super) fn names() -> Vec<&'static str> {
    let names = TABLES.iter().map(|table| table.name);
    names.chain(BESIDE).chain([PASSED_OVER]).collect()
}

fn json_rows(c: &Connection, document: &str) -> Result<serde_json::Value> {
    let tables = rows_of(c, &names(), document)?
        .into_iter()
        .map(|(name, rows)| {
            let rows: Vec<_> = rows.into_iter().map(json_row).collect();
            (name.to_owned(), rows.into())
        });
    Ok(tables.collect::<Map<_, _>>().into())
}

/// A store in memory that is empty again after each document. So the rows of a document are the same as in a store on disk, including checksums.
#[derive(Debug)]
pub struct Scratch {
    connection: Connection,
    layouts: Vec<Layout>,
}

impl Scratch {
    /// # Errors
    /// SQLite fails.
    pub fn new() -> Result<Scratch> {
        let connection = empty()?;
        let layouts = layouts_of(&connection)?;
        Ok(Scratch {
            connection,
            layouts,
        })
    }

    /// The names of all tables, each with its columns: `{"work": [{"name": "document", "type": "text", "nullable": false}, …], …}`
    pub fn describe(&self) -> serde_json::Value {
        let column = |column: &Column| {
            let kind = column.kind.word();
            json!({"name": column.name, "type": kind, "nullable": column.nullable})
        };
        let tables = self.layouts.iter().map(|table| {
            let columns = table.columns.iter().map(column).collect();
            (table.name.to_owned(), columns)
        });
        serde_json::Value::Object(tables.collect())
    }

    /// All rows of a new document, by table: `{"work": [["I0…", "page", "page/3"], …], …}`. Vectors are in base64.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn evidence(&mut self, record: &Record) -> Result<serde_json::Value> {
        self.rows(&record.document, |c| write_record(c, record))
    }

    /// Like [`Scratch::evidence`], for a document in which riposte died.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn passed_over(&mut self, document: &PassedOver) -> Result<serde_json::Value> {
        self.rows(&document.document.0, |c| {
            Ok(passed_over::insert(c, document)?)
        })
    }

    fn rows(
        &mut self,
        document: &str,
        write: impl FnOnce(&Connection) -> Result<()>,
    ) -> Result<serde_json::Value> {
        // the transaction is dropped without a commit, so the store is empty again
        let transaction = self.connection.transaction()?;
        write(&transaction)?;
        json_rows(&transaction, document)
    }
}

fn json_row(values: Values) -> serde_json::Value {
    let values = values.into_iter().map(|value| match value {
        Value::Null => serde_json::Value::Null,
        Value::Integer(number) => number.into(),
        Value::Real(number) => number.into(),
        Value::Text(text) => text.into(),
        Value::Blob(bytes) => BASE64_STANDARD.encode(bytes).into(),
    });
    values.collect()
}
