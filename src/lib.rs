//! Retrieves images, arguments and passages for argumentative questions: the [Touché](https://touche.webis.de) tasks, and your own questions.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use riposte::{Approach, Collection, Task, TextTask, Topic};
//!
//! # let home = tempfile::tempdir().unwrap();
//! // arguments in the format of args.me, and where what is computed about them is stored
//! let collection = Collection::open("sample")?.for_task(Task::Texts(TextTask::Controversial));
//! let collection = collection.stored_in(home.path()).with_models("models")?;
//! let approach = Approach::named(collection.task(), "riposte")?;
//!
//! let topics = vec![Topic::new("1", "Should zoos be closed?").unwrap()];
//! let request = collection.request(approach).topics(topics).explained();
//! let ranking = request.rank(|_event| ControlFlow::Continue(()))?; // Break(()) stops
//! let best = ranking.documents().next().unwrap();
//! println!("{} {:.3}: {}", best.document, best.score, ranking.explanation(&best).unwrap());
//! ranking.write_run(home.path().join("out"))?; // run.txt, explain.jsonl, ir-metadata.yml
//! # Ok::<(), riposte::Error>(())
//! ```
//!
//! | to | call |
//! |---|---|
//! | rank images, arguments, passages or other texts | [`Collection`], [`Approach`], [`Request`], [`Ranking`] |
//! | evaluate a run | [`evaluate()`] |
//! | answer a question | [`Collection::ask`] |
//! | detect a stance | [`StanceDetector`] |
//! | read the text in a picture | [`PictureReader`] |
//!
//! `docs/library.md` says more, and `examples/` has five programs. The types at the root are what others can build on. The modules are the rooms of the
//! program, which the other packages of the repository use too; they may change with any version. They are listed in the order in which data passes
//! through them, and each uses only rooms above it (`ARCHITECTURE.md`, "Invariants"; `tests/it/floors.rs` reads the imports).

// `make doc` is for people who work on riposte, and shows private items and all rooms; docs.rs shows only what others can build on
#![allow(rustdoc::private_intra_doc_links)]
// .clippy.toml names the methods; the macros panic if they cannot write, and `cli` prints messages and results without them
#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout)
)]

#[cfg_attr(docsrs, doc(hidden))]
pub mod device;
#[cfg_attr(docsrs, doc(hidden))]
pub mod directories;
#[cfg_attr(docsrs, doc(hidden))]
pub mod disk;
#[cfg_attr(docsrs, doc(hidden))]
pub mod events;
#[cfg_attr(docsrs, doc(hidden))]
pub mod html;
#[cfg_attr(docsrs, doc(hidden))]
pub mod lazy;
#[cfg_attr(docsrs, doc(hidden))]
pub mod limits;
#[cfg_attr(docsrs, doc(hidden))]
pub mod names;
mod stopped;
#[cfg_attr(docsrs, doc(hidden))]
pub mod threads;
mod web;
#[cfg_attr(docsrs, doc(hidden))]
pub mod wording;

#[cfg_attr(docsrs, doc(hidden))]
pub mod workspace;

#[cfg_attr(docsrs, doc(hidden))]
pub mod collection;
#[cfg_attr(docsrs, doc(hidden))]
pub mod weights;

#[cfg_attr(docsrs, doc(hidden))]
pub mod datasets;
#[cfg_attr(docsrs, doc(hidden))]
pub mod evidence;
#[cfg_attr(docsrs, doc(hidden))]
pub mod topic;

#[cfg_attr(docsrs, doc(hidden))]
pub mod index;
#[cfg_attr(docsrs, doc(hidden))]
pub mod reading;

#[cfg_attr(docsrs, doc(hidden))]
pub mod language;
#[cfg_attr(docsrs, doc(hidden))]
pub mod score;

#[cfg_attr(docsrs, doc(hidden))]
pub mod systems;

#[cfg_attr(docsrs, doc(hidden))]
pub mod files;
#[cfg_attr(docsrs, doc(hidden))]
pub mod models;
#[cfg_attr(docsrs, doc(hidden))]
pub mod places;
#[cfg_attr(docsrs, doc(hidden))]
pub mod recipes;
#[cfg_attr(docsrs, doc(hidden))]
pub mod session;

mod presence;
#[cfg_attr(docsrs, doc(hidden))]
pub mod texts;

mod images;
#[cfg_attr(docsrs, doc(hidden))]
pub mod ingest;

mod debate;

#[cfg_attr(docsrs, doc(hidden))]
pub mod runs;

#[cfg_attr(docsrs, doc(hidden))]
pub mod answer;
#[cfg_attr(docsrs, doc(hidden))]
pub mod judge;
#[cfg_attr(docsrs, doc(hidden))]
pub mod upkeep;

#[cfg_attr(docsrs, doc(hidden))]
pub mod report;

#[cfg_attr(docsrs, doc(hidden))]
pub mod api;

#[cfg_attr(docsrs, doc(hidden))]
pub mod serve;

pub use api::{
    About, Answer, Approach, Argument, Collection, Error, Evaluated, Image, ObjectStances,
    PictureReader, PictureText, RankedDocument, Ranking, Request, Side, StanceDetector, Text,
    evaluate,
};
pub use collection::task::Task;
pub use events::{Event, Fault, FaultKind, Note, NoteKind, Progress, RankingStep, Stage};
pub use evidence::ocr::OcrLine;
pub use files::TopicSource;
pub use recipes::settings::Setting;
pub use riposte_eval::edition::Edition;
pub use riposte_eval::topic::Topic;
pub use riposte_eval::{
    DocId, Explanation, MeasureValues, ObjectStance, Stance, TextTask, TopicId,
};
pub use riposte_page::presence::{Basis, Presence};
pub use runs::plan::Wishes;
pub use score::text_stance::Stances;
