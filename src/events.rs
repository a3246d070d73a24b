//! What a long computation reports while it runs: one stream of progress, notes and faults.

use std::fmt;
use std::path::Path;

use riposte_eval::TopicId;

use crate::collection::{Fault, FaultKind};
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

/// Something that the user should know, such as a channel that is off.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    pub kind: NoteKind,
    /// The sentence that the user reads, without a point at its end.
    pub text: String,
}

/// What a note is about, for a receiver to which it is no news. Nobody recognises a note by its sentence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// A list of this topic has fewer images than a run can have.
    ShortList(TopicId),
    /// The collection seems to have nothing about these topics.
    NothingAbout(Vec<TopicId>),
    /// Anything else, which no receiver distinguishes.
    Other,
}

impl From<String> for Note {
    fn from(text: String) -> Note {
        let kind = NoteKind::Other;
        Note { kind, text }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What a task reports while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something that the user should know.
    Note(Note),
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

impl Event {
    /// A fault in a file.
    pub(crate) fn fault(kind: FaultKind, path: &Path, what: impl Into<String>) -> Event {
        Event::Fault(Fault::in_file(kind, path, what))
    }

    /// `done` items of `total` are finished, and no model computes outputs.
    pub(crate) fn progress(done: usize, total: usize) -> Event {
        Event::Progress {
            done,
            total,
            outputs: None,
        }
    }

    /// A note that nobody needs to recognise.
    pub fn note(text: impl Into<String>) -> Event {
        Event::Note(text.into().into())
    }
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
        Event::Note(note) if several => on_event(Event::Note(Note {
            text: format!("{name}: {note}"),
            ..note
        })),
        other => on_event(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_of_one_of_several_approaches_keeps_its_kind() {
        let kind = NoteKind::ShortList(TopicId("1".to_owned()));
        let mut events = Vec::new();
        of_approach(true, "bm25", &mut |event| events.push(event), |on_event| {
            let (kind, text) = (kind.clone(), "short".to_owned());
            on_event(Event::Note(Note { kind, text }));
        });
        let text = "bm25: short".to_owned();
        assert_eq!(events, [Event::Note(Note { kind, text })]);
    }
}
