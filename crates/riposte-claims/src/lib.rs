//! Turns an English question into the claims of its two sides, and reads what else its words tell: whether the claim is for or against its subject,
//! and which words approve, reject, negate or compare.
//!
//! ```
//! use riposte_claims::words::sentences;
//! use riposte_claims::{Polarity, claims, negated, polarity};
//!
//! // what do the two sides say?
//! let (claim, counter) = claims("Does caffeine improve athletic performance?");
//! assert_eq!(claim, "caffeine improves athletic performance");
//! assert_eq!(counter, "caffeine does not improve athletic performance");
//! let (claim, counter) = claims("Which is better, a laptop or a desktop?");
//! assert_eq!(claim, "a laptop is better than a desktop");
//! assert_eq!(counter, "a desktop is better than a laptop");
//!
//! // a negation says what the answer "no" would say
//! let negation = negated("All museums should be free of charge.");
//! assert_eq!(negation.as_deref(), Some("Not all museums should be free of charge"));
//!
//! // is the answer yes for the subject or against it? assert_eq!(polarity("Should the voting age be lowered?"), Polarity::For);
//! assert_eq!(polarity("Should bottled water be banned?"), Polarity::Against);
//!
//! // sentences of texts, web pages among them
//! let text = "Home | It costs $1.5 a bottle. Who pays?";
//! let found: Vec<&str> = sentences(text).iter().map(|sentence| sentence.text).collect();
//! assert_eq!(found, ["Home |", "It costs $1.5 a bottle.", "Who pays?"]);
//! ```
//!
//! | what | where |
//! |---|---|
//! | claims of both sides, negation | [`claims()`], [`negated`] |
//! | for or against the subject | [`polarity`], [`polarity_of_words`] |
//! | words and sentences | [`words`] |
//! | parts of speech | [`tagger`] |
//! | words of opinion and comparison | [`lexicon`] |
//!
//! The crate is made for titles as people write them: questions of debate portals and search engines, motions of parliamentary debates, claims,
//! headlines and mere subjects. All functions accept any text: none panics, and a text that is not a question is its own claim. It knows only
//! English.
//!
//! Everything is computed from rules, word lists and the half megabyte of the tagger's weights, which are compiled in and are read when they are
//! first needed. The same text always gives the same result, on any machine.

#![warn(missing_docs)]

mod claims;
mod error;
pub mod lexicon;
pub mod limits;
mod polarity;
pub mod tagger;
pub mod words;

pub use claims::{claims, negated};
pub use error::Error;
pub use polarity::{Polarity, polarity, polarity_of_words};

/// The example of the README is a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
