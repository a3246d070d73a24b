//! The evidence store: one SQLite file, which `sqlite3` and pandas can open too.
//!
//! The table `work` has a row for each channel that has been computed for a document, with its producer (the extractor's version, the model's hash,
//! the producers of its inputs). A document is written in one transaction, so it is stored completely or not at all, however the program ends.
//! SQLite's rollback journal is used and not its write-ahead log, so the store is a single file while nobody writes to it.

mod at_work;
mod checksum;
mod documents;
mod export;
mod merge;
mod parquet;
mod passed_over;
mod portable;
mod repair;
mod rows;
mod rows_of_parquet;
mod shard_file;
mod tables;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Error, Result, bail, ensure};
use riposte_eval::DocId;
use riposte_nn::conv::Numeric;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, Row, params};

use super::Evidence;
use super::channel::{Channel, Channels};
pub use super::channel::{ChannelBackend, NewEvidence, Provenance};
use super::table::EvidenceTable;
use crate::collection::Fault;
use crate::collection::images::FileState;
use crate::disk::regular;
use crate::workspace::file::StepBudget;
use crate::workspace::schema::Schema;
use crate::workspace::{Lock, OUTPUTS, file};
pub use at_work::{AtWork, DocumentAtWork};
pub(super) use checksum::ALL;
use checksum::readable;
pub use checksum::{DamagedRecord, is_damaged_record};
use documents::MainProducers;
pub use documents::StoredDocument;
pub use export::exported_files;
pub use merge::MergeResult;
pub use passed_over::PassedOver;
pub use portable::{MemoryStore, describe};
use rows::{fault_of, read_document, read_neighbours, write_file_state, write_record};
pub use shard_file::ShardFile;
use tables::SCHEMA_VERSION;

/// Number of prepared statements that are kept: a document is read from a dozen tables.
const STATEMENTS: usize = 64;

/// Number of documents whose evidence is read at once.
const NEIGHBOURS: usize = 128;

/// The file of a store, and the channels that it has. Each thread opens the store for itself.
#[derive(Clone)]
pub struct StoreFile {
    pub path: PathBuf,
    pub channels: Channels,
    /// The tables that riposte creates, found once for all that open the store: SQLite takes milliseconds to create them.
    schema: Arc<OnceLock<Schema>>,
}

impl StoreFile {
    pub fn new(path: PathBuf, channels: Channels) -> StoreFile {
        StoreFile {
            path,
            channels,
            schema: Arc::default(),
        }
    }

    /// A store in another file, with the same channels.
    fn with_path(&self, path: &Path) -> StoreFile {
        StoreFile {
            path: path.to_owned(),
            ..self.clone()
        }
    }

    /// Opens the store for reading.
    ///
    /// # Errors
    /// Those of [`Store::open_to_read`].
    pub fn open_to_read(&self) -> Result<Store> {
        let store = file::recovering(&self.path, || Store::open_read_only(self))?;
        let path = self.path.display();
        for table in tables::portable(self.channels) {
            let name = table.name;
            if file::has_table(&store.connection, "main", name)? {
                continue;
            }
            ensure!(
                table.is_later,
                "{path} was written by an earlier build of riposte, without the table {name}: `riposte merge NEW {path}` copies its evidence"
            );
            store.connection.execute_batch(&table.create_temporary())?;
        }
        Ok(store)
    }

    /// Checks that a database of the connection has no tables, indexes and triggers but those that riposte creates.
    ///
    /// # Errors
    /// It has another one, or it cannot be read.
    fn check_schema(&self, c: &Connection, database: &str) -> Result<()> {
        let schema = match self.schema.get() {
            Some(schema) => schema,
            None => {
                let created = format!("{}{OUTPUTS}", tables::schema(self.channels));
                let schema = Schema::of(&created)?;
                self.schema.get_or_init(|| schema)
            }
        };
        schema.check(c, database, None)
    }
}

/// An open evidence store.
pub struct Store {
    connection: Connection,
    steps: StepBudget,
    place: StoreFile,
    /// A lock that is held while the store is open for writing, so that there is only one writer. Its file names the documents at work.
    lock: Option<Lock>,
    /// The most frequent producer of each channel, once it is known.
    producers: OnceCell<MainProducers>,
}

impl Store {
    /// Opens the store at `path` for writing. Creates it, and its directory, if it does not exist.
    ///
    /// # Errors
    /// Another process is writing the store ([`crate::disk::Busy`]), the file is not an evidence store, or it has another version.
    pub fn open(path: &Path, channels: Channels) -> Result<Self> {
        let lock = Lock::try_to_write(path)?;
        let place = StoreFile::new(path.to_owned(), channels);
        let open = || {
            let connection = file::open(path)?;
            Self::prepare(&connection, &place)?;
            Ok(connection)
        };
        Self::of(open(), &place, Some(lock))
    }

    fn of(opened: Result<Connection>, place: &StoreFile, lock: Option<Lock>) -> Result<Self> {
        let opened = opened.and_then(|mut connection| {
            let steps = StepBudget::of(&mut connection, &place.path)?;
            Ok((connection, steps))
        });
        let (connection, steps) =
            opened.map_err(|error| explain(error, &place.path, "cannot open"))?;
        Ok(Store {
            connection,
            steps,
            place: place.clone(),
            lock,
            producers: OnceCell::new(),
        })
    }

    /// Opens the store at `path` for writing or, if it exists but cannot be written, for reading ([`Store::is_read_only`]).
    ///
    /// # Errors
    /// Those of [`Store::open`] and [`Store::open_to_read`].
    pub fn open_or_read(path: &Path, channels: Channels) -> Result<Self> {
        if regular::is_file(path)? && !file::can_be_written(path) {
            Self::open_to_read(path, channels)
        } else {
            Self::open(path, channels)
        }
    }

    /// Opens the existing store at `path` for reading. Writes nothing, except that it first rolls back a transaction whose writer died.
    ///
    /// # Errors
    /// The file does not exist, is damaged, or is not an evidence store of this version.
    pub fn open_to_read(path: &Path, channels: Channels) -> Result<Self> {
        StoreFile::new(path.to_owned(), channels).open_to_read()
    }

    fn open_read_only(place: &StoreFile) -> Result<Self> {
        let open = || {
            let connection = file::open_read_only(&place.path)?;
            keep_plans(&connection)?;
            place.check_schema(&connection, "main")?;
            if version(&connection)? != SCHEMA_VERSION {
                bail!("it is not an evidence store of this version of riposte");
            }
            file::check(&connection, &place.path)?;
            Ok(connection)
        };
        Self::of(open(), place, None)
    }

    fn prepare(connection: &Connection, place: &StoreFile) -> Result<()> {
        keep_plans(connection)?;
        // first, so that the message about a file of another program says what it is
        let others = "SELECT count(*) FROM sqlite_schema WHERE tbl_name <> 'output'";
        let tables: i64 = connection.query_row(others, [], |row| row.get(0))?;
        ensure!(
            tables == 0 || version(connection)? != 0,
            "it is an SQLite file of another program"
        );
        let version = match version(connection)? {
            0 => format!("PRAGMA user_version = {SCHEMA_VERSION};"),
            SCHEMA_VERSION => String::new(),
            other => bail!(
                "it was written by another version of riposte (its tables have version {other}, but this version needs {SCHEMA_VERSION})"
            ),
        };
        place.check_schema(connection, "main")?;
        file::check(connection, &place.path)?;
        let schema = tables::schema(place.channels);
        Ok(connection.execute_batch(&format!("BEGIN;{schema}{version}COMMIT;"))?)
    }

    /// Lets other processes write the store, which stays open here.
    pub fn unlock(&mut self) {
        self.lock = None;
    }

    /// Locks the store again, before something is written.
    ///
    /// # Errors
    /// Another process is writing it ([`crate::disk::Busy`]).
    pub fn lock_again(&mut self) -> Result<()> {
        if self.lock.is_none() && !self.is_read_only() {
            self.lock = Some(Lock::try_to_write(&self.place.path)?);
        }
        Ok(())
    }

    /// Whether the store was opened for reading only.
    pub fn is_read_only(&self) -> bool {
        self.connection.is_readonly(MAIN_DB).unwrap_or(false)
    }

    /// From this, other threads can open the store.
    pub fn place(&self) -> StoreFile {
        self.place.clone()
    }

    /// The channels that the store has been opened with.
    pub(crate) fn channels(&self) -> Channels {
        self.place.channels
    }

    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// The documents that an extraction was working on when its process was killed; empty if the store is open only for reading.
    ///
    /// # Errors
    /// The lock file cannot be read.
    pub(crate) fn notes(&self) -> Result<Vec<DocumentAtWork>> {
        let file = self.lock.as_ref().and_then(Lock::file);
        let notes = file.map_or(Ok(Vec::new()), at_work::notes);
        notes.with_context(|| format!("cannot read the lock of {}", self.place.path.display()))
    }

    /// The notes in which an extraction records what it works on; `None` if the store is open only for reading.
    ///
    /// # Errors
    /// The lock file cannot be written.
    pub(crate) fn begin_work(&self) -> Result<Option<AtWork>> {
        let file = self.lock.as_ref().and_then(Lock::file);
        let begun = file.map(AtWork::begin).transpose();
        begun.with_context(|| format!("cannot write the lock of {}", self.place.path.display()))
    }

    /// Whether a channel of a document has been computed, whatever was found.
    pub fn has_channel(&self, id: &DocId, channel: &str) -> Result<bool> {
        let id = id.0.as_str();
        let mut has = false;
        self.each_row(&tables::WORK, (id, id), |row| {
            has |= row.get_ref(1)?.as_str()? == channel;
            Ok(())
        })?;
        Ok(has)
    }

    /// The backend of a document's channel; `None` if it is not recorded.
    pub fn backend(&self, id: &DocId, channel: &str) -> Result<Option<ChannelBackend>> {
        let id = id.0.as_str();
        let mut backend = None;
        self.each_row(&tables::BACKEND, (id, id), |row| {
            if row.get_ref(1)?.as_str()? == channel {
                let numeric = row.get_ref(3)?.as_str()?.parse().ok();
                let name = row.get(2)?;
                backend = numeric.map(|numeric| ChannelBackend { name, numeric });
            }
            Ok(())
        })?;
        Ok(backend)
    }

    /// How many documents have the channel, by the type of numbers that it was computed in; `None` counts the documents for which that is not
    /// recorded.
    pub fn numerics(&self, channel: &str) -> Result<BTreeMap<Option<Numeric>, usize>> {
        self.reading(|c| {
            let mut statement = c.prepare(
                "SELECT numeric, count(*) FROM work LEFT JOIN backend USING (document, channel)
                 WHERE channel = ? GROUP BY numeric",
            )?;
            let mut rows = statement.query([channel])?;
            let mut counts = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let numeric = row.get_ref(0)?.as_str_or_null()?;
                let numeric = numeric.and_then(|word| word.parse().ok());
                *counts.entry(numeric).or_default() += row.get::<_, i64>(1)? as usize;
            }
            Ok(counts)
        })
    }

    /// Records the files of documents whose evidence does not change.
    pub(crate) fn write_file_states(&mut self, states: &[(String, FileState)]) -> Result<()> {
        let mut states = states.iter();
        self.writing(|c| states.try_for_each(|(id, files)| write_file_state(c, id, files)))
    }

    /// Writes the records in one transaction.
    pub fn write(&mut self, records: &[NewEvidence]) -> Result<()> {
        self.producers.take();
        let (place, steps) = (self.place.clone(), self.steps.clone());
        self.writing(|c| {
            records.iter().try_for_each(|record| {
                // records can be larger than the store, which may be empty
                steps.renew(&[&place.path]);
                write_record(c, place.channels, record)
            })
        })
    }

    /// All evidence about a document; `None` if the store does not have it.
    pub fn read(&self, id: &DocId) -> Result<Option<Evidence>> {
        self.reading(|c| read_document(c, self.place.channels, id, true))
    }

    /// The evidence about a document by some channels, without tables that are seldom read; `None` if the store does not have the document.
    pub fn read_by(&self, id: &DocId, channels: &[&dyn Channel]) -> Result<Option<Evidence>> {
        self.reading(|c| read_document(c, channels, id, false))
    }

    /// The evidence of documents that are stored one after another, in the order of their ids, without tables that are seldom read.
    pub fn neighbours(&self, ids: &[&DocId], channels: &[&dyn Channel]) -> Result<Vec<Evidence>> {
        self.reading(|c| read_neighbours(c, channels, ids))
    }

    /// Calls `each` with the evidence of every one of these documents by some channels, and with its place in `ids`, which are sorted. Tables that
    /// are seldom read are left out.
    pub fn each(
        &self,
        ids: &[DocId],
        channels: &[&dyn Channel],
        mut each: impl FnMut(usize, &Evidence),
    ) -> Result<()> {
        let mut at = 0..;
        for ids in ids.chunks(NEIGHBOURS) {
            let ids: Vec<&DocId> = ids.iter().collect();
            let read = self.neighbours(&ids, channels)?;
            (read.iter().zip(at.by_ref())).for_each(|(read, at)| each(at, read));
        }
        Ok(())
    }

    /// All documents by id, each with the hash that [`Store::store_text_hashes`] has stored for its words, or `None` if they have changed since.
    pub fn text_hashes(&self) -> Result<Vec<(DocId, Option<u64>)>> {
        self.reading(|c| {
            let mut hashes: HashMap<String, i64> = HashMap::new();
            let mut statement = c.prepare("SELECT document, hash FROM text_hash")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                // words whose hash is damaged are hashed again
                hashes.extend(readable(row.get(0).and_then(|id| Ok((id, row.get(1)?))))?);
            }
            let mut documents = Vec::new();
            checksum::read(c, &tables::DOCUMENT, ALL, |row| {
                let id: String = row.get(0)?;
                let hash = hashes.get(&id).copied().map(i64::cast_unsigned);
                documents.push((DocId(id), hash));
                Ok(())
            })?;
            Ok(documents)
        })
    }

    /// Stores hashes of documents' words, unless the store is read-only.
    pub(crate) fn store_text_hashes(&mut self, hashes: &[(DocId, u64)]) -> Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        self.writing(|c| {
            let mut insert = c.prepare_cached("INSERT OR REPLACE INTO text_hash VALUES (?, ?)")?;
            for (id, hash) in hashes {
                insert.execute(params![id.0, hash.cast_signed()])?;
            }
            Ok(())
        })
    }

    /// The faults of all documents, ordered by document.
    pub fn faults(&self) -> Result<Vec<(DocId, Fault)>> {
        let mut faults = Vec::new();
        // by channel in alphabetical order
        self.each_row(&tables::FAULT, ALL, |row| {
            faults.push((DocId(row.get(0)?), fault_of(row)?));
            Ok(())
        })?;
        Ok(faults)
    }

    /// Calls `each` with the rows of a table about a range of documents.
    pub(super) fn each_row(
        &self,
        table: &EvidenceTable,
        range: (&str, &str),
        each: impl FnMut(&Row) -> rusqlite::Result<()>,
    ) -> Result<()> {
        self.reading(|c| checksum::read(c, table, range, each))
    }

    /// Writes in one transaction. After an error, nothing is written.
    fn writing(&mut self, write: impl FnOnce(&Connection) -> Result<()>) -> Result<()> {
        self.steps.renew(&[&self.place.path]);
        let connection = &mut self.connection;
        let written = (|| {
            let transaction = connection.transaction()?;
            write(&transaction)?;
            Ok(transaction.commit()?)
        })();
        written.map_err(|error| explain(error, &self.place.path, "cannot write to"))
    }

    /// Reads in one transaction. Otherwise SQLite would lock the file for each statement, and a document needs a dozen statements.
    pub(super) fn reading<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.steps.renew(&[&self.place.path]);
        let read = || {
            let transaction = self.connection.unchecked_transaction()?;
            let value = read(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        read().map_err(|error| explain(error, &self.place.path, "cannot read"))
    }
}

/// As [`file::explain`]. `doing` is, for example, "cannot read".
fn explain(error: Error, path: &Path, doing: &str) -> Error {
    file::explain(error, path, &format!("{doing} the evidence store"))
}

/// Makes SQLite keep the plan of a prepared statement. Otherwise it plans the statement again for each bound value, which takes as long as the
/// lookup.
fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
