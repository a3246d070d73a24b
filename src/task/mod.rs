//! The pipeline of each task. Tasks print nothing: they report [`Event`]s and return their results.

pub mod add_model;
pub(crate) mod analyzers;
pub mod approach;
pub mod approaches;
pub(crate) mod arguments;
pub mod cache;
pub mod channels;
pub mod check_collection;
pub mod comparative;
pub mod controversial;
pub mod debate;
pub mod description;
mod document_ids;
pub mod evaluate;
pub mod explanations;
pub mod export;
pub mod extraction;
pub mod files;
pub(crate) mod image_index;
pub mod image_run;
pub mod images;
pub mod index;
pub mod kept;
pub mod languages;
pub mod leaderboards;
pub mod likeness;
pub mod metadata;
pub mod models;
pub mod new_collection;
pub mod own_folder;
pub mod places;
pub mod presence;
pub mod quality;
pub mod rank;
pub mod recipe;
pub mod reproduce;
pub mod rerankers;
pub mod resources;
pub mod run_files;
pub mod service_run;
pub mod services;
pub mod settings;
pub mod shards;
pub(crate) mod stages;
pub mod stance;
pub(crate) mod stdin;
pub mod stream;
pub mod text_approach;
pub mod text_indexes;
pub mod text_run;
pub mod texts;
pub mod verify;
pub(crate) mod which;
mod work;

use std::fmt;

use crate::collection::Fault;
use crate::index::{dense, inverted};
use crate::reading::steps::Outputs;
pub use which::Task;
pub use work::{Named, effort};
pub(crate) use work::{STOPPED, default_tag, of_approach, run_stage};

/// The id of the topic that a single question becomes. No collection has a topic with this id, so facts about its own topics (ranks in a crawl) do not count
/// for the question.
pub const ASKED: &str = "asked";

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
        outputs: Option<Outputs>,
    },
    /// An event of the stage that opens or builds an index.
    Index(inverted::Event),
    /// An event of the stage that computes sentence vectors.
    Dense(dense::Event),
    /// The stage has ended, with a result or with an error.
    Ended,
}

/// The receiver of a task's events.
pub(crate) type OnEvent<'a> = dyn FnMut(Event) + 'a;

/// A count with its noun: "1 topic", "2 topics".
pub fn counted<N>(count: N, one: &str, many: &str) -> String
where
    N: fmt::Display + From<u8> + PartialEq,
{
    let noun = if count == N::from(1) { one } else { many };
    format!("{count} {noun}")
}

/// A text in lines of at most `width` characters, without a line break at the end. The first begins with `label`, the others with as many blanks. A
/// longer word has a separate line.
pub fn labelled(label: &str, text: &str, width: usize) -> String {
    let indent = label.chars().count();
    let mut lines = label.to_owned();
    let mut length = indent;
    for word in text.split_whitespace() {
        let size = word.chars().count();
        if length > indent && length + 1 + size > width {
            lines += "\n";
            lines += &" ".repeat(indent);
            length = indent;
        }
        if length > indent {
            lines.push(' ');
            length += 1;
        }
        lines += word;
        length += size;
    }
    lines
}
