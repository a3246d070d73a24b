//! The indexes of a text collection that an approach searches.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail};
use riposte_eval::DocId;

use crate::collection::shards::ShardCollection;
use crate::collection::texts::TextCollection;
use crate::events::{Event, OnEvent, Stage, run_stage};
use crate::index::analyzer::Analyzer;
use crate::index::inverted::{self, IndexDamage, IndexKind, IndexingBudget, InvertedIndex};
use crate::recipes::text_approach::TextApproach;

/// For each shard of a collection, the path beside which its indexes are stored. Empty if the collection is not divided.
pub(crate) fn shards_of(collection: &TextCollection) -> Vec<PathBuf> {
    match collection {
        TextCollection::Shards(shards) => shards.bases.clone(),
        _ => Vec::new(),
    }
}

/// The ids of the documents in all shards.
pub(crate) fn shard_ids(shards: &ShardCollection) -> Result<HashSet<DocId>> {
    let of_shard = |base: &PathBuf| {
        let dir = base.parent().unwrap_or(base);
        let listing = || format!("cannot list {}", dir.display());
        let entries = std::fs::read_dir(dir).with_context(listing)?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let mut paths: Vec<PathBuf> = paths.collect::<Result<_, _>>().with_context(listing)?;
        paths.retain(|path| path.extension().is_some_and(|end| end == "index"));
        // each index of a shard has all of its documents
        let first = paths.iter().min();
        let first = first.with_context(|| format!("{} has no index", dir.display()))?;
        Ok(InvertedIndex::open(first)?.ids().collect())
    };
    let ids = shards.bases.iter().map(of_shard);
    let ids: Vec<Vec<DocId>> = ids.collect::<Result<_>>()?;
    Ok(ids.into_iter().flatten().collect())
}

/// The directories of the indexes that an approach searches. They are beside `base`, or in the shards. Each is listed once.
pub fn directories(
    collection: &TextCollection,
    base: &Path,
    approach: &TextApproach,
) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = Vec::new();
    let mut bases = shards_of(collection);
    if !matches!(collection, TextCollection::Shards(_)) {
        bases.push(base.to_owned());
    }
    for base in bases {
        for analyzer in approach.analyzers() {
            let directory = inverted::directory(&base, collection.kind(), &analyzer);
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
    }
    directories
}

/// Opens the index of all shards with this analyzer.
fn open_shards(
    shards: &ShardCollection,
    analyzer: &Analyzer,
    approach: &TextApproach,
) -> Result<InvertedIndex> {
    let kind = IndexKind::of(shards.task);
    let directory = |base: &PathBuf| inverted::directory(base, kind, analyzer);
    let dirs: Vec<PathBuf> = shards.bases.iter().map(directory).collect();
    if let Some(missing) = dirs.iter().find(|dir| !dir.is_dir()) {
        bail!(
            "there is no index {}: the shards were not indexed for the approach {}, which needs the analyzer {analyzer}",
            missing.display(),
            approach.name
        );
    }
    InvertedIndex::open_shards(&dirs).map_err(|error| match error.downcast::<IndexDamage>() {
        Ok(damage) => damaged_shard(&damage),
        Err(error) => error,
    })
}

/// Checks that a collection has a document.
///
/// # Errors
/// The collection has no document. The message names the first fault.
pub(crate) fn ensure_documents(index: &InvertedIndex, input: &Path) -> Result<()> {
    if index.documents() > 0 {
        return Ok(());
    }
    match index.meta().faults.first() {
        Some(fault) => bail!("no document of {} can be read: {fault}", input.display()),
        None => bail!("there is no document in {}", input.display()),
    }
}

/// The error for a damaged file of a shard, which a run cannot build again.
pub(crate) fn damaged_shard(damage: &IndexDamage) -> Error {
    anyhow!("{}: merge the index again", damage.what())
}

/// The indexes that an approach searches.
pub struct TextIndexes {
    /// One for each analyzer.
    corpora: Vec<InvertedIndex>,
    /// The position in `corpora` of each retrieval's index.
    by_retrieval: Vec<usize>,
}

impl TextIndexes {
    /// Opens the indexes beside `base`, and builds those that are missing or outdated. With `rebuild`, builds all of them again, even
    /// damaged ones.
    ///
    /// # Errors
    /// As [`InvertedIndex::open_or_build`].
    pub fn open(
        collection: &TextCollection,
        base: &Path,
        approach: &TextApproach,
        effort: IndexingBudget,
        rebuild: bool,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let mut indexes = TextIndexes {
            corpora: Vec::new(),
            by_retrieval: Vec::new(),
        };
        for analyzer in &approach.analyzers() {
            let has_analyzer = |index: &InvertedIndex| index.meta().analyzer == *analyzer;
            if let Some(at) = indexes.corpora.iter().position(has_analyzer) {
                indexes.by_retrieval.push(at);
                continue;
            }
            let dir = inverted::directory(base, collection.kind(), analyzer);
            let open = if rebuild {
                InvertedIndex::rebuild
            } else {
                InvertedIndex::open_or_build
            };
            let index = run_stage(Stage::Indexing, 0, on_event, |on_event| match collection {
                TextCollection::Shards(shards) => open_shards(shards, analyzer, approach),
                _ => open(collection, analyzer, &dir, effort, on_event),
            });
            indexes.by_retrieval.push(indexes.corpora.len());
            indexes.corpora.push(index?);
        }
        Ok(indexes)
    }

    /// Reports the faults of the collection.
    ///
    /// # Errors
    /// They cannot be read from the index.
    pub(crate) fn report_faults(&self, on_event: &mut OnEvent) -> Result<()> {
        // all indexes are of the same collection
        let first = self.first();
        first.map_or(Ok(()), |index| {
            index.each_fault(&mut |fault| on_event(Event::Fault(fault)))
        })
    }

    /// All indexes, one for each analyzer.
    pub fn all(&self) -> &[InvertedIndex] {
        &self.corpora
    }

    /// The index of each of the approach's retrievals. Without a retrieval, the index that holds the documents.
    pub(crate) fn by_retrieval(&self) -> Vec<&InvertedIndex> {
        let corpora = self.by_retrieval.iter();
        corpora.filter_map(|at| self.corpora.get(*at)).collect()
    }

    /// The index of the approach's first retrieval.
    pub fn first(&self) -> Option<&InvertedIndex> {
        self.corpora.first()
    }
}
