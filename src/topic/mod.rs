//! What does a topic ask? The room has claims and their polarity, the prompts for CLIP, word lists of opinion and comparison, parts of speech, and
//! the ways to split a text into words, sentences and passages.

mod claims;
pub(crate) mod lexicon;
pub mod passages;
pub(crate) mod prompts;
pub mod question;
pub mod tagger;
pub mod words;
