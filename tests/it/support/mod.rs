//! What the tests share.

pub mod need;

use std::path::PathBuf;

/// The repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
