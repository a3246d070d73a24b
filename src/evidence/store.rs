//! The evidence store: one SQLite file, which `sqlite3` and pandas can read, too.
//!
//! The table `work` says what has been computed for a document: one row for each channel, with the producer (version of the
//! extractor, hash of the model, producers of what it was computed from). A document is written in one transaction, so its rows are
//! complete however the program ends. The store uses SQLite's rollback journal, not the write-ahead log, because it then consists of
//! one file while no program uses it.

mod rows;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::ocr::OcrLine;
use super::picture::Picture;
use super::{AfinnValence, Channel, Evidence, PageEvidence, Part, PartValue};
use crate::collection::images::CrawlRank;
use crate::trec::{DocId, Fault};
pub use rows::EvidenceFields;
pub(crate) use rows::{blob_of, vector_of};
use rows::{fault_of, read_document, read_words, tables, write_record};

/// The version of the tables.
const SCHEMA_VERSION: i64 = 1;

/// The number of bytes of a read-only store that are mapped into memory.
const MAPPED_BYTES: i64 = 1 << 34;

const SCHEMA: &str = include_str!("store/schema.sql");

/// A table that stores of older builds do not have. It is added when they are opened for writing.
const TEXT_HASH: &str = include_str!("store/text_hash.sql");

/// What the store contains for a document: the fingerprint of its files and the producer of each channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredDocument {
    pub fingerprint: String,
    pub producers: BTreeMap<Channel, String>,
}

/// New evidence about a document. A channel that is `None` keeps its stored evidence, unless a channel from which it is computed is
/// new; then its stored evidence is removed.
#[derive(Debug, Default)]
pub struct Record {
    pub document: String,
    pub fingerprint: String,
    pub url: String,
    pub pages: Option<ChannelOutput<Vec<PageEvidence>>>,
    pub ocr: Option<ChannelOutput<Vec<OcrLine>>>,
    pub picture: Option<ChannelOutput<Option<Picture>>>,
    pub clip: Option<ChannelOutput<Option<Vec<f32>>>>,
    pub sentences: Option<ChannelOutput<Vec<PartValue<Vec<f32>>>>>,
    pub vader: Option<ChannelOutput<Vec<PartValue<f64>>>>,
    pub afinn: Option<ChannelOutput<Vec<PartValue<AfinnValence>>>>,
}

/// The result of a channel for a document: the evidence, the faults, and the producer.
#[derive(Debug)]
pub struct ChannelOutput<T> {
    pub producer: String,
    pub value: T,
    pub faults: Vec<Fault>,
}

/// An open evidence store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// The lock of the only process that may write the store; `None` if it was opened for reading.
    _lock: Option<File>,
}

impl Store {
    /// Opens the store at `path` for writing, and creates it and its directory if necessary.
    ///
    /// Errors: another process has opened it for writing, it is not an evidence store, or it has another version.
    pub fn open(path: &Path) -> Result<Self> {
        let opening = || format!("cannot open the evidence store {}", path.display());
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).with_context(opening)?;
        }
        let mut lock_path = path.as_os_str().to_owned();
        lock_path.push(".lock");
        let lock = File::create(&lock_path).with_context(opening)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => bail!(
                "another riposte is writing the evidence store {}: wait for it, or use another store with --evidence",
                path.display()
            ),
            // on a file system without locks, SQLite still makes each transaction atomic
            Err(std::fs::TryLockError::Error(_)) => {}
        }
        let connection = Connection::open(path).with_context(opening)?;
        Self::prepare(&connection).with_context(opening)?;
        Ok(Store {
            connection,
            path: path.to_owned(),
            _lock: Some(lock),
        })
    }

    /// Opens an existing store at `path` for reading. Errors: there is none, or it has another version.
    pub fn open_to_read(path: &Path) -> Result<Self> {
        let opening = || format!("cannot open the evidence store {}", path.display());
        // each connection is used by one thread only
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).with_context(opening)?;
        reuse_plans(&connection).with_context(opening)?;
        // Rows are read from all over the file. The system's page cache holds more of it than SQLite's cache of a few megabytes.
        let mapped = connection.pragma_update(None, "mmap_size", MAPPED_BYTES);
        mapped.with_context(opening)?;
        if version(&connection).with_context(opening)? != SCHEMA_VERSION {
            bail!(
                "{} is not an evidence store of this version of riposte",
                path.display()
            );
        }
        Ok(Store {
            connection,
            path: path.to_owned(),
            _lock: None,
        })
    }

    fn prepare(connection: &Connection) -> Result<()> {
        connection.busy_timeout(Duration::from_secs(10))?;
        reuse_plans(connection)?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        match version(connection)? {
            SCHEMA_VERSION => {}
            0 => {
                let tables: i64 =
                    connection.query_row("SELECT count(*) FROM sqlite_master", [], |r| r.get(0))?;
                if tables > 0 {
                    bail!("it is an SQLite file of another program");
                }
                connection.execute_batch(&format!(
                    "BEGIN;{SCHEMA}PRAGMA user_version = {SCHEMA_VERSION};COMMIT;"
                ))?;
            }
            other => bail!(
                "it was written by another version of riposte (its tables have version {other}, this program needs {SCHEMA_VERSION})"
            ),
        }
        Ok(connection.execute_batch(&format!("BEGIN;{TEXT_HASH}COMMIT;"))?)
    }

    /// The path of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the store contains for each document.
    pub fn stored_documents(&self) -> Result<HashMap<String, StoredDocument>> {
        self.reading(|c| {
            let mut stored: HashMap<String, StoredDocument> = HashMap::new();
            let mut documents = c.prepare("SELECT document, fingerprint FROM document")?;
            let mut rows = documents.query([])?;
            while let Some(row) = rows.next()? {
                stored.entry(row.get(0)?).or_default().fingerprint = row.get(1)?;
            }
            let mut work = c.prepare("SELECT document, channel, producer FROM work")?;
            let mut rows = work.query([])?;
            while let Some(row) = rows.next()? {
                let channel: String = row.get(1)?;
                if let (Some(channel), Some(document)) = (
                    Channel::parse(&channel),
                    stored.get_mut(row.get_ref(0)?.as_str()?),
                ) {
                    document.producers.insert(channel, row.get(2)?);
                }
            }
            Ok(stored)
        })
    }

    /// The most frequent producer of a channel; `None` if nothing was computed for it.
    pub fn producer(&self, channel: Channel) -> Result<Option<String>> {
        self.reading(|c| {
            c.query_row(
                "SELECT producer, count(*) AS n FROM work WHERE channel = ? GROUP BY producer ORDER BY n DESC, producer LIMIT 1",
                [channel.word()],
                |row| row.get(0),
            )
            .optional()
        })
    }

    /// Writes the records in one transaction.
    pub fn write(&mut self, records: &[Record]) -> Result<()> {
        self.writing(|c| {
            records
                .iter()
                .try_for_each(|record| write_record(c, record))
        })
    }

    /// All evidence about a document; `None` if the store does not have the document.
    pub fn read(&self, id: &DocId) -> Result<Option<Evidence>> {
        self.read_part(id, EvidenceFields::ALL)
    }

    /// The words and the picture of a document and the selected fields; `None` if the store does not have the document.
    pub fn read_part(&self, id: &DocId, fields: EvidenceFields) -> Result<Option<Evidence>> {
        self.reading(|c| read_document(c, id, fields))
    }

    /// The words of a document's pages (without crawl ranks), and the lines of text in its image.
    pub fn words(&self, id: &DocId) -> Result<(Vec<PageEvidence>, Vec<OcrLine>)> {
        self.reading(|c| read_words(c, id))
    }

    /// All documents, sorted by id, with the hashes stored by [`Store::store_text_hashes`]. A hash is `None` if the words have changed
    /// since.
    pub fn text_hashes(&self) -> Result<Vec<(DocId, Option<u64>)>> {
        self.reading(|c| {
            c.prepare(
                "SELECT document, hash FROM document LEFT JOIN text_hash USING (document) ORDER BY document",
            )?
            .query_map([], |row| {
                let hash: Option<i64> = row.get(1)?;
                Ok((DocId(row.get(0)?), hash.map(i64::cast_unsigned)))
            })?
            .collect()
        })
    }

    /// Stores hashes of documents' words.
    pub fn store_text_hashes(&mut self, hashes: &[(DocId, u64)]) -> Result<()> {
        self.writing(|c| {
            let mut insert = c.prepare_cached("INSERT OR REPLACE INTO text_hash VALUES (?, ?)")?;
            for (id, hash) in hashes {
                insert.execute(params![id.0, hash.cast_signed()])?;
            }
            Ok(())
        })
    }

    /// Calls `each` with every sentence embedding of the documents from `first` to `last`, sorted by document.
    pub fn each_sentence_vector(
        &self,
        first: &DocId,
        last: &DocId,
        mut each: impl FnMut(&str, Part, &[f32]),
    ) -> Result<()> {
        self.reading(|c| {
            let mut statement = c.prepare_cached(
                "SELECT document, part, vector FROM sentence WHERE document BETWEEN ? AND ? ORDER BY document, page, part",
            )?;
            let mut rows = statement.query([&first.0, &last.0])?;
            while let Some(row) = rows.next()? {
                if let Some(part) = Part::parse(row.get_ref(1)?.as_str()?) {
                    let vector = vector_of(row.get_ref(2)?.as_blob()?)?;
                    each(row.get_ref(0)?.as_str()?, part, &vector);
                }
            }
            Ok(())
        })
    }

    /// Calls `each` with the CLIP embeddings of the documents from `first` to `last`, sorted by document.
    pub fn each_clip_vector(
        &self,
        first: &DocId,
        last: &DocId,
        mut each: impl FnMut(&str, &[f32]),
    ) -> Result<()> {
        self.reading(|c| {
            let mut statement = c.prepare_cached(
                "SELECT document, vector FROM clip WHERE document BETWEEN ? AND ? ORDER BY document",
            )?;
            let mut rows = statement.query([&first.0, &last.0])?;
            while let Some(row) = rows.next()? {
                let vector = vector_of(row.get_ref(1)?.as_blob()?)?;
                each(row.get_ref(0)?.as_str()?, &vector);
            }
            Ok(())
        })
    }

    /// Calls `each` with every rank at which the crawl found a document, sorted by document.
    pub fn each_crawl_rank(&self, mut each: impl FnMut(&str, &CrawlRank)) -> Result<()> {
        self.reading(|c| {
            let mut statement = c.prepare(
                "SELECT document, query, topic, rank FROM crawl_rank ORDER BY document, page, number",
            )?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let rank = CrawlRank {
                    query: row.get(1)?,
                    topic: row.get(2)?,
                    rank: row.get(3)?,
                };
                each(row.get_ref(0)?.as_str()?, &rank);
            }
            Ok(())
        })
    }

    /// The faults of all documents, sorted by document.
    pub fn faults(&self) -> Result<Vec<(DocId, Fault)>> {
        self.reading(|c| {
            c.prepare("SELECT kind, path, line, what, document FROM fault ORDER BY document, channel, number")?
                .query_map([], |row| Ok((DocId(row.get(4)?), fault_of(row)?)))?
                .collect()
        })
    }

    /// For each way to find the image's element ("xpath", "url", "no"), the number of pages, and the number of those whose element names
    /// the image.
    pub fn elements(&self) -> Result<Vec<(String, u64, u64)>> {
        self.reading(|c| {
            c.prepare("SELECT found, count(*), sum(names_image) FROM page GROUP BY found ORDER BY found DESC")?
                .query_map([], |row| {
                    Ok((row.get(0)?, row.get::<_, i64>(1)? as u64, row.get::<_, i64>(2)? as u64))
                })?
                .collect()
        })
    }

    /// The perceptual hashes of all images that could be decoded, sorted by document.
    pub fn perceptual_hashes(&self) -> Result<Vec<(DocId, u64)>> {
        let rows: Vec<(String, String)> = self.reading(|c| {
            c.prepare("SELECT document, phash FROM picture ORDER BY document")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })?;
        let hash = |text: &str| {
            u64::from_str_radix(text, 16).with_context(|| {
                format!("{}: {text:?} is not a perceptual hash", self.path.display())
            })
        };
        rows.into_iter()
            .map(|(document, text)| Ok((DocId(document), hash(&text)?)))
            .collect()
    }

    /// Copies what another store has and this one does not, for shards of one collection. Returns the number of documents copied.
    pub fn merge(&mut self, other: &Path) -> Result<usize> {
        let merging = || {
            format!(
                "cannot merge {} into {}",
                other.display(),
                self.path.display()
            )
        };
        drop(Self::open_to_read(other)?);
        let name = other
            .to_str()
            .context("the path is not UTF-8")
            .with_context(merging)?;
        self.connection
            .execute("ATTACH DATABASE ? AS shard", [name])
            .with_context(merging)?;
        let result = merge_attached(&mut self.connection).with_context(merging);
        self.connection
            .execute("DETACH DATABASE shard", [])
            .with_context(merging)?;
        result
    }

    /// Writes in one transaction: all of it or, if there is an error, nothing.
    fn writing(&mut self, write: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<()> {
        let transaction = self.connection.transaction();
        let written = transaction.and_then(|transaction| {
            write(&transaction)?;
            transaction.commit()
        });
        written
            .with_context(|| format!("cannot write to the evidence store {}", self.path.display()))
    }

    /// Adds the path to an error.
    fn reading<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        read(&self.connection)
            .with_context(|| format!("cannot read the evidence store {}", self.path.display()))
    }
}

/// Makes SQLite reuse the plan of a prepared statement. Otherwise it plans it again for each value that is looked up, which takes as
/// long as the look-up.
fn reuse_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map(|_| ())
}

/// The version of the tables; 0 for an empty file.
fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Copies the documents that this store does not have, or has fewer channels of, from the attached store.
fn merge_attached(connection: &mut Connection) -> Result<usize> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(
        "CREATE TEMP TABLE copied AS
         SELECT s.document FROM shard.document s LEFT JOIN main.document d USING (document)
         WHERE d.document IS NULL
            OR (SELECT count(*) FROM main.work w WHERE w.document = s.document)
             < (SELECT count(*) FROM shard.work w WHERE w.document = s.document);",
    )?;
    let copied: i64 = transaction.query_row("SELECT count(*) FROM copied", [], |row| row.get(0))?;
    let mut all = vec!["document", "work", "fault"];
    all.extend(Channel::ALL.into_iter().flat_map(tables));
    for table in all {
        transaction.execute_batch(&format!(
            "DELETE FROM main.{table} WHERE document IN (SELECT document FROM copied);
             INSERT INTO main.{table} SELECT * FROM shard.{table} WHERE document IN (SELECT document FROM copied);"
        ))?;
    }
    transaction.execute_batch("DROP TABLE copied;")?;
    transaction.commit()?;
    Ok(copied as usize)
}
