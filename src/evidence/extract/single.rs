//! The evidence of one document alone, without a store: its files are a copy of those of a collection that is elsewhere.

use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result};

use super::Tools;
use super::clock::Clock;
use super::files::Policy;
use super::suspects::death;
use super::worker::Worker;
use crate::collection::images::Entry;
use crate::evidence::store::{PassedOver, Record};

/// What is stored of a document.
#[derive(Debug)]
pub enum Single {
    Evidence(Box<Record>),
    /// Another process has died in it.
    PassedOver(PassedOver),
}

/// Computes all evidence of one document or, if a process has `died` in it, says so. Faults name the document's directory as `shown`. The
/// evidence is that which [`super::extract`] stores, apart from the times of the files, which are those of a copy.
///
/// # Errors
/// A model cannot be loaded or fails.
pub fn single(entry: &Entry, shown: &Path, tools: &Tools, died: Option<&str>) -> Result<Single> {
    if let Some(how) = died {
        return Ok(Single::PassedOver(death(entry, shown, tools, how)));
    }
    let clock = Clock::default();
    let policy = Policy {
        is_read_only: false,
        rehash: true,
    };
    let (entries, known_images) = (std::slice::from_ref(entry), Mutex::default());
    // nothing is stored of the document, so no store is opened
    let store = Path::new("");
    let mut worker = Worker::new(tools, &clock, entries, store, policy, &known_images)?;
    let record = worker.alone(0, None)?;
    let mut record = record.with_context(|| format!("nothing is computed of {}", entry.id))?;
    if let Some(files) = &mut record.files {
        files.state.clear();
    }
    let (here, there) = (entry.dir.to_string_lossy(), shown.to_string_lossy());
    for fault in record.faults_mut() {
        if let Ok(inside) = fault.path.strip_prefix(&entry.dir) {
            // joining nothing would add a slash
            fault.path = if inside.as_os_str().is_empty() {
                shown.to_owned()
            } else {
                shown.join(inside)
            };
        }
        fault.what = fault.what.replace(&*here, &there);
    }
    Ok(Single::Evidence(Box::new(record)))
}
