//! The stages of text recipes that only one published team used.

pub use crate::systems::proximity::Pairs;
