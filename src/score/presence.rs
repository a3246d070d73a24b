//! Is a document about a topic, and is any document of a ranking about it?
//!
//! What a document and a topic have in common becomes a probability: the cosine of their sentence vectors or, without vectors, the words of the topic
//! that the document has, which is less certain. With vectors, words add nothing. The numbers were learned from questions that collections answer
//! and questions about other matters (`benches/absence.py`, docs/results.md).

use riposte_eval::Explanation;
use riposte_page::presence::{Basis, Presence};

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

/// How a value of [`TopicMatch`] becomes the log-odds that a document is about the topic.
struct Calibration {
    bias: f64,
    weight: f64,
    /// If the probability of the likeliest document is below this, nothing is about the topic.
    least: f64,
}

/// A document with at least this probability is more likely about the topic than not.
const LIKELY: f64 = 0.5;

/// The name of a cosine in an explanation. It tells the basis.
const LIKENESS: &str = "likeness of sentences";

/// The numbers that `benches/absence.py` prints for all of its collections.
fn calibration(basis: Basis) -> Calibration {
    match basis {
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
        let Calibration { bias, weight, .. } = calibration(basis);
        let mut how = format!("weight {weight} × {value:.4}");
        if let TopicMatch::Words { shared, of } = self {
            how += &format!(", {shared} of {of} words by the root of {of}");
        }
        let part = Explanation::new((FEATURE, name), weight * value).with_how(how);
        let parts = vec![Explanation::new(BIAS, bias), part];
        explain_logistic(ABOUT, bias + weight * value, parts).named("about the topic")
    }
}

/// The presence from what [`TopicMatch::about`] says of the first documents of a ranking, in any order. `None` without documents, and for explanations that
/// were made by something else.
pub fn presence_of<'a>(about: impl IntoIterator<Item = &'a Explanation>) -> Option<Presence> {
    let about = about.into_iter();
    let best = about.reduce(|a, b| if b.value() > a.value() { b } else { a })?;
    let by = match best.part((FEATURE, LIKENESS)) {
        Some(_) => Basis::Sentences,
        None => Basis::Words,
    };
    Some(Presence {
        about: best.value(),
        least: calibration(by).least,
        by,
    })
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
        let presence = presence_of([&far, &near, &far]).unwrap();
        assert_eq!(
            (presence.about, presence.by),
            (near.value(), Basis::Sentences)
        );
        assert!(!presence.is_nothing());
        assert!(presence_of([&far]).unwrap().is_nothing());
        let by_words = presence_of([&words(4, 4)]).unwrap();
        assert!(by_words.by == Basis::Words && !by_words.is_nothing());
        assert!(presence_of([&words(0, 3)]).unwrap().is_nothing());
        assert_eq!(presence_of([]), None);
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
