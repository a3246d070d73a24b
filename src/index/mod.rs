//! Retrieval: for a query, which documents, and how well do they match? The text index that all three tasks share, and vectors.

pub mod analyzer;
pub mod dense;
pub mod feedback;
pub mod fusion;
pub mod images;
pub mod inverted;
mod kstem;
mod letters;
pub mod options;
pub mod passages;
pub mod search;
pub mod similarity;
mod splitter;
mod stemmer;
pub(crate) mod stop_words;
mod term_cache;
pub mod vector;
pub mod wordnet;

pub(crate) use letters::hash_of_words;
use riposte_eval::DocId;

/// A document with its score for a topic. Higher is better.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredDoc {
    pub doc: DocId,
    pub score: f64,
}
