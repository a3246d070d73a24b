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

/// The message if the system refuses to start a thread.
const REFUSED: &str =
    "cannot start a thread; is the number of processes limited (ulimit -u, or the container)?";

/// Starts rayon's global pool: a thread per core, or as many as RAYON_NUM_THREADS says. Without this call, rayon starts it when it is first needed, and
/// panics if it cannot.
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

/// Whether a thread can be started now. Ask this before calling a library that panics if it cannot start one.
pub fn can_start() -> bool {
    thread::Builder::new().spawn(|| ()).is_ok()
}
