//! The valence of a text from word lists: VADER (with its rules) and AFINN (only the words).
//!
//! VADER is ported from its reference implementation, Python's `vaderSentiment` 3.3.2, and returns the same `compound` in all four decimals
//! (`tests/reference/vader.json`, made by `tests/reference/sentiment.py`). The crate `vader_sentiment` 0.1.1 is not used: its results for whole pages
//! differ, its rules cannot be called separately, and its lexicon is older (without "heart" and "hearts"). The lexicon here is that of the Python
//! package, reduced to the columns that its code reads, with its MIT licence beside it.
//!
//! AFINN's list is licensed under the ODbL and not part of this repository. It is read from a file.

mod afinn;
mod channels;
mod vader;

pub use afinn::Afinn;
pub use channels::{AfinnScores, AfinnValence, VaderScores, VaderValence};
pub use vader::Vader;
