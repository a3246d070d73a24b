//! An index as files: its directory, checksums, locks between processes, and how a new index replaces an old one.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, FileSlice, Lock as TantivyLock, MmapDirectory,
    OwnedBytes, WatchCallback, WatchHandle, WritePtr,
};
use tantivy::index::{SegmentComponent, SegmentMeta};
use tantivy::{HasLen, Index};

use super::guarded::guarded;
use crate::disk::{TemporaryDir, hex, parent, regular, remove_abandoned};
use crate::events::Event;
use crate::workspace::Lock;

/// The file in which tantivy keeps the list of segments, the schema and, as its payload, [`super::IndexMeta`].
pub const META: &str = "meta.json";

/// The file in which tantivy keeps the names of the files that it has written.
const MANAGED: &str = ".managed.json";

/// The file with all faults of a collection that has more of them than [`super::IndexMeta`] keeps.
pub(super) const FAULTS: &str = "faults.jsonl";

/// Part of the name of a temporary directory in which an index is built.
const BUILDING: &str = ".building-";

/// What separates the content of meta.json from its checksum, and what follows the checksum. The file remains a valid JSON object.
const SEAL: &str = ",\"checksum\":\"";
const SEAL_END: &str = "\"}\n";

/// The extension of the files in which tantivy keeps the texts.
const TEXTS: &str = "store";

/// tantivy's memory-mapped directory, with two differences.
///
/// It adds a checksum to meta.json, the only file that tantivy stores without a checksum. And it reads stored texts with a call instead of mapping
/// them: each text is read from another place, so the memory of a server would grow until it has mapped all texts of its collections.
#[derive(Clone, Debug)]
pub(crate) struct SealedDirectory {
    files: MmapDirectory,
    dir: PathBuf,
}

impl SealedDirectory {
    /// Errors: there is no such directory.
    pub fn open(dir: &Path) -> Result<Self> {
        Ok(SealedDirectory {
            files: MmapDirectory::open(dir)?,
            dir: dir.to_owned(),
        })
    }
}

/// A file with stored texts. Few bytes at a time are read, and many are mapped, as when a checksum is compared or files are merged.
#[derive(Debug)]
struct TextsFile {
    mapped: Arc<dyn FileHandle>,
    read: FileSlice,
}

impl HasLen for TextsFile {
    fn len(&self) -> usize {
        self.mapped.len()
    }
}

impl FileHandle for TextsFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        if (1..=crate::limits::MAX_READ_BYTES).contains(&range.len()) {
            self.read.read_bytes_slice(range)
        } else {
            self.mapped.read_bytes(range)
        }
    }
}

/// The first half of a SHA-256 in hexadecimal. Half is enough to detect damage; it need not detect forgery.
fn digest(content: &[u8]) -> String {
    hex(&Sha256::digest(content)[..16])
}

/// Adds the checksum to a JSON object, as its last member.
fn sealed(object: &[u8]) -> io::Result<Vec<u8>> {
    let end = object.iter().rposition(|byte| *byte == b'}');
    let content = end.and_then(|end| object.get(..end));
    let content = content.ok_or_else(|| io::Error::other("not a JSON object"))?;
    let seal = format!("{SEAL}{}{SEAL_END}", digest(content));
    Ok([content, seal.as_bytes()].concat())
}

/// Removes the checksum from a JSON object; `None` if it is missing or wrong.
fn unsealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let rest = bytes.strip_suffix(SEAL_END.as_bytes())?;
    let (rest, found) = rest.split_at_checked(rest.len().checked_sub(32)?)?;
    let content = rest.strip_suffix(SEAL.as_bytes())?;
    (digest(content).as_bytes() == found).then(|| [content, b"}"].concat())
}

impl Directory for SealedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let mapped = self.files.get_file_handle(path)?;
        // elsewhere than on Unix, the reads of several threads would move each other's position
        if !cfg!(unix) || path.extension().is_none_or(|end| end != TEXTS) {
            return Ok(mapped);
        }
        let read = FileSlice::open(&self.dir.join(path));
        let read = read.map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()))?;
        Ok(Arc::new(TextsFile { mapped, read }))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.files.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.files.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let bytes = self.files.atomic_read(path)?;
        if path != Path::new(META) {
            return Ok(bytes);
        }
        unsealed(&bytes).ok_or_else(|| {
            let error = io::Error::new(io::ErrorKind::InvalidData, MISMATCH);
            OpenReadError::wrap_io_error(error, path.to_owned())
        })
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        if path == Path::new(META) {
            self.files.atomic_write(path, &sealed(data)?)
        } else {
            self.files.atomic_write(path, data)
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.files.sync_directory()
    }

    fn acquire_lock(&self, lock: &TantivyLock) -> Result<DirectoryLock, LockError> {
        self.files.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}

const MISMATCH: &str = "its checksum does not match";

/// The error for a damaged file of an index. Its text says how to repair the index.
#[derive(Debug)]
pub struct IndexDamage {
    dir: PathBuf,
    file: PathBuf,
    why: String,
}

impl IndexDamage {
    /// Whether the index can be replaced without asking, because its directory contains nothing else.
    pub fn is_replaceable(&self) -> bool {
        is_only_index(&self.dir)
    }

    /// The note about an index that is built again because of this damage.
    pub(crate) fn note(&self) -> Event {
        Event::note(format!("rebuilding the index: {}", self.what()))
    }

    /// Names the file and the damage, without saying how to repair it.
    pub fn what(&self) -> String {
        format!(
            "{} is damaged ({})",
            self.dir.join(&self.file).display(),
            self.why
        )
    }
}

impl std::fmt::Display for IndexDamage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: delete the directory {}, and the next run builds the index again",
            self.what(),
            self.dir.display()
        )
    }
}

impl std::error::Error for IndexDamage {}

/// The error for a damaged file of an index.
pub fn damaged(dir: &Path, file: &Path, why: impl std::fmt::Display) -> Error {
    Error::new(IndexDamage {
        dir: dir.to_owned(),
        file: file.to_owned(),
        why: why.to_string(),
    })
}

/// The error for a file of an index that cannot be read. If the error is temporary, or this process has too little memory or too
/// many open files, nothing is damaged, and the index is not built again because of it.
fn unreadable(dir: &Path, file: &Path, error: &io::Error) -> Error {
    if regular::transient(error).is_some() {
        return anyhow!("cannot read {}: {error}", dir.join(file).display());
    }
    damaged(dir, file, error)
}

/// Converts an error of reading stored texts to that of [`damaged`] or [`unreadable`].
pub fn text_error(dir: &Path, file: &Path, error: &Error) -> Error {
    use tantivy::TantivyError;
    let of_disk = error.chain().find_map(|cause| {
        let of_file = match (cause.downcast_ref(), cause.downcast_ref()) {
            (Some(TantivyError::IoError(error)), _) => return Some(&**error),
            (Some(TantivyError::OpenReadError(error)), _) | (_, Some(error)) => error,
            _ => return cause.downcast_ref::<io::Error>(),
        };
        match of_file {
            OpenReadError::IoError { io_error, .. } => Some(&**io_error),
            _ => None,
        }
    });
    match of_disk.filter(|error| regular::transient(error).is_some()) {
        Some(error) => unreadable(dir, file, error),
        None => damaged(dir, file, format!("{error:#}")),
    }
}

/// Converts an error of tantivy to that of [`damaged`] or [`unreadable`], with the file's name if tantivy gives it.
pub(crate) fn index_error(dir: &Path, error: &tantivy::TantivyError) -> Error {
    use tantivy::TantivyError;
    match error {
        // only the text of the error reveals the file's name
        TantivyError::DataCorruption(_) => {
            let said = error.to_string();
            let file = if said.contains(MANAGED) { MANAGED } else { "" };
            damaged(dir, Path::new(file), said)
        }
        TantivyError::OpenReadError(error) => match error {
            OpenReadError::FileDoesNotExist(file)
            | OpenReadError::IoError { filepath: file, .. } => read_error(dir, file, error),
            OpenReadError::IncompatibleIndex(_) => read_error(dir, Path::new(""), error),
        },
        TantivyError::IoError(error) => unreadable(dir, Path::new(""), error),
        _ => damaged(dir, Path::new(""), error),
    }
}

/// Converts tantivy's error for a file to that of [`damaged`] or [`unreadable`].
fn read_error(dir: &Path, file: &Path, error: &OpenReadError) -> Error {
    match error {
        OpenReadError::FileDoesNotExist(_) => damaged(dir, file, "it is missing"),
        OpenReadError::IoError { io_error, .. } => unreadable(dir, file, io_error),
        // tantivy's own text tells the user to change the version of tantivy
        OpenReadError::IncompatibleIndex(_) => {
            damaged(dir, file, "the format version at its end is not supported")
        }
    }
}

/// How much was verified when an index was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VerifiedFiles {
    pub files: usize,
    pub bytes: u64,
    pub seconds: f64,
}

/// Compares the files of an index with their checksums: all files that affect a ranking and, with `stores`, the stored texts, too. Without
/// `stores`, each text is verified when it is read.
///
/// Errors: a file is damaged or missing; the message names it.
pub fn verify(dir: &Path, index: &Index, stores: bool) -> Result<VerifiedFiles> {
    let start = Instant::now();
    let segments = index.searchable_segment_metas();
    let segments = segments.map_err(|error| index_error(dir, &error))?;
    let mut files: Vec<PathBuf> = segments.iter().flat_map(|s| files_of(s, stores)).collect();
    let directory = index.directory();
    let faults = Path::new(FAULTS);
    if read(dir, faults, || directory.exists(faults))? {
        files.push(faults.to_owned());
    }
    let length = |file: &Path| -> Result<u64> {
        Ok(read(dir, file, || directory.open_read(file))?.len() as u64)
    };
    let bytes = files
        .par_iter()
        .map(|file| -> Result<u64> {
            if !read(dir, file, || directory.validate_checksum(file))? {
                return Err(damaged(dir, file, MISMATCH));
            }
            length(file)
        })
        .sum::<Result<u64>>()?;
    if !stores {
        // only the ends of these files are checked, because each text is verified when it is read
        for segment in &segments {
            length(&segment.relative_path(SegmentComponent::Store))?;
        }
    }
    Ok(VerifiedFiles {
        files: files.len(),
        bytes,
        seconds: start.elapsed().as_secs_f64(),
    })
}

pub(super) fn read<T>(
    dir: &Path,
    file: &Path,
    read: impl FnOnce() -> Result<T, OpenReadError>,
) -> Result<T> {
    let read = guarded(read).map_err(|why| damaged(dir, file, format!("{why:#}")))?;
    read.map_err(|error| read_error(dir, file, &error))
}

fn files_of(segment: &SegmentMeta, stores: bool) -> Vec<PathBuf> {
    let mut components = vec![
        SegmentComponent::Terms,
        SegmentComponent::Postings,
        SegmentComponent::Positions,
        SegmentComponent::FieldNorms,
        SegmentComponent::FastFields,
    ];
    components.extend(segment.has_deletes().then_some(SegmentComponent::Delete));
    components.extend(stores.then_some(SegmentComponent::Store));
    let path = |component| segment.relative_path(component);
    components.into_iter().map(path).collect()
}

/// Whether `dir` contains an index; otherwise it is empty or does not exist. Errors: it contains files that are not an index, so it must not be
/// replaced by an index.
pub fn has_index(dir: &Path) -> Result<bool> {
    let inside = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        inside => inside.with_context(|| format!("cannot list {}", dir.display()))?,
    };
    if inside.count() == 0 {
        return Ok(false);
    }
    let meta = dir.join(META);
    if regular::is_file(&meta)? {
        return Ok(true);
    }
    if is_only_index(dir) {
        return Err(damaged(dir, Path::new(META), "it is missing"));
    }
    bail!(
        "{} is not an index of riposte: it contains other files",
        dir.display()
    );
}

/// Whether `dir` contains only files of an index. If so, a damaged index is replaced without asking; otherwise other files could be lost with
/// it.
pub fn is_only_index(dir: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(dir) else {
        return false;
    };
    entries.all(|entry| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_segment = name.split_once('.').is_some_and(|(segment, _)| {
                segment.len() == 32 && segment.bytes().all(|byte| byte.is_ascii_hexdigit())
            });
            let is_known = [META, MANAGED, FAULTS].contains(&&*name)
                || name.starts_with(".tantivy-")
                || is_segment;
            is_known && entry.file_type().is_ok_and(|kind| kind.is_file())
        })
    })
}

/// Removes the index in `dir`, even a damaged one. Errors: `dir` contains something that is not an index.
pub fn remove(dir: &Path) -> Result<()> {
    let _lock = Lock::to_write(dir, &mut || ())?;
    match has_index(dir) {
        Ok(false) => return Ok(()),
        Err(error) if !error.is::<IndexDamage>() => return Err(error),
        _ => {}
    }
    ensure_only_index(dir)?;
    fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))
}

/// Checks that `dir`, which an index is about to replace, contains nothing else.
///
/// # Errors
/// It contains other files, which would be lost.
pub(crate) fn ensure_only_index(dir: &Path) -> Result<()> {
    ensure!(
        !regular::exists(dir)? || is_only_index(dir),
        "{} contains other files than those of the index, which would be lost: move them",
        dir.display()
    );
    Ok(())
}

/// The size of all files of an index, in bytes.
pub fn size(dir: &Path) -> Result<u64> {
    let entries = fs::read_dir(dir)?;
    entries.map(|entry| Ok(entry?.metadata()?.len())).sum()
}

/// The beginning of the names of temporary directories beside `dir`. Errors: `dir` has no name ("/", "..").
fn building(dir: &Path) -> Result<String> {
    let name = dir.file_name().context("an index needs a name")?;
    Ok(format!(".{}{BUILDING}", name.to_string_lossy()))
}

/// Creates a temporary directory beside `dir`, in which an index can be built. The directory is removed when the value is dropped.
pub(crate) fn build_directory(dir: &Path) -> Result<TemporaryDir> {
    fs::create_dir_all(parent(dir))?;
    Ok(TemporaryDir::with_prefix(parent(dir), &building(dir)?)?)
}

/// Removes the temporary directories that killed processes have left beside `dir`.
pub(crate) fn remove_unfinished(dir: &Path) -> Result<()> {
    remove_abandoned(parent(dir), &building(dir)?);
    Ok(())
}

/// Renames a complete index to `dir`. The earlier index is renamed first and removed at the end, so `dir` never contains a part of an index.
///
/// # Errors
/// `dir` contains other files, or cannot be renamed.
pub(crate) fn install(built: TemporaryDir, dir: &Path) -> Result<()> {
    ensure_only_index(dir)?;
    let former = build_directory(dir)?;
    match fs::rename(dir, former.path().join("former")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    built.rename(dir)?;
    // this makes the renaming durable; an error is ignored because some file systems cannot sync a directory
    let _ = File::open(parent(dir)).and_then(|parent| parent.sync_all());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_keeps_the_json_and_detects_every_flipped_bit() {
        let object = b"{\"segments\":[],\"payload\":\"x\"}\n";
        let kept = sealed(object).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&kept).is_ok());
        assert_eq!(unsealed(&kept).unwrap(), object.trim_ascii_end());
        for at in 0..kept.len() {
            for bit in 0..8 {
                let mut flipped = kept.clone();
                flipped[at] ^= 1 << bit;
                assert_eq!(unsealed(&flipped), None, "byte {at}, bit {bit}");
            }
        }
        assert_eq!(unsealed(object), None);
        assert_eq!(unsealed(b""), None);
        assert!(sealed(b"[]").is_err());
    }
}
