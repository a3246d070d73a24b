//! The pipeline of each task. Tasks print nothing: they report [`Event`]s and return their results.

pub(crate) mod analyzers;
pub mod approach;
pub mod approaches;
pub(crate) mod arguments;
pub mod cache;
pub mod channels;
pub mod comparative;
pub mod controversial;
pub(crate) mod debate;
pub mod evaluate;
pub mod export;
pub mod extraction;
pub mod files;
pub(crate) mod image_index;
pub mod image_run;
pub mod images;
pub mod index;
pub mod likeness;
pub mod metadata;
pub mod models;
pub mod places;
pub mod quality;
pub mod rank;
pub mod recipe;
pub mod rerankers;
pub mod run_files;
pub mod service_run;
pub mod services;
pub mod shards;
pub(crate) mod stages;
pub mod stance;
pub mod stream;
pub mod text_approach;
pub mod text_indexes;
pub mod text_run;
pub mod texts;
pub mod verify;
pub(crate) mod which;

use std::fmt;

use anyhow::{Result, ensure};

use crate::index::inverted::Effort;
use crate::index::{dense, inverted};
use crate::reading::steps::Outputs;
pub use which::Task;

/// A stage of a task that takes long enough to show its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Extraction,
    Indexing,
    /// Computing the sentence vectors of a text collection.
    Encoding,
    /// Dividing a text collection into clusters.
    Clustering,
    Ranking,
    /// Choosing the arguments of debate sheets, and comparing images with them.
    Debate,
    /// Waiting for the answers of a search engine on the web.
    Asking,
    /// Scaling the pictures of a report.
    Pictures,
}

/// What a task reports while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something that the user should know, such as a channel that is off.
    Note(String),
    /// Something in a file that cannot be used. The text names the file.
    Fault(String),
    /// A stage begins. `total` is the number of its items, 0 if it is unknown.
    Started { stage: Stage, total: usize },
    /// `done` items of `total` are finished. `outputs` are the model outputs that are being computed for the next item.
    Progress {
        done: usize,
        total: usize,
        outputs: Option<Outputs>,
    },
    /// An event of the stage that opens or builds an index.
    Index(inverted::Event),
    /// An event of the stage that computes sentence vectors.
    Dense(dense::Event),
    /// The stage has ended, with a result or with an error.
    Ended,
}

/// The error message after the user has stopped a run.
pub(crate) const STOPPED: &str =
    "stopped before the end, without a run; the same command continues from there";

/// The receiver of a task's events.
pub(crate) type OnEvent<'a> = dyn FnMut(Event) + 'a;

/// Runs a stage and reports its beginning and its end.
pub(crate) fn run_stage<T>(
    stage: Stage,
    total: usize,
    on_event: &mut OnEvent,
    run: impl FnOnce(&mut OnEvent) -> T,
) -> T {
    on_event(Event::Started { stage, total });
    let result = run(on_event);
    on_event(Event::Ended);
    result
}

/// The effort of indexing on this number of threads, or one for each core.
///
/// # Errors
/// The number is 0.
pub fn effort(threads: Option<usize>) -> Result<Effort> {
    let mut effort = Effort::default();
    if let Some(threads) = threads {
        ensure!(threads > 0, "--threads must be at least 1");
        effort.threads = threads;
    }
    Ok(effort)
}

/// A count with its noun: "1 topic", "2 topics".
pub fn counted<N>(count: N, one: &str, many: &str) -> String
where
    N: fmt::Display + From<u8> + PartialEq,
{
    let noun = if count == N::from(1) { one } else { many };
    format!("{count} {noun}")
}

/// The tag of a run if the user gives none: the approach's name, prefixed with `riposte-` unless it already begins with "riposte".
pub(crate) fn default_tag(approach: &str) -> String {
    let name = approach.replace(char::is_whitespace, "-");
    match name.strip_prefix("riposte") {
        Some(rest) if rest.is_empty() || rest.starts_with('-') => name,
        _ => format!("riposte-{name}"),
    }
}
