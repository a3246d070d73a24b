//! Standard input, output and error of a command: those of the process or, in `riposte calls`, those of a call.

#[cfg(feature = "full")]
pub(super) mod of_call;

use std::fmt;
#[cfg(feature = "texts")]
use std::io::BufRead;
use std::io::{self, ErrorKind, Write};

/// Standard input.
#[cfg(feature = "texts")]
pub(super) fn input() -> Box<dyn BufRead> {
    #[cfg(feature = "full")]
    if let Some(input) = of_call::input() {
        return Box::new(input);
    }
    Box::new(io::stdin().lock())
}

/// Writes to standard output. A reader that closes the pipe early, as `head` does, is no error.
pub(super) fn write_output(text: &dyn fmt::Display) -> io::Result<()> {
    #[cfg(feature = "full")]
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
    #[cfg(feature = "full")]
    if of_call::keep_error(line) {
        return;
    }
    // one write, so that lines of several processes do not mix
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}
