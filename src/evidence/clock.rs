//! The time that each stage of extraction takes.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The stages in the order in which they are shown. Other stages follow them.
const STAGES: &str = "list hash read page decode ocr picture sentence sentiment clip image-text";

thread_local! {
    /// The time of the stages nested in the current one. It is not counted as time of the current stage.
    static NESTED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The time spent in each stage, by all threads.
#[derive(Default)]
pub struct Clock(Mutex<BTreeMap<&'static str, Duration>>);

impl Clock {
    /// Runs `work` and adds its time to a stage, without the time of [`Clock::nested`] stages.
    pub(crate) fn time<T>(&self, stage: &'static str, work: impl FnOnce() -> T) -> T {
        NESTED.set(Duration::ZERO);
        let start = Instant::now();
        let result = work();
        self.add(stage, start.elapsed().saturating_sub(NESTED.get()));
        result
    }

    /// Runs a part of a stage that counts as a stage of its own.
    pub(crate) fn nested<T>(&self, stage: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        NESTED.set(NESTED.get() + start.elapsed());
        self.add(stage, start.elapsed());
        result
    }

    fn add(&self, stage: &'static str, time: Duration) {
        let mut stages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *stages.entry(stage).or_default() += time;
    }

    /// Seconds spent in each stage, by all threads.
    pub(crate) fn seconds(&self) -> Vec<(&'static str, f64)> {
        let stages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = stages
            .iter()
            .map(|(stage, time)| (*stage, time.as_secs_f64()));
        let mut seconds: Vec<(&'static str, f64)> = seconds.collect();
        let place = |stage: &str| STAGES.split(' ').position(|s| s == stage);
        seconds.sort_by_key(|(stage, _)| place(stage).unwrap_or(usize::MAX));
        seconds
    }
}
