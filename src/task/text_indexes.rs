//! The collections of the text tasks, and the indexes that an approach searches.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::text_approach::TextApproach;
use super::{Event, OnEvent, Stage, run_stage};
use crate::collection::arguments::ArgumentCollection;
use crate::collection::documents::DocumentCollection;
use crate::collection::passages::PassageCollection;
use crate::index::corpus::{self, Corpus, Effort, TextCollection};
use crate::trec::{DocId, Fault, TextTask};

/// The task that a directory contains a collection for, judged by the names of its files. `None` for other directories, and for files.
pub(crate) fn task_of(input: &Path) -> Option<TextTask> {
    if !input.is_dir() {
        None
    } else if ArgumentCollection::open(input).is_ok() {
        Some(TextTask::Controversial)
    } else if PassageCollection::open(input).is_ok() {
        Some(TextTask::Comparative)
    } else if DocumentCollection::open(input).is_ok() {
        Some(TextTask::Rank)
    } else {
        None
    }
}

/// Opens a task's collection.
///
/// # Errors
/// There is none at `input`.
pub(crate) fn open_collection(task: TextTask, input: &Path) -> Result<TextCollection> {
    Ok(match task {
        TextTask::Controversial => TextCollection::Arguments(ArgumentCollection::open(input)?),
        TextTask::Comparative => TextCollection::Passages(PassageCollection::open(input)?),
        TextTask::Rank => TextCollection::Documents(DocumentCollection::open(input)?),
    })
}

/// The ids of all documents that can be read.
///
/// # Errors
/// There is no collection of this task at `input`.
pub(crate) fn document_ids(task: TextTask, input: &Path) -> Result<HashSet<DocId>> {
    fn all<T>(
        documents: impl Iterator<Item = Result<T, Fault>>,
        id: impl Fn(T) -> DocId,
    ) -> HashSet<DocId> {
        documents
            .filter_map(|document| document.ok().map(&id))
            .collect()
    }
    Ok(match open_collection(task, input)? {
        TextCollection::Arguments(arguments) => all(arguments.arguments(), |a| a.id),
        TextCollection::Passages(passages) => all(passages.passages(), |p| p.id),
        TextCollection::Documents(documents) => all(documents.documents(), |d| d.id),
    })
}

/// The directories of the indexes that an approach searches. They are beside `base`; none is repeated.
pub fn directories(
    collection: &TextCollection,
    base: &Path,
    approach: &TextApproach,
) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = Vec::new();
    for analyzer in approach.analyzers() {
        let directory = corpus::directory(base, collection.kind(), &analyzer);
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    directories
}

/// The indexes that an approach searches.
pub(crate) struct TextIndexes {
    /// One for each analyzer.
    corpora: Vec<Corpus>,
    /// The position in `corpora` of each retrieval's index.
    by_retrieval: Vec<usize>,
}

impl TextIndexes {
    /// Opens the indexes beside `base`, and builds those that are missing or outdated. With `rebuild`, builds all of them again, even
    /// damaged ones.
    ///
    /// # Errors
    /// As [`Corpus::open_or_build`].
    pub fn open(
        collection: &TextCollection,
        base: &Path,
        approach: &TextApproach,
        effort: Effort,
        rebuild: bool,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let mut indexes = TextIndexes {
            corpora: Vec::new(),
            by_retrieval: Vec::new(),
        };
        for analyzer in &approach.analyzers() {
            let has_analyzer = |corpus: &Corpus| corpus.meta().analyzer == *analyzer;
            if let Some(at) = indexes.corpora.iter().position(has_analyzer) {
                indexes.by_retrieval.push(at);
                continue;
            }
            let dir = corpus::directory(base, collection.kind(), analyzer);
            let open = if rebuild {
                Corpus::rebuild
            } else {
                Corpus::open_or_build
            };
            let corpus = run_stage(Stage::Indexing, 0, on_event, |on_event| {
                open(collection, analyzer, &dir, effort, &mut |event| {
                    on_event(Event::Index(event));
                })
            });
            indexes.by_retrieval.push(indexes.corpora.len());
            indexes.corpora.push(corpus?);
        }
        Ok(indexes)
    }

    /// All indexes, one for each analyzer.
    pub fn all(&self) -> &[Corpus] {
        &self.corpora
    }

    /// The index of each of the approach's retrievals. If it has none, the index that has the documents.
    pub(crate) fn by_retrieval(&self) -> Vec<&Corpus> {
        let corpora = self.by_retrieval.iter();
        corpora.filter_map(|at| self.corpora.get(*at)).collect()
    }

    /// The index of the approach's first retrieval.
    pub fn first(&self) -> Option<&Corpus> {
        self.corpora.first()
    }
}
