//! Sentence vectors of texts, made when they are first asked for and kept: a large collection has millions of
//! sentences, a ranking asks for thousands.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::sentence::Sentences;
use super::store::{blob_of, vector_of};

/// Vectors that are made and written together: so many are lost when the work is killed.
const BATCH: usize = 64;

/// Vectors by the text's hash. They are kept with their producer: another model makes others.
const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS text_vector (
    producer TEXT NOT NULL,
    text BLOB NOT NULL,                 -- the first 16 bytes of the text's SHA-256
    vector BLOB NOT NULL,               -- 32-bit floats, little-endian
    PRIMARY KEY (producer, text)
) WITHOUT ROWID";

/// The vectors that are kept, and the model that makes more, if it is here.
pub struct TextVectors {
    connection: Connection,
    path: PathBuf,
    model: Option<Sentences>,
    producer: Option<String>,
}

impl TextVectors {
    /// Opens the file, or makes it. Without a model, the vectors of the model that has made most of them are used.
    ///
    /// Errors: it cannot be written, or is no such file.
    pub fn open(path: &Path, model: Option<Sentences>) -> Result<Self> {
        let opening = || format!("cannot open the vectors in {}", path.display());
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).with_context(opening)?;
        }
        let connection = Connection::open(path).with_context(opening)?;
        // Two tasks on one collection may keep vectors at the same time.
        connection
            .busy_timeout(Duration::from_secs(60))
            .with_context(opening)?;
        connection
            .pragma_update(None, "journal_mode", "WAL")
            .with_context(opening)?;
        connection.execute_batch(SCHEMA).with_context(opening)?;
        let producer = match &model {
            Some(model) => Some(model.producer()),
            None => connection
                .query_row(
                    "SELECT producer FROM text_vector GROUP BY producer ORDER BY count(*) DESC, producer LIMIT 1",
                    [],
                    |row| row.get(0),
                )
                .optional()
                .with_context(opening)?,
        };
        Ok(TextVectors {
            connection,
            path: path.to_owned(),
            model,
            producer,
        })
    }

    /// Whether vectors can be had: there is a model, or some are kept.
    pub fn are_on(&self) -> bool {
        self.producer.is_some()
    }

    /// The texts' vectors, of unit length, in their order; `done` is told how many have been made. None where one is not kept and there is no
    /// model to make it.
    ///
    /// Errors: the model fails, the file cannot be read or written.
    pub fn of(
        &mut self,
        texts: &[&str],
        done: &mut dyn FnMut(usize),
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let Some(producer) = self.producer.clone() else {
            return Ok(None);
        };
        let keys: Vec<[u8; 16]> = texts.iter().map(|text| key(text)).collect();
        let mut vectors = Vec::with_capacity(texts.len());
        let mut wanted = HashSet::new();
        let mut missing = Vec::new();
        for (text, key) in texts.iter().zip(&keys) {
            let kept = self.kept(&producer, key)?;
            if kept.is_none() && wanted.insert(key) {
                missing.push((*text, key));
            }
            vectors.push(kept);
        }
        if !missing.is_empty() {
            let Some(model) = &self.model else {
                return Ok(None);
            };
            let mut made = 0;
            for batch in missing.chunks(BATCH) {
                let texts: Vec<&str> = batch.iter().map(|(text, _)| *text).collect();
                let new = model.embed(&texts)?;
                let writing = || format!("cannot keep vectors in {}", self.path.display());
                let transaction = self.connection.transaction().with_context(writing)?;
                for ((_, key), vector) in batch.iter().zip(&new) {
                    transaction
                        .execute(
                            "INSERT OR REPLACE INTO text_vector VALUES (?, ?, ?)",
                            params![producer, key.as_slice(), blob_of(vector)],
                        )
                        .with_context(writing)?;
                }
                transaction.commit().with_context(writing)?;
                made += batch.len();
                done(made);
            }
        }
        for (vector, key) in vectors.iter_mut().zip(&keys) {
            if vector.is_none() {
                *vector = self.kept(&producer, key)?;
            }
        }
        Ok(vectors.into_iter().collect())
    }

    fn kept(&self, producer: &str, key: &[u8; 16]) -> Result<Option<Vec<f32>>> {
        self.connection
            .prepare_cached("SELECT vector FROM text_vector WHERE producer = ? AND text = ?")
            .and_then(|mut query| {
                query
                    .query_row(params![producer, key.as_slice()], |row| {
                        vector_of(row.get_ref(0)?.as_blob()?)
                    })
                    .optional()
            })
            .with_context(|| format!("cannot read the vectors in {}", self.path.display()))
    }
}

fn key(text: &str) -> [u8; 16] {
    let hash = Sha256::digest(text);
    let mut key = [0; 16];
    key.copy_from_slice(&hash[..16]);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_vectors_serve_without_the_model() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("v.sqlite");
        let mut none = TextVectors::open(&path, None).unwrap();
        assert!(!none.are_on());
        assert_eq!(none.of(&["a"], &mut |_| ()).unwrap(), None);
        for (text, vector) in [("a", [1.0f32, 0.0]), ("b", [0.0, 1.0])] {
            none.connection
                .execute(
                    "INSERT INTO text_vector VALUES ('p', ?, ?)",
                    params![key(text).as_slice(), blob_of(&vector)],
                )
                .unwrap();
        }
        drop(none);
        let mut kept = TextVectors::open(&path, None).unwrap();
        assert!(kept.are_on());
        let found = kept.of(&["b", "a", "b"], &mut |_| ()).unwrap().unwrap();
        assert_eq!(found, [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]);
        assert_eq!(kept.of(&["a", "c"], &mut |_| ()).unwrap(), None);
    }
}
