//! A run from a collection and topics to its files: what is opened, ranked, described and written.

pub mod description;
pub mod images;
pub(crate) mod open_collection;
pub mod resources;
pub mod run_files;
pub mod service;
pub(crate) mod shelf;
pub mod texts;
