//! A run from a collection and topics to its files: what is opened, ranked, described and written.

pub mod description;
pub mod images;
pub mod open_collection;
pub mod resources;
pub mod run_files;
pub mod service;
pub mod shelf;
pub mod texts;
