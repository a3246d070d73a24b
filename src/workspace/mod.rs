//! The workspace: what has been computed for a collection, and whether it is still valid.
//!
//! A workspace is one SQLite file, with the indexes beside it. Evidence has typed tables in this file ([`crate::evidence::store`]), because people
//! query them. Everything else that a computation leaves is a row of one table ([`Outputs`]): outputs of models, sentence vectors, clusters, answers
//! of services, hashes of files. Only the producer of a value knows what its bytes mean.
//!
//! SQLite keeps a rollback journal and no write-ahead log, so a workspace is a single file while nobody writes to it.

pub(crate) mod blob;
pub mod checksum;
pub mod file;
mod lock;
mod outputs;
pub mod place;
pub(crate) mod schema;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

pub use crate::directories::WORKSPACE_FILE as FILE;
use crate::disk::{hex, parent};
pub use lock::Lock;
pub(crate) use lock::lock_file;
pub use outputs::Outputs;
pub(crate) use outputs::SCHEMA as OUTPUTS;

/// The SQLite file of the workspace to which the index in `dir` belongs.
pub fn of_index(dir: &Path) -> PathBuf {
    parent(dir).join(FILE)
}

/// The key of an input: the first half of the SHA-256 of its parts, in hexadecimal. An input that changes gets another key, so no outdated output is
/// found for it.
pub fn key(parts: &[&str]) -> String {
    hex(&Sha256::digest(parts.join("\0"))[..16])
}
