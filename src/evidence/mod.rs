//! What can be said of one document alone, before any topic is known.

pub mod clip;
pub mod ocr;
pub mod page;
pub mod picture;
pub mod sentence;
pub mod sentiment;
