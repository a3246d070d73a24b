//! Reads and writes texts line by line.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Error, LineError};

/// Passes the lines that are not blank to a function, which says why it cannot read a line. Returns an error for each line that it cannot read.
pub(crate) fn each_line(
    text: &str,
    mut read: impl FnMut(&str) -> Result<(), String>,
) -> Vec<LineError> {
    let errors = numbered_lines(text).filter_map(|(line, fields)| {
        let what = read(fields).err()?;
        Some(LineError::new(line, what))
    });
    errors.collect()
}

/// Writes one JSON object per line. `what` names the objects in the error: "an explanation".
///
/// # Errors
/// A value is not finite, which JSON cannot express.
pub fn write_json<T: Serialize>(lines: &[T], what: &'static str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line).map_err(|error| Error::Json { what, error })?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Reads the lines that [`write_json`] writes. `what` names the objects in the error.
///
/// # Errors
/// The first line that is not such an object.
pub fn read_json<T: DeserializeOwned>(text: &str, what: &str) -> Result<Vec<T>, LineError> {
    let read = |(line, json)| {
        serde_json::from_str(json)
            .map(|JsonObject(read)| read)
            .map_err(|error| LineError::new(line, format!("not {what}: {error}")))
    };
    numbered_lines(text).map(read).collect()
}

/// A value that is read from a JSON object only. By itself, serde also reads a struct from an array of its fields in their order, which no other
/// program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonObject<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<JsonObject<T>, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = JsonObject<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<JsonObject<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields)).map(JsonObject)
            }
        }

        json.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// Decodes UTF-8. Each invalid byte becomes a private character of its own, so that ids with different bytes stay different.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    const FIRST: u32 = 0x10_F700;
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::new();
    for part in bytes.utf8_chunks() {
        text.push_str(part.valid());
        let invalid = part.invalid().iter();
        text.extend(invalid.filter_map(|byte| char::from_u32(FIRST + u32::from(*byte))));
    }
    Cow::Owned(text)
}

/// The lines that are not blank, with their numbers from 1. A byte order mark is skipped.
pub(crate) fn numbered_lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
}

/// Tells on which line a position of a text is. The lines between two positions are counted once, so positions must not decrease.
pub(crate) struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: u64,
}

impl<'a> LineCounter<'a> {
    pub fn new(text: &'a str) -> LineCounter<'a> {
        LineCounter {
            text,
            at: 0,
            line: 1,
        }
    }

    /// The line of a byte offset, from 1.
    pub fn line(&mut self, offset: usize) -> u64 {
        let to = offset.min(self.text.len()).max(self.at);
        let passed = self.text.as_bytes().get(self.at..to).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.at = to;
        self.line
    }

    /// The line on which a part of the text begins.
    pub fn line_of(&mut self, part: &'a str) -> u64 {
        self.line((part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::RerankCandidates;
    use crate::explained::ExplainedText;
    use crate::run::read_claims;
    use crate::{qrels, topic};

    /// The file can contain what serde says of places.
    #[test]
    fn an_error_in_json_names_the_line_of_the_file_and_nothing_that_stands_in_it_is_cut() {
        let error = serde_json::from_str::<bool>("\n\"a at line 7\"").unwrap_err();
        let error = LineError::of_json(10, &error);
        let what = "invalid type: string \"a at line 7\", expected a boolean";
        assert_eq!((error.line, &*error.what), (11, what));
    }

    /// Each array has the fields of the object in their order.
    #[test]
    fn an_array_is_no_object_in_any_format() {
        const SAID: &str = "invalid type: sequence, expected a JSON object";
        let explained = r#"["1", "d", 1, [1, "bm25", 0.5, "how", []]]"#;
        let error = read_json::<ExplainedText>(explained, "an explanation").unwrap_err();
        assert!(error.what.contains(SAID), "{error}");
        let faults = topic::read(r#"["1", null, "Should x?", null]"#);
        let said = format!("{:?}", faults.map(|read| read.faults));
        assert!(said.contains(SAID), "{said}");
        let (_, faults) = RerankCandidates::read(r#"["1", "I1", "Should x?"]"#);
        assert!(faults[0].what.contains(SAID), "{faults:?}");
        let (_, faults) = read_claims(r#"["1-1", "I1", "retrieval", 1, "t"]"#);
        assert!(faults[0].what.contains(SAID), "{faults:?}");
        let (_, faults) = qrels::read(r#"[["1-1", "I1", [], "yes", null]]"#);
        assert!(faults[0].what.contains(SAID), "{faults:?}");
    }
}
