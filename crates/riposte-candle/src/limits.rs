//! What is read at most. docs/limits.md of the repository has the reason for each number, and what happens beyond it.

/// Maximum number of tokens of a text. These models can read 8,192, for which the scores of attention in one layer would take more than 3 GB.
pub const MAX_TOKENS: usize = 2048;
