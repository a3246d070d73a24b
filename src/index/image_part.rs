//! Images of which an index has only a part: a shard's, or those that shards have found.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::corpus::Dialogue;

/// Which part of a collection an index has.
#[derive(Debug)]
pub enum ImagePart {
    /// A shard. By field and words of a query, the best score in the whole collection.
    Shard(HashMap<(String, String), f64>),
    /// What shards have found.
    Found(Arc<Dialogue>),
}

/// The request for the candidates of all topics.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolRequest {
    pub bests: Vec<BestScore>,
}

/// The best score of a query in a field of the whole collection: other scores are divided by it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestScore {
    pub field: String,
    pub words: String,
    pub best: f64,
}
