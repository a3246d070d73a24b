//! The time that each stage of extraction takes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const STAGES: [&str; 10] = [
    "list",
    "hash",
    "read",
    "page",
    "decode",
    "ocr",
    "picture",
    "sentence",
    "sentiment",
    "clip",
];

/// Nanoseconds spent in each stage, by all threads.
#[derive(Default)]
pub(super) struct Clock([AtomicU64; STAGES.len()]);

impl Clock {
    /// Runs `work` and adds its time to a stage.
    pub(super) fn time<T>(&self, stage: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        if let Some(slot) = STAGES.iter().position(|s| *s == stage) {
            self.0[slot].fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        result
    }

    /// Seconds spent in each stage, by all threads.
    pub(super) fn seconds(&self) -> Vec<(&'static str, f64)> {
        let seconds = |nanos: &AtomicU64| nanos.load(Ordering::Relaxed) as f64 / 1e9;
        let stages = STAGES.iter().zip(&self.0);
        stages
            .map(|(stage, nanos)| (*stage, seconds(nanos)))
            .collect()
    }
}
