//! Fingerprints of text collections: hashes of the content of their files. A file is hashed again only if its size, times or inode have changed.
//!
//! The hashes are in the workspace. Their keys contain the file's size, times and inode. One of the times is that of the inode's last change
//! (ctime), which users cannot set. Therefore an edit is noticed even if it keeps the size and restores the time of modification.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::disk::{Stamp, hex, regular, sha256_of};
use crate::workspace::{self, Outputs};

/// The producer of the hashes. Times and inodes are those of this machine, so merging leaves the hashes out.
const PRODUCER: &str = "machine/sha256/1";

/// Errors: there is no file, or it is a pipe or a device.
fn metadata_of(path: &Path) -> io::Result<Metadata> {
    regular::open(path)?.metadata()
}

/// The key of a file's hash, while the file has this stamp: a part for the path, and one for the stamp.
fn key(path: &Path, stamp: &Stamp) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = workspace::key(&[&path.to_string_lossy()]);
    format!("{path}-{}", workspace::key(&[&stamp.text]))
}

/// The part of a key for the path.
fn path_of(key: &str) -> &str {
    key.split_once('-').map_or(key, |(path, _)| path)
}

/// The hash of a file.
struct Hashed {
    stamp: Stamp,
    key: String,
    bytes: u64,
    sha256: String,
    is_new: bool,
}

/// The contents of a collection's files at one moment.
#[derive(Debug)]
pub(super) struct CollectionContents {
    /// A hash over the names, sizes and contents of the files. A copy of the collection has the same fingerprint.
    pub fingerprint: String,
    files: Vec<SeenFile>,
}

#[derive(Debug)]
struct SeenFile {
    path: PathBuf,
    stamp: Stamp,
    /// Whether each later change shows in the stamp.
    is_settled: bool,
    sha256: String,
}

/// The error for a file that changed while it was read.
#[derive(Debug)]
pub(super) struct Changed(pub PathBuf);

impl std::fmt::Display for Changed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.0.display();
        write!(
            f,
            "{path} changed while it was read, and again while it was read once more"
        )
    }
}

impl std::error::Error for Changed {}

impl CollectionContents {
    /// Checks that no file has changed since.
    ///
    /// # Errors
    /// [`Changed`], or a file cannot be read any more.
    pub fn ensure_unchanged(&self) -> Result<()> {
        for file in &self.files {
            let changed = || Changed(file.path.clone());
            let reading = || format!("cannot read {}", file.path.display());
            let opened = match regular::open(&file.path) {
                Err(error) if regular::transient(&error).is_some() => {
                    return Err(error).with_context(reading);
                }
                opened => opened.map_err(|_| changed())?,
            };
            let stamp = Stamp::of(&opened.metadata().with_context(reading)?);
            ensure!(stamp.text == file.stamp.text, changed());
            if !file.is_settled {
                ensure!(
                    sha256_of(opened).with_context(reading)? == file.sha256,
                    changed()
                );
            }
        }
        Ok(())
    }
}

/// Reads the contents of a collection. Hashes of files are stored in the workspace of `index`, the directory of an index. It is not an error if they cannot be stored.
///
/// Errors: a file cannot be read.
pub(super) fn read(files: &[&Path], index: &Path) -> Result<CollectionContents> {
    let mut outputs = Outputs::open_or_read(&workspace::of_index(index)).ok();
    let mut stored = |key: &str| {
        let value = outputs.as_mut()?.find(PRODUCER, key, true).ok()??;
        String::from_utf8(value).ok()
    };
    let opened = files.iter().map(|path| {
        let reading = || format!("cannot read {}", path.display());
        let file = regular::open(path).with_context(reading)?;
        let metadata = file.metadata().with_context(reading)?;
        let stamp = Stamp::of(&metadata);
        let key = key(path, &stamp);
        let sha256 = stored(&key);
        Ok((path, file, metadata.len(), stamp, key, sha256))
    });
    let opened = opened.collect::<Result<Vec<_>>>()?;
    let now = SystemTime::now();
    let hashed: Vec<Hashed> = opened
        .into_par_iter()
        .map(|(path, file, bytes, stamp, key, stored)| {
            let is_new = stored.is_none();
            let sha256 = match stored {
                Some(sha256) => sha256,
                None => {
                    sha256_of(file).with_context(|| format!("cannot read {}", path.display()))?
                }
            };
            Ok(Hashed {
                stamp,
                key,
                bytes,
                sha256,
                is_new,
            })
        })
        .collect::<Result<_>>()?;
    if hashed.iter().any(|hashed| hashed.is_new)
        && let Some(outputs) = &mut outputs
    {
        // a file that was changed while it was read has another stamp now
        let is_settled = |(path, hashed): &(&&Path, &Hashed)| {
            metadata_of(path).is_ok_and(|metadata| {
                let stamp = Stamp::of(&metadata);
                key(path, &stamp) == hashed.key && stamp.is_settled(now)
            })
        };
        let settled = files.iter().zip(&hashed).filter(is_settled);
        let rows: Vec<(&str, &str)> = settled
            .map(|(_, hashed)| (hashed.key.as_str(), hashed.sha256.as_str()))
            .collect();
        // collections can share a workspace, so only what was known of these files goes
        let is_needed = |key: &str| {
            rows.iter().any(|(known, _)| *known == key)
                || !hashed
                    .iter()
                    .any(|hashed| path_of(&hashed.key) == path_of(key))
        };
        // errors are ignored, because the next run then computes the hashes again
        let _ = outputs
            .keep_only(PRODUCER, is_needed)
            .and_then(|()| outputs.put(PRODUCER, "", &rows));
    }
    let mut hash = Sha256::new();
    for (path, hashed) in files.iter().zip(&hashed) {
        hash.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        hash.update([0]);
        hash.update(hashed.bytes.to_le_bytes());
        hash.update(&hashed.sha256);
    }
    let seen = files.iter().zip(hashed).map(|(path, hashed)| SeenFile {
        path: path.to_path_buf(),
        is_settled: hashed.stamp.is_settled(now),
        stamp: hashed.stamp,
        sha256: hashed.sha256,
    });
    Ok(CollectionContents {
        fingerprint: format!("sha256:{}", hex(&hash.finalize())),
        files: seen.collect(),
    })
}

/// Removes the hashes of files from a workspace. The next opening of an index reads the whole collection, even if no file has changed.
///
/// # Errors
/// The hashes cannot be removed.
pub fn forget_hashes(workspace: &Path) -> Result<()> {
    Outputs::open_or_read(workspace)?.keep_only(PRODUCER, |_| false)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    fn print(files: &[&Path], index: &Path) -> Result<String> {
        Ok(read(files, index)?.fingerprint)
    }

    fn sleep_until_settled(path: &Path) {
        while !Stamp::of(&metadata_of(path).unwrap()).is_settled(SystemTime::now()) {
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    #[test]
    fn hashes_are_kept_until_a_file_changes_and_a_copy_has_the_same_fingerprint() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir(at("copy")).unwrap();
        let (file, index) = (at("args-me.json"), at("x.index"));
        fs::write(&file, "one two three").unwrap();
        let first = print(&[&file], &index).unwrap();
        let stamp = || Stamp::of(&metadata_of(&file).unwrap());
        let kept = |key: &str| {
            let mut outputs = Outputs::open(&workspace::of_index(&index)).unwrap();
            outputs.find(PRODUCER, key, true).unwrap()
        };
        assert_eq!(kept(&key(&file, &stamp())), None, "the file is too young");
        sleep_until_settled(&file);
        assert_eq!(print(&[&file], &index).unwrap(), first);
        assert!(kept(&key(&file, &stamp())).is_some());
        // the second run reads the stored hash: a wrong one changes the fingerprint
        let mut outputs = Outputs::open(&workspace::of_index(&index)).unwrap();
        let wrong = [(key(&file, &stamp()), "0".repeat(64))];
        outputs.put(PRODUCER, "", &wrong).unwrap();
        assert_ne!(print(&[&file], &index).unwrap(), first);
        forget_hashes(&workspace::of_index(&index)).unwrap();
        assert_eq!(print(&[&file], &index).unwrap(), first);
        let copy = at("copy/args-me.json");
        fs::copy(&file, &copy).unwrap();
        assert_eq!(print(&[&copy], &index).unwrap(), first);
        let other = "hashes of another collection in the same workspace stay";
        assert!(kept(&key(&file, &stamp())).is_some(), "{other}");
        // an edit in the middle of the file that keeps the size, and restores the time of modification
        let modified = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "one twe three").unwrap();
        let opened = fs::File::options().write(true).open(&file).unwrap();
        opened.set_modified(modified).unwrap();
        if cfg!(unix) {
            assert_ne!(print(&[&file], &index).unwrap(), first);
        }
        assert!(print(&[home.path()], &index).is_err());
    }
}
