//! Progress on stderr: a bar on a terminal, otherwise a line every half minute.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{
    DecimalBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle,
};

use super::args::Quiet;
use super::faults::FaultLog;
use super::notes::note;
use riposte::events::{Event, Progress, RankingStep, Stage};
use riposte::threads;

/// The time between two lines if stderr is not a terminal: about a stage, and about a file.
const LINE_INTERVALS: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(10)];

/// The time from which the rest is estimated while the first item is not finished.
const FIRST_ESTIMATE: Duration = Duration::from_secs(5);

/// The bar before the first items are finished. Until then the remaining time cannot be estimated.
const BEGINNING: &str = "  {bar:10} {human_pos}/{human_len} {prefix}, {elapsed}{wide_msg}";

/// The bar after that.
const ESTIMATING: &str =
    "  {bar:10} {human_pos}/{human_len} {prefix}, {elapsed}, about {eta} left{wide_msg}";

/// The bar of a stage whose number of items is unknown.
const UNKNOWN: &str = "  {spinner} {human_pos} {prefix}, {elapsed}{wide_msg}";

/// The bar of a file before its first byte, and after that.
const OPENING: &str = "  {spinner} {prefix}";
const TRANSFER: &str =
    "  {prefix} {bar:30} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {eta} left";

/// The progress of one stage.
struct StageProgress {
    bar: ProgressBar,
    /// Whether the items are the bytes of a file.
    is_transfer: bool,
    /// Whether the bar shows the remaining time.
    estimates: bool,
    prints_lines: bool,
    interval: Duration,
    last_line: Instant,
    /// The time and the item at which this process began. The bytes of an earlier one say nothing about the speed.
    began: (Instant, u64),
}

impl StageProgress {
    /// `total` is the number of items, 0 if it is unknown. With `quiet`, nothing is shown.
    fn new(stage: &Stage, total: u64, quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let label = stage.items().to_owned();
        let bar = ProgressBar::with_draw_target(Some(total), target).with_prefix(label);
        let is_transfer = matches!(stage, Stage::Transfer(_));
        set_template(
            &bar,
            match total {
                _ if is_transfer => OPENING,
                0 => UNKNOWN,
                _ => BEGINNING,
            },
        );
        // a hidden bar needs no thread, and indicatif panics if it cannot start one
        if !bar.is_hidden() && threads::can_start() {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        let now = Instant::now();
        StageProgress {
            // indicatif hides the bar if stderr is not a terminal
            prints_lines: !quiet && bar.is_hidden(),
            bar,
            is_transfer,
            estimates: false,
            interval: LINE_INTERVALS[usize::from(is_transfer)],
            last_line: now,
            began: (now, 0),
        }
    }

    /// Number of items, 0 if it is unknown.
    fn total(&self) -> u64 {
        self.bar.length().unwrap_or(0)
    }

    /// Changes the number of items, if it is known. A file begins again where its number of bytes changes.
    fn set_total(&mut self, done: u64, total: u64) {
        if self.is_transfer {
            if !self.estimates || total != self.total() || done < self.bar.position() {
                self.last_line = Instant::now();
                self.began = (self.last_line, done);
                self.estimates = true;
                set_template(&self.bar, TRANSFER);
            }
            self.bar.set_length(total);
        } else if total > 0 {
            self.bar.set_length(total);
            // the remaining time is shown as soon as an item is finished
            if !self.estimates {
                self.estimates = done > 0;
                set_template(&self.bar, if done > 0 { ESTIMATING } else { BEGINNING });
            }
        }
    }

    /// How long the rest takes, if this share of the stage is done.
    fn left(&self, share: f64) -> Option<HumanDuration> {
        let elapsed = self.bar.elapsed();
        let is_known = share > 0.0 && elapsed >= FIRST_ESTIMATE;
        is_known.then(|| HumanDuration(elapsed.mul_f64((1.0 - share).max(0.0) / share)))
    }

    /// Shows that no item is finished, and how long the rest takes by the share of the first item that is done.
    fn show_first(&mut self, share: f64, detail: String) {
        let share = share / self.total().max(1) as f64;
        let left = self.left(share).map(|left| format!(", about {left} left"));
        self.show(0, self.total(), detail + &left.unwrap_or_default());
    }

    /// Shows the number of finished items. `total` is 0 if it is unknown, and `detail` may be empty.
    fn show(&mut self, done: u64, total: u64, detail: String) {
        let detail = if detail.is_empty() {
            detail
        } else {
            format!("; {detail}")
        };
        self.set_total(done, total);
        self.bar.set_position(done);
        if self.prints_lines && self.last_line.elapsed() >= self.interval {
            self.last_line = Instant::now();
            say!("{}{detail}", self.line(self.began.0.elapsed()));
        }
        self.bar.set_message(detail);
    }

    /// The finished items, all items, and how long the rest takes at the speed of the first `elapsed`.
    fn line(&self, elapsed: Duration) -> String {
        let count = |items| match self.is_transfer {
            true => DecimalBytes(items).to_string(),
            false => HumanCount(items).to_string(),
        };
        let (done, total) = (self.bar.position(), self.total());
        let mut line = format!("{}: {}", self.bar.prefix(), count(done));
        if total > 0 {
            line += &format!(" of {}", count(total));
            let rest = total.saturating_sub(done) as f64;
            let rest = rest / done.saturating_sub(self.began.1) as f64;
            // a server can announce any size
            if let Ok(left) = Duration::try_from_secs_f64(elapsed.as_secs_f64() * rest) {
                line += &format!(", about {} left", HumanDuration(left));
            }
        }
        line
    }

    /// Prints a line above the bar.
    fn say(&self, line: &str) {
        self.bar.suspend(|| say!("{line}"));
    }
}

fn set_template(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// The model outputs of a step in a stage. Items have their outputs computed one after the other, and the number of outputs of an item is known
/// only when it begins.
#[derive(Clone, Copy, Debug, Default)]
struct StageOutputs {
    /// Number of outputs of all groups before the current one.
    before: usize,
    /// Computed outputs of the current group, and their number.
    done: usize,
    total: usize,
}

impl StageOutputs {
    fn add(&mut self, done: usize, total: usize) {
        // each group begins with 0
        if done == 0 {
            self.before += self.total;
        }
        (self.done, self.total) = (done, total);
    }

    fn done(&self) -> usize {
        self.before + self.done
    }

    /// The number of outputs in the stage, and whether it is final: before the last item begins, it is estimated from the items so far.
    fn total(&self, finished: usize, items: usize) -> (usize, bool) {
        let begun = finished + 1;
        let known = self.before + self.total;
        if begun >= items {
            return (known, true);
        }
        let estimated = known as f64 * items as f64 / begun as f64;
        (estimated.round() as usize, false)
    }

    /// The step, and the number of its outputs in the stage, such as "sentence vectors 120 of about 1,250". `finished` of all `items` of the stage are
    /// finished.
    fn in_words(&self, step: RankingStep, finished: usize, items: usize) -> String {
        let (total, is_final) = self.total(finished, items);
        let about = if is_final { "" } else { "about " };
        let [done, total] = [self.done(), total].map(|count| HumanCount(count as u64));
        format!("{} {done} of {about}{total}", step.word())
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

    /// Prints notes and faults, but no progress.
    pub(super) fn of_notes(faults: FaultLog) -> Self {
        EventPrinter::new(Some(Quiet::Progress), faults)
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
            Event::Fault(fault) if self.faults.add(&fault) => self.say(&fault.to_string()),
            Event::Progress(progress) => self.show(progress),
            _ => {}
        }
    }

    fn show(&mut self, progress: Progress) {
        match (progress, &mut self.progress) {
            (Progress::Started { stage, total }, _) => {
                let is_quiet = self.quiet.is_some();
                self.progress = Some(StageProgress::new(&stage, total, is_quiet));
                self.outputs.clear();
            }
            (
                Progress::Items {
                    done,
                    total,
                    detail,
                },
                Some(stage),
            ) => stage.show(done, total, detail),
            (Progress::Outputs { step, done, total }, Some(stage)) => {
                let (finished, items) = (stage.bar.position(), stage.total());
                let of_stage = self.outputs.entry(step).or_default();
                of_stage.add(done, total);
                let words = of_stage.in_words(step, finished as usize, items as usize);
                if finished == 0 && total > 0 {
                    stage.show_first(done as f64 / total as f64, words);
                } else {
                    stage.show(finished, items, words);
                }
            }
            (Progress::Step(text), _) if self.quiet.is_none() => self.say(&text),
            (Progress::Ended, _) => {
                if let Some(stage) = self.progress.take() {
                    stage.bar.finish_and_clear();
                }
            }
            _ => {}
        }
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
        let mut progress = StageProgress::new(&Stage::Ranking, 6, true);
        assert!(progress.left(0.5).is_none(), "it has just begun");
        progress.bar = progress.bar.with_elapsed(Duration::from_secs(60));
        assert!(progress.left(0.0).is_none());
        // a quarter of the first of six topics
        let left = progress.left(0.25 / 6.0).unwrap();
        assert_eq!(left.to_string(), "23 minutes");
    }

    #[test]
    fn a_line_about_a_file_estimates_by_what_this_process_has_seen() {
        let stage = Stage::Transfer("args/argsme.zip".to_owned());
        let mut progress = StageProgress::new(&stage, 0, true);
        let mut line = |done, total| {
            progress.show(done, total, String::new());
            progress.line(Duration::from_secs(90))
        };
        line(1_000_000, 4_000_000);
        // a megabyte took 90 seconds, and two are missing
        assert_eq!(
            line(2_000_000, 4_000_000),
            "args/argsme.zip: 2.00 MB of 4.00 MB, about 3 minutes left"
        );
        line(0, u64::MAX);
        let endless = line(1, u64::MAX);
        assert!(!endless.contains("left"), "{endless}");
        assert_eq!(line(5_000_000, 0), "args/argsme.zip: 5.00 MB");
    }

    #[test]
    fn outputs_are_counted_over_all_items_of_a_stage() {
        let mut of_stage = StageOutputs::default();
        let mut shown = |done, total, finished| {
            of_stage.add(done, total);
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
