//! The picture itself: its pixels, statistics of its colours and edges, and a hash for near-duplicates.

mod decode;
mod hash;
mod jpeg;
mod statistics;

pub use decode::{DecodedImage, decode};
pub use hash::{hamming, perceptual_hash};
pub(crate) use jpeg::is_cut_jpeg;
pub use statistics::{Picture, measure};

/// Identifies the statistics and the hash in the evidence store. A change of any of them needs a new number.
pub(crate) const PRODUCER: &str = "picture 1";
