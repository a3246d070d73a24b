//! A run from a collection and topics to its files: what is asked, planned, opened, ranked, described and written.

pub mod description;
pub mod finished;
pub mod images;
pub(crate) mod open_collection;
pub mod plan;
pub mod resources;
pub mod run_files;
pub mod service;
mod shelf;
pub mod texts;
