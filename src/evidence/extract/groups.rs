//! Groups of documents whose images are embedded together and whose evidence is written together.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use super::{GROUP, Tools};
use crate::collection::images::FileState;
use crate::evidence::Channel;
use crate::evidence::clip::Pixels;
use crate::evidence::store::Backend;
use crate::evidence::store::{ChannelOutput, Record};

/// SHA-256 of the bytes of an image file.
pub(super) type Digest = [u8; 32];

/// The result for a document.
pub(super) struct DocumentResult {
    pub(super) index: usize,
    /// The new evidence; `None` if nothing was missing.
    pub(super) record: Option<Record>,
    /// The files, if they are to be recorded without new evidence.
    pub(super) files: Option<FileState>,
    /// The digest of the image; `None` if it was not read, or if it has faults, which belong only to this document.
    pub(super) digest: Option<Digest>,
    /// The preprocessed image, if CLIP has to embed it.
    pub(super) pixels: Option<Pixels>,
    pub(super) clip_producer: Option<String>,
    /// The producers of the document's channels after the record is written.
    pub(super) producers: BTreeMap<Channel, String>,
}

impl DocumentResult {
    /// The result for a document of which nothing was computed.
    pub(super) fn nothing(index: usize) -> Self {
        DocumentResult {
            index,
            record: None,
            files: None,
            digest: None,
            pixels: None,
            clip_producer: None,
            producers: BTreeMap::new(),
        }
    }
}

/// The groups of which some documents are done, but not all.
pub(super) struct Groups {
    documents: usize,
    open: Mutex<BTreeMap<usize, Vec<DocumentResult>>>,
}

impl Groups {
    pub(super) fn new(documents: usize) -> Self {
        Groups {
            documents,
            open: Mutex::default(),
        }
    }

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

/// Embeds the group's images with CLIP, in one batch.
pub(super) fn embed_group(members: &mut [DocumentResult], tools: &Tools) -> Result<()> {
    let Some(clip) = &tools.clip else {
        return Ok(());
    };
    let mut owners = Vec::new();
    let mut batch = Vec::new();
    for (at, member) in members.iter_mut().enumerate() {
        if let Some(pixels) = member.pixels.take() {
            owners.push(at);
            batch.push(pixels);
        }
    }
    let vectors = if batch.is_empty() {
        Vec::new()
    } else {
        clip.get()?
            .embed_images(&batch)
            .context("CLIP failed on a batch of images")?
    };
    let mut vectors = vectors.into_iter();
    for (at, member) in members.iter_mut().enumerate() {
        if let (Some(producer), Some(record)) = (member.clip_producer.take(), &mut member.record) {
            let vector = if owners.contains(&at) {
                vectors.next()
            } else {
                None
            };
            if vector.is_some()
                && let Some(clip) = clip.loaded()
            {
                let backend = Backend::of_transformer(clip.numeric());
                record.backends.insert(Channel::Clip, backend);
            }
            record.clip = Some(ChannelOutput {
                producer,
                value: vector,
                faults: Vec::new(),
            });
        }
    }
    Ok(())
}
