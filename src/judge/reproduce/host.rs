//! What the caller of `reproduce` does for it.

use std::sync::atomic::AtomicBool;

use anyhow::Result;

use super::plan::Job;

/// How a command has ended, and what it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct FinishedJob {
    /// Its exit code; `None` if a signal has ended it.
    pub code: Option<i32>,
    pub seconds: f64,
    /// In units of 1000 bytes; `None` if the system does not say.
    pub peak_kilobytes: Option<u64>,
}

/// What the caller does for the task.
pub struct ReproduceHost<'a> {
    /// Runs a command of this program, and waits until it has ended.
    pub run: &'a mut dyn FnMut(&Job) -> Result<FinishedJob>,
    /// Set if the user wants to stop.
    pub stop: &'a AtomicBool,
}
