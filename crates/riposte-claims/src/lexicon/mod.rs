//! Word lists about opinion and comparison.
//!
//! The lists were written for riposte; no published source is recorded for them. Words are in lower case. riposte has learned weights of features
//! that are counted with these lists, so a changed list needs new weights. For the same reason, overlapping lists are merged only if nothing uses
//! one of them without the other.
//!
//! ```
//! use riposte_claims::lexicon::opinion::{SUPPORT, negates};
//! use riposte_claims::words::{count, tokens};
//!
//! let tokens = tokens("Free museums are a great benefit, aren't they?");
//! assert_eq!(count(&tokens, SUPPORT), 2.0);
//! assert!(tokens.iter().any(|token| negates(&token.lower)));
//! ```

pub mod comparison;
pub mod opinion;

/// The words of a list, which have single blanks between them. The compiler checks that there are `N`.
const fn list<const N: usize>(words: &str) -> [&str; N] {
    let mut list = [""; N];
    let (mut rest, mut at, mut end) = (words, 0, 0);
    while end < rest.len() {
        if rest.as_bytes()[end] == b' ' {
            (list[at], rest) = rest.split_at(end);
            (_, rest) = rest.split_at(1);
            (at, end) = (at + 1, 0);
        } else {
            end += 1;
        }
    }
    list[at] = rest;
    assert!(at + 1 == N, "the list has another number of words");
    list
}

#[cfg(test)]
mod tests {
    use super::comparison::*;
    use super::opinion::*;

    #[test]
    fn no_list_repeats_a_word_or_has_capitals() {
        for list in [
            AGAINST,
            SHORT_STEM_ENDINGS,
            NOT_AGAINST,
            CAUSES,
            EVILS,
            NEGATIONS,
            REDUCTIONS,
            NEGATIVE_WORDS,
            SUPPORT,
            OPPOSE,
            CLAIM_WORDS,
            FIRST_PERSON,
            WEIGHING,
            BETTER,
            WORSE,
            TAKES_TO,
            UNWANTED,
            PREFER,
            CHOOSE,
            SUPERLATIVES,
            COMPARING,
            CONDITIONS,
            CONTRASTS,
            ALIKE,
            PROS_AND_CONS,
            CLAUSE_BREAKS,
            OBJECT_STOP_WORDS,
        ] {
            let mut sorted = list.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), list.len(), "{list:?}");
            assert!(
                list.iter().all(|word| *word == word.to_lowercase()),
                "{list:?}"
            );
        }
    }

    #[test]
    fn contractions_of_not_negate() {
        for word in ["not", "never", "isn't", "don’t"] {
            assert!(negates(word), "{word}");
        }
        for word in ["none", "dont", "knot", "n"] {
            assert!(!negates(word), "{word}");
        }
    }
}
