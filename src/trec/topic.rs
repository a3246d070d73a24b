//! Topics, from the lab's XML (2020 to 2023, tasks 1 to 3, and the arguments of 2024 and 2025), `queries.xml` of TIREx, or `queries.jsonl`
//! of TIREx or BEIR.

use std::collections::HashSet;

use anyhow::{Context, Result, bail};
use quick_xml::events::Event;
use quick_xml::{Reader, XmlVersion};

use super::escape::unfit_field;
use super::{LineError, TopicId, numbered_lines, objects};

/// A topic: a controversial or comparative question, with what the assessors were told about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
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
    /// What belongs to an argument of 2024 or 2025 besides its claim, which is the title; `None` for topics of other years.
    pub argument: Option<ArgumentParts>,
}

/// The parts of an argument that is to be conveyed by images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgumentParts {
    /// What the images are to convey in 2024; arguments of 2025 have none.
    pub premise: Option<String>,
    /// What the premise is in the words of the file: a study or an anecdote.
    pub premise_type: Option<String>,
}

impl Topic {
    /// What an image should convey: the premise of an argument of 2024, else the title.
    pub fn conveyed(&self) -> &str {
        let premise = self.argument.as_ref().and_then(|a| a.premise.as_deref());
        premise.unwrap_or(&self.title)
    }
}

/// The topics of a file, and what in it could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedTopics {
    /// In the order of the file; at least one.
    pub topics: Vec<Topic>,
    pub faults: Vec<LineError>,
}

/// After this number of faults the rest of a file is not read.
const MAX_FAULTS: usize = 100;

impl ParsedTopics {
    fn fault(&mut self, line: u64, what: impl Into<String>) {
        let what = what.into();
        self.faults.push(LineError { line, what });
    }

    /// Adds a topic that ends on this line, or says why it is none.
    fn add(&mut self, line: u64, fields: TopicFields) {
        match fields.finish() {
            Ok(topic) => self.topics.push(topic),
            Err(error) => self.fault(line, format!("{error:#}")),
        }
    }
}

/// Reads topics, in the order of the file. The first character that is not blank decides the format: `<` means XML.
///
/// Errors: the first fault of [`read`], or as [`read`].
pub fn parse(text: &str) -> Result<Vec<Topic>> {
    let ParsedTopics { topics, faults } = read(text)?;
    match faults.first() {
        Some(fault) => bail!("{fault}"),
        None => Ok(topics),
    }
}

/// Reads topics as [`parse`] does, and passes over what is broken: a topic without a number or a title, or with a number that cannot stand
/// in a run; XML that is not well-formed; the part that is missing where a file was cut.
///
/// Errors: the text has neither format, two topics have the same number, or no topic can be read.
pub fn read(text: &str) -> Result<ParsedTopics> {
    let text = text.trim_start_matches('\u{feff}');
    let file = if text.trim_start().starts_with('<') {
        read_xml(text)
    } else {
        read_queries(text)
    };
    if file.topics.is_empty() {
        match file.faults.first() {
            Some(fault) => bail!("{fault}"),
            None => bail!("it contains no topic"),
        }
    }
    let mut seen = HashSet::new();
    for topic in &file.topics {
        if !seen.insert(&topic.id) {
            bail!("topic number {} occurs twice", topic.id);
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
    /// The title in TIREx's XML, where the fields of the topic as the lab gave it follow in `<original_query>`.
    query: Option<String>,
    description: Option<String>,
    narrative: Option<String>,
    objects: Option<String>,
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

    fn finish(self) -> Result<Topic> {
        let element = self.element();
        let tidy = |text: Option<String>| {
            text.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
                .filter(|text| !text.is_empty())
        };
        let number = tidy(self.number).with_context(|| match element {
            "argument" => "an argument has no <id>",
            _ => "a topic has no <number>",
        })?;
        if let Some(why) = unfit_field(&number) {
            bail!("the number {number:?} of a topic {why}: it cannot stand in a run");
        }
        let title = tidy(self.query).or_else(|| tidy(self.title));
        let title = title.with_context(|| match element {
            "argument" => format!("argument {number} has no <claim>"),
            _ => format!("topic {number} has no <title>"),
        })?;
        let argument = self.is_argument.then(|| ArgumentParts {
            premise: tidy(self.premise),
            premise_type: tidy(self.premise_type),
        });
        let listed = tidy(self.objects).and_then(|text| objects::split_list(&text));
        Ok(Topic {
            id: TopicId(number),
            objects: listed.or_else(|| objects::from_title(&title)),
            title,
            description: tidy(self.description),
            narrative: tidy(self.narrative),
            argument,
        })
    }
}

/// The topic of a query; `None` if it has no words or its id cannot stand in a run.
pub(super) fn from_query(id: TopicId, query: &str) -> Option<Topic> {
    let fields = TopicFields {
        number: Some(id.0),
        title: Some(query.to_owned()),
        ..TopicFields::default()
    };
    fields.finish().ok()
}

/// Counts lines up to positions that do not decrease.
struct LineCounter<'a> {
    text: &'a [u8],
    at: usize,
    line: u64,
}

impl LineCounter<'_> {
    /// The line of a position, from 1.
    fn line(&mut self, position: u64) -> u64 {
        let to = usize::try_from(position).unwrap_or(usize::MAX);
        let to = to.min(self.text.len()).max(self.at);
        let passed = self.text.get(self.at..to).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.at = to;
        self.line
    }
}

fn read_xml(text: &str) -> ParsedTopics {
    let mut reader = Reader::from_str(text);
    let mut file = ParsedTopics::default();
    let mut fields: Option<TopicFields> = None;
    let mut field: Option<String> = None;
    // the element that contains all topics, and the number of elements that are open
    let mut root: Option<String> = None;
    let mut depth = 0u64;
    let mut counter = LineCounter {
        text: text.as_bytes(),
        at: 0,
        line: 1,
    };
    while file.faults.len() < MAX_FAULTS {
        let event = reader.read_event();
        let line = counter.line(reader.buffer_position());
        let mut words: Option<String> = None;
        match event {
            Ok(Event::Start(start)) => {
                depth += 1;
                let name = start.local_name().as_ref().to_ascii_lowercase();
                root.get_or_insert_with(|| name.clone());
                let begun = fields.as_ref().map(TopicFields::element);
                if name == "argument" || name == "topic" && begun != Some("argument") {
                    if let Some(begun) = begun {
                        file.fault(line, format!("a <{name}> inside a <{begun}>"));
                    }
                    // TIREx has the number of a topic here
                    let number = start.try_get_attribute("number").ok().flatten();
                    let number = number.and_then(|number| {
                        Some(
                            number
                                .normalized_value(XmlVersion::Implicit1_0)
                                .ok()?
                                .into(),
                        )
                    });
                    fields = Some(TopicFields {
                        is_argument: name == "argument",
                        number,
                        ..TopicFields::default()
                    });
                    field = None;
                } else if let Some(slot) = fields.as_mut().and_then(|d| d.field(&name)) {
                    *slot = Some(String::new());
                    field = Some(name);
                }
            }
            Ok(Event::End(end)) => {
                depth = depth.saturating_sub(1);
                let name = end.local_name().as_ref().to_ascii_lowercase();
                if let Some(done) = fields.take_if(|d| d.element() == name) {
                    file.add(line, done);
                } else if field.as_ref() == Some(&name) {
                    field = None;
                }
            }
            Ok(Event::Text(text)) => words = Some(text.to_string()),
            Ok(Event::CData(data)) => words = Some(data.to_string()),
            Ok(Event::GeneralRef(name)) => {
                words = Some(resolve(&name));
            }
            Ok(Event::Eof) => {
                match (&fields, &root) {
                    (Some(_), _) => file.fault(line, "the file ends inside a topic"),
                    (None, Some(root)) if depth > 0 => {
                        file.fault(
                            line,
                            format!("the file ends before </{root}>: topics may be missing"),
                        );
                    }
                    _ => {}
                }
                return file;
            }
            Ok(_) => {}
            Err(error) => {
                // a closing tag that closes another element ends that element; reading goes on with the next topic
                let goes_on = matches!(error, quick_xml::Error::IllFormed(_));
                file.fault(line, format!("not well-formed XML: {error}"));
                (fields, field) = (None, None);
                depth = depth.saturating_sub(1);
                if !goes_on {
                    return file;
                }
            }
        }
        if let (Some(words), Some(field), Some(fields)) = (words, &field, fields.as_mut())
            && let Some(Some(slot)) = fields.field(field)
        {
            slot.push_str(&words);
        }
    }
    let line = counter.line(reader.buffer_position());
    file.fault(line, "the rest of the file is not read: too much is broken");
    file
}

/// The character of an entity or a character reference. An unknown one is returned as it was written.
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

/// A line of `queries.jsonl`: the id (number or string) and the title of a query are `qid` and `query` in TIREx, `_id` and `text` in BEIR,
/// `query_id` and `text` where `ir_datasets` has exported them.
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
    /// The text of a part of the topic: `given`, or else what the metadata have under this name.
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
            file.fault(n, "the rest of the file is not read: too much is broken");
            break;
        }
        let line: QueryLine = match serde_json::from_str(line) {
            Ok(line) => line,
            Err(error) => {
                let what = format!("neither topics XML nor a query of TIREx or BEIR: {error}");
                file.fault(n, what);
                continue;
            }
        };
        let (description, narrative) = (
            line.part(&line.description, "description"),
            line.part(&line.narrative, "narrative"),
        );
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
mod tests {
    use super::*;

    const TWO: &str = "<topics>\n<topic><number> 34 </number><title>Are A &amp; B&#39;s\n good?</title>\
        <description>x</description><narrative/></topic>\n\
        <topic><number>5</number><title><![CDATA[C <d>]]></title><objects>a, b</objects></topic></topics>";

    #[test]
    fn the_arguments_of_2025_are_read() {
        let argument =
            "<argument><id>1-2</id><topic>Work</topic><claim>Robots help</claim></argument>";
        let topics = parse(&format!("<arguments>{argument}</arguments>")).unwrap();
        assert_eq!(topics[0].id, TopicId("1-2".into()));
        assert_eq!(topics[0].title, "Robots help");
        assert_eq!(topics[0].description.as_deref(), Some("Work"));
        let error = |text: &str| format!("{:#}", parse(text).unwrap_err());
        let nested = error(&format!("<argument>{argument}</argument>"));
        assert!(
            nested.contains("a <argument> inside a <argument>"),
            "{nested}"
        );
        let bare = error("<arguments><argument><id>3</id></argument></arguments>");
        assert!(bare.contains("argument 3 has no <claim>"), "{bare}");
    }

    #[test]
    fn the_premises_of_2024_are_read() {
        let text = "<arguments><argument><id>7</id><topic>Voting</topic>\
            <premise> Twelve nuns were\n turned away </premise><claim>Photo ids block voters</claim>\
            <type>Anecdotal</type></argument>\
            <argument><id>8</id><claim>x</claim><premise/></argument></arguments>";
        let topics = parse(text).unwrap();
        assert_eq!(topics[0].conveyed(), "Twelve nuns were turned away");
        let kind = topics[0].argument.as_ref().unwrap().premise_type.as_deref();
        assert_eq!(kind, Some("Anecdotal"));
        assert_eq!(topics[0].title, "Photo ids block voters");
        assert_eq!(topics[1].argument, Some(ArgumentParts::default()));
        assert_eq!(topics[1].conveyed(), "x");
        // outside of an argument, these elements mean nothing
        let topic = "<topic><number>1</number><title>t</title><premise>p</premise></topic>";
        assert_eq!(parse(topic).unwrap()[0].argument, None);
    }

    #[test]
    fn xml_of_any_year_is_read() {
        let topics = parse(TWO).unwrap();
        assert_eq!(topics[0].id, TopicId("34".into()));
        assert_eq!(topics[0].title, "Are A & B's good?");
        assert_eq!(topics[0].description.as_deref(), Some("x"));
        assert_eq!(topics[0].narrative, None);
        assert_eq!(topics[0].objects, None);
        assert_eq!(topics[1].title, "C <d>");
        assert_eq!(topics[1].objects, Some(["a".into(), "b".into()]));
    }

    #[test]
    fn xml_of_tirex_has_numbers_in_attributes_and_queries_as_titles() {
        let text = "<topics ir-datasets-id=\"x\">\n <topic number=\"51\">\n  <query>\n   a &amp; b\n  </query>\n\
            <original_query><query_id>51</query_id><title>another</title><description>d</description></original_query>\n </topic>\n\
            <topic number=\"q&amp;2\"><query>c</query></topic></topics>";
        let topics = parse(text).unwrap();
        let read: Vec<_> = topics
            .iter()
            .map(|t| (t.id.0.as_str(), t.title.as_str(), t.description.as_deref()))
            .collect();
        assert_eq!(read, [("51", "a & b", Some("d")), ("q&2", "c", None)]);
    }

    #[test]
    fn queries_have_a_qid_of_either_kind() {
        let text = "{\"qid\":\"34\",\"query\":\"a\"}\n\n{\"qid\":7,\"query\":\"b\"}\n";
        let ids: Vec<_> = parse(text).unwrap().into_iter().map(|t| t.id.0).collect();
        assert_eq!(ids, ["34", "7"]);
    }

    #[test]
    fn queries_of_beir_have_an_id_and_a_text_and_their_parts_in_the_metadata() {
        let text = "{\"_id\":\"PLAIN-2\",\"text\":\"a\",\"metadata\":{\"description\":\"d\",\"url\":7}}\n\
            {\"_id\":3,\"text\":\"b\",\"metadata\":{}}\n\
            {\"qid\":\"4\",\"query\":\"c\",\"text\":\"more\",\"description\":\"own\",\"metadata\":{\"description\":\"d\"}}\n";
        let topics = parse(text).unwrap();
        let read: Vec<_> = topics
            .iter()
            .map(|t| (t.id.0.as_str(), t.title.as_str(), t.description.as_deref()))
            .collect();
        assert_eq!(
            read,
            [
                ("PLAIN-2", "a", Some("d")),
                ("3", "b", None),
                ("4", "c", Some("own"))
            ]
        );
        let error = format!("{:#}", parse("{\"_id\":\"1\"}").unwrap_err());
        assert!(error.contains("neither `query` nor `text`"), "{error}");
    }

    #[test]
    fn objects_come_from_their_field_else_from_the_title() {
        let both = |a: &str, b: &str| Some([a.to_owned(), b.to_owned()]);
        let text = "{\"qid\":1,\"query\":\"x or y?\",\"objects\":\"big x, y\"}\n\
            {\"qid\":2,\"query\":\"x or y?\",\"objects\":[\"u\",\"v\"]}\n\
            {\"qid\":3,\"query\":\"Is x better than y?\"}\n\
            {\"qid\":4,\"query\":\"x\",\"objects\":7}";
        let objects: Vec<_> = parse(text)
            .unwrap()
            .into_iter()
            .map(|t| t.objects)
            .collect();
        assert_eq!(
            objects,
            [both("big x", "y"), both("u", "v"), both("x", "y"), None]
        );
    }

    #[test]
    fn broken_topics_are_named() {
        for (text, message) in [
            (
                "<topics><topic><number>1</number></topic></topics>",
                "has no <title>",
            ),
            (
                "<topics><topic><title>x</title></topic></topics>",
                "no <number>",
            ),
            ("<topics></topics>", "no topic"),
            ("", "no topic"),
            ("<topics><topic><number>1</number>", "ends inside"),
            ("<topics>\n<topic></title>", "line 2"),
            ("hello", "line 1: neither"),
            (
                "{\"qid\":1,\"query\":\"a\"}\n{\"qid\":\"1\",\"query\":\"b\"}",
                "number 1 occurs twice",
            ),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn the_readable_topics_of_a_broken_file_are_read() {
        let topic =
            |n: u32| format!("<topic><number>{n}</number><title>title {n}</title></topic>\n");
        let all: String = (1..=6).map(topic).collect();
        let whole = format!("<topics>\n{all}</topics>");
        let cut = |after: &str| &whole[..whole.find(after).unwrap() + after.len()];
        let second = "title 2</title></topic>";
        for (text, ids, line, what) in [
            (cut(second), "1 2", 3, "the file ends before </topics>"),
            (cut("title 3"), "1 2", 4, "the file ends inside a topic"),
            (
                &whole.replace("<title>title 3</title>", ""),
                "1 2 4 5 6",
                4,
                "topic 3 has no <title>",
            ),
            (
                &whole.replace("<number>3<", "<number>3 4<"),
                "1 2 4 5 6",
                4,
                "\"3 4\" of a topic has a blank",
            ),
            (
                &whole.replace("<number>3<", "<number>3&#7;<"),
                "1 2 4 5 6",
                4,
                "has a control character",
            ),
            (
                &whole.replace("title 3</title>", "title 3</titel>"),
                "1 2 4 5 6",
                4,
                "not well-formed",
            ),
            (
                &whole.replace("title 3</title></topic>", "title 3</title>"),
                "1 2 4 5 6",
                5,
                "a <topic> inside a <topic>",
            ),
        ] {
            let file = read(text).unwrap();
            let found: Vec<&str> = file.topics.iter().map(|t| t.id.0.as_str()).collect();
            assert_eq!(found.join(" "), ids, "{what}");
            let fault = file.faults.first().unwrap();
            assert_eq!(fault.line, line, "{what}: {fault}");
            assert!(fault.what.contains(what), "{what}: {fault}");
            assert!(parse(text).is_err(), "{what}");
        }
        let lines = "{\"qid\":1,\"query\":\"a\"}\n{\"qid\":2}\n{\"qid\":\"\",\"query\":\"c\"}\n";
        let file = read(lines).unwrap();
        assert_eq!(file.topics.len(), 1);
        let lines: Vec<u64> = file.faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [2, 3]);
        let file = read(&format!("<topics>{}{}", topic(1), "</x>".repeat(100_000))).unwrap();
        assert_eq!((file.topics.len(), file.faults.len()), (1, MAX_FAULTS + 1));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(text in "\\PC{0,200}", cut in 0usize..240) {
            let _ = parse(&text);
            let mut end = cut.min(TWO.len());
            while !TWO.is_char_boundary(end) {
                end -= 1;
            }
            let _ = parse(&format!("{}{text}", &TWO[..end]));
        }
    }
}
