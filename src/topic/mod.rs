//! Topics: what a topic asks.

pub mod prompts;
pub mod question;
pub mod words;
