//! What only one published team did. Each system is a file or a folder, and implements traits of the lower rooms. Only recipes and what ranks by them name the
//! systems.

pub mod aramis;
pub mod arguing;
pub mod chatnoir;
pub(crate) mod k_means;
pub mod manifold;
pub(crate) mod picture_clusters;
pub mod proximity;
pub mod svr;
pub mod tagged;
pub mod text_clusters;
pub mod trees;
