//! Guards against panics of libraries that read files of the web.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Result, anyhow, bail};
use rten::{Model, ModelOptions};

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

/// Loads a model in the ONNX or the rten format, with weights packed for speed. rten checks the bytes, but a damaged graph may still break an assertion in it.
pub(super) fn load_model(bytes: Vec<u8>) -> Result<Model> {
    let mut options = ModelOptions::with_all_ops();
    let load = || options.prepack_weights(true).load(bytes);
    let loaded = catch_unwind(AssertUnwindSafe(load));
    Ok(loaded.map_err(|panic| anyhow!("damaged model: {}", message_of(&*panic)))??)
}
