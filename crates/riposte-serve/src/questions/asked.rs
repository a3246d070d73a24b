//! Which requests have answers that are cached.

use serde::Serialize;

use super::{
    Address, BrowserRequest, Conversation, DebateQuestion, Explain, QualityQuestion, Search,
    StanceQuestion, WordSearch,
};

/// A request whose answer is kept.
pub(crate) trait CachedRequest: Serialize + Send + 'static {
    /// What was typed, for the log.
    fn question(&self) -> Option<&str> {
        None
    }

    /// The collection on whose version the answer depends; `None` for the first one.
    fn collection(&self) -> Option<&str> {
        None
    }
}

impl CachedRequest for Search {
    fn question(&self) -> Option<&str> {
        Some(&self.question)
    }

    fn collection(&self) -> Option<&str> {
        self.collection.as_deref()
    }
}

impl CachedRequest for Explain {
    fn question(&self) -> Option<&str> {
        Some(&self.question)
    }

    fn collection(&self) -> Option<&str> {
        self.collection.as_deref()
    }
}

impl CachedRequest for DebateQuestion {
    fn question(&self) -> Option<&str> {
        Some(&self.question)
    }

    fn collection(&self) -> Option<&str> {
        self.collection.as_deref()
    }
}

impl CachedRequest for BrowserRequest {
    fn question(&self) -> Option<&str> {
        self.question.as_deref()
    }

    fn collection(&self) -> Option<&str> {
        self.collection.as_deref()
    }
}

impl CachedRequest for WordSearch {
    fn question(&self) -> Option<&str> {
        Some(&self.query)
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.collection)
    }
}

impl CachedRequest for Address {
    fn collection(&self) -> Option<&str> {
        Some(&self.collection)
    }
}

impl CachedRequest for StanceQuestion {}

impl CachedRequest for QualityQuestion {}

impl CachedRequest for Conversation {
    fn question(&self) -> Option<&str> {
        self.messages.last().map(|message| message.content.as_str())
    }
}

/// A request together with what else decides its answer.
impl<R: CachedRequest, M: Serialize + Send + 'static> CachedRequest for (R, M) {
    fn question(&self) -> Option<&str> {
        self.0.question()
    }

    fn collection(&self) -> Option<&str> {
        self.0.collection()
    }
}
