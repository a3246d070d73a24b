//! What requests whose answers are kept have in common.

use serde::Serialize;

use super::{
    Address, Conversation, Debate, Explain, Page, QualityQuestion, Search, StanceQuestion,
    WordSearch,
};

/// A request whose answer is kept.
pub(crate) trait Asked: Serialize + Send + 'static {
    /// What was typed, for the log.
    fn question(&self) -> Option<&str> {
        None
    }

    /// The collection on whose version the answer depends; `None` for the first one.
    fn collection(&self) -> Option<&str> {
        None
    }
}

impl Asked for Search {
    fn question(&self) -> Option<&str> {
        Some(&self.question)
    }

    fn collection(&self) -> Option<&str> {
        self.collection.as_deref()
    }
}

impl Asked for Explain {
    fn question(&self) -> Option<&str> {
        Some(&self.question)
    }

    fn collection(&self) -> Option<&str> {
        self.collection.as_deref()
    }
}

impl Asked for Debate {
    fn question(&self) -> Option<&str> {
        Some(&self.question)
    }

    fn collection(&self) -> Option<&str> {
        self.collection.as_deref()
    }
}

impl Asked for Page {
    fn question(&self) -> Option<&str> {
        self.question.as_deref()
    }

    fn collection(&self) -> Option<&str> {
        self.collection.as_deref()
    }
}

impl Asked for WordSearch {
    fn question(&self) -> Option<&str> {
        Some(&self.query)
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.collection)
    }
}

impl Asked for Address {
    fn collection(&self) -> Option<&str> {
        Some(&self.collection)
    }
}

impl Asked for StanceQuestion {}

impl Asked for QualityQuestion {}

impl Asked for Conversation {
    fn question(&self) -> Option<&str> {
        self.messages.last().map(|message| message.content.as_str())
    }
}

/// A request, with whatever else decides its answer.
impl<R: Asked, M: Serialize + Send + 'static> Asked for (R, M) {
    fn question(&self) -> Option<&str> {
        self.0.question()
    }

    fn collection(&self) -> Option<&str> {
        self.0.collection()
    }
}
