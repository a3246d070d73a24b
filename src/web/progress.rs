//! How the progress of a download is shown.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{DecimalBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time between two lines about a file if stderr is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// How progress is shown: on a terminal with a bar for each file, otherwise with a line for each step, and one now and then for a long one.
#[derive(Default)]
pub struct ProgressDisplay {
    /// Prints a line to stderr; `None` if nothing is shown.
    pub print: Option<fn(&str)>,
}

impl ProgressDisplay {
    pub(crate) fn log(&self, line: &str) {
        if let Some(print) = self.print {
            print(line);
        }
    }

    /// The progress of one file, whose name is shown.
    pub(crate) fn transfer(&self, name: &str) -> Transfer {
        let target = match self.print {
            Some(_) => ProgressDrawTarget::stderr(),
            None => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = "  {msg} {bar:30} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.set_message(name.to_owned());
        // indicatif hides the bar if stderr is not a terminal
        let print = self.print.filter(|_| bar.is_hidden());
        Transfer {
            print,
            ..Transfer::of(bar, name)
        }
    }
}

/// The progress of one file that is downloaded, copied or unpacked.
pub(crate) struct Transfer {
    pub(crate) bar: ProgressBar,
    name: String,
    /// Prints a line now and then, if the bar is not seen.
    print: Option<fn(&str)>,
    interval: Duration,
    last_line: Cell<Instant>,
    /// The time and the byte at which this process began. What an earlier one has got says nothing about the speed.
    began: Cell<(Instant, u64)>,
}

impl Transfer {
    fn of(bar: ProgressBar, name: &str) -> Transfer {
        let now = Instant::now();
        Transfer {
            bar,
            name: name.to_owned(),
            print: None,
            interval: LINE_INTERVAL,
            last_line: Cell::new(now),
            began: Cell::new((now, 0)),
        }
    }

    #[cfg(test)]
    pub fn hidden() -> Transfer {
        Transfer::of(ProgressBar::hidden(), "")
    }

    /// Begins at a byte. `total` is the number of all bytes, 0 if it is unknown.
    pub fn begin(&self, at: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(at);
        self.began.set((Instant::now(), at));
    }

    /// Counts more bytes.
    pub fn inc(&self, bytes: u64) {
        self.bar.inc(bytes);
        let Some(print) = self.print else {
            return;
        };
        if self.last_line.get().elapsed() >= self.interval {
            self.last_line.set(Instant::now());
            let (begin, _) = self.began.get();
            print(&self.line(begin.elapsed()));
        }
    }

    /// How many bytes there are, of how many, and how long the rest takes if it is as fast as what came in this time.
    fn line(&self, elapsed: Duration) -> String {
        let (done, total) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let (_, began) = self.began.get();
        let mut line = format!("{}: {}", self.name, DecimalBytes(done));
        if total == 0 {
            return line;
        }
        line += &format!(" of {}", DecimalBytes(total));
        let rest = total.saturating_sub(done) as f64 / done.saturating_sub(began) as f64;
        // a server can announce any size
        if let Ok(left) = Duration::try_from_secs_f64(elapsed.as_secs_f64() * rest) {
            line += &format!(", about {} left", HumanDuration(left));
        }
        line
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    static PRINTED: Mutex<Vec<String>> = Mutex::new(Vec::new());

    fn keep(line: &str) {
        PRINTED.lock().unwrap().push(line.to_owned());
    }

    #[test]
    fn lines_have_an_estimate_of_what_this_process_has_seen() {
        let transfer = Transfer {
            print: Some(keep),
            interval: Duration::ZERO,
            ..Transfer::of(ProgressBar::hidden(), "args/argsme.zip")
        };
        transfer.begin(1_000_000, 4_000_000);
        transfer.inc(1_000_000);
        let printed = std::mem::take(&mut *PRINTED.lock().unwrap());
        assert_eq!(printed.len(), 1, "{printed:?}");
        assert!(
            printed[0].starts_with("args/argsme.zip: 2.00 MB of 4.00 MB, about "),
            "{printed:?}"
        );
        // a megabyte took 90 seconds, and two are missing
        assert_eq!(
            transfer.line(Duration::from_secs(90)),
            "args/argsme.zip: 2.00 MB of 4.00 MB, about 3 minutes left"
        );
        transfer.begin(0, u64::MAX);
        transfer.bar.inc(1);
        let endless = transfer.line(Duration::from_secs(90));
        assert!(!endless.contains("left"), "{endless}");
        transfer.begin(0, 0);
        transfer.bar.inc(5_000_000);
        assert_eq!(
            transfer.line(Duration::from_secs(90)),
            "args/argsme.zip: 5.00 MB"
        );
        // not with every byte
        let rare = Transfer {
            print: Some(keep),
            ..Transfer::of(ProgressBar::hidden(), "")
        };
        rare.begin(0, 10);
        rare.inc(5);
        assert_eq!(*PRINTED.lock().unwrap(), [""; 0]);
    }
}
