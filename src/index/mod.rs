//! For a topic, which documents and how well: the text index that all three tasks share, vectors,
//! and what a topic's words ask for.

pub mod analyzer;
pub mod corpus;
pub mod feedback;
pub mod fusion;
pub mod images;
pub mod prompts;
pub mod proximity;
pub mod query;
pub mod search;
pub mod similarity;
pub mod stop_words;
pub mod vector;
pub mod wordnet;
