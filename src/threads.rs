//! How many threads a command can have, and what happens if none can be started, as in a container that limits the number of processes.

use std::thread;
#[cfg(feature = "texts")]
use std::thread::{Scope, ScopedJoinHandle};

use anyhow::{Context, Result, ensure};

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

/// What a user is told if the system refuses a thread.
const REFUSED: &str =
    "cannot start a thread; is the number of processes limited (ulimit -u, or the container)?";

/// Starts the threads that share the work on lists, one per core, or as many as RAYON_NUM_THREADS says. Without this call they start when they are
/// first needed, and a thread that cannot be started is a panic.
///
/// # Errors
/// A thread cannot be started.
pub fn start_pool() -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new();
    pool.build_global().context(REFUSED)
}

/// Starts a thread that must end before `scope` does.
///
/// # Errors
/// The thread cannot be started.
#[cfg(feature = "texts")]
pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    let thread = thread::Builder::new();
    thread.spawn_scoped(scope, work).context(REFUSED)
}

/// Starts a thread that nothing waits for.
///
/// # Errors
/// The thread cannot be started.
pub fn spawn_detached(work: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = thread::Builder::new();
    thread.spawn(work).map(drop).context(REFUSED)
}

/// Whether a thread can be started at this moment, for libraries that do not ask.
pub fn can_start() -> bool {
    thread::Builder::new().spawn(|| ()).is_ok()
}
