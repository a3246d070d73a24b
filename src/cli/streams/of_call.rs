//! The streams of a call: a text, and what is printed.

use std::fmt::{self, Write};
use std::io::Cursor;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a call gets on standard input, and what it prints.
#[derive(Default)]
pub(in crate::cli) struct Streams {
    input: Vec<u8>,
    pub(in crate::cli) output: String,
    pub(in crate::cli) error: String,
}

/// The streams of the call in progress; `None` if the process has a command of its own. Threads of a command print, too.
static CALL: Mutex<Option<Streams>> = Mutex::new(None);

fn call() -> MutexGuard<'static, Option<Streams>> {
    CALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, commands read `input`, and what they print is kept.
pub(in crate::cli) fn begin(input: String) {
    *call() = Some(Streams {
        input: input.into_bytes(),
        ..Streams::default()
    });
}

/// Ends what [`begin`] began, and returns what was printed.
pub(in crate::cli) fn end() -> Streams {
    call().take().unwrap_or_default()
}

/// The text, for the first reader; `None` if there is no call.
pub(super) fn input() -> Option<Cursor<Vec<u8>>> {
    let mut call = call();
    let streams = call.as_mut()?;
    Some(Cursor::new(mem::take(&mut streams.input)))
}

/// Calls `add` with the streams of the call. Returns whether there is one.
fn keep(add: impl FnOnce(&mut Streams)) -> bool {
    call().as_mut().map(add).is_some()
}

/// Keeps a text for standard output. Returns whether there is a call.
pub(super) fn keep_output(text: &dyn fmt::Display) -> bool {
    keep(|streams| {
        // a string takes everything
        let _ = write!(streams.output, "{text}");
    })
}

/// Keeps a line for standard error. Returns whether there is a call.
pub(super) fn keep_error(line: &str) -> bool {
    keep(|streams| {
        streams.error.push_str(line);
        streams.error.push('\n');
    })
}
