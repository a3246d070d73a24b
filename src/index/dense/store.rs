//! The file with the vectors of passages: an SQLite database with a row for each document.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use half::f16;
use half::slice::HalfFloatSliceExt;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};

use super::Wanted;
use crate::evidence::store::{blob_of, checksum_of, vector_of};

/// `text` is the checksum of the document's texts, `dimension` the number of components of each vector, `vectors` the components as
/// little-endian 16-bit floats, and `sum` the checksum of the row. In the table of clusters, `vectors` identifies the vectors that were
/// clustered, and `members` has the cluster of each document as a little-endian 32-bit number, in the order of the ids.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS made_by (description TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS passage_vectors (
        id TEXT PRIMARY KEY,
        text INTEGER NOT NULL,
        dimension INTEGER NOT NULL,
        vectors BLOB NOT NULL,
        sum INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS clusters (
        count INTEGER PRIMARY KEY,
        vectors TEXT NOT NULL,
        centroids BLOB NOT NULL,
        members BLOB NOT NULL,
        sum INTEGER NOT NULL
    ) STRICT;";

/// The vectors of a document's passages, one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Blob {
    /// The number of components of a vector; 0 if there are no passages.
    pub dimension: usize,
    pub numbers: Vec<f16>,
}

/// Rounds the vectors of a document's passages to 16-bit floats.
///
/// # Errors
/// They differ in length, are empty, or have numbers that are not finite.
pub(super) fn blob(passages: &[Vec<f32>]) -> Result<Blob> {
    let dimension = passages.first().map_or(0, Vec::len);
    let mut blob = Blob {
        dimension,
        numbers: Vec::with_capacity(dimension * passages.len()),
    };
    for vector in passages {
        ensure!(
            vector.len() == dimension && dimension > 0,
            "vectors of {dimension} and of {} numbers",
            vector.len()
        );
        let start = blob.numbers.len();
        blob.numbers.resize(start + dimension, f16::ZERO);
        blob.numbers[start..].convert_from_f32_slice(vector);
    }
    ensure!(
        blob.numbers.iter().all(|number| number.is_finite()),
        "a vector has numbers that are not finite"
    );
    Ok(blob)
}

/// A stored document.
pub(super) enum VectorRow<'r> {
    Whole { id: &'r str, text: u64, blob: Blob },
    Damaged,
}

/// The open file.
pub(super) struct Store {
    connection: Connection,
    path: PathBuf,
}

fn checksum(id: &[u8], text: i64, dimension: i64, vectors: &[u8]) -> i64 {
    checksum_of(&[
        ValueRef::Text(id),
        ValueRef::Integer(text),
        ValueRef::Integer(dimension),
        ValueRef::Blob(vectors),
    ])
}

impl Store {
    /// Opens the file, and creates it if there is none.
    ///
    /// # Errors
    /// The file cannot be written, is not an SQLite file, or contains other vectors.
    pub fn open(path: &Path, wanted: &Wanted) -> Result<Self> {
        let open = || -> Result<Connection> {
            let connection = Connection::open(path)?;
            connection.busy_timeout(Duration::from_secs(60))?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.execute_batch(SCHEMA)?;
            let wanted = wanted.to_string();
            let description: Option<String> = connection
                .query_row("SELECT description FROM made_by", [], |row| row.get(0))
                .optional()?;
            match description {
                Some(description) => ensure!(
                    description == wanted,
                    "it contains vectors of {description}, not of {wanted}"
                ),
                None => {
                    connection.execute("INSERT INTO made_by VALUES (?)", [wanted])?;
                }
            }
            Ok(connection)
        };
        Ok(Store {
            connection: open().with_context(|| failed("open", path))?,
            path: path.to_owned(),
        })
    }

    /// Calls `each` for every row, in the order in which they were written.
    ///
    /// # Errors
    /// The file cannot be read, or `each` fails.
    pub fn each(&self, mut each: impl FnMut(VectorRow) -> Result<()>) -> Result<()> {
        let mut read = || -> Result<()> {
            let mut query = self.connection.prepare(
                "SELECT id, text, dimension, vectors, sum FROM passage_vectors ORDER BY rowid",
            )?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let id = row.get_ref(0)?.as_bytes()?;
                let (text, dimension): (i64, i64) = (row.get(1)?, row.get(2)?);
                let bytes = row.get_ref(3)?.as_blob()?;
                let sum: i64 = row.get(4)?;
                let whole = (sum == checksum(id, text, dimension, bytes))
                    .then(|| parse(dimension, bytes))
                    .flatten();
                match (std::str::from_utf8(id), whole) {
                    (Ok(id), Some(blob)) => each(VectorRow::Whole {
                        id,
                        text: text as u64,
                        blob,
                    })?,
                    _ => each(VectorRow::Damaged)?,
                }
            }
            Ok(())
        };
        read().with_context(|| failed("read", &self.path))
    }

    /// Writes the vectors of documents in one transaction. They replace those that are stored for the same documents.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&mut self, documents: &[(&str, u64, Blob)]) -> Result<()> {
        self.write(|connection| {
            let mut insert = connection
                .prepare_cached("INSERT OR REPLACE INTO passage_vectors VALUES (?, ?, ?, ?, ?)")?;
            for (id, text, blob) in documents {
                let text = *text as i64;
                let dimension = blob.dimension as i64;
                let numbers = blob.numbers.iter();
                let bytes: Vec<u8> = numbers.flat_map(|number| number.to_le_bytes()).collect();
                let sum = checksum(id.as_bytes(), text, dimension, &bytes);
                insert.execute(params![id, text, dimension, bytes, sum])?;
            }
            Ok(())
        })
    }

    /// Removes the vectors of documents.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn remove(&mut self, ids: &[String]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.write(|connection| {
            let mut delete =
                connection.prepare_cached("DELETE FROM passage_vectors WHERE id = ?")?;
            for id in ids {
                delete.execute([id])?;
            }
            Ok(())
        })
    }

    fn failed(&self, what: &str) -> String {
        failed(what, &self.path)
    }

    fn write(&mut self, write: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<()> {
        let transaction = self.connection.transaction();
        let written = transaction.and_then(|transaction| {
            write(&transaction)?;
            transaction.commit()
        });
        written.with_context(|| failed("write", &self.path))
    }
}

fn failed(what: &str, path: &Path) -> String {
    format!(
        "cannot {what} the sentence vectors in {}: if the file is damaged, delete it, and they are computed again",
        path.display()
    )
}

/// Parses a blob; `None` if it does not consist of complete vectors of finite numbers.
pub(super) fn parse(dimension: i64, bytes: &[u8]) -> Option<Blob> {
    let dimension = usize::try_from(dimension).ok()?;
    let (numbers, rest) = bytes.as_chunks::<2>();
    let is_whole = match dimension {
        0 => numbers.is_empty(),
        dimension => !numbers.is_empty() && numbers.len().is_multiple_of(dimension),
    };
    let blob = Blob {
        dimension,
        numbers: numbers.iter().map(|b| f16::from_le_bytes(*b)).collect(),
    };
    let is_finite = blob.numbers.iter().all(|number| number.is_finite());
    (is_whole && rest.is_empty() && is_finite).then_some(blob)
}

/// Centroids, and the cluster of each document.
type StoredClusters = (Vec<f32>, Vec<u32>);

fn clusters_checksum(count: i64, vectors: &str, centroids: &[u8], members: &[u8]) -> i64 {
    checksum_of(&[
        ValueRef::Integer(count),
        ValueRef::Text(vectors.as_bytes()),
        ValueRef::Blob(centroids),
        ValueRef::Blob(members),
    ])
}

impl Store {
    /// The stored clusters of these vectors. `None` if there are none or if they are damaged.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn clusters(&self, count: usize, vectors: &str) -> Result<Option<StoredClusters>> {
        let number = i64::try_from(count)?;
        let read = self.connection.query_row(
            "SELECT centroids, members, sum FROM clusters WHERE count = ? AND vectors = ?",
            params![number, vectors],
            |row| {
                let centroids = row.get_ref(0)?.as_blob()?;
                let members = row.get_ref(1)?.as_blob()?;
                let is_whole =
                    row.get::<_, i64>(2)? == clusters_checksum(number, vectors, centroids, members);
                let (members, _) = members.as_chunks::<4>();
                let members = members.iter().map(|bytes| u32::from_le_bytes(*bytes));
                Ok(is_whole.then_some((vector_of(centroids)?, members.collect())))
            },
        );
        Ok(read
            .optional()
            .with_context(|| self.failed("read"))?
            .flatten())
    }

    /// Stores a division into `count` clusters. It replaces an earlier division into the same number of clusters.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put_clusters(
        &mut self,
        count: usize,
        vectors: &str,
        centroids: &[f32],
        members: &[u32],
    ) -> Result<()> {
        ensure!(count > 0, "no clusters");
        let count = i64::try_from(count)?;
        let centroids = blob_of(centroids);
        let members: Vec<u8> = members.iter().flat_map(|m| m.to_le_bytes()).collect();
        let sum = clusters_checksum(count, vectors, &centroids, &members);
        self.write(|connection| {
            connection.execute(
                "INSERT OR REPLACE INTO clusters VALUES (?, ?, ?, ?, ?)",
                params![count, vectors, centroids, members, sum],
            )?;
            Ok(())
        })
    }
}
