//! The documents that a re-ranking may list for each topic: TIREx's `rerank.jsonl`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::field::unfit_field;
use crate::lines::{JsonObject, numbered_lines};
use crate::topic::{self, Topic};
use crate::{DocId, LineError, TopicId};

/// The documents that a re-ranking may list.
#[derive(Clone, Debug, Default)]
pub struct RerankCandidates {
    by_topic: BTreeMap<TopicId, BTreeSet<DocId>>,
    /// The topics whose query the file has, in its order.
    topics: Vec<Topic>,
}

impl RerankCandidates {
    /// Reads lines of `{"qid", "query", "docno"}`. A `qid` may be a number, and the query may be missing. Returns an error for each line that
    /// cannot be read.
    pub fn read(text: &str) -> (Self, Vec<LineError>) {
        #[derive(Deserialize)]
        struct CandidateLine {
            qid: Value,
            docno: Value,
            #[serde(default)]
            query: Option<String>,
        }
        let mut candidates = RerankCandidates::default();
        let mut faults = Vec::new();
        for (number, line) in numbered_lines(text) {
            if faults.len() >= crate::limits::MAX_FAULTS {
                let what = "the rest of the file is not read: too many lines are broken";
                faults.push(LineError::new(number, what));
                break;
            }
            let read = serde_json::from_str(line)
                .map_err(|error| format!("not a candidate with a qid and a docno: {error}"))
                .and_then(|JsonObject(line): JsonObject<CandidateLine>| {
                    Ok((id(&line.qid)?, id(&line.docno)?, line.query))
                });
            match read {
                Ok((topic, document, query)) => {
                    let topic = TopicId(topic);
                    if !candidates.by_topic.contains_key(&topic) {
                        let query = query.as_deref().unwrap_or_default();
                        let topic = topic::from_query(topic.clone(), query);
                        candidates.topics.extend(topic);
                    }
                    let of_topic = candidates.by_topic.entry(topic).or_default();
                    of_topic.insert(DocId(document));
                }
                Err(what) => faults.push(LineError::new(number, what)),
            }
        }
        (candidates, faults)
    }

    /// The candidates for a topic; `None` if the file has none.
    pub fn of(&self, topic: &TopicId) -> Option<&BTreeSet<DocId>> {
        self.by_topic.get(topic)
    }

    /// The topics whose query the file has.
    pub fn topics(&self) -> &[Topic] {
        &self.topics
    }

    /// All documents that are a candidate for a topic.
    pub fn documents(&self) -> BTreeSet<&DocId> {
        self.by_topic.values().flatten().collect()
    }

    /// Replaces the ids by those of a collection. `known` has the ids of the collection, sorted. An id of 16 hexadecimal digits and one of 24 are the
    /// same if one begins with the other. Candidates that the collection lacks are left out; returns their number.
    pub fn resolve(&mut self, known: &[&DocId]) -> usize {
        let mut missing = BTreeSet::new();
        for of_topic in self.by_topic.values_mut() {
            let named = std::mem::take(of_topic).into_iter();
            of_topic.extend(named.filter_map(|id| match find(&id, known) {
                Some(found) => Some(found.clone()),
                None => {
                    missing.insert(id);
                    None
                }
            }));
        }
        missing.len()
    }
}

/// Finds the first known id that begins with `id`. If there is none, `id` may begin with a known id; only the one sorted just before it is tried.
fn find<'a>(id: &DocId, known: &[&'a DocId]) -> Option<&'a DocId> {
    let at = known.partition_point(|other| *other < id);
    let next = known.get(at).filter(|other| other.0.starts_with(&id.0));
    let before = || at.checked_sub(1).and_then(|at| known.get(at));
    let found = next.or_else(|| before().filter(|other| id.0.starts_with(&other.0)));
    found.copied()
}

/// The text of an id, which may be a number.
fn id(value: &Value) -> Result<String, String> {
    let id = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return Err("a qid or docno that is neither text nor a number".to_owned()),
    };
    match unfit_field(&id) {
        Some(why) => Err(format!(
            "the id {id:?} {why}, so it cannot be written to a run"
        )),
        None => Ok(id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(candidates: &RerankCandidates, topic: &str) -> Vec<String> {
        let of_topic = candidates.of(&TopicId(topic.to_owned()));
        of_topic
            .into_iter()
            .flatten()
            .map(|id| id.0.clone())
            .collect()
    }

    #[test]
    fn qids_are_numbers_or_texts_and_broken_lines_are_named() {
        let text = "{\"qid\": 51, \"query\": \"Should x?\", \"docno\": \"I1\"}\n\
            {\"qid\": \"51\", \"docno\": \"I2\"}\n\n{\"qid\": 52}\n\
            {\"qid\": 52, \"docno\": \"I 3\"}\n{\"qid\": 53, \"docno\": \"I1\", \"text\": \"…\"}\n";
        let (candidates, faults) = RerankCandidates::read(text);
        assert_eq!(ids(&candidates, "51"), ["I1", "I2"]);
        assert_eq!(ids(&candidates, "53"), ["I1"]);
        assert!(candidates.of(&TopicId("52".to_owned())).is_none());
        let lines: Vec<u64> = faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [4, 5]);
        let titles: Vec<&str> = candidates
            .topics()
            .iter()
            .map(|t| t.title.as_str())
            .collect();
        assert_eq!(titles, ["Should x?"]);
        assert_eq!(candidates.documents().len(), 2);
    }

    #[test]
    fn ids_of_either_length_are_found() {
        let lines = ["Iaa", "Ibb00", "Icc", "Iee11"]
            .map(|id| format!("{{\"qid\": 1, \"docno\": \"{id}\"}}\n"));
        let (mut candidates, _) = RerankCandidates::read(&lines.concat());
        let known = ["Iaa77", "Ibb", "Idd", "Iee11"].map(|id| DocId(id.to_owned()));
        assert_eq!(candidates.resolve(&known.each_ref()), 1);
        assert_eq!(ids(&candidates, "1"), ["Iaa77", "Ibb", "Iee11"]);
    }
}
