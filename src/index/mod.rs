//! For a topic, which documents and how well: the text index that all three tasks share, vectors,
//! and what a topic's words ask for.

pub mod analyzer;
pub mod images;
pub mod prompts;
pub mod query;
pub mod text;
pub mod vector;
