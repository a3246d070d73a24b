//! The valence of a text, from word lists: VADER (with its rules) and AFINN (the words alone).
//!
//! VADER is our own port of the reference of the field, Python's `vaderSentiment` 3.3.2, and gives its
//! `compound` to the last of its four decimals (`tests/reference/vader.json`, made by
//! `tests/reference/sentiment.py`). The crate `vader_sentiment` 0.1.1 is not used: it scores
//! whole pages up to 1.93 apart from Python's, its rules cannot be reached one by one, and even its lexicon is
//! an older one (without "heart" and "hearts"). So the package's own lexicon is here, cut to the
//! columns that its code reads, with its MIT licence beside it.
//!
//! AFINN's list is under the ODbL and is not part of this repository; it is read from a file.

mod afinn;
mod vader;

pub use afinn::{Afinn, Valence};
pub use vader::Vader;

/// Stored with VADER's values; its number changes when they do.
pub const PRODUCER: &str = "vader/1";
