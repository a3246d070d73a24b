//! How the progress of a download is shown.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How progress is shown: on a terminal with a bar for each file, otherwise with a line for each step.
#[derive(Default)]
pub struct Progress {
    /// Prints a line to stderr; `None` if nothing is shown.
    pub print: Option<fn(&str)>,
}

impl Progress {
    pub(crate) fn log(&self, line: &str) {
        if let Some(print) = self.print {
            print(line);
        }
    }

    /// A progress bar. indicatif hides it if stderr is not a terminal.
    pub(crate) fn bar(&self, name: &str) -> ProgressBar {
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
        bar
    }
}
