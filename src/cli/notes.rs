//! The notes that a task reports, as lines on stderr.

use riposte_eval::escaped;

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
