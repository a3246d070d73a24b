//! Which tables, indexes and triggers an SQLite file may have. The file may come from a stranger, and SQLite runs the views and triggers in a file
//! whenever its tables are used.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, Row};

/// Maximum length of a value, and of a row. The texts of a document have at most 128 MiB together.
const MAX_VALUE: i32 = 256 << 20;

/// Maximum length of an SQL statement. The longest of riposte has a few thousand bytes.
const MAX_SQL: i32 = 1 << 20;

/// A table, index, trigger or view: its kind, its name, the table that it belongs to, and the statement that creates it, in [`canonical`] form.
type SchemaObject = (String, String, String, Option<String>);

/// The objects that riposte creates.
pub(crate) struct Schema(BTreeSet<SchemaObject>);

impl Schema {
    /// The objects that these statements create.
    ///
    /// # Errors
    /// A statement fails.
    pub(crate) fn of(statements: &str) -> Result<Schema> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(statements)?;
        let mut objects = BTreeSet::new();
        each_object(&connection, "main", |object| {
            // earlier builds declared a primary key of one column with that column
            if let (kind, name, table, Some(sql)) = &object {
                let earlier = sql
                    .replace("document TEXT NOT NULL", "document TEXT PRIMARY KEY")
                    .replace(" , PRIMARY KEY ( document )", "");
                objects.insert((kind.clone(), name.clone(), table.clone(), Some(earlier)));
            }
            objects.insert(object);
            Ok(())
        })?;
        Ok(Schema(objects))
    }

    /// Checks that a database of this connection (`main` or an attached one) has only objects that riposte creates. With `only_of`, checks only the
    /// objects of this table. Call it before any other query.
    ///
    /// # Errors
    /// There is another object, or the database cannot be read.
    pub(crate) fn check(
        &self,
        c: &Connection,
        database: &str,
        only_of: Option<&str>,
    ) -> Result<()> {
        each_object(c, database, |object| {
            let (kind, name, table, sql) = &object;
            let is_meant = only_of.is_none_or(|only| {
                table.eq_ignore_ascii_case(only) || name.eq_ignore_ascii_case(only)
            });
            let is_key = kind == "index" && sql.is_none() && name.starts_with("sqlite_autoindex_");
            if is_meant && !is_key && !self.0.contains(&object) {
                bail!(
                    "it has the {kind} {name:?}, which is not as riposte makes it: the file is damaged, another program has changed it, or somebody wants to do harm"
                );
            }
            Ok(())
        })
    }
}

/// Turns off features of SQLite that only a hostile file would use: unsafe functions in its schema, changes of the schema as data, and huge values.
///
/// # Errors
/// SQLite fails.
pub(crate) fn restrict(c: &Connection) -> rusqlite::Result<()> {
    c.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    c.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    c.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
    c.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_SQL)?;
    c.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 1)?;
    Ok(())
}

fn each_object(
    c: &Connection,
    database: &str,
    mut each: impl FnMut(SchemaObject) -> Result<()>,
) -> Result<()> {
    let sql = format!("SELECT type, name, tbl_name, sql FROM {database}.sqlite_schema");
    let mut statement = c.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = |row: &Row, at| -> rusqlite::Result<String> {
            let bytes = row.get_ref(at)?.as_bytes_or_null()?;
            Ok(String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned())
        };
        let sql = row.get_ref(3)?.as_bytes_or_null()?;
        let sql = sql.map(|sql| canonical(&String::from_utf8_lossy(sql)));
        each((text(row, 0)?, text(row, 1)?, text(row, 2)?, sql))?;
    }
    Ok(())
}

/// A statement without comments, with one blank between words and punctuation marks. Earlier builds wrote other comments and line breaks.
fn canonical(sql: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for line in sql.lines() {
        let line = line.split("--").next().unwrap_or_default();
        let mut in_word = false;
        for c in line.chars() {
            let is_word = c.is_alphanumeric() || c == '_';
            match words.last_mut() {
                Some(word) if is_word && in_word => word.push(c),
                _ if c.is_whitespace() => {}
                _ => words.push(c.to_string()),
            }
            in_word = is_word;
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_riposte_makes_is_accepted() {
        const TABLES: &str =
            "CREATE TABLE a (document TEXT NOT NULL, n INTEGER, PRIMARY KEY (document));
             CREATE TABLE log (n INTEGER);
             CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM log WHERE n = NEW.n; END;";
        let schema = Schema::of(TABLES).unwrap();
        let check = |statements: &str| {
            let c = Connection::open_in_memory().unwrap();
            c.execute_batch(statements).unwrap();
            schema.check(&c, "main", None)
        };
        let accepted = [
            TABLES,
            "CREATE TABLE a (document TEXT NOT NULL, -- its id\n n INTEGER,\n PRIMARY KEY (document));",
            "CREATE TABLE a (document TEXT PRIMARY KEY, n INTEGER)",
            "",
        ];
        for statements in accepted {
            check(statements).unwrap();
        }
        let refused = [
            "CREATE VIEW a AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS document, n FROM r",
            "CREATE TABLE a (document TEXT NOT NULL, n INTEGER AS (length(document)), PRIMARY KEY (document))",
            "CREATE TABLE a (document TEXT NOT NULL, n INTEGER CHECK (n > 1), PRIMARY KEY (document))",
            "CREATE TABLE log (n INTEGER DEFAULT 1)",
            "CREATE TABLE log (n INTEGER); CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log; END",
            "CREATE TABLE log (n INTEGER); CREATE INDEX i ON log (n)",
            "CREATE TABLE other (n INTEGER)",
            "CREATE VIRTUAL TABLE log USING fts5(n)",
        ];
        for statements in refused {
            let error = format!("{:#}", check(statements).unwrap_err());
            assert!(
                error.contains("not as riposte makes it"),
                "{statements}: {error}"
            );
        }
    }
}
