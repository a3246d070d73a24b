//! The part of a collection of images that an index contains, and what is asked of shards about the collection.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::corpus::Dialogue;

/// The part of a collection that an index contains.
#[derive(Debug)]
pub enum ImagePart {
    /// The images of a shard. The map has the best score in the whole collection, by the name of a field and the words of a query.
    Shard(HashMap<(String, String), f64>),
    /// The images that shards have found.
    Found(Arc<Dialogue>),
}

/// The request for the candidates of all topics.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolRequest {
    pub bests: Vec<BestScore>,
}

/// The best score of a query in a field, over the whole collection. Scores are divided by it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestScore {
    pub field: String,
    pub words: String,
    pub best: f64,
}
