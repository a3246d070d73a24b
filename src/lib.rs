//! riposte: image and text retrieval for arguments, for the Touché tasks.
//!
//! The rooms are listed in the order in which data passes through them. Each uses only rooms above it (`ARCHITECTURE.md`, "Invariants";
//! `tests/it/floors.rs` reads the imports).

// the documentation is for people who work on riposte, so it shows private items too (`make doc`)
#![allow(rustdoc::private_intra_doc_links)]
// these macros panic if they cannot write; `cli` prints messages and results without them
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod device;
pub mod disk;
pub mod lazy;
mod names;
mod web;

pub mod workspace;

pub mod collection;
pub mod weights;

pub mod evidence;
pub mod topic;

pub mod index;
pub mod reading;

pub mod score;

pub mod systems;

pub mod task;

mod report;

mod api;

pub mod cli;

pub use api::{
    Answer, Approach, Argument, Collection, Error, Evaluated, Image, ObjectStances, PictureReader,
    PictureText, RankedDocument, Ranking, Request, Side, StanceDetector, Text, evaluate,
};
pub use evidence::ocr::OcrLine;
pub use riposte_eval::topic::Topic;
pub use riposte_eval::{DocId, Explanation, ObjectStance, Stance, TextTask, TopicId, Values};
pub use score::text_stance::Stances;
pub use task::{Event, Stage, Task};
