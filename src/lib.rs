//! Retrieves images, arguments and passages for argumentative questions: the [Touché](https://touche.webis.de) tasks, and your own questions.
//!
#![cfg_attr(feature = "texts", doc = "```")]
#![cfg_attr(not(feature = "texts"), doc = "```ignore")]
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

// the features are described in docs/installing.md: a module without a condition is for programs that only verify and evaluate runs

// `make doc` is for people who work on riposte, and shows private items and all rooms; docs.rs shows only what others can build on
#![allow(rustdoc::private_intra_doc_links)]
// these macros panic if they cannot write; `cli` prints messages and results without them
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

#[cfg(feature = "texts")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod device;
#[cfg_attr(docsrs, doc(hidden))]
pub mod directories;
#[cfg_attr(docsrs, doc(hidden))]
pub mod disk;
#[cfg(feature = "full")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod html;
#[cfg(feature = "texts")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod lazy;
#[cfg_attr(docsrs, doc(hidden))]
pub mod names;
#[cfg_attr(docsrs, doc(hidden))]
pub mod threads;
#[cfg(feature = "full")]
mod web;

#[cfg(feature = "texts")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod workspace;

#[cfg_attr(docsrs, doc(hidden))]
pub mod collection;
#[cfg(feature = "texts")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod datasets;
#[cfg(feature = "texts")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod weights;

#[cfg(feature = "texts")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod evidence;
#[cfg(feature = "texts")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod topic;

#[cfg(feature = "texts")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod index;
#[cfg(feature = "texts")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod reading;

#[cfg(feature = "texts")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod score;

#[cfg(feature = "texts")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod systems;

#[cfg_attr(docsrs, doc(hidden))]
pub mod task;

#[cfg(feature = "full")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod report;

#[cfg_attr(docsrs, doc(hidden))]
pub mod api;
#[cfg(feature = "serve")]
#[cfg_attr(docsrs, doc(hidden))]
pub mod serve;
#[cfg(feature = "full")]
pub use api::{About, Answer, Argument, Image, PictureReader, PictureText, Side, Text};
#[cfg(feature = "texts")]
pub use api::{
    Approach, Collection, ObjectStances, RankedDocument, Ranking, Request, StanceDetector,
};
pub use api::{Error, Evaluated, evaluate};
#[cfg(feature = "full")]
pub use evidence::ocr::OcrLine;
pub use riposte_eval::topic::Topic;
pub use riposte_eval::{
    DocId, Explanation, MeasureValues, ObjectStance, Stance, TextTask, TopicId,
};
#[cfg(feature = "full")]
pub use score::presence::{Basis, Presence};
#[cfg(feature = "texts")]
pub use score::text_stance::Stances;
pub use task::{Event, Stage, Task};
