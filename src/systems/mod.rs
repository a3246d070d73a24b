//! What did one published team do that nobody else does? A file (or a folder) a system, behind the traits of the lower rooms. Only the lists in
//! `task/` name what stands here.

pub mod aramis;
pub mod arguing;
pub mod chatnoir;
pub(crate) mod picture_clusters;
pub mod proximity;
pub mod svr;
pub mod tagged;
pub mod text_clusters;
pub mod trees;
