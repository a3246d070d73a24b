//! riposte's part of the comparisons in `benches/`: the stages of extraction, one at a time.

pub mod rounds;
pub mod stages;
