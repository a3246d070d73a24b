//! Guards against panics of libraries that read files of the web.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Result, bail};

/// Runs `work` and turns a panic into an error: a crawl of the web contains files that libraries have not been tested with.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(_) => bail!("a library panicked on it (the message is above)"),
    }
}

/// The message of a panic.
pub(super) fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref().map(String::as_str));
    text.unwrap_or("no message")
}
