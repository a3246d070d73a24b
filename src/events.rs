//! What a long computation reports while it runs: one stream of notes, faults and progress.

mod fault;

use std::fmt;
use std::path::Path;

use riposte_eval::TopicId;
use strum::{IntoStaticStr, VariantArray};

pub use fault::{Fault, FaultKind};

/// What a task reports while it runs.
///
/// ```
/// use riposte::{Event, Progress};
///
/// fn show(event: &Event) -> String {
///     match event {
///         Event::Note(note) => format!("note: {note}"),
///         Event::Fault(fault) => fault.to_string(),
///         Event::Progress(Progress::Items { done, total, .. }) => format!("{done} of {total}"),
///         // later versions of riposte can report more
///         _ => String::new(),
///     }
/// }
///
/// assert_eq!(show(&Event::note("CLIP is off")), "note: CLIP is off");
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something that the user should know.
    Note(Note),
    /// Something in the input that cannot be used.
    Fault(Fault),
    /// How far the task is.
    Progress(Progress),
}

/// How far a task is. One stage runs at a time.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// A stage begins.
    Started {
        /// What is done in it.
        stage: Stage,
        /// The number of its items, 0 if it is unknown.
        total: u64,
    },
    /// Some items of the stage are finished.
    Items {
        /// The number of finished items.
        done: u64,
        /// The number of all items, 0 if it is unknown.
        total: u64,
        /// More about the items so far, in words ("3 faults"); mostly empty.
        detail: String,
    },
    /// Some model outputs for the next item of the stage are computed. Stored outputs are not counted.
    Outputs {
        /// What they are computed for.
        step: RankingStep,
        /// The number of computed outputs; 0 when the step begins.
        done: usize,
        /// The number of outputs that this step needs for the item.
        total: usize,
    },
    /// What is done next, in words ("args/argsme.zip: unpacks it").
    Step(String),
    /// The stage has ended, with a result or with an error.
    Ended,
}

/// A stage of a task that takes long enough to show its progress.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Computing the evidence of images.
    Extraction,
    /// Reading documents into an index.
    Indexing,
    /// Computing the sentence vectors of a text collection.
    Encoding,
    /// Dividing a text collection into clusters.
    Clustering,
    /// Ranking documents for topics.
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
    /// Writing the evidence as tables.
    Exporting,
    /// Downloading, copying or unpacking the file with this name. Its items are bytes.
    Transfer(String),
}

impl Stage {
    /// What is counted ("topics ranked"); of a transfer, the name of the file.
    pub fn items(&self) -> &str {
        match self {
            Stage::Extraction => "images extracted",
            Stage::Indexing => "documents indexed",
            Stage::Encoding => "documents with sentence vectors",
            Stage::Clustering => "clusters made",
            Stage::Ranking => "topics ranked",
            Stage::Debate => "debate sheets made",
            Stage::Asking => "topics answered",
            Stage::Pictures => "pictures scaled",
            Stage::Reading => "files read",
            Stage::Searching => "pages searched",
            Stage::Writing => "pictures written",
            Stage::Exporting => "rows exported",
            Stage::Transfer(name) => name,
        }
    }
}

/// A step of a ranking.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum RankingStep {
    /// Searching an index.
    Search,
    /// Re-ranking the first documents, without the time of the models.
    #[strum(serialize = "re-ranking")]
    Rerank,
    /// The sentence encoder embeds texts.
    #[strum(serialize = "sentence vectors")]
    SentenceVectors,
    /// The cross-encoder reads topics together with texts.
    #[strum(serialize = "cross-encoder")]
    CrossEncoder,
    /// The stance encoder reads topics together with texts.
    #[strum(serialize = "stance encoder")]
    StanceEncoder,
    /// Estimating the stances of texts.
    Stance,
    /// Choosing the arguments of debate sheets.
    #[strum(serialize = "debate sheets")]
    DebateSheets,
}

impl RankingStep {
    /// The step in words ("sentence vectors").
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Something that the user should know, such as a channel that is off.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    /// What it is about.
    pub kind: NoteKind,
    /// The sentence that the user reads, without a point at its end.
    pub text: String,
}

/// What a note is about, for a receiver to which it is no news. Nobody recognises a note by its sentence.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// A list of this topic has fewer images than a run can have.
    ShortList(TopicId),
    /// The collection seems to have nothing about these topics.
    NothingAbout(Vec<TopicId>),
    /// Anything else, which no receiver distinguishes.
    Other,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Event {
    /// A fault in a file.
    pub(crate) fn fault(kind: FaultKind, path: &Path, what: impl Into<String>) -> Event {
        Event::Fault(Fault::in_file(kind, path, what))
    }

    /// A stage begins.
    pub(crate) fn started(stage: Stage, total: usize) -> Event {
        let total = total as u64;
        Event::Progress(Progress::Started { stage, total })
    }

    /// `done` items of `total` are finished.
    pub(crate) fn progress(done: usize, total: usize) -> Event {
        Event::Progress(Progress::Items {
            done: done as u64,
            total: total as u64,
            detail: String::new(),
        })
    }

    /// What is done next.
    pub(crate) fn step(text: impl Into<String>) -> Event {
        Event::Progress(Progress::Step(text.into()))
    }

    /// A note that nobody needs to recognise.
    pub fn note(text: impl Into<String>) -> Event {
        let (kind, text) = (NoteKind::Other, text.into());
        Event::Note(Note { kind, text })
    }
}

/// The receiver of a task's events.
pub type OnEvent<'a> = dyn FnMut(Event) + 'a;

/// A receiver that other threads can call.
pub(crate) type OnThreadEvent<'a> = dyn FnMut(Event) + Send + 'a;

/// Runs a stage and reports its beginning and its end.
pub(crate) fn run_stage<T>(
    stage: Stage,
    total: usize,
    on_event: &mut OnEvent,
    run: impl FnOnce(&mut OnEvent) -> T,
) -> T {
    on_event(Event::started(stage, total));
    let result = run(on_event);
    on_event(Event::Progress(Progress::Ended));
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
