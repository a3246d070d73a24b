//! What requests, answers and connections may have, and how long they may take. docs/limits.md of the repository says what happens beyond each number.

use std::time::Duration;

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

/// A longer page helps nobody. `/api/search` has more.
pub const MAX_SHOWN: usize = 500;

/// Of the 700 MB that the whole process may take, most belongs to models.
pub const MAX_ANSWERS_BYTES: usize = 256 << 20;

/// A call, with its wait.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A quick call, with its wait.
pub const QUICK_DEADLINE: Duration = Duration::from_secs(10);

/// Those at the end would wait for longer than their deadline, unless most are asked again.
pub const MAX_WAITING: usize = 64;

/// The time for a head.
pub const HEAD_TIME: Duration = Duration::from_secs(10);

/// The time for a body.
pub const BODY_TIME: Duration = Duration::from_secs(10);

/// The time for taking an answer.
pub const WRITE_TIME: Duration = Duration::from_secs(30);

/// A process may have 1,024 open files on most systems, and indexes take some of them. Each connection can hold a body of 1 MiB.
pub const MAX_CONNECTIONS: usize = 256;

/// How long a client beyond [`MAX_CONNECTIONS`] is listened to: a request mostly comes right behind its connection.
pub const MOMENT: Duration = Duration::from_millis(10);

/// The time for its request and for the answer to it.
pub const HEARING: Duration = Duration::from_secs(1);

/// The number of such clients that are heard at once.
pub const MAX_HEARD: usize = 16;

/// Answers that are kept.
pub const CACHE_BYTES: usize = 64 << 20;

/// The time for answers in progress when a server ends.
pub const GRACE: Duration = Duration::from_secs(10);

/// How long the end waits for threads whose calls have been stopped.
pub const STOP_TIME: Duration = Duration::from_secs(2);
