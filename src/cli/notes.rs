//! The notes and faults that a task reports, as lines on stderr.

use riposte_eval::escaped;

use riposte::task::Event;

pub(super) fn note(text: &str) -> String {
    format!("note: {}", escaped(text))
}

pub(super) fn fault(text: &str) -> String {
    escaped(text).to_string()
}

/// Prints the notes and faults of a task that shows no progress.
pub(super) fn print_notes(event: Event) {
    match event {
        Event::Note(text) => say!("{}", note(&text)),
        Event::Fault(text) => say!("{}", fault(&text)),
        _ => {}
    }
}
