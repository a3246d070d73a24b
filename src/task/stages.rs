//! The stages of text recipes that one published team alone used.

pub use crate::systems::proximity::Pairs;
