//! Is a document about a topic, and is any document of a ranking about it?
//!
//! What a document and a topic have in common becomes a probability: the cosine of their sentence vectors or, without vectors, the words of the topic
//! that the document has, which is less certain. With vectors, words add nothing. The numbers were learned from questions that collections answer
//! and questions about other matters (`benches/absence.py`, docs/results.md).

use riposte_eval::Explanation;
use serde::{Deserialize, Serialize};

use super::{BIAS, FEATURE, explain_logistic};

/// The probability that a document is about the topic.
pub(crate) const ABOUT: &str = "about";

/// What a document and a topic have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TopicMatch {
    /// The largest cosine of the topic's sentence vector to one of the document's.
    Sentences(f64),
    /// How many of the topic's words the document has, and how many there are, without stop words.
    Words { shared: usize, of: usize },
}

/// What a presence was judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    Sentences,
    /// No sentence model is used.
    Words,
}

/// How a value of [`TopicMatch`] becomes the log-odds that a document is about the topic.
struct Calibration {
    bias: f64,
    weight: f64,
    /// If the probability of the likeliest document is below this, nothing is about the topic.
    least: f64,
}

/// A document with at least this probability is more likely about the topic than not.
const LIKELY: f64 = 0.5;

/// What stands above the documents of a list that are less likely to be about its topic.
pub const LESS_LIKELY: &str = "less likely to be about it";

/// The name of a cosine in an explanation. It tells the basis.
const LIKENESS: &str = "likeness of sentences";

impl Basis {
    /// What a message adds to a judgement that is less reliable.
    pub fn remark(self) -> &'static str {
        match self {
            Basis::Sentences => "",
            Basis::Words => ", judged by words only",
        }
    }

    /// The numbers that `benches/absence.py` prints for all of its collections.
    fn calibration(self) -> Calibration {
        match self {
            Basis::Sentences => Calibration {
                bias: -6.37,
                weight: 19.42,
                least: 0.96,
            },
            Basis::Words => Calibration {
                bias: -3.69,
                weight: 4.15,
                least: 0.48,
            },
        }
    }
}

impl TopicMatch {
    /// The probability that the document is about the topic, with what it was computed from.
    pub fn about(self) -> Explanation {
        let (basis, name, value) = match self {
            TopicMatch::Sentences(cosine) => (Basis::Sentences, LIKENESS, cosine),
            // three of six words say more than one of two
            TopicMatch::Words { shared, of } => {
                let value = shared as f64 / (of.max(1) as f64).sqrt();
                (Basis::Words, "words of the topic", value)
            }
        };
        let Calibration { bias, weight, .. } = basis.calibration();
        let mut how = format!("weight {weight} × {value:.4}");
        if let TopicMatch::Words { shared, of } = self {
            how += &format!(", {shared} of {of} words by the root of {of}");
        }
        let part = Explanation::new((FEATURE, name), weight * value).with_how(how);
        let parts = vec![Explanation::new(BIAS, bias), part];
        explain_logistic(ABOUT, bias + weight * value, parts).named("about the topic")
    }
}

/// Whether a ranking has a document about its topic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Presence {
    /// The probability that the likeliest of the first documents is about the topic.
    pub about: f64,
    /// If `about` is below this, nothing in the collection is about the topic.
    pub least: f64,
    pub by: Basis,
}

impl Presence {
    /// The presence from what [`TopicMatch::about`] says of the first documents of a ranking, in any order. `None` without documents, and for
    /// explanations that were made by something else.
    pub fn of<'a>(about: impl IntoIterator<Item = &'a Explanation>) -> Option<Presence> {
        let about = about.into_iter();
        let best = about.reduce(|a, b| if b.value() > a.value() { b } else { a })?;
        let by = match best.part((FEATURE, LIKENESS)) {
            Some(_) => Basis::Sentences,
            None => Basis::Words,
        };
        Some(Presence {
            about: best.value(),
            least: by.calibration().least,
            by,
        })
    }

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
}

/// Says that nothing is about a topic.
pub fn nothing(presence: &Presence) -> String {
    let Presence { about, least, by } = presence;
    let by = by.remark();
    format!(
        "This collection seems to have nothing about it: the likeliest result is about it with a probability of {about:.2}, below {least}{by}. These are only the nearest that it has."
    )
}

/// The place in a list, from 0, at which documents begin that are less likely to be about its topic; `None` if there are none. `about` are the
/// probabilities of its documents, until the first that was not judged. The documents before the place are together as much more likely about the topic
/// than not as at any place, so one document in the tail that is about it does not move the place to the end of the list.
pub fn padding(about: impl IntoIterator<Item = Option<f64>>) -> Option<usize> {
    let (mut sum, mut best, mut place, mut judged) = (0.0, 0.0, 0, 0);
    for probability in about.into_iter().map_while(|probability| probability) {
        judged += 1;
        sum += probability - LIKELY;
        if sum >= best {
            (best, place) = (sum, judged);
        }
    }
    (place < judged).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(shared: usize, of: usize) -> Explanation {
        TopicMatch::Words { shared, of }.about()
    }

    fn cosine(cosine: f64) -> Explanation {
        TopicMatch::Sentences(cosine).about()
    }

    #[test]
    fn more_in_common_is_more_likely_and_a_ranking_is_as_present_as_its_best_document() {
        assert!(words(2, 2).value() > words(1, 2).value());
        assert!(words(3, 6).value() > words(1, 2).value());
        assert_eq!(words(0, 0).value(), words(0, 5).value());
        assert!(cosine(0.6).value() > cosine(0.5).value());
        let (near, far) = (cosine(0.8), cosine(0.1));
        let presence = Presence::of([&far, &near, &far]).unwrap();
        assert_eq!(
            (presence.about, presence.by),
            (near.value(), Basis::Sentences)
        );
        assert!(!presence.is_nothing());
        assert!(Presence::of([&far]).unwrap().is_nothing());
        let by_words = Presence::of([&words(4, 4)]).unwrap();
        assert!(by_words.by == Basis::Words && !by_words.is_nothing());
        assert!(Presence::of([&words(0, 3)]).unwrap().is_nothing());
        assert_eq!(Presence::of([]), None);
    }

    #[test]
    fn padding_begins_where_the_likely_documents_end() {
        for (place, list) in [
            (Some(3), &[0.9, 0.8, 0.7, 0.2, 0.1][..]),
            (Some(0), &[0.2, 0.1]),
            (None, &[0.9, 0.9]),
            (None, &[]),
            // one weak document is not the end, and one strong one in the tail does not move it
            (Some(3), &[0.9, 0.4, 0.9, 0.1]),
            (Some(1), &[0.9, 0.1, 0.1, 0.6]),
        ] {
            let known = list.iter().copied().map(Some);
            assert_eq!(padding(known.clone()), place, "{list:?}");
            // what was not judged is not padding by itself
            assert_eq!(padding(known.chain([None, Some(0.1)])), place, "{list:?}");
        }
    }

    proptest! {
        #[test]
        fn lists_without_unlikely_documents_have_no_padding(list in prop::collection::vec(0.5..1.0f64, 0..30)) {
            prop_assert_eq!(padding(list.into_iter().map(Some)), None);
        }
    }
}
