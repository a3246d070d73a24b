//! Topics: what was asked.
//!
//! They are read from the lab's XML (2020 to 2023, tasks 1 to 3, and the arguments of 2024 and 2025), `queries.xml` of TIREx, or `queries.jsonl` of
//! TIREx or BEIR.
//!
//! ```
//! use riposte_eval::topic;
//!
//! let topics = topic::parse(
//!     "<topics><topic><number>1</number><title>Which is better, a laptop or a desktop?</title></topic></topics>",
//! )?;
//! assert_eq!(topics[0].id.0, "1");
//! assert_eq!(topics[0].objects, Some(["laptop".to_owned(), "desktop".to_owned()]));
//! # Ok::<(), riposte_eval::Error>(())
//! ```

use std::collections::HashSet;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::limits::MAX_FAULTS;
use crate::lines::{JsonObject, LineCounter, numbered_lines};
use crate::run::unfit_field;
use crate::{Error, LineError, TopicId, objects};

/// A topic: a controversial or comparative question, with what the assessors were told about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The number.
    pub id: TopicId,
    /// The question ("Should the voting age be lowered?"), or the claim of an argument of 2024 or 2025. Never empty.
    pub title: String,
    /// The situation of the user, or the subject of an argument. Topics of 2021 have none.
    pub description: Option<String>,
    /// What makes a document relevant. Only manual runs may use it.
    pub narrative: Option<String>,
    /// The two objects of a comparative question: from the topic's `<objects>` or, if there are none, from its title
    /// ([`objects::from_title`]).
    pub objects: Option<[String; 2]>,
    /// The other parts of an argument of 2024 or 2025, whose claim is the title; `None` for topics of other years.
    pub argument: Option<ArgumentParts>,
}

/// The parts of an argument besides its claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgumentParts {
    /// What the images should convey in 2024; arguments of 2025 have no premise.
    pub premise: Option<String>,
    /// The type of the premise, as the file names it: a study or an anecdote.
    pub premise_type: Option<String>,
}

impl Topic {
    /// A topic that is only a question or a claim. If it compares two things, these are its objects.
    ///
    /// # Errors
    /// The id cannot be a field of a run line, or the title is empty.
    pub fn new(id: &str, title: &str) -> Result<Topic, Error> {
        let fields = TopicFields {
            number: Some(id.to_owned()),
            title: Some(title.to_owned()),
            ..TopicFields::default()
        };
        let line = 1;
        let topic = fields.finish();
        topic.map_err(|what| LineError::new(line, what).into())
    }

    /// What an image should convey: the premise of an argument of 2024, else the title.
    pub fn conveyed(&self) -> &str {
        let premise = self.argument.as_ref().and_then(|a| a.premise.as_deref());
        premise.unwrap_or(&self.title)
    }
}

/// The topics of a file, and the faults in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedTopics {
    /// In the order of the file; at least one.
    pub topics: Vec<Topic>,
    /// What could not be read.
    pub faults: Vec<LineError>,
}

impl ParsedTopics {
    fn fault(&mut self, line: u64, what: impl Into<String>) {
        let what = what.into();
        self.faults.push(LineError::new(line, what));
    }

    /// Adds a topic that ends on this line, or a fault that says what it lacks.
    fn add(&mut self, line: u64, fields: TopicFields) {
        match fields.finish() {
            Ok(topic) => self.topics.push(topic),
            Err(what) => self.fault(line, what),
        }
    }
}

/// Reads topics, in the order of the file. The first character that is not blank decides the format: `<` means XML.
///
/// # Errors
/// Those of [`read`], and the first fault that it finds.
pub fn parse(text: &str) -> Result<Vec<Topic>, Error> {
    let ParsedTopics { topics, faults } = read(text)?;
    match faults.into_iter().next() {
        Some(fault) => Err(fault.into()),
        None => Ok(topics),
    }
}

/// Reads topics as [`parse`] does, and skips what is broken: a topic without a number or a title, or with a number that cannot be written to a run;
/// XML that is not well-formed; the missing end of a truncated file.
///
/// # Errors
/// The text is in neither format, two topics have the same number, or no topic can be read.
pub fn read(text: &str) -> Result<ParsedTopics, Error> {
    let text = text.trim_start_matches('\u{feff}');
    let file = if text.trim_start().starts_with('<') {
        read_xml(text)
    } else {
        read_queries(text)
    };
    if file.topics.is_empty() {
        let fault = file.faults.into_iter().next();
        return Err(fault.map_or(Error::NoTopic, Error::Line));
    }
    let mut seen = HashSet::new();
    for topic in &file.topics {
        if !seen.insert(&topic.id) {
            return Err(Error::RepeatedTopic(topic.id.clone()));
        }
    }
    Ok(file)
}

/// The fields of a topic while it is read.
#[derive(Default)]
struct TopicFields {
    /// Whether the element is an `<argument>` of 2025 (`<id>`, `<topic>`, `<claim>`), not a `<topic>`.
    is_argument: bool,
    number: Option<String>,
    title: Option<String>,
    /// The title in TIREx's XML. There, the fields of the lab's topic are in `<original_query>`.
    query: Option<String>,
    description: Option<String>,
    narrative: Option<String>,
    objects: Option<String>,
    /// The objects, if they are given as a list of two: then each can contain a comma.
    object_pair: Option<[String; 2]>,
    premise: Option<String>,
    premise_type: Option<String>,
}

impl TopicFields {
    fn field(&mut self, name: &str) -> Option<&mut Option<String>> {
        match name {
            "id" if self.is_argument => Some(&mut self.number),
            "claim" if self.is_argument => Some(&mut self.title),
            "topic" if self.is_argument => Some(&mut self.description),
            "premise" if self.is_argument => Some(&mut self.premise),
            "type" if self.is_argument => Some(&mut self.premise_type),
            "number" => Some(&mut self.number),
            "title" => Some(&mut self.title),
            "query" => Some(&mut self.query),
            "description" => Some(&mut self.description),
            "narrative" => Some(&mut self.narrative),
            "objects" => Some(&mut self.objects),
            _ => None,
        }
    }

    /// The name of the topic's element.
    fn element(&self) -> &'static str {
        if self.is_argument {
            "argument"
        } else {
            "topic"
        }
    }

    /// The topic. The error says what it lacks.
    fn finish(self) -> Result<Topic, String> {
        let tidy = |text: Option<String>| {
            text.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
                .filter(|text| !text.is_empty())
        };
        let (element, title_name, without_number) = if self.is_argument {
            ("argument", "claim", "an argument has no <id>")
        } else {
            ("topic", "title", "a topic has no <number>")
        };
        let number = tidy(self.number).ok_or(without_number)?;
        if let Some(why) = unfit_field(&number) {
            return Err(format!(
                "the number {number:?} of a topic {why}, so it cannot be written to a run"
            ));
        }
        let title = tidy(self.query).or_else(|| tidy(self.title));
        let title = title.ok_or_else(|| format!("{element} {number} has no <{title_name}>"))?;
        let argument = self.is_argument.then(|| ArgumentParts {
            premise: tidy(self.premise),
            premise_type: tidy(self.premise_type),
        });
        let pair = self
            .object_pair
            .and_then(|[first, second]| Some([tidy(Some(first))?, tidy(Some(second))?]));
        let listed = || tidy(self.objects).and_then(|text| objects::split_list(&text));
        Ok(Topic {
            id: TopicId(number),
            objects: pair.or_else(listed).or_else(|| objects::from_title(&title)),
            title,
            description: tidy(self.description),
            narrative: tidy(self.narrative),
            argument,
        })
    }
}

/// The topic of a query; `None` if the query has no words or its id cannot be written to a run.
pub(crate) fn from_query(id: TopicId, query: &str) -> Option<Topic> {
    let fields = TopicFields {
        number: Some(id.0),
        title: Some(query.to_owned()),
        ..TopicFields::default()
    };
    fields.finish().ok()
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

fn read_xml(text: &str) -> ParsedTopics {
    let mut reader = Reader::from_str(text);
    let mut read = XmlTopics::default();
    let mut counter = LineCounter::new(text);
    while read.file.faults.len() < MAX_FAULTS {
        let event = reader.read_event();
        let line = counter.line(position(&reader));
        match event {
            Ok(Event::Start(start)) => read.start(line, &start),
            Ok(Event::End(end)) => read.end(line, &end.local_name().as_ref().to_ascii_lowercase()),
            Ok(Event::Text(text)) => read.append(&text),
            Ok(Event::CData(data)) => read.append(&data),
            Ok(Event::GeneralRef(name)) => read.append(&resolve(&name)),
            Ok(Event::Eof) => {
                read.end_of_file(line);
                return read.file;
            }
            Ok(_) => {}
            Err(error) => {
                read.broken(line, &error);
                // a closing tag with another name ends the open element; reading goes on with the next topic
                if !matches!(error, quick_xml::Error::IllFormed(_)) {
                    return read.file;
                }
            }
        }
    }
    let line = counter.line(position(&reader));
    let what = "the rest of the file is not read: too many elements are broken";
    read.file.fault(line, what);
    read.file
}

/// The topics of an XML file, and the elements that are open.
#[derive(Default)]
struct XmlTopics {
    file: ParsedTopics,
    /// The topic that is being read, and the name of its field.
    fields: Option<TopicFields>,
    field: Option<String>,
    /// The element that contains all topics.
    root: Option<String>,
    /// The number of open elements.
    depth: u64,
}

impl XmlTopics {
    fn start(&mut self, line: u64, start: &BytesStart) {
        self.depth += 1;
        let name = start.local_name().as_ref().to_ascii_lowercase();
        self.root.get_or_insert_with(|| name.clone());
        let begun = self.fields.as_ref().map(TopicFields::element);
        if name == "argument" || name == "topic" && begun != Some("argument") {
            if let Some(begun) = begun {
                let what = format!("a <{name}> inside a <{begun}>");
                self.file.fault(line, what);
            }
            // TIREx has the number of a topic here
            let number = start.try_get_attribute("number").ok().flatten();
            let number = number.and_then(|n| n.normalized_value(XmlVersion::Implicit1_0).ok());
            self.fields = Some(TopicFields {
                is_argument: name == "argument",
                number: number.map(Into::into),
                ..TopicFields::default()
            });
            self.field = None;
        } else if let Some(slot) = self.fields.as_mut().and_then(|d| d.field(&name)) {
            *slot = Some(String::new());
            self.field = Some(name);
        }
    }

    fn end(&mut self, line: u64, name: &str) {
        self.depth = self.depth.saturating_sub(1);
        if let Some(done) = self.fields.take_if(|d| d.element() == name) {
            self.file.add(line, done);
        } else if self.field.as_deref() == Some(name) {
            self.field = None;
        }
    }

    fn append(&mut self, words: &str) {
        if let (Some(field), Some(fields)) = (&self.field, &mut self.fields)
            && let Some(Some(slot)) = fields.field(field)
        {
            slot.push_str(words);
        }
    }

    fn end_of_file(&mut self, line: u64) {
        match (&self.fields, &self.root) {
            (Some(_), _) => self.file.fault(line, "the file ends inside a topic"),
            (None, Some(root)) if self.depth > 0 => {
                let what = format!("the file ends before </{root}>: topics may be missing");
                self.file.fault(line, what);
            }
            _ => {}
        }
    }

    /// Reports XML that is not well-formed, and leaves out the topic that contains it.
    fn broken(&mut self, line: u64, error: &quick_xml::Error) {
        let what = format!("not well-formed XML: {error}");
        self.file.fault(line, what);
        (self.fields, self.field) = (None, None);
        self.depth = self.depth.saturating_sub(1);
    }
}

/// The character of an entity or a character reference. An unknown one is returned as written.
fn resolve(name: &str) -> String {
    let number = name
        .strip_prefix('#')
        .and_then(|digits| match digits.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        });
    if let Some(character) = number.and_then(char::from_u32) {
        return character.to_string();
    }
    match quick_xml::escape::resolve_predefined_entity(name) {
        Some(text) => text.to_owned(),
        None => format!("&{name};"),
    }
}

/// A line of `queries.jsonl`. The id (number or string) and the title of a query are `qid` and `query` in TIREx, `_id` and `text` in BEIR, `query_id`
/// and `text` in exports of `ir_datasets`.
#[derive(serde::Deserialize)]
struct QueryLine {
    qid: Option<serde_json::Value>,
    #[serde(rename = "_id", alias = "query_id")]
    beir_id: Option<serde_json::Value>,
    query: Option<String>,
    text: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    narrative: Option<String>,
    #[serde(default)]
    objects: serde_json::Value,
    /// BEIR has the description and the narrative of a topic here, TIREx in `original_query`.
    #[serde(default, alias = "original_query")]
    metadata: serde_json::Value,
}

impl QueryLine {
    /// The text of a part of the topic: `given`, or else the metadata's text with this name.
    fn part(&self, given: &Option<String>, name: &str) -> Option<String> {
        let described = || self.metadata.get(name)?.as_str().map(str::to_owned);
        given.clone().or_else(described)
    }
}

/// Reads the format of TIREx or BEIR: one JSON object per line.
fn read_queries(text: &str) -> ParsedTopics {
    let mut file = ParsedTopics::default();
    for (n, line) in numbered_lines(text) {
        if file.faults.len() >= MAX_FAULTS {
            file.fault(
                n,
                "the rest of the file is not read: too many lines are broken",
            );
            break;
        }
        let line: QueryLine = match serde_json::from_str(line) {
            Ok(JsonObject(line)) => line,
            Err(error) => {
                let what = format!("neither topics XML nor a query of TIREx or BEIR: {error}");
                file.fault(n, what);
                continue;
            }
        };
        let description = line.part(&line.description, "description");
        let narrative = line.part(&line.narrative, "narrative");
        let number = match line.qid.or(line.beir_id) {
            Some(serde_json::Value::String(text)) => Some(text),
            Some(serde_json::Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let Some(title) = line.query.or(line.text) else {
            file.fault(n, "a query has neither `query` nor `text`");
            continue;
        };
        let fields = TopicFields {
            number,
            title: Some(title),
            query: None,
            description,
            narrative,
            object_pair: serde_json::from_value(line.objects.clone()).ok(),
            objects: match line.objects {
                serde_json::Value::String(text) => Some(text),
                serde_json::Value::Array(both) => {
                    let both: Option<Vec<&str>> = both.iter().map(|o| o.as_str()).collect();
                    both.map(|both| both.join(", "))
                }
                _ => None,
            },
            ..TopicFields::default()
        };
        file.add(n, fields);
    }
    file
}

#[cfg(test)]
mod tests;
