//! Decides whether the files of a document are those from which its stored evidence was computed.

use crate::collection::images::{DocumentFiles, FileState, ImageFolder};
use crate::evidence::clock::Clock;

/// How stored evidence is used, the same for all documents.
#[derive(Clone, Copy)]
pub(super) struct Policy {
    /// Whether new evidence cannot be stored.
    pub is_read_only: bool,
    /// Whether the contents of all files are compared, whatever their times.
    pub rehash: bool,
}

/// The present state of a document's files; `known` is their state at the last extraction. The contents are read unless the times prove that they are
/// the same. They are read before evidence is computed from them, so the next extraction notices a change in the meantime. `None` if there is no
/// known state and nothing can be recorded.
pub(super) fn look(
    entry: &ImageFolder,
    listing: &mut DocumentFiles,
    known: Option<&FileState>,
    policy: Policy,
    clock: &Clock,
) -> Option<FileState> {
    let state = listing.state.clone();
    match known {
        Some(known) if !policy.rehash && !state.is_empty() && known.state == state => {
            Some(known.clone())
        }
        None if policy.is_read_only => None,
        _ => Some(FileState {
            state,
            content: clock.time("hash", || entry.content(listing)),
        }),
    }
}
