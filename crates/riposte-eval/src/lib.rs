//! Reads, verifies and evaluates runs of the [Touché](https://touche.webis.de) tasks, and of any other collection with judgements in the formats of
//! TREC or BEIR.
//!
//! ```
//! use riposte_eval::edition::Edition;
//! use riposte_eval::verify::{Rules, is_valid, verify};
//! use riposte_eval::{TextTask, evaluate, qrels};
//!
//! let run = "51 Q0 d1 1 12.5 mine\n51 Q0 d2 2 11.0 mine\n52 Q0 d3 1 10.2 mine\n";
//! let (qrels, _) = qrels::read("51 0 d1 1\n51 0 d2 2\n52 0 d4 2\n");
//!
//! // how good is it?
//! let measures = ["nDCG@5".parse()?, "RR(rel=2)".parse()?];
//! let evaluation = evaluate(run, &qrels, &measures)?;
//! for (measure, values) in measures.iter().zip(&evaluation.values) {
//!     println!("{measure} {:.4}", values.all());
//! }
//! assert_eq!(format!("{:.4}", evaluation.values[0].all()), "0.4299");
//! assert_eq!(evaluation.values[1].all(), 0.25);
//!
//! // is it valid?
//! let edition = Edition::find(Some(TextTask::Controversial), 2021).unwrap();
//! let verdict = verify(run.as_bytes(), &Rules::of(edition));
//! assert!(is_valid(&verdict.findings));
//! println!("{}", verdict.findings[0]); // warning: nothing for 48 topics: 53–100 (…)
//! # assert!(verdict.findings[0].to_string().starts_with("warning: nothing for 48 topics: 53–100"));
//! # Ok::<(), riposte_eval::Error>(())
//! ```
//!
//! | what | where |
//! |---|---|
//! | formats | [`topic`], [`run`], [`qrels`], [`candidates`]; what differs between the years of the lab: [`edition`] |
//! | is a run valid? | [`verify`](mod@verify), also by the checks of TIRA |
//! | how good is it? | [`evaluate()`] by the names of measures in [`measure`], [`evaluate_by`] several judgements; [`graded`], [`confusion`] and [`images`] for more detail |
//! | is one better? | [`compare`]: tables, confidence intervals, paired tests of two or all runs, effect sizes |
//! | what do other evaluators read? | [`plain`] |
//! | why is a document ranked there? | [`explanation`], and [`explained`] for its file |
//! | what the program riposte uses, too | [`objects`] in the titles of comparative questions, [`lines`] of JSON, numbers by [`chance`] |
//!
//! Measures have the names and the values of [ir_measures](https://ir-measur.es) and trec_eval; `nDCG(touche=2021)@5` is that of the organisers' script.
//!
//! The crate reads texts and bytes; opening files is the caller's. Readers accept what teams really submit: a line that cannot be read is a
//! [`LineError`] beside the lines that can. What comes in may be hostile: nothing in it makes a function panic, and [`escaped`] makes it safe to
//! print.

#![warn(missing_docs)]

mod attainable;
pub mod candidates;
pub mod chance;
pub mod compare;
pub mod confusion;
pub mod edition;
mod error;
mod escape;
mod evaluate;
pub mod explained;
pub mod explanation;
mod field;
pub mod graded;
mod id;
pub mod images;
pub mod limits;
pub mod lines;
pub mod measure;
pub mod objects;
pub mod plain;
pub mod qrels;
mod ranx;
pub mod run;
mod stance;
mod stances;
pub mod topic;
mod values;
pub mod verify;

#[doc(inline)]
pub use edition::TextTask;
pub use error::{Error, LineError};
pub use escape::{Escaped, escaped, escaped_lines};
pub use evaluate::{Detail, JudgedBy, RunEvaluation, evaluate, evaluate_by};
#[doc(inline)]
pub use explanation::{Explanation, Name, NumberId};
pub use id::{DocId, TopicId};
pub use stance::{ObjectStance, Stance};
pub use values::MeasureValues;

/// The example of the README is compiled with the doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
