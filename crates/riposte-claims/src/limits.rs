//! What is read at most. docs/limits.md of the repository has the reason for each number, and what happens beyond it.

/// Maximum number of tokens in a sentence. Menus and tables of web pages have no full stop and would make sentences of a thousand words.
pub const MAX_SENTENCE_TOKENS: usize = 60;

/// Maximum number of words of a title that is read as a sentence. A longer one is its own claim.
pub const MAX_CLAIM_WORDS: usize = 80;

/// Maximum length of a title that is read as a sentence. Signs between letters make more words than blanks do, and the time is quadratic in their number:
/// 8 kB of "d?d?" took a minute.
pub const MAX_CLAIM_BYTES: usize = 1000;
