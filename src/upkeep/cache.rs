//! The cache directory: lists what is stored in the workspaces of all collections, and removes it.

use std::any::Any;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::disk::{self, regular};
use crate::index::inverted::is_only_index;
use crate::weights::{PACKED, PACKED_FILE};
use crate::workspace::file::journal;
use crate::workspace::place::{
    COLLECTION, MADE_COLLECTION, MADE_OF, is_workspace_name, workspace_name,
};
use crate::workspace::{self, Lock};

/// What an entry of the cache is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum EntryKind {
    /// The workspace's SQLite file, if it has evidence.
    Evidence,
    /// The workspace's SQLite file, if it has no evidence, but only outputs of models, sentence vectors or answers of services.
    #[strum(serialize = "model outputs")]
    Outputs,
    Index,
    /// A collection that was made of a folder.
    Collection,
    /// The packed weights of a model.
    #[strum(serialize = "packed weights")]
    Weights,
    /// A temporary directory of a killed process.
    #[strum(serialize = "left over")]
    LeftOver,
}

/// Something that riposte has stored.
#[derive(Clone, Debug)]
pub struct CacheEntry {
    pub kind: EntryKind,
    pub path: PathBuf,
    /// The workspace's directory, or that of a model's packed weights.
    workspace: PathBuf,
    /// The path of the entry's collection, if it is known.
    pub collection: Option<PathBuf>,
    pub bytes: u64,
    /// When the entry was last written or its collection was last used, whichever is later.
    pub used: Option<SystemTime>,
    /// Whether another process uses it.
    pub in_use: bool,
}

impl CacheEntry {
    /// The path of the entry in the cache directory.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        format!("{}/{}", name_of(&self.workspace), name.to_string_lossy())
    }

    /// Whether `word` names this entry. It can be the name of the entry, the name of its collection with or without the hash, the path of its
    /// collection, or its kind. If its collection was made of a folder, the folder names it, too.
    pub fn is_named(&self, word: &str) -> bool {
        let of_path = Path::new(word).canonicalize();
        let of_path = of_path.ok().map(|path| workspace_name(&path));
        let is_of = |workspace: &str| {
            let bare = workspace.rsplit_once('-').map(|(name, _)| name);
            workspace == word || bare == Some(word) || of_path.as_deref() == Some(workspace)
        };
        let made_in = self.collection.iter().flat_map(|path| path.ancestors());
        let mut made_in = made_in.skip(1).map(name_of);
        self.name() == word
            || self.kind.to_string() == word
            || is_of(&name_of(&self.workspace))
            || made_in.any(|name| is_workspace_name(&name) && is_of(&name))
    }
}

/// The contents of a cache directory.
#[derive(Debug, Default)]
pub struct CacheContents {
    pub entries: Vec<CacheEntry>,
    /// The names of files and directories that riposte did not create. Every symbolic link is among them.
    pub others: Vec<String>,
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The names in a directory. A directory that does not exist counts as empty. Bytes of names that are not UTF-8 are replaced.
fn names(dir: &Path) -> Result<BTreeSet<String>> {
    let reading = || format!("cannot list {}", dir.display());
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries.with_context(reading)?,
    };
    let name = |entry: io::Result<fs::DirEntry>| {
        let name = entry.with_context(reading)?.file_name();
        Ok(name.to_string_lossy().into_owned())
    };
    entries.map(name).collect()
}

/// Lists a cache directory. A directory that does not exist counts as empty.
///
/// # Errors
/// A directory cannot be read.
pub fn list(cache: &Path) -> Result<CacheContents> {
    let mut listed = CacheContents::default();
    for name in names(cache)? {
        let path = cache.join(&name);
        let locked = name.strip_prefix('.').and_then(|n| n.strip_suffix(".lock"));
        if is_workspace_name(&name) && is_dir(&path) {
            list_workspace(&path, &mut listed)?;
        } else if name == PACKED && is_dir(&path) {
            for model in names(&path)? {
                let (dir, name) = (path.join(&model), format!("{name}/{model}"));
                match is_dir(&dir) {
                    true => list_workspace(&dir, &mut listed)?,
                    false => listed.others.push(name),
                }
            }
        } else if !(locked.is_some_and(is_workspace_name) && is_file(&path)) {
            listed.others.push(name);
        }
    }
    Ok(listed)
}

fn list_workspace(dir: &Path, listed: &mut CacheContents) -> Result<()> {
    let (collection, used) = read_collection(dir);
    let is_used = is_file(&workspace::lock_file(dir)) && Lock::try_to_write(dir).is_err();
    for name in names(dir)? {
        let path = dir.join(&name);
        let Some(kind) = kind_of(&name, &path) else {
            if !is_beside(&name, &path) {
                listed.others.push(format!("{}/{name}", name_of(dir)));
            }
            continue;
        };
        let mut entry = CacheEntry {
            kind,
            bytes: size(&path) + size(&journal(&path)),
            used: written(&path).max(used),
            path,
            workspace: dir.to_owned(),
            collection: collection.clone(),
            in_use: false,
        };
        entry.in_use = is_used || is_in_use(&entry);
        listed.entries.push(entry);
    }
    Ok(())
}

/// The kind of the entry with this name in a workspace. `None` if riposte gives no entry such a name or such contents.
fn kind_of(name: &str, path: &Path) -> Option<EntryKind> {
    if disk::is_ours(path) {
        Some(EntryKind::LeftOver)
    } else if name == workspace::FILE {
        is_file(path).then(|| kind_of_database(path)).flatten()
    } else if name.ends_with(PACKED_FILE) {
        is_file(path).then_some(EntryKind::Weights)
    } else if name.ends_with(MADE_COLLECTION) {
        (is_dir(path) && is_file(&path.join(MADE_OF))).then_some(EntryKind::Collection)
    } else {
        let is_index = name.ends_with(".index") && is_dir(path) && is_only_index(path);
        is_index.then_some(EntryKind::Index)
    }
}

/// What an SQLite file contains. An empty file counts as outputs, and a damaged one as evidence. `None` if riposte has not written the file.
fn kind_of_database(path: &Path) -> Option<EntryKind> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut start = Vec::new();
    let file = regular::open(path).ok()?;
    file.take(16).read_to_end(&mut start).ok()?;
    if start.is_empty() {
        return Some(EntryKind::Outputs);
    }
    let has_table = |table| -> rusqlite::Result<bool> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        workspace::file::has_table(&connection, "main", table)
    };
    let kind = match (has_table("document"), has_table("output")) {
        (Ok(false), Ok(true)) => Some(EntryKind::Outputs),
        (Ok(false), Ok(false)) => None,
        _ => Some(EntryKind::Evidence),
    };
    kind.filter(|_| start == MAGIC)
}

/// Whether a file in a workspace belongs to an entry or to the workspace itself: a lock, a journal, or the path of the collection.
fn is_beside(name: &str, path: &Path) -> bool {
    let locked = name.strip_prefix('.').and_then(|n| n.strip_suffix(".lock"));
    let is_lock = locked.is_some_and(|name| {
        name == workspace::FILE
            || [".index", ".passages", MADE_COLLECTION, PACKED_FILE]
                .iter()
                .any(|end| name.ends_with(end))
    });
    is_file(path)
        && (is_lock
            || name == COLLECTION
            || *path == journal(&path.with_file_name(workspace::FILE)))
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
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

/// The path of the collection of a workspace, and when it was last used. Both are `None` if that is not recorded.
fn read_collection(dir: &Path) -> (Option<PathBuf>, Option<SystemTime>) {
    let path = dir.join(COLLECTION);
    if !is_file(&path) {
        return (None, None);
    }
    let read = regular::read_text(&path, crate::limits::MAX_COLLECTION_PATH_BYTES);
    let collection = read.map(|text| PathBuf::from(text.trim_end_matches('\n')));
    let is_right = |collection: &PathBuf| workspace_name(collection) == name_of(dir);
    (collection.ok().filter(is_right), written(&path))
}

/// Takes the lock that processes hold on an entry while they use it; dropping the result releases it. `None` if another process holds it.
fn lock_entry(entry: &CacheEntry) -> Option<Box<dyn Any>> {
    if entry.kind == EntryKind::LeftOver {
        // an entry that cannot be opened counts as in use: some systems cannot open directories
        return Some(Box::new(disk::lock_abandoned(&entry.path).ok()??));
    }
    if is_locked_by_sqlite(&entry.path) {
        return None;
    }
    Some(Box::new(Lock::try_to_write(&entry.path).ok()?))
}

/// Whether another process uses an entry. This creates no lock file.
fn is_in_use(entry: &CacheEntry) -> bool {
    let can_be_locked =
        entry.kind == EntryKind::LeftOver || is_file(&workspace::lock_file(&entry.path));
    is_locked_by_sqlite(&entry.path) || can_be_locked && lock_entry(entry).is_none()
}

/// Whether another process is in the middle of reading or writing an SQLite file. `false` for everything that is not an SQLite file.
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
    /// Another process may use it: the file system has no locks.
    Unknown,
    Failed(io::Error),
}

/// Removes entries, except those that another process uses. On a file system without locks, nothing is known to be unused, and entries are removed only
/// by `force`. Returns the result for each entry.
pub fn clear(entries: &[CacheEntry], force: bool) -> Vec<(&CacheEntry, Removal)> {
    let mut results = Vec::new();
    for of_workspace in entries.chunk_by(|a, b| a.workspace == b.workspace) {
        let Some(dir) = of_workspace.first().map(|entry| &entry.workspace) else {
            continue;
        };
        // held until all entries are removed, so that no process begins to use them
        let Ok(lock) = Lock::try_to_write(dir) else {
            results.extend(of_workspace.iter().map(|entry| (entry, Removal::InUse)));
            continue;
        };
        if lock.file().is_none() && !force {
            results.extend(of_workspace.iter().map(|entry| (entry, Removal::Unknown)));
            continue;
        }
        results.extend(of_workspace.iter().map(|entry| (entry, remove(entry))));
        remove_if_empty(dir);
    }
    results
}

fn remove(entry: &CacheEntry) -> Removal {
    // held until everything is removed
    let Some(_locked) = lock_entry(entry) else {
        return Removal::InUse;
    };
    if entry.kind == EntryKind::LeftOver {
        return disk::remove_ours(&entry.path).map_or_else(Removal::Failed, |()| Removal::Removed);
    }
    // a journal is removed after its file: without the journal, the file would be damaged
    for path in [&entry.path, &journal(&entry.path)] {
        match disk::remove(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Removal::Failed(error),
            _ => {}
        }
    }
    Removal::Removed
}

/// Removes a workspace that has no entries left, and its lock file. Errors are ignored, because what remains does no harm.
fn remove_if_empty(dir: &Path) {
    let names = names(dir).unwrap_or_default();
    if names.iter().all(|name| is_beside(name, &dir.join(name))) {
        for name in &names {
            let _ = fs::remove_file(dir.join(name));
        }
        // fails if something else has been put there in the meantime
        if fs::remove_dir(dir).is_ok() {
            let _ = fs::remove_file(workspace::lock_file(dir));
        }
    }
}
