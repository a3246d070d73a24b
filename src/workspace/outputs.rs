//! The table of everything that is computed for a collection, except evidence.
//!
//! The checksum of a row is verified whenever the row is read. Callers that can compute a damaged row compute it again. For all others, it is an
//! error that names the file and what to do. Callers remove the rows that they no longer need ([`Outputs::keep_only`]).

use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::checksum::ValueHash;
use super::file;
use super::file::StepBudget;
use super::schema::Schema;
use crate::disk::regular;

pub(crate) const SCHEMA: &str = include_str!("output.sql");

/// The prefix of producers whose values are valid only on the machine that computed them, so [`Outputs::merge`] leaves them out.
pub const OF_THIS_MACHINE: &str = "machine/";

/// Number of rows that a scan reads in one transaction. Other processes can write between two transactions.
const SCANNED: usize = 4096;

/// The open table.
pub struct Outputs {
    connection: Connection,
    path: PathBuf,
    /// The databases whose tables are read. The first is written.
    schemas: &'static [&'static str],
    /// The number of damaged rows that were found, for callers that can compute them again.
    pub damaged: usize,
    /// Whether it is known that no row has vanished.
    is_complete: bool,
}

/// Receives the key of a row, and its value; `None` if the row is damaged.
type EachRow<'e> = &'e mut dyn FnMut(&[u8], Option<&[u8]>) -> Result<()>;

/// What is stored under a key.
enum StoredRow {
    Whole(Vec<u8>),
    Damaged,
    Missing,
}

/// Checks that the table is as riposte creates it, without triggers. [`crate::evidence::store`] checks the other tables of the file.
///
/// # Errors
/// The table is different, or the file cannot be read.
fn check_schema(c: &Connection) -> Result<()> {
    Schema::of(SCHEMA)?.check(c, "main", Some("output"))
}

impl Outputs {
    /// Opens the table in the SQLite file at `path` for writing. Creates the file, its directory and the table if they are missing.
    ///
    /// # Errors
    /// The file cannot be written, is damaged, or is not an SQLite file.
    pub fn open(path: &Path) -> Result<Self> {
        let open = || -> Result<Connection> {
            std::fs::create_dir_all(crate::disk::parent(path))?;
            let connection = file::open(path)?;
            check_schema(&connection)?;
            connection.execute_batch(SCHEMA)?;
            Ok(connection)
        };
        Self::prepared(open(), path, &["main"])
    }

    /// Opens the table for reading. What is written is kept in memory until the value is dropped.
    ///
    /// # Errors
    /// There is no file, it is damaged, or it is not an SQLite file.
    pub fn open_to_read(path: &Path) -> Result<Self> {
        let open = || -> Result<(Connection, bool)> {
            let connection = file::open_read_only(path)?;
            check_schema(&connection)?;
            let has_table = file::has_table(&connection, "main", "output")?;
            let in_memory = SCHEMA.replace("TABLE IF NOT EXISTS", "TEMP TABLE");
            connection.execute_batch(&format!("PRAGMA temp_store = MEMORY; {in_memory}"))?;
            Ok((connection, has_table))
        };
        match file::recovering(path, open) {
            Ok((connection, false)) => Self::prepared(Ok(connection), path, &["temp"]),
            opened => Self::prepared(opened.map(|(c, _)| c), path, &["temp", "main"]),
        }
    }

    /// Opens the table for writing or, if the file exists but cannot be written, for reading.
    ///
    /// # Errors
    /// Those of [`Outputs::open`] and [`Outputs::open_to_read`].
    pub fn open_or_read(path: &Path) -> Result<Self> {
        if regular::is_file(path)? && !file::can_be_written(path) {
            Self::open_to_read(path)
        } else {
            Self::open(path)
        }
    }

    fn prepared(
        opened: Result<Connection>,
        path: &Path,
        schemas: &'static [&'static str],
    ) -> Result<Self> {
        let prepared = opened.and_then(|connection| {
            file::check(&connection, path)?;
            Ok(connection)
        });
        Ok(Outputs {
            connection: prepared.map_err(|error| file::explain(error, path, "cannot open"))?,
            path: path.to_owned(),
            schemas,
            damaged: 0,
            is_complete: false,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A note if rows were damaged.
    pub(crate) fn note_of_damage(&self) -> Option<String> {
        let (damaged, path) = (self.damaged, self.path.display());
        let note = || {
            format!("{damaged} stored outputs in {path} were damaged and have been computed again")
        };
        (damaged > 0).then(note)
    }

    /// The producer with the most rows among those whose name begins with `prefix`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn main_producer(&self, prefix: &str) -> Result<Option<String>> {
        let schema = self.schemas.last().unwrap_or(&"main");
        let sql = format!(
            "SELECT producer FROM {schema}.output WHERE producer >= ?1 AND producer < ?1 || char(0x10FFFF)
             GROUP BY producer ORDER BY count(*) DESC, producer LIMIT 1"
        );
        let found = self
            .connection
            .query_row(&sql, [prefix], |row| row.get(0))
            .optional();
        found.map_err(|error| self.explain(error.into(), "cannot read"))
    }

    /// The value of a producer under a key. `None` if there is none, or if it is damaged and the caller `can_compute` it again.
    ///
    /// # Errors
    /// The file cannot be read; or the value is damaged or has vanished, and the caller cannot compute it.
    pub fn find(
        &mut self,
        producer: &str,
        key: &str,
        can_compute: bool,
    ) -> Result<Option<Vec<u8>>> {
        let stored = self.get(producer, key);
        match stored.map_err(|error| self.explain(error.into(), "cannot read"))? {
            StoredRow::Whole(value) => return Ok(Some(value)),
            StoredRow::Damaged => self.note_damage(producer, can_compute)?,
            StoredRow::Missing if !can_compute => self.ensure_complete(producer)?,
            StoredRow::Missing => {}
        }
        Ok(None)
    }

    fn get(&self, producer: &str, key: &str) -> rusqlite::Result<StoredRow> {
        let mut found = StoredRow::Missing;
        for schema in self.schemas {
            let mut query = self.connection.prepare_cached(&format!(
                "SELECT value, numeric, checksum FROM {schema}.output WHERE producer = ? AND key = ?"
            ))?;
            let mut rows = query.query([producer, key])?;
            if let Some(row) = rows.next()? {
                // verified with the key that was asked for: a damaged index can lead to another row
                match value_of(&hash_of(producer), key.as_bytes(), row)? {
                    Some(value) => return Ok(StoredRow::Whole(value.to_vec())),
                    None => found = StoredRow::Damaged,
                }
            }
        }
        Ok(found)
    }

    /// Calls `each` with every row of a producer, ordered by key. Damaged rows are left out, and counted if the caller `can_compute` them again.
    ///
    /// # Errors
    /// The file cannot be read, `each` fails, or a row is damaged and the caller cannot compute it.
    pub fn scan(
        &mut self,
        producer: &str,
        can_compute: bool,
        each: &mut dyn FnMut(&str, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut damaged = 0;
        for schema in self.schemas {
            let scanned = self.scan_schema(schema, producer, &mut |key, value| match (
                std::str::from_utf8(key),
                value,
            ) {
                (Ok(key), Some(value)) => each(key, value),
                _ => {
                    damaged += 1;
                    Ok(())
                }
            });
            scanned.map_err(|error| self.explain(error, "cannot read"))?;
        }
        for _ in 0..damaged {
            self.note_damage(producer, can_compute)?;
        }
        Ok(())
    }

    fn scan_schema(&self, schema: &str, producer: &str, each: EachRow) -> Result<()> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT value, numeric, checksum, key FROM {schema}.output
             WHERE producer = ? AND key > ? ORDER BY key LIMIT {SCANNED}"
        ))?;
        let hash = hash_of(producer);
        let mut last: Vec<u8> = Vec::new();
        loop {
            let mut read = 0;
            let after = std::mem::take(&mut last);
            let mut previous = after.clone();
            let bound = ToSqlOutput::Borrowed(ValueRef::Text(&after));
            let mut rows = query.query(params![producer, bound])?;
            while let Some(row) = rows.next()? {
                let ValueRef::Text(key) = row.get_ref(3)? else {
                    bail!(file::beyond_repair(&self.path, "a key is not a text"));
                };
                if key <= previous.as_slice() {
                    bail!(file::beyond_repair(&self.path, "its keys are out of order"));
                }
                key.clone_into(&mut previous);
                read += 1;
                each(key, value_of(&hash, key, row)?)?;
            }
            if read < SCANNED {
                return Ok(());
            }
            last = previous;
        }
    }

    /// Writes values in one transaction. They replace those under the same keys. `numeric` names the numbers in which a model computed them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put<K: AsRef<str>, V: AsRef<[u8]>>(
        &mut self,
        producer: &str,
        numeric: &str,
        rows: &[(K, V)],
    ) -> Result<()> {
        self.write(|c, schema| {
            let mut insert = c.prepare_cached(&format!(
                "INSERT OR REPLACE INTO {schema}.output VALUES (?, ?, ?, ?, ?)"
            ))?;
            let hash = hash_of(producer);
            for (key, value) in rows {
                let (key, value) = (key.as_ref(), value.as_ref());
                let sum = checksum(&hash, key.as_bytes(), value, numeric.as_bytes());
                insert.execute(params![producer, key, value, numeric, sum])?;
            }
            Ok(())
        })
    }

    /// Removes the rows of a producer whose keys are not needed any more.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn keep_only(&mut self, producer: &str, is_needed: impl Fn(&str) -> bool) -> Result<()> {
        self.write(|c, schema| {
            let sql = format!("SELECT key FROM {schema}.output WHERE producer = ?");
            let mut query = c.prepare_cached(&sql)?;
            let keys = query.query_map([producer], |row| row.get(0))?;
            let is_unneeded = |key: &rusqlite::Result<String>| match key {
                Ok(key) => !is_needed(key),
                Err(_) => true,
            };
            let unneeded: rusqlite::Result<Vec<String>> = keys.filter(is_unneeded).collect();
            let sql = format!("DELETE FROM {schema}.output WHERE producer = ? AND key = ?");
            let mut delete = c.prepare_cached(&sql)?;
            unneeded?
                .iter()
                .try_for_each(|key| delete.execute([producer, key]).map(|_| ()))
        })
    }

    fn write(
        &mut self,
        write: impl FnOnce(&Connection, &str) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let schema = self.schemas.first().copied().unwrap_or("main");
        // a transaction that reads first could not become one that writes while another process writes
        let immediate = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(immediate);
        let written = transaction.and_then(|transaction| {
            write(&transaction, schema)?;
            transaction.commit()
        });
        written.map_err(|error| self.explain(error.into(), "cannot write to"))
    }

    /// Copies the rows that this file lacks from another one, except damaged rows and those that are valid only on one machine ([`OF_THIS_MACHINE`]).
    ///
    /// # Errors
    /// One of the files cannot be read or written.
    pub fn merge(&mut self, other: &Path) -> Result<()> {
        let mut from = file::open_read_only(other)?;
        check_schema(&from).with_context(|| other.display().to_string())?;
        let _steps = StepBudget::of(&mut from, other)?;
        if !file::has_table(&from, "main", "output")? {
            return Ok(());
        }
        let copy = |into: &Connection, schema: &str| -> rusqlite::Result<()> {
            let mut rows =
                from.prepare("SELECT value, numeric, checksum, key, producer FROM output")?;
            let mut insert = into.prepare_cached(&format!(
                "INSERT OR IGNORE INTO {schema}.output VALUES (?, ?, ?, ?, ?)"
            ))?;
            let mut rows = rows.query([])?;
            while let Some(row) = rows.next()? {
                let (key, producer) = (row.get_ref(3)?.as_str(), row.get_ref(4)?.as_str());
                let (Ok(key), Ok(producer)) = (key, producer) else {
                    continue;
                };
                let value = value_of(&hash_of(producer), key.as_bytes(), row)?;
                if let Some(value) = value.filter(|_| !producer.starts_with(OF_THIS_MACHINE)) {
                    let (numeric, sum) = (row.get_ref(1)?.as_str()?, row.get::<_, i64>(2)?);
                    insert.execute(params![producer, key, value, numeric, sum])?;
                }
            }
            Ok(())
        };
        let (from, to) = (other.display(), self.path.display().to_string());
        let copying = || format!("cannot copy the outputs in {from} to {to}");
        self.write(copy).with_context(copying)
    }

    /// Counts a damaged row of a producer.
    ///
    /// # Errors
    /// The caller cannot compute it again.
    fn note_damage(&mut self, producer: &str, can_compute: bool) -> Result<()> {
        ensure!(can_compute, self.lost(producer, "is damaged"));
        self.damaged += 1;
        Ok(())
    }

    /// Checks that no row has vanished: a flipped bit in an inner page of the table or of its index hides rows, which no checksum notices.
    ///
    /// # Errors
    /// Rows may have vanished, and some of them may be those of `producer`.
    pub fn ensure_complete(&mut self, producer: &str) -> Result<()> {
        if self.is_complete || !self.schemas.contains(&"main") {
            return Ok(());
        }
        let sql = "PRAGMA main.integrity_check(output)";
        let found = self.connection.query_row(sql, [], |row| row.get(0));
        let found: String = found.map_err(|error| self.explain(error.into(), "cannot read"))?;
        let vanished = || self.lost(producer, &format!("may have vanished ({found})"));
        ensure!(found == "ok", vanished());
        self.is_complete = true;
        Ok(())
    }

    /// The error for a row that the caller cannot compute again.
    fn lost(&self, producer: &str, what: &str) -> Error {
        anyhow!(
            "{}: a stored output of {producer} {what}, and it cannot be computed again without its model or service: `riposte models fetch` installs models",
            self.path.display()
        )
    }

    fn explain(&self, error: Error, doing: &str) -> Error {
        file::explain(error, &self.path, doing)
    }
}

/// The hash of the producer's name, with which the checksums of its rows begin.
fn hash_of(producer: &str) -> ValueHash {
    let mut hash = ValueHash::default();
    hash.add(ValueRef::Text(producer.as_bytes()));
    hash
}

fn checksum(producer: &ValueHash, key: &[u8], value: &[u8], numeric: &[u8]) -> i64 {
    producer.clone().with(&[
        ValueRef::Text(key),
        ValueRef::Blob(value),
        ValueRef::Text(numeric),
    ])
}

/// The value of a row whose first columns are value, numeric and checksum. `None` if the checksum is not that of this producer, key and value.
fn value_of<'r>(
    producer: &ValueHash,
    key: &[u8],
    row: &'r Row,
) -> rusqlite::Result<Option<&'r [u8]>> {
    Ok(match (row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?) {
        (ValueRef::Blob(value), ValueRef::Text(numeric), ValueRef::Integer(sum))
            if sum == checksum(producer, key, value, numeric) =>
        {
            Some(value)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(outputs: &mut Outputs, producer: &str) -> Vec<String> {
        let mut keys = Vec::new();
        let each = &mut |key: &str, value: &[u8]| {
            assert_eq!(key.as_bytes(), value);
            keys.push(key.to_owned());
            Ok(())
        };
        outputs.scan(producer, true, each).unwrap();
        keys
    }

    fn put(outputs: &mut Outputs, producer: &str, keys: &[&str]) {
        let rows: Vec<_> = keys.iter().map(|key| (*key, *key)).collect();
        outputs.put(producer, "", &rows).unwrap();
    }

    #[test]
    fn a_scan_finds_all_rows_in_order_and_what_is_not_needed_goes() {
        let dir = tempfile::tempdir().unwrap();
        let mut outputs = Outputs::open(&dir.path().join("w.sqlite")).unwrap();
        let all: Vec<String> = (0..2 * SCANNED + 1).map(|n| format!("{n:06}")).collect();
        let rows: Vec<_> = all.iter().rev().map(|key| (key, key)).collect();
        outputs.put("m/1", "float", &rows).unwrap();
        put(&mut outputs, "m/10", &["x"]);
        assert_eq!(keys(&mut outputs, "m/1"), all);
        outputs.keep_only("m/1", |key| key < "000003").unwrap();
        assert_eq!(keys(&mut outputs, "m/1"), ["000000", "000001", "000002"]);
        assert_eq!(keys(&mut outputs, "m/10"), ["x"]);
        let main = |prefix| outputs.main_producer(prefix).unwrap();
        assert_eq!(main("m/").as_deref(), Some("m/1"));
        assert_eq!(main("n/"), None);
    }

    #[test]
    fn merging_keeps_what_is_there_and_leaves_out_what_is_of_another_machine_or_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| dir.path().join(name));
        let mut from = Outputs::open(&other).unwrap();
        put(&mut from, "m/1", &["x", "y", "z"]);
        put(&mut from, &format!("{OF_THIS_MACHINE}stamps"), &["x"]);
        let damage = "UPDATE output SET value = x'00' WHERE key = 'z'";
        from.connection.execute(damage, []).unwrap();
        let mut outputs = Outputs::open(&one).unwrap();
        outputs.put("m/1", "", &[("x", "mine")]).unwrap();
        outputs.merge(&other).unwrap();
        let mut find = |producer: &str, key: &str| outputs.find(producer, key, true).unwrap();
        assert_eq!(find("m/1", "x").as_deref(), Some(b"mine".as_slice()));
        assert_eq!(find("m/1", "y").as_deref(), Some(b"y".as_slice()));
        assert_eq!(find("m/1", "z"), None);
        assert_eq!(find("machine/stamps", "x"), None);
    }

    /// A flipped bit in an index can hide a row, or lead to another one.
    #[test]
    fn no_flipped_bit_changes_or_hides_a_value_in_silence() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.sqlite");
        let keys: Vec<String> = (0..120)
            .map(|n| super::super::key(&[&n.to_string()]))
            .collect();
        let rows: Vec<_> = keys.iter().map(|key| (key, key)).collect();
        Outputs::open(&path)
            .unwrap()
            .put("m/1", "float", &rows)
            .unwrap();
        let whole = std::fs::read(&path).unwrap();
        let mut errors = 0;
        for at in (0..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&path, bytes).unwrap();
            let read = || -> Result<()> {
                let mut outputs = Outputs::open_to_read(&path)?;
                let mut scanned = 0;
                outputs.scan("m/1", false, &mut |key, value| {
                    assert_eq!(key.as_bytes(), value, "byte {at}");
                    scanned += 1;
                    Ok(())
                })?;
                if scanned < keys.len() {
                    outputs.ensure_complete("m/1")?;
                    panic!("byte {at}: rows have vanished");
                }
                for key in &keys {
                    let value = outputs.find("m/1", key, false)?;
                    assert_eq!(value.as_deref(), Some(key.as_bytes()), "byte {at}");
                }
                Ok(())
            };
            if let Err(error) = read() {
                assert!(format!("{error:#}").contains("w.sqlite"), "{error:#}");
                errors += 1;
            }
        }
        assert!(errors > 50, "{errors} errors");
    }
}
