//! The notes and faults that a task reports, as lines on stderr.

use anyhow::Result;
use riposte_eval::escaped;

use super::faults::FaultLog;
use riposte::collection::Fault;
use riposte::events::Event;

pub(super) fn note(text: &str) -> String {
    format!("note: {}", escaped(text))
}

/// Prints the notes of a task that has no faults.
pub(super) fn print_notes(event: Event) {
    if let Event::Note(said) = event {
        say!("{}", note(&said.text));
    }
}

/// Prints the notes and faults of a task that shows no progress.
pub(super) struct NotePrinter(pub(super) FaultLog);

impl NotePrinter {
    pub(super) fn print(&mut self, event: Event) {
        match event {
            Event::Fault(fault) => self.fault(&fault),
            other => print_notes(other),
        }
    }

    pub(super) fn fault(&mut self, fault: &Fault) {
        if self.0.add(fault) {
            say!("{fault}");
        }
    }

    /// Writes the list of faults, and prints their number. Returns the exit code.
    ///
    /// # Errors
    /// The list cannot be written.
    pub(super) fn finish(self) -> Result<u8> {
        self.0.finish()
    }
}
