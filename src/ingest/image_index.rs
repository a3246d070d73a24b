//! The index of the words of images, which is stored beside their evidence.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::disk::TemporaryDir;
use crate::events::{Event, OnEvent, Stage, run_stage};
use crate::evidence::store::{Store, is_damaged_record};
use crate::index;
use crate::index::analyzer::Analyzer;
use crate::index::images::IndexChanges;
use crate::index::inverted::{self, IndexKind, IndexingBudget, InvertedIndex};

/// The directory of an evidence file's index that uses this analyzer.
pub(crate) fn directory(evidence: &Path, analyzer: &Analyzer) -> PathBuf {
    inverted::directory(evidence, IndexKind::Images, analyzer)
}

/// Brings the index of the images up to date with the evidence, and opens it. If the evidence cannot be written, an outdated index stays unchanged,
/// and another one is built in a temporary directory, which must exist as long as the index is used.
///
/// # Errors
/// As [`index::images::open`].
pub fn open(
    store: &mut Store,
    analyzer: &Analyzer,
    effort: IndexingBudget,
    on_event: &mut OnEvent,
) -> Result<(InvertedIndex, IndexChanges, Option<TemporaryDir>)> {
    let dir = directory(store.path(), analyzer);
    run_stage(Stage::Indexing, 0, on_event, |on_event| {
        let mut dir = dir;
        let mut temporary = None;
        if store.is_read_only() {
            let why = match index::images::open_current(store, &dir, analyzer) {
                Ok(Some(index)) => return Ok((index, IndexChanges::default(), None)),
                Ok(None) => "there is no index of this evidence".to_owned(),
                Err(error) if is_damaged_record(&error) => return Err(error),
                Err(error) => format!("{error:#}"),
            };
            on_event(Event::note(format!(
                "{why}; since {} cannot be written, an index is built for this run in a temporary directory",
                store.path().display()
            )));
            let place = TemporaryDir::new(&std::env::temp_dir());
            let place = place.context("cannot create a temporary directory for the index")?;
            dir = place.path().join("images.index");
            temporary = Some(place);
        }
        let (index, updated) = index::images::open(store, &dir, analyzer, effort, on_event)?;
        Ok((index, updated, temporary))
    })
}
