//! The explanations of a run, from the ranking of each topic until they are written.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use riposte_eval::explained;
use serde::Serialize;

use crate::disk;
use crate::events::{Event, OnEvent};
use crate::limits::MAX_EXPLANATION_BYTES;

/// Where the explanations are kept until the run is finished.
#[derive(Clone, Debug, Default)]
pub enum KeepExplanations {
    #[default]
    InMemory,
    /// Nobody asked for them.
    Nowhere,
    /// In a temporary file in this directory. It has no name, so nothing is left of it when the process ends.
    InFile(PathBuf),
}

/// The explanations of a run. As a slice, it contains those that are in memory.
#[derive(Debug)]
pub struct Explanations<E>(Kept<E>);

#[derive(Debug)]
enum Kept<E> {
    InMemory(Vec<E>),
    Nowhere,
    InFile(Spool),
}

/// A temporary file with JSON lines.
#[derive(Debug)]
struct Spool {
    file: File,
    dir: PathBuf,
    bytes: u64,
}

impl<E> Default for Explanations<E> {
    fn default() -> Self {
        Explanations(Kept::InMemory(Vec::new()))
    }
}

impl<E> Deref for Explanations<E> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        match &self.0 {
            Kept::InMemory(list) => list,
            Kept::Nowhere | Kept::InFile(_) => &[],
        }
    }
}

impl<E> Explanations<E> {
    /// No explanations yet.
    ///
    /// # Errors
    /// No temporary file can be created.
    pub(crate) fn new(keep: &KeepExplanations) -> Result<Self> {
        Ok(Explanations(match keep {
            KeepExplanations::InMemory => Kept::InMemory(Vec::new()),
            KeepExplanations::Nowhere => Kept::Nowhere,
            KeepExplanations::InFile(dir) => Kept::InFile(Spool {
                file: tempfile::tempfile_in(dir).with_context(|| writing(dir))?,
                dir: dir.clone(),
                bytes: 0,
            }),
        }))
    }

    /// Those that are in memory.
    pub(crate) fn into_list(self) -> Vec<E> {
        match self.0 {
            Kept::InMemory(list) => list,
            Kept::Nowhere | Kept::InFile(_) => Vec::new(),
        }
    }

    /// Notes if no report can show them, because their file is too long to be read.
    pub(crate) fn note_length(&self, on_event: &mut OnEvent) {
        if let Kept::InFile(Spool { bytes, .. }) = &self.0
            && *bytes > MAX_EXPLANATION_BYTES
        {
            on_event(Event::note(format!(
                "the explanations have {} MiB, more than `riposte inspect` reads ({} MiB): for a report, rank fewer topics at a time",
                bytes >> 20,
                MAX_EXPLANATION_BYTES >> 20
            )));
        }
    }
}

impl<E: Serialize> Explanations<E> {
    /// Adds the explanations of a topic.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    pub(crate) fn add(&mut self, explained: impl IntoIterator<Item = E>) -> Result<()> {
        match &mut self.0 {
            Kept::InMemory(list) => list.extend(explained),
            Kept::Nowhere => {}
            Kept::InFile(Spool { file, dir, bytes }) => {
                let of_topic: Vec<E> = explained.into_iter().collect();
                let lines = explained::write(&of_topic)?;
                file.write_all(&lines).with_context(|| writing(dir))?;
                *bytes += lines.len() as u64;
            }
        }
        Ok(())
    }

    /// Writes the file of explanations: a JSON object in each line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let lines = explained::write(self)?;
        let written = disk::replace_with(path, |out| {
            out.write_all(&lines)?;
            if let Kept::InFile(Spool { file, .. }) = &self.0 {
                let mut file: &File = file;
                file.rewind()?;
                io::copy(&mut file, out)?;
            }
            Ok(())
        });
        written.with_context(|| format!("cannot write {}", path.display()))
    }
}

fn writing(dir: &Path) -> String {
    format!("cannot write a temporary file in {}", dir.display())
}
