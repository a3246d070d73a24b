//! What the user is told of a run of texts before and after it.

use std::collections::BTreeMap;

use riposte_eval::topic::Topic;
use riposte_eval::{DocId, TextTask};

use super::{OpenTexts, TextRunSettings};
use crate::events::{Event, OnEvent};
use crate::limits::RUN_DEPTH;
use crate::recipes::english;
use crate::recipes::text_approach::TextApproach;

/// Maximum number of topics that a note names.
const NAMED: usize = 3;

/// Which topics get no stances; `None` if there are none.
fn note_on_objects(topics: &[&Topic]) -> Option<String> {
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

impl OpenTexts {
    /// Says what a run will lack: stances of topics without objects, documents that the lab does not take, and what is made for English.
    pub(super) fn note_before(
        &self,
        topics: &[Topic],
        settings: &TextRunSettings,
        on_event: &mut OnEvent,
    ) {
        let (task, approach) = (self.task, &self.approach);
        let has_stances = task == TextTask::Comparative && settings.stances;
        let without = topics.iter().filter(|topic| topic.objects.is_none());
        let without: Vec<&Topic> = without.filter(|_| has_stances).collect();
        let TextApproach { name, depth, .. } = approach;
        let is_too_deep = task != TextTask::Rank && *depth > RUN_DEPTH;
        let too_deep = is_too_deep.then(|| {
            format!("{name} ranks up to {depth} documents for a topic, and the lab takes at most {RUN_DEPTH} in a run")
        });
        let reads_stances = match task {
            TextTask::Controversial => settings.ranking.explain || settings.debate,
            TextTask::Comparative => settings.stances,
            TextTask::Rank => false,
        };
        let language = english::note_on_texts(task, approach, topics, reads_stances);
        let notes = [note_on_objects(&without), too_deep, language];
        for note in notes.into_iter().flatten() {
            on_event(Event::note(note));
        }
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
