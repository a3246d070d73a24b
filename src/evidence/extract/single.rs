//! Computes the evidence of one document without a store. The document's files are a copy; the collection itself is elsewhere.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};

use super::Extractors;
use super::files::Policy;
use super::suspects::death;
use super::worker::Worker;
use crate::collection::images::ImageFolder;
use crate::evidence::channel::NewEvidence;
use crate::evidence::clock::Clock;
use crate::evidence::store::{PassedOver, StoreFile};

/// What a store would contain about the document.
pub enum SingleResult {
    Evidence(Box<NewEvidence>),
    /// A process has died while it computed the document.
    PassedOver(PassedOver),
}

/// Computes all evidence of one document. If a process has `died` in it, the result says so instead. Faults name the document's directory as `shown`.
/// The evidence is the same as [`super::extract`] stores, except that the times of the files are left out, because they are those of the copy.
///
/// # Errors
/// A model cannot be loaded or fails.
pub fn single(
    entry: &ImageFolder,
    shown: &Path,
    tools: &Extractors,
    died: Option<&str>,
) -> Result<SingleResult> {
    if let Some(how) = died {
        return Ok(SingleResult::PassedOver(death(entry, shown, tools, how)));
    }
    let clock = Clock::default();
    let policy = Policy {
        is_read_only: false,
        rehash: true,
    };
    let (entries, known_images) = (std::slice::from_ref(entry), Mutex::default());
    // the document has no stored evidence, so the store is never opened
    let place = StoreFile::new(PathBuf::new(), tools.channels);
    let worker = Worker::new(tools, &clock, entries, &place, policy, &known_images, None)?;
    let record = worker.alone(0, None)?;
    let mut record = record.with_context(|| format!("nothing was computed for {}", entry.id))?;
    if let Some(files) = &mut record.files {
        files.state.clear();
    }
    let (here, there) = (entry.dir.to_string_lossy(), shown.to_string_lossy());
    let faults = record.made.values_mut().flat_map(|made| &mut made.faults);
    for fault in faults {
        if let Ok(inside) = fault.path.strip_prefix(&entry.dir) {
            // joining an empty path would add a slash
            fault.path = if inside.as_os_str().is_empty() {
                shown.to_owned()
            } else {
                shown.join(inside)
            };
        }
        fault.what = fault.what.replace(&*here, &there);
    }
    Ok(SingleResult::Evidence(Box::new(record)))
}
