//! What does a topic ask? The words to search for, the claims of both sides, and the prompts for CLIP. The crate `riposte_claims` reads the title.

pub(crate) mod prompts;
pub mod question;

/// The id of the topic that a single question becomes. No collection has a topic with this id, so facts about its own topics (ranks in a crawl) do not count
/// for the question.
pub const ASKED: &str = "asked";
