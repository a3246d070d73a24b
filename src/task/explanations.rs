//! The explanations of a run, from the ranking of each topic until they are written.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use riposte_eval::explained;
use serde::Serialize;

use crate::disk;

/// Maximum length of a file of explanations that is read, after decompression. A candidate has about 5 kB, so this is enough for a thousand topics.
pub(crate) const MAX_EXPLANATION_BYTES: u64 = 512 << 20;

/// Where the explanations are kept until the run is finished.
#[derive(Clone, Debug, Default)]
pub enum Keep {
    #[default]
    InMemory,
    /// Nobody asked for them.
    Nowhere,
    /// In a temporary file in this directory. It has no name, so nothing is left of it when the process ends.
    InFile(PathBuf),
}

/// The explanations of a run. As a slice, it contains those that are in memory.
#[derive(Debug)]
pub struct Explanations<E> {
    list: Vec<E>,
    keep: Keep,
    /// JSON lines, if the explanations are not in memory.
    file: Option<File>,
    bytes: u64,
}

impl<E> Default for Explanations<E> {
    fn default() -> Self {
        Explanations {
            list: Vec::new(),
            keep: Keep::InMemory,
            file: None,
            bytes: 0,
        }
    }
}

impl<E> Deref for Explanations<E> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        &self.list
    }
}

impl<E> Explanations<E> {
    /// None yet.
    ///
    /// # Errors
    /// No temporary file can be created.
    pub(crate) fn new(keep: &Keep) -> Result<Self> {
        let file = match keep {
            Keep::InFile(dir) => Some(tempfile::tempfile_in(dir).with_context(|| writing(dir))?),
            Keep::InMemory | Keep::Nowhere => None,
        };
        Ok(Explanations {
            keep: keep.clone(),
            file,
            ..Explanations::default()
        })
    }

    /// Those that are in memory.
    #[cfg(feature = "full")]
    pub(crate) fn into_list(self) -> Vec<E> {
        self.list
    }
}

impl<E: Serialize> Explanations<E> {
    /// Adds the explanations of a topic.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    pub(crate) fn add(&mut self, explained: impl IntoIterator<Item = E>) -> Result<()> {
        match (&self.keep, &mut self.file) {
            (Keep::InFile(dir), Some(file)) => {
                let of_topic: Vec<E> = explained.into_iter().collect();
                let lines = explained::write(&of_topic)?;
                file.write_all(&lines).with_context(|| writing(dir))?;
                self.bytes += lines.len() as u64;
            }
            (Keep::Nowhere, _) => {}
            _ => self.list.extend(explained),
        }
        Ok(())
    }

    /// Writes the file of explanations: a JSON object in each line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let lines = explained::write(&self.list)?;
        let written = disk::replace_with(path, |out| match &self.file {
            Some(file) => {
                let mut file: &File = file;
                file.rewind()?;
                io::copy(&mut file, out).map(|_| ())
            }
            None => out.write_all(&lines),
        });
        written.with_context(|| format!("cannot write {}", path.display()))
    }

    /// A note for the user if no report can show them, because the file is too long to be read.
    pub(crate) fn note_on_length(&self) -> Option<String> {
        (self.bytes > MAX_EXPLANATION_BYTES).then(|| {
            format!(
                "the explanations have {} MiB, more than `riposte inspect` reads ({} MiB): for a report, rank fewer topics at a time",
                self.bytes >> 20,
                MAX_EXPLANATION_BYTES >> 20
            )
        })
    }
}

fn writing(dir: &Path) -> String {
    format!("cannot write a temporary file in {}", dir.display())
}
