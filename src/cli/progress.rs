//! How long work shows how far it is: a bar on a terminal, a line every half minute elsewhere.

use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::evidence::extract::Progress;

/// Between two lines, where stderr is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// The progress of one extraction.
pub struct Shown {
    bar: ProgressBar,
    lines: bool,
    start: Instant,
    last_line: Instant,
}

impl Shown {
    /// Nothing is shown if `quiet`.
    pub fn new(total: usize, quiet: bool) -> Self {
        let target = match quiet {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr(),
        };
        let bar = ProgressBar::with_draw_target(Some(total as u64), target);
        if let Ok(style) = ProgressStyle::with_template(
            "  evidence {bar:30} {pos}/{len} images, {elapsed}, about {eta} left",
        ) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Shown {
            lines: !quiet && bar.is_hidden(),
            bar,
            start: Instant::now(),
            last_line: Instant::now(),
        }
    }

    /// Shows where the work is.
    pub fn show(&mut self, progress: Progress) {
        self.bar.set_length(progress.total as u64);
        self.bar.set_position(progress.done as u64);
        if self.lines && self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            let left = self
                .start
                .elapsed()
                .mul_f64((progress.total - progress.done) as f64 / progress.done.max(1) as f64);
            eprintln!(
                "evidence: {} of {} images, about {} left",
                progress.done,
                progress.total,
                HumanDuration(left)
            );
        }
    }

    /// Takes the bar away.
    pub fn end(self) {
        self.bar.finish_and_clear();
    }
}
