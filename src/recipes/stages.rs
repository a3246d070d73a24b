//! The stages of recipes that only one published team used.

pub use crate::systems::manifold::{self, Manifold};
pub use crate::systems::picture_clusters::PictureClusters;
pub use crate::systems::proximity::TermPairs;
pub use crate::systems::text_clusters::{ClusterLikeness, ClusterRecipe};
