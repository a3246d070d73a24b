//! The limits of a request. docs/limits.md of the repository says what happens beyond each number.

/// The characters of a question, and of a claim. `riposte ask` has the same limit.
pub const MAX_QUESTION: usize = 1_000;

/// The bytes of a query string. A question of [`MAX_QUESTION`] characters has up to 12,000 bytes when each is escaped.
pub const MAX_QUERY_BYTES: usize = 16 << 10;

/// The fields of a query string. Each is compared with all others.
pub const MAX_FIELDS: usize = 32;

/// The results of a search.
pub const MAX_HITS: usize = 10_000;

/// The documents of a debate: arguments and images on each side.
pub const MAX_NUMBER: usize = 100;

/// The texts in one request for stances or qualities.
pub const MAX_TEXTS: usize = 1_000;

/// The messages of a conversation.
pub const MAX_MESSAGES: usize = 100;

/// The characters of a message.
pub const MAX_MESSAGE: usize = 10_000;

/// The bytes of the name of a collection, of an id and of the name of a portal.
pub const MAX_NAME_BYTES: usize = 512;

/// The bytes of the body of a request. Each connection can hold so many.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// The bytes of the first line and the headers of a request.
pub const MAX_HEAD_BYTES: usize = 64 << 10;

/// The headers of a request.
pub const MAX_HEADERS: usize = 100;

/// The bytes of an answer. The longest answers are 10,000 documents, which a client had better ask for in parts.
pub const MAX_ANSWER_BYTES: usize = 64 << 20;

/// The bytes of a token, at least and at most: a short one can be guessed.
pub const TOKEN_BYTES: std::ops::RangeInclusive<usize> = 16..=256;
