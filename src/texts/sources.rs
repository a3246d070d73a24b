//! What the stages of a text task share.

use super::dense::DenseSearch;
use crate::index::inverted::InvertedIndex;
use crate::index::wordnet::WordNet;
use crate::reading::Reader;
use crate::systems::text_clusters::ClusterLikeness;

/// The resources from which a ranking is computed.
pub struct TextRankingSources<'a, 'm> {
    /// One index for each of the approach's retrievals, in their order.
    pub corpora: &'a [&'a InvertedIndex],
    pub reader: &'a mut Reader<'m>,
    pub wordnet: Option<&'a WordNet>,
    /// The dense search for all topics.
    pub dense: Option<&'a DenseSearch<'a>>,
    /// The clusters of the documents, compared with all topics.
    pub clusters: Option<&'a ClusterLikeness>,
}
