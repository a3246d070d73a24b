//! Tasks: how each one is done, from top to bottom. Tasks print nothing; they report [`Event`]s and return what is to be printed.

pub mod approach;
pub mod comparative;
pub mod controversial;
pub mod extraction;
pub mod image_run;
pub mod images;
pub mod likeness;
pub mod models;
pub mod stance;
pub mod text_approach;
pub mod text_indexes;
pub mod text_run;
pub mod texts;

use crate::index::corpus;

/// A stage of a task that takes long enough to show its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Extraction,
    Indexing,
    Ranking,
}

/// What a task reports while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something that the user should know.
    Note(String),
    /// A stage begins. `total` is the number of its items, 0 if it is unknown.
    Started {
        stage: Stage,
        total: usize,
    },
    /// So many items are finished. `outputs` is the number of model outputs that were computed for the item in progress.
    Progress {
        done: usize,
        total: usize,
        outputs: usize,
    },
    Index(corpus::Event),
    /// The stage has ended, also after an error.
    Ended,
}

/// The receiver of a task's events.
pub type OnEvent<'a> = dyn FnMut(Event) + 'a;

/// Runs a stage between its two events.
fn stage<T>(
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

/// The tag of a run without a name of its own: riposte, with the approach if it is not the default one.
pub fn default_tag(approach: &str) -> String {
    match approach {
        "riposte" => "riposte".to_owned(),
        name => format!("riposte-{}", name.replace(char::is_whitespace, "-")),
    }
}
