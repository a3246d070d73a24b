//! How many threads a command can have, and what happens where the system gives a process little: no threads, as in a container that limits the
//! number of processes, a small stack, or little memory.

use std::thread;
use std::thread::{Scope, ScopedJoinHandle};

use anyhow::{Context, Result, ensure};

use crate::limits::{self, MAX_THREADS};

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

/// Checks that the process may have as much memory as it needs to process images and texts.
///
/// # Errors
/// The user or the system has set a lower limit.
pub fn check_memory() -> Result<()> {
    #[cfg(unix)]
    if let Some(most) = rustix::process::getrlimit(rustix::process::Resource::As).current {
        ensure!(
            most >= limits::MIN_ADDRESS_SPACE_BYTES,
            "the address space of a process is limited to {} MiB here (ulimit -v), and riposte needs at least {} MiB",
            most >> 20,
            limits::MIN_ADDRESS_SPACE_BYTES >> 20
        );
    }
    Ok(())
}

/// Runs a function: in a thread with a stack of the usual size, if that of the process is limited to less than it needs.
///
/// # Errors
/// The thread cannot be started.
pub fn on_enough_stack<T: Send + 'static>(run: fn() -> Result<T>) -> Result<T> {
    #[cfg(unix)]
    {
        let most = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
        if most.is_some_and(|most| most < limits::MIN_STACK_BYTES) {
            let thread = thread::Builder::new().stack_size(limits::STACK_BYTES);
            let thread = thread.spawn(run).context(REFUSED)?;
            return thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    }
    run()
}

/// Whether a thread can be started now. Ask this before calling a library that panics if it cannot start one.
pub fn can_start() -> bool {
    thread::Builder::new().spawn(|| ()).is_ok()
}
