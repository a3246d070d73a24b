//! Requests to a server: the limits of the crate riposte-serve.

use std::time::Duration;

limits! {
    SERVER

    /// Characters of a question, a claim, a topic, a query by words.
    /// As for `riposte ask`.
    /// `400`.
    pub const MAX_REQUEST_QUESTION: usize = riposte_serve::limits::MAX_QUESTION;

    /// A query string.
    /// A question of the longest kind has up to 12 kB when each character is escaped.
    /// `414`.
    pub const MAX_QUERY_BYTES: usize = riposte_serve::limits::MAX_QUERY_BYTES;

    /// Fields of a query string.
    /// Each field is compared with all others.
    /// `400`.
    pub const MAX_REQUEST_FIELDS: usize = riposte_serve::limits::MAX_FIELDS;

    /// The first line and the headers of a request.
    /// Browsers send one or two kilobytes.
    /// `431`.
    pub const MAX_HEAD_BYTES: usize = riposte_serve::limits::MAX_HEAD_BYTES;

    /// Headers of a request.
    /// Browsers send a dozen.
    /// `431`.
    pub const MAX_REQUEST_HEADERS: usize = riposte_serve::limits::MAX_HEADERS;

    /// The body of a request.
    /// Each connection can hold one.
    /// `413`.
    pub const MAX_BODY_BYTES: usize = riposte_serve::limits::MAX_BODY_BYTES;

    /// Results of a search.
    /// A run has 1,000 for a topic.
    /// `400`.
    pub const MAX_REQUEST_HITS: usize = riposte_serve::limits::MAX_HITS;

    /// Results on a page.
    /// Nobody reads a longer page.
    /// The page has no link to more.
    pub const MAX_PAGE_HITS: usize = riposte_serve::limits::MAX_SHOWN;

    /// The levels of an explanation on a page.
    /// Explanations have about ten; each level is a few calls on the stack.
    /// The deeper ones are not shown.
    pub const MAX_TREE_DEPTH: usize = riposte_page::limits::MAX_TREE_DEPTH;

    /// Documents of a debate on each side.
    /// As for `riposte ask`.
    /// `400`.
    pub const MAX_DEBATE_NUMBER: usize = riposte_serve::limits::MAX_NUMBER;

    /// Texts in a request for stances or qualities.
    /// Each is read by a model.
    /// `400`.
    pub const MAX_REQUEST_TEXTS: usize = riposte_serve::limits::MAX_TEXTS;

    /// Messages of a conversation.
    /// The debates of the lab have six.
    /// `400`.
    pub const MAX_MESSAGES: usize = riposte_serve::limits::MAX_MESSAGES;

    /// Characters of a message.
    /// Each is read by a model.
    /// `400`.
    pub const MAX_MESSAGE: usize = riposte_serve::limits::MAX_MESSAGE;

    /// The name of a collection or of a portal, an id.
    /// The ids of documents have up to 255.
    /// `400`.
    pub const MAX_REQUEST_NAME_BYTES: usize = riposte_serve::limits::MAX_NAME_BYTES;

    /// An answer.
    /// It is in memory until the client has taken it.
    /// `422`.
    pub const MAX_ANSWER_BYTES: usize = riposte_serve::limits::MAX_ANSWER_BYTES;

    /// All answers that are sent at a time.
    /// It is in memory until the client has taken it.
    /// `503`.
    pub const MAX_ANSWERS_BYTES: usize = riposte_serve::limits::MAX_ANSWERS_BYTES;

    /// A call, with its wait.
    /// A person waits no longer.
    /// `504`, and the call is stopped.
    pub const DEADLINE: Duration = riposte_serve::limits::DEADLINE;

    /// A quick call, with its wait.
    /// A person waits no longer.
    /// `504`, and the call is stopped.
    pub const QUICK_DEADLINE: Duration = riposte_serve::limits::QUICK_DEADLINE;

    /// Calls that wait.
    /// They would wait for longer than their deadline.
    /// `503`.
    pub const MAX_WAITING: usize = riposte_serve::limits::MAX_WAITING;

    /// The time for a head.
    /// Slow clients hold a connection.
    /// The connection is closed.
    pub const MAX_HEAD_TIME: Duration = riposte_serve::limits::HEAD_TIME;

    /// The time for a body.
    /// Slow clients hold a connection.
    /// `408`.
    pub const MAX_BODY_TIME: Duration = riposte_serve::limits::BODY_TIME;

    /// The time for taking an answer.
    /// Slow clients hold a connection.
    /// The connection is closed.
    pub const MAX_WRITE_TIME: Duration = riposte_serve::limits::WRITE_TIME;

    /// Connections.
    /// Each has a file handle, and a process may have 1,024 on most systems.
    /// `503`.
    pub const MAX_CONNECTIONS: usize = riposte_serve::limits::MAX_CONNECTIONS;

    /// The time for which a client beyond these connections is heard.
    /// They shall read why they are refused.
    /// An empty `503`.
    pub const HEARING_PAUSE: Duration = riposte_serve::limits::MOMENT;

    /// The time within which such a client is answered.
    /// They shall read why they are refused.
    /// An empty `503`.
    pub const HEARING_TIME: Duration = riposte_serve::limits::HEARING;

    /// Such clients at once.
    /// They shall read why they are refused.
    /// An empty `503`.
    pub const MAX_HEARD: usize = riposte_serve::limits::MAX_HEARD;

    /// Answers that are kept.
    /// They are given again.
    /// The least recently used are forgotten.
    pub const MAX_CACHE_BYTES: usize = riposte_serve::limits::CACHE_BYTES;

    /// The time for answers in progress when a server ends.
    /// Who stops a server does not want to wait.
    /// Calls are stopped.
    pub const GRACE: Duration = riposte_serve::limits::GRACE;

    /// The time for threads when a server ends.
    /// Who stops a server does not want to wait.
    /// Threads end with the process.
    pub const STOP_TIME: Duration = riposte_serve::limits::STOP_TIME;

    /// The time after which a client shall ask again for a collection that is being opened or mended.
    /// Opening takes from seconds to hours.
    /// `503` until then.
    pub const TRY_AGAIN: Duration = Duration::from_secs(5);

    /// Approaches that stay open of a collection, for each sort of document.
    /// Each has indexes, and the models that it needs.
    /// The one that was not used for the longest time is closed.
    pub const MAX_OPEN: usize = 8;

    /// A file with a token.
    /// A token has at most 256 characters.
    /// Error.
    pub const MAX_TOKEN_FILE_BYTES: u64 = 4_096;
}
