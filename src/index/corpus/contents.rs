//! Fingerprints of text collections: hashes of the content of their files. A file is hashed again only if its size, times or inode have changed.
//!
//! The hashes are stored beside the index, each with the file's size, times and inode. One of the times is that of the inode's last change
//! (ctime), which users cannot set. Therefore an edit is noticed even if it keeps the size and restores the time of modification.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::disk::{sealed, unsealed};
use crate::collection::regular;
use crate::disk::{Stamp, hex, parent, replace, sha256_of};

/// The beginning of a fingerprint. Fingerprints of earlier versions lack it, because they are hashes of sizes and times.
pub(super) const PREFIX: &str = "sha256:";

/// The hash of a file. It is valid while the file has this stamp.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct KnownFile {
    /// [`Stamp::text`]
    stamp: String,
    bytes: u64,
    sha256: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct KnownFiles {
    files: Vec<KnownFile>,
}

/// Errors: there is no file, or it is a pipe or a device.
fn metadata_of(path: &Path) -> io::Result<Metadata> {
    regular::open(path)?.metadata()
}

/// Identifies the content of a collection: a hash over the names, sizes and contents of its files. A copy of the collection has the same
/// fingerprint. Hashes of files are stored in a file beside `index`, the directory of an index. It is not an error if they cannot be stored.
///
/// Errors: a file cannot be read.
pub(super) fn fingerprint(files: &[&Path], index: &Path) -> Result<String> {
    let record = record(files, parent(index));
    let known = read_record(&record).unwrap_or_default();
    let now = SystemTime::now();
    let hashed: Vec<(KnownFile, bool)> = files
        .par_iter()
        .map(|path| -> Result<(KnownFile, bool)> {
            let reading = || format!("cannot read {}", path.display());
            let file = regular::open(path).with_context(reading)?;
            let metadata = file.metadata().with_context(reading)?;
            let stamp = Stamp::of(&metadata).text;
            if let Some(known) = known.files.iter().find(|known| known.stamp == stamp) {
                return Ok((known.clone(), false));
            }
            let known = KnownFile {
                stamp,
                bytes: metadata.len(),
                sha256: sha256_of(file).with_context(reading)?,
            };
            Ok((known, true))
        })
        .collect::<Result<_>>()?;
    if hashed.iter().any(|(_, is_new)| *is_new) {
        // a file that was changed while it was read has another stamp now
        let is_known = |(path, known): &(&&Path, &KnownFile)| {
            metadata_of(path).is_ok_and(|metadata| {
                let stamp = Stamp::of(&metadata);
                stamp.text == known.stamp && stamp.is_settled(now)
            })
        };
        let all = files.iter().zip(hashed.iter().map(|(known, _)| known));
        let files: Vec<KnownFile> = all
            .filter(is_known)
            .map(|(_, known)| known.clone())
            .collect();
        if !files.is_empty()
            && let Ok(json) = serde_json::to_vec(&KnownFiles { files })
            && let Ok(bytes) = sealed(&json)
        {
            // without it, the next run computes the hashes again
            let _ = replace(&record, &bytes);
        }
    }
    let mut hash = Sha256::new();
    for (path, (known, _)) in files.iter().zip(&hashed) {
        hash.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        hash.update([0]);
        hash.update(known.bytes.to_le_bytes());
        hash.update(&known.sha256);
    }
    Ok(format!("{PREFIX}{}", hex(&hash.finalize())))
}

/// Removes the hashes of these files that are stored beside `index`. Errors: they cannot be removed.
pub(super) fn forget(files: &[&Path], index: &Path) -> Result<()> {
    let record = record(files, parent(index));
    match fs::remove_file(&record) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", record.display()))
        }
        _ => Ok(()),
    }
}

/// The file in `dir` with the hashes of these files.
fn record(files: &[&Path], dir: &Path) -> PathBuf {
    let mut hash = Sha256::new();
    for file in files {
        let path = file.canonicalize().unwrap_or_else(|_| (*file).to_owned());
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update([0]);
    }
    let name = hex(hash.finalize().get(..6).unwrap_or_default());
    dir.join(format!(".contents-{name}.json"))
}

/// `None` if there is no record, or a damaged one.
fn read_record(path: &Path) -> Option<KnownFiles> {
    serde_json::from_slice(&unsealed(&fs::read(path).ok()?)?).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

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
        let first = fingerprint(&[&file], &index).unwrap();
        let kept = record(&[&file], home.path());
        assert!(!kept.exists(), "the file is too young");
        sleep_until_settled(&file);
        assert_eq!(fingerprint(&[&file], &index).unwrap(), first);
        assert!(kept.is_file());
        // the second run reads the hash from the record: a wrong hash in it changes the fingerprint
        let mut known = read_record(&kept).unwrap();
        known.files[0].sha256 = "0".repeat(64);
        let json = serde_json::to_vec(&known).unwrap();
        fs::write(&kept, sealed(&json).unwrap()).unwrap();
        assert_ne!(fingerprint(&[&file], &index).unwrap(), first);
        // a damaged record is ignored
        fs::write(&kept, json).unwrap();
        assert_eq!(fingerprint(&[&file], &index).unwrap(), first);
        let copy = at("copy/args-me.json");
        fs::copy(&file, &copy).unwrap();
        assert_eq!(fingerprint(&[&copy], &index).unwrap(), first);
        // an edit in the middle of the file that keeps the size, and restores the time of modification
        let modified = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "one twe three").unwrap();
        let opened = fs::File::options().write(true).open(&file).unwrap();
        opened.set_modified(modified).unwrap();
        if cfg!(unix) {
            assert_ne!(fingerprint(&[&file], &index).unwrap(), first);
        }
        assert!(fingerprint(&[home.path()], &index).is_err());
    }
}
