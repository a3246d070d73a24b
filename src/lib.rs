//! riposte: image and text retrieval for arguments, for the Touché tasks.
//!
//! The rooms stand in the order in which the data walks; each uses only the rooms above it
//! (`ARCHITECTURE.md`, "Invariants"; `tests/it/floors.rs` reads the imports).

// the documentation is for those who work on riposte, and shows private items too (`make doc`)
#![allow(rustdoc::private_intra_doc_links)]
// these macros panic if nothing can be written: `cli` prints messages and results in its own way
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub mod disk;
pub mod trec;
mod web;

pub mod collection;
pub mod nn;
pub mod service;
pub mod weights;

pub mod evidence;
pub mod topic;

pub mod index;
pub mod reading;

pub mod score;

pub mod judge;
pub mod task;

pub mod report;

pub mod cli;
