//! What does a person get who asks: about a question, or about the stance and the quality of one text?

mod documents;
mod judge;
pub mod marker;
pub mod quality;
pub mod question;
pub mod stance;
