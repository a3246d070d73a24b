//! Updates an index in place: changed documents are deleted and added again, all others remain.

use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail};
use tantivy::{Index, IndexWriter, Term};

use super::build::{self, IndexingBudget, QueueBudget, QueuedDocument};
use super::disk::{self, SealedDirectory, index_error};
use super::open::{IndexState, outdated, waiting};
use super::schema::IndexFields;
use super::{Document, IndexKind, IndexMeta, InvertedIndex};
use crate::disk::TemporaryDir;
use crate::events::OnEvent;
use crate::index::analyzer::{Analyzer, TermWriter};
use crate::workspace::Lock;

/// An index with more segments is merged into one segment, because each query term is looked up in each segment.
const SEGMENTS: usize = 8;

/// A directory for an index, locked for writing until the value is dropped.
pub(crate) struct LockedIndex {
    dir: PathBuf,
    wanted: IndexMeta,
    _lock: Lock,
}

/// An update that is not committed yet. Dropping it leaves the index unchanged.
pub(crate) struct PendingUpdate {
    writer: IndexWriter<QueuedDocument>,
    fields: IndexFields,
    analyzer: Analyzer,
    budget: QueueBudget,
    /// The temporary directory of an index that replaces the existing one.
    replacement: Option<TemporaryDir>,
}

/// Opens the index in `dir` for reading without a lock, where no other process can write it. `None` if the index is missing or outdated.
///
/// Errors: the index is damaged, or `dir` contains something that is not an index.
pub(crate) fn open_unlocked(
    dir: &Path,
    kind: IndexKind,
    analyzer: &Analyzer,
) -> Result<Option<InvertedIndex>> {
    let wanted = IndexMeta::new(kind, analyzer, String::new());
    Ok(match InvertedIndex::find_current(dir, &wanted)? {
        IndexState::Current(index) => Some(*index),
        IndexState::Damaged(damage) => bail!(damage),
        IndexState::Outdated(_) | IndexState::Missing => None,
    })
}

impl LockedIndex {
    /// Locks `dir` for writing, and opens the index in it. Returns `None` instead of an index if it is missing, outdated or damaged.
    ///
    /// Errors: `dir` contains something that is not an index, or other files beside a damaged index.
    pub fn open(
        dir: &Path,
        kind: IndexKind,
        analyzer: &Analyzer,
        on_event: &mut OnEvent,
    ) -> Result<(Self, Option<InvertedIndex>)> {
        let wanted = IndexMeta::new(kind, analyzer, String::new());
        disk::remove_unfinished(dir)?;
        let lock = Lock::to_write(dir, &mut || on_event(waiting()))?;
        let found = match InvertedIndex::find_usable(dir, &wanted)? {
            IndexState::Current(index) => Some(*index),
            IndexState::Outdated(why) => {
                on_event(outdated(why));
                None
            }
            IndexState::Damaged(damage) => {
                on_event(damage.note());
                None
            }
            IndexState::Missing => None,
        };
        let locked = LockedIndex {
            dir: dir.to_owned(),
            wanted,
            _lock: lock,
        };
        Ok((locked, found))
    }

    /// Begins an update of the existing index; with `replace`, of an empty index, which replaces the existing one at the commit.
    pub fn update(&self, replace: bool, effort: IndexingBudget) -> Result<PendingUpdate> {
        let fields = IndexFields::new(self.wanted.kind);
        let (index, replacement) = if replace {
            let built = disk::build_directory(&self.dir)?;
            (build::create(built.path(), &fields)?, Some(built))
        } else {
            let directory = SealedDirectory::open(&self.dir)?;
            let index = Index::open(directory).map_err(|error| index_error(&self.dir, &error))?;
            (index, None)
        };
        let writer = build::writer(&index, effort)?;
        // A killed update leaves files behind. One of them can have the name that this update needs, with the number of the next commit, and tantivy
        // does not overwrite files.
        writer.garbage_collect_files().wait()?;
        Ok(PendingUpdate {
            writer,
            fields,
            analyzer: self.wanted.analyzer.clone(),
            budget: QueueBudget::new(crate::limits::MAX_QUEUE_BYTES),
            replacement,
        })
    }

    /// Commits an update in one atomic step. `fingerprint` identifies the documents that the index contains afterwards. Merges the segments if
    /// there are too many segments or too many deleted documents.
    pub fn commit(&self, update: PendingUpdate, fingerprint: String) -> Result<()> {
        let PendingUpdate {
            mut writer,
            replacement,
            ..
        } = update;
        let meta = IndexMeta {
            fingerprint,
            ..self.wanted.clone()
        };
        build::commit(&mut writer, &meta)?;
        let segments = writer.index().searchable_segment_metas()?;
        let deleted: u32 = segments.iter().map(|s| s.num_deleted_docs()).sum();
        let living: u32 = segments.iter().map(|s| s.num_docs()).sum();
        if segments.len() > SEGMENTS || deleted > living / 2 {
            let ids: Vec<_> = segments.iter().map(|segment| segment.id()).collect();
            writer.merge(&ids).wait()?;
        }
        drop(segments);
        writer.garbage_collect_files().wait()?;
        writer.wait_merging_threads()?;
        match replacement {
            Some(built) => disk::install(built, &self.dir),
            None => Ok(()),
        }
    }

    /// Opens the index in its last committed state.
    pub fn reader(&self) -> Result<InvertedIndex> {
        InvertedIndex::open_whole(&self.dir)
    }
}

impl PendingUpdate {
    /// A writer of terms for one thread that calls [`PendingUpdate::put`].
    pub(crate) fn terms(&self) -> TermWriter {
        self.analyzer.writer()
    }

    /// The error that has stopped the writer. The error of [`PendingUpdate::put`] may say only that the writer has stopped.
    pub(crate) fn why_stopped(&mut self, error: Error) -> Error {
        build::why_stopped(&mut self.writer, error)
    }

    /// Adds a document, and deletes an earlier one with the same id. Several threads can call this at the same time.
    pub(crate) fn put(&self, document: &Document, terms: &mut TermWriter) -> Result<()> {
        self.remove(&document.id.0);
        let made = self.fields.document(document, 0, terms);
        let bytes = document.texts.iter().map(String::len).sum();
        let adding = || format!("cannot index {}", document.id);
        let queued = self.budget.admit(made, bytes);
        self.writer.add_document(queued).with_context(adding)?;
        Ok(())
    }

    /// Deletes the document with this id, if there is one.
    pub fn remove(&self, id: &str) {
        if self.replacement.is_none() {
            let term = Term::from_field_text(self.fields.id, id);
            self.writer.delete_term(term);
        }
    }
}

impl InvertedIndex {
    /// The ids of all included documents, with the checksums of their texts.
    pub fn checksums(&self) -> impl Iterator<Item = (&str, u64)> {
        self.segments.iter().flat_map(|segment| {
            (0..segment.documents()).filter_map(|document| {
                let id = segment.columns.id(document)?;
                let checksum = *segment.columns.checksums.get(document as usize)?;
                self.is_included(segment.base + document)
                    .then_some((id, checksum))
            })
        })
    }
}
