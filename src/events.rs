//! What a long computation reports while it runs: one stream of progress, notes and faults.

use crate::collection::Fault;
use crate::index::{dense, inverted};
use crate::reading::ranking_steps::OutputProgress;

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
    /// Reading the files of which a collection is made.
    Reading,
    /// Searching pages for the pictures that they show.
    Searching,
    /// Writing the images of a collection.
    Writing,
}

/// What a task reports while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something that the user should know, such as a channel that is off.
    Note(String),
    /// Something in a file that cannot be used.
    Fault(Fault),
    /// A stage begins. `total` is the number of its items, 0 if it is unknown.
    Started { stage: Stage, total: usize },
    /// `done` items of `total` are finished. `outputs` are the model outputs that are being computed for the next item.
    Progress {
        done: usize,
        total: usize,
        outputs: Option<OutputProgress>,
    },
    /// An event of the stage that opens or builds an index.
    Index(inverted::IndexEvent),
    /// An event of the stage that computes sentence vectors.
    Dense(dense::DenseEvent),
    /// The stage has ended, with a result or with an error.
    Ended,
}

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

/// Passes on the events of an approach. If it is one of several, its notes begin with its name.
pub(crate) fn of_approach<T>(
    several: bool,
    name: &str,
    on_event: &mut OnEvent,
    run: impl FnOnce(&mut OnEvent) -> T,
) -> T {
    run(&mut |event| match event {
        Event::Note(note) if several => on_event(Event::Note(format!("{name}: {note}"))),
        other => on_event(other),
    })
}
