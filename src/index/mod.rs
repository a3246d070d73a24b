//! Retrieval: for a query, which documents, and how well do they match? The text index that all three tasks share, and vectors.

pub mod analyzer;
pub mod corpus;
pub mod feedback;
pub mod fusion;
pub mod images;
pub mod proximity;
pub mod search;
pub mod similarity;
pub(crate) mod stop_words;
pub mod vector;
pub mod wordnet;
