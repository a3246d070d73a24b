//! Topics: what does a topic ask? Its claims and polarity, the prompts for CLIP, the word lists of opinion and comparison, and the ways
//! to split a text into words, sentences and passages, and parts of speech.

mod claims;
pub(crate) mod lexicon;
pub mod passages;
pub(crate) mod prompts;
pub mod question;
pub mod tagger;
pub mod words;
