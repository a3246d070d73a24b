//! A collection that is served: open, being opened, or damaged. One that has changed on disk is opened again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::Result;
use riposte_serve::Refusal;

use super::opened::OpenedCollection;
use super::watch::DirectoryStamp;
use crate::events::OnEvent;
use crate::session::CollectionSource;

pub(super) struct Served {
    /// The name that requests have.
    pub name: String,
    source: CollectionSource,
    state: RwLock<CollectionState>,
    /// Grows with each change of the state.
    version: AtomicU64,
}

/// Whether a collection can be asked.
#[derive(Clone)]
pub(super) enum CollectionState {
    Building,
    Ready(Arc<OpenedCollection>),
    /// It could not be opened.
    Damaged,
}

impl Served {
    pub fn new(name: String, source: CollectionSource) -> Served {
        Served {
            name,
            source,
            state: RwLock::new(CollectionState::Building),
            version: AtomicU64::new(1),
        }
    }

    pub fn dir(&self) -> &Path {
        &self.source.input
    }

    pub fn state(&self) -> CollectionState {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.clone()
    }

    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn set(&self, state: CollectionState) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The open collection.
    ///
    /// # Errors
    /// It cannot be asked at the moment.
    pub fn ready(&self) -> Result<Arc<OpenedCollection>, Refusal> {
        let reason = match self.state() {
            CollectionState::Ready(opened) => return Ok(opened),
            CollectionState::Building => format!("the collection {:?} is being opened", self.name),
            CollectionState::Damaged => {
                format!(
                    "the collection {:?} cannot be read; the server's log says why",
                    self.name
                )
            }
        };
        Err(Refusal::Unavailable {
            reason,
            retry_after: crate::limits::TRY_AGAIN,
        })
    }

    /// Opens the collection, or opens it again after a change. What was open before answers until then.
    ///
    /// # Errors
    /// It cannot be opened. Nothing is open then.
    pub fn open(&self, stop: &AtomicBool, on_event: &mut OnEvent) -> Result<()> {
        match OpenedCollection::open(&self.source, stop, on_event) {
            Ok(opened) => {
                self.set(CollectionState::Ready(Arc::new(opened)));
                Ok(())
            }
            Err(error) => {
                self.set(CollectionState::Damaged);
                Err(error)
            }
        }
    }

    /// What its files look like at the moment.
    pub fn stamp(&self) -> DirectoryStamp {
        DirectoryStamp::of(self.dir())
    }
}

/// Names for collections: those of their directories, with numbers where two are the same.
pub(super) fn distinct(dirs: &[PathBuf]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for dir in dirs {
        let last = dir.file_name().unwrap_or_default().to_string_lossy();
        let letters = |c: char| {
            if c.is_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '-'
            }
        };
        let mut base: String = last.chars().map(letters).collect();
        if base.is_empty() {
            base.push_str("collection");
        }
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let mut candidates = std::iter::once(base.clone()).chain(numbered);
        names.extend(candidates.find(|name| !names.contains(name)));
    }
    names
}
