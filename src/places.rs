//! Where riposte stores what it computes about a collection.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::directories::cache_directory;
use crate::events::{Event, OnEvent};
use crate::{disk, workspace};

/// The places that the user has chosen. What has no chosen place is stored in the cache directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// The evidence store of an image collection, an SQLite file.
    pub evidence: Option<PathBuf>,
    /// A directory for the indexes of a text collection and for model outputs.
    pub index: Option<PathBuf>,
    /// The cache directory; `None` for riposte's in the user's cache directory.
    pub cache: Option<PathBuf>,
}

impl Places {
    /// The evidence store of a collection.
    ///
    /// # Errors
    /// The collection does not exist, or no directory can be written.
    pub fn evidence(&self, collection: &Path, on_event: &mut OnEvent) -> Result<PathBuf> {
        match &self.evidence {
            Some(file) => Ok(file.clone()),
            None => self.default_store(collection, "--evidence", on_event),
        }
    }

    /// The workspace of a text collection.
    ///
    /// # Errors
    /// As for [`Places::evidence`].
    pub fn texts(&self, collection: &Path, on_event: &mut OnEvent) -> Result<PathBuf> {
        let Some(dir) = &self.index else {
            return self.default_store(collection, "--index", on_event);
        };
        fs::create_dir_all(dir)
            .with_context(|| format!("cannot create the directory {}", dir.display()))?;
        Ok(dir.join(workspace::FILE))
    }

    /// The workspace of a collection. Its name depends on the path of the collection. It is in the cache directory or, if that cannot be written (in a
    /// sandbox), in a private directory for temporary files. Messages tell the user to choose another place with `option`. Until the process ends,
    /// `riposte cache clear` removes nothing of this collection.
    fn default_store(
        &self,
        collection: &Path,
        option: &str,
        on_event: &mut OnEvent,
    ) -> Result<PathBuf> {
        let path = collection
            .canonicalize()
            .with_context(|| format!("cannot find {}", collection.display()))?;
        let dir = writable_cache(self.cache.as_deref(), option, on_event)?;
        workspace::place::workspace(&dir, &path)
    }

    /// The directory in the cache for what is made of the folder at this path, which must be free of symbolic links.
    ///
    /// # Errors
    /// No directory can be written.
    pub(crate) fn workspace_of(&self, folder: &Path, on_event: &mut OnEvent) -> Result<PathBuf> {
        let dir = writable_cache(self.cache.as_deref(), "--cache", on_event)?;
        let workspace = workspace::place::workspace(&dir, folder)?;
        Ok(disk::parent(&workspace).to_owned())
    }
}

/// The cache directory, or another directory if that cannot be written.
fn writable_cache(chosen: Option<&Path>, option: &str, on_event: &mut OnEvent) -> Result<PathBuf> {
    let is_writable =
        |dir: &Path| fs::create_dir_all(dir).is_ok() && tempfile::tempfile_in(dir).is_ok();
    match cache_directory(chosen) {
        Some(dir) if is_writable(&dir) => return Ok(dir),
        // the user has chosen this directory, so no other is used
        Some(dir) if chosen.is_some() => bail!(
            "the cache directory {} cannot be written (--cache, RIPOSTE_CACHE or riposte.toml names it)",
            dir.display()
        ),
        _ => {}
    }
    let temporary = disk::private_directory(&std::env::temp_dir(), "riposte").with_context(|| {
        format!("the cache directory cannot be written, and nothing can take its place: choose another place with {option}")
    })?;
    on_event(Event::note(format!(
        "the cache directory cannot be written; using {}, which may be deleted ({option} chooses another place)",
        temporary.display()
    )));
    Ok(temporary)
}
