//! An index on disk: its directory, the checksums of its files, who may write it, and how a new one takes the place of an old one.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Error, Result, anyhow, bail};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock as TantivyLock, MmapDirectory, WatchCallback,
    WatchHandle, WritePtr,
};
use tantivy::index::{SegmentComponent, SegmentMeta};
use tantivy::{HasLen, Index};

/// What describes the index: its segments, its fields and, as tantivy's payload, [`super::Meta`].
pub const META: &str = "meta.json";

/// What described an index of riposte 0.1 before tantivy kept it.
const META_BEFORE: &str = "riposte.json";

/// What a directory has in its name while an index is built in it.
const BUILDING: &str = ".building-";

/// Between the content of meta.json and its checksum, and behind it. The whole stays a JSON object.
const SEAL: &str = ",\"checksum\":\"";
const SEAL_END: &str = "\"}\n";

/// tantivy's directory of mapped files, with a checksum for meta.json, which tantivy's footers do not cover.
#[derive(Clone, Debug)]
pub struct SealedDirectory(MmapDirectory);

impl SealedDirectory {
    /// Errors: there is no such directory.
    pub fn open(dir: &Path) -> Result<Self> {
        Ok(SealedDirectory(MmapDirectory::open(dir)?))
    }
}

/// Hex digits of a SHA-256, half of them: it guards against damage, not against forgery.
fn digest(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest[..16].iter().map(|b| format!("{b:02x}")).collect()
}

/// The JSON object with its checksum as its last member.
fn sealed(object: &[u8]) -> io::Result<Vec<u8>> {
    let end = object.iter().rposition(|byte| *byte == b'}');
    let content = end.and_then(|end| object.get(..end));
    let content = content.ok_or_else(|| io::Error::other("not a JSON object"))?;
    let seal = format!("{SEAL}{}{SEAL_END}", digest(content));
    Ok([content, seal.as_bytes()].concat())
}

/// The JSON object without its checksum; none if that is missing or wrong.
fn unsealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let rest = bytes.strip_suffix(SEAL_END.as_bytes())?;
    let (rest, found) = rest.split_at_checked(rest.len().checked_sub(32)?)?;
    let content = rest.strip_suffix(SEAL.as_bytes())?;
    (digest(content).as_bytes() == found).then(|| [content, b"}"].concat())
}

impl Directory for SealedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.0.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.0.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.0.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.0.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let bytes = self.0.atomic_read(path)?;
        if path != Path::new(META) {
            return Ok(bytes);
        }
        unsealed(&bytes).ok_or_else(|| {
            let error = io::Error::new(io::ErrorKind::InvalidData, MISMATCH);
            OpenReadError::wrap_io_error(error, path.to_owned())
        })
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        match path == Path::new(META) {
            true => self.0.atomic_write(path, &sealed(data)?),
            false => self.0.atomic_write(path, data),
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.0.sync_directory()
    }

    fn acquire_lock(&self, lock: &TantivyLock) -> Result<DirectoryLock, LockError> {
        self.0.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.0.watch(callback)
    }
}

const MISMATCH: &str = "its checksum does not match";

/// What an error says of a damaged file of an index, and how to mend it.
pub fn damaged(dir: &Path, file: &Path, why: impl std::fmt::Display) -> Error {
    anyhow!(
        "{} is damaged ({why}): delete the directory {}, and the next run builds the index anew",
        dir.join(file).display(),
        dir.display()
    )
}

/// tantivy's error as [`damaged`] says it, with the file where tantivy names it.
pub fn broken(dir: &Path, error: &tantivy::TantivyError) -> Error {
    use tantivy::TantivyError;
    match error {
        TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(path)) => {
            damaged(dir, path, "it is missing")
        }
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, filepath }) => {
            damaged(dir, filepath, io_error)
        }
        _ => damaged(dir, Path::new(""), error),
    }
}

/// What was verified of an index when it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Verified {
    pub files: usize,
    pub bytes: u64,
    pub seconds: f64,
}

/// Holds the files of an index against their checksums: all that decide a ranking, and with `stores` the stored texts too, which
/// otherwise are checked one by one as they are read.
///
/// Errors: a file is damaged or missing; the message names it.
pub fn verify(dir: &Path, index: &Index, stores: bool) -> Result<Verified> {
    let start = Instant::now();
    let segments = index.searchable_segment_metas();
    let segments = segments.map_err(|error| broken(dir, &error))?;
    let files: Vec<PathBuf> = segments.iter().flat_map(|s| files_of(s, stores)).collect();
    let bytes = files
        .par_iter()
        .map(|file| -> Result<u64> {
            let directory = index.directory();
            let open = |error: OpenReadError| broken(dir, &error.into());
            match directory.validate_checksum(file).map_err(open)? {
                true => Ok(directory.open_read(file).map_err(open)?.len() as u64),
                false => Err(damaged(dir, file, MISMATCH)),
            }
        })
        .sum::<Result<u64>>()?;
    Ok(Verified {
        files: files.len(),
        bytes,
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn files_of(segment: &SegmentMeta, stores: bool) -> Vec<PathBuf> {
    let mut components = vec![
        SegmentComponent::Terms,
        SegmentComponent::Postings,
        SegmentComponent::Positions,
        SegmentComponent::FieldNorms,
        SegmentComponent::FastFields,
    ];
    if segment.has_deletes() {
        components.push(SegmentComponent::Delete);
    }
    if stores {
        components.push(SegmentComponent::Store);
    }
    let paths = components.into_iter();
    paths
        .map(|component| segment.relative_path(component))
        .collect()
}

/// What is in the place of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Empty,
    Index,
    /// An index as riposte kept it before tantivy did.
    Before,
}

/// What is in `dir`. Errors: something that is no index.
pub fn look(dir: &Path) -> Result<Place> {
    let inside = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Place::Empty),
        inside => inside.with_context(|| format!("cannot list {}", dir.display()))?,
    };
    if inside.count() == 0 {
        return Ok(Place::Empty);
    }
    match (dir.join(META).is_file(), dir.join(META_BEFORE).is_file()) {
        (true, _) => Ok(Place::Index),
        (false, true) => Ok(Place::Before),
        (false, false) => bail!(
            "{} is not an index of riposte: there is something else in it",
            dir.display()
        ),
    }
}

/// Removes the index in `dir`, whatever state it is in. Errors: something else is in `dir`.
pub fn remove(dir: &Path) -> Result<()> {
    let _lock = Lock::to_write(dir, &mut || ())?;
    match look(dir)? {
        Place::Empty => Ok(()),
        Place::Index | Place::Before => {
            fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))
        }
    }
}

/// The bytes of all files of an index.
pub fn size(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// The right to read an index, shared with other readers, or to write it, alone. It lasts until this is dropped.
pub struct Lock {
    _file: Option<File>,
}

impl Lock {
    /// The right to read; `waiting` is called if someone writes, and what follows waits for that. Where nothing can be locked,
    /// on a disk that cannot be written for one, there is nobody to wait for.
    pub fn to_read(dir: &Path, waiting: &mut dyn FnMut()) -> Result<Self> {
        Self::take(dir, File::try_lock_shared, File::lock_shared, waiting)
    }

    /// The right to write.
    pub fn to_write(dir: &Path, waiting: &mut dyn FnMut()) -> Result<Self> {
        Self::take(dir, File::try_lock, File::lock, waiting)
    }

    fn take(
        dir: &Path,
        try_lock: fn(&File) -> Result<(), TryLockError>,
        lock: fn(&File) -> io::Result<()>,
        waiting: &mut dyn FnMut(),
    ) -> Result<Self> {
        place(dir)?;
        let Some(file) = lock_file(dir) else {
            return Ok(Lock { _file: None });
        };
        let locked = match try_lock(&file) {
            Err(TryLockError::WouldBlock) => {
                waiting();
                lock(&file).is_ok()
            }
            Err(TryLockError::Error(_)) => false,
            Ok(()) => true,
        };
        Ok(Lock {
            _file: locked.then_some(file),
        })
    }
}

fn place(dir: &Path) -> Result<(&Path, String)> {
    let name = dir.file_name().context("an index needs a name")?;
    let parent = match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    Ok((parent, name.to_string_lossy().into_owned()))
}

/// A directory beside `dir` to build an index in.
pub fn building_site(dir: &Path) -> Result<tempfile::TempDir> {
    let (parent, name) = place(dir)?;
    fs::create_dir_all(parent)?;
    let mut builder = tempfile::Builder::new();
    Ok(builder
        .prefix(&format!(".{name}{BUILDING}"))
        .tempdir_in(parent)?)
}

/// What killed builders have left beside `dir`.
fn left_behind(dir: &Path) -> Vec<PathBuf> {
    let Ok((parent, name)) = place(dir) else {
        return Vec::new();
    };
    let prefix = format!(".{name}{BUILDING}");
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect()
}

/// Removes what killed builders have left beside `dir`, unless somebody may be at work there. What cannot be removed is in nobody's
/// way.
pub fn sweep(dir: &Path) {
    if left_behind(dir).is_empty() {
        return;
    }
    let lock = lock_file(dir).filter(|file| file.try_lock().is_ok());
    if lock.is_some() {
        for path in left_behind(dir) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// The file whose lock stands for the index; none where it cannot be opened.
fn lock_file(dir: &Path) -> Option<File> {
    let (parent, name) = place(dir).ok()?;
    fs::create_dir_all(parent).ok()?;
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    options.open(parent.join(format!(".{name}.lock"))).ok()
}

/// Puts what was built into its place. The former index moves away in one step and is removed afterwards, so that at no moment
/// half an index is there.
pub fn put_in_place(built: tempfile::TempDir, dir: &Path) -> Result<()> {
    let (parent, _) = place(dir)?;
    let former = building_site(dir)?;
    match fs::rename(dir, former.path().join("former")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    fs::rename(built.path(), dir)?;
    // it is at home now: nothing to remove
    let _ = built.keep();
    // not every file system can do it for a directory
    let _ = File::open(parent).and_then(|parent| parent.sync_all());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_keeps_the_object_and_tells_every_flipped_bit() {
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
