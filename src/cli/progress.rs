//! How long work shows how far it is: a bar on a terminal, a line every half minute elsewhere.

use std::time::{Duration, Instant};

use crate::index::corpus::Event;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Between two lines, where stderr is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// The progress of work that is counted.
pub struct Counted {
    bar: ProgressBar,
    what: &'static str,
    total: usize,
    lines: bool,
    start: Instant,
    last_line: Instant,
}

impl Counted {
    /// So many of what there is to do, 0 if that is not known. Nothing is shown if `quiet`.
    pub fn new(what: &'static str, total: usize, quiet: bool) -> Self {
        let (target, template) = match (quiet, total) {
            (true, _) => (ProgressDrawTarget::hidden(), ""),
            (_, 0) => (
                ProgressDrawTarget::stderr(),
                "  {spinner} {pos} {prefix}, {elapsed} {msg}",
            ),
            _ => (
                ProgressDrawTarget::stderr(),
                "  {bar:30} {pos}/{len} {prefix}, {elapsed}, about {eta} left {msg}",
            ),
        };
        let bar = ProgressBar::with_draw_target(Some(total as u64), target).with_prefix(what);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Counted {
            lines: !quiet && bar.is_hidden(),
            bar,
            what,
            total,
            start: Instant::now(),
            last_line: Instant::now(),
        }
    }

    /// There turn out to be so many to do.
    pub fn set_total(&mut self, total: usize) {
        self.total = total;
        self.bar.set_length(total as u64);
    }

    /// So many are done; and so many of something else, shown if there are any.
    pub fn show(&mut self, done: usize, others: usize, of_others: &str) {
        self.bar.set_position(done as u64);
        let message = match others {
            0 => String::new(),
            _ => format!("({others} {of_others})"),
        };
        if self.lines && self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            let left = match (self.total, done) {
                (0, _) | (_, 0) => String::new(),
                _ => {
                    let rest = self.total.saturating_sub(done) as f64 / done as f64;
                    let left = HumanDuration(self.start.elapsed().mul_f64(rest));
                    format!(" of {}, about {left} left", self.total)
                }
            };
            eprintln!("{}: {done}{left} {message}", self.what);
        }
        self.bar.set_message(message);
    }

    /// Says something in between.
    pub fn note(&self, text: &str) {
        self.bar.suspend(|| eprintln!("note: {text}"));
    }

    /// Shows what happens to an index.
    pub fn hear(&mut self, event: Event) {
        match event {
            Event::Waiting => self.note("another riposte is at the index: waiting for it"),
            Event::Outdated(why) => self.note(&format!("the index is built anew, because {why}")),
            Event::Progress { documents, faults } => {
                self.show(documents as usize, faults as usize, "faults");
            }
        }
    }

    /// Takes the bar away.
    pub fn end(self) {
        self.bar.finish_and_clear();
    }
}
