//! The store of model outputs: an SQLite table of vectors by producer and input. For images it is part of the evidence file, for texts it is a
//! separate file beside the index.

mod rows;
mod tables;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use sha2::{Digest, Sha256};

use crate::evidence::store::read_only_uri;
use crate::nn::conv::Numeric;
use rows::Stored;

/// Number of outputs that are computed and written together. A killed process loses at most these.
const BATCH: usize = 256;

const SCHEMA: &str = include_str!("outputs.sql");

/// An open store of model outputs.
pub struct OutputStore {
    connection: Connection,
    path: PathBuf,
    /// New outputs by producer and key, if the file is only read.
    unwritten: Option<HashMap<(String, String), Vec<f32>>>,
    /// The number of stored outputs that were damaged.
    damaged: usize,
    /// The producers whose [`Numeric`] this process has recorded.
    recorded: HashSet<String>,
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
        let connection = Connection::open(path)?;
        // two tasks on one collection may write at the same time
        connection.busy_timeout(Duration::from_secs(60))?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.execute_batch(SCHEMA)?;
        tables::take_over_former(&connection)?;
        Ok(OutputStore {
            connection,
            path: path.to_owned(),
            unwritten: None,
            damaged: 0,
            recorded: HashSet::new(),
        })
    }

    /// Opens the store in the SQLite file at `path` for reading. New outputs stay in memory.
    ///
    /// # Errors
    /// There is no file, or it is not an SQLite file.
    pub fn open_to_read(path: &Path) -> Result<Self> {
        let open = || -> Result<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(path, flags)?;
            for (table, columns) in [
                ("query_vector", "producer, text, vector"),
                ("query_vector_sum", "producer, text, sum"),
            ] {
                if !tables::exists(&connection, "main", table)? {
                    connection.execute_batch(&format!(
                        "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE {table} ({columns});"
                    ))?;
                }
            }
            Ok(connection)
        };
        let opening = || format!("cannot open the model outputs in {}", path.display());
        Ok(OutputStore {
            connection: open().with_context(opening)?,
            path: path.to_owned(),
            unwritten: Some(HashMap::new()),
            damaged: 0,
            recorded: HashSet::new(),
        })
    }

    /// Records in which numbers outputs of a producer have been computed.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(crate) fn record_numeric(&mut self, producer: &str, numeric: Numeric) -> Result<()> {
        if self.unwritten.is_some() || !self.recorded.insert(producer.to_owned()) {
            return Ok(());
        }
        self.write(|transaction| {
            let mut insert =
                transaction.prepare_cached("INSERT OR IGNORE INTO output_numeric VALUES (?, ?)")?;
            insert.execute([producer, numeric.word()]).map(|_| ())
        })
    }

    /// A note if some stored outputs were damaged.
    pub(crate) fn note_of_damage(&self) -> Option<String> {
        (self.damaged > 0).then(|| {
            format!(
                "{} stored model outputs in {} were damaged and have been computed again",
                self.damaged,
                self.path.display()
            )
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
    /// `compute` and stored; `on_progress` receives the number of computed outputs, beginning with 0, and the number of all missing ones. `None` if
    /// an output is missing and there is no `compute`.
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
        on_progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let mut outputs: HashMap<&str, Vec<f32>> = HashMap::new();
        let mut missing: Vec<(&str, I)> = Vec::new();
        let mut unverified: Vec<(&str, i64)> = Vec::new();
        let mut seen = HashSet::new();
        for (key, input) in inputs {
            if !seen.insert(key.as_str()) {
                continue;
            }
            let stored = match self.get(producer, key)? {
                Stored::Whole(output) => Some(output),
                Stored::Unverified(output, sum) => {
                    unverified.push((key, sum));
                    Some(output)
                }
                Stored::Damaged => {
                    ensure!(
                        compute.is_some(),
                        "{}: a stored model output is damaged, and its model is not installed to compute it again: {producer}",
                        self.path.display()
                    );
                    self.damaged += 1;
                    None
                }
                Stored::Missing => None,
            };
            match stored.filter(|output| width.is_none_or(|width| output.len() == width)) {
                Some(output) => {
                    outputs.insert(key, output);
                }
                None => missing.push((key, *input)),
            }
        }
        self.put_checksums(producer, &unverified)?;
        if !missing.is_empty() {
            let Some(mut compute) = compute else {
                return Ok(None);
            };
            let mut done = 0;
            on_progress(done, missing.len());
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
                on_progress(done, missing.len());
            }
        }
        let output = |(key, _): &(String, I)| outputs.get(key.as_str()).cloned();
        Ok(inputs.iter().map(output).collect())
    }

    fn get(&self, producer: &str, key: &str) -> Result<Stored> {
        if let Some(unwritten) = &self.unwritten
            && let Some(output) = unwritten.get(&(producer.to_owned(), key.to_owned()))
        {
            return Ok(Stored::Whole(output.clone()));
        }
        rows::read(&self.connection, producer, key).with_context(|| self.reading())
    }

    /// Writes outputs in one transaction.
    fn put(&mut self, producer: &str, rows: &[(&str, Vec<f32>)]) -> Result<()> {
        if let Some(unwritten) = &mut self.unwritten {
            let keyed = rows.iter().map(|(key, output)| {
                let key = (producer.to_owned(), (*key).to_owned());
                (key, output.clone())
            });
            unwritten.extend(keyed);
            return Ok(());
        }
        self.write(|transaction| {
            let mut rows = rows.iter();
            rows.try_for_each(|(key, output)| rows::write(transaction, producer, key, output))
        })
    }

    /// Adds the checksums of outputs that an earlier version has stored.
    fn put_checksums(&mut self, producer: &str, sums: &[(&str, i64)]) -> Result<()> {
        if sums.is_empty() || self.unwritten.is_some() {
            return Ok(());
        }
        self.write(|transaction| {
            let mut sums = sums.iter();
            sums.try_for_each(|(key, sum)| rows::write_checksum(transaction, producer, key, *sum))
        })
    }

    fn write(&mut self, write: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<()> {
        let transaction = self.connection.transaction();
        let written = transaction.and_then(|transaction| {
            write(&transaction)?;
            transaction.commit()
        });
        written.with_context(|| {
            format!(
                "cannot write model outputs to {}: if the file is damaged, delete it",
                self.path.display()
            )
        })
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
        let merge = || -> Result<()> {
            let uri = read_only_uri(other)?;
            self.connection
                .execute("ATTACH DATABASE ? AS other", [uri])?;
            let copied = tables::merge_attached(&self.connection);
            self.connection.execute_batch("DETACH DATABASE other")?;
            Ok(copied?)
        };
        merge().with_context(merging)
    }

    fn reading(&self) -> String {
        format!(
            "cannot read the model outputs in {}: if the file is damaged, delete it",
            self.path.display()
        )
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::params;

    use super::*;
    use crate::evidence::store::blob_of;

    fn keyed<'a>(texts: &[&'a str]) -> Vec<(String, &'a str)> {
        texts.iter().map(|t| (hash_key(&[t]), *t)).collect()
    }

    fn output(store: &OutputStore, producer: &str, key: &str) -> Option<Vec<f32>> {
        match store.get(producer, key).unwrap() {
            Stored::Whole(output) | Stored::Unverified(output, _) => Some(output),
            Stored::Damaged | Stored::Missing => None,
        }
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
            .complete("m/1", &inputs, None, Some(LENGTHS), &mut |done, all| {
                progress.push((done, all))
            })
            .unwrap();
        assert_eq!(outputs.unwrap(), [[1.0], [3.0], [1.0]]);
        assert_eq!(progress, [(0, 2), (2, 2)]);
        let mut stored = |producer: &str, texts: &[&str], width| {
            let none: Option<Compute> = None;
            let inputs = keyed(texts);
            store
                .complete(producer, &inputs, width, none, &mut |_, _| ())
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
    fn the_numbers_that_outputs_were_computed_in_are_recorded_and_merged() {
        let dir = tempfile::tempdir().unwrap();
        let [mut one, mut other] =
            ["one", "other"].map(|name| OutputStore::open(&dir.path().join(name)).unwrap());
        one.record_numeric("m/1", Numeric::Float).unwrap();
        other.record_numeric("m/1", Numeric::Int8).unwrap();
        other.record_numeric("m/2", Numeric::Int8).unwrap();
        let inputs = keyed(&["b"]);
        other
            .complete("m/1", &inputs, None, Some(LENGTHS), &mut |_, _| ())
            .unwrap();
        one.merge(&dir.path().join("other")).unwrap();
        let mut query = one
            .connection
            .prepare("SELECT producer, numeric FROM output_numeric ORDER BY 1, 2")
            .unwrap();
        let rows = query
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        let found: Vec<(String, String)> = rows.collect::<rusqlite::Result<_>>().unwrap();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            found,
            [
                pair("m/1", "float"),
                pair("m/1", "int8"),
                pair("m/2", "int8")
            ]
        );
        assert_eq!(output(&one, "m/1", &hash_key(&["b"])), Some(vec![1.0]));
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
            assert_eq!(
                output(&store, "m/1", &hash_key(&["claim", "text"])),
                Some(vec![0.5, -2.0])
            );
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
        assert_eq!(output(&store, "m/1", "x"), Some(vec![9.0]));
        assert_eq!(output(&store, "m/1", "y"), Some(vec![2.0]));
        assert!(matches!(store.get("m/1", "y").unwrap(), Stored::Whole(_)));
    }

    #[test]
    fn a_damaged_output_is_computed_again_and_one_of_an_earlier_version_gets_a_checksum() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("outputs.sqlite");
        let mut store = OutputStore::open(&path).unwrap();
        let inputs = keyed(&["a", "bb", "ccc"]);
        let complete = |store: &mut OutputStore| {
            let mut computed = 0;
            let outputs = store.complete("m/1", &inputs, None, Some(LENGTHS), &mut |n, _| {
                computed = n
            });
            assert_eq!(outputs.unwrap().unwrap(), [[1.0], [2.0], [3.0]]);
            computed
        };
        assert_eq!(complete(&mut store), 3);
        assert_eq!(store.note_of_damage(), None);
        // as if bits had flipped on the disk: no trigger sees it
        let damage = "DROP TRIGGER query_vector_changed;
             UPDATE query_vector SET vector = x'00000041' WHERE text = (SELECT min(text) FROM query_vector);";
        store.connection.execute_batch(damage).unwrap();
        drop(store);
        let mut store = OutputStore::open(&path).unwrap();
        assert_eq!(complete(&mut store), 1);
        assert!(
            store
                .note_of_damage()
                .unwrap()
                .starts_with("1 stored model outputs in")
        );
        drop(store);
        let mut store = OutputStore::open(&path).unwrap();
        assert_eq!(complete(&mut store), 0);
        assert_eq!(store.note_of_damage(), None);
        // an earlier version knows no checksums
        let written = "UPDATE query_vector SET vector = vector;";
        store.connection.execute_batch(written).unwrap();
        let sums = |store: &OutputStore| -> i64 {
            let sql = "SELECT count(*) FROM query_vector_sum";
            store
                .connection
                .query_row(sql, [], |row| row.get(0))
                .unwrap()
        };
        assert_eq!(sums(&store), 0);
        assert_eq!(complete(&mut store), 0);
        assert_eq!(sums(&store), 3);
    }

    #[test]
    fn outputs_of_a_file_that_cannot_be_written_stay_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("outputs.sqlite");
        let mut store = OutputStore::open(&path).unwrap();
        store.put("m/1", &[("a", vec![1.0])]).unwrap();
        drop(store);
        let before = std::fs::read(&path).unwrap();
        let mut store = OutputStore::open_to_read(&path).unwrap();
        let inputs = [("a".to_owned(), "a"), ("b".to_owned(), "bb")];
        for computes in [1, 0] {
            let mut computed = 0;
            let outputs = store.complete("m/1", &inputs, None, Some(LENGTHS), &mut |n, _| {
                computed = n
            });
            assert_eq!(outputs.unwrap().unwrap(), [[1.0], [2.0]]);
            assert_eq!(computed, computes);
        }
        drop(store);
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        // a file of an earlier version without any outputs
        let empty = dir.path().join("empty.sqlite");
        Connection::open(&empty)
            .unwrap()
            .execute_batch("CREATE TABLE x (y)")
            .unwrap();
        let mut store = OutputStore::open_to_read(&empty).unwrap();
        let outputs = store.complete("m/1", &inputs, None, Some(LENGTHS), &mut |_, _| ());
        assert_eq!(outputs.unwrap().unwrap(), [[1.0], [2.0]]);
    }
}
