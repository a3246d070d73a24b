//! Tables with rows about documents: what the store, its checksums and its exports must know of them.

use rusqlite::Row;
use rusqlite::types::ValueRef;

pub(crate) use crate::workspace::blob::{blob_of, vector_of};

/// A table. Its first column is `document`, the id of the document that a row is about.
#[derive(Debug)]
pub struct EvidenceTable {
    pub name: &'static str,
    /// The columns after `document`: for each type, names of columns, separated by spaces. One whose name ends in `?` may be null.
    columns: &'static [(ColumnType, &'static str)],
    /// The primary key consists of `document` and this many of the columns, the first ones.
    keys: usize,
    /// How SQLite stores the rows: with their key or, which is faster for large ones, apart from it.
    storage: &'static str,
    /// Whether earlier builds wrote stores of this version without the table. It then has no rows.
    pub(crate) is_later: bool,
    /// Whether rankings leave the table out when they read the channel.
    pub(crate) is_seldom_read: bool,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableColumn {
    pub name: &'static str,
    pub kind: ColumnType,
    pub nullable: bool,
}

/// The types of columns. Other programs know them by these names, in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum ColumnType {
    /// UTF-8.
    Text,
    /// 64 bits, signed.
    Integer,
    /// 64 bits.
    Real,
    /// A list of 32-bit floats, little-endian. It is never null.
    Vector,
}

impl EvidenceTable {
    /// A table with these columns after `document`. The first `keys` of them belong to the primary key.
    pub const fn new(
        name: &'static str,
        keys: usize,
        columns: &'static [(ColumnType, &'static str)],
    ) -> EvidenceTable {
        EvidenceTable {
            name,
            columns,
            keys,
            storage: " WITHOUT ROWID",
            is_later: false,
            is_seldom_read: false,
        }
    }

    /// Declares that the rows are larger than a few hundred bytes.
    pub const fn with_large_rows(mut self) -> EvidenceTable {
        self.storage = "";
        self
    }

    /// Declares that stores of the current version can lack the table.
    pub const fn added_later(mut self) -> EvidenceTable {
        self.is_later = true;
        self
    }

    /// Declares that only those who ask for all evidence read the table with its channel.
    pub const fn seldom_read(mut self) -> EvidenceTable {
        self.is_seldom_read = true;
        self
    }

    /// All columns, `document` first.
    pub fn columns(&self) -> Vec<TableColumn> {
        let document: &[(ColumnType, &'static str)] = &[(ColumnType::Text, "document")];
        let groups = document.iter().chain(self.columns);
        let columns = groups.flat_map(|(kind, names)| {
            names.split(' ').map(|name| TableColumn {
                name: name.trim_end_matches('?'),
                kind: *kind,
                nullable: name.ends_with('?'),
            })
        });
        columns.collect()
    }

    /// The statement that creates the table, unless it exists.
    pub(crate) fn create(&self) -> String {
        let column = |TableColumn {
                          name,
                          kind,
                          nullable,
                      }| {
            let null = if nullable { "" } else { " NOT NULL" };
            let kind = match kind {
                ColumnType::Vector => "BLOB".to_owned(),
                kind => <&str>::from(kind).to_uppercase(),
            };
            format!("{name} {kind}{null}")
        };
        let columns: Vec<String> = self.columns().into_iter().map(column).collect();
        format!(
            "CREATE TABLE IF NOT EXISTS {} ({}, PRIMARY KEY ({})){};\n",
            self.name,
            columns.join(", "),
            self.key(),
            self.storage
        )
    }

    /// The statement that creates the table, without rows, for a connection that can only read its file.
    pub(crate) fn create_temporary(&self) -> String {
        self.create()
            .replacen("CREATE TABLE", "CREATE TEMP TABLE", 1)
    }

    /// The query for all columns of the documents from ?1 to ?2, in the order of the primary key.
    pub(crate) fn select(&self) -> String {
        format!(
            "SELECT {} FROM {} WHERE document BETWEEN ?1 AND ?2 ORDER BY {}",
            names(&self.columns()),
            self.name,
            self.key()
        )
    }

    /// The statement that adds a row, or replaces the one with the same key.
    pub(crate) fn insert(&self) -> String {
        let places = vec!["?"; self.columns().len()].join(", ");
        format!("INSERT OR REPLACE INTO {} VALUES ({places})", self.name)
    }

    /// An SQL condition for rows in which a value does not have the type of its column. SQLite does not check types; riposte writes no such row, so the
    /// file is damaged.
    pub(crate) fn misfits(&self) -> String {
        let conditions = self.columns().into_iter().map(|column| {
            let kind = match column.kind {
                ColumnType::Vector => "blob",
                kind => kind.into(),
            };
            let name = column.name;
            match column.nullable {
                true => format!("typeof({name}) NOT IN ('{kind}', 'null')"),
                false => format!("typeof({name}) <> '{kind}'"),
            }
        });
        let conditions: Vec<String> = conditions.collect();
        conditions.join(" OR ")
    }

    fn key(&self) -> String {
        names(&self.columns()[..1 + self.keys])
    }
}

/// Whether each value of a row of [`EvidenceTable::select`] has the type of its column.
///
/// # Errors
/// SQLite fails.
pub(crate) fn fits(columns: &[TableColumn], row: &Row) -> rusqlite::Result<bool> {
    for (at, column) in columns.iter().enumerate() {
        let fits = match (column.kind, row.get_ref(at)?) {
            (_, ValueRef::Null) => column.nullable,
            (ColumnType::Text, value) => value.as_str().is_ok(),
            (ColumnType::Integer, ValueRef::Integer(_))
            | (ColumnType::Real, ValueRef::Real(_))
            | (ColumnType::Vector, ValueRef::Blob(_)) => true,
            _ => false,
        };
        if !fits {
            return Ok(false);
        }
    }
    Ok(true)
}

fn names(columns: &[TableColumn]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_follow_from_the_columns() {
        const COLUMNS: &[(ColumnType, &str)] = &[
            (ColumnType::Text, "page"),
            (ColumnType::Integer, "line?"),
            (ColumnType::Vector, "v"),
        ];
        let table = EvidenceTable::new("t", 1, COLUMNS);
        assert_eq!(
            table.create(),
            "CREATE TABLE IF NOT EXISTS t (document TEXT NOT NULL, page TEXT NOT NULL, line INTEGER, v BLOB NOT NULL, \
             PRIMARY KEY (document, page)) WITHOUT ROWID;\n"
        );
        assert_eq!(
            table.select(),
            "SELECT document, page, line, v FROM t WHERE document BETWEEN ?1 AND ?2 ORDER BY document, page"
        );
        assert_eq!(
            table.misfits(),
            "typeof(document) <> 'text' OR typeof(page) <> 'text' OR typeof(line) NOT IN ('integer', 'null') OR typeof(v) <> 'blob'"
        );
        assert_eq!(
            table.insert(),
            "INSERT OR REPLACE INTO t VALUES (?, ?, ?, ?)"
        );
    }
}
