//! The contents of the cache directory: which collection each entry belongs to, and which entries can be removed.
//!
//! The names of files and directories there begin with the name of a collection and a hash of its path, its *stem*. Each stem has a *record*, a file
//! that contains the collection's path. A process that uses entries of a collection holds a shared lock on that record.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use sha2::{Digest, Sha256};

use crate::disk::{self, hex};
use crate::index::corpus::is_only_index;

/// Maximum number of bytes of a collection's name in a stem. Names of indexes and of SQLite's own files are longer than the stem, and a file
/// name has at most 255 bytes.
const MAX_NAME_BYTES: usize = 120;

/// The beginning of the names of records.
const RECORD: &str = ".collection-";

/// Maximum number of bytes that are read of a record. A path is shorter.
const MAX_RECORD_BYTES: u64 = 1 << 16;

/// Maximum number of bytes that are read of a file with hashes. A collection consists of few files.
const MAX_HASHES_BYTES: u64 = 1 << 20;

/// The beginning of the names of files with the hashes of a text collection's files.
const HASHES: &str = ".contents-";

/// Numbers of hexadecimal digits in names: of the hash of a collection's path, of an analyzer or encoder, and of a request to a service.
const STEM_DIGITS: usize = 12;
const PART_DIGITS: usize = 8;
const ANSWER_DIGITS: usize = 32;

/// How often riposte tries to lock a record that other processes may remove.
const TRIES: usize = 16;

/// What an entry of the cache is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Evidence,
    Index,
    Vectors,
    Outputs,
    Answers,
    Hashes,
    /// A temporary file of a killed process, or a lock whose file is gone.
    LeftOver,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Kind::Evidence => "evidence",
            Kind::Index => "index",
            Kind::Vectors => "sentence vectors",
            Kind::Outputs => "model outputs",
            Kind::Answers => "service answers",
            Kind::Hashes => "content hashes",
            Kind::LeftOver => "left over",
        }
    }
}

/// Something that riposte has stored.
#[derive(Clone, Debug)]
pub struct Entry {
    pub kind: Kind,
    pub path: PathBuf,
    /// The files that belong to it: locks and SQLite's journals.
    beside: Vec<PathBuf>,
    /// The beginning of the entry's name, which all entries of the same collection share.
    pub stem: Option<String>,
    /// The path of the entry's collection, if it is known.
    pub collection: Option<PathBuf>,
    pub bytes: u64,
    /// When the entry was last written or its collection was last used, whichever is later.
    pub used: Option<SystemTime>,
    /// Whether another process uses it.
    pub in_use: bool,
}

impl Entry {
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Whether `word` names this entry. It can be the name of its file, the name of its collection with or without the hash, the path of its
    /// collection, or its kind.
    pub fn is_named(&self, word: &str) -> bool {
        let of_path = || Some(stem_of(&Path::new(word).canonicalize().ok()?));
        let stem = self.stem.as_deref();
        let name = stem.and_then(|stem| Some(stem.rsplit_once('-')?.0));
        self.name() == word
            || self.kind.word() == word
            || stem == Some(word)
            || name == Some(word)
            || stem.is_some() && of_path().as_deref() == stem
    }
}

/// The contents of a cache directory.
#[derive(Debug, Default)]
pub struct Listed {
    pub entries: Vec<Entry>,
    /// The names of files and directories that riposte did not create. Every symbolic link is among them.
    pub others: Vec<String>,
}

/// The stem of the collection at this path, which must be free of symbolic links.
fn stem_of(collection: &Path) -> String {
    let hash = Sha256::digest(collection.as_os_str().as_encoded_bytes());
    let hash = hex(&hash[..STEM_DIGITS / 2]);
    let name = collection
        .file_name()
        .map_or_else(|| "collection".into(), |n| n.to_string_lossy().into_owned());
    let name = name.get(..name.floor_char_boundary(MAX_NAME_BYTES));
    format!("{}-{hash}", name.unwrap_or_default())
}

/// The path of the SQLite file in `dir` for the collection at this path, which must be free of symbolic links. Until this process ends, [`clear`]
/// removes no entry of the collection.
pub fn store(dir: &Path, collection: &Path) -> PathBuf {
    let stem = stem_of(collection);
    // errors are ignored because the cache works without records: they only protect its entries and name their collection
    let _ = note_use(dir, &stem, collection);
    dir.join(format!("{stem}.sqlite"))
}

fn note_use(dir: &Path, stem: &str, collection: &Path) -> io::Result<()> {
    let path = record(dir, stem);
    for _ in 0..TRIES {
        let mut file = disk::open_lock(&path)?;
        // written before locking: some systems forbid writing to a locked file
        if file.metadata()?.len() == 0 {
            writeln!(file, "{}", collection.display())?;
        }
        file.set_modified(SystemTime::now())?;
        file.lock_shared()?;
        // another process may have removed the file before it was locked
        if disk::is_at(&file, &path) {
            // keeps the lock until the process ends, because it may use the entries until then
            std::mem::forget(file);
            break;
        }
    }
    Ok(())
}

fn record(dir: &Path, stem: &str) -> PathBuf {
    dir.join(format!("{RECORD}{stem}"))
}

/// The meaning of a name in the cache directory.
#[derive(Debug, PartialEq, Eq)]
enum Name<'n> {
    Record(&'n str),
    /// An entry, and its stem if it has one.
    Entry(Kind, Option<&'n str>),
    /// A file beside the entry of this name: a lock or a journal.
    Beside(&'n str),
    Other,
}

/// The part of `name` before a hyphen and this number of lower-case hexadecimal digits.
fn before_hash(name: &str, digits: usize) -> Option<&str> {
    let (start, hash) = name.rsplit_once('-')?;
    is_hash(hash, digits).then_some(start)
}

fn is_hash(text: &str, digits: usize) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == digits && text.bytes().all(is_digit)
}

fn is_stem(text: &str) -> bool {
    before_hash(text, STEM_DIGITS).is_some()
}

fn stem(text: &str) -> Option<&str> {
    is_stem(text).then_some(text)
}

/// The stem before the hash of an analyzer or encoder.
fn part(text: &str) -> Option<&str> {
    before_hash(text, PART_DIGITS).and_then(stem)
}

fn read_name(name: &str) -> Name<'_> {
    if let Some(text) = name.strip_prefix(RECORD) {
        return stem(text).map_or(Name::Other, Name::Record);
    }
    if let Some(text) = name.strip_prefix(HASHES) {
        let hash = text.strip_suffix(".json");
        let is_ours = hash.is_some_and(|hash| is_hash(hash, STEM_DIGITS));
        return if is_ours {
            Name::Entry(Kind::Hashes, None)
        } else {
            Name::Other
        };
    }
    if disk::is_temporary(name, disk::TEMPORARY) {
        return Name::Entry(Kind::LeftOver, None);
    }
    if let Some(hidden) = name.strip_prefix('.') {
        if let Some((index, random)) = hidden.rsplit_once(".building-") {
            let of = index.strip_suffix(".index").and_then(part);
            return match of {
                Some(stem) if disk::is_temporary(random, "") => {
                    Name::Entry(Kind::LeftOver, Some(stem))
                }
                _ => Name::Other,
            };
        }
        let locked = hidden.strip_suffix(".lock");
        let is_ours = |of: &&str| {
            let ends = [".index", ".passages.sqlite"];
            let found = ends.into_iter().find_map(|end| of.strip_suffix(end));
            found.and_then(part).is_some()
        };
        return locked.filter(is_ours).map_or(Name::Other, Name::Beside);
    }
    let suffixes = [".lock", "-journal", "-wal", "-shm"];
    if let Some(main) = suffixes.iter().find_map(|end| name.strip_suffix(end)) {
        let of = read_name(main);
        let is_file = matches!(
            of,
            Name::Entry(Kind::Evidence | Kind::Vectors | Kind::Outputs, _)
        );
        return if is_file {
            Name::Beside(main)
        } else {
            Name::Other
        };
    }
    let ends = [
        (".passages.sqlite", Kind::Vectors),
        (".vectors.sqlite", Kind::Outputs),
        (".sqlite", Kind::Evidence),
        (".answers", Kind::Answers),
        (".index", Kind::Index),
    ];
    for (end, kind) in ends {
        if let Some(text) = name.strip_suffix(end) {
            let of = match kind {
                Kind::Vectors | Kind::Index => part(text),
                _ => stem(text),
            };
            return of.map_or(Name::Other, |stem| Name::Entry(kind, Some(stem)));
        }
    }
    Name::Other
}

/// Lists a cache directory. A directory that does not exist counts as empty.
///
/// # Errors
/// The directory cannot be read.
pub fn list(dir: &Path) -> Result<Listed> {
    let reading = || format!("cannot list {}", dir.display());
    let mut names = BTreeSet::new();
    let mut listed = Listed::default();
    match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(listed),
        entries => {
            for entry in entries.with_context(reading)? {
                match entry.with_context(reading)?.file_name().into_string() {
                    Ok(name) => _ = names.insert(name),
                    // all names that riposte gives are UTF-8
                    Err(name) => listed.others.push(name.to_string_lossy().into_owned()),
                }
            }
        }
    }
    let mut besides: Vec<(&str, &String)> = Vec::new();
    let mut entries: BTreeMap<&str, Entry> = BTreeMap::new();
    for name in &names {
        let path = dir.join(name);
        match read_name(name) {
            Name::Entry(kind, stem) if is_ours(kind, &path) => {
                let entry = Entry::new(kind, path, stem.map(str::to_owned));
                entries.insert(name, entry);
            }
            Name::Beside(main) if is_file(&path) => besides.push((main, name)),
            Name::Record(_) if is_file(&path) => {}
            _ => listed.others.push(name.clone()),
        }
    }
    for (main, name) in besides {
        let path = dir.join(name);
        match entries.get_mut(main) {
            Some(entry) => {
                entry.bytes += size(&path);
                entry.beside.push(path);
            }
            None => {
                let stem = match read_name(main) {
                    Name::Entry(_, stem) => stem,
                    _ => None,
                };
                let entry = Entry::new(Kind::LeftOver, path, stem.map(str::to_owned));
                entries.insert(name, entry);
            }
        }
    }
    for entry in entries.values_mut() {
        if let Some(stem) = &entry.stem {
            let (collection, used) = read_record(dir, stem);
            entry.collection = collection;
            entry.used = entry.used.max(used);
        }
        entry.in_use = is_in_use(dir, entry);
    }
    listed.entries = entries.into_values().collect();
    let order = |entry: &Entry| (entry.stem.clone(), entry.kind, entry.path.clone());
    listed.entries.sort_by_key(order);
    Ok(listed)
}

impl Entry {
    fn new(kind: Kind, path: PathBuf, stem: Option<String>) -> Entry {
        Entry {
            kind,
            bytes: size(&path),
            used: written(&path),
            path,
            beside: Vec::new(),
            stem,
            collection: None,
            in_use: false,
        }
    }
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Whether a file or directory with such a name also has the contents that riposte gives it.
fn is_ours(kind: Kind, path: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else {
        return false;
    };
    let contains = |fits: fn(&str) -> bool| {
        let mut inside = fs::read_dir(path).into_iter().flatten();
        let fits = |entry: io::Result<fs::DirEntry>| {
            entry.is_ok_and(|entry| fits(&entry.file_name().to_string_lossy()))
        };
        found.is_dir() && inside.all(fits)
    };
    match kind {
        Kind::Evidence => found.is_file() && is_database(path, "document"),
        Kind::Vectors => found.is_file() && is_database(path, "passage_vectors"),
        Kind::Outputs => found.is_file() && is_database(path, "query_vector"),
        Kind::Hashes => found.is_file() && is_sealed(path),
        Kind::Index => found.is_dir() && is_only_index(path),
        Kind::Answers => contains(|name| {
            let hash = name.strip_suffix(".json");
            hash.is_some_and(|hash| is_hash(hash, ANSWER_DIGITS))
                || disk::is_temporary(name, disk::TEMPORARY)
        }),
        Kind::LeftOver => found.is_file() || found.is_dir(),
    }
}

/// Whether a file is a JSON object with riposte's checksum at its end.
fn is_sealed(path: &Path) -> bool {
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(MAX_HASHES_BYTES).read_to_string(&mut text));
    read.is_ok() && text.starts_with('{') && text.contains("\"checksum\":\"")
}

/// Whether a file is an SQLite file that has this table, or that is damaged or still empty.
fn is_database(path: &Path, table: &str) -> bool {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut start));
    if read.is_err() || !start.is_empty() && start != MAGIC {
        return false;
    }
    let tables = || -> rusqlite::Result<Vec<String>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        let mut query =
            connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
        query.query_map([], |row| row.get(0))?.collect()
    };
    tables().map_or(true, |tables| {
        tables.is_empty() || tables.iter().any(|name| name == table)
    })
}

/// The size of a file, or of all files in a directory.
fn size(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else {
        return 0;
    };
    if !found.is_dir() {
        return found.len();
    }
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    inside.map(|entry| size(&entry.path())).sum()
}

/// When a file, or the newest file in a directory, was written. Access times would be of no use: not every system keeps them, and listing changes
/// them.
fn written(path: &Path) -> Option<SystemTime> {
    let found = fs::symlink_metadata(path).ok()?;
    let own = found.modified().ok();
    if !found.is_dir() {
        return own;
    }
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    let newest = inside.filter_map(|entry| entry.metadata().ok()?.modified().ok());
    own.max(newest.max())
}

/// The path of the collection with this stem, and when it was last used. Both are `None` if there is no record.
fn read_record(dir: &Path, stem: &str) -> (Option<PathBuf>, Option<SystemTime>) {
    let path = record(dir, stem);
    if !is_file(&path) {
        return (None, None);
    }
    let mut text = String::new();
    let read = File::open(&path).and_then(|file| {
        file.take(MAX_RECORD_BYTES)
            .read_to_string(&mut text)
            .map(|_| ())
    });
    let collection = read
        .ok()
        .map(|()| PathBuf::from(text.trim_end_matches('\n')));
    let is_right = |collection: &PathBuf| stem_of(collection) == stem;
    (collection.filter(is_right), written(&path))
}

/// The result of locking a record or another file exclusively.
enum Locked {
    /// No other process has locked the file. `None` if there is nothing to lock, or the system has no such locks.
    Ours(Option<File>),
    InUse,
}

/// Locks a file, without creating it.
fn lock_existing(path: &Path) -> Locked {
    if !is_file(path) {
        return Locked::Ours(None);
    }
    let Ok(file) = disk::open_lock(path) else {
        return Locked::Ours(None);
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Locked::InUse,
        Err(TryLockError::Error(_)) => Locked::Ours(None),
        Ok(()) => Locked::Ours(Some(file)),
    }
}

fn is_in_use(dir: &Path, entry: &Entry) -> bool {
    if let Some(stem) = &entry.stem
        && matches!(lock_existing(&record(dir, stem)), Locked::InUse)
    {
        return true;
    }
    matches!(lock_entry(entry), Err(InUse))
}

struct InUse;

/// Takes the locks that processes hold on an entry while they use it.
fn lock_entry(entry: &Entry) -> Result<Vec<File>, InUse> {
    let mut locks = Vec::new();
    if entry.kind == Kind::LeftOver {
        // an entry that cannot be opened counts as in use: some systems cannot open directories
        match disk::lock_abandoned(&entry.path) {
            Ok(Some(lock)) => locks.push(lock),
            _ => return Err(InUse),
        }
    }
    for path in &entry.beside {
        // journals need no lock here: SQLite locks its own files
        if path.extension().is_some_and(|end| end == "lock") {
            match lock_existing(path) {
                Locked::InUse => return Err(InUse),
                Locked::Ours(lock) => locks.extend(lock),
            }
        }
    }
    let is_database = matches!(entry.kind, Kind::Evidence | Kind::Vectors | Kind::Outputs);
    if is_database && is_locked_by_sqlite(&entry.path) {
        return Err(InUse);
    }
    Ok(locks)
}

/// Whether another process is in the middle of reading or writing an SQLite file.
fn is_locked_by_sqlite(path: &Path) -> bool {
    let begin = || -> rusqlite::Result<()> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.execute_batch("BEGIN EXCLUSIVE; ROLLBACK;")
    };
    let codes = [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked];
    begin().is_err_and(|error| {
        let code = error.sqlite_error_code();
        code.is_some_and(|code| codes.contains(&code))
    })
}

/// The result of removing an entry.
#[derive(Debug)]
pub enum Removal {
    Removed,
    /// Another process uses it.
    InUse,
    Failed(io::Error),
}

/// Removes entries of `dir`, except those that another process uses. Returns the result for each entry.
pub fn clear<'e>(dir: &Path, entries: &'e [Entry]) -> Vec<(&'e Entry, Removal)> {
    let mut by_stem: BTreeMap<Option<&str>, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        by_stem
            .entry(entry.stem.as_deref())
            .or_default()
            .push(entry);
    }
    let mut results = Vec::new();
    for (stem, entries) in by_stem {
        // held until all entries of the stem are removed, so that no process begins to use them
        let lock = match stem.map(|stem| lock_stem(dir, stem)) {
            Some(Locked::InUse) => {
                results.extend(entries.into_iter().map(|entry| (entry, Removal::InUse)));
                continue;
            }
            Some(Locked::Ours(lock)) => lock,
            None => None,
        };
        for entry in entries {
            results.push((entry, remove(entry)));
        }
        if let Some(stem) = stem {
            remove_last_record(dir, stem);
        }
        drop(lock);
    }
    results
}

/// Locks the record of a stem, and creates the record if there is none.
fn lock_stem(dir: &Path, stem: &str) -> Locked {
    let path = record(dir, stem);
    match disk::open_lock(&path) {
        Ok(_) => lock_existing(&path),
        Err(_) => Locked::Ours(None),
    }
}

fn remove(entry: &Entry) -> Removal {
    // held until everything is removed
    let Ok(_locks) = lock_entry(entry) else {
        return Removal::InUse;
    };
    // a journal is removed after its file: without the journal, the file would be damaged
    let paths = [&entry.path].into_iter().chain(&entry.beside);
    for path in paths {
        match disk::remove(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Removal::Failed(error),
            _ => {}
        }
    }
    Removal::Removed
}

/// Removes the record of a stem if no entry has that stem any more.
fn remove_last_record(dir: &Path, stem: &str) {
    let names = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let is_of_stem = |name: String| match read_name(&name) {
        Name::Entry(_, of) => of == Some(stem),
        Name::Beside(main) => main.starts_with(stem),
        _ => false,
    };
    if !names.any(is_of_stem) {
        // a record that cannot be removed only takes space
        let _ = fs::remove_file(record(dir, stem));
    }
}

#[cfg(test)]
mod tests;
