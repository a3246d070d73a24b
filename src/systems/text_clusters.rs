//! Heimdall (Touché 2021): how near the topic is to the cluster of a text.

use anyhow::Result;

use crate::score::reranker::{Assessment, Candidates, Need, Reading, Reranker};

/// 1 plus the cosine between the topic and the mean vector of the text's cluster, in [0, 2]. A text without the clustered field has no value.
pub struct Cluster;

impl Reranker for Cluster {
    fn name(&self) -> &'static str {
        "cluster"
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Clusters]
    }

    fn assess(&self, documents: &Candidates, _: &mut Reading) -> Result<Vec<Assessment>> {
        let nearness = documents.known(self.name()).iter().copied();
        Ok(Assessment::all(nearness))
    }
}
