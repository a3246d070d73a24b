//! Standard input, output and error of a command: those of the process or, in `riposte calls`, those of a call.

pub(super) mod of_call;

use std::fmt;
use std::io::{self, BufRead, ErrorKind, Write};

/// Standard input.
pub(super) fn input() -> Box<dyn BufRead> {
    if let Some(input) = of_call::input() {
        return Box::new(input);
    }
    Box::new(io::stdin().lock())
}

/// Writes to standard output. A reader that closes the pipe early, as `head` does, is no error.
pub(super) fn write_output(text: &dyn fmt::Display) -> io::Result<()> {
    if of_call::keep_output(text) {
        return Ok(());
    }
    match write!(io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a line to standard error. If it cannot be written, because of a full disk or a closed pipe, the run goes on.
pub(super) fn write_error(line: &str) {
    if of_call::keep_error(line) {
        return;
    }
    // one write, so that lines of several processes do not mix
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}
