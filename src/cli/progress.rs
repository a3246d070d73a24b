//! Progress on stderr: a bar on a terminal, and a line every half minute elsewhere.

use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::index::corpus;
use crate::task::{Event, Stage};

/// The time between two lines if stderr is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// The progress of a stage.
pub struct Counted {
    bar: ProgressBar,
    what: &'static str,
    total: usize,
    lines: bool,
    start: Instant,
    last_line: Instant,
}

impl Counted {
    /// `total` is the number of items, 0 if it is unknown. With `quiet`, nothing is shown.
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

    /// Changes the number of items.
    pub fn set_total(&mut self, total: usize) {
        self.total = total;
        self.bar.set_length(total as u64);
    }

    /// Shows the number of finished items, and `others` of something else if it is not 0.
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

    /// Prints a note above the bar.
    fn note(&self, text: &str) {
        self.bar.suspend(|| eprintln!("note: {text}"));
    }

    /// Removes the bar.
    pub fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// Prints the events of a task.
pub struct Printer {
    quiet: bool,
    bar: Option<Counted>,
}

impl Printer {
    /// With `quiet`, progress is not shown; notes are.
    pub fn new(quiet: bool) -> Self {
        Printer { quiet, bar: None }
    }

    pub fn print(&mut self, event: Event) {
        match event {
            Event::Note(text) => self.note(&text),
            Event::Started { stage, total } => {
                let what = match stage {
                    Stage::Extraction => "images' evidence",
                    Stage::Indexing => "documents indexed",
                    Stage::Ranking => "topics",
                };
                self.bar = Some(Counted::new(what, total, self.quiet));
            }
            Event::Progress {
                done,
                total,
                outputs,
            } => {
                if let Some(bar) = &mut self.bar {
                    bar.set_total(total);
                    bar.show(done, outputs, "vectors and scores of the next");
                }
            }
            Event::Index(corpus::Event::Waiting) => {
                self.note("another riposte is at the index: waiting for it");
            }
            Event::Index(corpus::Event::Outdated(why)) => {
                self.note(&format!("the index is built anew, because {why}"));
            }
            Event::Index(corpus::Event::Progress { documents, faults }) => {
                if let Some(bar) = &mut self.bar {
                    bar.show(documents as usize, faults as usize, "faults");
                }
            }
            Event::Ended => {
                if let Some(bar) = self.bar.take() {
                    bar.end();
                }
            }
        }
    }

    fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.note(text),
            None => eprintln!("note: {text}"),
        }
    }
}
