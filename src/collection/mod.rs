//! Document collections on disk. A broken document is a fault; it never ends a run.

pub mod arguments;
mod braces;
pub mod documents;
pub mod entries;
pub mod frames;
pub mod images;
mod lines;
pub mod parquet;
pub mod passages;
pub mod portal;
pub mod saved;
pub mod shards;
mod source;
pub mod task;
pub mod texts;
pub(crate) mod topics;

pub use crate::events::{Fault, FaultKind};
pub use source::{read_bytes, read_judged, read_judged_stdin, read_regular};
pub use topics::read_topics;
pub(crate) use topics::read_topics_with_faults;
