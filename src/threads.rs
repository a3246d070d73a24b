//! How many threads a command can have.

use anyhow::{Result, ensure};

/// Maximum number of threads that a user can choose. Each takes memory of its own.
pub const MAX_THREADS: usize = 256;

/// Checks a number of threads.
///
/// # Errors
/// It is 0, or too large.
pub fn check_threads(threads: usize) -> Result<usize> {
    ensure!(
        (1..=MAX_THREADS).contains(&threads),
        "the number of threads is from 1 to {MAX_THREADS}, not {threads}"
    );
    Ok(threads)
}
