//! Explanations: the numbers from which a score was computed, as a tree.
//!
//! ```
//! use riposte_eval::Explanation;
//!
//! let words = Explanation::new(("channel", "bm25"), 2.5);
//! let picture = Explanation::new(("channel", "clip"), 0.5);
//! let score = Explanation::sum("score", vec![words, picture]);
//! assert_eq!(score.value(), 3.0);
//! assert_eq!(score.part(("channel", "clip")).map(Explanation::value), Some(0.5));
//! ```

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::escaped;

/// The name of a number, or the word of an id: mostly a constant of the program that makes the explanation.
pub type Name = Cow<'static, str>;

/// What a number of an explanation is: a word, and for some words a parameter that tells numbers of this kind apart. Programs find numbers by it; the name
/// of a number is for people. Whoever makes an explanation chooses its ids, and nothing here knows them.
///
/// In a file it is the word (`"relevance"`), or an object of the word and the parameter (`{"channel":"bm25 ocr"}`).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct NumberId {
    kind: Name,
    parameter: Value,
}

impl NumberId {
    /// The word ("channel").
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// What tells this number apart from others of its kind; null if nothing does.
    pub fn parameter(&self) -> &Value {
        &self.parameter
    }

    /// The parameter, if it is a text ("bm25 ocr").
    pub fn text(&self) -> Option<&str> {
        self.parameter.as_str()
    }
}

impl From<&'static str> for NumberId {
    fn from(kind: &'static str) -> Self {
        (kind, Value::Null).into()
    }
}

impl<P: Into<Value>> From<(&'static str, P)> for NumberId {
    fn from((kind, parameter): (&'static str, P)) -> Self {
        let (kind, parameter) = (kind.into(), parameter.into());
        NumberId { kind, parameter }
    }
}

impl TryFrom<Value> for NumberId {
    type Error = &'static str;

    fn try_from(written: Value) -> Result<Self, Self::Error> {
        let (kind, parameter) = match written {
            Value::String(kind) => Some((kind, Value::Null)),
            Value::Object(of) if of.len() == 1 => of.into_iter().find(|(_, of)| !of.is_null()),
            _ => None,
        }
        .ok_or("an id is a word, or an object of a word and a parameter")?;
        let kind = kind.into();
        Ok(NumberId { kind, parameter })
    }
}

impl Serialize for NumberId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.parameter {
            Value::Null => serializer.serialize_str(&self.kind),
            parameter => serializer.collect_map([(&self.kind, parameter)]),
        }
    }
}

/// A number from which a score was computed, or the score itself, with the numbers from which it follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// `None` in the file of a version of riposte that wrote no ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<NumberId>,
    name: Name,
    value: f64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    how: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Explanation>,
}

impl Explanation {
    /// A number without parts. Its name is the parameter of the id, if that is a text, or its word, unless [`Explanation::named`] gives it another one.
    pub fn new(id: impl Into<NumberId>, value: f64) -> Self {
        let unnamed = Explanation {
            id: None,
            name: Name::default(),
            value,
            how: String::new(),
            parts: Vec::new(),
        };
        unnamed.identified(id)
    }

    /// The sum of the parts, added up in their order.
    pub fn sum(id: impl Into<NumberId>, parts: Vec<Explanation>) -> Self {
        let value = parts.iter().map(Explanation::value).sum();
        Explanation::new(id, value)
            .with_how("sum")
            .with_parts(parts)
    }

    /// Another value of the same number, computed from this one, which becomes its first part.
    pub fn revised(self, value: f64, how: impl Into<String>) -> Self {
        Explanation {
            id: self.id.clone(),
            name: self.name.clone(),
            value,
            how: how.into(),
            parts: vec![self],
        }
    }

    /// The same number under another name.
    pub fn named(self, name: impl Into<Name>) -> Self {
        let name = name.into();
        Explanation { name, ..self }
    }

    /// Gives the number another id, and the name of that id. The value and the parts stay the same.
    pub fn identified(self, id: impl Into<NumberId>) -> Self {
        let id = id.into();
        let text = id.text().map(|text| Name::from(text.to_owned()));
        Explanation {
            name: text.unwrap_or_else(|| id.kind.clone()),
            id: Some(id),
            ..self
        }
    }

    /// The same number with this description of how it was computed.
    pub fn with_how(self, how: impl Into<String>) -> Self {
        let how = how.into();
        Explanation { how, ..self }
    }

    /// The same number with these parts.
    pub fn with_parts(self, parts: Vec<Explanation>) -> Self {
        Explanation { parts, ..self }
    }

    /// Adds a part. The value does not change.
    pub fn add_part(&mut self, part: Explanation) {
        self.parts.push(part);
    }

    /// Appends a note to the description of how it was computed.
    pub fn add_note(&mut self, note: &str) {
        if !self.how.is_empty() {
            self.how.push_str("; ");
        }
        self.how.push_str(note);
    }

    /// What this number is; `None` if it was read from the file of a version of riposte that wrote no ids.
    pub fn id(&self) -> Option<&NumberId> {
        self.id.as_ref()
    }

    /// The name of this number, for people ("bm25 near").
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number itself.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// How the value follows from the parts, or why there is none; empty if the name says it all.
    pub fn how(&self) -> &str {
        &self.how
    }

    /// The numbers from which the value follows.
    pub fn parts(&self) -> &[Explanation] {
        &self.parts
    }

    /// The parts themselves.
    pub fn into_parts(self) -> Vec<Explanation> {
        self.parts
    }

    /// Whether this number is what the id says.
    pub fn is(&self, id: impl Into<NumberId>) -> bool {
        self.id.as_ref() == Some(&id.into())
    }

    /// The part with this id.
    pub fn part(&self, id: impl Into<NumberId>) -> Option<&Explanation> {
        let id = Some(id.into());
        self.parts.iter().find(|part| part.id == id)
    }

    /// The first part with this id, at any depth.
    pub fn find_mut(&mut self, id: impl Into<NumberId>) -> Option<&mut Explanation> {
        fn find<'a>(of: &'a mut Explanation, id: &NumberId) -> Option<&'a mut Explanation> {
            match of.parts.iter().position(|part| part.id() == Some(id)) {
                Some(at) => of.parts.get_mut(at),
                None => of.parts.iter_mut().find_map(|part| find(part, id)),
            }
        }
        find(self, &id.into())
    }
}

/// The number with its name and how it was computed, then its parts, indented by two spaces more.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn write(of: &Explanation, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let indent = 2 * depth;
            write!(f, "{:indent$}{} {:.4}", "", escaped(&of.name), of.value)?;
            if !of.how.is_empty() {
                write!(f, " ({})", escaped(&of.how))?;
            }
            of.parts.iter().try_for_each(|part| {
                writeln!(f)?;
                write(part, depth + 1, f)
            })
        }
        write(self, 0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_is_printed_as_an_indented_tree() {
        let channel = Explanation::new(("channel", "bm25 ocr"), 0.25);
        let relevance = Explanation::sum("relevance", vec![channel]);
        assert_eq!(
            relevance.to_string(),
            "relevance 0.2500 (sum)\n  bm25 ocr 0.2500"
        );
    }

    fn json(explanation: &Explanation) -> String {
        serde_json::to_string(explanation).unwrap()
    }

    #[test]
    fn ids_are_words_or_objects_of_a_word_and_a_parameter() {
        let channel = Explanation::new(("channel", "bm25 ocr"), 0.25);
        let relevance = Explanation::sum("relevance", vec![channel]);
        assert_eq!(
            json(&relevance),
            r#"{"id":"relevance","name":"relevance","value":0.25,"how":"sum","parts":[{"id":{"channel":"bm25 ocr"},"name":"bm25 ocr","value":0.25}]}"#
        );
        for written in [
            r#""of another program""#,
            r#"{"probability":"PRO"}"#,
            r#"{"piece":0}"#,
            r#"{"length":["title","body"]}"#,
            r#"{"term":{"field":"title","term":"zoo"}}"#,
            r#"{"search":{"number":2,"weight":1.0,"rank":3}}"#,
        ] {
            let id: NumberId = serde_json::from_str(written).unwrap();
            assert_eq!(serde_json::to_string(&id).unwrap(), written);
        }
        for damaged in ["1", "null", "[]", "{}", r#"{"a":null}"#, r#"{"a":1,"b":2}"#] {
            assert!(serde_json::from_str::<NumberId>(damaged).is_err());
        }
    }

    #[test]
    fn a_number_without_an_id_is_read_and_written_as_it_is() {
        let text = r#"{"name":"relevance","value":0.5,"parts":[{"name":"bm25 ocr","value":0.5}]}"#;
        let old: Explanation = serde_json::from_str(text).unwrap();
        assert_eq!((old.id(), json(&old).as_str()), (None, text));
        assert!(old.part(("channel", "bm25 ocr")).is_none());
    }

    #[test]
    fn a_part_is_found_at_its_highest_place() {
        let deep = Explanation::sum("quality", vec![Explanation::new("dense", 1.0)]);
        let mut tree = Explanation::sum("score", vec![deep, Explanation::new("dense", 2.0)]);
        assert_eq!(tree.find_mut("dense").unwrap().value(), 2.0);
        assert!(tree.find_mut("trees").is_none());
    }
}
