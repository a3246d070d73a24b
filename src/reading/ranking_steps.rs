//! The steps of a ranking: which step runs, and how long each step has taken.

use std::time::{Duration, Instant};

use strum::VariantArray;

/// A step of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum RankingStep {
    /// Searching an index.
    Search,
    /// Re-ranking the first documents, without the time of the models.
    #[strum(serialize = "re-ranking")]
    Rerank,
    #[strum(serialize = "sentence vectors")]
    SentenceVectors,
    #[strum(serialize = "cross-encoder")]
    CrossEncoder,
    /// The stance encoder reads topics together with texts.
    #[strum(serialize = "stance encoder")]
    StanceEncoder,
    Stance,
    #[strum(serialize = "debate sheets")]
    DebateSheets,
}

impl RankingStep {
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// `done` of `total` model outputs of a step have been computed. Stored outputs are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputProgress {
    pub step: RankingStep,
    pub done: usize,
    pub total: usize,
}

/// The receiver of the progress of model outputs.
pub type OnOutputs<'a> = dyn FnMut(OutputProgress) + 'a;

/// The model outputs of a step in a stage. Items have their outputs computed one after the other, and the number of outputs of an item is known
/// only when it begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct StageOutputs {
    /// Number of outputs of all groups before the current one.
    before: usize,
    /// Computed outputs of the current group, and their number.
    done: usize,
    total: usize,
}

impl StageOutputs {
    pub fn add(&mut self, OutputProgress { done, total, .. }: OutputProgress) {
        // each group begins with 0
        if done == 0 {
            self.before += self.total;
        }
        (self.done, self.total) = (done, total);
    }

    pub fn done(&self) -> usize {
        self.before + self.done
    }

    /// The number of outputs in the stage, and whether it is final: before the last item begins, it is estimated from the items so far.
    pub fn total(&self, finished: usize, items: usize) -> (usize, bool) {
        let begun = finished + 1;
        let known = self.before + self.total;
        if begun >= items {
            return (known, true);
        }
        let estimated = known as f64 * items as f64 / begun as f64;
        (estimated.round() as usize, false)
    }
}

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

    #[test]
    fn outputs_are_counted_over_all_items_of_a_stage() {
        let mut of_stage = StageOutputs::default();
        let mut shown = |done, total, finished| {
            let step = RankingStep::SentenceVectors;
            of_stage.add(OutputProgress { step, done, total });
            (of_stage.done(), of_stage.total(finished, 4))
        };
        assert_eq!(shown(0, 300, 0), (0, (1200, false)));
        assert_eq!(shown(256, 300, 0), (256, (1200, false)));
        shown(300, 300, 0);
        // the second item has fewer, and the third has all of its outputs stored
        assert_eq!(shown(0, 100, 1), (300, (800, false)));
        shown(100, 100, 1);
        shown(0, 20, 3);
        assert_eq!(shown(20, 20, 3), (420, (420, true)));
    }
}
