//! What tasks that take long enough to show their progress share.

use anyhow::Result;

use super::recipe::settings;
use super::{Event, OnEvent, Stage};
use crate::index::inverted::Effort;
use crate::threads::check_threads;

/// The error message after the user has stopped a run.
pub(crate) const STOPPED: &str =
    "stopped before the end, without a run; the same command continues from there";

/// Runs a stage and reports its beginning and its end.
pub(crate) fn run_stage<T>(
    stage: Stage,
    total: usize,
    on_event: &mut OnEvent,
    run: impl FnOnce(&mut OnEvent) -> T,
) -> T {
    on_event(Event::Started { stage, total });
    let result = run(on_event);
    on_event(Event::Ended);
    result
}

/// Passes on the events of an approach. If it is one of several, its notes begin with its name.
pub(crate) fn of_approach<T>(
    several: bool,
    name: &str,
    on_event: &mut OnEvent,
    run: impl FnOnce(&mut OnEvent) -> T,
) -> T {
    run(&mut |event| match event {
        Event::Note(note) if several => on_event(Event::Note(format!("{name}: {note}"))),
        other => on_event(other),
    })
}

/// The effort of indexing on this number of threads, or one for each core.
///
/// # Errors
/// Those of [`check_threads`].
pub fn effort(threads: Option<usize>) -> Result<Effort> {
    let mut effort = Effort::default();
    if let Some(threads) = threads {
        effort.threads = check_threads(threads)?;
    }
    Ok(effort)
}

/// An approach as the files of a run name it.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    pub name: &'a str,
    /// The settings that were typed: `k1=0.9`.
    pub set: &'a [String],
}

/// The tag of a run if the user gives none: the approach's name, prefixed with `riposte-` unless it already begins with "riposte", and the settings that
/// were typed: `riposte-bm25-k1=0.9`.
pub(crate) fn default_tag(approach: Named) -> String {
    let name = approach.name.replace(char::is_whitespace, "-");
    let set = settings::in_tag(approach.set);
    match name.strip_prefix("riposte") {
        Some(rest) if rest.is_empty() || rest.starts_with('-') => format!("{name}{set}"),
        _ => format!("riposte-{name}{set}"),
    }
}
