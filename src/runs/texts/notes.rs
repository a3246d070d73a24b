//! What the user is told of a run of texts before and after it.

use std::collections::BTreeMap;

use riposte_eval::topic::Topic;
use riposte_eval::{DocId, TextTask};

use super::TextRequest;
use crate::events::{Event, OnEvent};
use crate::limits::RUN_DEPTH;
use crate::recipes::english;
use crate::recipes::text_approach::TextApproach;

/// Maximum number of topics that a note names.
const NAMED: usize = 3;

/// Which topics get no stances; `None` if there are none.
pub(super) fn note_on_objects(topics: &[&Topic]) -> Option<String> {
    let name = |topic: &&Topic| format!("topic {} ({:?})", topic.id, topic.title);
    let named: Vec<String> = topics.iter().take(NAMED).map(name).collect();
    let named = named.join(", ");
    match topics.len() {
        0 => None,
        1 => Some(format!(
            "{named} does not name two objects to compare: its passages are ranked, but its lines have Q0 instead of a stance"
        )),
        number => Some(format!(
            "{named}{} do not name two objects to compare: their passages are ranked, but their lines have Q0 instead of a stance",
            match number.saturating_sub(NAMED) {
                0 => String::new(),
                1 => " and 1 more topic".to_owned(),
                more => format!(" and {more} more topics"),
            }
        )),
    }
}

/// That the lab takes no run with so many documents for a topic; `None` if it does, or if the task is not the lab's.
pub(super) fn note_on_depth(request: &TextRequest) -> Option<String> {
    let TextApproach { name, depth, .. } = request.approach;
    let is_too_deep = request.task != TextTask::Rank && *depth > RUN_DEPTH;
    is_too_deep.then(|| {
        format!("{name} ranks up to {depth} documents for a topic, and the lab takes at most {RUN_DEPTH} in a run")
    })
}

/// Says which parts of the approach are made for English, if topics are in another language.
pub(super) fn note_language(request: &TextRequest, on_event: &mut OnEvent) {
    let stances = match request.task {
        TextTask::Controversial => request.explain || request.debate.is_some(),
        TextTask::Comparative => request.stances,
        TextTask::Rank => false,
    };
    let note = english::note_on_texts(request.task, request.approach, request.topics, stances);
    if let Some(note) = note {
        on_event(Event::note(note));
    }
}

/// Maximum number of texts not read to their ends that notes name.
const NAMED_CUTS: usize = 5;

/// Reports the texts that were not read to their ends.
pub(super) fn note_cut_texts(cut: &BTreeMap<DocId, String>, on_event: &mut OnEvent) {
    for (document, what) in cut.iter().take(NAMED_CUTS) {
        on_event(Event::note(format!("{document}: {what}")));
    }
    if cut.len() > NAMED_CUTS {
        let more = cut.len() - NAMED_CUTS;
        on_event(Event::note(format!(
            "{more} more texts were not read to their ends"
        )));
    }
}
