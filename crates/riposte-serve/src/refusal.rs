//! Why there is no answer, and the status code that says so.

use std::time::Duration;

/// Why a request has no answer. Its text is what the client reads, one sentence without names of files; only [`Refusal::Failed`] and
/// [`Refusal::Panicked`] have a reason for the log instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// 404: there is no collection of this name.
    #[error("there is no collection {0:?}")]
    UnknownCollection(String),
    /// 404: the collection has no document, or no picture, with this id.
    #[error("there is no document {0:?}")]
    UnknownDocument(String),
    /// 400: the request does not say what is wanted, in one clear sentence.
    #[error("{0}")]
    BadRequest(String),
    /// 422: the request can be read but not answered, such as a question in another language. One clear sentence.
    #[error("{0}")]
    Unanswerable(String),
    /// 503: the collection is damaged or being built. Others can be asked.
    #[error("{reason}")]
    Unavailable {
        /// One sentence.
        reason: String,
        /// When it is worth asking again.
        retry_after: Duration,
    },
    /// 503: too many calls wait already.
    #[error("too many requests wait for an answer; try again later")]
    Busy,
    /// 499, which nobody reads: the client has left, or the server ends. A call returns it when its stop flag is set.
    #[error("the call was stopped")]
    Stopped,
    /// 504: the deadline has passed.
    #[error("there was no answer in time")]
    TimedOut,
    /// 500: the reason is for the log.
    #[error("the server failed; its log says why")]
    Failed(String),
    /// 500: the call panicked with this message.
    #[error("the server failed; its log says why")]
    Panicked(String),
    /// Another status code, for what a server refuses before any call: 401, 403, 404, 405, 408, 413, 414, 415 or 421.
    #[error("{1}")]
    Http(u16, String),
}

/// After how many seconds a full queue is worth another try.
const BUSY_SECONDS: u64 = 1;

impl Refusal {
    /// The status code.
    pub fn status(&self) -> u16 {
        match self {
            Refusal::UnknownCollection(_) | Refusal::UnknownDocument(_) => 404,
            Refusal::BadRequest(_) => 400,
            Refusal::Unanswerable(_) => 422,
            Refusal::Unavailable { .. } | Refusal::Busy => 503,
            Refusal::Stopped => 499,
            Refusal::TimedOut => 504,
            Refusal::Failed(_) | Refusal::Panicked(_) => 500,
            Refusal::Http(status, _) => *status,
        }
    }

    /// The value of the header `Retry-After`, in whole seconds, if it is worth asking again.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Refusal::Busy => Some(BUSY_SECONDS),
            Refusal::Unavailable { retry_after, .. } => {
                let rounds_up = u64::from(retry_after.subsec_nanos() > 0);
                Some(retry_after.as_secs().saturating_add(rounds_up))
            }
            _ => None,
        }
    }

    /// What only the log says.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Refusal::Failed(reason) | Refusal::Panicked(reason) => Some(reason),
            _ => None,
        }
    }

    /// There is no place for another connection.
    pub(crate) fn crowded() -> Refusal {
        Refusal::Unavailable {
            reason: "there are too many connections; try again later".to_owned(),
            retry_after: Duration::from_secs(BUSY_SECONDS),
        }
    }

    pub(crate) fn bad(sentence: impl Into<String>) -> Refusal {
        Refusal::BadRequest(sentence.into())
    }
}
