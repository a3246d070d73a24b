//! Whether anything in a collection is about a question, in words.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What stands above the documents of a list that are less likely to be about its topic.
pub const LESS_LIKELY: &str = "less likely to be about it";

/// What a presence was judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Vectors of sentences.
    Sentences,
    /// Words that question and document share, which is less reliable.
    Words,
}

/// Whether anything in a collection is about a question.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Presence {
    /// The probability of the likeliest document.
    pub about: f64,
    /// If `about` is below this, no document counts as being about the question.
    pub least: f64,
    /// What it was judged by.
    pub by: Basis,
}

impl Basis {
    /// What a message adds to a judgement that is less reliable.
    pub fn remark(self) -> &'static str {
        match self {
            Basis::Sentences => "",
            Basis::Words => ", judged by words only",
        }
    }
}

impl Presence {
    /// The judgement of several kinds of documents, such as images and arguments, together. Nothing is about the topic only if that holds for each kind.
    /// Otherwise this is the judgement of the first kind that has something. If none has, it is the likeliest.
    pub fn together(of_kinds: impl IntoIterator<Item = Presence>) -> Option<Presence> {
        of_kinds.into_iter().reduce(|best, next| {
            let is_likelier = next.about > best.about;
            match (best.is_nothing(), next.is_nothing()) {
                (true, false) => next,
                (true, true) if is_likelier => next,
                _ => best,
            }
        })
    }

    /// Whether nothing is about the topic.
    pub fn is_nothing(&self) -> bool {
        self.about < self.least
    }

    /// Says that nothing is about the topic.
    pub fn nothing(&self) -> String {
        let Presence { about, least, by } = self;
        let by = by.remark();
        format!(
            "This collection seems to have nothing about it: the likeliest result is about it with a probability of {about:.2}, below {least}{by}. These are only the nearest that it has."
        )
    }
}
