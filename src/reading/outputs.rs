//! The store of model outputs: an SQLite table of vectors by producer and input. It is part of the evidence file of an image collection,
//! and a file of its own beside the index of a text collection.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use crate::evidence::store::{blob_of, vector_of};

/// Outputs that are computed and written together. When the process is killed, at most these are lost.
const BATCH: usize = 256;

const SCHEMA: &str = include_str!("outputs.sql");

/// An open store of model outputs.
pub struct OutputStore {
    connection: Connection,
    path: PathBuf,
}

/// The key of an input that is too long to be stored: the first half of the SHA-256 of its parts.
pub(crate) fn hash_key(parts: &[&str]) -> String {
    let hash = Sha256::digest(parts.join("\0"));
    hash[..16].iter().map(|b| format!("{b:02x}")).collect()
}

impl OutputStore {
    /// Opens the store in the SQLite file at `path`. Creates the file and the table if they are missing.
    ///
    /// # Errors
    /// The file cannot be written, or it is not an SQLite file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_from(path)
            .with_context(|| format!("cannot open the model outputs in {}", path.display()))
    }

    fn open_from(path: &Path) -> Result<Self> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let mut connection = Connection::open(path)?;
        // two tasks on one collection may write at the same time
        connection.busy_timeout(Duration::from_secs(60))?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.execute_batch(SCHEMA)?;
        take_over_former_table(&mut connection)?;
        Ok(OutputStore {
            connection,
            path: path.to_owned(),
        })
    }

    /// The producer with the most outputs among those whose name begins with `prefix`.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn main_producer(&self, prefix: &str) -> Result<Option<String>> {
        self.connection
            .query_row(
                "SELECT producer FROM query_vector WHERE substr(producer, 1, length(?1)) = ?1
                 GROUP BY producer ORDER BY count(*) DESC, producer LIMIT 1",
                [prefix],
                |row| row.get(0),
            )
            .optional()
            .with_context(|| self.reading())
    }

    /// The outputs for these inputs, in their order. Each input has a key under which its output is stored. Missing outputs are computed by
    /// `compute` and stored; `on_progress` receives how many have been computed. `None` if an output is missing and there is no `compute`.
    ///
    /// A stored output of another width than `width` counts as missing.
    ///
    /// # Errors
    /// The store cannot be read or written, or `compute` fails.
    pub fn complete<I: Copy>(
        &mut self,
        producer: &str,
        inputs: &[(String, I)],
        width: Option<usize>,
        compute: Option<impl FnMut(&[I]) -> Result<Vec<Vec<f32>>>>,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let mut outputs: HashMap<&str, Vec<f32>> = HashMap::new();
        let mut missing: Vec<(&str, I)> = Vec::new();
        let mut seen = HashSet::new();
        for (key, input) in inputs {
            if !seen.insert(key.as_str()) {
                continue;
            }
            let stored = self.get(producer, key)?;
            match stored.filter(|output| width.is_none_or(|width| output.len() == width)) {
                Some(output) => {
                    outputs.insert(key, output);
                }
                None => missing.push((key, *input)),
            }
        }
        if !missing.is_empty() {
            let Some(mut compute) = compute else {
                return Ok(None);
            };
            let mut done = 0;
            for batch in missing.chunks(BATCH) {
                let batch_inputs: Vec<I> = batch.iter().map(|(_, input)| *input).collect();
                let computed = compute(&batch_inputs)?;
                ensure!(
                    computed.len() == batch.len(),
                    "{producer} has computed {} outputs for {} inputs",
                    computed.len(),
                    batch.len()
                );
                let rows: Vec<(&str, Vec<f32>)> =
                    batch.iter().map(|(key, _)| *key).zip(computed).collect();
                self.put(producer, &rows)?;
                outputs.extend(rows);
                done += batch.len();
                on_progress(done);
            }
        }
        let output = |(key, _): &(String, I)| outputs.get(key.as_str()).cloned();
        Ok(inputs.iter().map(output).collect())
    }

    fn get(&self, producer: &str, key: &str) -> Result<Option<Vec<f32>>> {
        self.connection
            .prepare_cached("SELECT vector FROM query_vector WHERE producer = ? AND text = ?")
            .and_then(|mut query| {
                query
                    .query_row([producer, key], |row| vector_of(row.get_ref(0)?.as_blob()?))
                    .optional()
            })
            .with_context(|| self.reading())
    }

    /// Writes outputs in one transaction.
    fn put(&mut self, producer: &str, rows: &[(&str, Vec<f32>)]) -> Result<()> {
        let transaction = self.connection.transaction();
        let written = transaction.and_then(|transaction| {
            for (key, output) in rows {
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO query_vector VALUES (?, ?, ?)")?
                    .execute(params![producer, key, blob_of(output)])?;
            }
            transaction.commit()
        });
        written.with_context(|| format!("cannot write model outputs to {}", self.path.display()))
    }

    /// Copies the outputs of another store that this one lacks.
    ///
    /// # Errors
    /// One of the stores cannot be read or written.
    pub fn merge(&mut self, other: &Path) -> Result<()> {
        let merging = || {
            format!(
                "cannot merge {} into {}",
                other.display(),
                self.path.display()
            )
        };
        // creates the table if the other store lacks it
        drop(OutputStore::open(other)?);
        let name = other.to_str().context("its path is not UTF-8");
        let name = name.with_context(merging)?;
        let merged = self
            .connection
            .execute("ATTACH DATABASE ? AS other", [name])
            .and_then(|_| {
                let copied = self.connection.execute_batch(
                    "INSERT OR IGNORE INTO main.query_vector SELECT * FROM other.query_vector;",
                );
                self.connection.execute_batch("DETACH DATABASE other")?;
                copied
            });
        merged.with_context(merging)
    }

    fn reading(&self) -> String {
        format!("cannot read the model outputs in {}", self.path.display())
    }
}

/// Earlier versions stored the outputs for text collections in another table, with the same hashes as keys.
fn take_over_former_table(connection: &mut Connection) -> rusqlite::Result<()> {
    let former: i64 = connection.query_row(
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'text_vector'",
        [],
        |row| row.get(0),
    )?;
    if former == 0 {
        return Ok(());
    }
    connection.execute_batch(
        "BEGIN IMMEDIATE;
         INSERT OR IGNORE INTO query_vector SELECT producer, lower(hex(text)), vector FROM text_vector;
         DROP TABLE text_vector;
         COMMIT;",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed<'a>(texts: &[&'a str]) -> Vec<(String, &'a str)> {
        texts.iter().map(|t| (hash_key(&[t]), *t)).collect()
    }

    type Compute = fn(&[&str]) -> Result<Vec<Vec<f32>>>;

    const LENGTHS: Compute = |texts| Ok(texts.iter().map(|t| vec![t.len() as f32]).collect());

    #[test]
    fn outputs_are_computed_once_and_stored() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = OutputStore::open(&dir.path().join("outputs.sqlite")).unwrap();
        let mut progress = Vec::new();
        let inputs = keyed(&["b", "aaa", "b"]);
        let outputs = store
            .complete("m/1", &inputs, None, Some(LENGTHS), &mut |n| {
                progress.push(n)
            })
            .unwrap();
        assert_eq!(outputs.unwrap(), [[1.0], [3.0], [1.0]]);
        assert_eq!(progress, [2]);
        let mut stored = |producer: &str, texts: &[&str], width| {
            let none: Option<Compute> = None;
            let inputs = keyed(texts);
            store
                .complete(producer, &inputs, width, none, &mut |_| ())
                .unwrap()
        };
        assert_eq!(stored("m/1", &["aaa"], Some(1)), Some(vec![vec![3.0]]));
        assert_eq!(stored("m/1", &["aaa"], Some(3)), None);
        assert_eq!(stored("m/1", &["aaa", "c"], None), None);
        assert_eq!(stored("m/2", &["aaa"], None), None);
        assert_eq!(stored("m/2", &[], None), Some(vec![]));
        assert_eq!(store.main_producer("m/").unwrap().as_deref(), Some("m/1"));
        assert_eq!(store.main_producer("n/").unwrap(), None);
    }

    #[test]
    fn the_table_of_earlier_versions_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("outputs.sqlite");
        let former = Connection::open(&path).unwrap();
        former
            .execute_batch("CREATE TABLE text_vector (producer TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (producer, text)) WITHOUT ROWID")
            .unwrap();
        let hash = Sha256::digest("claim\0text");
        former
            .execute(
                "INSERT INTO text_vector VALUES ('m/1', ?, ?)",
                params![&hash[..16], blob_of(&[0.5, -2.0])],
            )
            .unwrap();
        drop(former);
        for _ in 0..2 {
            let store = OutputStore::open(&path).unwrap();
            let output = store.get("m/1", &hash_key(&["claim", "text"])).unwrap();
            assert_eq!(output, Some(vec![0.5, -2.0]));
        }
    }

    #[test]
    fn merging_keeps_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a.sqlite"), dir.path().join("b.sqlite"));
        let mut other = OutputStore::open(&b).unwrap();
        other
            .put("m/1", &[("x", vec![1.0]), ("y", vec![2.0])])
            .unwrap();
        drop(other);
        let mut store = OutputStore::open(&a).unwrap();
        store.put("m/1", &[("x", vec![9.0])]).unwrap();
        store.merge(&b).unwrap();
        assert_eq!(store.get("m/1", "x").unwrap(), Some(vec![9.0]));
        assert_eq!(store.get("m/1", "y").unwrap(), Some(vec![2.0]));
    }
}
