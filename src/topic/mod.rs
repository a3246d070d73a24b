//! What does a topic ask? The words to search for, the claims of both sides, and the prompts for CLIP. The crate `riposte_claims` reads the title.

pub(crate) mod prompts;
pub mod question;
