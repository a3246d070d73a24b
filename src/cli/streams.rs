//! Standard input, output and error of a command: those of the process or, in `riposte calls`, those of a call.

use std::fmt;
use std::io::{self, BufRead, Cursor, ErrorKind, Write};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a call gets on standard input, and what it prints.
#[derive(Default)]
pub(super) struct Streams {
    pub input: Vec<u8>,
    pub output: Vec<u8>,
    pub error: Vec<u8>,
}

/// The streams of the call in progress; `None` if the process has a command of its own. Threads of a command print, too.
static CALL: Mutex<Option<Streams>> = Mutex::new(None);

fn call() -> MutexGuard<'static, Option<Streams>> {
    CALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, commands read `input`, and what they print is kept.
pub(super) fn begin(input: Vec<u8>) {
    *call() = Some(Streams {
        input,
        ..Streams::default()
    });
}

/// Ends what [`begin`] began, and returns what was printed.
pub(super) fn end() -> Streams {
    call().take().unwrap_or_default()
}

/// Standard input.
pub(super) fn input() -> Box<dyn BufRead> {
    match &mut *call() {
        Some(streams) => Box::new(Cursor::new(mem::take(&mut streams.input))),
        None => Box::new(io::stdin().lock()),
    }
}

/// Writes to standard output. A reader that closes the pipe early, as `head` does, is no error.
pub(super) fn write_output(text: &dyn fmt::Display) -> io::Result<()> {
    let written = match &mut *call() {
        Some(streams) => write!(streams.output, "{text}"),
        None => write!(io::stdout(), "{text}"),
    };
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a line to standard error. If it cannot be written, because of a full disk or a closed pipe, the run goes on.
pub(super) fn write_error(line: &str) {
    // one write, so that lines of several processes do not mix
    let line = format!("{line}\n");
    let _ = match &mut *call() {
        Some(streams) => streams.error.write_all(line.as_bytes()),
        None => io::stderr().write_all(line.as_bytes()),
    };
}
