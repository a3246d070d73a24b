//! The error with which work ends when its user stops it.

use std::sync::atomic::{AtomicBool, Ordering};

/// The user has stopped the work before its end. What was computed before is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stopped {
    #[error("stopped before the end; the same command continues from there")]
    Extraction,
    /// A ranking, between two batches of model outputs.
    #[error("stopped before the end; what the models have computed is stored")]
    Models,
    #[error("stopped before the end, without a run; the same command continues from there")]
    Run,
    #[error(
        "stopped before the debate sheets were made, without a run; the same command continues from there"
    )]
    DebateSheets,
}

impl Stopped {
    /// # Errors
    /// This error, if `stop` is set.
    pub(crate) fn check(self, stop: &AtomicBool) -> Result<(), Stopped> {
        match stop.load(Ordering::Relaxed) {
            true => Err(self),
            false => Ok(()),
        }
    }
}
