//! What keeps an installation in order: the cache, and models that a user adds.

pub mod add_model;
pub mod cache;
