//! Groups of documents whose images are embedded together and whose evidence is written together.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use super::{Extractors, GROUP};
use crate::collection::Fault;
use crate::collection::images::FileState;
use crate::evidence::channel::{NewEvidence, WaitingDocument};
use crate::evidence::clock::Clock;

/// SHA-256 of the bytes of an image file, or of the pixels in it.
pub(super) type Digest = [u8; 32];

/// The result for a document.
#[derive(Default)]
pub(super) struct DocumentResult {
    pub(super) index: usize,
    /// The new evidence; `None` if nothing was missing.
    pub(super) record: Option<NewEvidence>,
    /// The faults because of which nothing is stored now: files that could not be read because of a temporary error.
    pub(super) transient: Vec<Fault>,
    /// The files, if they are to be recorded without new evidence.
    pub(super) files: Option<FileState>,
    /// The digests of the image, of its bytes and of its pixels; empty if it was not read, or if it has faults, which belong only to this document.
    pub(super) digests: Vec<Digest>,
    /// Whether the evidence of its picture was copied from another document.
    pub(super) is_copied: bool,
    /// What the channels need that are completed for the whole group, by channel.
    pub(super) waiting: BTreeMap<&'static str, Box<dyn Any + Send>>,
    /// The producers of the document's channels after the record is written.
    pub(super) producers: BTreeMap<&'static str, String>,
}

impl DocumentResult {
    /// The result for a document of which nothing is stored now.
    pub(super) fn left_out(index: usize, transient: Vec<Fault>) -> Self {
        DocumentResult {
            index,
            transient,
            ..DocumentResult::default()
        }
    }
}

/// The groups of which some documents are done, but not all.
pub(super) struct Groups {
    /// The number of documents in all groups.
    pub(super) documents: usize,
    pub(super) open: Mutex<BTreeMap<usize, Vec<DocumentResult>>>,
}

impl Groups {
    /// Adds a document to its group. Returns the group if it is complete now.
    pub(super) fn add(&self, outcome: DocumentResult) -> Option<Vec<DocumentResult>> {
        let group = outcome.index / GROUP;
        let size = GROUP.min(self.documents - group * GROUP);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let members = open.entry(group).or_default();
        members.push(outcome);
        if members.len() < size {
            return None;
        }
        let mut members = open.remove(&group)?;
        members.sort_by_key(|member| member.index);
        Some(members)
    }
}

/// Completes the channels that are computed for the documents of a group together.
pub(super) fn complete(
    members: &mut [DocumentResult],
    tools: &Extractors,
    clock: &Clock,
) -> Result<()> {
    for channel in tools.channels {
        let waiting = members.iter_mut().filter_map(|member| {
            let input = member.waiting.remove(channel.name())?;
            let record = member.record.as_mut()?;
            Some(WaitingDocument { input, record })
        });
        let waiting: Vec<WaitingDocument> = waiting.collect();
        if let Some(extractor) = tools.extractor(channel.name())
            && !waiting.is_empty()
        {
            clock.time(channel.stage(), || extractor.complete(waiting))?;
        }
    }
    Ok(())
}
