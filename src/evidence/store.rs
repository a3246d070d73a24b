//! The evidence store: one SQLite file, which `sqlite3` and pandas can open too.
//!
//! The table `work` has a row for each channel that has been computed for a document, with its producer (the extractor's version,
//! the model's hash, the producers of its inputs). A document is written in one transaction, so that it is stored whole or not at
//! all, however the program ends. SQLite's rollback journal is used and not its write-ahead log, so that the store is a single file
//! while nothing writes it.

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
use crate::nn::conv::Numeric;
use crate::trec::{DocId, Fault};
pub use rows::EvidenceFields;
pub(crate) use rows::{blob_of, vector_of};
use rows::{fault_of, read_document, read_words, tables, write_record};

/// Must be increased when the tables change.
const SCHEMA_VERSION: i64 = 1;

/// Greatest number of bytes of a store that are mapped into memory, if it is opened for reading.
const MAPPED_BYTES: i64 = 1 << 34;

const SCHEMA: &str = include_str!("store/schema.sql");

/// Tables that stores of older builds lack. They are added when such a store is opened for writing.
const ADDED: [&str; 2] = [
    include_str!("store/text_hash.sql"),
    include_str!("store/backend.sql"),
];

/// Which files a document's evidence was computed from, and by which producers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredDocument {
    pub fingerprint: String,
    pub producers: BTreeMap<Channel, String>,
}

/// New evidence about a document. If a channel is None, what is stored of it stays, unless its inputs are new: then it is removed.
#[derive(Debug, Default)]
pub struct Record {
    pub document: String,
    pub fingerprint: String,
    pub url: String,
    pub pages: Option<ChannelOutput<Vec<PageEvidence>>>,
    pub ocr: Option<ChannelOutput<Vec<OcrLine>>>,
    /// What computed `ocr`; None if that is unknown.
    pub ocr_backend: Option<Backend>,
    pub picture: Option<ChannelOutput<Option<Picture>>>,
    pub clip: Option<ChannelOutput<Option<Vec<f32>>>>,
    pub sentences: Option<ChannelOutput<Vec<PartValue<Vec<f32>>>>>,
    pub vader: Option<ChannelOutput<Vec<PartValue<f64>>>>,
    pub afinn: Option<ChannelOutput<Vec<PartValue<AfinnValence>>>>,
}

/// A channel's result, its faults and its producer.
#[derive(Debug)]
pub struct ChannelOutput<T> {
    pub producer: String,
    pub value: T,
    pub faults: Vec<Fault>,
}

/// What computed a channel of a document. It is recorded beside the producer; another backend alone recomputes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// The runtime of each network.
    pub name: String,
    pub numeric: Numeric,
}

/// An open evidence store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// A lock that is held while the store is open for writing, so that there is one writer.
    _lock: Option<File>,
}

impl Store {
    /// Opens the store at `path` for writing. Creates it, and its directory, if it does not exist.
    ///
    /// # Errors
    /// Another process is writing the store, the file is no evidence store, or it is one of another version.
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
                "another riposte is writing the evidence store {}: wait for it, or name another with --evidence",
                path.display()
            ),
            // on a file system without such locks, SQLite's own still protect each transaction
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

    /// Opens the existing store at `path` for reading.
    ///
    /// # Errors
    /// There is no file, or it is no evidence store of this version.
    pub fn open_to_read(path: &Path) -> Result<Self> {
        let opening = || format!("cannot open the evidence store {}", path.display());
        // only one thread uses a connection, so it needs no mutex
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).with_context(opening)?;
        keep_plans(&connection).with_context(opening)?;
        // Lookups are spread over the whole file, and the system's page cache holds more of it than SQLite's own.
        let mapped = connection.pragma_update(None, "mmap_size", MAPPED_BYTES);
        mapped.with_context(opening)?;
        if version(&connection).with_context(opening)? != SCHEMA_VERSION {
            bail!(
                "{} is no evidence store of this version of riposte",
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
        keep_plans(connection)?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        match version(connection)? {
            SCHEMA_VERSION => {}
            0 => {
                let tables: i64 =
                    connection.query_row("SELECT count(*) FROM sqlite_master", [], |r| r.get(0))?;
                if tables > 0 {
                    bail!("it is an SQLite file of something else");
                }
                connection.execute_batch(&format!(
                    "BEGIN;{SCHEMA}PRAGMA user_version = {SCHEMA_VERSION};COMMIT;"
                ))?;
            }
            other => bail!(
                "it was written by another version of riposte (its tables are version {other}, ours {SCHEMA_VERSION})"
            ),
        }
        let added = ADDED.concat();
        Ok(connection.execute_batch(&format!("BEGIN;{added}COMMIT;"))?)
    }

    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is stored of each document, by its id.
    pub fn stored_documents(&self) -> Result<HashMap<String, StoredDocument>> {
        self.reading(|c| {
            let mut held: HashMap<String, StoredDocument> = HashMap::new();
            let mut documents = c.prepare("SELECT document, fingerprint FROM document")?;
            let mut rows = documents.query([])?;
            while let Some(row) = rows.next()? {
                held.entry(row.get(0)?).or_default().fingerprint = row.get(1)?;
            }
            let mut work = c.prepare("SELECT document, channel, producer FROM work")?;
            let mut rows = work.query([])?;
            while let Some(row) = rows.next()? {
                let channel: String = row.get(1)?;
                if let (Some(channel), Some(held)) = (
                    Channel::parse(&channel),
                    held.get_mut(row.get_ref(0)?.as_str()?),
                ) {
                    held.producers.insert(channel, row.get(2)?);
                }
            }
            Ok(held)
        })
    }

    /// The most frequent producer of a channel.
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

    /// What computed a channel of a document; None if that is not recorded.
    pub fn backend(&self, id: &DocId, channel: Channel) -> Result<Option<Backend>> {
        self.reading(|c| {
            c.prepare_cached(
                "SELECT backend, numeric FROM backend WHERE document = ? AND channel = ?",
            )?
            .query_row([id.0.as_str(), channel.word()], |row| {
                let numeric = Numeric::parse(row.get_ref(1)?.as_str()?);
                let name = row.get(0)?;
                Ok(numeric.map(|numeric| Backend { name, numeric }))
            })
            .optional()
            .map(Option::flatten)
        })
    }

    /// How many documents have the channel, by the numbers that it was computed in; None counts those for which that is not
    /// recorded.
    pub fn numerics(&self, channel: Channel) -> Result<BTreeMap<Option<Numeric>, usize>> {
        self.reading(|c| {
            let mut statement = c.prepare(
                "SELECT numeric, count(*) FROM work LEFT JOIN backend USING (document, channel)
                 WHERE channel = ? GROUP BY numeric",
            )?;
            let mut rows = statement.query([channel.word()])?;
            let mut counts = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let numeric: Option<String> = row.get(0)?;
                let numeric = numeric.as_deref().and_then(Numeric::parse);
                *counts.entry(numeric).or_default() += row.get::<_, i64>(1)? as usize;
            }
            Ok(counts)
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

    /// All evidence about a document; None if the store does not have it.
    pub fn read(&self, id: &DocId) -> Result<Option<Evidence>> {
        self.read_part(id, EvidenceFields::ALL)
    }

    /// The words and the picture statistics of a document, and what else is wanted; None if the store does not have it.
    pub(crate) fn read_part(&self, id: &DocId, wanted: EvidenceFields) -> Result<Option<Evidence>> {
        self.reading(|c| read_document(c, id, wanted))
    }

    /// The words of a document's pages, without their crawl ranks, and the lines of text in its image.
    pub fn words(&self, id: &DocId) -> Result<(Vec<PageEvidence>, Vec<OcrLine>)> {
        self.reading(|c| read_words(c, id))
    }

    /// All documents by id, each with the hash that [`Store::store_text_hashes`] has stored for its words, or None if they have
    /// changed since.
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
    pub(crate) fn store_text_hashes(&mut self, hashes: &[(DocId, u64)]) -> Result<()> {
        self.writing(|c| {
            let mut insert = c.prepare_cached("INSERT OR REPLACE INTO text_hash VALUES (?, ?)")?;
            for (id, hash) in hashes {
                insert.execute(params![id.0, hash.cast_signed()])?;
            }
            Ok(())
        })
    }

    /// Calls `each` with the sentence vectors of the documents from `first` to `last`, ordered by document.
    pub(crate) fn each_sentence_vector(
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

    /// Calls `each` with the CLIP vectors of the documents from `first` to `last`, ordered by document.
    pub(crate) fn each_clip_vector(
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

    /// Calls `each` with every rank at which the crawl found a document, ordered by document.
    pub(crate) fn each_crawl_rank(&self, mut each: impl FnMut(&str, &CrawlRank)) -> Result<()> {
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

    /// The faults of all documents, ordered by document.
    pub fn faults(&self) -> Result<Vec<(DocId, Fault)>> {
        self.reading(|c| {
            c.prepare("SELECT kind, path, line, what, document FROM fault ORDER BY document, channel, number")?
                .query_map([], |row| Ok((DocId(row.get(4)?), fault_of(row)?)))?
                .collect()
        })
    }

    /// For each way of finding the image's element in a page ("xpath", "url", "no"): in how many pages it was found so, and in how many
    /// of them the element names the image.
    pub fn elements(&self) -> Result<Vec<(String, u64, u64)>> {
        self.reading(|c| {
            c.prepare("SELECT found, count(*), sum(names_image) FROM page GROUP BY found ORDER BY found DESC")?
                .query_map([], |row| {
                    Ok((row.get(0)?, row.get::<_, i64>(1)? as u64, row.get::<_, i64>(2)? as u64))
                })?
                .collect()
        })
    }

    /// The perceptual hashes of all images that could be decoded, by document.
    pub(crate) fn perceptual_hashes(&self) -> Result<Vec<(DocId, u64)>> {
        let rows: Vec<(String, String)> = self.reading(|c| {
            c.prepare("SELECT document, phash FROM picture ORDER BY document")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })?;
        let hash = |text: &str| {
            u64::from_str_radix(text, 16)
                .with_context(|| format!("{}: {text:?} is no perceptual hash", self.path.display()))
        };
        rows.into_iter()
            .map(|(document, text)| Ok((DocId(document), hash(&text)?)))
            .collect()
    }

    /// Copies the documents that another store has and this one lacks, or of which it has fewer channels. The stores are of shards of
    /// one collection. Returns the number of documents copied.
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
            .context("a path that is not UTF-8")
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

    /// Writes in one transaction. After an error, nothing is written.
    fn writing(&mut self, write: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<()> {
        let transaction = self.connection.transaction();
        let written = transaction.and_then(|transaction| {
            write(&transaction)?;
            transaction.commit()
        });
        written
            .with_context(|| format!("cannot write to the evidence store {}", self.path.display()))
    }

    fn reading<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        read(&self.connection)
            .with_context(|| format!("cannot read the evidence store {}", self.path.display()))
    }
}

/// Makes SQLite keep the plan of a prepared statement. Otherwise it plans the statement again for each bound value, which takes as long as
/// the lookup.
fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map(|_| ())
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Copies the documents of the attached store that this one lacks, or of which it has fewer channels.
fn merge_attached(connection: &mut Connection) -> Result<usize> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(
        "CREATE TEMP TABLE coming AS
         SELECT s.document FROM shard.document s LEFT JOIN main.document d USING (document)
         WHERE d.document IS NULL
            OR (SELECT count(*) FROM main.work w WHERE w.document = s.document)
             < (SELECT count(*) FROM shard.work w WHERE w.document = s.document);",
    )?;
    let coming: i64 = transaction.query_row("SELECT count(*) FROM coming", [], |row| row.get(0))?;
    let mut all = vec!["document", "work", "fault"];
    all.extend(Channel::ALL.into_iter().flat_map(tables));
    for table in all {
        transaction.execute_batch(&format!(
            "DELETE FROM main.{table} WHERE document IN (SELECT document FROM coming);
             INSERT INTO main.{table} SELECT * FROM shard.{table} WHERE document IN (SELECT document FROM coming);"
        ))?;
    }
    // stores of older builds have no such table
    let has_backends: bool = transaction.query_row(
        "SELECT EXISTS (SELECT * FROM shard.sqlite_master WHERE type = 'table' AND name = 'backend')",
        [],
        |row| row.get(0),
    )?;
    if has_backends {
        transaction.execute_batch(
            "INSERT INTO main.backend SELECT * FROM shard.backend WHERE document IN (SELECT document FROM coming);",
        )?;
    }
    transaction.execute_batch("DROP TABLE coming;")?;
    transaction.commit()?;
    Ok(coming as usize)
}
