//! The collections of the text tasks.

use std::path::Path;

use anyhow::{Result, ensure};
use riposte_eval::TextTask;

use super::Fault;
use super::arguments::ArgumentCollection;
use super::documents::DocumentCollection;
use super::entries::{EntryCollection, StoredText};
use super::passages::PassageCollection;
use super::shards::ShardCollection;

/// A collection of texts.
#[derive(Clone, Debug)]
pub enum TextCollection {
    Arguments(ArgumentCollection),
    Passages(PassageCollection),
    Documents(DocumentCollection),
    /// Texts of one of the other collections, in the form in which an index stores them.
    Entries(EntryCollection),
    /// Such texts, already indexed in shards.
    Shards(ShardCollection),
}

impl TextCollection {
    /// The task that the texts belong to.
    pub fn task(&self) -> TextTask {
        match self {
            TextCollection::Arguments(_) => TextTask::Controversial,
            TextCollection::Passages(_) => TextTask::Comparative,
            TextCollection::Documents(_) => TextTask::Rank,
            TextCollection::Entries(entries) => entries.task,
            TextCollection::Shards(shards) => shards.task,
        }
    }

    /// Reads the texts in order; none for shards. For what cannot be read, the iterator returns a fault.
    pub(crate) fn texts(&self) -> Box<dyn Iterator<Item = Result<StoredText, Fault>>> {
        match self {
            TextCollection::Arguments(arguments) => Box::new(arguments.arguments()),
            TextCollection::Passages(passages) => Box::new(passages.passages()),
            TextCollection::Documents(documents) => Box::new(documents.documents()),
            TextCollection::Entries(entries) => Box::new(entries.texts()),
            TextCollection::Shards(_) => Box::new(std::iter::empty()),
        }
    }
}

/// The task whose collection is in a directory, judged by the names of the files. `None` for other directories, and for files.
pub(crate) fn task_of(input: &Path) -> Option<TextTask> {
    if !input.is_dir() {
        None
    } else if let Ok(Some(stored)) = stored(input) {
        Some(stored.task())
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
/// There is no such collection at `input`.
pub fn open_collection(task: TextTask, input: &Path) -> Result<TextCollection> {
    if let Some(stored) = stored(input)? {
        ensure!(
            stored.task() == task,
            "{} has {}, and {} is about {}",
            input.display(),
            documents_of(stored.task()),
            task.word(),
            documents_of(task)
        );
        return Ok(stored);
    }
    Ok(match task {
        TextTask::Controversial => TextCollection::Arguments(ArgumentCollection::open(input)?),
        TextTask::Comparative => TextCollection::Passages(PassageCollection::open(input)?),
        TextTask::Rank => TextCollection::Documents(DocumentCollection::open(input)?),
    })
}

/// What the documents of a task are called.
fn documents_of(task: TextTask) -> &'static str {
    match task {
        TextTask::Controversial => "arguments",
        TextTask::Comparative => "passages",
        TextTask::Rank => "documents",
    }
}

/// The collection in a directory, if its texts are stored in the form that an index has.
fn stored(input: &Path) -> Result<Option<TextCollection>> {
    if let Some(shards) = ShardCollection::find(input)? {
        return Ok(Some(TextCollection::Shards(shards)));
    }
    Ok(EntryCollection::find(input)?.map(TextCollection::Entries))
}
