//! Runs and judgements as ranx saves them: one JSON object of topics, each an object of documents with their scores or grades.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::field::unfit_field;
use crate::limits::MAX_RANX_DOCUMENTS;
use crate::lines::{LineCounter, numbered_lines};
use crate::{DocId, LineError, TopicId};

/// Number of characters of an id or a value that a message shows. A file can consist of a single long one.
const SHOWN: usize = 100;

/// A line of a run or of judgements of 2024 or 2025 has one of these keys.
const KEYS_OF_LINES: [&str; 4] = ["argument_id", "argumentId", "image_id", "imageId"];

/// A document of a topic, with a number.
pub(crate) struct RanxEntry {
    /// The line of the number in the file, from 1.
    pub line: u64,
    pub topic: TopicId,
    pub doc: DocId,
    /// Finite.
    pub number: f64,
}

/// Whether the beginning of a file is that of an object of objects.
pub fn begins_as_ranx(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let key = text.strip_prefix('{').map(str::trim_start);
    let Some(key) = key.and_then(|key| key.strip_prefix('"')) else {
        return false;
    };
    let mut is_escaped = false;
    let end = key.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    let after = end.and_then(|end| key.get(end + 1..)).map(str::trim_start);
    let value = after.and_then(|after| after.strip_prefix(':'));
    value.is_some_and(|value| value.trim_start().starts_with('{'))
}

/// Whether a file is an object of objects, and not lines of 2024 or 2025, whose first value can be an object, too.
pub(crate) fn is_ranx(text: &str) -> bool {
    let is_line_of_the_lab = || {
        let first = numbered_lines(text).next();
        let members = first.and_then(|(_, line)| serde_json::from_str::<Members>(line).ok());
        members.is_some_and(|Members(members)| {
            let mut keys = members.iter().map(|(key, _)| key.as_str());
            keys.any(|key| KEYS_OF_LINES.contains(&key))
        })
    };
    begins_as_ranx(text) && !is_line_of_the_lab()
}

/// Reads all documents, in the order of the file. Returns an error for each that cannot be read. `number` names the numbers in errors: "score".
///
/// If the file is not JSON or has more than [`MAX_RANX_DOCUMENTS`], nothing is read.
pub(crate) fn read(text: &str, number: &str) -> (Vec<RanxEntry>, Vec<LineError>) {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = RanxReader {
        number,
        lines: LineCounter::new(text),
        count: 0,
        entries: Vec::new(),
        errors: Vec::new(),
    };
    if let Err(error) = reader.read_topics(text) {
        return (Vec::new(), vec![error]);
    }
    (reader.entries, reader.errors)
}

struct RanxReader<'a> {
    number: &'a str,
    lines: LineCounter<'a>,
    /// Of documents, whether they can be read or not.
    count: usize,
    entries: Vec<RanxEntry>,
    errors: Vec<LineError>,
}

impl<'a> RanxReader<'a> {
    /// # Errors
    /// The file is not JSON, or has too many documents.
    fn read_topics(&mut self, text: &'a str) -> Result<(), LineError> {
        let Members(topics) = members(text, 1)?;
        for (topic, documents) in topics {
            let line = self.lines.line_of(documents.get());
            if !documents.get().starts_with('{') {
                let what = format!("topic {} has no object of documents", shown(&topic));
                self.errors.push(LineError::new(line, what));
            } else if let Some(why) = unfit_field(&topic) {
                let what = format!("the topic {:?} {why}", shown(&topic));
                self.errors.push(LineError::new(line, what));
            } else {
                self.read_documents(&topic, documents.get(), line)?;
            }
        }
        Ok(())
    }

    fn read_documents(&mut self, topic: &str, json: &'a str, line: u64) -> Result<(), LineError> {
        let Members(documents) = members(json, line)?;
        self.count += documents.len();
        if self.count > MAX_RANX_DOCUMENTS {
            return Err(LineError::new(line, too_many()));
        }
        for (doc, value) in documents {
            let line = self.lines.line_of(value.get());
            match self.number_of(topic, &doc, value.get()) {
                Ok(number) => self.entries.push(RanxEntry {
                    line,
                    topic: TopicId(topic.to_owned()),
                    doc: DocId(doc),
                    number,
                }),
                Err(what) => self.errors.push(LineError::new(line, what)),
            }
        }
        Ok(())
    }

    /// The number of a document. The error says why there is none.
    fn number_of(&self, topic: &str, doc: &str, value: &str) -> Result<f64, String> {
        let (topic, shown_doc) = (shown(topic), shown(doc));
        if let Some(why) = unfit_field(doc) {
            return Err(format!("topic {topic}: the document {shown_doc:?} {why}"));
        }
        let number = value.parse().ok().filter(|number| f64::is_finite(*number));
        number.ok_or_else(|| {
            let (value, number) = (shown(value), self.number);
            format!("topic {topic}, document {shown_doc}: {value} is not a {number}")
        })
    }
}

/// The members of an object that begins on this line.
fn members(json: &str, line: u64) -> Result<Members<'_>, LineError> {
    serde_json::from_str(json).map_err(|error| {
        let mut found = LineError::of_json(line, &error);
        // the only error of ours, and not of the syntax, is that there are too many
        if !error.is_data() {
            found.what = format!("not the JSON of ranx: {}", found.what);
        }
        found
    })
}

fn too_many() -> String {
    format!("more than {MAX_RANX_DOCUMENTS} topics or documents: nothing is read")
}

/// The beginning of a text.
fn shown(text: &str) -> String {
    let mut letters = text.chars();
    let mut beginning: String = letters.by_ref().take(SHOWN).collect();
    if letters.next().is_some() {
        beginning.push('…');
    }
    beginning
}

/// The members of a JSON object in the order of the text, also those with equal names. The values are not read yet.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    if members.len() == MAX_RANX_DOCUMENTS {
                        return Err(A::Error::custom(too_many()));
                    }
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(MembersVisitor)
    }
}

/// The rank of each entry within its topic: by the number as a 32-bit float and then by id, both descending, as in trec_eval.
pub(crate) fn ranks(entries: &[RanxEntry]) -> Vec<u32> {
    let mut lists: HashMap<&TopicId, Vec<usize>> = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        lists.entry(&entry.topic).or_default().push(at);
    }
    let mut ranks = vec![0; entries.len()];
    // the sum with 0 makes 0 of -0
    let key = |at: &usize| entries.get(*at).map(|e| (e.number as f32 + 0.0, &e.doc));
    for list in lists.values_mut() {
        list.sort_by(|a, b| match (key(a), key(b)) {
            (Some((of_a, a)), Some((of_b, b))) => of_b.total_cmp(&of_a).then_with(|| b.cmp(a)),
            _ => std::cmp::Ordering::Equal,
        });
        for (rank, at) in (1..).zip(list) {
            if let Some(slot) = ranks.get_mut(*at) {
                *slot = rank;
            }
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_of_objects_is_told_from_lines_of_the_lab() {
        for (text, expected) in [
            (r#"{"1": {"a": 1}}"#, true),
            ("\u{feff} {\n \"1\\\"\\\\\" : {\n", true),
            (
                r#"{"argument_id": "1-1", "image_id": "I", "rank": 1}"#,
                false,
            ),
            (
                "{\"notes\": {\"a\": 1}, \"argument_id\": \"1-1\", \"image_id\": \"I\", \"rank\": 1}\n{}",
                false,
            ),
            (r#"{"1": [1]}"#, false),
            (r#"{"1\"#, false),
            ("{}", false),
            ("[{\"1\": {", false),
        ] {
            assert_eq!(is_ranx(text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_by_line_topic_and_document() {
        let text = "{\"1\": {\n\"a\": 0.5,\n\"b\": null, \"c d\": 1, \"e\": 1e999},\n\"2\": 7,\n\"\": {}, \"1\": {\"f\":\n\"2\"}}";
        let (entries, errors) = read(text, "score");
        assert_eq!(entries.len(), 1);
        assert_eq!((entries[0].line, entries[0].number), (2, 0.5));
        let errors: Vec<String> = errors.iter().map(LineError::to_string).collect();
        let expected = [
            "line 3: topic 1, document b: null is not a score",
            "line 3: topic 1: the document \"c d\" has a blank in it",
            "line 3: topic 1, document e: 1e999 is not a score",
            "line 4: topic 2 has no object of documents",
            "line 5: the topic \"\" is empty",
            "line 6: topic 1, document f: \"2\" is not a score",
        ];
        assert_eq!(errors, expected);
    }

    #[test]
    fn broken_json_is_an_error_with_its_line_and_nothing_is_read() {
        for (text, line) in [
            ("{\"1\": {\"a\": 1},\n\"2\": {\"a\" 1}}", 2),
            ("{\"1\": {\"a\": 1}}\n{\"2\": {\"a\": 1}}", 2),
            ("{\"1\": {\"a\": 1},\n\n \"2\": {\n\"\\ud800\": 1}}", 4),
            ("{\"1\": {\"a\": 1}", 1),
        ] {
            let (entries, errors) = read(text, "score");
            assert!(entries.is_empty());
            assert_eq!(errors.len(), 1);
            assert_eq!(errors[0].line, line, "{text}: {}", errors[0]);
            assert!(errors[0].what.starts_with("not the JSON of ranx: "));
        }
    }

    #[test]
    fn hostile_files_end_with_one_short_message() {
        let deep = format!("{{\"1\": {{\"a\": {}", "[".repeat(1_000_000));
        let long = format!("{{\"1\": {{\"a\": \"{}\"}}}}", "x".repeat(1_000_000));
        for text in [deep, long] {
            let (entries, errors) = read(&text, "score");
            assert!(entries.is_empty());
            assert_eq!(errors.len(), 1);
            assert!(errors[0].what.len() < 1000);
        }
    }

    #[test]
    fn ranks_follow_scores_and_then_ids() {
        let text = r#"{"1": {"a": 1, "b": 3, "c": 1}, "2": {"a": -0.0, "b": 0}}"#;
        let (entries, errors) = read(text, "score");
        assert!(errors.is_empty());
        assert_eq!(ranks(&entries), [3, 1, 2, 2, 1]);
    }
}
