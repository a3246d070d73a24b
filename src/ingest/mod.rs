//! How does something become a collection with evidence and indexes? Extraction, streams, saved pages, folders of the user, shards. Nothing here ranks.

pub mod check_collection;
pub mod extraction;
pub(crate) mod image_index;
pub mod index;
pub mod new_collection;
pub mod own_folder;
pub mod shards;
pub mod stream;
