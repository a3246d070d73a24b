//! Removes a model: its files, what riposte has noted beside them, and the entry of an added one.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result, bail, ensure};

use super::add::UNFINISHED;
use super::{FETCHED, ModelEntry, Models, PACKED_FILE, VERIFIED, added};
use crate::disk::parent;
use crate::workspace::Lock;

/// What was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedModel {
    /// Whether the model was one that the user has added; its entry is removed, too.
    pub was_added: bool,
    /// The size of all files that were there.
    pub bytes: u64,
    /// The command that gets the model again.
    pub again: String,
    /// The model's directory, if it has other files, which stay.
    pub kept: Option<PathBuf>,
}

/// Removes a model that is installed or begun.
///
/// # Errors
/// There is no model with this name, nothing of it is there, a directory is a symbolic link, or a file cannot be removed.
pub fn remove(models: &Models, name: &str) -> Result<RemovedModel> {
    let list = added::path(models.dir());
    let unfinished = models.dir().join(format!("{name}{UNFINISHED}"));
    let Ok(entry) = models.catalogue().entry(name) else {
        // only what `riposte models add` accepts can have been begun
        let is_begun = super::check_name(name).is_ok() && is_directory(&unfinished)?;
        ensure!(
            is_begun,
            "there is no model named {name:?}: `riposte models list` lists all"
        );
        let bytes = remove_tree(&unfinished)?;
        return Ok(RemovedModel {
            was_added: true,
            bytes,
            again: "riposte models add".to_owned(),
            kept: None,
        });
    };
    let was_added = entry.added.is_some();
    let dir = models.dir().join(&entry.name);
    let is_there = is_directory(&dir)?;
    ensure!(
        is_there || was_added,
        "the model {name} is not in {}",
        models.dir().display()
    );
    let bytes = if is_there {
        remove_files(&dir, entry)?
    } else {
        0
    };
    if was_added {
        let _lock = Lock::to_write(&list, &mut || ())?;
        let mut record = added::read(models.dir())?;
        record.models.retain(|model| model.name != entry.name);
        added::write(models.dir(), &record)?;
        if is_directory(&unfinished)? {
            remove_tree(&unfinished)?;
        }
    }
    Ok(RemovedModel {
        was_added,
        bytes,
        again: entry.command_from_nothing(),
        kept: is_directory(&dir)?.then_some(dir),
    })
}

/// Whether there is a directory.
///
/// # Errors
/// A symbolic link is there, which could lead to files that are not riposte's.
fn is_directory(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => bail!(
            "{} is a symbolic link, which riposte does not follow: remove it yourself",
            path.display()
        ),
        Ok(found) => Ok(found.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Removes the files of a model, and its directories if nothing else is in them. Returns the size of the files.
fn remove_files(dir: &Path, entry: &ModelEntry) -> Result<u64> {
    let names = entry.files.iter().map(|file| file.file.as_str());
    let mut paths = Vec::new();
    for name in names.chain([FETCHED, VERIFIED]) {
        let path = dir.join(name);
        // a directory in the model's directory could be a symbolic link, too
        if parent(&path) == dir || is_directory(parent(&path))? {
            for ending in ["", ".part", ".part.toml"] {
                paths.push(dir.join(format!("{name}{ending}")));
            }
        }
    }
    for found in fs::read_dir(dir).into_iter().flatten().flatten() {
        if found.file_name().to_string_lossy().ends_with(PACKED_FILE) {
            paths.push(found.path());
        }
    }
    let mut bytes = 0;
    for path in &paths {
        bytes += remove_file(path)?;
    }
    for path in &paths {
        // a directory that still has other files is not removed
        if parent(path) != dir {
            let _ = fs::remove_dir(parent(path));
        }
    }
    let _ = fs::remove_dir(dir);
    Ok(bytes)
}

fn remove_file(path: &Path) -> Result<u64> {
    let removed = fs::symlink_metadata(path).and_then(|found| {
        fs::remove_file(path)?;
        Ok(found.len())
    });
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        removed => removed.with_context(|| format!("cannot remove {}", path.display())),
    }
}

/// Removes the directory of a download that is not finished. Returns the size of its files.
fn remove_tree(dir: &Path) -> Result<u64> {
    let removing = || format!("cannot remove {}", dir.display());
    let mut bytes = 0;
    for entry in fs::read_dir(dir).with_context(removing)? {
        bytes += entry
            .and_then(|entry| entry.metadata())
            .with_context(removing)?
            .len();
    }
    fs::remove_dir_all(dir).with_context(removing)?;
    Ok(bytes)
}
