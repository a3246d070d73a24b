//! What does a person get who asks about one text: its stance, its quality?

pub mod quality;
pub mod stance;
