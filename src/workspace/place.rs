//! The workspace of a collection in the cache directory.
//!
//! A workspace is a directory whose name consists of the name of its collection and a hash of the collection's path. A file in it contains the path.
//! A process that uses the workspace holds a shared lock on the directory until it ends.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::{FILE, Lock, lock_file};
use crate::disk::{self, hex, is_hex};

/// Number of hexadecimal digits of the hash in the name of a workspace.
const DIGITS: usize = 12;

/// The file in a workspace that contains the path of the collection. Its time of modification tells when the workspace was last used.
pub(crate) const COLLECTION: &str = "collection.txt";

/// The end of the name of a collection that `riposte ask` has made of a folder, and the file in it that says so.
pub(crate) const MADE_COLLECTION: &str = ".collection";
pub(crate) const MADE_OF: &str = "made-of.json";

/// The name of the workspace of the collection at this path, which must be free of symbolic links.
pub(crate) fn workspace_name(collection: &Path) -> String {
    let hash = Sha256::digest(collection.as_os_str().as_encoded_bytes());
    let hash = hex(&hash[..DIGITS / 2]);
    let name = collection
        .file_name()
        .map_or_else(|| "collection".into(), |n| n.to_string_lossy().into_owned());
    let name = name.get(..name.floor_char_boundary(crate::limits::MAX_CACHE_NAME_BYTES));
    format!("{}-{hash}", name.unwrap_or_default())
}

pub(crate) fn is_workspace_name(name: &str) -> bool {
    let hash = name.rsplit_once('-').map(|(_, hash)| hash);
    hash.is_some_and(|hash| hash.len() == DIGITS && is_hex(hash))
}

/// The workspace in the cache directory `cache` for the collection at this path, which must be free of symbolic links. Until this process ends,
/// `riposte cache clear` removes nothing in it.
///
/// # Errors
/// The workspace cannot be created.
pub fn workspace(cache: &Path, collection: &Path) -> Result<PathBuf> {
    let dir = cache.join(workspace_name(collection));
    hold(&dir)?;
    let creating = || format!("cannot create the directory {}", dir.display());
    fs::create_dir_all(&dir).with_context(creating)?;
    // errors are ignored because the file only names the collection, and tells when it was last used
    let _ = note_use(&dir.join(COLLECTION), collection);
    Ok(dir.join(FILE))
}

/// The locks of the workspaces that this process may use until it ends, by directory. They belong to the process, because what is given out is a path:
/// indexes, stores and collections that were made of a folder are opened by it long after whoever asked for the workspace is gone.
static HELD: Mutex<BTreeMap<PathBuf, Lock>> = Mutex::new(BTreeMap::new());

/// Locks a workspace until the process ends. A server asks for the same workspace with each question, and has one lock of it.
fn hold(dir: &Path) -> Result<()> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let lock_file = lock_file(dir);
    // if somebody has removed the lock's file in spite of the lock, others would lock a new one
    let is_valid = |lock: &Lock| {
        let file = lock.file();
        file.is_some_and(|file| disk::is_at(file, &lock_file))
    };
    if !held.get(dir).is_some_and(is_valid) {
        held.insert(dir.to_owned(), Lock::to_read(dir, &mut || ())?);
    }
    Ok(())
}

fn note_use(file: &Path, collection: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(file).is_ok_and(|found| found.is_file()) {
        disk::replace(file, format!("{}\n", collection.display()).as_bytes())?;
    }
    let file = File::options().write(true).open(file)?;
    file.set_modified(SystemTime::now())
}
