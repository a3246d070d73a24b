//! How long each step of a ranking has taken.

use std::time::{Duration, Instant};

use strum::VariantArray;

use crate::events::RankingStep;

/// Measures how long each step takes. One step runs at a time.
#[derive(Debug)]
pub(super) struct StepClock {
    step: RankingStep,
    since: Instant,
    spent: [Duration; RankingStep::VARIANTS.len()],
}

impl Default for StepClock {
    fn default() -> Self {
        StepClock {
            step: RankingStep::Search,
            since: Instant::now(),
            spent: [Duration::ZERO; RankingStep::VARIANTS.len()],
        }
    }
}

impl StepClock {
    /// Ends the current step and begins another one. Returns the step that has ended.
    pub fn enter(&mut self, step: RankingStep) -> RankingStep {
        let now = Instant::now();
        self.spent[self.step as usize] += now - self.since;
        self.since = now;
        std::mem::replace(&mut self.step, step)
    }

    /// The seconds that each step has taken so far, in the order of the steps.
    pub fn seconds(&mut self) -> Vec<(RankingStep, f64)> {
        self.enter(self.step);
        let spent = self.spent.iter().map(Duration::as_secs_f64);
        RankingStep::VARIANTS.iter().copied().zip(spent).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_its_own_time_and_their_sum_is_the_whole() {
        let start = Instant::now();
        let mut clock = StepClock::default();
        let wait = |milliseconds| std::thread::sleep(Duration::from_millis(milliseconds));
        wait(5);
        assert_eq!(clock.enter(RankingStep::Stance), RankingStep::Search);
        wait(20);
        assert_eq!(clock.enter(RankingStep::Search), RankingStep::Stance);
        let seconds = clock.seconds();
        let whole = start.elapsed().as_secs_f64();
        let of = |step| seconds.iter().find(|(s, _)| *s == step).unwrap().1;
        assert!(of(RankingStep::Stance) >= 0.02 && of(RankingStep::Search) >= 0.005);
        assert_eq!(of(RankingStep::Rerank), 0.0);
        assert!(seconds.iter().map(|(_, s)| s).sum::<f64>() <= whole);
        // each step has the position that it has in ALL
        for (at, step) in RankingStep::VARIANTS.iter().copied().enumerate() {
            assert_eq!(step as usize, at);
        }
    }
}
