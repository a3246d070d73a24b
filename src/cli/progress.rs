//! Progress on stderr: a bar on a terminal, otherwise a line every half minute.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::Quiet;
use super::faults::FaultLog;
use super::notes::note;
use riposte::events::{Event, Stage};
use riposte::index::{dense, inverted};
use riposte::reading::ranking_steps::{OutputProgress, RankingStep, StageOutputs};
use riposte::threads;

/// The time between two lines if stderr is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(30);

/// The time from which the rest is estimated while the first item is not finished.
const FIRST_ESTIMATE: Duration = Duration::from_secs(5);

/// The bar before the first items are finished. Until then the remaining time cannot be estimated.
const BEGINNING: &str = "  {bar:10} {human_pos}/{human_len} {prefix}, {elapsed}{wide_msg}";

/// The bar after that.
const ESTIMATING: &str =
    "  {bar:10} {human_pos}/{human_len} {prefix}, {elapsed}, about {eta} left{wide_msg}";

/// The bar of a stage whose number of items is unknown.
const UNKNOWN: &str = "  {spinner} {human_pos} {prefix}, {elapsed}{wide_msg}";

/// The progress of one stage.
pub(crate) struct StageProgress {
    bar: ProgressBar,
    /// Whether the bar shows the remaining time.
    estimates: bool,
    prints_lines: bool,
    last_line: Instant,
}

impl StageProgress {
    /// `label` says what is counted. `total` is the number of items, 0 if it is unknown. With `quiet`, nothing is shown.
    pub fn new(label: &'static str, total: usize, quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(total as u64), target).with_prefix(label);
        set_template(&bar, if total == 0 { UNKNOWN } else { BEGINNING });
        // a hidden bar needs no thread, and indicatif panics if it cannot start one
        if !bar.is_hidden() && threads::can_start() {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        StageProgress {
            // indicatif hides the bar if stderr is not a terminal
            prints_lines: !quiet && bar.is_hidden(),
            bar,
            estimates: false,
            last_line: Instant::now(),
        }
    }

    /// Changes the number of items.
    pub(crate) fn set_total(&mut self, total: usize) {
        self.bar.set_length(total as u64);
        self.choose_template(0);
    }

    /// Number of items, 0 if it is unknown.
    fn total(&self) -> u64 {
        self.bar.length().unwrap_or(0)
    }

    /// Shows the remaining time as soon as an item is finished, if the number of items is known.
    fn choose_template(&mut self, done: usize) {
        if self.estimates || self.total() == 0 {
            return;
        }
        self.estimates = done > 0;
        set_template(&self.bar, if done > 0 { ESTIMATING } else { BEGINNING });
    }

    /// How long the rest takes, if this share of the stage is done.
    fn left(&self, share: f64) -> Option<HumanDuration> {
        let elapsed = self.bar.elapsed();
        let is_known = share > 0.0 && elapsed >= FIRST_ESTIMATE;
        is_known.then(|| HumanDuration(elapsed.mul_f64((1.0 - share).max(0.0) / share)))
    }

    /// Shows the number of finished items, and how long the rest takes by the share of the first item that is done.
    fn show_first(&mut self, share: f64, detail: String) {
        let share = share / self.total().max(1) as f64;
        let left = self.left(share).map(|left| format!(", about {left} left"));
        self.show(0, detail + &left.unwrap_or_default());
    }

    /// Shows the number of finished items. `detail` may be empty.
    pub fn show(&mut self, done: usize, detail: String) {
        let detail = if detail.is_empty() {
            detail
        } else {
            format!("; {detail}")
        };
        self.bar.set_position(done as u64);
        self.choose_template(done);
        if self.prints_lines && self.last_line.elapsed() >= LINE_INTERVAL {
            self.last_line = Instant::now();
            let (done, total) = (done as u64, self.total());
            let mut line = format!("{}: {}", self.bar.prefix(), HumanCount(done));
            if total > 0 {
                line += &format!(" of {}", HumanCount(total));
            }
            if total > 0 && done > 0 {
                let rest = total.saturating_sub(done) as f64 / done as f64;
                let left = HumanDuration(self.bar.elapsed().mul_f64(rest));
                line += &format!(", about {left} left");
            }
            say!("{line}{detail}");
        }
        self.bar.set_message(detail);
    }

    /// Prints a line above the bar.
    fn say(&self, line: &str) {
        self.bar.suspend(|| say!("{line}"));
    }

    /// Removes the bar.
    pub fn end(self) {
        self.bar.finish_and_clear();
    }
}

fn set_template(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// Prints the events of a task.
pub(crate) struct EventPrinter {
    quiet: Option<Quiet>,
    faults: FaultLog,
    /// The progress of the current stage.
    progress: Option<StageProgress>,
    /// The model outputs of the current stage, for each step that has computed some.
    outputs: HashMap<RankingStep, StageOutputs>,
}

impl EventPrinter {
    pub(super) fn new(quiet: Option<Quiet>, mut faults: FaultLog) -> Self {
        faults.is_silent = quiet == Some(Quiet::All);
        EventPrinter {
            quiet,
            faults,
            progress: None,
            outputs: HashMap::new(),
        }
    }

    /// Writes the list of faults, and prints their number. Returns the exit code.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn finish(self) -> Result<u8> {
        self.faults.finish()
    }

    pub fn print(&mut self, event: Event) {
        match event {
            Event::Note(note) => self.note(&note.text),
            Event::Fault(fault) => {
                if self.faults.add(&fault) {
                    self.say(&fault.to_string());
                }
            }
            Event::Started { stage, total } => {
                let label = match stage {
                    Stage::Extraction => "images extracted",
                    Stage::Indexing => "documents indexed",
                    Stage::Encoding => "documents with sentence vectors",
                    Stage::Clustering => "clusters made",
                    Stage::Ranking => "topics ranked",
                    Stage::Debate => "debate sheets made",
                    Stage::Asking => "topics answered",
                    Stage::Pictures => "pictures scaled",
                    Stage::Reading => "files read",
                    Stage::Searching => "pages searched",
                    Stage::Writing => "pictures written",
                };
                self.progress = Some(StageProgress::new(label, total, self.quiet.is_some()));
                self.outputs.clear();
            }
            Event::Progress {
                done,
                total,
                outputs,
            } => {
                let step = outputs.map(|outputs| self.step(outputs, done, total));
                let step = step.unwrap_or_default();
                match (outputs, &mut self.progress) {
                    (Some(outputs), Some(progress)) if done == 0 && outputs.total > 0 => {
                        progress.set_total(total);
                        progress.show_first(outputs.done as f64 / outputs.total as f64, step);
                    }
                    _ => self.show(done, Some(total), step),
                }
            }
            Event::Index(inverted::IndexEvent::Waiting) => {
                self.note("another riposte process is writing the index: waiting for it");
            }
            Event::Index(inverted::IndexEvent::Outdated(why)) => {
                self.note(&format!("rebuilding the index, because {why}"));
            }
            Event::Index(inverted::IndexEvent::Damaged(what)) => {
                self.note(&format!("rebuilding the index: {what}"));
            }
            Event::Index(inverted::IndexEvent::Progress { documents, faults }) => {
                let faults = (faults > 0).then(|| format!("{faults} faults"));
                self.show(documents as usize, None, faults.unwrap_or_default());
            }
            Event::Dense(dense::DenseEvent::Waiting) => {
                self.note(
                    "another riposte process is computing the sentence vectors: waiting for it",
                );
            }
            Event::Dense(dense::DenseEvent::Damaged(count)) => {
                self.note(&format!(
                    "{count} damaged records of sentence vectors are computed again"
                ));
            }
            Event::Dense(dense::DenseEvent::Progress { done, total }) => {
                self.show(done, Some(total), String::new());
            }
            Event::Ended => {
                if let Some(progress) = self.progress.take() {
                    progress.end();
                }
            }
        }
    }

    /// Shows the number of finished items of the current stage, and changes the number of items if it is given.
    fn show(&mut self, done: usize, total: Option<usize>, detail: String) {
        if let Some(progress) = &mut self.progress {
            total
                .into_iter()
                .for_each(|total| progress.set_total(total));
            progress.show(done, detail);
        }
    }

    /// The step of the model outputs, and their number in the current stage, such as "sentence vectors 120 of about 1,250". `finished` of all
    /// `items` of the stage are finished.
    fn step(&mut self, outputs: OutputProgress, finished: usize, items: usize) -> String {
        let of_stage = self.outputs.entry(outputs.step).or_default();
        of_stage.add(outputs);
        let (done, (total, is_final)) = (of_stage.done(), of_stage.total(finished, items));
        let (done, total) = (HumanCount(done as u64), HumanCount(total as u64));
        let about = if is_final { "" } else { "about " };
        format!("{} {done} of {about}{total}", outputs.step.word())
    }

    fn note(&self, text: &str) {
        if self.quiet != Some(Quiet::All) {
            self.say(&note(text));
        }
    }

    fn say(&self, line: &str) {
        match &self.progress {
            Some(progress) => progress.say(line),
            None => say!("{line}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_estimated_while_the_first_topic_is_ranked() {
        let mut progress = StageProgress::new("topics ranked", 6, true);
        assert!(progress.left(0.5).is_none(), "it has just begun");
        progress.bar = progress.bar.with_elapsed(Duration::from_secs(60));
        assert!(progress.left(0.0).is_none());
        // a quarter of the first of six topics
        let left = progress.left(0.25 / 6.0).unwrap();
        assert_eq!(left.to_string(), "23 minutes");
    }
}
